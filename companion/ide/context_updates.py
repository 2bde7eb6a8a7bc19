"""Decides when the CLIs of a window are sent the context. Never asks the editor."""

from __future__ import annotations

import asyncio

from .context import ContextStore, ContextUpdate, SharedContext
from .session import Session
from .sessions import Sessions

# Seconds from the last change to the update (the specification's); a burst of typing is one update.
DEBOUNCE = 0.05
# The longest time in seconds that an update waits while changes keep coming.
LONGEST_WAIT = 0.25


class ContextUpdates:
    """Sends the context of one window to its CLIs. Whoever changes the context calls `changed`."""

    def __init__(self, context: ContextStore, sessions: Sessions, is_trusted: bool | None) -> None:
        self._context = context
        self._sessions = sessions
        self._is_trusted = is_trusted
        self._timer: asyncio.TimerHandle | None = None
        self._changed_at = self._due_at = 0.0
        self._last: ContextUpdate | None = None

    def changed(self) -> None:
        """Send an update DEBOUNCE seconds after the last of these calls, but no later than
        LONGEST_WAIT after the first."""
        loop = asyncio.get_running_loop()
        self._changed_at = loop.time()
        if self._timer is None:
            self._due_at = self._changed_at + LONGEST_WAIT
            self._timer = loop.call_later(DEBOUNCE, self._check)

    def trust(self, is_trusted: bool | None) -> None:
        self._is_trusted = is_trusted
        self.changed()

    def tell_now(self) -> None:
        """The rules have changed: updates that still wait on streams must not be sent any more."""
        self.stop()
        self._timer = None
        self._send()

    def greet(self, session: Session) -> None:
        """Send the present context to a new stream (docs/protocol.md 3.27)."""
        update = self.present()
        if update == self._last:
            session.send(update, passing=True)
        else:
            self._last = update
            self._sessions.broadcast(update)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def present(self) -> ContextUpdate:
        return ContextUpdate(self._context.open_files(), self._is_trusted)

    def shared(self) -> SharedContext:
        """The context as it is shown to the user."""
        connected = sum(session.stream is not None for session in self._sessions)
        paused = self._context.sharing.paused
        return SharedContext(self.present(), connected, paused, self._context.held_back())

    def _check(self) -> None:
        """There is one timer, however many changes come. It starts again if some came late."""
        loop = asyncio.get_running_loop()
        quiet_at = min(self._changed_at + DEBOUNCE, self._due_at)
        if quiet_at > loop.time():
            self._timer = loop.call_at(quiet_at, self._check)
            return
        self._timer = None
        self._send()

    def _send(self) -> None:
        update = self.present()
        if update != self._last:
            self._last = update
            self._sessions.broadcast(update)
