"""A chat that is followed, without an agent."""

from __future__ import annotations

import asyncio
import unittest
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, AsyncIterator
from unittest import mock

from GeminiCompanion.companion.agent.conversations.conversation_state import ConversationState
from GeminiCompanion.companion.agent.credentials import UsedLogin
from GeminiCompanion.companion.agent.events import event_feed
from GeminiCompanion.companion.agent.events.event_feed import EventFeed
from GeminiCompanion.companion.agent.failure import INTERNAL_ERROR, AgentError
from GeminiCompanion.companion.agent.turn_events import Diff, Message, Queue, ToolResult, TurnEvent
from GeminiCompanion.companion.chat import finding, problems
from GeminiCompanion.companion.chat.chat_update import FAILED, ChatUpdate
from GeminiCompanion.companion.chat.finding import WantedChat
from GeminiCompanion.companion.chat.open_chat import OpenChat
from GeminiCompanion.companion.chat.unsaid import Unsaid

from ..support import Clock, patched, until
from .events import BEGIN


class Past:
    """The turns on disk, none; raises its `error`."""

    error: AgentError | None = None

    async def read_history(self) -> Any:
        if self.error is not None:
            raise self.error
        return SimpleNamespace(turns=())


class Following(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.feed, self.past, self.disk = EventFeed(), Past(), asyncio.Event()
        self.disk.set()
        self.told: list[ChatUpdate] = []
        self.conversation: Any = mock.MagicMock(id="c", workspace="/w", past=self.past, turn=None)
        self.conversation.is_busy = False
        patched(
            self,
            mock.patch.object(finding, "find_conversation", mock.AsyncMock(side_effect=self.found)),
        )
        backends = mock.MagicMock(used_login=lambda agent, home: UsedLogin())
        agent: Any = SimpleNamespace(feed=self.feed, backends=backends)
        self.chat = OpenChat(agent, WantedChat("c", "", "/w"), self.told.append)
        self.addAsyncCleanup(self.chat.close)

    async def found(self, *_: Any) -> Any:
        await self.disk.wait()
        return self.conversation

    def say(self, turn: str) -> None:
        self.feed.publish_event(TurnEvent(0, BEGIN, "c", turn, Message(turn)))

    def is_shown(self, words: str) -> bool:
        patches = [patch for update in self.told for patch in update.patches]
        return any(words in patch.rendered.text for patch in patches)

    async def test_it_goes_on_after_a_disk_that_could_not_be_read_for_a_while(self) -> None:
        await self.chat.ready_conversation()
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
        await self.chat.ready_conversation()
        self.say("after")
        await until(lambda: self.is_shown("after"))

    async def test_what_cannot_be_read_of_another_server_has_nothing_told_twice(self) -> None:
        await self.chat.ready_conversation()
        self.conversation.past = past = Past()
        past.error = AgentError(INTERNAL_ERROR, "The conversation cannot be read.")
        self.chat.tell_soon()
        await until(lambda: self.told and self.told[-1].state == FAILED)
        past.error = None
        await self.chat.ready_conversation()
        edits = (Diff("/w/a.txt", "", "new"),)
        result = ToolResult("call", "write", {}, "", "", True, unasked=edits)
        self.feed.publish_event(TurnEvent(1, BEGIN, "c", "turn", result))
        self.say("after")
        await until(lambda: self.is_shown("after"))
        self.assertEqual(sum(len(update.unasked) for update in self.told), 1)

    async def test_a_message_on_its_way_is_stopped_and_the_next_one_is_not(self) -> None:
        async with self.chat.sending_message() as first:
            first()
            self.chat.stop()
            with self.assertRaises(AgentError):
                first()
            async with self.chat.sending_message() as second:
                second()

    async def test_one_that_is_stopped_while_it_opens_shows_what_waits_all_the_same(self) -> None:
        waiting = self.conversation.queue.body = Queue((), is_held=True)
        self.disk.clear()
        self.chat.open()
        await in_turn()
        self.chat.stop()
        await until(lambda: self.told and self.told[-1].problem == problems.STOPPED)
        self.disk.set()
        await until(lambda: self.told[-1].queue == waiting)
        self.assertEqual(self.told[-1].problem, problems.STOPPED)
        self.say("after")
        await until(lambda: self.is_shown("after"))

    async def test_nothing_is_told_that_is_no_news_or_comes_after_the_end(self) -> None:
        clock = Clock()
        await self.chat.ready_conversation()
        for _ in range(2):
            self.chat.tell_soon()
            await clock.advance(1.0)
        self.assertEqual(len(self.told), 1)
        await self.chat.close()
        self.chat.show_problem("It ended.", INTERNAL_ERROR)
        await clock.advance(1.0)
        self.assertEqual(len(self.told), 1)

    async def test_the_folders_that_the_agent_has_beside_the_workspace_are_told(self) -> None:
        clock = Clock()
        self.conversation.session.other_folders = ("/lib",)
        await self.chat.ready_conversation()
        await clock.advance(1.0)
        self.assertEqual(self.told[-1].other_folders, ("/lib",))

    async def test_of_a_conversation_that_was_deleted_nothing_is_heard_any_more(self) -> None:
        clock = Clock()
        await self.chat.ready_conversation()
        self.chat.lose_conversation()
        self.say("late")
        await clock.advance(1.0)
        self.assertEqual(self.told[-1].state, FAILED)
        self.assertFalse(self.is_shown("late"))

    async def test_one_that_works_is_not_opened_again(self) -> None:
        clock = Clock()
        await self.chat.ready_conversation()
        self.chat.show_problem("It ended.", INTERNAL_ERROR)
        self.conversation.is_busy = True
        self.chat.retry()
        await clock.advance(1.0)
        self.assertEqual(self.told[-1].problem, "It ended.")

    async def test_its_end_waits_for_each_message_that_is_on_its_way(self) -> None:
        await self.chat.ready_conversation()
        unsaid = self.chat.unsaid = mock.MagicMock(remove_conversation=mock.AsyncMock())
        closing: asyncio.Future[None] | None = None
        async with self.chat.sending_message():
            async with self.chat.sending_message():
                closing = asyncio.ensure_future(self.chat.close())
                await in_turn()
            await in_turn()
            unsaid.remove_conversation.assert_not_called()
        await closing
        unsaid.remove_conversation.assert_called_once()


class Saying(unittest.IsolatedAsyncioTestCase):
    """The first words in a conversation that was begun for its chat."""

    def setUp(self) -> None:
        self.is_held, self.kept = False, 0
        self.changed: list[tuple[bool, bool]] = []
        hold = SimpleNamespace(
            exclusive_use=self.held, keep_held=self.keep, give_soon=self.give_soon
        )
        state = ConversationState()
        record = SimpleNamespace(has_begun=False, turns=0, state=state, change_state=self.change)
        self.conversation: Any = SimpleNamespace(
            id="c", record=record, hold=hold, is_busy=False, queue=SimpleNamespace(messages=())
        )
        self.unsaid = Unsaid(self.conversation)
        self.agent: Any = SimpleNamespace(delete_session=mock.AsyncMock())

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        self.is_held = True
        yield
        self.is_held = False

    def keep(self) -> None:
        self.kept += 1

    def give_soon(self) -> None:
        self.kept -= 1

    def change(self, state: ConversationState) -> None:
        self.conversation.record.state = state
        self.changed.append((state.is_temporary, self.is_held))

    async def test_nobody_else_has_it_while_it_is_made_to_last(self) -> None:
        await self.unsaid.end_temporary()
        await self.unsaid.end_temporary()
        self.assertEqual(self.changed, [(True, False), (False, True)])

    async def test_it_is_kept_from_others_once_until_something_is_said(self) -> None:
        await self.unsaid.keep_conversation()
        await self.unsaid.keep_conversation()
        self.assertEqual(self.kept, 1)
        await self.unsaid.end_temporary()
        await self.unsaid.keep_conversation()
        self.assertEqual(self.kept, 0)

    async def test_it_goes_with_its_chat(self) -> None:
        await self.unsaid.remove_conversation(self.agent)
        self.agent.delete_session.assert_called_once_with("c")

    async def test_it_stays_where_a_message_waits_or_runs_or_was_said(self) -> None:
        conversation = self.conversation
        for owner, name, value in (
            (conversation.queue, "messages", ("later",)),
            (conversation, "is_busy", True),
            (conversation.record, "turns", 1),
        ):
            with self.subTest(name), mock.patch.object(owner, name, value):
                await self.unsaid.remove_conversation(self.agent)
                self.agent.delete_session.assert_not_called()

    async def test_one_that_another_program_began_stays_with_it(self) -> None:
        self.conversation.record.has_begun = True
        await Unsaid(self.conversation).remove_conversation(self.agent)
        self.agent.delete_session.assert_not_called()


async def in_turn() -> None:
    """What is ready to run has run, and what that called."""
    for _ in range(20):
        await asyncio.sleep(0)
