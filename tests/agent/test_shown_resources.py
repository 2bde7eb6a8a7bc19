"""What the agent shows beside its text, as the events of a turn."""

from __future__ import annotations

import unittest
from typing import Any
from unittest import mock

from GeminiCompanion.companion.agent import turn_events as events
from GeminiCompanion.companion.agent.acp.content_blocks import LINK, RESOURCE, ContentBlock
from GeminiCompanion.companion.agent.events.event_log import EventLog
from GeminiCompanion.companion.agent.turn import shown_resources
from GeminiCompanion.companion.agent.turn.shown_resources import ShownResources


class Bounded(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.told: list[Any] = []
        log = EventLog("conversation", lambda event: self.told.append(event.body))
        nothing: Any = None
        self.resources = ShownResources(log, nothing)

    def kinds(self) -> list[str]:
        return [each.type for each in self.told]

    async def test_more_than_a_turn_may_have_is_said_once(self) -> None:
        links = [ContentBlock(LINK, f"https://a.example/{number}") for number in range(4)]
        with mock.patch.object(shown_resources, "MAX_SHOWN", 2):
            for _again in range(2):
                await self.resources.show_blocks(links, "call")
        self.assertEqual(self.kinds(), ["resource", "resource", "thought"])
        self.assertEqual((self.told[-1].subject, len(self.told)), (events.WARNING, 3))

    async def test_all_texts_of_a_turn_are_bounded_together(self) -> None:
        texts = [ContentBlock(RESOURCE, text=str(number) * 100) for number in range(4)]
        with mock.patch.object(shown_resources, "MAX_ALL", 250):
            await self.resources.show_blocks(texts)
        self.assertEqual(self.kinds(), ["resource", "resource", "thought"])
