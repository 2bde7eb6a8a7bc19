"""Sessions, their streams, and what is kept for whom."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, AsyncIterator
from unittest import mock

from GeminiCompanion.companion.ide.clis import GEMINI_CLI, Cli
from GeminiCompanion.companion.ide.decisions import Decision
from GeminiCompanion.companion.ide.mcp import ToolsChanged
from GeminiCompanion.companion.ide.saved_state import SavedSession
from GeminiCompanion.companion.ide.session import (
    ABSENT,
    LEAP,
    MAX_REPLAY,
    Event,
    Session,
    Stream,
    StreamEnded,
)
from GeminiCompanion.companion.ide.sessions import MAX_SESSIONS, Sessions, UnknownSession
from GeminiCompanion.companion.ide.silence import GRACE

from ..support import PATIENCE, Clock, InLoop, untold


@dataclass(frozen=True)
class Context:
    """A notification that has nothing but a name."""

    name: str

    def notification(self, cli: Cli = GEMINI_CLI) -> tuple[str, dict[str, Any]]:
        return self.name, {}


def send(session: Session, name: str) -> None:
    """Send a decision; its path is the name, its number in the book the digits of that."""
    session.send(decision(name), number=number_of(name))


def decision(name: str, text: str | None = None) -> Decision:
    return Decision(name, text, "s", 0.0)


def number_of(name: str) -> int:
    return int(name) if name.isdigit() else ord(name)


def name_of(event: Event | None) -> str:
    if event is None:
        return "(silence)"
    value = event.value
    return value.path if isinstance(value, Decision) else value.notification()[0]


async def next_of(stream: Stream) -> str:
    """The name of the next event, which has to be there already."""
    return name_of(await stream.next(0.001))


class OneSession(InLoop):
    def setUp(self) -> None:
        self.session = Session("s", "2025-06-18")

    async def test_events_come_in_order_with_ids_that_count_from_one(self) -> None:
        stream = self.session.attach(None)
        for message in ("a", "b", "c"):
            send(self.session, message)
        events = [await stream.next(1) for _ in range(3)]
        self.assertEqual(
            [(it.id, name_of(it)) for it in events if it], [(1, "a"), (2, "b"), (3, "c")]
        )

    async def test_a_waiting_stream_wakes_when_something_is_sent(self) -> None:
        stream = self.session.attach(None)
        waiting = asyncio.ensure_future(stream.next(60))
        await asyncio.sleep(0)
        send(self.session, "a")
        event = await asyncio.wait_for(waiting, PATIENCE)
        self.assertEqual(name_of(event), "a")

    async def test_silence_gives_none_and_the_stream_goes_on(self) -> None:
        clock = Clock()
        stream = self.session.attach(None)
        waiting = asyncio.ensure_future(stream.next(20))
        await clock.advance(0)
        await clock.advance(19)
        self.assertFalse(waiting.done())
        await clock.advance(2)
        self.assertIsNone(waiting.result())
        send(self.session, "a")
        self.assertEqual(await next_of(stream), "a")

    async def test_what_was_sent_before_the_first_stream_waits_for_it(self) -> None:
        send(self.session, "d")
        self.assertEqual(untold(self.session), [number_of("d")])
        self.assertEqual(await next_of(self.session.attach(None)), "d")

    async def test_of_several_passing_events_only_the_newest_is_kept(self) -> None:
        self.session.send(Context("old"), passing=True)
        send(self.session, "d")
        self.session.send(Context("new"), passing=True)
        stream = self.session.attach(None)
        self.assertEqual([await next_of(stream) for _ in range(3)], ["d", "new", "(silence)"])

    async def test_a_passing_event_of_another_kind_stays(self) -> None:
        self.session.send(ToolsChanged(), passing=True)
        self.session.send(Context("old"), passing=True)
        self.session.send(Context("new"), passing=True)
        stream = self.session.attach(None)
        names = [await next_of(stream) for _ in range(3)]
        self.assertEqual(names, ["notifications/tools/list_changed", "new", "(silence)"])

    def test_a_passing_event_is_never_an_undelivered_decision(self) -> None:
        self.session.send(Context("context"), passing=True)
        send(self.session, "d")
        self.assertEqual(untold(self.session), [number_of("d")])

    async def test_an_event_is_delivered_only_when_the_next_one_is_asked_for(self) -> None:
        send(self.session, "a")
        stream = self.session.attach(None)
        self.assertEqual(await next_of(stream), "a")
        self.assertEqual(untold(self.session), [number_of("a")])
        self.assertEqual(await next_of(stream), "(silence)")
        self.assertEqual(untold(self.session), [])

    async def test_an_ended_stream_gives_what_waits_and_then_says_so(self) -> None:
        stream = self.session.attach(None)
        send(self.session, "a")
        stream.end()
        send(self.session, "b")
        self.assertEqual([await next_of(stream), await next_of(stream)], ["a", "b"])
        with self.assertRaises(StreamEnded):
            await stream.next(60)

    async def test_ending_wakes_a_stream_that_waits(self) -> None:
        waiting = asyncio.ensure_future(self.session.attach(None).next(60))
        await asyncio.sleep(0)
        if self.session.stream is not None:
            self.session.stream.end()
        with self.assertRaises(StreamEnded):
            await asyncio.wait_for(waiting, PATIENCE)

    async def brought(self, *names: str) -> Stream:
        """A stream on which these went out whole."""
        stream = self.session.attach(None)
        for name in names:
            send(self.session, name)
        self.assertEqual([await next_of(stream) for _ in names], list(names))
        self.assertEqual(await next_of(stream), "(silence)")
        return stream

    async def test_all_that_a_broken_stream_may_not_have_brought_goes_out_again(self) -> None:
        await self.brought("1", "2", "3")
        lost = self.session.lose_stream(in_order=False)
        self.assertEqual([it.number for it in lost], [1, 2, 3])
        stream = self.session.attach(None)
        self.assertEqual([await next_of(stream) for _ in range(3)], ["1", "2", "3"])

    async def test_a_client_has_read_what_it_says_and_may_have_missed_the_rest(self) -> None:
        await self.brought("1", "2", "3")
        self.session.attach(1)
        self.assertEqual([it.number for it in self.session.unconfirmed()], [2, 3])

    async def test_a_client_that_asks_for_something_has_read_what_went_out(self) -> None:
        await self.brought("1", "2")
        self.session.heard()
        self.assertEqual(self.session.lose_stream(in_order=False), [])
        # Without a stream it may ask before it reads.
        await self.brought("3")
        self.session.stream = None
        self.session.heard()
        self.assertEqual([it.number for it in self.session.unconfirmed()], [3])


class Withdrawal(InLoop):
    """What waits to be said can be changed until it is said."""

    async def test_what_no_stream_took_is_replaced_under_its_own_id(self) -> None:
        session = Session("s", "2025-06-18")
        send(session, "a")
        send(session, "b")
        session.replace(number_of("a"), decision("c"))
        stream = session.attach(None)
        self.assertEqual([await next_of(stream) for _ in range(2)], ["c", "b"])

    async def test_what_goes_out_at_this_moment_is_known_and_waits_again_where_it_fails(
        self,
    ) -> None:
        session = Session("s", "2025-06-18")
        send(session, "a")
        self.assertFalse(session.is_told_of(number_of("a")))
        stream = session.attach(None)
        await next_of(stream)
        self.assertTrue(session.is_told_of(number_of("a")))
        self.assertFalse(session.is_told_of(number_of("b")))
        session.stream = None
        self.assertFalse(session.is_told_of(number_of("a")))
        self.assertEqual(await next_of(session.attach(None)), "a")

    async def test_what_went_out_is_told_once_and_only_then(self) -> None:
        told: list[int] = []
        session = Session("s", "2025-06-18", on_told=told.append)
        send(session, "a")
        stream = session.attach(None)
        await next_of(stream)
        self.assertEqual(told, [])
        await next_of(stream)
        self.assertEqual(told, [number_of("a")])
        self.assertEqual(await next_of(session.attach(0)), "(silence)")
        self.assertEqual(told, [number_of("a")])

    async def test_what_a_client_says_that_it_saw_was_told_though_its_stream_broke(self) -> None:
        told: list[int] = []
        session = Session("s", "2025-06-18", on_told=told.append)
        send(session, "a")
        await next_of(session.attach(None))
        session.stream = None
        session.attach(1)
        self.assertEqual((told, untold(session)), ([number_of("a")], []))

    async def test_of_a_path_that_is_forgotten_nothing_is_told_again(self) -> None:
        session = Session("s", "2025-06-18")
        for name in ("a", "b"):
            send(session, name)
        stream = session.attach(None)
        for _ in range(3):
            await next_of(stream)
        session.forget("a")
        self.assertEqual(await next_of(session.attach(0)), "(silence)")
        send(session, "a")
        session.forget("a", but=[number_of("a")])
        self.assertEqual(await next_of(session.attach(None)), "a")


class Resumption(InLoop):
    def setUp(self) -> None:
        self.session = Session("s", "2025-06-18")

    async def read(self, last_event_id: int | None) -> list[str]:
        """All that a new stream gives before it is silent."""
        stream = self.session.attach(last_event_id)
        messages: list[str] = []
        while True:
            event = await stream.next(0.001)
            if event is None:
                return messages
            messages.append(name_of(event))

    async def test_a_second_stream_replaces_the_first(self) -> None:
        first = self.session.attach(None)
        second = self.session.attach(None)
        with self.assertRaises(StreamEnded):
            await first.next(60)
        send(self.session, "a")
        self.assertEqual(await next_of(second), "a")

    async def test_a_replaced_stream_leaves_everything_to_its_successor(self) -> None:
        first = self.session.attach(None)
        send(self.session, "a")
        second = self.session.attach(None)
        send(self.session, "b")
        with self.assertRaises(StreamEnded):
            await first.next(60)
        self.assertEqual(untold(self.session), [number_of("a"), number_of("b")])
        self.assertEqual([await next_of(second), await next_of(second)], ["a", "b"])

    async def test_a_stream_that_says_what_it_saw_gets_exactly_what_it_missed(self) -> None:
        for message in ("1", "2", "3", "4"):
            send(self.session, message)
        self.assertEqual(await self.read(None), ["1", "2", "3", "4"])
        self.assertEqual(await self.read(2), ["3", "4"])
        self.assertEqual(await self.read(4), [])

    async def test_a_stream_that_says_nothing_gets_nothing_twice(self) -> None:
        send(self.session, "1")
        await self.read(None)
        send(self.session, "2")
        self.assertEqual(await self.read(None), ["2"])

    async def test_an_id_that_was_never_given_counts_as_none(self) -> None:
        send(self.session, "1")
        await self.read(None)
        send(self.session, "2")
        for id in (0, 99, -1):
            with self.subTest(id=id):
                self.assertEqual(await next_of(self.session.attach(id)), "2")

    async def test_a_resumed_stream_gets_one_context_and_that_the_newest(self) -> None:
        send(self.session, "d")
        self.session.send(Context("old"), passing=True)
        await self.read(None)
        self.session.send(Context("new"), passing=True)
        self.assertEqual(await self.read(1), ["new"])

    async def test_old_decisions_are_forgotten_only_once_they_were_delivered(self) -> None:
        count = MAX_REPLAY + 10
        messages = [str(number) for number in range(1, count + 1)]
        for message in messages:
            send(self.session, message)
        self.assertEqual(await self.read(None), messages)
        self.assertEqual(await self.read(1), messages[-MAX_REPLAY:])


def picture(session: Session) -> tuple[SavedSession, list[Event]]:
    """What is saved of a session: itself, and by way of the book the decisions that wait."""
    events, event = [], session.after(0)
    while event is not None:
        events.append(event)
        event = session.after(event.id)
    return session.saved(), [it for it in events if it.number in untold(session)]


def restored_from(saved: tuple[SavedSession, list[Event]]) -> Session:
    session = Session(saved[0].id, saved[0].protocol_version)
    session.restore(*saved)
    return session


class Restoration(InLoop):
    """A session that was saved at one moment and went on, until the editor crashed."""

    async def read(self, session: Session, last_event_id: int | None) -> list[Event]:
        stream = session.attach(last_event_id)
        return [event async for event in self.all_of(stream)]

    async def all_of(self, stream: Stream) -> AsyncIterator[Event]:
        event = await stream.next(0.001)
        while event is not None:
            yield event
            event = await stream.next(0.001)

    async def messages(self, session: Session, last_event_id: int | None) -> list[str]:
        return [name_of(event) for event in await self.read(session, last_event_id)]

    async def test_after_a_reload_a_stream_gets_exactly_what_it_missed(self) -> None:
        session = Session("s", "2025-06-18")
        for message in ("1", "2", "3", "4"):
            send(session, message)
        await self.read_two(session)
        for seen, missed in ((None, ["3", "4"]), (2, ["3", "4"]), (3, ["4"]), (4, [])):
            with self.subTest(seen=seen):
                restored = restored_from(picture(session))
                send(restored, "n")
                self.assertEqual(await self.messages(restored, seen), missed + ["n"])

    async def read_two(self, session: Session) -> None:
        stream = session.attach(None)
        for _ in range(2):
            await next_of(stream)
        session.delivered(2)

    async def test_what_was_given_after_the_last_save_hides_nothing_new(self) -> None:
        session = Session("s", "2025-06-18")
        send(session, "1")
        saved = picture(session)
        for _ in range(3):
            session.send(Context("context"), passing=True)
            *_, seen = await self.read(session, None)
        restored = restored_from(saved)
        send(restored, "n")
        self.assertEqual(await self.messages(restored, seen.id), ["n"])
        self.assertEqual(untold(restored), [])

    async def test_ids_grow_over_every_crash(self) -> None:
        session, seen = Session("s", "2025-06-18"), 0
        for _ in range(5):
            saved = picture(session)
            for decision in ("1", "2", "3"):
                send(session, decision)
                *_, event = await self.read(session, seen)
                self.assertGreater(event.id, seen)
                seen = event.id
            session = restored_from(saved)

    async def test_an_id_that_nobody_can_have_seen_counts_as_none(self) -> None:
        session = Session("s", "2025-06-18")
        send(session, "1")
        restored = restored_from(picture(session))
        for id in (-1, 2 * LEAP):
            with self.subTest(id=id):
                self.assertEqual(await next_of(restored.attach(id)), "1")


class AllSessions(InLoop):
    """`self.ended` are the sessions that `on_end` was told of."""

    def setUp(self) -> None:
        self.ended: list[Session] = []
        self.sessions = Sessions(self.ended.append)

    async def test_every_session_has_an_id_of_its_own_that_nobody_can_guess(self) -> None:
        ids = {self.sessions.open("2025-06-18").id for _ in range(20)}
        self.assertEqual(len(ids), 20)
        for id in ids:
            # Visible ASCII, as the protocol wants it, of at least 122 random bits.
            self.assertRegex(id, "^[!-~]{31,}$")

    async def test_a_session_is_found_by_its_id_and_keeps_its_protocol_version(self) -> None:
        session = self.sessions.open("2025-11-25")
        self.assertIs(self.sessions.get(session.id), session)
        self.assertEqual(session.protocol_version, "2025-11-25")

    async def test_an_unknown_id_and_none_are_unknown_sessions(self) -> None:
        for id in (None, "", "other"):
            with self.subTest(id=id), self.assertRaises(UnknownSession):
                self.sessions.get(id)

    async def test_an_ended_session_is_unknown_and_told_once(self) -> None:
        session = self.sessions.open("2025-06-18")
        self.sessions.end(session.id)
        self.sessions.end(session.id)
        with self.assertRaises(UnknownSession):
            self.sessions.get(session.id)
        self.assertEqual(self.ended, [session])

    async def test_a_broadcast_reaches_every_session_and_keeps_their_decisions(self) -> None:
        one, two = self.sessions.open("2025-06-18"), self.sessions.open("2025-06-18")
        send(one, "d")
        self.sessions.broadcast(Context("context"))
        first = one.attach(None)
        self.assertEqual([await next_of(first), await next_of(first)], ["d", "context"])
        self.assertEqual(await next_of(two.attach(None)), "context")

    async def test_ending_all_ends_every_stream(self) -> None:
        streams = [self.sessions.open("2025-06-18").attach(None) for _ in range(3)]
        self.sessions.end_all()
        self.assertEqual(len(self.sessions), 0)
        for stream in streams:
            with self.assertRaises(StreamEnded):
                await stream.next(60)

    async def test_an_end_is_told_when_the_stream_has_had_its_last_word(self) -> None:
        session = self.sessions.open("2025-06-18")
        stream = session.attach(None)
        send(session, "d")
        self.sessions.end(session.id)
        self.assertEqual(self.ended, [])
        self.assertEqual(await next_of(stream), "d")
        with self.assertRaises(StreamEnded):
            await stream.next(60)
        self.sessions.detach(session, stream)
        self.assertEqual(self.ended, [session])
        self.assertEqual(untold(session), [])

    async def test_too_many_sessions_cost_the_one_that_was_silent_longest(self) -> None:
        clock = Clock()
        sessions = []
        for _ in range(MAX_SESSIONS):
            sessions.append(self.sessions.open("2025-06-18"))
            await clock.advance(0.1)
        sessions[0].attach(None)
        self.sessions.get(sessions[1].id)
        self.sessions.open("2025-06-18")
        self.assertEqual(self.ended, [sessions[2]])
        self.assertEqual(len(self.sessions), MAX_SESSIONS)

    async def test_where_all_have_streams_the_oldest_makes_room_all_the_same(self) -> None:
        clock = Clock()
        streams = []
        for _ in range(MAX_SESSIONS):
            streams.append(self.sessions.open("2025-06-18").attach(None))
            await clock.advance(0.1)
        self.sessions.open("2025-06-18")
        self.assertEqual(len(self.sessions), MAX_SESSIONS)
        with self.assertRaises(StreamEnded):
            await streams[0].next(60)


class Grace(InLoop):
    """How long a session lives of which nothing is heard."""

    def setUp(self) -> None:
        self.ended: list[Session] = []
        self.sessions = Sessions(self.ended.append)

    async def test_a_session_without_a_stream_ends_after_the_grace_time(self) -> None:
        clock = Clock()
        session = self.sessions.open("2025-06-18")
        await clock.advance(GRACE - 1)
        self.assertEqual(self.ended, [])
        await clock.advance(2)
        self.assertEqual(self.ended, [session])
        self.assertEqual(len(self.sessions), 0)

    async def test_each_request_begins_the_grace_time_anew(self) -> None:
        clock = Clock()
        session = self.sessions.open("2025-06-18")
        for _ in range(5):
            await clock.advance(GRACE - 1)
            self.sessions.get(session.id)
        self.assertEqual(self.ended, [])
        await clock.advance(GRACE + 1)
        self.assertEqual(self.ended, [session])

    async def test_a_session_lives_as_long_as_its_stream(self) -> None:
        clock = Clock()
        session = self.sessions.open("2025-06-18")
        stream = session.attach(None)
        await clock.advance(100 * GRACE)
        self.assertEqual(self.ended, [])
        self.sessions.detach(session, stream)
        await clock.advance(GRACE - 1)
        self.assertEqual(self.ended, [])
        await clock.advance(2)
        self.assertEqual(self.ended, [session])

    async def test_a_stream_that_was_replaced_takes_nothing_with_it(self) -> None:
        clock = Clock()
        session = self.sessions.open("2025-06-18")
        first = session.attach(None)
        second = session.attach(None)
        self.sessions.detach(session, first)
        self.assertIs(session.stream, second)
        await clock.advance(2 * GRACE)
        self.assertEqual(self.ended, [])

    async def test_a_stream_that_comes_back_in_time_saves_its_session(self) -> None:
        clock = Clock()
        session = self.sessions.open("2025-06-18")
        self.sessions.detach(session, session.attach(None))
        await clock.advance(GRACE - 1)
        session.attach(None)
        await clock.advance(GRACE)
        self.assertEqual(self.ended, [])

    async def test_after_the_computer_slept_nobody_counts_as_away(self) -> None:
        clock = Clock()
        self.sessions.open("2025-06-18")
        await clock.advance(GRACE - 1)
        self.sessions.woke_up()
        await clock.advance(GRACE - 1)
        self.assertEqual(self.ended, [])
        await clock.advance(2)
        self.assertEqual(len(self.ended), 1)

    async def test_after_the_computer_slept_every_stream_says_something_at_once(self) -> None:
        Clock()
        stream = self.sessions.open("2025-06-18").attach(None)
        waiting = asyncio.ensure_future(stream.next(60))
        await asyncio.sleep(0)
        self.sessions.woke_up()
        self.assertIsNone(await asyncio.wait_for(waiting, PATIENCE))

    async def test_a_session_is_said_to_be_absent_once_it_has_been_away_for_some_seconds(
        self,
    ) -> None:
        clock = Clock()
        absent: list[Session] = []
        sessions = Sessions(self.ended.append, absent.append)
        session = sessions.open("2025-06-18")
        stream = session.attach(None)
        await clock.advance(100)
        sessions.detach(session, stream)
        await clock.advance(ABSENT - 1)
        self.assertEqual(absent, [])
        await clock.advance(2)
        self.assertEqual(absent, [session])

    async def test_a_session_whose_stream_comes_back_soon_is_not_said_to_be_absent(self) -> None:
        clock = Clock()
        absent: list[Session] = []
        sessions = Sessions(self.ended.append, absent.append)
        session = sessions.open("2025-06-18")
        sessions.detach(session, session.attach(None))
        await clock.advance(ABSENT - 1)
        session.attach(None)
        await clock.advance(2)
        self.assertEqual(absent, [])

    async def test_a_client_that_only_posts_is_said_to_be_absent_once_it_is_silent(self) -> None:
        clock = Clock()
        absent: list[Session] = []
        sessions = Sessions(self.ended.append, absent.append)
        session = sessions.open("2025-06-18")
        await clock.advance(ABSENT - 1)
        sessions.get(session.id)
        await clock.advance(2)
        self.assertEqual(absent, [])
        await clock.advance(ABSENT)
        self.assertEqual(absent, [session])

    async def test_one_timer_is_enough_for_a_client_that_comes_and_goes(self) -> None:
        clock = Clock()
        loop, timers = asyncio.get_running_loop(), []
        call_later = loop.call_later

        def count(*arguments: Any) -> asyncio.TimerHandle:
            timers.append(call_later(*arguments))
            return timers[-1]

        with mock.patch.object(loop, "call_later", count):
            session = self.sessions.open("2025-06-18")
            for _ in range(100):
                self.sessions.detach(session, session.attach(None))
            await clock.advance(ABSENT + 1)
            waiting = [it for it in timers if not it.cancelled() and it.when() > loop.time()]
            self.assertEqual(len(waiting), 1)
            self.sessions.end(session.id)
            self.assertTrue(waiting[0].cancelled())

    async def test_a_session_that_ended_by_itself_is_not_ended_again(self) -> None:
        clock = Clock()
        session = self.sessions.open("2025-06-18")
        self.sessions.end(session.id)
        await clock.advance(2 * GRACE)
        self.assertEqual(self.ended, [session])
