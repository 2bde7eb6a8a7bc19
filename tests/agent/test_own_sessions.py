"""The sessions that an agent has held in a terminal: listed, and taken over by a conversation."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import unittest
from datetime import datetime, timezone
from typing import Any
from unittest import mock

from GeminiCompanion.companion.agent import turn_events as events
from GeminiCompanion.companion.agent.acp import messages, session_list
from GeminiCompanion.companion.agent.acp.content_blocks import ContentBlock
from GeminiCompanion.companion.agent.acp.session_list import ListedSession
from GeminiCompanion.companion.agent.agent import Agent, Options
from GeminiCompanion.companion.agent.agents import command_agent
from GeminiCompanion.companion.agent.agents.gemini_cli import GeminiCli
from GeminiCompanion.companion.agent.conversations import repeated_turns
from GeminiCompanion.companion.agent.conversations.conversation import Conversation
from GeminiCompanion.companion.agent.conversations.repeated_turns import (
    NOT_SHOWN,
    OLDER,
    TAKEN_OVER,
)
from GeminiCompanion.companion.agent.failure import AgentError
from GeminiCompanion.companion.agent.processes import own_sessions
from GeminiCompanion.companion.agent.processes.runner import Launch

from ..support import PATIENCE, patched
from .test_command_agent import SCRIPT


class Listed(unittest.TestCase):
    def test_what_an_agent_tells_of_its_sessions_is_read(self) -> None:
        request = session_list.list_sessions("/w", "more")
        self.assertEqual(
            (request.method, request.params), ("session/list", {"cwd": "/w", "cursor": "more"})
        )
        for told, expected in (
            ({"sessionId": "a", "cwd": "/w", "title": " T "}, [("a", "/w", "T", None)]),
            ({"sessionId": "a", "updatedAt": "yesterday", "title": 1}, [("a", "", "", None)]),
            ({"sessionId": 1}, []),
        ):
            page = request.read({"sessions": [told, "none"], "nextCursor": None})
            found = [(each.id, each.folder, each.title, each.updated) for each in page.sessions]
            self.assertEqual((found, page.next), (expected, ""))
        for text in (
            "2026-01-02T03:04:00.000Z",
            "2026-01-02T04:04:00+01:00",
            "2026-01-02T03:04:00",
        ):
            (session,) = request.read(
                {"sessions": [{"sessionId": "a", "updatedAt": text}]}
            ).sessions
            self.assertEqual(str(session.updated), "2026-01-02 03:04:00+00:00")


class Repeated(unittest.IsolatedAsyncioTestCase):
    async def test_calls_without_an_end_are_told_in_their_order(self) -> None:
        turns = repeated_turns.RepeatedTurns(
            GeminiCli("/w", False), "c" * 32, datetime.now(timezone.utc)
        )
        turns.take_update(messages.UserMessageChunk("Go"))
        ids = [f"call {number}" for number in range(20)]
        for id in ids:
            turns.take_update(messages.ToolCallStart(id, "ls", "execute", "in_progress"))
        (turn,) = turns.finish_turns("")
        calls = [event.body for event in turn.events if isinstance(event.body, events.ToolCall)]
        self.assertEqual([call.call_id for call in calls], ids)

    async def test_what_a_call_has_shown_is_told_between_its_beginning_and_its_end(self) -> None:
        turns = repeated_turns.RepeatedTurns(
            GeminiCli("/w", False), "c", datetime.now(timezone.utc)
        )
        block = ContentBlock("resource_link", "file:///a", "a")
        turns.take_update(messages.AgentMessageChunk("", {}, (block,)))
        turns.take_update(messages.ToolCallStart("1", "Look", "read", "completed", blocks=(block,)))
        (turn,) = turns.finish_turns("")
        found = [event.body for event in turn.events]
        shown = [
            (at, resource.call_id)
            for at, resource in enumerate(found)
            if isinstance(resource, events.Resource)
        ]
        self.assertEqual(shown, [(0, ""), (2, "1")])
        self.assertIsInstance(found[1], events.ToolCall)

    async def test_what_a_call_puts_out_in_pieces_is_its_result_if_its_end_has_none(self) -> None:
        turns = repeated_turns.RepeatedTurns(
            GeminiCli("/w", False), "c", datetime.now(timezone.utc)
        )
        for text in ("one\n", "two\n"):
            turns.take_update(messages.ToolCallUpdate("1", "ls", "execute", output=text))
        turns.take_update(messages.ToolCallUpdate("1", status="completed"))
        (turn,) = turns.finish_turns("")
        results = [
            event.body.result for event in turn.events if isinstance(event.body, events.ToolResult)
        ]
        self.assertEqual(results, ["one\ntwo\n"])


class OfTerminal(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.realpath(folder.name)
        self.workspace = os.path.join(self.folder, "workspace")
        os.mkdir(self.workspace)

    def agent(self, *options: str) -> Agent:
        command = command_agent.find_command([sys.executable, SCRIPT, *options])
        launch = Launch(
            command, agent="plain", fallback=command_agent.CommandAgent.from_environment({})
        )
        self.made = Agent(Options(launch, os.path.join(self.folder, "state")))
        self.addAsyncCleanup(self.made.stop)
        return self.made

    async def listed(self) -> tuple[ListedSession, ...]:
        backend = self.made.backends[None]
        asked = own_sessions.list_own_sessions(backend, self.made.conversations, self.workspace)
        return await asyncio.wait_for(asked, PATIENCE)

    async def take_over(self, session: ListedSession) -> Conversation:
        backend = self.made.backends[None]
        asked = own_sessions.take_over(backend, self.made.conversations, self.workspace, session)
        return await asyncio.wait_for(asked, PATIENCE)

    async def told(self, conversation: Conversation) -> list[list[Any]]:
        """What is known of each turn: what the user said, and the bodies of its events."""
        turns = (await conversation.past.read_history()).turns
        return [[turn.text, *(event.body for event in turn.events)] for turn in turns]

    async def test_those_of_the_folder_are_listed_the_last_used_one_first(self) -> None:
        self.agent("--list", "--load")
        found = await self.listed()
        self.assertEqual(
            [(session.id, session.title) for session in found],
            [("last", "Last one"), ("first", "The word"), ("bare", "")],
        )

    async def test_an_agent_that_lists_none_is_named(self) -> None:
        self.agent("--load")
        with self.assertRaisesRegex(AgentError, "plain does not list its sessions"):
            await self.listed()

    async def test_one_is_taken_over_with_what_was_said_in_it(self) -> None:
        for version in ("1", "2"):
            with self.subTest(version):
                self.setUp()
                await self.take_over_first("--version", version)
                await self.made.stop()

    async def take_over_first(self, *options: str) -> None:
        self.agent("--list", "--load", "--resume", *options)
        taken = await self.take_over((await self.listed())[1])
        first, second = await self.told(taken)
        made = [type(body) for body in first[1:5]]
        self.assertEqual(
            made, [events.Thought, events.ToolCall, events.ToolExecution, events.ToolResult]
        )
        self.assertEqual((first[0], first[4].result), ("The word is plum.", "file.txt"))
        said = "".join(content.text for content in first if isinstance(content, events.Content))
        self.assertEqual(said, "I see.")
        self.assertEqual(second[0], "And now?")
        self.assertEqual(second[-2].description, TAKEN_OVER)
        self.assertEqual((taken.session_info.title, taken.session_info.turns), ("The word", 2))

    async def test_the_conversation_goes_on_in_that_session(self) -> None:
        agent = self.agent("--list", "--load", "--resume")
        taken = await self.take_over((await self.listed())[1])
        turn = await agent.send_message(self.workspace, "Go on", session_id=taken.id)
        story = [event.body async for event in turn.read_events()]
        heard = "".join(
            content.text for content in story if isinstance(content, events.Content)
        ).split("\n")
        self.assertEqual(heard[-5:], ["session/resume", "session/prompt", "null", "Go on", ""])
        self.assertEqual(taken.record.state.session, "first")

    async def test_it_is_known_after_a_restart_and_not_listed_again(self) -> None:
        agent = self.agent("--list", "--load")
        taken = await self.take_over((await self.listed())[1])
        self.assertEqual([session.id for session in await self.listed()], ["last", "bare"])
        await agent.stop()
        await self.agent("--list", "--load").load_conversations()
        self.assertEqual([session.id for session in await self.listed()], ["last", "bare"])
        again = self.made.conversations.known_conversation(taken.id)
        self.assertEqual((again.session_info.title, again.session_info.turns), ("The word", 2))
        self.assertEqual(len(await self.told(again)), 2)
        self.assertFalse(again.record.summary.unfinished)

    async def test_no_session_is_taken_over_twice(self) -> None:
        self.agent("--list", "--load")
        session = (await self.listed())[0]
        await self.take_over(session)
        with self.assertRaisesRegex(AgentError, "a conversation here already"):
            await self.take_over(session)

    async def test_no_session_is_taken_over_twice_at_a_time(self) -> None:
        agent = self.agent("--list", "--load")
        session = (await self.listed())[0]
        both = (self.take_over(session) for _ in range(2))
        done = await asyncio.gather(*both, return_exceptions=True)
        (refused,) = (error for error in done if isinstance(error, AgentError))
        self.assertEqual(refused.message, own_sessions.TAKEN)
        self.assertEqual(len(agent.list_sessions()), 1)
        kept = os.listdir(os.path.join(self.folder, "state", "conversations"))
        self.assertEqual(len({os.path.splitext(name)[0] for name in kept}), 1, kept)

    async def test_pages_without_a_session_of_the_folder_do_not_end_the_list(self) -> None:
        patched(self, mock.patch.object(own_sessions, "MOST", 2))
        self.agent("--list", "--load")
        # The first page has two, one of which is elsewhere.
        self.assertEqual([session.id for session in await self.listed()], ["last", "first"])

    async def test_nothing_is_left_of_one_that_cannot_be_opened(self) -> None:
        agent = self.agent("--list", "--load")
        with self.assertRaisesRegex(AgentError, "It cannot be read"):
            await self.take_over((await self.listed())[2])
        self.assertEqual(agent.list_sessions(), ())
        self.assertEqual(os.listdir(os.path.join(self.folder, "state", "conversations")), [])

    async def test_an_agent_that_repeats_nothing_knows_what_is_not_shown(self) -> None:
        self.agent("--list", "--resume")
        taken = await self.take_over((await self.listed())[1])
        ((text, notice, _end),) = await self.told(taken)
        self.assertEqual((text, notice.description), ("The word", NOT_SHOWN))

    async def test_one_that_opens_none_again_is_named(self) -> None:
        self.agent("--list")
        with self.assertRaisesRegex(AgentError, "plain does not open sessions again"):
            await self.take_over((await self.listed())[0])

    async def test_a_login_that_it_asks_for_is_said(self) -> None:
        self.agent("--list", "--load", "--login")
        with self.assertRaisesRegex(AgentError, "plain needs a login before"):
            await self.take_over((await self.listed())[0])

    async def test_of_a_long_one_only_the_end_is_shown(self) -> None:
        patched(self, mock.patch.object(repeated_turns, "MAX_TURNS", 1))
        self.agent("--list", "--load")
        ((text, *bodies),) = await self.told(await self.take_over((await self.listed())[0]))
        self.assertEqual(text, "And now?")
        self.assertIn(
            OLDER,
            [thought.description for thought in bodies if isinstance(thought, events.Thought)],
        )
