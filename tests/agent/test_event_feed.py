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
from GeminiCompanion.companion.agent.events.turn_events import Content, ToolOutput, TurnEvent

PATIENCE = 30.0


def event(number: int, session: str = "one", text: str = "x") -> TurnEvent:
    return TurnEvent(number, datetime.now(timezone.utc), session, "turn", Content(text))


class Following(unittest.IsolatedAsyncioTestCase):
    async def test_a_reader_gets_what_comes_after_they_asked_and_only_of_their_conversation(
        self,
    ) -> None:
        feed = EventFeed()
        feed.publish(event(1))
        reader = feed.follow("one", None)
        feed.publish(event(2, "other"))
        feed.publish(event(3))
        found = await asyncio.wait_for(reader.__anext__(), PATIENCE)
        self.assertEqual(found.number, 3)
        await reader.aclose()

    async def test_what_is_passing_comes_only_to_those_who_ask_for_it(self) -> None:
        feed = EventFeed()
        readers = [feed.follow("one", None, passing) for passing in (True, False)]
        output = ToolOutput("call", "one\n", 0, 1)
        feed.publish(TurnEvent(0, datetime.now(timezone.utc), "one", "turn", output))
        feed.publish(event(1))
        found = [await asyncio.wait_for(it.__anext__(), PATIENCE) for it in readers]
        self.assertEqual([it.body for it in found], [output, Content("x")])
        with self.assertRaises(Gone):
            feed.follow("one", ("turn", 0))
        for reader in readers:
            await reader.aclose()

    async def test_who_comes_back_misses_nothing(self) -> None:
        feed = EventFeed()
        for number in range(1, 5):
            feed.publish(event(number))
        reader = feed.follow(None, ("turn", 2))
        feed.publish(event(5))
        found = [(await asyncio.wait_for(reader.__anext__(), PATIENCE)).number for _ in range(3)]
        self.assertEqual(found, [3, 4, 5])
        await reader.aclose()

    async def test_a_reader_who_is_too_slow_ends_and_costs_nothing(self) -> None:
        feed = EventFeed()
        reader = feed.follow(None, None)
        feed.publish(event(1))
        await asyncio.wait_for(reader.__anext__(), PATIENCE)
        for number in range(2, MAX_EVENTS + 3):
            feed.publish(event(number))
        with self.assertRaises(StopAsyncIteration):
            await asyncio.wait_for(reader.__anext__(), PATIENCE)

    async def test_who_never_reads_leaves_nothing_behind(self) -> None:
        feed = EventFeed()
        reader = feed.follow(None, None)
        await reader.aclose()
        big = event(1, text="x" * MAX_CHARACTERS)
        alive = weakref.ref(big)
        feed.publish(big)
        feed.publish(event(2))
        del big
        self.assertIsNone(alive())

    async def test_what_is_forgotten_is_said_to_be_gone(self) -> None:
        for count, text in (MAX_EVENTS + 1, "x"), (2, "x" * MAX_CHARACTERS):
            with self.subTest(count):
                feed = EventFeed()
                for number in range(1, count + 1):
                    feed.publish(event(number, text=text))
                with self.assertRaises(Gone):
                    feed.follow(None, ("turn", 1))
