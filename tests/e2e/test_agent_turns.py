"""What the engine makes of a CLI's turns: text, thoughts, tools, decisions."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from typing import Any

from agent_case import HERE, AgentCase, of, text
from GeminiCompanion.companion.agent import failure
from GeminiCompanion.companion.agent import turn_events as events
from GeminiCompanion.companion.agent.failure import AgentError
from GeminiCompanion.companion.agent.turn.outcomes import CallDecision
from GeminiCompanion.companion.agent.turn_events import (
    Content,
    Error,
    Thought,
    ToolCall,
    ToolConfirmation,
    ToolExecution,
    ToolResult,
)
from model_server import BREAK, Failure, Gate, call, thought

# An edit by the tool "replace".
ONE = {"old_string": "one", "new_string": "1", "instruction": "count"}


class Turns(AgentCase):
    """With the scripted agent, and then with Gemini CLI. `meddling` is what somebody else writes
    into a file before an edit of the user is written."""

    real = False
    meddling = ""

    async def test_an_answer_comes_in_the_pieces_that_the_model_sends(self) -> None:
        self.model.will_play("hello", ["Hel", "lo, ", "you"])
        story = await self.tell("hello")
        # The last character of each is known, and comes with the next one.
        self.assertEqual(
            story[:-1],
            [
                Content("He", ahead="l"),
                Content("llo,", ahead=" "),
                Content(" yo", ahead="u"),
                Content("u", is_partial=False),
            ],
        )
        self.assertEqual(story[-1].reason, events.END_TURN)

    async def test_a_piece_is_there_before_the_next_one_is_sent(self) -> None:
        gate = Gate()
        self.model.will_play("slowly", ["one ", gate, "two"])
        turn = await self.chat("slowly")
        first = await self.until(turn, Content)
        self.assertFalse(gate.is_set())
        gate.set()
        story = await self.rest(turn)
        self.assertEqual((first.text, text(story)), ("one", "one two"))

    async def test_thoughts_have_subject_and_description(self) -> None:
        self.model.will_play(
            "think", [thought("Considering it", "I am at it."), thought("", "No subject."), "Yes."]
        )
        story = await self.tell("think")
        self.assertEqual(
            of(Thought, story),
            [Thought("Considering it", "I am at it."), Thought("", "No subject.")],
        )

    async def test_half_a_character_waits_for_its_other_half(self) -> None:
        self.model.will_play("smile", ["a\ud83d", "\ude00b\u2028c"])
        story = await self.tell("smile")
        self.assertEqual([each.text for each in of(Content, story)], ["a\U0001f600b\u2028", "c"])

    async def test_a_line_of_half_a_megabyte_arrives_whole(self) -> None:
        # Without repetitions, in which the CLI would see a loop.
        words = " ".join(map(str, range(90_000)))
        self.model.will_play("much", [words])
        self.assertEqual(text(await self.tell("much")), words)

    async def test_an_empty_answer_is_no_success(self) -> None:
        blocked = {"candidates": [{"content": {"role": "model"}, "finishReason": "SAFETY"}]}
        self.model.will_play("bad", [blocked])
        story = await self.tell("bad")
        self.assertEqual(story[-1].reason, events.EMPTY)
        self.assertFalse(story[-1].success)

    async def test_tokens_are_counted(self) -> None:
        self.model.will_play("count", ["One."])
        story = await self.tell("count")
        self.assertEqual(story[-1].usage.by_model, {"gemini-2.5-flash": (1, 1)})
        info = next(each for each in self.agent.list_sessions() if each.workspace == self.workspace)
        self.assertEqual((info.turns, info.usage.input_tokens), (1, 1))

    async def test_a_refused_key_asks_for_another_one(self) -> None:
        self.model.will_play("hi", Failure(400, "API key not valid.", "INVALID_ARGUMENT"))
        story = await self.tell("hi")
        self.assertEqual(
            story, [Error(failure.AUTH_REQUIRED, "API key not valid.", story[-1].details)]
        )
        self.assertFalse(self.agent.account.auth_status().is_authenticated)

    async def test_a_model_that_does_not_answer_is_asked_again_and_that_is_told(self) -> None:
        self.model.will_play("busy", Failure(503, "overloaded", "UNAVAILABLE"), ["Yes."])
        story = await self.tell("busy")
        self.assertEqual([body.subject for body in of(Thought, story)], ["Retrying"])
        self.assertIn("status 503", str(of(Thought, story)[0].description))
        self.assertEqual((text(story), story[-1].success), ("Yes.", True))

    async def test_what_the_model_refuses_is_told_in_its_own_words(self) -> None:
        self.model.will_play("hi", Failure(404, "models/x is not found", "NOT_FOUND"))
        story = await self.tell("hi")
        self.assertEqual(
            (story[-1].code, story[-1].message), (failure.GEMINI_ERROR, "models/x is not found")
        )

    async def test_an_error_with_half_a_character_is_text_that_can_be_encoded(self) -> None:
        self.model.will_play("hi", Failure(400, "bad \ud83d half", "INVALID_ARGUMENT"))
        story = await self.tell("hi")
        self.assertEqual(story[-1].message, "bad \ufffd half")
        story[-1].details.encode("utf-8")

    async def test_an_error_in_many_levels_of_json_ends_the_turn_and_not_the_cli(self) -> None:
        await self.tell("hello")
        before = self.agent.process_info()
        self.model.will_play("deep", Failure(400, '{"a":' * 60_000, "INVALID_ARGUMENT"))
        story = await self.tell("deep")
        self.assertEqual(story[-1].code, failure.GEMINI_REFUSED)
        self.assertEqual(self.agent.process_info(), before)

    async def test_a_broken_connection_is_an_error_of_the_network(self) -> None:
        self.model.will_play("hi", ["Half a sen", BREAK])
        story = await self.tell("hi")
        self.assertEqual(story[-1].code, failure.NETWORK_ERROR)

    def steps(self, story: list[object]) -> list[object]:
        """Of tools, what happened in which order: the kind of event, or the status."""
        return [
            body.status if isinstance(body, ToolExecution) else type(body)
            for body in story
            if isinstance(body, (ToolCall, ToolExecution, ToolConfirmation, ToolResult))
        ]

    async def test_reading_needs_no_word_and_gives_the_text(self) -> None:
        path = self.write("näh.txt", "line one\nline two\n")
        self.model.will_play("look", ["Well.", call("read_file", file_path=path)], ["Done."])
        story = await self.tell("look")
        self.assertEqual(
            self.steps(story), [ToolCall, events.EXECUTING, events.COMPLETED, ToolResult]
        )
        begun, result = of(ToolCall, story)[0], of(ToolResult, story)[0]
        self.assertEqual((begun.name, begun.display_name), ("read_file", "ReadFile"))
        self.assertEqual(begun.args, {"file_path": path})
        self.assertFalse(begun.requires_confirmation)
        self.assertIn("line one\nline two", result.result)
        self.assertTrue(result.success)
        self.assertEqual(text(story), "Well.Done.")

    async def test_edits_approved_for_good_are_not_asked_about_again(self) -> None:
        for name in ("1.txt", "2.txt"):
            write = call("write_file", file_path=self.path(name), content=name)
            self.model.will_play(f"make {name}", [write], ["Done."])
        first = await self.tell("make 1.txt", "proceed_always_tool")
        second = await self.tell("make 2.txt")
        self.assertEqual(text(first), "Done.")
        self.assertEqual(of(ToolConfirmation, second), [])
        self.assertEqual(
            self.steps(second), [ToolCall, events.EXECUTING, events.COMPLETED, ToolResult]
        )
        self.assertEqual(self.read("2.txt"), "2.txt")

    async def test_a_command_shows_itself_and_its_output(self) -> None:
        command = "echo out; echo err >&2; exit 3"
        shell = call("run_shell_command", command=command, description="says things")
        self.model.will_play("run", [shell], ["Ran."])
        story = await self.tell("run", "proceed_once")
        asked, result = of(ToolConfirmation, story)[0], of(ToolResult, story)[0]
        self.assertEqual(asked.command, command)
        self.assertEqual(
            of(ToolCall, story)[0].args, {"command": command, "description": "says things"}
        )
        self.assertIn("out\nerr", result.result)
        self.assertIn("3", result.result)
        self.assertEqual(result.args["command"], command)

    async def test_no_secret_of_ours_is_in_a_commands_environment(self) -> None:
        os.environ["SOME_SECRET"] = "do not show"
        self.addCleanup(os.environ.pop, "SOME_SECRET")
        self.model.will_play("env", [call("run_shell_command", command="env; true")], ["Ran."])
        story = await self.tell("env", "proceed_once")
        result = of(ToolResult, story)[0].result
        self.assertIn("PATH=", result)
        self.assertNotIn("do not show", result)
        self.assertNotIn("the-key", result)

    async def test_an_edit_shows_both_texts(self) -> None:
        path = self.write("e.txt", "one\ntwo\n")
        edit = call("replace", file_path=path, old_string="two", new_string="2", instruction="x")
        self.model.will_play("edit", [edit], ["Done."])
        story = await self.tell("edit", "proceed_once")
        asked = of(ToolConfirmation, story)[0]
        self.assertEqual(asked.diff, events.Diff(path, "one\ntwo\n", "one\n2\n"))
        self.assertEqual(of(ToolResult, story)[0].args["old_string"], "two")
        self.assertEqual(self.read("e.txt"), "one\n2\n")

    async def test_tools_of_one_answer_run_one_after_the_other(self) -> None:
        path = self.write("a.txt", "a")
        self.model.will_play(
            "several",
            [
                call("read_file", id="call_1", file_path=path),
                call("list_directory", dir_path=self.workspace),
                call("run_shell_command", command="echo x; true"),
            ],
            ["All."],
        )
        story = await self.tell("several", "proceed_once")
        results = of(ToolResult, story)
        self.assertEqual(
            [result.name for result in results],
            ["read_file", "list_directory", "run_shell_command"],
        )
        self.assertEqual(results[0].call_id, "read_file__call_1")
        self.assertIn("a.txt", results[1].result)
        self.assertEqual([result.success for result in results], [True] * 3)

    async def test_bad_arguments_are_told_of_without_a_question(self) -> None:
        self.model.will_play("bad", [call("read_file", path="x")], ["Sorry."])
        story = await self.tell("bad")
        self.assertEqual(self.steps(story), [ToolCall, events.FAILED, ToolResult])
        self.assertIn("file_path", str(of(ToolResult, story)[0].error))

    async def test_a_tool_that_does_not_exist_leaves_no_trace(self) -> None:
        self.model.will_play("what", [call("no_such_tool")], ["Sorry."])
        story = await self.tell("what")
        self.assertEqual((self.steps(story), text(story)), ([], "Sorry."))

    async def test_a_file_that_is_missing_is_a_failure_with_its_reason(self) -> None:
        gone = self.path("gone.txt")
        self.model.will_play("gone", [call("read_file", file_path=gone)], ["Sorry."])
        result = of(ToolResult, await self.tell("gone"))[0]
        self.assertFalse(result.success)
        self.assertIn("not found", str(result.error))

    async def changed(self, name: str, tool: str, text: str, new: str, **args: Any) -> list[Any]:
        """The story of an edit of the file that is written as `new`."""
        edit = call(tool, file_path=self.path(name), **args)
        message = f"{self.id()} {text!r}."
        self.model.will_play(message, [edit], ["Done."])
        turn = await self.chat(message)
        story = []
        async for event in turn.read_events():
            story.append(event.body)
            if isinstance(event.body, ToolConfirmation):
                with self.assertRaises(AgentError):
                    self.agent.turns.confirm_call(
                        event.body.call_id, CallDecision("modify_with_editor")
                    )
                with self.assertRaises(AgentError):
                    self.agent.turns.confirm_call(
                        event.body.call_id, CallDecision("proceed_once", new)
                    )
                if self.meddling:
                    self.write(name, self.meddling)
                self.agent.turns.confirm_call(
                    event.body.call_id, CallDecision("modify_with_editor", new)
                )
        return story

    def raw(self, name: str) -> bytes:
        with open(self.path(name), "rb") as file:
            return file.read()

    async def test_a_new_file_gets_the_text_of_the_user_and_the_model_is_told(self) -> None:
        story = await self.changed("a/new.txt", "write_file", "x", "ours\n", content="theirs\n")
        self.assertEqual(self.raw("a/new.txt"), b"ours\n")
        result = of(ToolResult, story)[0]
        self.assertEqual((result.success, result.error), (True, None))
        self.assertIn("ours", result.result)
        told = str(self.model.last_request()["contents"])
        self.assertIn("the user changed your text", told)
        self.assertIn("ours", told)
        self.assertEqual((text(story), story[-1].success), ("Done.", True))

    async def test_line_ends_and_byte_order_mark_stay_as_the_file_has_them(self) -> None:
        for before, after in (
            ("one\r\ntwo\r\n", b"1\r\ntwo!\r\n"),
            ("\ufeffone\ntwo\n", "\ufeff1\ntwo!\n".encode()),
        ):
            with self.subTest(before), open(self.path("f.txt"), "w", newline="") as file:
                file.write(before)
                file.close()
                await self.changed("f.txt", "replace", before, "1\ntwo!\n", **ONE)
                self.assertEqual(self.raw("f.txt"), after)

    async def test_through_a_link_the_file_behind_it_is_written(self) -> None:
        self.write("real.txt", "one\n")
        os.chmod(self.path("real.txt"), 0o640)
        os.symlink("real.txt", self.path("link.txt"))
        await self.changed("link.txt", "write_file", "x", "ours\n", content="theirs\n")
        self.assertTrue(os.path.islink(self.path("link.txt")))
        self.assertEqual(self.raw("real.txt"), b"ours\n")
        self.assertEqual(os.stat(self.path("real.txt")).st_mode & 0o777, 0o640)

    async def test_a_file_that_changed_meanwhile_is_left_alone(self) -> None:
        self.write("f.txt", "one\n")
        self.meddling = "somebody else's\n"
        story = await self.changed("f.txt", "write_file", "x", "ours\n", content="theirs\n")
        self.assertEqual(self.raw("f.txt"), b"somebody else's\n")
        result = of(ToolResult, story)[0]
        self.assertFalse(result.success)
        self.assertIn("has changed since", str(result.error))

    async def test_what_differs_from_what_was_approved_is_not_written(self) -> None:
        self.write("f.txt", "one\ntwo\n")
        edit = call("replace", file_path=self.path("f.txt"), **ONE)
        self.model.will_play("edit f", [edit], ["Done."])
        turn = await self.chat("edit f")
        story = []
        async for event in turn.read_events():
            story.append(event.body)
            if isinstance(event.body, ToolConfirmation):
                self.write("f.txt", "one\nthree\n")
                self.agent.turns.confirm_call(event.body.call_id, CallDecision("proceed_once"))
        self.assertEqual(self.raw("f.txt"), b"one\nthree\n", story)
        self.assertFalse(of(ToolResult, story)[0].success)

    async def test_commands_that_only_look_within_the_workspace_run_unasked_and_others_do_not(
        self,
    ) -> None:
        self.write("f.txt", "text\n")
        asked = ("cat /etc/hostname", "ls; pwd", "cat f.txt | wc", "echo a > g", "env", "ls\npwd")
        for command in ("echo hi", "ls", "cat f.txt", "pwd", *asked):
            with self.subTest(command):
                run = call("run_shell_command", command=command)
                self.model.will_play(f"look {command}", [run], ["Well."])
                story = await self.tell(f"look {command}", asks=False, new_session=True)
                self.assertEqual(of(ToolResult, story)[0].rejected, command in asked)

    async def test_attached_files_reach_the_model(self) -> None:
        path = self.write("with space ä%20.txt", "the attached text")
        self.model.will_play("attached", ["Seen."])
        self.assertEqual(text(await self.tell("attached", files=[path])), "Seen.")
        self.assertIn("the attached text", str(self.model.last_request()["contents"]))

    async def test_a_file_from_elsewhere_is_asked_about_first(self) -> None:
        path = os.path.join(self.root, "elsewhere.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write("from elsewhere")
        self.model.will_play("elsewhere", ["Seen."])
        story = await self.tell("elsewhere", "proceed_once", files=[path])
        self.assertEqual(len(of(ToolConfirmation, story)), 1)
        self.assertTrue(of(ToolResult, story)[0].success)
        self.assertIn("from elsewhere", str(self.model.last_request()["contents"]))
        rejected = await self.tell("elsewhere", files=[path], asks=False, new_session=True)
        self.assertFalse(of(ToolResult, rejected)[0].success)


class GeminiCliTurns(Turns):
    real = True


class Consent(AgentCase):
    """The tools "add" and "say" of two servers, in a workspace that the CLI trusts."""

    real = True
    options = {"trusts_workspaces": True}
    settings = {
        "mcpServers": {
            name: {"command": sys.executable, "args": [os.path.join(HERE, "tool_server.py")]}
            for name in ("sums", "more_sums")
        }
    }

    def setUp(self) -> None:
        super().setUp()
        self.count = 0

    async def asked(
        self, tool: str, decide: str, session: str | None = None, **args: Any
    ) -> tuple[ToolConfirmation | None, str]:
        """The confirmation that a call of the tool asks for, and the conversation."""
        self.count += 1
        message = f"{self.id()} {self.count}."
        self.model.will_play(message, [call(tool, **args)], ["Done."])
        turn = await self.chat(message, session_id=session, new_session=session is None)
        story = await self.rest(turn, decide)
        self.assertEqual(text(story), "Done.")
        confirmations = of(ToolConfirmation, story)
        return (confirmations[0] if confirmations else None), turn.session_id

    async def test_a_confirmation_shows_all_arguments_of_a_servers_tool(self) -> None:
        asked, _session = await self.asked("mcp_sums_add", "cancel", a=1, b=[2, "x"])
        assert asked is not None
        self.assertEqual(asked.args, {"a": 1, "b": [2, "x"]})
        self.assertEqual(asked.command, 'mcp_sums_add {"a":1,"b":[2,"x"]}')

    async def test_arguments_that_the_cli_leaves_out_are_said_to_be_left_out(self) -> None:
        asked, _session = await self.asked("mcp_sums_say", "cancel", text="x" * 600)
        assert asked is not None
        self.assertEqual(asked.args, {})
        self.assertIn("omitted due to length with parameters: text", asked.command)

    async def test_a_tool_approved_for_good_is_asked_about_in_every_other_conversation(
        self,
    ) -> None:
        asked, session = await self.asked("mcp_sums_add", "proceed_always_tool", a=1)
        self.assertIsNotNone(asked)
        self.assertIsNone((await self.asked("mcp_sums_add", "cancel", session, a=2))[0])
        self.assertIsNotNone((await self.asked("mcp_sums_say", "cancel", session, a=2))[0])
        self.assertIsNotNone((await self.asked("mcp_sums_add", "cancel", a=3))[0])

    async def test_a_server_approved_for_good_is_approved_with_all_its_tools_and_no_other(
        self,
    ) -> None:
        asked, session = await self.asked("mcp_sums_add", "proceed_always_server", a=1)
        self.assertIsNotNone(asked)
        self.assertIsNone((await self.asked("mcp_sums_say", "cancel", session, a=2))[0])
        self.assertIsNotNone((await self.asked("mcp_more_sums_add", "cancel", session))[0])
        self.assertIsNotNone((await self.asked("mcp_sums_say", "cancel", a=2))[0])

    async def test_commands_and_edits_approved_for_good_are_asked_about_elsewhere(self) -> None:
        for tool, args in (
            ("run_shell_command", {"command": "rm -f x; echo"}),
            ("write_file", {"file_path": self.path("new.txt"), "content": "new"}),
        ):
            with self.subTest(tool):
                asked, session = await self.asked(tool, "proceed_always", **args)
                self.assertIsNotNone(asked)
                self.assertIsNone((await self.asked(tool, "cancel", session, **args))[0])
                self.assertIsNotNone((await self.asked(tool, "cancel", **args))[0])


class InATrustedFolder(Consent):
    """The same, in a workspace that is in a trusted folder."""

    options = {"trusted_folders": (tempfile.gettempdir(),)}


class BesideATrustedFolder(AgentCase):
    real = True
    options = {"trusted_folders": (os.path.join(tempfile.gettempdir(), "elsewhere"),)}
    settings = Consent.settings

    async def test_the_tools_of_servers_in_settings_are_not_there(self) -> None:
        self.model.will_play("no tools", ["Done."])
        await self.tell("no tools")
        self.assertFalse("mcp_sums_add" in json.dumps(self.model.last_request()))
