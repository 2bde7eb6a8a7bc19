"""Readers of all conversations: what they get, and what is remembered for them."""

from __future__ import annotations

import asyncio
import unittest
import weakref
from datetime import datetime, timezone

from GeminiCompanion.companion.agent.events.event_feed import (
    MAX_CHARACTERS,
    MAX_EVENTS,
    EventFeed,
    Gone,
)
from GeminiCompanion.companion.agent.turn_events import Content, ToolOutput, ToolResult, TurnEvent

PATIENCE = 180.0


def event(number: int, session: str = "one", text: str = "x") -> TurnEvent:
    return TurnEvent(number, datetime.now(timezone.utc), session, "turn", Content(text))


def output(text: str, call: str = "call") -> TurnEvent:
    body = ToolOutput(call, text, 0, 1)
    return TurnEvent(0, datetime.now(timezone.utc), "one", "turn", body)


def result(number: int, call: str = "call") -> TurnEvent:
    body = ToolResult(call, "run", {}, "all of it", "", True)
    return TurnEvent(number, datetime.now(timezone.utc), "one", "turn", body)


class Following(unittest.IsolatedAsyncioTestCase):
    async def test_a_reader_gets_what_comes_after_they_asked_and_only_of_their_conversation(
        self,
    ) -> None:
        feed = EventFeed()
        feed.publish_event(event(1))
        reader = feed.follow_events("one", None)
        feed.publish_event(event(2, "other"))
        feed.publish_event(event(3))
        found = await asyncio.wait_for(reader.__anext__(), PATIENCE)
        self.assertEqual(found.number, 3)
        await reader.aclose()

    async def test_what_is_passing_comes_only_to_those_who_ask_for_it(self) -> None:
        feed = EventFeed()
        readers = [feed.follow_events("one", None, passing) for passing in (True, False)]
        passing = output("one\n")
        feed.publish_event(passing)
        feed.publish_event(event(1))
        found = [await asyncio.wait_for(reader.__anext__(), PATIENCE) for reader in readers]
        self.assertEqual([each.body for each in found], [passing.body, Content("x")])
        with self.assertRaises(Gone):
            feed.follow_events("one", ("turn", 0))
        for reader in readers:
            await reader.aclose()

    async def test_the_output_of_a_long_command_takes_no_room_of_the_other_events(self) -> None:
        feed = EventFeed()
        feed.publish_event(event(1))
        for number in range(MAX_EVENTS + 1):
            feed.publish_event(output(f"line {number}\n"))
        feed.publish_event(output("x" * (MAX_CHARACTERS - 100)))
        feed.publish_event(output("x" * (MAX_CHARACTERS - 100)))
        feed.publish_event(event(2))
        reader = feed.follow_events("one", ("turn", 1))
        found = await asyncio.wait_for(reader.__anext__(), PATIENCE)
        self.assertEqual(found.number, 2)
        await reader.aclose()

    async def test_who_is_behind_gets_the_newest_output_of_each_running_call(self) -> None:
        feed = EventFeed()
        reader = feed.follow_events("one", None, passing=True)
        for text in ("1\n", "2\n", "3\n"):
            feed.publish_event(output(text))
            feed.publish_event(output(text, "other"))
        feed.publish_event(result(1, "other"))
        first, second = [await asyncio.wait_for(reader.__anext__(), PATIENCE) for _ in range(2)]
        self.assertEqual(first.body, ToolOutput("call", "3\n", 0, 1))
        self.assertEqual(second.number, 1)
        await reader.aclose()

    async def test_output_that_is_old_goes_like_other_events_and_newer_output_comes(self) -> None:
        feed = EventFeed()
        feed.publish_event(output("old\n"))
        for number in range(1, MAX_EVENTS + 1):
            feed.publish_event(event(number))
        reader = feed.follow_events("one", None, passing=True)
        feed.publish_event(output("new\n"))
        found = await asyncio.wait_for(reader.__anext__(), PATIENCE)
        self.assertEqual(found.body, ToolOutput("call", "new\n", 0, 1))
        await reader.aclose()

    async def test_who_comes_back_misses_nothing(self) -> None:
        feed = EventFeed()
        for number in range(1, 5):
            feed.publish_event(event(number))
        reader = feed.follow_events(None, ("turn", 2))
        feed.publish_event(event(5))
        found = [(await asyncio.wait_for(reader.__anext__(), PATIENCE)).number for _ in range(3)]
        self.assertEqual(found, [3, 4, 5])
        await reader.aclose()

    async def test_a_reader_who_is_too_slow_ends_and_costs_nothing(self) -> None:
        feed = EventFeed()
        reader = feed.follow_events(None, None)
        feed.publish_event(event(1))
        await asyncio.wait_for(reader.__anext__(), PATIENCE)
        for number in range(2, MAX_EVENTS + 3):
            feed.publish_event(event(number))
        with self.assertRaises(StopAsyncIteration):
            await asyncio.wait_for(reader.__anext__(), PATIENCE)

    async def test_who_never_reads_leaves_nothing_behind(self) -> None:
        feed = EventFeed()
        reader = feed.follow_events(None, None)
        await reader.aclose()
        big = event(1, text="x" * MAX_CHARACTERS)
        alive = weakref.ref(big)
        feed.publish_event(big)
        feed.publish_event(event(2))
        del big
        self.assertIsNone(alive())

    async def test_what_is_forgotten_is_said_to_be_gone(self) -> None:
        for count, text in (MAX_EVENTS + 1, "x"), (2, "x" * MAX_CHARACTERS):
            with self.subTest(count):
                feed = EventFeed()
                for number in range(1, count + 1):
                    feed.publish_event(event(number, text=text))
                with self.assertRaises(Gone):
                    feed.follow_events(None, ("turn", 1))
