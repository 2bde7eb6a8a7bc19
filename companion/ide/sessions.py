"""MCP sessions and what each is still to be told; knows no socket.

Source: MCP Streamable HTTP, "Session Management" and "Resumability and Redelivery", narrowed by
contract B3: a second stream replaces the first, streams end gracefully, nobody says goodbye.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections import deque
from dataclasses import dataclass
from typing import Callable, Iterator

from ..base.log import logger
from .saved_state import SavedSession

# Delivered decisions kept for a stream that resumes; far more than one CLI asks for at once.
MAX_REPLAY = 64
# Code points of a proposal that is saved for a restart; one that is larger has to be asked anew.
MAX_PROPOSAL = 1024 * 1024
# Seconds a session lives without stream or request: the CLI never says that it leaves (B3.25).
GRACE = 60.0
# Seconds without a stream after which a client counts as gone, and its session makes way for the
# next one of its window: more than a client takes to come back to a stream that broke off.
ABSENT = 5.0
# Ids left out where a session is restored: an editor that crashed may have given ids that were not
# saved yet, and a client that saw one must not take it for that of a later event.
LEAP = 2**32
# Sessions of one window; `/ide enable` makes a new one each time and forgets the old (B3.26).
MAX_SESSIONS = 64


class UnknownSession(Exception):
    """No such session (any more): the client has to initialize again."""


class StreamEnded(Exception):
    """The stream was replaced; or its session ended, and everything that waited has been given."""


@dataclass(frozen=True)
class Event:
    """One message of a stream, as bytes of JSON; `id` grows within its session, from 1.

    A `passing` event is worthless once a newer one exists (the context). Every other one is a
    decision of the user on the file at `path`: kept until it was sent, and a while longer for a
    stream that resumes.
    """

    id: int
    message: bytes
    passing: bool
    path: str = ""


class Session:
    """One client, from `initialize` to its end.

    `awaiting` holds the paths of the diffs that the client has open and undecided, as it sent them;
    `proposals` their texts as the user had them last. `opened` counts the sessions of its window;
    `left` is that of the newest one when its stream was lost: only later ones may be its client,
    come back.
    """

    def __init__(self, id: str, protocol_version: str) -> None:
        self.id = id
        self.protocol_version = protocol_version
        self.awaiting: set[str] = set()
        self.proposals: dict[str, str] = {}
        self.opened = self.left = 0
        self.last_seen = 0.0
        self.stream: Stream | None = None
        self._events: deque[Event] = deque()
        self._last_id = 0
        self._delivered = 0

    def send(self, message: bytes, passing: bool = False, path: str = "") -> None:
        """Put a message on the session's stream, now or when there is one."""
        if passing:
            self._events = deque(event for event in self._events if not event.passing)
        self._last_id += 1
        self._events.append(Event(self._last_id, message, passing, path))
        if self.stream is not None:
            self.stream.wake()

    def attach(self, last_event_id: int | None) -> Stream:
        """Begin a stream after the given event, or after the last one delivered; a stream that
        was there is ended, for the client has forgotten it (contract B3.23, B3.26)."""
        if self.stream is not None:
            self.stream.end()
        known = last_event_id is not None and 0 <= last_event_id <= self._last_id
        self.stream = Stream(self, last_event_id if known and last_event_id else self._delivered)
        return self.stream

    def after(self, id: int) -> Event | None:
        """The oldest event that is newer than `id`."""
        return next((event for event in self._events if event.id > id), None)

    def delivered(self, id: int) -> None:
        """The event went out whole; old ones beyond the replay limit are forgotten."""
        self._delivered = max(self._delivered, id)
        while len(self._events) > MAX_REPLAY and self._events[0].id <= self._delivered:
            self._events.popleft()

    def replace(self, old: bytes, new: bytes) -> bool:
        """Say something else than what waits to be said; False where it does not wait any more."""
        for index, event in enumerate(self._events):
            if event.id > self._delivered and event.message == old:
                self._events[index] = Event(event.id, new, event.passing, event.path)
                return True
        return False

    def forget(self, path: str) -> list[bytes]:
        """Take back what waits to be said of a file; gives it."""
        taken = [event for event in self._waiting() if event.path == path]
        self._events = deque(event for event in self._events if event not in taken)
        return [event.message for event in taken]

    def undelivered(self) -> list[bytes]:
        """The decisions that no stream took."""
        return [event.message for event in self._waiting()]

    def drop(self) -> list[bytes]:
        """The same, which are somebody else's to deliver now."""
        undelivered = self.undelivered()
        self._events.clear()
        return undelivered

    def _waiting(self) -> list[Event]:
        return [it for it in self._events if it.id > self._delivered and not it.passing]

    def saved(self) -> SavedSession:
        waiting = tuple((event.id, event.message.decode("ascii")) for event in self._waiting())
        awaiting = tuple(sorted(self.awaiting))
        proposals = tuple(
            (path, self.proposals[path])
            for path in awaiting
            if len(self.proposals.get(path, "")) <= MAX_PROPOSAL and path in self.proposals
        )
        return SavedSession(
            self.id, self.protocol_version, self._last_id, awaiting, waiting, proposals
        )

    @classmethod
    def restored(cls, saved: SavedSession) -> Session:
        """The session as it was; ids go on after all that were ever given.

        A stream that resumes after one that was not saved has seen all that was: events go out in
        the order of their ids.
        """
        session = cls(saved.id, saved.protocol_version)
        session.awaiting.update(saved.awaiting)
        session.proposals.update(saved.proposals)
        session._last_id = saved.last_id + LEAP
        for id, message in saved.undelivered:
            data = message.encode("ascii")
            session._events.append(Event(id, data, passing=False, path=path_of(data)))
        session._delivered = min([id - 1 for id, _ in saved.undelivered] + [saved.last_id])
        return session


def path_of(message: bytes) -> str:
    """The path of a decision. Raises KeyError, TypeError and ValueError for what is none."""
    return str(json.loads(message)["params"]["filePath"])


class Stream:
    """One reader of a session's events, until another replaces it."""

    def __init__(self, session: Session, position: int) -> None:
        self._session = session
        self._position = position
        self._wake = asyncio.Event()
        self._ended = False

    def wake(self) -> None:
        self._wake.set()

    def end(self) -> None:
        self._ended = True
        self._wake.set()

    async def next(self, silence: float) -> Event | None:
        """The next event, or None after `silence` seconds without one.

        Asking for the next says that the one before went out. Raises StreamEnded.
        """
        event = self._take()
        if event is None and not self._ended:
            try:
                await asyncio.wait_for(self._wake.wait(), silence)
            except asyncio.TimeoutError:
                return None
            event = self._take()
        if event is None and self._ended:
            raise StreamEnded
        return event

    def _take(self) -> Event | None:
        self._wake.clear()
        if self._session.stream is not self:
            # One message goes out on one stream, and that is now the one that replaced this.
            return None
        self._session.delivered(self._position)
        event = self._session.after(self._position)
        if event is not None:
            self._position = event.id
        return event


class Sessions:
    """The sessions of one window.

    `on_end` is told each one that ended, once its stream is gone; `on_absent` each one whose client
    has been away for ABSENT seconds.
    """

    def __init__(
        self,
        on_end: Callable[[Session], None],
        on_absent: Callable[[Session], None] = lambda session: None,
    ) -> None:
        self._on_end = on_end
        self._on_absent = on_absent
        self._sessions: dict[str, Session] = {}
        self._opened = 0
        # One for each at most, however often its client comes and goes.
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self._sessions.values()))

    def __len__(self) -> int:
        return len(self._sessions)

    def open(self, protocol_version: str) -> Session:
        """A new session; the one that was silent longest makes room where there are too many."""
        if len(self._sessions) >= MAX_SESSIONS:
            idle = [session for session in self if session.stream is None] or list(self)
            self.end(min(idle, key=lambda session: session.last_seen).id)
        session = Session(uuid.uuid4().hex, protocol_version)
        self._add(session)
        return session

    def restore(self, saved: SavedSession) -> None:
        """Take up a session of before; it has the grace time to come back."""
        self._add(Session.restored(saved))

    def _add(self, session: Session) -> None:
        self._opened += 1
        session.opened = session.left = self._opened
        self._sessions[session.id] = session
        self._wait_for(session)

    def end_absent(self) -> None:
        """End the sessions whose client is gone."""
        for session in self:
            if self.is_absent(session):
                self.end(session.id)

    def woke_up(self) -> None:
        """The computer slept, and clocks may have gone on: nobody was away, and every stream says
        at once that it is still there."""
        for session in self:
            session.last_seen = asyncio.get_running_loop().time()
            if session.stream is not None:
                session.stream.wake()

    def get(self, id: str | None) -> Session:
        """The session, which counts as seen now. Raises UnknownSession."""
        session = self._sessions.get(id or "")
        if session is None:
            raise UnknownSession
        session.last_seen = asyncio.get_running_loop().time()
        return session

    def find(self, id: str) -> Session | None:
        return self._sessions.get(id)

    def detach(self, session: Session, stream: Stream) -> None:
        """The stream is gone; unless another took its place, the grace time begins."""
        if session.stream is not stream:
            return
        session.stream = None
        session.left = self._opened
        if self._sessions.get(session.id) is session:
            self._wait_for(session)
        else:
            self._on_end(session)

    def broadcast(self, message: bytes) -> None:
        """Put a passing message on every stream."""
        for session in self:
            session.send(message, passing=True)

    def end(self, id: str) -> None:
        session = self._sessions.pop(id, None)
        if session is None:
            return
        self._stop_timer(session)
        if session.stream is None:
            self._on_end(session)
        else:
            # What waits still goes out on the stream; `detach` knows what did not.
            session.stream.end()

    def end_all(self) -> None:
        for session in self:
            self.end(session.id)

    def _wait_for(self, session: Session) -> None:
        """Its client is not there now."""
        session.last_seen = asyncio.get_running_loop().time()
        self._look_in(ABSENT + 0.1, session)

    def _look_in(self, seconds: float, session: Session) -> None:
        self._stop_timer(session)
        loop = asyncio.get_running_loop()
        self._timers[session.id] = loop.call_later(seconds, self._look_for, session)

    def _stop_timer(self, session: Session) -> None:
        timer = self._timers.pop(session.id, None)
        if timer is not None:
            timer.cancel()

    def _look_for(self, session: Session) -> None:
        if session.stream is not None:
            return
        silence = asyncio.get_running_loop().time() - session.last_seen
        if silence >= GRACE:
            logger.info("a session ended: nothing was heard of its CLI for %d s", GRACE)
            self.end(session.id)
        elif silence > ABSENT:
            self._look_in(GRACE - silence, session)
            self._on_absent(session)
        else:
            self._look_in(ABSENT + 0.1 - silence, session)

    def is_absent(self, session: Session) -> bool:
        """Whether its client stays away for longer than it takes to come back."""
        since = asyncio.get_running_loop().time() - session.last_seen
        return session.stream is None and since > ABSENT
