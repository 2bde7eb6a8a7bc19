"""What a person is shown of a question, before they decide: everything, and nothing that looks like
something else."""

from __future__ import annotations

import unittest
from typing import Any

from GeminiCompanion.companion.agent import asked, wire
from GeminiCompanion.companion.agent.events.tool_call import Call
from GeminiCompanion.companion.agent.sentence import CHINESE
from GeminiCompanion.companion.agent.turn_events import Diff, ToolConfirmation
from GeminiCompanion.companion.chat.question import permission_question

from ..chat.events import numbered


def confirmation(call: Call) -> ToolConfirmation:
    """As the engine tells it of the call."""
    diffs = call.diffs
    return ToolConfirmation(
        call.id, call.name, call.display_name, call.title, call.command, call.args, (),
        call.diff, diffs[1:], call.agent_note,
    )  # fmt: skip


def text(name: str, args: dict[str, Any], **more: Any) -> str:
    return asked.question_text(confirmation(Call("1", name, args=args, **more)))


class Shown(unittest.TestCase):
    def test_a_command_alone_stands_as_it_is(self) -> None:
        self.assertEqual(text("Bash", {"command": "a\nb"}, kind="execute"), "a\nb")

    def test_the_arguments_of_a_servers_tool_stand_open(self) -> None:
        told = text("mcp__db__query", {"sql": "DROP TABLE users"}, title="mcp__db__query")
        self.assertEqual(told, "sql: DROP TABLE users")
        told = text("mcp__db__query", {"sql": "SELECT 1;\nDROP TABLE users", "limit": 5})
        self.assertEqual(told, "sql:\n    SELECT 1;\n    DROP TABLE users\nlimit: 5")

    def test_the_folder_and_the_variables_of_a_command_stand_below_it(self) -> None:
        args = {"command": "make", "workdir": "/etc", "env": {"PATH": "/evil"}}
        told = text("execute", args, kind="execute")
        self.assertEqual(told, 'command: make\nworkdir: /etc\nenv: {"PATH": "/evil"}')

    def test_a_list_of_words_is_a_command_too(self) -> None:
        told = text("execute", {"command": ["ls", "a b"], "cwd": "/etc"}, kind="execute")
        self.assertEqual(told, 'call: ls \'a b\'\ncommand: ["ls", "a b"]\ncwd: /etc')

    def test_another_directory_is_named(self) -> None:
        args = {"command": "ls", "directories": ["/etc"], "patterns": ["/etc/*"]}
        told = text("other", args, title="ls")
        self.assertEqual(told, 'command: ls\ndirectories: ["/etc"]\npatterns: ["/etc/*"]')

    def test_no_value_looks_like_another_argument(self) -> None:
        told = text("Bash", {"command": "ls\nworkdir: /safe", "workdir": "/etc"}, kind="execute")
        self.assertEqual(told, "command:\n    ls\n    workdir: /safe\nworkdir: /etc")
        told = text("t", {"a\nb: c": "d", "e: f": "g"})
        self.assertEqual(told, '"a\\nb: c": d\n"e: f": g')

    def test_three_hundred_lines_are_all_there(self) -> None:
        rows = [f"row {number}" for number in range(300)]
        told = text("mcp__db__query", {"sql": "\n".join(rows)})
        self.assertEqual(told.split("\n"), ["sql:", *(f"    {row}" for row in rows)])

    def test_what_nobody_would_see_is_spelled_out_and_padding_is_folded(self) -> None:
        told = text("t", {"sql": "a\u202eb\u200b" + "\n" * 60 + "c" + " " * 80 + "d"})
        self.assertEqual(
            told, "sql:\n    a<U+202E>b<U+200B>\n    <59 blank lines>\n    c<80 spaces>d"
        )
        self.assertEqual(
            text("t", {"n\u202e": [{"a": "\u200b"}]}), '"n\\u202e": [{"a": "<U+200B>"}]'
        )

    def test_long_values_stand_in_lines_also_where_they_lie_deep(self) -> None:
        told = text("t", {"a": [{"sql": "x" * 80}]})
        self.assertEqual(told.split("\n")[:3], ["a:", "    [", "      {"])
        deep: Any = "bottom" + "x" * 80
        for _ in range(900):
            deep = [deep]
        self.assertIn("bottom", text("t", {"a": deep}))

    def test_where_there_are_no_arguments_the_agents_words_stand_there(self) -> None:
        told = text("fetch", {}, title="Fetch", text="http://evil.example")
        self.assertEqual(told, "call: fetch Fetch\nsaid: http://evil.example")
        self.assertEqual(text("fetch", {}, title="Fetch"), "fetch Fetch")

    def test_of_an_edit_stands_there_what_its_diff_does_not_show(self) -> None:
        diffs = (Diff("/a", "one\r\ntwo\r\n", "1\ntwo\n"),)
        args = {"file_path": "/a", "old_string": "one", "new_string": "1"}
        self.assertEqual(text("Edit", args, diffs=diffs), "")
        told = text("Edit", {**args, "replace_all": True, "content": "other"}, diffs=diffs)
        self.assertEqual(told, "replace_all: true\ncontent: other")
        told = text("Edit", {**args, "file_path": "/b", "run": "1"}, diffs=diffs)
        self.assertEqual(told, "file_path: /b\nrun: 1")

    def test_the_chat_and_the_api_show_the_same(self) -> None:
        args = {"command": "make", "cwd": "/etc"}
        body = confirmation(Call("1", "execute", kind="execute", args=args))
        (event,) = numbered([body])
        told = wire.as_seed(event)["data"]
        self.assertEqual(told["shown"]["asked"], permission_question(event, body).text)
        self.assertEqual(told["revision"], permission_question(event, body).revision)

    def test_our_words_in_it_are_in_the_readers_language(self) -> None:
        body = confirmation(Call("1", "fetch", "Fetch", text="x\n\n\n\ny"))
        told = asked.question_text(body, CHINESE)
        self.assertEqual(told, "调用: fetch Fetch\n说明:\n    x\n    <3 个空行>\n    y")


if __name__ == "__main__":
    unittest.main()
