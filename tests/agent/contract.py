"""What the engine relies on in each agent that it runs: the same tests for the real CLIs
(`tests/e2e/test_agent_contract`) and for the scripted one, so that it cannot drift."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import tempfile
import unittest
from typing import Any

from GeminiCompanion.companion.agent.agent import Agent, Options
from GeminiCompanion.companion.agent.events import turn_events as events
from GeminiCompanion.companion.agent.processes.runner import Launch
from GeminiCompanion.companion.agent.turn.turn import Turn
from GeminiCompanion.companion.agent.wording import failure

# Seconds for one test, with two starts of a CLI on a busy machine in it.
PATIENCE = 240.0


class AgentContract(unittest.IsolatedAsyncioTestCase):
    """`launch` starts the agent, and `plan` says what its model answers to a message with these
    words in it: a closing text, after a call that writes a file where one is given."""

    def launch(self) -> Launch:
        raise NotImplementedError

    def plan(self, words: str, closing: str, write: tuple[str, str] | None = None) -> None:
        raise NotImplementedError

    def setUp(self) -> None:
        self.root = os.path.realpath(tempfile.mkdtemp(prefix="contract-"))
        self.addCleanup(shutil.rmtree, self.root, True)
        self.workspace = os.path.join(self.root, "work space")
        os.mkdir(self.workspace)
        self.file = os.path.join(self.workspace, "file.txt")

    async def asyncSetUp(self) -> None:
        self.agent = Agent(Options(self.launch(), os.path.join(self.root, "state")))
        await self.agent.load()
        self.addAsyncCleanup(self.agent.stop)

    async def begin(self, message: str) -> tuple[Turn, str]:
        """A turn that waits for a decision, and the call's id."""
        turn = await self.agent.chat(self.workspace, message)
        async for event in turn.events():
            if isinstance(event.body, events.ToolConfirmation):
                return turn, event.body.call_id
        raise AssertionError("the turn asked nobody")

    async def rest(self, turn: Turn) -> list[Any]:
        async def read() -> list[Any]:
            return [event.body async for event in turn.events()]

        return await asyncio.wait_for(read(), PATIENCE)

    async def tell(self, message: str) -> list[Any]:
        return await self.rest(await self.agent.chat(self.workspace, message))

    def of(self, kind: type, story: list[Any]) -> list[Any]:
        return [body for body in story if isinstance(body, kind)]

    def assert_said(self, story: list[Any], text: str) -> None:
        said = "".join(body.text for body in self.of(events.Content, story))
        self.assertEqual(said, text, story)
        self.assertEqual(story[-1].reason, events.END_TURN)

    async def test_it_says_its_version_its_models_and_its_modes(self) -> None:
        info = await self.agent.new_session(self.workspace)
        self.assertTrue(self.agent.info().version)
        self.assertIn("default", info.modes)
        self.assertEqual(info.mode, "default")
        models = await self.agent.models(self.workspace, info.id)
        self.assertIn(models.current, [model.id for model in models.available])

    async def test_a_text_is_told_with_its_tokens(self) -> None:
        self.plan("greet me", "Hello to you.")
        story = await self.tell("greet me")
        self.assert_said(story, "Hello to you.")
        self.assertGreater(story[-1].usage.output_tokens, 0)

    async def test_a_call_that_is_allowed_runs_and_is_told_in_order(self) -> None:
        self.plan("write it", "Written.", (self.file, "one\n"))
        turn, call = await self.begin("write it")
        self.assertFalse(os.path.exists(self.file))
        self.agent.confirm(call, "proceed_once")
        story = await self.rest(turn)
        self.assert_said(story, "Written.")
        with open(self.file, encoding="utf-8") as file:
            self.assertEqual(file.read(), "one\n")
        told = [it.status for it in self.of(events.ToolExecution, story)]
        self.assertEqual(told, [events.PENDING, events.EXECUTING, events.COMPLETED])
        (result,) = self.of(events.ToolResult, story)
        self.assertEqual((result.name, result.success), ("write_file", True))
        (asked,) = self.of(events.ToolConfirmation, story)
        self.assertEqual((asked.diff.path, asked.diff.new_text), (self.file, "one\n"))

    async def test_a_call_that_is_rejected_does_not_run_and_the_turn_goes_on(self) -> None:
        self.plan("write it", "Not written.", (self.file, "one\n"))
        turn, call = await self.begin("write it")
        self.agent.confirm(call, "cancel")
        story = await self.rest(turn)
        (result,) = self.of(events.ToolResult, story)
        self.assertEqual((result.success, result.rejected), (False, True))
        self.assertIsInstance(story[-1], events.Complete)
        self.assertFalse(os.path.exists(self.file))

    async def test_a_call_that_waits_as_the_turn_is_cancelled_does_not_run(self) -> None:
        self.plan("write it", "Written.", (self.file, "one\n"))
        turn, _call = await self.begin("write it")
        self.assertEqual(self.agent.cancel(), 1)
        story = await self.rest(turn)
        self.assertEqual(story[-1].reason, events.CANCELLED)
        self.assertFalse(os.path.exists(self.file))
        self.plan("and now", "Here.")
        self.assert_said(await self.tell("and now"), "Here.")

    @unittest.skipIf(sys.platform == "win32", "there is no such signal")
    async def test_one_that_is_killed_ends_its_turn_and_the_next_one_remembers(self) -> None:
        self.plan("first words", "First answer.")
        self.assert_said(await self.tell("first words"), "First answer.")
        self.plan("write it", "Written.", (self.file, "one\n"))
        turn, _call = await self.begin("write it")
        before = self.agent.info().pid
        assert before is not None
        # With its children: what a CLI's launcher has started goes on without that.
        os.killpg(before, signal.SIGKILL)
        story = await self.rest(turn)
        self.assertIsInstance(story[-1], events.Error)
        self.assertEqual(story[-1].code, failure.STREAM_ERROR)
        self.plan("what then", "I remember.")
        story = await self.tell("what then")
        self.assert_said(story, "I remember.")
        self.assertNotEqual(self.agent.info().pid, before)
        # It would warn that the agent was given a text to read instead.
        self.assertEqual(self.of(events.Thought, story), [])
