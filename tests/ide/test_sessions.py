"""Sessions, their streams, and what is kept for whom."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any
from unittest import mock

from GeminiCompanion.companion.ide.clis import GEMINI_CLI, Cli
from GeminiCompanion.companion.ide.decisions import Decision
from GeminiCompanion.companion.ide.mcp import ToolsChanged
from GeminiCompanion.companion.ide.saved_state import SavedSession
from GeminiCompanion.companion.ide.session import (
    ABSENT,
    LEAP,
    MAX_REPLAY,
    Session,
    Stream,
    StreamEnded,
    StreamEvent,
)
from GeminiCompanion.companion.ide.sessions import MAX_SESSIONS, Sessions, UnknownSession
from GeminiCompanion.companion.ide.silence import GRACE

from ..support import PATIENCE, Clock, InLoop, begun, untold
from ..tables import rows, word

VERSION = "2025-06-18"
# What rows of tables may name.
SPANS = {"ABSENT": ABSENT, "GRACE": GRACE, "LEAP": LEAP}
SILENCE = "(silence)"


@dataclass(frozen=True)
class Context:
    """A notification that has nothing but a name."""

    name: str

    def notification(self, cli: Cli = GEMINI_CLI) -> tuple[str, dict[str, Any]]:
        return self.name, {}


def send(session: Session, name: str) -> None:
    """Send a decision; its path is the name, its number in the book the digits of that."""
    session.send_notification(decision(name), number=number_of(name))


def decision(name: str, text: str | None = None) -> Decision:
    return Decision(name, text, "s", 0.0)


def number_of(name: str) -> int:
    return int(name) if name.isdigit() else ord(name)


def names_of(numbers: list[int]) -> str:
    return ", ".join(str(number) if number < 10 else chr(number) for number in numbers) or "none"


def name_of(event: StreamEvent | None) -> str:
    if event is None:
        return SILENCE
    value = event.value
    return value.path if isinstance(value, Decision) else value.notification()[0]


async def next_of(stream: Stream) -> str:
    """The name of the next event, which has to be there already."""
    return name_of(await stream.next(0.001))


async def rest_of(stream: Stream) -> list[StreamEvent]:
    """What it has before it is silent."""
    found: list[StreamEvent] = []
    event = await stream.next(0.001)
    while event is not None:
        found.append(event)
        event = await stream.next(0.001)
    return found


def picture(session: Session) -> tuple[SavedSession, list[StreamEvent]]:
    """What is saved of a session: itself, and by way of the book the decisions that wait."""
    events, event = [], session.event_after(0)
    while event is not None:
        events.append(event)
        event = session.event_after(event.id)
    return session.saved_session(), [each for each in events if each.number in untold(session)]


def restored_from(saved: tuple[SavedSession, list[StreamEvent]]) -> Session:
    session = Session(saved[0].id, saved[0].protocol_version)
    session.restore(*saved)
    return session


@rows("""
    what was sent before the first stream waits for it
        d is sent | untold are d | a stream begins | it brings d
    of several passing events only the newest is kept
        context old is sent; d is sent; context new is sent | a stream begins
        | it brings d, new, (silence)
    a passing event of another kind stays
        the tools have changed; context old is sent; context new is sent | a stream begins
        | it brings notifications/tools/list_changed, new, (silence)
    a passing event is never an undelivered decision
        context c is sent; d is sent | untold are d
    an event is delivered only when the next one is asked for
        a is sent; a stream begins
        | it brings a; untold are a; told are none; it brings (silence); untold are none; told
        are a
    an ended stream gives what waits and then says so
        a stream begins; a is sent | it is ended; b is sent | it brings a, b & has ended
    all that a broken stream may not have brought goes out again
        a stream begins; 1, 2, 3 are sent; it brings 1, 2, 3, (silence)
        | as the stream breaks off it may have lost 1, 2, 3; a stream begins | it brings 1, 2, 3
    a client has read what it says and may have missed the rest
        a stream begins; 1, 2, 3 are sent; it brings 1, 2, 3, (silence)
        | a stream begins after 1 | unconfirmed are 2, 3
    a client that asks for something has read what went out
        a stream begins; 1, 2 are sent; it brings 1, 2, (silence)
        | the client asks; as the stream breaks off it may have lost none | unconfirmed are none
    one that asks without a stream may do so before it reads
        a stream begins; 3 is sent; it brings 3, (silence) | the stream is gone; the client asks
        | unconfirmed are 3
    what no stream took is replaced under its own id
        a, b are sent | a becomes c; a stream begins | it brings c, b
    what goes out at this moment is known and waits again where it fails
        a is sent | the client is told of a: no | a stream begins; it brings a
        | the client is told of a: yes; the client is told of b: no | the stream is gone
        | the client is told of a: no | a stream begins | it brings a
    what went out is told once
        a is sent; a stream begins; it brings a, (silence) | a stream begins after 0
        | it brings (silence); told are a
    what a client says that it saw was told though its stream broke
        a is sent; a stream begins; it brings a; the stream is gone | a stream begins after 1
        | told are a; untold are none
    of a path that is forgotten nothing is told again
        a, b are sent; a stream begins; it brings a, b, (silence)
        | a is forgotten; a stream begins after 0 | it brings (silence)
        | a is sent; a is forgotten but for itself; a stream begins | it brings a
    a second stream replaces the first
        a stream begins; a stream begins | the first has ended | a is sent | it brings a
    a replaced stream leaves everything to its successor
        a stream begins; a is sent; a stream begins; b is sent
        | the first has ended; untold are a, b; it brings a, b
    a stream that says what it saw gets exactly what it missed
        1, 2, 3, 4 are sent; a stream begins; it brings 1, 2, 3, 4, (silence)
        | a stream begins after 2 | it brings 3, 4, (silence) | a stream begins after 4
        | it brings (silence)
    a stream that says nothing gets nothing twice
        1 is sent; a stream begins; it brings 1, (silence); 2 is sent | a stream begins
        | it brings 2, (silence)
    an id that was never given counts as none
        1 is sent; a stream begins; it brings 1, (silence); 2 is sent | a stream begins after 0
        | it brings 2 | a stream begins after 99 | it brings 2 | a stream begins after -1
        | it brings 2
    a resumed stream gets one context and that the newest
        d is sent; context old is sent; a stream begins; it brings d, old, (silence)
        | context new is sent; a stream begins after 1 | it brings new, (silence)
    after a reload a stream gets exactly what it missed
        1, 2, 3, 4 are sent; a stream begins; it brings 1, 2; 2 was delivered
        | it is saved and restored; n is sent; a stream begins | it brings 3, 4, n, (silence)
    after a reload a stream that says what it saw gets exactly what it missed
        1, 2, 3, 4 are sent; a stream begins; it brings 1, 2; 2 was delivered
        | it is saved and restored; n is sent; a stream begins after 3
        | it brings 4, n, (silence)
    after a reload a stream that saw everything gets what is new
        1, 2, 3, 4 are sent; a stream begins; it brings 1, 2; 2 was delivered
        | it is saved and restored; n is sent; a stream begins after 4 | it brings n, (silence)
    what was given after the last save hides nothing new
        1 is sent; it is saved; context c is sent; a stream begins; it brings 1, c, (silence)
        | it is restored; n is sent; a stream begins after 2
        | it brings n, (silence); untold are none
    an id that nobody can have seen counts as none
        1 is sent; it is saved and restored | a stream begins after -1 | it brings 1
        | a stream begins after 2 * LEAP | it brings 1
""")
class OneSession(InLoop):
    """`told` are the decisions of which `on_told` heard, `stream` is the newest."""

    def setUp(self) -> None:
        self.told: list[int] = []
        self.session = Session("s", VERSION, on_told=self.told.append)
        self.streams: list[Stream] = []

    @word("(.+) (?:is|are) sent")
    def are_sent(self, names: str) -> None:
        kind, _, name = names.partition(" ")
        if kind == "context":
            self.session.send_notification(Context(name), passing=True)
        else:
            for each in names.split(", "):
                send(self.session, each)

    @word("it brings (.+)")
    async def brings(self, names: str) -> None:
        found = [await next_of(self.streams[-1]) for _ in names.split(", ")]
        self.assertEqual(", ".join(found), names)

    @word("(it|the first) has ended")
    async def has_ended(self, which: str) -> None:
        with self.assertRaises(StreamEnded):
            await self.streams[-1 if which == "it" else 0].next(60)

    def save(self) -> None:
        self.saved = picture(self.session)

    def restore(self) -> None:
        self.session = restored_from(self.saved)

    words = {
        r"a stream begins(?: after (-?\d+|2 \* LEAP))?": lambda t, last: t.streams.append(
            t.session.attach_stream(last and eval(last, SPANS))
        ),
        "the tools have changed": lambda t: t.session.send_notification(
            ToolsChanged(), passing=True
        ),
        "it is ended": lambda t: t.streams[-1].end(),
        "the stream is gone": lambda t: setattr(t.session, "stream", None),
        "the client asks": lambda t: t.session.note_activity(),
        "a becomes c": lambda t: t.session.replace_decision(number_of("a"), decision("c")),
        "a is forgotten( but for itself)?": lambda t, itself: t.session.forget_decisions(
            "a", but=[number_of("a")] if itself else []
        ),
        r"(\d) was delivered": lambda t, id: t.session.note_delivery(int(id)),
        "it is saved": save,
        "it is restored": restore,
        "it is saved and restored": lambda t: (t.save(), t.restore()),
    }
    seen = {
        "as the stream breaks off it may have lost": lambda t: names_of(
            [event.number for event in t.session.lose_stream(in_order=False)]
        ),
        "unconfirmed are": lambda t: names_of(
            [event.number for event in t.session.unconfirmed_decisions()]
        ),
        "untold are": lambda t: names_of(untold(t.session)),
        "told are": lambda t: names_of(t.told),
        "the client is told of (.):": lambda t, name: t.session.is_told_of(number_of(name)),
    }

    async def test_events_come_in_order_with_ids_that_count_from_one(self) -> None:
        stream = self.session.attach_stream(None)
        self.are_sent("a, b, c")
        events = [(event.id, name_of(event)) for event in await rest_of(stream)]
        self.assertEqual(events, [(1, "a"), (2, "b"), (3, "c")])

    async def test_a_waiting_stream_wakes_when_something_is_sent_and_when_it_is_ended(self) -> None:
        stream = self.session.attach_stream(None)
        waiting = await begun(stream.next(60))
        send(self.session, "a")
        self.assertEqual(name_of(await asyncio.wait_for(waiting, PATIENCE)), "a")
        waiting = await begun(stream.next(60))
        stream.end()
        with self.assertRaises(StreamEnded):
            await asyncio.wait_for(waiting, PATIENCE)

    async def test_silence_gives_none_and_the_stream_goes_on(self) -> None:
        clock = Clock()
        stream = self.session.attach_stream(None)
        waiting = asyncio.ensure_future(stream.next(20))
        await clock.advance(0)
        await clock.advance(19)
        self.assertFalse(waiting.done())
        await clock.advance(2)
        self.assertIsNone(waiting.result())
        send(self.session, "a")
        self.assertEqual(await next_of(stream), "a")

    async def test_old_decisions_are_forgotten_only_once_they_were_delivered(self) -> None:
        messages = [str(number) for number in range(1, MAX_REPLAY + 11)]
        for message in messages:
            send(self.session, message)
        for last, expected in ((None, messages), (1, messages[-MAX_REPLAY:])):
            found = await rest_of(self.session.attach_stream(last))
            self.assertEqual([name_of(event) for event in found], expected)

    async def test_ids_grow_over_every_crash(self) -> None:
        seen = 0
        for _ in range(5):
            self.save()
            for name in ("1", "2", "3"):
                send(self.session, name)
                *_, event = await rest_of(self.session.attach_stream(seen))
                self.assertGreater(event.id, seen)
                seen = event.id
            self.restore()


class AllSessions(InLoop):
    """`self.ended` are the sessions that `on_end` was told of."""

    def setUp(self) -> None:
        self.ended: list[Session] = []
        self.sessions = Sessions(self.ended.append)

    async def test_every_session_has_an_id_of_its_own_that_nobody_can_guess(self) -> None:
        ids = {self.sessions.open_session(VERSION).id for _ in range(20)}
        self.assertEqual(len(ids), 20)
        for id in ids:
            # Visible ASCII, as the protocol wants it, of at least 122 random bits.
            self.assertRegex(id, "^[!-~]{31,}$")

    async def test_a_session_is_found_by_its_id_and_keeps_its_protocol_version(self) -> None:
        session = self.sessions.open_session("2025-11-25")
        self.assertIs(self.sessions.get_session(session.id), session)
        self.assertEqual(session.protocol_version, "2025-11-25")

    async def test_an_unknown_id_and_none_are_unknown_sessions(self) -> None:
        for id in (None, "", "other"):
            with self.subTest(id=id), self.assertRaises(UnknownSession):
                self.sessions.get_session(id)

    async def test_an_ended_session_is_unknown_and_told_once(self) -> None:
        session = self.sessions.open_session(VERSION)
        self.sessions.end_session(session.id)
        self.sessions.end_session(session.id)
        with self.assertRaises(UnknownSession):
            self.sessions.get_session(session.id)
        self.assertEqual(self.ended, [session])

    async def test_a_broadcast_reaches_every_session_and_keeps_their_decisions(self) -> None:
        one, two = self.sessions.open_session(VERSION), self.sessions.open_session(VERSION)
        send(one, "d")
        self.sessions.broadcast(Context("context"))
        first = one.attach_stream(None)
        self.assertEqual([await next_of(first), await next_of(first)], ["d", "context"])
        self.assertEqual(await next_of(two.attach_stream(None)), "context")

    async def test_ending_all_ends_every_stream(self) -> None:
        streams = [self.sessions.open_session(VERSION).attach_stream(None) for _ in range(3)]
        self.sessions.end_all()
        self.assertEqual(len(self.sessions), 0)
        for stream in streams:
            with self.assertRaises(StreamEnded):
                await stream.next(60)

    async def test_an_end_is_told_when_the_stream_has_had_its_last_word(self) -> None:
        session = self.sessions.open_session(VERSION)
        stream = session.attach_stream(None)
        send(session, "d")
        self.sessions.end_session(session.id)
        self.assertEqual(self.ended, [])
        self.assertEqual(await next_of(stream), "d")
        with self.assertRaises(StreamEnded):
            await stream.next(60)
        self.sessions.detach_stream(session, stream)
        self.assertEqual(self.ended, [session])
        self.assertEqual(untold(session), [])

    async def test_too_many_sessions_cost_the_one_that_was_silent_longest(self) -> None:
        clock = Clock()
        sessions = []
        for _ in range(MAX_SESSIONS):
            sessions.append(self.sessions.open_session(VERSION))
            await clock.advance(0.1)
        sessions[0].attach_stream(None)
        self.sessions.get_session(sessions[1].id)
        self.sessions.open_session(VERSION)
        self.assertEqual(self.ended, [sessions[2]])
        self.assertEqual(len(self.sessions), MAX_SESSIONS)

    async def test_a_session_whose_client_was_heard_beside_another_one_is_not_that_client(
        self,
    ) -> None:
        session = self.sessions.open_session(VERSION)
        stream = session.attach_stream(None)
        other = self.sessions.open_session(VERSION)
        # Just now, as a client that lost its connection opens one.
        self.sessions.detach_stream(session, stream)
        self.assertLess(session.newest_then, other.ordinal)
        self.sessions.get_session(session.id)
        self.sessions.detach_stream(session, session.attach_stream(None))
        self.assertEqual(session.newest_then, other.ordinal)

    async def test_where_all_have_streams_the_oldest_makes_room_all_the_same(self) -> None:
        clock = Clock()
        streams = []
        for _ in range(MAX_SESSIONS):
            streams.append(self.sessions.open_session(VERSION).attach_stream(None))
            await clock.advance(0.1)
        self.sessions.open_session(VERSION)
        self.assertEqual(len(self.sessions), MAX_SESSIONS)
        with self.assertRaises(StreamEnded):
            await streams[0].next(60)


@rows("""
    a session without a stream ends after the grace time
        s opens; GRACE - 1 s pass | ended are nothing | 2 s pass
        | ended are s; sessions that are open: 0
    each request begins the grace time anew
        s opens; GRACE - 1 s pass; s asks; GRACE - 1 s pass; s asks; GRACE - 1 s pass; s asks
        | ended are nothing | GRACE + 1 s pass | ended are s
    a session lives as long as its stream
        s opens; its stream begins; GRACE * 100 s pass | ended are nothing
        | its stream goes; GRACE - 1 s pass | ended are nothing | 2 s pass | ended are s
    a stream that was replaced takes nothing with it
        s opens; its stream begins; its stream begins | its first stream goes
        | its stream is number 2 | GRACE * 2 s pass | ended are nothing
    a stream that comes back in time saves its session
        s opens; its stream begins; its stream goes; GRACE - 1 s pass
        | its stream begins; GRACE s pass | ended are nothing
    after the computer slept nobody counts as away
        s opens; GRACE - 1 s pass | the computer wakes up; GRACE - 1 s pass | ended are nothing
        | 2 s pass | ended are s
    a session is said to be absent once it has been away for some seconds
        s opens; its stream begins; 100 s pass; its stream goes; ABSENT - 1 s pass
        | absent are nothing | 2 s pass | absent are s
    a session whose stream comes back soon is not said to be absent
        s opens; its stream begins; its stream goes; ABSENT - 1 s pass
        | its stream begins; 2 s pass | absent are nothing
    a client that only posts is said to be absent once it is silent
        s opens; ABSENT - 1 s pass; s asks; 2 s pass | absent are nothing | ABSENT s pass
        | absent are s
    a session that ended by itself is not ended again
        s opens & ends | GRACE * 2 s pass | ended are s
""")
class Grace(InLoop):
    """How long a session lives of which nothing is heard."""

    async def begin(self) -> None:
        self.clock = Clock()
        self.ended: list[Session] = []
        self.absent: list[Session] = []
        self.sessions = Sessions(self.ended.append, self.absent.append)
        self.streams: list[Stream] = []

    words = {
        "s opens": lambda t: setattr(t, "session", t.sessions.open_session(VERSION)),
        "s asks": lambda t: t.assertIs(t.sessions.get_session(t.session.id), t.session),
        "s ends": lambda t: t.sessions.end_session(t.session.id),
        "its stream begins": lambda t: t.streams.append(t.session.attach_stream(None)),
        "its (first )?stream goes": lambda t, first: t.sessions.detach_stream(
            t.session, t.streams[0 if first else -1]
        ),
        "the computer wakes up": lambda t: t.sessions.woke_up(),
        "([A-Z0-9 +*-]+) s pass": lambda t, span: t.clock.advance(eval(span, SPANS)),
    }
    seen = {
        "ended are": lambda t: ["s" if session is t.session else session for session in t.ended],
        "absent are": lambda t: ["s" if session is t.session else session for session in t.absent],
        "its stream is number": lambda t: t.streams.index(t.session.stream) + 1,
        "sessions that are open:": lambda t: len(t.sessions),
    }

    async def test_after_the_computer_slept_every_stream_says_something_at_once(self) -> None:
        stream = self.sessions.open_session(VERSION).attach_stream(None)
        waiting = await begun(stream.next(60))
        self.sessions.woke_up()
        self.assertIsNone(await asyncio.wait_for(waiting, PATIENCE))

    async def test_one_timer_is_enough_for_a_client_that_comes_and_goes(self) -> None:
        loop, timers = asyncio.get_running_loop(), []
        call_later = loop.call_later

        def count(*arguments: Any) -> asyncio.TimerHandle:
            timers.append(call_later(*arguments))
            return timers[-1]

        with mock.patch.object(loop, "call_later", count):
            session = self.sessions.open_session(VERSION)
            for _ in range(100):
                self.sessions.detach_stream(session, session.attach_stream(None))
            await self.clock.advance(ABSENT + 1)
            waiting = [
                timer for timer in timers if not timer.cancelled() and timer.when() > loop.time()
            ]
            self.assertEqual(len(waiting), 1)
            self.sessions.end_session(session.id)
            self.assertTrue(waiting[0].cancelled())
