"""What the engine relies on in each agent that it runs: the same tests for all of them and for the
scripted one, so that it cannot drift. `test_agent_turns` holds that to more. What an agent does in
its own way is in its row. One that is not set up is skipped: make test-agents.
"""

from __future__ import annotations

import glob
import json
import os
import signal
import unittest
from base64 import b64decode
from pathlib import Path
from typing import Any

from agent_case import AgentCase, of, text
from agent_rows import AGENTS, DOT, NEWEST_CLAUDE, Agent, Proxy
from GeminiCompanion.companion.agent import failure
from GeminiCompanion.companion.agent import turn_events as events
from GeminiCompanion.companion.agent.failure import AgentError
from GeminiCompanion.companion.agent.open_files import OpenFiles, Saved
from GeminiCompanion.companion.agent.processes.runner import Launch
from GeminiCompanion.companion.agent.turn.outcomes import CallDecision
from GeminiCompanion.companion.agent.turn.turn import Turn
from GeminiCompanion.tests.waiting import until
from scripted import COMMAND, VERSION


class Tab(OpenFiles):
    """One file is open with `text`, which is not saved, None for none; any edit may replace it."""

    are_there = True

    def __init__(self) -> None:
        self.path = ""
        self.text: str | None = None

    async def unsaved_text(self, path: str) -> str | None:
        return self.text if path == self.path else None

    async def save_text(self, path: str, text: str) -> Saved | None:
        if path != self.path or self.text is None:
            return None
        before, self.text = self.text, None
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return Saved(before, text)


def _newest(request: Any) -> Any:
    """The last message of the user in a request of any kind."""
    said = request.get("contents") or request.get("messages") or request.get("input")
    return [each for each in said if each.get("role") == "user"][-1]


class Contract(AgentCase):
    """Of one agent, which may ask for nothing but its model."""

    real = False
    row: Agent
    proxy: Proxy
    tab: Tab

    @classmethod
    def setUpClass(cls) -> None:
        try:
            cls.command()
        except AgentError:
            raise unittest.SkipTest(f"{cls.row.name} is not installed: {cls.row.setup}") from None
        cls.model_server = cls.row.server
        cls.proxy = Proxy()
        cls.addClassCleanup(cls.proxy.server_close)
        cls.addClassCleanup(cls.proxy.shutdown)
        cls.tab = Tab()
        cls.options = {**cls.options, "open_files": cls.tab}
        super().setUpClass()

    @property
    def version(self) -> str:
        return self.row.version

    @classmethod
    def command(cls) -> tuple[str, ...]:
        return cls.row.command()

    @classmethod
    def launch(cls, *_given: Any, **more: Any) -> Launch:
        return cls.row.launch(cls.model.url, cls.proxy.variables, cls.command())

    @classmethod
    async def another_agent(cls, *_given: Any, **more: Any) -> Any:
        return await super().another_agent(credentials=None)

    def setUp(self) -> None:
        super().setUp()
        self.file = self.path("file.txt")
        self.tab.path, self.tab.text = "", None

    def plan(self, words: str, closing: str, content: str | None = None) -> None:
        """What the model answers to a message with these words in it: a closing text, after a call
        that writes `file` where a content is given."""
        write = [] if content is None else [[self.row.write(self.file, content)]]
        self.model.will_play(self.own(words), *write, [closing])

    def plan_edit(self, words: str, closing: str, old: str, new: str) -> None:
        calls = [[call] for call in self.row.edit(self.file, old, new)]
        self.model.will_play(self.own(words), *calls, [closing])

    def own(self, words: str) -> str:
        """The words as no other test says them: its model may still be asked."""
        return f"{words} ({self._testMethodName})"

    async def chat(self, message: str, **options: Any) -> Turn:
        return await super().chat(self.own(message), **options)

    async def begin(self, message: str) -> tuple[Turn, str]:
        """A turn that waits for a decision, and the call's id."""
        turn = await self.chat(message)
        return turn, (await self.until(turn, events.ToolConfirmation)).call_id

    def assert_said(self, story: list[Any], words: str) -> None:
        self.assertEqual((text(story), story[-1].reason), (words, events.END_TURN), story)

    async def test_it_says_its_version_its_models_and_its_modes(self) -> None:
        info = await self.agent.new_session(self.workspace)
        self.assertEqual(self.agent.process_info().version, self.version)
        self.assertIn(self.row.mode, info.modes)
        self.assertEqual(info.mode, self.row.mode)
        models = await self.agent.list_models(self.workspace, info.id)
        self.assertIn(models.current, [model.id for model in models.available])

    async def test_a_text_is_told_with_its_tokens(self) -> None:
        self.plan("greet me", "Hello to you.")
        story = await self.tell("greet me")
        self.assert_said(story, "Hello to you.")
        self.assertGreater(story[-1].usage.output_tokens, 0)

    async def test_an_image_of_the_user_reaches_its_model_also_beside_a_file(self) -> None:
        info = await self.agent.new_session(self.workspace)
        attachments = self.agent.conversations.known_conversation(info.id).attachments
        image = attachments.add("dot.png", b64decode(DOT)).id
        for message, files in (("what is it", []), ("and this", [self.write("a.txt", "Words.")])):
            self.model.will_play(message, ["A dot."])
            turn = await self.agent.send_message(
                self.workspace, message, files, info.id, attachments=[image]
            )
            self.assert_said(await self.rest(turn), "A dot.")
            with self.subTest(message):
                self.assertIn(DOT, json.dumps(_newest(self.model.last_request())))

    async def test_a_call_that_is_allowed_runs_and_is_told_in_order(self) -> None:
        self.plan("write it", "Written.", "one\n")
        turn, call = await self.begin("write it")
        self.assertFalse(os.path.exists(self.file))
        self.agent.turns.confirm_call(call, CallDecision("proceed_once"))
        story = await self.rest(turn)
        self.assert_said(story, "Written.")
        self.assertEqual(self.read("file.txt"), "one\n")
        told = [execution.status for execution in of(events.ToolExecution, story)]
        begun = [events.EXECUTING] if self.row.begins_before_it_asks else []
        self.assertEqual(told, [*begun, events.PENDING, events.EXECUTING, events.COMPLETED])
        (result,) = of(events.ToolResult, story)
        self.assertEqual((result.name, result.success), (self.row.writes_as, True))
        (asked,) = of(events.ToolConfirmation, story)
        assert asked.diff is not None
        self.assertEqual((asked.diff.path, asked.diff.new_text), (self.file, "one\n"))

    async def test_a_call_that_is_rejected_does_not_run_and_the_turn_goes_on(self) -> None:
        self.plan("write it", "Not written.", "one\n")
        story = await self.tell("write it", "cancel")
        (result,) = of(events.ToolResult, story)
        self.assertEqual((result.success, result.rejected), (False, True))
        self.assertIsInstance(story[-1], events.Complete)
        self.assertFalse(os.path.exists(self.file))

    async def test_a_call_that_waits_as_the_turn_is_cancelled_does_not_run(self) -> None:
        self.plan("write it", "Written.", "one\n")
        turn, _call = await self.begin("write it")
        self.assertEqual(self.agent.turns.cancel_turns(turn.session_id), 1)
        story = await self.rest(turn)
        self.assertEqual(story[-1].reason, events.CANCELLED)
        self.assertFalse(os.path.exists(self.file))
        self.plan("and now", "Here.")
        self.assert_said(await self.tell("and now"), "Here.")

    async def test_one_that_is_killed_ends_its_turn_and_the_next_one_remembers(self) -> None:
        await self.begin_and_kill("First answer.")
        # It would warn that the agent was given a text to read instead.
        self.assertEqual(of(events.Thought, await self.tell_next("First answer.")), [])

    async def begin_and_kill(self, answer: str) -> None:
        """End the process in the middle of the second turn of a conversation."""
        self.plan("first words", answer)
        self.assert_said(await self.tell("first words"), answer)
        self.plan("write it", "Written.", "one\n")
        turn, _call = await self.begin("write it")
        await until(lambda: self.has_saved(answer))
        before = self.agent.process_info().pid or 0
        # With its children: what a CLI's launcher has started goes on without that.
        os.killpg(before, signal.SIGKILL)
        story = await self.rest(turn)
        self.assertIsInstance(story[-1], events.Error)
        self.assertEqual(story[-1].code, failure.STREAM_ERROR)

    async def tell_next(self, answer: str) -> list[Any]:
        """A turn after that, whose model knows the answer."""
        before = self.agent.process_info().pid
        self.plan("what then", "I remember.")
        story = await self.tell("what then")
        self.assert_said(story, "I remember.")
        self.assertNotEqual(self.agent.process_info().pid, before)
        self.assertIn(answer, json.dumps(self.model.last_request()))
        return story

    def has_saved(self, _answer: str) -> bool:
        """Whether the agent has written this answer down; most have before it is told."""
        return True


class WritesThroughUs(Contract):
    async def test_a_tab_with_unsaved_changes_is_edited_as_it_is(self) -> None:
        self.tab.path, self.tab.text = self.write("file.txt", "saved\n"), "saved\ntyped\n"
        self.plan_edit("edit it", "Done.", "typed", "edited")
        turn = await self.chat("edit it")
        asked = await self.until(turn, events.ToolConfirmation)
        # So far its model has only read.
        is_read = "typed" in json.dumps(self.model.last_request())
        self.assertEqual(is_read, self.row.reads_tabs)
        assert asked.diff is not None
        self.assertEqual(asked.diff.old_text, "saved\ntyped\n")
        self.agent.turns.confirm_call(asked.call_id, CallDecision("proceed_once"))
        self.assert_said(await self.rest(turn), "Done.")
        self.assertEqual((self.read("file.txt"), self.tab.text), ("saved\nedited\n", None))


class WritesByItself(Contract):
    async def test_a_tab_with_unsaved_changes_stays_as_it_is_and_its_file_is_edited(self) -> None:
        self.tab.path, self.tab.text = self.write("file.txt", "saved\n"), "saved\ntyped\n"
        self.plan_edit("edit it", "Done.", "saved", "edited")
        turn = await self.chat("edit it")
        asked = await self.until(turn, events.ToolConfirmation)
        assert asked.diff is not None
        self.assertEqual(asked.diff.old_text, "saved" if self.row.tells_pieces else "saved\n")
        self.agent.turns.confirm_call(asked.call_id, CallDecision("proceed_once"))
        self.assert_said(await self.rest(turn), "Done.")
        self.assertEqual((self.read("file.txt"), self.tab.text), ("edited\n", "saved\ntyped\n"))


class SavesLater(WritesByItself):
    """Claude Code writes down what was said 0.1 seconds after the first of it. A turn with a model
    of this machine takes less, unless it is the first of the process."""

    def saved_files(self) -> list[str]:
        sessions = os.path.join(self.root, "**", ".claude", "projects", "*", "*.jsonl")
        return glob.glob(sessions, recursive=True)

    def has_saved(self, answer: str) -> bool:
        return any(answer in Path(path).read_text("utf-8") for path in self.saved_files())

    async def test_one_that_is_killed_before_it_has_saved_is_given_the_conversation_to_read(
        self,
    ) -> None:
        await self.begin_and_kill("Said and lost.")
        for path in self.saved_files():
            os.unlink(path)
        (warning,) = of(events.Thought, await self.tell_next("Said and lost."))
        self.assertIn("was given the text of the conversation", str(warning.description))


class Scripted(WritesThroughUs):
    row = AGENTS["gemini"]
    version = VERSION

    @classmethod
    def command(cls) -> tuple[str, ...]:
        return COMMAND


class GeminiCli(WritesThroughUs):
    row = AGENTS["gemini"]


class QwenCode(WritesThroughUs):
    row = AGENTS["qwen"]


class ClaudeCode(SavesLater):
    row = AGENTS["claude"]


class NewestClaudeCode(SavesLater):
    row = NEWEST_CLAUDE


class OpenCode(WritesByItself):
    row = AGENTS["opencode"]


class Codex(WritesByItself):
    row = AGENTS["codex"]


# The others have their tests.
del Contract, WritesThroughUs, WritesByItself, SavesLater
