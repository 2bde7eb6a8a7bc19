"""A chat that is followed, without an agent."""

from __future__ import annotations

import asyncio
import unittest
from types import SimpleNamespace
from typing import Any

from GeminiCompanion.companion.agent.events.turn_events import Message, PastTurn, TurnEvent
from GeminiCompanion.companion.chat.open_chat import OpenChat, Wanted

from .events import BEGIN


class Past:
    """The turns on disk, once they `may_be_read`."""

    def __init__(self, *turns: PastTurn) -> None:
        self.may_be_read = asyncio.Event()
        self._turns = turns

    async def history(self) -> Any:
        await self.may_be_read.wait()
        return SimpleNamespace(turns=self._turns)


class Loading(unittest.TestCase):
    def test_what_happens_while_the_past_is_read_is_in_the_document(self) -> None:
        asyncio.run(self.told_meanwhile())

    async def told_meanwhile(self) -> None:
        agent: Any = None
        chat = OpenChat(agent, Wanted("c", "", "/w"), lambda update: None)
        conversation: Any = SimpleNamespace(
            workspace="/w",
            cli=None,
            session=SimpleNamespace(state=SimpleNamespace(options=None), lend=lambda tools: None),
            record=SimpleNamespace(turns=2),
            past=Past(PastTurn("a", BEGIN, "first"), PastTurn("b", BEGIN, "second")),
        )
        loading = asyncio.ensure_future(chat._load(conversation))
        await asyncio.sleep(0)
        for turn, said in (("b", "second"), ("c", "third")):
            chat._hear(TurnEvent(0, BEGIN, "c", turn, Message(said)))
        conversation.past.may_be_read.set()
        await loading
        text = "".join(it.rendered.text for it in chat._document.take())
        messages = [it for it in text.split("\n") if it.startswith("▎")]
        self.assertEqual(messages, ["▎ first", "▎ second", "▎ third"])
        await chat.close()
