"""One MCP session and the events that wait in it. Knows no socket.

Source: MCP Streamable HTTP, "Resumability and Redelivery", narrowed by docs/protocol.md 3: a second
stream replaces the first, and streams end gracefully.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass
from typing import Any, Callable, Generic, Iterable, Protocol, TypeVar

from .clis import GEMINI_CLI, Cli
from .decisions import Decision
from .saved_state import SavedSession
from .stateless import is_asker

T = TypeVar("T")

# Delivered decisions kept for a stream that resumes; far more than one CLI asks for at once.
MAX_REPLAY = 64
# Seconds without a stream after which a client counts as gone, and a new stream in its window ends
# its session. A client whose stream broke off comes back sooner.
ABSENT = 5.0
# The number of ids that a restored session skips. An editor that crashed may have used ids that
# were not saved yet; a client that saw one must not take it for the id of a later event.
LEAP = 2**32
# Seconds that a stream must stay alive until its client counts as having read what was written.
READ = 2.0


class StreamEnded(Exception):
    """The stream was replaced; or its session ended and all its events have been sent."""


class Notifiable(Protocol):
    """A frozen value that becomes a JSON-RPC notification when a stream writes it."""

    def notification(self, cli: Cli = GEMINI_CLI) -> tuple[str, dict[str, Any]]:
        """Method and params for that CLI."""


@dataclass(frozen=True)
class StreamEvent:
    """One notification of a stream; `id` grows within its session, from 1.

    A `passing` event (the context) is worthless once there is a newer one of its kind. Every other
    event is a decision of the user, with its number in the book. It is kept until it was sent, and
    a while longer for a stream that resumes.
    """

    id: int
    value: Notifiable
    passing: bool = False
    number: int = 0


class Session:
    """One client, from `initialize` to its end; or a client of MCP 2026-07-28, which has no
    sessions and gives itself a name, `is_named`: it may come back under that name at any time.

    `client` is the name and version that it gave itself, which may be those of a library; `cli` is
    the kind that its token shows. `since` is its beginning in seconds since the epoch; `opened_at`
    is the same by the loop's time, far in the past for a session from before a restart. `ordinal`
    counts the sessions of its window. `newest_then` is the highest ordinal of the sessions that had
    existed for a while when the stream was lost, or at all when the client sent something: only
    later sessions may be this client, returned. `folder` is the one in which the client works, as
    this system knows it; empty if that is not known.
    `on_told` gets the number of each decision that was sent whole.
    """

    def __init__(
        self,
        id: str,
        protocol_version: str,
        client: str = "",
        on_told: Callable[[int], None] = lambda number: None,
        cli: Cli = GEMINI_CLI,
    ) -> None:
        self.id = id
        self.is_named = is_asker(id)
        self.cli = cli
        self.protocol_version = protocol_version
        self.client = client
        self.folder = ""
        self.ordinal = self.newest_then = 0
        self.last_seen = 0.0
        self.since = time.time()
        self.opened_at = float("-inf")
        self.stream: Stream | None = None
        self.work_lock: asyncio.Lock | None = None
        self._on_told = on_told
        self._events: deque[StreamEvent] = deque()
        self._last_id = 0
        self._delivered = 0
        # The events since the client last sent anything, with the times at which they were sent.
        self._unconfirmed: list[tuple[float, StreamEvent]] = []

    def send_notification(self, value: Notifiable, passing: bool = False, number: int = 0) -> int:
        """Put a notification on the session's stream, now or once there is one; gives the event's
        id."""
        if passing:
            self._events = deque(
                event
                for event in self._events
                if not (event.passing and type(event.value) is type(value))
            )
        self._last_id += 1
        self._events.append(StreamEvent(self._last_id, value, passing, number))
        if self.stream is not None:
            self.stream.wake.set()
        return self._last_id

    def attach_stream(self, last_event_id: int | None, wake: asyncio.Event | None = None) -> Stream:
        """Begin a stream after the given event, or after the last one delivered. An older stream
        ends, because the client has forgotten it (docs/protocol.md 3.23, 3.26). The reader may wait
        for `wake`, which is set whenever there may be something to take."""
        if self.stream is not None:
            self.stream.end()
        is_known = last_event_id is not None and 0 < last_event_id <= self._last_id
        position = last_event_id if last_event_id and is_known else self._delivered
        self.stream = Stream(self, position, wake)
        # The client has seen these events, so they were delivered, even if their stream broke off.
        self.note_delivery(position)
        self._unconfirmed = [
            delivery for delivery in self._unconfirmed if delivery[1].id > position
        ]
        return self.stream

    def event_after(self, id: int) -> StreamEvent | None:
        """The oldest event that is newer than `id`."""
        return next((event for event in self._events if event.id > id), None)

    def note_delivery(self, id: int) -> None:
        """The whole event was sent; old events beyond the replay limit are forgotten."""
        told = [event for event in self._waiting_events() if event.id <= id]
        self._delivered = max(self._delivered, id)
        while len(self._events) > MAX_REPLAY and self._events[0].id <= self._delivered:
            self._events.popleft()
        now = asyncio.get_running_loop().time()
        self._unconfirmed = [delivery for delivery in self._unconfirmed if delivery[0] > now - READ]
        for event in told:
            self._unconfirmed.append((now, event))
            self._on_told(event.number)

    def note_activity(self) -> None:
        """The client has sent something, so it has read what was sent some time before."""
        now = asyncio.get_running_loop().time()
        self.last_seen = now
        if self.stream is not None:
            self._unconfirmed.clear()

    def is_absent(self, now: float) -> bool:
        """Whether the client has sent nothing for longer than it takes to come back; `now` is the
        loop's time."""
        return self.stream is None and now - self.last_seen > ABSENT

    def lose_stream(self, in_order: bool) -> list[StreamEvent]:
        """The stream has ended, `in_order` or not. Gives the events that the client may not have
        read; if the stream broke off, they wait again."""
        self.stream = None
        unread = [] if in_order else self.unconfirmed_decisions()
        if in_order and self.is_named:
            # Its client has read all before the end, and could not say so when it comes back.
            self._unconfirmed.clear()
        if unread:
            self._delivered = unread[0].id - 1
            self._unconfirmed.clear()
        return unread

    def unconfirmed_decisions(self) -> list[StreamEvent]:
        """The decisions that were sent so recently that the client may not have read them, and
        since which it has sent nothing."""
        now = asyncio.get_running_loop().time()
        return [
            event
            for at, event in self._unconfirmed
            if at > now - READ and isinstance(event.value, Decision)
        ]

    def _waiting_events(self) -> list[StreamEvent]:
        return [event for event in self._events if event.id > self._delivered and not event.passing]

    def is_told_of(self, number: int) -> bool:
        """Whether the decision is being sent at this moment. If that fails, it waits."""
        position = self.stream.position if self.stream is not None else self._delivered
        return any(
            event.number == number and event.id <= position for event in self._waiting_events()
        )

    def replace_decision(self, number: int, value: Notifiable) -> None:
        """Put another decision in the place of one that waits."""
        for index, event in enumerate(self._events):
            if event.number == number:
                self._events[index] = StreamEvent(event.id, value, number=number)

    def forget_decisions(self, path: str, but: Iterable[int] = ()) -> None:
        """Never send decisions on the path (again), except those with these numbers."""
        if not self._events:
            return
        self._events = deque(
            event
            for event in self._events
            if not isinstance(event.value, Decision)
            or event.value.path != path
            or event.number in but
        )

    def recall_decisions(self, path: str) -> list[tuple[Decision, int]]:
        """Take back waiting decisions on the path that another session asked for, unless they are
        being sent at this moment; gives them with their numbers."""
        waiting = self._waiting_events() if self._events else ()
        if not waiting:
            return []
        position = self.stream.position if self.stream is not None else self._delivered
        recalled = [
            (event.value, event.number)
            for event in waiting
            if event.id > position
            and isinstance(event.value, Decision)
            and event.value.path == path
            and event.value.session_id != self.id
        ]
        numbers = {number for _, number in recalled}
        self._events = deque(event for event in self._events if event.number not in numbers)
        return recalled

    def saved_session(self) -> SavedSession:
        version, cli = self.protocol_version, self.cli.id
        return SavedSession(self.id, version, self._last_id, self.client, cli, self.since)

    def restore(self, saved: SavedSession, waiting: Iterable[StreamEvent]) -> None:
        """Continue as the session that was saved, with ids beyond all that were ever used.

        A stream that resumes after an id that was not saved has seen everything that was: events
        are sent in the order of their ids.
        """
        self.since = saved.since or self.since
        self._last_id = saved.last_id + LEAP
        self._events = deque(sorted(waiting, key=lambda event: event.id))
        self._delivered = min([event.id - 1 for event in self._events] + [saved.last_id])


class OutgoingEvents(ABC, Generic[T]):
    """What is sent one after the other to a client that listens. `wake` is set whenever there may
    be something to take. `peer` is the port at the client's end, 0 if it is not known."""

    def __init__(self, wake: asyncio.Event | None = None) -> None:
        self.wake = wake or asyncio.Event()
        self.peer = 0
        self._ended = False

    def end(self) -> None:
        """What waits is still sent."""
        self._ended = True
        self.wake.set()

    @abstractmethod
    def take(self) -> T | None:
        """The next value; None if there is none now. To ask for it confirms that the one before was
        sent. Raises StreamEnded."""

    async def next(self, silence: float | None) -> T | None:
        """Wait for the next value; None after `silence` seconds without one (never if it is None),
        or when woken."""
        value = self.take()
        if value is None:
            try:
                await asyncio.wait_for(self.wake.wait(), silence)
            except asyncio.TimeoutError:
                return None
            value = self.take()
        return value


class Stream(OutgoingEvents[StreamEvent]):
    """One reader of a session's events, until another replaces it."""

    def __init__(self, session: Session, position: int, wake: asyncio.Event | None = None) -> None:
        super().__init__(wake)
        # The id of the last event that was taken; the next call shows that it was sent.
        self.position = position
        self._session = session
        self.ended_in_order = False

    def take(self) -> StreamEvent | None:
        self.wake.clear()
        event = None
        # A message is sent on one stream only, and that may now be a newer one.
        if self._session.stream is self:
            self._session.note_delivery(self.position)
            event = self._session.event_after(self.position)
        if event is not None:
            self.position = event.id
        elif self._ended:
            self.ended_in_order = True
            raise StreamEnded
        return event
