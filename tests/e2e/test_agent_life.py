"""The engine when something goes down, is cancelled, or comes twice."""

from __future__ import annotations

import asyncio
import os
import signal
from unittest import mock

from agent_case import PATIENCE, AgentCase, of, start_usual_cli, text
from GeminiCompanion.companion.agent import failure
from GeminiCompanion.companion.agent import turn_events as events
from GeminiCompanion.companion.agent.agents import gemini_cli
from GeminiCompanion.companion.agent.conversations import session_opener
from GeminiCompanion.companion.agent.credentials import API_KEY, Credentials
from GeminiCompanion.companion.agent.failure import AgentError
from GeminiCompanion.companion.agent.turn import turn as turn_module
from GeminiCompanion.companion.agent.turn.outcomes import CallDecision
from GeminiCompanion.companion.agent.turn.turn import Turn
from GeminiCompanion.companion.agent.turn_events import (
    Error,
    Thought,
    ToolConfirmation,
    ToolExecution,
    ToolResult,
)
from GeminiCompanion.tests.support import until
from hanging_pipe import HangingPipe, needs_pipes
from model_server import Gate, call


class Cancelling(AgentCase):
    async def test_a_turn_that_is_cancelled_at_once_ends_at_once_and_costs_no_history(self) -> None:
        await self.tell("hello")
        gate = Gate()
        self.addCleanup(gate.set)
        self.model.will_play("never mind", ["Once ", gate, "upon a time"])
        turn = await self.chat("never mind")
        with mock.patch.object(turn_module, "CANCELLING", 2 * PATIENCE):
            turn.cancel()
            story = await self.rest(turn)
        self.assertEqual(story[-1].reason, events.CANCELLED)
        # The conversation was not lost over it.
        self.model.will_play("go on", ["Here."])
        self.assertEqual(text(await self.tell("go on")), "Here.")
        self.assertIn("hello", str(self.model.last_request()["contents"]))

    async def test_a_message_that_waits_for_the_start_can_be_cancelled(self) -> None:
        agent = await self.another_agent()
        self.model.will_play("too soon", ["Here."])
        telling = asyncio.ensure_future(agent.send_message(self.workspace, "too soon"))
        await until(lambda: agent.process_info().starts)
        self.assertEqual(agent.turns.cancel_turns(agent.list_sessions()[0].id), 1)
        with self.assertRaises(AgentError) as told:
            await telling
        self.assertEqual(told.exception.code, failure.NOT_SENT)
        # Only that one.
        again = await agent.send_message(self.workspace, "too soon")
        self.assertEqual(text(await self.rest(again)), "Here.")

    async def test_a_cancelled_command_is_ended_and_no_success(self) -> None:
        turn, command = await self.run_command(self.agent)
        turn.cancel()
        story = await self.rest(turn)
        result = of(ToolResult, story)[0]
        self.assertEqual((result.success, story[-1].reason), (False, events.CANCELLED))
        self.assertEqual(of(ToolExecution, story)[-1].status, events.FAILED)
        await self.until_gone(command)


class Hanging(AgentCase):
    """A file of the folder from which nothing comes."""

    real = True

    @needs_pipes
    async def test_a_read_that_hangs_at_a_pipe_is_ended_with_the_cli_and_the_next_message_works(
        self,
    ) -> None:
        pipe = HangingPipe(self.path("notes.md"))
        self.addCleanup(pipe.close)
        read = [call("read_file", file_path=pipe.path)]
        self.model.will_play("read it", read, ["Never said."])
        turn = await self.chat("read it")
        await until(pipe.readers)
        with mock.patch.object(turn_module, "CANCELLING", 0.5):
            turn.cancel()
            story = await self.rest(turn)
        self.assertEqual(story[-1].reason, events.CANCELLED)
        self.model.will_play("go on", ["Here."])
        self.assertEqual(text(await self.tell("go on")), "Here.")
        await until(lambda: not pipe.readers())


class Dying(AgentCase):
    async def test_a_bug_of_ours_in_the_reader_ends_the_cli_and_leaves_nobody_waiting(self) -> None:
        await self.tell("hello")
        pid = self.agent.process_info().pid or 0
        with mock.patch.object(Turn, "take_update", side_effect=LookupError("a bug")):
            with self.assertLogs("GeminiCompanion", "ERROR") as logged:
                story = await self.tell("hello")
        self.assertEqual(story[-1].code, failure.STREAM_ERROR)
        self.assertIn("a bug", logged.output[0])
        await self.until_gone(pid)
        self.model.will_play("go on", ["Here."])
        self.assertEqual(text(await self.tell("go on")), "Here.")

    async def test_a_cli_that_does_not_answer_is_ended_and_the_next_message_works(self) -> None:
        agent = await self.another_agent()
        await start_usual_cli(agent)
        pid = agent.process_info().pid or 0
        os.kill(pid, signal.SIGSTOP)
        with mock.patch.object(session_opener, "OPENING", 0.5):
            with self.assertRaises(AgentError) as caught:
                await agent.send_message(self.workspace, "hello")
        self.assertEqual(caught.exception.code, failure.CLIENT_NOT_INITIALIZED)
        self.assertIn("did not answer", str(caught.exception))
        await self.until_gone(pid)
        self.model.will_play("hello again", ["Here."])
        again = await agent.send_message(self.workspace, "hello again")
        self.assertEqual(text(await self.rest(again)), "Here.")

    async def test_a_cli_that_is_stuck_ends_with_its_command_and_is_replaced(self) -> None:
        agent = await self.another_agent()
        turn, command = await self.run_command(agent)
        pid = agent.process_info().pid or 0
        os.kill(pid, signal.SIGSTOP)
        with mock.patch.object(turn_module, "CANCELLING", 0.5):
            turn.cancel()
            story = await self.rest(turn)
        self.assertEqual(story[-1].reason, events.CANCELLED)
        self.model.will_play("go on", ["Here."])
        again = await agent.send_message(self.workspace, "go on")
        self.assertEqual(text(await self.rest(again)), "Here.")
        await self.until_gone(pid)
        await self.until_gone(command)

    async def test_a_death_while_a_decision_is_awaited_leaves_none_to_take(self) -> None:
        path = self.path("d.txt")
        self.model.will_play(
            "make d.txt", [call("write_file", file_path=path, content="")], ["Done."]
        )
        turn = await self.chat("make d.txt")
        asked = await self.until(turn, ToolConfirmation)
        os.kill(self.agent.process_info().pid or 0, signal.SIGKILL)
        story = await self.rest(turn)
        self.assertEqual(self.agent.turns.confirmations, ())
        self.assertFalse(of(ToolResult, story)[0].success)
        self.assertIsInstance(story[-1], Error)
        with self.assertRaises(AgentError):
            self.agent.turns.confirm_call(asked.call_id, CallDecision("proceed_once"))

    async def test_a_stopped_agent_leaves_no_command_of_a_tool(self) -> None:
        agent = await self.another_agent()
        turn, command = await self.run_command(agent)
        await agent.stop()
        self.assertTrue(turn.is_over)
        await self.until_gone(command)

    async def test_a_model_that_cannot_be_reached_is_told_in_words(self) -> None:
        nowhere = {"GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1"}
        agent = await self.another_agent(variables=nowhere)
        with mock.patch.object(gemini_cli, "MAX_ATTEMPTS", 2):
            turn = await agent.send_message(self.workspace, "anybody?")
        story = await self.rest(turn)
        told = {body.subject: str(body.description) for body in of(Thought, story)}
        self.assertEqual(list(told), ["Retrying"])
        self.assertIn("cannot be reached: attempt ", told["Retrying"])
        self.assertTrue(turn.is_unanswered)
        self.assertEqual(story[-1].code, failure.NETWORK_ERROR)
        self.assertIn("cannot be reached", str(story[-1].message))


class Trusting(AgentCase):
    """What the CLI itself takes from its surroundings."""

    real = True

    async def test_variables_above_the_home_are_not_the_clis(self) -> None:
        above = os.path.join(self.root, "above")
        os.mkdir(above)
        with open(os.path.join(above, ".env"), "w", encoding="utf-8") as file:
            file.write("FROM_ABOVE=found\n")
        agent = await self.another_agent(os.path.join(above, "state"), trusts_workspaces=True)
        self.model.will_play("env", [call("run_shell_command", command="env; true")], ["Ran."])
        turn = await agent.send_message(self.workspace, "env")
        asked = await self.until(turn, ToolConfirmation)
        agent.turns.confirm_call(asked.call_id, CallDecision("proceed_once"))
        result = of(ToolResult, await self.rest(turn))[0].result
        self.assertIn("PATH=", result)
        self.assertNotIn("FROM_ABOVE", result)


class Many(AgentCase):
    async def test_a_conversation_that_was_only_begun_is_not_at_work(self) -> None:
        begun = await self.agent.new_session(self.workspace)
        self.assertEqual((begun.is_busy, begun.turns), (False, 0))

    async def test_models_are_told_while_a_turn_runs_and_none_is_chosen(self) -> None:
        gate = Gate()
        self.addCleanup(gate.set)
        self.model.will_play("meanwhile", ["One ", gate, "two"])
        turn = await self.chat("meanwhile")
        models = await self.agent.list_models(self.workspace)
        self.assertIn(models.current, [model.id for model in models.available])
        with self.assertRaises(AgentError) as caught:
            await self.agent.set_model(models.current, self.workspace)
        self.assertEqual(caught.exception.code, failure.SESSION_BUSY)
        gate.set()
        self.assertEqual(text(await self.rest(turn)), "One two")

    async def test_a_page_may_ask_for_models_and_talk_while_the_cli_starts(self) -> None:
        agent = await self.another_agent()
        self.model.will_play("at once", ["Here."])
        models, begun, turn = await asyncio.gather(
            agent.list_models(self.workspace),
            agent.new_session(self.workspace),
            agent.send_message(self.workspace, "at once"),
        )
        self.assertTrue(models.available)
        self.assertNotEqual(turn.session_id, begun.id)
        self.assertEqual(text(await self.rest(turn)), "Here.")
        self.assertEqual((agent.process_info().starts, len(agent.list_sessions())), (1, 2))

    async def test_models_that_are_asked_for_first_cost_the_conversation_nothing(self) -> None:
        await self.tell("my first words")
        os.kill(self.agent.process_info().pid or 0, signal.SIGKILL)
        await until(lambda: not self.agent.process_info().is_running)
        await self.agent.list_models(self.workspace)
        self.assertEqual(of(Thought, await self.tell("hello")), [])
        self.assertIn("my first words", str(self.model.last_request()["contents"]))

    async def test_a_path_at_the_begin_of_a_message_is_no_command(self) -> None:
        self.model.will_play("/etc/hosts", ["It has names."])
        self.assertEqual(text(await self.tell("/etc/hosts explain")), "It has names.")

    async def test_a_harmless_command_is_answered_by_the_cli_itself(self) -> None:
        story = await self.tell("/about")
        self.assertIn(self.agent.process_info().version, text(story))


class LoggingIn(AgentCase):
    async def test_credentials_are_kept_for_this_user_only_and_outlive_a_restart(self) -> None:
        state = os.path.join(self.workspace, "state")
        first = await self.another_agent(state, credentials=Credentials(API_KEY, "kept-key"))
        await first.stop()
        kept = os.path.join(state, "credentials.json")
        self.assertEqual(os.stat(kept).st_mode & 0o777, 0o600)
        self.assertEqual(os.stat(state).st_mode & 0o777, 0o700)
        second = await self.another_agent(state, credentials=None)
        self.assertTrue(second.account.auth_status().is_authenticated)
        self.model.will_play("kept", ["Yes."])
        await self.rest(await second.send_message(self.workspace, "kept"))
        self.assertEqual(self.model.keys[-1], "kept-key")
        await second.account.logout()
        await second.account.logout()
        self.assertFalse(os.path.exists(kept))
        third = await self.another_agent(state, credentials=None)
        self.assertIsNone(third.account.auth_status().kind)

    async def test_credentials_that_come_while_others_are_cleared_are_kept(self) -> None:
        state = os.path.join(self.workspace, "state")
        agent = await self.another_agent(state)
        await start_usual_cli(agent)
        await asyncio.gather(
            agent.account.clear_credentials(),
            agent.account.configure_credentials(Credentials(API_KEY, "new-key")),
        )
        self.assertEqual(agent.account.auth_status().kind, API_KEY)
        again = await self.another_agent(state, credentials=None)
        self.assertEqual(again.account.auth_status().kind, API_KEY)

    async def test_a_fallback_counts_until_somebody_logs_out(self) -> None:
        fallback = Credentials(API_KEY, "from-outside")
        agent = await self.another_agent(credentials=None, fallback=fallback)
        self.assertTrue(agent.account.auth_status().is_authenticated)
        await agent.account.clear_credentials()
        self.assertFalse(agent.account.auth_status().is_authenticated)

    async def test_a_key_stands_in_no_text_of_ours(self) -> None:
        self.assertNotIn("s3cret", repr(Credentials(API_KEY, "s3cret")))
