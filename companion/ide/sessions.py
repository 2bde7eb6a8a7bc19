"""The MCP sessions of one window, from their beginning to their end. Knows no socket.

Source: MCP Streamable HTTP, "Session Management", narrowed by docs/protocol.md 3: no client says
that it leaves.
"""

from __future__ import annotations

import asyncio
import uuid
from typing import Callable, Iterable, Iterator
from weakref import WeakValueDictionary

from .clis import GEMINI_CLI, Cli, by_id
from .saved_state import SavedSession
from .session import Notifiable, Session, Stream, StreamEvent
from .silence import Silence
from .subscriptions import Subscriptions

# The most sessions of one window; each `/ide enable` makes a new one and forgets the old
# (docs/protocol.md 3.26).
MAX_SESSIONS = 64
# The most of them for clients of MCP 2026-07-28, which any request with a new name makes. They come
# back under their name, so one that ends is not lost.
MAX_NAMED = 32
# Seconds in which a client may lose its stream and come back before this side notices.
NOTICED = 1.0


class UnknownSession(Exception):
    """There is no such session (any more): the client has to initialize again."""


class TooManyNames(Exception):
    """All sessions that clients of MCP 2026-07-28 may have are in use."""


class Sessions:
    """The sessions of one window. `subscriptions` are its open `subscriptions/listen`.

    `on_end` gets each session that ended, once its stream is gone. `on_absent` gets each session
    whose client has been away for ABSENT seconds. `on_told` gets the number of each decision that
    was sent whole; `on_stream_lost` each session whose stream has ended, with the events that its
    client may not have read.
    """

    def __init__(
        self,
        on_end: Callable[[Session], None],
        on_absent: Callable[[Session], None] = lambda session: None,
        on_told: Callable[[int], None] = lambda number: None,
        on_stream_lost: Callable[[Session, list[StreamEvent]], None] = lambda session, unread: None,
    ) -> None:
        self.subscriptions = Subscriptions(self.find_session, self.detach_stream)
        self._on_end = on_end
        self._on_told = on_told
        self._on_stream_lost = on_stream_lost
        self._sessions: dict[str, Session] = {}
        self._opened = 0
        # Each session holds its own lock; that of an ended session lives as long as it is in use.
        self._work_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._silence = Silence(on_absent, lambda session: self.end_session(session.id))

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self._sessions.values()))

    def __len__(self) -> int:
        return len(self._sessions)

    def session_label(self, session: Session) -> str:
        """The name of the session's CLI for the user: with a number if several of its kind are
        connected."""
        name = session.cli.name
        for each in self._sessions.values():
            if each is not session and each.stream is not None and each.cli == session.cli:
                return f"{name} {session.ordinal}"
        return name

    def open_session(
        self, protocol_version: str, client: str = "", cli: Cli = GEMINI_CLI
    ) -> Session:
        """A new session. If there are too many, the one that was silent longest ends."""
        if len(self._sessions) >= MAX_SESSIONS:
            idle = [session for session in self if session.stream is None] or list(self)
            self.end_session(min(idle, key=lambda session: session.last_seen).id)
        return self._begin_session(uuid.uuid4().hex, protocol_version, client, cli)

    def named_session(self, id: str, protocol_version: str, client: str, cli: Cli) -> Session:
        """The session with that id of a client that gives itself a name; it counts as seen now.
        Raises TooManyNames."""
        known = self._sessions.get(id)
        if known is not None:
            known.note_activity()
            return known
        named = [session for session in self if session.is_named]
        if len(named) >= MAX_NAMED:
            idle = [session for session in named if session.stream is None]
            if not idle:
                raise TooManyNames
            self.end_session(min(idle, key=lambda session: session.last_seen).id)
        return self._begin_session(id, protocol_version, client, cli)

    def _begin_session(self, id: str, protocol_version: str, client: str, cli: Cli) -> Session:
        session = Session(id, protocol_version, client, self._on_told, cli)
        session.opened_at = asyncio.get_running_loop().time()
        self._add_session(session)
        return session

    def restore_session(
        self, saved: SavedSession, waiting: Iterable[StreamEvent], newest_then: int
    ) -> None:
        """Take up a session from before the restart; its client has the grace time to come back.
        Sessions up to the ordinal `newest_then` are not this client, returned."""
        cli = by_id(saved.cli)
        session = Session(saved.id, saved.protocol_version, saved.client, self._on_told, cli)
        session.restore(saved, waiting)
        self._add_session(session)
        session.newest_then = newest_then

    def _add_session(self, session: Session) -> None:
        self._opened += 1
        session.ordinal = session.newest_then = self._opened
        self._sessions[session.id] = session
        session.work_lock = self.work_lock(session.id)
        self._silence.watch_session(session)

    def end_absent(self, cli: Cli) -> None:
        """End the sessions of that kind of CLI whose client may have come back as another one."""
        for session in self:
            if session.cli == cli and not session.is_named and self.is_absent(session):
                self.end_session(session.id)

    def woke_up(self) -> None:
        """The computer slept, and clocks may have advanced: no client counts as away, and every
        stream sends a sign of life at once."""
        for session in self:
            session.last_seen = asyncio.get_running_loop().time()
            if session.stream is not None:
                session.stream.wake.set()

    def get_session(self, id: str | None) -> Session:
        """The session that began with `initialize`; it counts as seen now. Raises
        UnknownSession."""
        session = self._sessions.get(id or "")
        if session is None or session.is_named:
            raise UnknownSession
        session.note_activity()
        # Its client is here: it has not come back as any of the others.
        session.newest_then = self._opened
        return session

    def find_session(self, id: str) -> Session | None:
        return self._sessions.get(id)

    def work_lock(self, id: str) -> asyncio.Lock:
        """The lock under which the work for the session is done, one piece after the other. The
        session may have ended."""
        session = self._sessions.get(id)
        if session is not None and session.work_lock is not None:
            return session.work_lock
        lock = self._work_locks.get(id)
        if lock is None:
            lock = self._work_locks[id] = asyncio.Lock()
        return lock

    def detach_stream(self, session: Session, stream: Stream) -> None:
        """The stream has ended. Unless another one replaced it, the grace time begins."""
        if session.stream is not stream:
            return
        self._on_stream_lost(session, session.lose_stream(stream.ended_in_order))
        if self._sessions.get(session.id) is session:
            session.newest_then = max(session.newest_then, _newest_ordinal(self))
            self._silence.watch_session(session)
        else:
            self._on_end(session)

    def broadcast(self, value: Notifiable, to_named: bool = True) -> None:
        """Put a passing notification on every stream, or on those of sessions without a name."""
        for session in self:
            if to_named or not session.is_named:
                session.send_notification(value, passing=True)

    def end_session(self, id: str) -> None:
        session = self._sessions.pop(id, None)
        if session is None:
            return
        self._silence.stop_watching(session)
        if session.stream is None:
            self._on_end(session)
        else:
            # If all end, the others are not here any more once the stream is gone.
            session.newest_then = max(session.newest_then, _newest_ordinal(self))
            # What waits is still sent on the stream; `detach_stream` handles what was not.
            session.stream.end()

    def end_all(self) -> None:
        for session in self:
            self.end_session(session.id)
        self.subscriptions.end_all()

    def connected_ids(self) -> frozenset[str]:
        """The ids of the sessions whose client is connected."""
        now = asyncio.get_running_loop().time()
        return frozenset([id for id, each in self._sessions.items() if not each.is_absent(now)])

    def is_absent(self, session: Session) -> bool:
        """Whether its client has been away for longer than it takes to come back."""
        return session.is_absent(asyncio.get_running_loop().time())


def _newest_ordinal(sessions: Iterable[Session]) -> int:
    """The highest ordinal of those that have existed for a while, 0 without any."""
    before = asyncio.get_running_loop().time() - NOTICED
    return max((each.ordinal for each in sessions if each.opened_at <= before), default=0)
