"""A chat that is followed, without an agent."""

from __future__ import annotations

import unittest
from types import SimpleNamespace
from typing import Any
from unittest import mock

from GeminiCompanion.companion.agent.events import event_feed
from GeminiCompanion.companion.agent.events.event_feed import EventFeed
from GeminiCompanion.companion.agent.events.turn_events import Message, TurnEvent
from GeminiCompanion.companion.agent.wording.failure import INTERNAL_ERROR, AgentError
from GeminiCompanion.companion.chat import finding
from GeminiCompanion.companion.chat.chat_update import FAILED, ChatUpdate
from GeminiCompanion.companion.chat.finding import WantedChat
from GeminiCompanion.companion.chat.open_chat import OpenChat

from ..support import patched, until
from .events import BEGIN


class Past:
    """The turns on disk, none; raises its `error`."""

    error: AgentError | None = None

    async def history(self) -> Any:
        if self.error is not None:
            raise self.error
        return SimpleNamespace(turns=())


class Following(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.feed, self.past = EventFeed(), Past()
        self.told: list[ChatUpdate] = []
        self.conversation: Any = mock.MagicMock(id="c", workspace="/w", past=self.past, turn=None)
        self.conversation.is_busy = False
        patched(self, mock.patch.object(finding, "find", mock.AsyncMock(side_effect=self.found)))
        agent: Any = SimpleNamespace(feed=self.feed)
        self.chat = OpenChat(agent, WantedChat("c", "", "/w"), self.told.append)
        self.addAsyncCleanup(self.chat.close)

    async def found(self, *_: Any) -> Any:
        return self.conversation

    def say(self, turn: str) -> None:
        self.feed.publish(TurnEvent(0, BEGIN, "c", turn, Message(turn)))

    def is_shown(self, words: str) -> bool:
        patches = [patch for update in self.told for patch in update.patches]
        return any(words in it.rendered.text for it in patches)

    async def test_it_goes_on_after_a_disk_that_could_not_be_read_for_a_while(self) -> None:
        await self.chat.ready()
        self.say("before")
        await until(lambda: self.is_shown("before"))
        self.past.error = AgentError(INTERNAL_ERROR, "The conversation cannot be read.")
        with mock.patch.object(event_feed, "MAX_EVENTS", 1):
            # More than the feed keeps, so that it has to be read again.
            for number in range(3):
                self.say(f"lost {number}")
            await until(lambda: self.told[-1].state == FAILED)
        self.past.error = None
        self.chat.retry()
        await self.chat.ready()
        self.say("after")
        await until(lambda: self.is_shown("after"))
