"""What a person is shown of a question stands beside what would run, and hides nothing of it."""

from __future__ import annotations

import unittest
from datetime import datetime, timezone
from typing import Any

from GeminiCompanion.companion.agent import turn_events as events
from GeminiCompanion.companion.agent import wire
from GeminiCompanion.companion.agent.acp.messages import (
    FileDiff,
    PermissionOption,
    PermissionRequest,
    ToolCallUpdate,
)
from GeminiCompanion.companion.agent.events.tool_call import read_call, unreported_result
from GeminiCompanion.companion.agent.sentence import CHINESE, ENGLISH
from GeminiCompanion.companion.agent.turn.outcomes import PendingPermission, choices_of
from GeminiCompanion.companion.agent.turn_events import MODIFY

PADDED = "ls -la" + 41 * "\n" + "touch a"
OPTION = events.Option("proceed_once", "Allow\u202e")


def told(body: events.Body, language: str = ENGLISH) -> dict[str, Any]:
    event = events.TurnEvent(1, datetime.now(timezone.utc), "s", "t", body)
    data: dict[str, Any] = wire.as_seed(event, language)["data"]
    return data


def question(command: str = "ls", **more: Any) -> events.ToolConfirmation:
    args: Any = more.pop("args", {"command": command})
    name = more.pop("name", "run_shell_command")
    return events.ToolConfirmation("1", name, name, command, command, args, (OPTION,), **more)


class Shown(unittest.TestCase):
    def test_a_padded_command_is_shown_folded_and_told_whole(self) -> None:
        data = told(question(PADDED))
        folded = "ls -la\n<40 blank lines>\ntouch a"
        self.assertEqual((data["command"], data["shown"]["command"]), (PADDED, folded))
        self.assertEqual(data["shown"]["description"], folded)
        self.assertEqual(data["shown"]["args"], {"command": folded})
        self.assertEqual(data["args"], {"command": PADDED})

    def test_what_is_folded_is_told_in_the_language_of_the_reader(self) -> None:
        shown = told(question(PADDED), CHINESE)["shown"]
        self.assertEqual(shown["command"], "ls -la\n<40 个空行>\ntouch a")

    def test_names_and_labels_hide_nothing(self) -> None:
        data = told(question(name="mcp_a_\u3164b"))
        self.assertEqual(data["shown"]["displayName"], "mcp_a_<U+3164>b")
        self.assertEqual(data["prompt"], "Run the tool mcp_a_<U+3164>b?")
        self.assertEqual(data["options"][0]["label"], "Allow\u202e")
        self.assertEqual(data["options"][0]["shown"], {"label": "Allow<U+202E>"})

    def test_arguments_are_shown_with_their_names_at_every_depth(self) -> None:
        args = {"a\u200b": [{"b": "c\u200b"}, 1, None, True], "d": "e"}
        found = told(question(args=args))["shown"]["args"]
        self.assertEqual(found, {"a<U+200B>": [{"b": "c<U+200B>"}, 1, None, True], "d": "e"})
        self.assertNotIn("args", told(question(args={"d": ["e", 1]}))["shown"])

    def test_a_long_command_is_told_and_shown_whole(self) -> None:
        long = "echo " + 5000 * "x" + "; touch a"
        data = told(pending(tool("run_shell_command", title=long)).body)
        self.assertEqual((data["command"], data["shown"]["command"]), (long, long))

    def test_a_call_that_asks_nobody_is_shown_the_same_way(self) -> None:
        call = events.ToolCall("1", "t\u200b", "t\u200b", PADDED, {"x": "\x1b"}, False)
        shown = told(call)["shown"]
        self.assertEqual(shown["displayName"], "t<U+200B>")
        self.assertEqual(shown["description"].count("\n"), 2)
        self.assertEqual(shown["args"], {"x": "<U+001B>"})


class OfOtherAgents(unittest.TestCase):
    """Their titles are for people: a summary, or the command without its end."""

    def test_a_command_is_what_the_arguments_say_would_run(self) -> None:
        for args, command in (
            ({"command": "make\nmake install"}, "make\nmake install"),
            ({"command": ["sh", "-c", "rm a b"]}, "sh -c 'rm a b'"),
            ({}, "Build it"),
            ({"command": 7}, "Build it"),
        ):
            with self.subTest(args):
                update = ToolCallUpdate("1", "Build it", "execute", raw_input=args)
                call = read_call(update, "execute", args)
                self.assertEqual((call.command, call.display_name), (command, "Shell"))

    def test_a_call_without_a_name_is_called_what_its_agent_calls_it(self) -> None:
        for name, title, shown in (("other", "doom_loop", "doom_loop"), ("tool", "", "Tool")):
            with self.subTest(name):
                call = read_call(ToolCallUpdate("1", title, "other"), name, {})
                self.assertEqual((call.display_name, call.command), (shown, title or name))

    def test_a_command_that_comes_with_edits_is_no_edit(self) -> None:
        update = ToolCallUpdate("1", "t", "execute", diffs=(FileDiff("/a", "", "b"),))
        self.assertEqual(read_call(update, "execute", {"command": "rm c"}).command, "rm c")


class OfCommands(unittest.TestCase):
    """What the agent's note tells of a command."""

    def args(self, note: str) -> dict[str, Any]:
        call = read_call(ToolCallUpdate("run_shell_command__1", "ls", texts=(note,)))
        self.assertEqual(call.args["command"], "ls")
        return {name: value for name, value in call.args.items() if name != "command"}

    def test_where_it_runs_and_that_it_goes_on_by_itself_are_among_its_arguments(self) -> None:
        background = {"is_background": True}
        for note, expected in {
            "[current working directory /a b] (Lists (all).)": {"description": "Lists (all)."},
            "[current working directory /a]": {},
            "[in sub/a b]": {"dir_path": "sub/a b"},
            "[in sub] (for) [background]": {"dir_path": "sub", "description": "for", **background},
            "[current working directory /a] [background]": background,
            "[in sub] (not [background])": {"dir_path": "sub", "description": "not [background]"},
            "": {}, "something else": {},
        }.items():  # fmt: skip
            with self.subTest(note):
                self.assertEqual(self.args(note), expected)


class Differences(unittest.TestCase):
    def shown(self, old: str, new: str, path: str = "/a.txt") -> dict[str, Any]:
        diff = told(question(diff=events.Diff(path, old, new)))["diff"]
        self.assertEqual((diff["path"], diff["oldText"], diff["newText"]), (path, old, new))
        shown: dict[str, Any] = diff["shown"]
        return shown

    def test_texts_that_hide_nothing_are_not_told_twice(self) -> None:
        self.assertEqual(self.shown("one\n\n\n\n\n", "two\n"), {"path": "/a.txt"})

    def test_hidden_characters_are_shown_and_the_lines_stay(self) -> None:
        shown = self.shown("one\n", "a\u202eb\n\n\n\n\nc\n", "/a\n.txt")
        self.assertEqual(shown, {"path": "/a<U+000A>.txt", "newText": "a<U+202E>b\n\n\n\n\nc\n"})

    def test_line_ends_are_shown_where_they_are_not_all_of_one_kind(self) -> None:
        self.assertEqual(self.shown("one\r\n", "two\r\n"), {"path": "/a.txt"})
        shown = self.shown("one\n", "two\r\n")
        self.assertEqual(shown, {"path": "/a.txt", "newText": "two<U+000D>\n"})

    def test_a_question_without_a_difference_has_none(self) -> None:
        self.assertIsNone(told(question())["diff"])


class Ends(unittest.TestCase):
    def test_a_result_is_shown_where_it_hides_something(self) -> None:
        result = events.ToolResult("1", "t", {}, "", "a\x1b[2Kb", False, "no\u200b")
        data = told(result)
        self.assertEqual(data["displayResult"], "a\x1b[2Kb")
        expected = {"displayResult": "a<U+001B>[2Kb", "error": "no<U+200B>"}
        self.assertEqual(data["shown"], expected)
        plain = told(events.ToolResult("1", "t", {}, "", "fine", True))
        self.assertEqual((plain["shown"], plain["rejected"]), ({}, False))

    def test_a_rejected_call_did_not_fail(self) -> None:
        call = read_call(tool("run_shell_command", title="ls"))
        data = told(unreported_result(call, "No.", rejected=True))
        self.assertEqual((data["success"], data["rejected"], data["error"]), (False, True, "No."))
        self.assertNotIn("failed", data["displayResult"])
        at = told(events.ToolExecution("1", "t", events.FAILED, rejected=True))
        self.assertEqual((at["status"], at["rejected"]), ("failed", True))
        self.assertNotIn("failed", at["message"])

    def test_a_command_without_output_is_named_also_where_it_ran_in_a_folder(self) -> None:
        args = {"dir_path": "sub", "command": "true"}
        data = told(events.ToolResult("1", "run_shell_command", args, "", "", True))
        self.assertEqual(data["displayResult"], "Ran true without output.")

    def test_details_of_an_error_hide_nothing(self) -> None:
        self.assertEqual(told(events.Error("X", "m", "a\x1bb"))["details"], "a<U+001B>b")


def tool(name: str, path: str = "", title: str = "") -> ToolCallUpdate:
    diffs = (FileDiff(path, "", "x\n"),) if path else ()
    return ToolCallUpdate(f"{name}__1", title, "edit", diffs=diffs)


def pending(call: ToolCallUpdate, is_changeable: bool = False) -> PendingPermission:
    options = (
        PermissionOption("yes", "Allow", "allow_once"),
        PermissionOption("all", "All", "new"),
    )
    request = PermissionRequest("session", 1, call, options)
    choices = choices_of(options, {}, read_call(call))
    return PendingPermission(request, read_call(call), choices, is_changeable)


class Options(unittest.TestCase):
    def outcomes(self, asked: PendingPermission) -> list[str]:
        return [option["outcome"] for option in told(asked.body)["options"]]

    def test_those_that_the_agent_offers_are_told_where_the_api_knows_them(self) -> None:
        asked = pending(tool("run_shell_command", title="ls"))
        self.assertEqual(self.outcomes(asked), ["proceed_once"])

    def test_an_edit_that_can_be_changed_offers_that(self) -> None:
        asked = pending(tool("write_file", "/project/a"), is_changeable=True)
        self.assertEqual(self.outcomes(asked), ["proceed_once", MODIFY])
