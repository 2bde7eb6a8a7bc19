"""What version 2 of the protocol tells by ids becomes what is new each time, within bounds."""

from __future__ import annotations

import base64
import unittest
from typing import Any
from unittest import mock

from GeminiCompanion.companion.agent.acp import git_patches, messages, upserts
from GeminiCompanion.companion.agent.acp.git_patches import read_edits
from GeminiCompanion.companion.agent.acp.members import Unreadable
from GeminiCompanion.companion.agent.acp.messages import (
    AgentMessageChunk,
    AgentThoughtChunk,
    FileDiff,
    PermissionRequest,
    ToolCallStart,
    ToolCallUpdate,
    UserMessageChunk,
)
from GeminiCompanion.companion.agent.acp.version_2 import Version2
from GeminiCompanion.companion.agent.session_state import ConfigOptions, Plan
from GeminiCompanion.companion.base import jsonrpc

PATCH = """diff --git a/project/a.txt b/project/a.txt
index 1..2 100644
--- a/project/a.txt
+++ b/project/a.txt
@@ -1,3 +1,3 @@ a heading
 one
-two
+TWO
 three
@@ -10 +10,2 @@
--- old
+++ new
+diff --git a/none b/none
diff --git "a/project/\\303\\244.txt" "b/project/\\303\\244.txt"
new file mode 100644
--- /dev/null
+++ "b/project/\\303\\244.txt"
@@ -0,0 +1,2 @@
+first
+last
\\ No newline at end of file
""".replace("\\\\", "\\")


def block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def item(text: str) -> dict[str, Any]:
    return {"type": "content", "content": block(text)}


def diff(*changes: tuple[str, str], patch: str = "", **more: Any) -> dict[str, Any]:
    told = [{"operation": operation, "path": path, **more} for operation, path in changes]
    text = {"patch": {"format": "git_patch", "text": patch}} if patch else {}
    return {"type": "diff", "changes": told, **text}


def data(text: bytes) -> dict[str, Any]:
    return {"data": base64.b64encode(text).decode("ascii")}


class Reading(unittest.TestCase):
    def setUp(self) -> None:
        self.protocol = Version2()

    def told(self, name: str, /, session: str = "s", **members: Any) -> list[Any]:
        update = {"sessionUpdate": name, **members}
        return list(self.protocol.read_update({"sessionId": session, "update": update})[1])

    def call(self, id: str = "1", **members: Any) -> list[Any]:
        return self.told("tool_call_update", toolCallId=id, **members)

    def asked(self, subject: Any = None, title: str = "May it?", **more: Any) -> ToolCallUpdate:
        options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
        given = {} if subject is None else {"subject": subject}
        params = {"sessionId": "s", "title": title, "options": options, **given, **more}
        read = self.protocol.read_request(jsonrpc.Request(7, messages.ASK_PERMISSION, params))
        assert isinstance(read, PermissionRequest)
        self.assertEqual([option.id for option in read.options], ["yes"])
        return read.call

    # Messages.

    def test_pieces_of_a_message_and_all_of_it_are_told_once(self) -> None:
        def whole(*texts: str, id: str = "m") -> list[Any]:
            return self.told("agent_message", messageId=id, content=[*map(block, texts)])

        chunk: dict[str, Any] = {"messageId": "m", "content": block("Hel")}
        self.assertEqual(self.told("agent_message_chunk", **chunk), [AgentMessageChunk("Hel")])
        self.assertEqual(whole("Hello", " you"), [AgentMessageChunk("lo you")])
        self.assertEqual(whole("Hello you"), [])
        self.assertEqual(self.told("agent_message", messageId="m", _meta=None), [])
        # What was said is not taken back.
        self.assertEqual(whole("Another"), [AgentMessageChunk("Another")])
        self.assertEqual(self.told("agent_message", messageId="m", content=None), [])
        self.assertEqual(whole("Another"), [AgentMessageChunk("Another")])
        self.assertEqual(whole("Hello you", id="n"), [AgentMessageChunk("Hello you")])

    def test_an_image_of_a_message_is_told_once(self) -> None:
        image = {"type": "image", "mimeType": "image/png", "data": "AAAA"}
        (told,) = self.told("agent_message", messageId="m", content=[image])
        self.assertEqual([each.data for each in told.blocks], ["AAAA"])
        (told,) = self.told("agent_message", messageId="m", content=[image, block("a")])
        self.assertEqual((told.text, told.blocks), ("a", ()))

    def test_thoughts_and_what_the_user_said_are_told_apart(self) -> None:
        self.assertEqual(
            self.told("agent_thought", messageId="t", content=[block("Well")]),
            [AgentThoughtChunk("Well")],
        )
        self.assertEqual(
            self.told("user_message", messageId="u", content=[block("Do it")]),
            [UserMessageChunk("Do it")],
        )

    def test_messages_without_an_id_and_updates_that_are_not_known_are_not_read(self) -> None:
        for kind in ("agent_message", "tool_call_update", "terminal_update", "telepathy", ""):
            with self.assertRaises(Unreadable):
                self.told(kind, content=[])

    # Calls.

    def test_a_call_is_what_was_told_of_it_last(self) -> None:
        (start,) = self.call(title="Read", kind="read", rawInput={"path": "a"}, name="Read")
        self.assertIsInstance(start, ToolCallStart)
        self.assertEqual((start.title, start.kind, start.tool), ("Read", "read", "Read"))
        (news,) = self.call(status="in_progress", content=[item("a"), item("b")])
        self.assertNotIsInstance(news, ToolCallStart)
        self.assertEqual((news.title, news.status), ("Read", "in_progress"))
        self.assertEqual((news.texts, news.raw_input), (("a", "b"), {"path": "a"}))
        (news,) = self.call(title=None, content=None)
        self.assertEqual((news.title, news.texts, news.has_content), ("", (), True))
        (news,) = self.call(status="cancelled")
        self.assertEqual((news.status, news.is_over), ("failed", True))

    def test_what_an_agent_keeps_beside_a_call_is_told_by_its_names(self) -> None:
        self.call(_meta={"a": 1, "b": 2})
        self.assertEqual(self.call(_meta={"b": None, "c": 3})[0].meta, {"a": 1, "c": 3})
        self.assertEqual(self.call(title="t")[0].meta, {"a": 1, "c": 3})
        self.assertEqual(self.call(_meta=None)[0].meta, {})

    def test_pieces_of_the_content_of_a_call_are_its_output_and_end_as_its_text(self) -> None:
        def piece(**content: Any) -> list[Any]:
            return self.told("tool_call_content_chunk", toolCallId="1", content=content)

        self.call(kind="execute", status="in_progress")
        for text in ("one\n", "two\n"):
            (news,) = piece(**item(text))
            self.assertEqual((news.output, news.texts), (text, ()))
        (news,) = piece(**diff(("add", "/new"), patch="@@"))
        self.assertEqual((news.paths, len(news.texts)), (("/new",), 3))
        (end,) = self.call(status="completed")
        self.assertEqual(end.texts[:2], ("one\n", "two\n"))
        (start,) = self.told("tool_call_content_chunk", toolCallId="2", content=item("a"))
        self.assertIsInstance(start, ToolCallStart)
        self.assertEqual(start.texts, ("a",))

    def test_a_call_that_begins_anew_with_the_same_id_is_another(self) -> None:
        self.call(title="Old", status="completed", content=[item("done")])
        (late,) = self.call(title="Older")
        self.assertNotIsInstance(late, ToolCallStart)
        (start,) = self.call(status="pending")
        self.assertIsInstance(start, ToolCallStart)
        self.assertEqual((start.title, start.texts), ("", ()))

    def test_ids_and_contents_are_kept_within_bounds(self) -> None:
        with mock.patch.multiple(upserts, MAX_IDS=10, MAX_CONTENT=100, MAX_ALL=250):
            for number in range(50):
                self.call(str(number), content=[item("x" * 90), item("y" * 90)])
                self.told("agent_message", messageId=str(number), content=[block("z" * 90)])
                self.told("terminal_output_chunk", terminalId=str(number), **data(b"o" * 90))
            known = self.protocol._upserts_of("s")
            self.assertLessEqual(known._size, 250)
            for each in (known._calls, known._messages, known._terminals):
                self.assertLessEqual(len(each), 10)
            (news,) = self.call("49", status="in_progress")
            self.assertEqual([text[:1] for text in news.texts], ["x", "…"])
        for number in range(300):
            self.told("agent_message", str(number), messageId="m", content=[])
        self.assertLessEqual(len(self.protocol._sessions), 100)

    def test_nothing_large_is_kept_of_a_call_that_is_over(self) -> None:
        more: dict[str, Any] = {
            "rawInput": {"path": "a"},
            "rawOutput": "b",
            "_meta": {"own": "c"},
        }
        (told,) = self.call(title="Read", status="completed", content=[item("x")], **more)
        self.assertEqual(
            (told.raw_input, told.raw_output, told.texts), ({"path": "a"}, "b", ("x",))
        )
        call = self.protocol._upserts_of("s")._calls.get("1")
        assert call is not None
        self.assertEqual(call.told, {"title": "Read", "status": "completed"})

    # Files.

    def test_the_pieces_of_a_patch_are_texts_of_the_files_that_are_named(self) -> None:
        told = diff(("modify", "/project/a.txt"), ("add", "/project/ä.txt"), patch=PATCH)
        edits = read_edits(told)
        self.assertEqual(
            edits.diffs,
            (
                FileDiff("/project/a.txt", "one\ntwo\nthree\n", "one\nTWO\nthree\n"),
                FileDiff("/project/a.txt", "-- old\n", "++ new\ndiff --git a/none b/none\n"),
                FileDiff("/project/ä.txt", "", "first\nlast"),
            ),
        )
        self.assertEqual((edits.paths, edits.words), (("/project/a.txt", "/project/ä.txt"), ()))
        whole = PATCH.replace("a/project", "/project").replace("b/project", "/project")
        self.assertEqual(
            read_edits({**told, **diff(patch=whole), **{"changes": told["changes"]}}), edits
        )

    def test_what_a_patch_does_not_tell_is_said_and_no_file_is_hidden(self) -> None:
        edits = read_edits(diff(("delete", "/gone"), ("modify", "/project/a.txt"), patch=PATCH))
        self.assertEqual({each.path for each in edits.diffs}, {"/project/a.txt"})
        self.assertEqual(
            (edits.paths, edits.words), (("/gone", "/project/a.txt"), ("delete: /gone",))
        )
        moved = read_edits(diff(("move", "/new"), oldPath="/old"))
        self.assertEqual((moved.paths, moved.words), (("/old", "/new"), ("move: /old → /new",)))
        (start,) = self.call(
            kind="edit", content=[diff(("modify", "/b"))], locations=[{"path": "/a"}]
        )
        self.assertEqual((start.paths, start.texts), (("/a", "/b"), ("modify: /b",)))
        (news,) = self.call(locations=[])
        self.assertEqual(news.paths, ("/b",))

    def test_a_patch_of_any_form_ends_and_harms_nobody(self) -> None:
        for patch in (
            "",
            "@@",
            "diff --git",
            "diff --git \n@@ -1,9 +1,9 @@\n",
            PATCH[:90],
            'diff --git a\n+++ "\\',
        ):
            for end in range(0, len(PATCH), 7):
                read_edits(diff(("modify", "/project/a.txt"), patch=patch + PATCH[end:]))
        self.assertEqual(read_edits({"changes": [{}], "patch": {"format": "x"}}).diffs, ())
        huge = f"diff --git a b\n@@ -1,{'9' * 5000} +1 @@\n-a\n"
        self.assertEqual(read_edits(diff(("modify", "/a"), patch=huge)).diffs, ())

    def test_no_more_files_of_a_patch_are_looked_at_than_are_read(self) -> None:
        with mock.patch.object(git_patches, "MAX_FILES", 2):
            edits = read_edits(
                diff(("modify", "/project/a.txt"), patch="diff --git \n" * 2 + PATCH)
            )
        self.assertEqual((edits.diffs, edits.words), ((), ("modify: /project/a.txt",)))

    # Terminals.

    def test_what_a_terminal_puts_out_is_the_output_of_the_call_that_shows_it(self) -> None:
        def piece(text: bytes) -> list[Any]:
            return self.told("terminal_output_chunk", terminalId="t", **data(text))

        self.assertEqual(piece(b"early "), [])
        self.told("terminal_update", terminalId="t", command="make", cwd="/project")
        start, early = self.call(kind="execute", content=[{"type": "terminal", "terminalId": "t"}])
        self.assertEqual((start.texts, early.output), ((), "early "))
        # Half a letter waits for its other half.
        self.assertEqual(piece("ä".encode()[:1]), [])
        self.assertEqual([each.output for each in piece("ä".encode()[1:])], ["ä"])
        (command,) = self.told("terminal_update", terminalId="t", command="make")
        self.assertEqual(command.raw_input, {"command": "make"})
        whole: dict[str, Any] = {"output": data("early ä late".encode())}
        (news,) = self.told("terminal_update", terminalId="t", **whole)
        self.assertEqual(news.output, " late")
        self.assertEqual(self.told("terminal_update", terminalId="t", **whole), [])
        self.assertEqual(self.told("terminal_output_chunk", terminalId="t", data="%"), [])

    def test_a_call_that_is_over_at_once_has_put_out_what_its_terminal_shows(self) -> None:
        self.told("terminal_update", terminalId="t", output=data(b"plum"))
        shown = [{"type": "terminal", "terminalId": "t"}]
        start, output, end = self.call(status="completed", content=shown)
        self.assertIsInstance(start, ToolCallStart)
        self.assertEqual((start.is_over, output.output, end.is_over), (False, "plum", True))

    # Questions.

    def test_a_question_about_a_call_has_its_own_words_beside_the_calls(self) -> None:
        self.call(title="ls", kind="execute", rawInput={"command": "ls"})
        subject = {"type": "tool_call", "toolCall": {"toolCallId": "1", "status": "pending"}}
        call = self.asked(subject, description="It lists.")
        self.assertEqual((call.title, call.texts), ("ls", ("May it?", "It lists.")))
        self.assertEqual((call.raw_input, call.asks_alone), ({"command": "ls"}, False))
        # The question stays as it is while it waits.
        self.assertEqual(self.call(status="pending")[0].texts, call.texts)
        self.assertEqual(self.call(status="completed", content=[item("a")])[0].texts, ("a",))
        subject["toolCall"] = {"toolCallId": "2"}
        self.assertEqual(self.asked(subject).title, "May it?")

    def test_a_question_about_a_command_shows_all_that_runs_and_where(self) -> None:
        run = {"type": "command", "command": "make all", "cwd": "/else"}
        call = self.asked({**run, "toolCallId": "1"})
        self.assertEqual(call.raw_input, {"command": "make all", "cwd": "/else"})
        self.assertEqual((call.id, call.kind, call.asks_alone), ("1", "execute", False))
        self.assertTrue(self.asked(run).asks_alone)
        with self.assertRaises(Unreadable):
            self.asked({"type": "command", "command": "make"})

    def test_a_question_about_what_is_not_known_hides_nothing(self) -> None:
        call = self.asked({"type": "telepathy", "of": "you"}, description="Think.")
        self.assertEqual((call.title, call.texts), ("May it?", ("Think.",)))
        self.assertEqual(call.raw_input, {"type": "telepathy", "of": "you"})
        self.assertTrue(call.asks_alone)
        self.assertEqual(self.asked().raw_input, None)

    # The rest.

    def test_methods_of_version_1_are_not_offered(self) -> None:
        for method in ("fs/read_text_file", "fs/write_text_file", "terminal/create"):
            request = jsonrpc.Request(1, method, {"sessionId": "s", "path": "/a"})
            self.assertIsNone(self.protocol.read_request(request))

    def test_a_plan_lacks_what_was_given_up(self) -> None:
        entries = [
            {"content": content, "priority": "high", "status": status}
            for content, status in (("a", "pending"), ("b", "cancelled"))
        ]
        plan = {"type": "items", "planId": "p", "entries": entries}
        (told,) = self.told("plan_update", plan=plan)
        assert isinstance(told, Plan)
        self.assertEqual([each.content for each in told.entries], ["a"])

    def test_options_and_commands_are_those_of_version_1_by_other_names(self) -> None:
        option = {
            "configId": "mode", "name": "Mode", "category": "mode", "type": "select",
            "currentValue": "a", "options": [{"value": "a", "name": "A"}],
        }  # fmt: skip
        (told,) = self.told("config_option_update", configOptions=[option])
        assert isinstance(told, ConfigOptions)
        self.assertEqual(told.options[0].id, "mode")
        asked = self.protocol.form_of(messages.new_session(messages.SessionPlace("/project")))
        commands = [{"name": "x", "description": "X", "input": {"type": "text", "hint": "h"}}]
        result = {"sessionId": "s", "configOptions": [option], "availableCommands": commands}
        opened = asked.read(result)
        self.assertEqual(opened.options, told)
        assert opened.commands is not None
        self.assertEqual(opened.commands.commands[0].hint, "h")
        self.assertIsNone(asked.read({"sessionId": "s"}).commands)
        chosen = self.protocol.form_of(messages.set_option_request("s", told.options[0], "a"))
        self.assertEqual(chosen.params["type"], "id")
        self.assertEqual(chosen.read({"configOptions": [option]}), told)

    def test_requests_have_the_form_of_version_2(self) -> None:
        server = {"name": "n", "command": "c", "args": [], "env": []}
        place = messages.SessionPlace("/project", [server])
        loaded = self.protocol.form_of(messages.reopen_session(messages.LOAD, "s", place))
        self.assertEqual(loaded.method, "session/resume")
        self.assertEqual(loaded.params["replayFrom"], {"type": "start"})
        self.assertEqual(loaded.params["mcpServers"], [{"type": "stdio", **server}])
        again = self.protocol.form_of(messages.reopen_session(messages.RESUME, "s", place))
        self.assertNotIn("replayFrom", again.params)
        login = self.protocol.form_of(messages.authenticate_request("key"))
        self.assertEqual((login.method, login.params), ("auth/login", {"methodId": "key"}))

    def test_what_an_agent_can_do_is_told_by_objects(self) -> None:
        methods = [
            {"methodId": "a", "type": "agent", "name": "A"},
            {
                "methodId": "t",
                "type": "terminal",
                "name": "T",
                "env": [{"name": "N", "value": "v"}],
            },
            {"methodId": "o", "type": "_other", "name": "O"},
        ]
        session: dict[str, Any] = {
            "prompt": {"image": {}},
            "mcp": {"http": {}},
            "additionalDirectories": {},
        }
        told = self.protocol.read_initialized(
            {
                "protocolVersion": 2,
                "info": {"name": "x", "version": "3"},
                "capabilities": {"session": session},
                "authMethods": methods,
            }
        )
        can = told.capabilities
        self.assertTrue(can.image and can.mcp_http and can.takes_folders and can.resume)
        self.assertFalse(can.embedded_context or can.forks or can.steers)
        self.assertEqual(told.version, "3")
        self.assertEqual([each.kind for each in told.auth_methods], ["agent", "terminal", "_other"])
        self.assertEqual(told.auth_methods[1].env, (("N", "v"),))
        none = self.protocol.read_initialized({"protocolVersion": 2, "capabilities": {}})
        self.assertFalse(none.capabilities.resume or none.capabilities.lists)
