"""When the CLIs of one window are told of its open files, and which CLI of which. The companion's
loop owns it.

Source: the companion specification, section II, and how the CLI uses it (docs/protocol.md,
section 4).
"""

from __future__ import annotations

import asyncio
from typing import Callable

from .client_folders import ClientFolders
from .context import ContextStore, ContextUpdate, SharedContext
from .session import Session
from .sessions import Sessions
from .window_trees import TreeFolders

# Seconds from the last change to the update (the specification's); a burst of typing is one update.
DEBOUNCE = 0.05
# The longest time in seconds that an update waits while changes keep coming.
LONGEST_WAIT = 0.25


class ContextUpdates:
    """Sends the context of one window to its CLIs; to one in a work tree that of its own files.
    Whoever changes the context calls `schedule_update`. `port` gives the window's port."""

    def __init__(
        self,
        context: ContextStore,
        sessions: Sessions,
        is_trusted: bool | None,
        port: Callable[[], int],
    ) -> None:
        self._context = context
        self._sessions = sessions
        self._is_trusted = is_trusted
        self._timer: asyncio.TimerHandle | None = None
        self._changed_at = self._due_at = 0.0
        # What each session was told last, by its id.
        self._told: dict[str, ContextUpdate] = {}
        self._clients = ClientFolders(port, self._send_updates)

    def schedule_update(self) -> None:
        """Send an update DEBOUNCE seconds after the last of these calls, but no later than
        LONGEST_WAIT after the first."""
        loop = asyncio.get_running_loop()
        self._changed_at = loop.time()
        if self._timer is None:
            self._due_at = self._changed_at + LONGEST_WAIT
            self._timer = loop.call_later(DEBOUNCE, self._check_timer)

    def set_trust(self, is_trusted: bool | None) -> None:
        self._is_trusted = is_trusted
        self.schedule_update()

    def tell_now(self) -> None:
        """The rules have changed: updates that still wait on streams must not be sent any more."""
        self._stop_timer()
        self._send_updates()

    def greet_session(self, session: Session) -> None:
        """Send the present context to a new stream (docs/protocol.md 3.27)."""
        self._told.pop(session.id, None)
        self._send_updates()
        if self._context.trees.all:
            self._clients.look_for(session)

    def trees_changed(self) -> None:
        """The window has other work trees than before."""
        if self._context.trees.all:
            for session in self._sessions:
                self._clients.look_for(session)
        self.tell_now()

    def note_folder(self, session: Session, folder: str) -> None:
        """The session's client says that it works in that folder; empty if it does not say where.
        As it knows it."""
        session.folder = self._context.path_maps.to_local(folder) if folder else ""
        self.schedule_update()

    def look_again(self) -> None:
        """Call this from time to time: an agent may have written a file of its work tree."""
        if self._context.trees.all:
            self.schedule_update()

    def stop(self) -> None:
        self._stop_timer()
        self._clients.stop()

    def present_update(self, folder: str = "") -> ContextUpdate:
        """For a CLI that works in `folder`."""
        return self._update_in(self._context.trees.tree_of(folder))

    def shared_context(self, folder: str = "") -> SharedContext:
        """The context as it is shown to the user, or told to an agent that works in `folder`."""
        connected = sum(session.stream is not None for session in self._sessions)
        paused = self._context.sharing.paused
        update = self.present_update(folder)
        return SharedContext(update, connected, paused, self._context.held_back())

    def _update_in(self, tree: TreeFolders | None) -> ContextUpdate:
        return ContextUpdate(self._context.open_files(tree), self._is_trusted)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None

    def _check_timer(self) -> None:
        """There is one timer, however many changes come. It starts again if some came late."""
        loop = asyncio.get_running_loop()
        quiet_at = min(self._changed_at + DEBOUNCE, self._due_at)
        if quiet_at > loop.time():
            self._timer = loop.call_at(quiet_at, self._check_timer)
            return
        self._timer = None
        self._send_updates()

    def _send_updates(self) -> None:
        """Send the present context to each session that was told something else."""
        before, self._told = self._told, {}
        updates: dict[TreeFolders | None, ContextUpdate] = {}
        for session in self._sessions:
            tree = self._context.trees.tree_of(session.folder)
            if tree not in updates:
                updates[tree] = self._update_in(tree)
            self._told[session.id] = updates[tree]
            if before.get(session.id) != updates[tree]:
                session.send_notification(updates[tree], passing=True)
