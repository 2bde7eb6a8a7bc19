"""Conversations that outlive the CLI, the server and the machine, with the real Gemini CLI."""

from __future__ import annotations

import json
import os
import signal
import stat
from typing import Any
from unittest import mock

from agent_case import AgentCase, of, text
from GeminiCompanion.companion.agent import failure
from GeminiCompanion.companion.agent import turn_events as events
from GeminiCompanion.companion.agent.agent import Agent
from GeminiCompanion.companion.agent.agents import gemini_resumption as resumption
from GeminiCompanion.companion.agent.failure import AgentError
from GeminiCompanion.companion.agent.processes import idle
from GeminiCompanion.companion.agent.turn.outcomes import CallDecision
from GeminiCompanion.companion.agent.turn.turn import Turn
from GeminiCompanion.companion.agent.turn_events import Thought
from GeminiCompanion.tests.support import until
from model_server import call


class GivenBack(AgentCase):
    async def test_a_large_cli_is_ended_without_a_new_message_and_the_conversation_goes_on(
        self,
    ) -> None:
        self.model.will_play("the word is plum", ["I see."])
        self.model.will_play("and the word", ["Plum."])
        with mock.patch.multiple(idle, LARGE=0, IDLE=0.2):
            await self.tell("the word is plum")
            await until(lambda: not self.agent.process_info().is_running)
        self.assertEqual(text(await self.tell("and the word")), "Plum.")
        self.assertEqual(
            (self.agent.process_info().starts, len(self.agent.list_sessions())), (2, 1)
        )
        self.assertIn("the word is plum", json.dumps(self.model.last_request()))


class Lasting(AgentCase):
    def setUp(self) -> None:
        super().setUp()
        self.state = os.path.join(self.root, "state of " + self._testMethodName[:60])

    async def started(self) -> Agent:
        """The server's agent, as after a start of the machine."""
        agent = await self.another_agent(self.state)
        await agent.load_conversations()
        return agent

    async def told(self, agent: Agent, message: str, **options: Any) -> tuple[Turn, list[Any]]:
        turn = await agent.send_message(self.workspace, message, **options)
        story = []
        async for event in turn.read_events():
            story.append(event.body)
            if isinstance(event.body, events.ToolConfirmation):
                agent.turns.confirm_call(event.body.call_id, CallDecision("proceed_once"))
        return turn, story

    def sent(self) -> list[tuple[str, str]]:
        """What the model was sent last, as roles and texts; calls and results by their names."""
        told = []
        for content in self.model.last_request()["contents"]:
            for part in content["parts"]:
                shown = part.get("text") or "".join(
                    f"{kind} {part[kind]['name']}"
                    for kind in ("functionCall", "functionResponse")
                    if kind in part
                )
                told.append((content["role"], shown))
        return [each for each in told if "<session_context>" not in each[1]]

    async def test_after_a_restart_a_conversation_goes_on_with_calls_and_results(self) -> None:
        path = self.write("note.txt", "what the note says\n")
        first = await self.started()
        self.model.will_play("read the note", [call("read_file", file_path=path)], ["I have."])
        turn, _story = await self.told(first, "read the note")
        await first.stop()
        second = await self.started()
        info = second.list_sessions()[0]
        self.assertEqual((info.id, info.turns), (turn.session_id, 1))
        self.assertEqual((info.title, info.is_busy), ("read the note", False))
        self.model.will_play("and now", ["Go on."])
        _turn, story = await self.told(second, "and now", session_id=info.id)
        self.assertEqual((text(story), of(Thought, story)), ("Go on.", []))
        sent = self.sent()
        self.assertEqual(
            sent,
            [
                ("user", "read the note"),
                ("model", "functionCall read_file"),
                ("user", "functionResponse read_file"),
                ("model", "I have."),
                ("user", "and now"),
            ],
        )
        self.assertIn("what the note says", json.dumps(self.model.last_request()["contents"]))

    async def test_it_goes_on_again_and_again(self) -> None:
        first = await self.started()
        self.model.will_play("count", ["Yes."])
        turn, _story = await self.told(first, "count 1")
        for number in (2, 3):
            pid = first.process_info().pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            await until(lambda: not first.process_info().is_running)
            _turn, story = await self.told(first, f"count {number}", session_id=turn.session_id)
            self.assertEqual(text(story), "Yes.")
        said = [shown for role, shown in self.sent() if role == "user"]
        self.assertEqual(said, ["count 1", "count 2", "count 3"])
        chats = os.path.join(self.state, "home", ".gemini", "tmp")
        left = [name for _path, _dirs, names in os.walk(chats) for name in names if "2001" in name]
        self.assertEqual(len(left), 1)

    async def test_where_the_cli_loads_nothing_the_text_goes_along_and_that_is_told(self) -> None:
        first = await self.started()
        self.model.will_play("remember blue", ["I will."])
        turn, _story = await self.told(first, "remember blue")
        await first.stop()
        second = await self.started()
        with mock.patch.object(resumption, "write_recording", return_value=None):
            _turn, story = await self.told(second, "which?", session_id=turn.session_id)
        self.assertEqual([thought.subject for thought in of(Thought, story)], ["Warning"])
        self.assertIn("User: remember blue", json.dumps(self.model.last_request()["contents"]))

    async def test_what_is_on_disk_is_for_this_user_alone_and_goes_when_it_is_deleted(self) -> None:
        agent = await self.started()
        turn, _story = await self.told(agent, "my secret")
        path = os.path.join(self.state, "conversations", turn.session_id + ".jsonl")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        await agent.delete_session(turn.session_id)
        self.assertEqual(agent.list_sessions(), ())
        for folder, _folders, names in os.walk(self.state):
            for name in names:
                with open(os.path.join(folder, name), "rb") as file:
                    self.assertNotIn(b"my secret", file.read(), name)
        with self.assertRaises(AgentError) as caught:
            await self.told(agent, "hello", session_id=turn.session_id)
        self.assertEqual(caught.exception.code, failure.SESSION_NOT_FOUND)

    async def test_model_mode_and_title_stay(self) -> None:
        first = await self.started()
        turn, _story = await self.told(first, "hello")
        id = turn.session_id
        info = await first.change_session(id, "A title", "gemini-2.5-pro", "plan")
        self.assertEqual((info.title, info.model, info.mode), ("A title", "gemini-2.5-pro", "plan"))
        with self.assertRaises(AgentError):
            await first.change_session(id, None, None, "no such mode")
        await first.stop()
        second = await self.started()
        info = second.list_sessions()[0]
        self.assertEqual((info.title, info.model, info.mode), ("A title", "gemini-2.5-pro", "plan"))
