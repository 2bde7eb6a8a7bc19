"""The open `subscriptions/listen` of one window: what each stream tells. Knows no socket.

Source: MCP 2026-07-28, "Subscriptions". With the extension (docs/adr/0025) the newest stream of a
client also carries its decisions and the context; its older ones go on with what else they asked
for, and one of them takes over when it ends.
"""

from __future__ import annotations

from typing import Any, Callable, Mapping

from ..base.jsonrpc import Id
from .session import Notifiable, OutgoingEvents, Session, Stream, StreamEnded

# The most streams of one window; a client needs one, and the connections have a limit as well.
MAX_SUBSCRIPTIONS = 48
# The member of the filter that this server honours. It has neither prompts nor resources.
TOOLS_LIST_CHANGED = "toolsListChanged"


class TooManySubscriptions(Exception):
    """One window has as many open streams as it may have."""


class Subscription(OutgoingEvents[Notifiable]):
    """One stream; `id` is that of the request. `session_id` is that of the client's session, empty
    without the extension. `session` and `stream` are set while this one carries its events."""

    def __init__(self, id: Id, wants_tools: bool, session_id: str = "") -> None:
        super().__init__()
        self.id = id
        self.session_id = session_id
        self.session: Session | None = None
        self.stream: Stream | None = None
        self.wants_tools = wants_tools
        self._changed: Notifiable | None = None

    @property
    def honored_filter(self) -> dict[str, bool]:
        """The part of the client's filter that is kept."""
        return {TOOLS_LIST_CHANGED: True} if self.wants_tools else {}

    def carry_session(self, session: Session) -> None:
        """Send the session's events on this stream from now on, and on no other one."""
        self.session, self.stream = session, session.attach_stream(None, self.wake)
        self.stream.peer = self.peer
        self.wake.set()

    def carry_no_more(self) -> None:
        self.session = self.stream = None

    def tools_changed(self, value: Notifiable) -> None:
        if self.wants_tools:
            self._changed = value
            self.wake.set()

    def take(self) -> Notifiable | None:
        self.wake.clear()
        event = self.stream.take() if self.stream is not None else None
        if event is not None:
            return event.value
        value, self._changed = self._changed, None
        if value is None and self._ended:
            raise StreamEnded
        return value


class Subscriptions:
    """`find` gives the session with an id. `detach` is called for a session whose stream has
    ended."""

    def __init__(
        self,
        find: Callable[[str], Session | None],
        detach: Callable[[Session, Stream], None],
    ) -> None:
        self._find = find
        self._detach = detach
        # Oldest first.
        self._open: list[Subscription] = []

    def __len__(self) -> int:
        return len(self._open)

    def open_subscription(
        self, id: Id, wanted: Mapping[str, Any], session_id: str = ""
    ) -> Subscription:
        """A stream for a request with the filter `wanted`. Raises TooManySubscriptions."""
        if len(self._open) >= MAX_SUBSCRIPTIONS:
            raise TooManySubscriptions
        subscription = Subscription(id, wanted.get(TOOLS_LIST_CHANGED) is True, session_id)
        self._open.append(subscription)
        return subscription

    def carry_session(self, subscription: Subscription) -> Session | None:
        """Let the stream carry the events of its client's session from now on; gives that session,
        None if there is none."""
        session = self._find(subscription.session_id) if subscription.session_id else None
        if session is None:
            return None
        for other in self._open:
            if other.session_id == subscription.session_id:
                other.carry_no_more()
        subscription.carry_session(session)
        return session

    def close_subscription(self, subscription: Subscription) -> Session | None:
        """The stream has ended. If another one of the client carries its session's events now,
        gives the session."""
        self._open.remove(subscription)
        if subscription.session is None or subscription.stream is None:
            return None
        self._detach(subscription.session, subscription.stream)
        heirs = [heir for heir in self._open if heir.session_id == subscription.session_id]
        session = self._find(subscription.session_id)
        is_free = session is not None and session.stream is None
        return self.carry_session(heirs[-1]) if heirs and is_free else None

    def tools_changed(self, value: Notifiable) -> None:
        for subscription in self._open:
            subscription.tools_changed(value)

    def end_all(self) -> None:
        for subscription in self._open:
            subscription.end()
