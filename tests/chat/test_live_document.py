"""The document of a conversation that goes on, without an agent."""

from __future__ import annotations

import asyncio
import unittest
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Sequence

from GeminiCompanion.companion.agent.events.event_feed import EventFeed
from GeminiCompanion.companion.agent.turn_events import Message, PastTurn, ToolResult, TurnEvent
from GeminiCompanion.companion.agent.turn_undo import AS_LEFT, CHANGED, OTHER, UNDONE, FileChange
from GeminiCompanion.companion.chat.chat_update import READY, ChatUpdate, UndoneTurn
from GeminiCompanion.companion.chat.live_document import LiveDocument

from ..support import until
from .events import BEGIN

FIRST, SECOND = PastTurn("a", BEGIN, "first"), PastTurn("b", BEGIN, "second")


class Past:
    """The turns on disk, once they `may_be_read`."""

    def __init__(self, *turns: PastTurn) -> None:
        self.may_be_read, self.is_asked = asyncio.Event(), False
        self.turns: Sequence[PastTurn] = turns

    async def read_history(self) -> Any:
        self.is_asked = True
        await self.may_be_read.wait()
        return SimpleNamespace(turns=self.turns)


class Loading(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.feed = EventFeed()
        self.changes = 0
        self.document = LiveDocument(self.feed, self.changed, lambda: None)
        # Others look at what is kept of documents.
        self.addCleanup(delattr, self, "document")
        self.past = Past(FIRST, SECOND)
        self.conversation: Any = SimpleNamespace(
            id="c",
            workspace="/w",
            session=SimpleNamespace(state=SimpleNamespace(options=None)),
            record=SimpleNamespace(turns=2),
            past=self.past,
            images=SimpleNamespace(folder="/images"),
            edits=SimpleNamespace(changed_files=lambda turn: [FileChange("/w/a", CHANGED, UNDONE)]),
        )

    def changed(self) -> None:
        self.changes += 1

    async def load(self) -> asyncio.Future[None]:
        """It is being loaded; the disk is asked."""
        loading = asyncio.ensure_future(self.document.load_conversation(self.conversation))
        await until(lambda: self.conversation.past.is_asked)
        return loading

    def text(self) -> str:
        update = self.document.take_update(ChatUpdate("c", READY))
        self.assertTrue(update.is_anew)
        return "".join(patch.rendered.text for patch in update.patches)

    def messages(self) -> list[str]:
        return [line for line in self.text().split("\n") if line.startswith("▎")]

    async def test_what_happens_while_the_past_is_read_is_in_the_document(self) -> None:
        loading = await self.load()
        coming = self.feed.follow_events("c", None)
        following = asyncio.ensure_future(
            self.document.follow_conversation(self.conversation, coming)
        )
        self.addCleanup(following.cancel)
        for turn, said in (("b", "second"), ("c", "third")):
            self.feed.publish_event(TurnEvent(0, BEGIN, "c", turn, Message(said)))
        await until(lambda: self.changes == 2)
        self.past.may_be_read.set()
        await loading
        self.assertEqual(self.messages(), ["▎ first", "▎ second", "▎ third"])

    async def test_each_file_that_a_call_has_changed_is_told_once(self) -> None:
        following = asyncio.ensure_future(
            self.document.follow_conversation(self.conversation, self.feed.follow_events("c", None))
        )
        self.addCleanup(following.cancel)
        result = ToolResult("1", "edit", {}, "", "", True, changed=("/w/a.py", "/w/b.py"))
        self.feed.publish_event(TurnEvent(1, BEGIN, "c", "a", result))
        await until(lambda: self.changes)
        told = self.document.take_update(ChatUpdate("c", READY))
        self.assertEqual(told.changed, ("/w/a.py", "/w/b.py"))
        self.assertEqual(self.document.take_update(ChatUpdate("c", READY)).changed, ())

    async def test_a_turn_that_was_undone_before_a_restart_says_so(self) -> None:
        result = ToolResult("1", "edit", {}, "", "", True, changed=("/w/a",))
        self.past.turns = [replace(FIRST, events=[TurnEvent(1, BEGIN, "c", "a", result)]), SECOND]
        self.past.may_be_read.set()
        await self.document.load_conversation(self.conversation)
        self.assertIn("▏ 1 file changed, then undone\n", self.text())

    async def test_a_turn_that_is_redone_while_the_past_is_read_is_told_as_it_is(self) -> None:
        result = ToolResult("1", "edit", {}, "", "", True, changed=("/w/a",))
        self.past.turns = [replace(FIRST, events=[TurnEvent(1, BEGIN, "c", "a", result)]), SECOND]
        loading = await self.load()
        self.document.undo_turn("a", [FileChange("/w/a", CHANGED, AS_LEFT)])
        self.past.may_be_read.set()
        await loading
        self.assertIn("▏ 1 file changed  [Show changes]\n", self.text())

    async def test_a_turn_that_is_undone_is_told_once(self) -> None:
        files = [FileChange("/w/a", CHANGED, UNDONE), FileChange("/w/b", CHANGED, OTHER)]
        self.document.undo_turn("a", files)
        told = self.document.take_update(ChatUpdate("c", READY))
        self.assertEqual(told.undone, (UndoneTurn("a", frozenset(["/w/a"])),))
        self.document.undo_turn("a", [FileChange("/w/a", CHANGED, AS_LEFT)])
        self.assertEqual(self.document.take_update(ChatUpdate("c", READY)).undone, ())

    async def test_a_past_that_is_read_late_does_not_replace_a_newer_one(self) -> None:
        before = await self.load()
        self.conversation.past = now = Past(FIRST)
        self.assertFalse(self.document.is_of(now))  # type: ignore[arg-type]
        after = await self.load()
        now.may_be_read.set()
        await after
        self.past.may_be_read.set()
        await before
        self.assertEqual(self.messages(), ["▎ first"])
        self.assertTrue(self.document.is_of(now))  # type: ignore[arg-type]
