"""What is read of an agent's messages, and of those that are not as the protocol has them."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import unittest
from typing import Any

from GeminiCompanion.companion.agent.acp import protocol_version
from GeminiCompanion.companion.agent.acp.acp_client import AcpClient, Listener, messages
from GeminiCompanion.companion.agent.acp.content_blocks import ContentBlock
from GeminiCompanion.companion.agent.acp.members import Unreadable
from GeminiCompanion.companion.agent.acp.messages import (
    AgentMessageChunk,
    AgentThoughtChunk,
    FileDiff,
    PermissionOption,
    ToolCallStart,
    ToolCallUpdate,
)
from GeminiCompanion.companion.agent.acp.process import AgentProcess
from GeminiCompanion.companion.agent.acp.protocol_version import Offers
from GeminiCompanion.companion.agent.acp.terminal_messages import TerminalRequest
from GeminiCompanion.companion.agent.auth_method import BY_PROGRAM, IN_TERMINAL, AuthMethod
from GeminiCompanion.companion.agent.elicitation import ElicitationRequest
from GeminiCompanion.companion.agent.failure import GEMINI_ERROR, AgentError
from GeminiCompanion.companion.agent.session_state import Plan
from GeminiCompanion.companion.base import jsonrpc
from GeminiCompanion.companion.base.log import logger

from ..support import PATIENCE, until

HALF = "\ud83d"
# Writes the lines that it was given, once it has read as many as it was told; then, to its errors,
# each line that it reads.
ECHO = """
import json, sys
for _ in range(int(sys.argv[2])): sys.stdin.readline()
for line in json.loads(sys.argv[1]): print(line, flush=True)
for line in sys.stdin: print(line, end="", file=sys.stderr, flush=True)
"""


def update(**members: Any) -> messages.SessionUpdate:
    session, found = messages.session_update({"sessionId": "s", "update": members})
    assert session == "s"
    return found


def content(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


PLACE = messages.SessionPlace("/w")


class LogIn(unittest.TestCase):
    def test_who_does_a_login_is_read_of_each_way(self) -> None:
        command = {"command": "/bin/evil", "args": ["auth", "login"], "env": {"A": "1", "B": 2}}
        told = messages.read_initialized(
            {
                "authMethods": [
                    {"id": "a", "name": "A"},
                    {"id": "b", "type": "terminal", "args": ["login"], "env": {"A": "1"}},
                    {"id": "c", "_meta": {"terminal-auth": command}},
                    {"id": "d", "type": "env_var"},
                    {"name": "no id"},
                ]
            }
        )
        self.assertEqual(
            told.auth_methods,
            (
                AuthMethod("a", "A"),
                AuthMethod("b", "", IN_TERMINAL, ("login",), (("A", "1"),)),
                AuthMethod("c", "", BY_PROGRAM, ("auth", "login"), (("A", "1"),)),
                AuthMethod("d", "", "env_var"),
            ),
        )

    def test_terminals_for_a_login_are_offered_only_where_they_can_be_opened(self) -> None:
        for opens, offered in ((True, {"terminal": True}), (False, None)):
            asked = protocol_version.initialize_request(Offers(login_terminals=opens), 1)
            self.assertEqual(asked.params["clientCapabilities"].get("auth"), offered)


class BesideTheProtocol(unittest.TestCase):
    def test_a_request_names_its_session_as_a_text_or_none(self) -> None:
        for params, session in (({"sessionId": "s"}, "s"), ({"sessionId": 1}, ""), ({}, "")):
            request = jsonrpc.Request(1, "beside/it", params)
            self.assertEqual(messages.session_of(request), session)


class Updates(unittest.TestCase):
    def test_a_chunk_is_its_text_and_of_another_content_there_is_none(self) -> None:
        told = update(sessionUpdate="agent_message_chunk", content=content("Hi"), _meta={"a": 1})
        self.assertEqual(told, AgentMessageChunk("Hi", {"a": 1}))
        image = {"type": "image", "data": ""}
        told = update(sessionUpdate="agent_thought_chunk", content=image)
        self.assertEqual(told, AgentThoughtChunk(""))

    def test_half_a_character_stays_in_an_answer_alone(self) -> None:
        told = update(sessionUpdate="agent_message_chunk", content=content("a" + HALF))
        self.assertEqual(told, AgentMessageChunk("a" + HALF))
        told = update(sessionUpdate="agent_thought_chunk", content=content("a" + HALF))
        self.assertEqual(told, AgentThoughtChunk("a\ufffd"))
        told = update(sessionUpdate="tool_call", toolCallId="1", title=HALF)
        self.assertEqual(told, ToolCallStart("1", "\ufffd"))

    def test_a_call_has_its_content_by_kind(self) -> None:
        told = update(
            sessionUpdate="tool_call_update",
            toolCallId="write__1",
            title="w",
            kind="edit",
            status="completed",
            content=[
                {"type": "content", "content": content("one")},
                {"type": "diff", "path": "/a", "oldText": None, "newText": "b"},
                {"type": "terminal", "terminalId": "t"},
                {"type": "content", "content": {"type": "image"}},
            ],
            locations=[{"path": "/a", "line": 1}],
            rawInput={"x": 1},
        )
        diffs = (FileDiff("/a", "", "b"),)
        expected = ToolCallUpdate(
            "write__1",
            "w",
            "edit",
            "completed",
            ("one",),
            diffs,
            ("/a",),
            {"x": 1},
            has_content=True,
            blocks=(ContentBlock("image"),),
            terminals=("t",),
        )
        self.assertEqual(told, expected)

    def test_content_that_is_no_text_is_a_block(self) -> None:
        resource = {"uri": "file:///a", "mimeType": "text/x-python", "text": "a"}
        for told, expected in (
            (
                {"type": "image", "mimeType": "image/png", "data": "AA==", "uri": "file:///p.png"},
                ContentBlock("image", "file:///p.png", media_type="image/png", data="AA=="),
            ),
            (
                {"type": "resource_link", "uri": "file:///a", "name": "a", "size": 7},
                ContentBlock("resource_link", "file:///a", "a", size=7),
            ),
            (
                {"type": "resource_link", "uri": "", "name": "a", "title": "A", "size": True},
                ContentBlock("resource_link", name="A"),
            ),
            (
                {"type": "resource", "resource": resource},
                ContentBlock("resource", "file:///a", media_type="text/x-python", text="a"),
            ),
            (
                {"type": "resource", "resource": {"uri": "x:y", "blob": "AA=="}},
                ContentBlock("resource", "x:y", data="AA=="),
            ),
            (
                {"type": "resource_link", "uri": "data:image/png;base64,AA==", "name": "image"},
                ContentBlock("resource_link", name="image", data="AA=="),
            ),
            ({"type": "hologram", "text": "no text of ours"}, ContentBlock("hologram")),
        ):
            with self.subTest(told):
                chunk = update(sessionUpdate="agent_message_chunk", content=told)
                self.assertEqual(chunk, AgentMessageChunk("", {}, (expected,)))

    def test_a_piece_of_a_commands_output_is_beside_its_content(self) -> None:
        told = update(
            sessionUpdate="tool_call_update",
            toolCallId="1",
            _meta={"terminal_output_delta": {"data": "one\n", "terminal_id": "1"}},
        )
        assert isinstance(told, ToolCallUpdate)
        self.assertEqual((told.output, told.texts), ("one\n", ()))
        # It is not said again with what comes later.
        later = messages.joined_call(told, ToolCallUpdate("1", status="completed"))
        self.assertEqual((later.output, later.status), ("", "completed"))
        for bad in ({"terminal_output_delta": "x"}, {"terminal_output_delta": {"data": 5}}):
            told = update(sessionUpdate="tool_call_update", toolCallId="1", _meta=bad)
            assert isinstance(told, ToolCallUpdate)
            self.assertEqual(told.output, "")

    def test_an_optional_member_of_another_type_counts_as_missing(self) -> None:
        told = update(
            sessionUpdate="tool_call",
            toolCallId="1",
            title=5,
            status=[],
            content={"type": "diff"},
            locations=[None, "/a"],
            rawInput="x",
            _meta=None,
        )
        self.assertEqual(told, ToolCallStart("1"))

    def test_one_that_lacks_what_it_needs_is_not_read_and_says_why(self) -> None:
        for members, expected in (
            ({"sessionUpdate": "tool_call"}, "tool_call: expected a text as toolCallId; got None"),
            ({"sessionUpdate": "tool_call", "toolCallId": 7}, "got 7"),
            ({"sessionUpdate": "agent_message_chunk", "content": "hi"}, "an object as content"),
            ({"sessionUpdate": "telepathy"}, "telepathy: expected one of user_message_chunk"),
            ({}, "expected one of"),
        ):
            with self.subTest(members):
                with self.assertRaises(Unreadable) as caught:
                    update(**members)
                self.assertIn(expected, str(caught.exception))
        with self.assertRaises(Unreadable):
            messages.session_update({"update": {"sessionUpdate": "plan"}})
        with self.assertRaises(Unreadable):
            messages.session_update({"sessionId": "s", "update": []})

    def test_what_is_not_read_fills_no_log_with_the_agents_text(self) -> None:
        with self.assertRaises(Unreadable) as caught:
            update(sessionUpdate="x" * 100_000)
        # Most of it is what we know.
        self.assertLess(len(str(caught.exception)), 700)

    def test_a_notice_has_a_title_and_perhaps_more(self) -> None:
        told = update(sessionUpdate="notice", severity="warning", title="Slow", description=None)
        self.assertEqual(told, messages.Notice("warning", "Slow"))
        self.assertEqual(messages.Notice("info", "a", "b").text, "a\nb")

    def test_a_compaction_is_a_call_whose_result_is_the_summary(self) -> None:
        kind, title = "compaction_update", "Compact the conversation"
        summary = [content("It was long.")]
        for told, expected in (
            ({"status": "in_progress"}, ("in_progress", ())),
            ({"status": "completed", "summary": summary}, ("completed", ("It was long.",))),
            ({"status": "failed", "error": "Too long."}, ("failed", ("Too long.",))),
            ({"status": "cancelled"}, ("failed", ("Cancelled.",))),
            ({"status": "_other"}, ("in_progress", ())),
        ):
            with self.subTest(told):
                call = update(sessionUpdate=kind, compactionId="1", **told)
                assert isinstance(call, ToolCallUpdate)
                self.assertEqual((call.id, call.title), ("compaction-1", title))
                self.assertEqual((call.status, call.texts), expected)
        piece = update(
            sessionUpdate="compaction_summary_chunk", compactionId="1", content=content("It")
        )
        assert isinstance(piece, ToolCallUpdate)
        self.assertEqual((piece.id, piece.output), ("compaction-1", "It"))

    def test_a_plan_with_an_id_is_a_plan_until_it_is_removed(self) -> None:
        plan = {"type": "items", "planId": "1", "entries": [{"content": "Look"}]}
        told = update(sessionUpdate="plan_update", plan=plan)
        assert isinstance(told, Plan)
        self.assertEqual([each.content for each in told.entries], ["Look"])
        self.assertEqual(update(sessionUpdate="plan_removed", planId="1"), Plan(()))
        with self.assertRaisesRegex(Unreadable, "plan_update: expected a plan of the type items"):
            update(sessionUpdate="plan_update", plan={"type": "markdown", "content": "a"})


class Requests(unittest.TestCase):
    def test_a_write_without_its_text_is_no_write_of_an_empty_one(self) -> None:
        params = {"sessionId": "s", "path": "/a"}
        request = jsonrpc.Request(1, "fs/write_text_file", params)
        with self.assertRaisesRegex(Unreadable, "expected content; got None"):
            messages.agent_request(request)
        empty = messages.agent_request(request._replace(params={**params, "content": ""}))
        assert isinstance(empty, messages.WriteTextFile)
        self.assertEqual(empty.content, "")

    def test_a_permission_request_has_its_call_and_the_options_that_have_an_id(self) -> None:
        told = messages.agent_request(
            jsonrpc.Request(
                4,
                "session/request_permission",
                {
                    "sessionId": "s",
                    "toolCall": {"toolCallId": "1", "status": "pending"},
                    "options": [{"optionId": "a", "name": "A", "kind": "allow_once"}, {}, None],
                },
            )
        )
        call = ToolCallUpdate("1", status="pending")
        options = (PermissionOption("a", "A", "allow_once"),)
        self.assertEqual(told, messages.PermissionRequest("s", 4, call, options))

    def test_one_of_a_method_that_was_not_offered_is_none(self) -> None:
        self.assertIsNone(messages.agent_request(jsonrpc.Request(1, "terminal/other", {})))


class Answers(unittest.TestCase):
    def test_a_session_without_an_id_is_not_opened(self) -> None:
        with self.assertRaises(Unreadable):
            messages.new_session(PLACE).read({"models": {}})

    def test_what_a_session_offers_is_read_and_the_operators_model_is_among_it(self) -> None:
        told = messages.reopen_session(messages.LOAD, "s", PLACE).read(
            {
                "models": {"availableModels": [{"modelId": "a"}, {}], "currentModelId": "b"},
                "modes": {"availableModes": [{"id": "plan"}, 5], "currentModeId": "plan"},
            }
        )
        model, mode = told.options.options
        self.assertEqual((model.values, model.current), (("a", "b"), "b"))
        self.assertEqual((mode.values, mode.current, mode.is_made), (("plan",), "plan", True))
        nothing = messages.OpenedSession("s")
        self.assertEqual(
            messages.reopen_session(messages.RESUME, "s", PLACE).read({"models": None}),
            nothing,
        )

    def test_another_version_of_the_protocol_is_not_understood(self) -> None:
        read = protocol_version.initialize_request(Offers(writes=True), 1).read
        for version in (1, 2):
            spoken = read({"protocolVersion": version})
            assert isinstance(spoken, protocol_version.Spoken)
            self.assertEqual(spoken.protocol.number, version)
        for other in (3, "1", True, None):
            self.assertIs(read({"protocolVersion": other}), other)


class Heard(Listener):
    def __init__(self) -> None:
        self.all: list[Any] = []

    def take_update(self, session: str, update: messages.SessionUpdate) -> None:
        self.all.append(update)

    def take_permission_request(self, request: messages.PermissionRequest) -> None:
        self.all.append(request)

    def take_elicitation_request(self, request: ElicitationRequest) -> None:
        self.all.append(request)

    def take_withdrawal(self, withdrawal: messages.Withdrawal) -> None:
        self.all.append(withdrawal)

    def read_file(self, request: messages.ReadTextFile) -> None:
        self.all.append(request)

    def write_file(self, request: messages.WriteTextFile) -> None:
        self.all.append(request)

    def take_terminal_request(self, request: TerminalRequest) -> None:
        self.all.append(request)

    def take_noise(self, text: str) -> None: ...

    def take_log_text(self, text: str) -> None: ...

    def take_process_end(self) -> None: ...


def line(**members: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", **members}, separators=(",", ":"))


def told(**members: Any) -> str:
    params = {"sessionId": "s", "update": members}
    return line(method="session/update", params=params)


class OverAProcess(unittest.IsolatedAsyncioTestCase):
    async def heard(self, *lines: str, after: int = 0) -> tuple[AcpClient, Heard]:
        """A connection whose agent writes these lines `after` so many that it has read, and then
        what it reads to its errors."""
        command = (sys.executable, "-c", ECHO, json.dumps(lines), str(after))
        process = await AgentProcess.start(command, dict(os.environ), tempfile.gettempdir())
        heard = Heard()
        client = AcpClient(process, heard, "Some CLI", asyncio.Lock())
        self.addAsyncCleanup(client.kill)
        return client, heard

    async def test_bad_and_unknown_updates_are_logged_once_each_kind_and_end_nothing(self) -> None:
        bad = [told(sessionUpdate="tool_call"), told(sessionUpdate="telepathy"), told(), told()]
        good = told(sessionUpdate="agent_message_chunk", content=content("Hi"))
        with self.assertLogs(logger, "WARNING") as logs:
            client, heard = await self.heard(*bad, *bad, good)
            await until(lambda: heard.all)
        self.assertEqual(heard.all, [AgentMessageChunk("Hi")])
        self.assertTrue(client.is_running)
        kinds = [entry.split("not read: ")[1].split(":")[0] for entry in logs.output]
        self.assertEqual(kinds, ["tool_call", "telepathy", "session/update"])

    async def test_a_request_that_is_not_read_is_answered_all_the_same(self) -> None:
        method, params = "session/request_permission", {"sessionId": "s", "toolCall": {}}
        with self.assertLogs(logger, "WARNING"):
            client, heard = await self.heard(line(id=7, method=method, params=params))
            await until(lambda: client.process.last_errors)
        answer = json.loads(client.process.last_errors)
        self.assertEqual((answer["id"], answer["error"]["code"]), (7, jsonrpc.INVALID_PARAMS))
        self.assertEqual(heard.all, [])

    async def test_a_question_that_the_agent_takes_back_is_told_by_its_id(self) -> None:
        ids: list[Any] = ["a", 5, None, True]
        told = [line(method="$/cancel_request", params={"requestId": id}) for id in ids]
        with self.assertLogs(logger, "WARNING"):
            _client, heard = await self.heard(*told, line(method="$/other", params={}))
            await until(lambda: len(heard.all) == 2)
        self.assertEqual(heard.all, [messages.Withdrawal("a"), messages.Withdrawal(5)])

    async def test_the_agent_is_told_that_nobody_waits_for_an_answer(self) -> None:
        client, _heard = await self.heard()
        client.send_request(messages.new_session(PLACE)).cancel()
        await until(lambda: "cancel_request" in client.process.last_errors)
        last = json.loads(client.process.last_errors.split("\n")[-1])
        self.assertEqual((last["method"], last["params"]), ("$/cancel_request", {"requestId": 1}))

    async def test_an_answer_that_is_not_read_is_an_error_of_its_request(self) -> None:
        client, _heard = await self.heard(line(id=1, result={"sessionId": 5}), after=1)
        with self.assertRaises(AgentError) as caught:
            await asyncio.wait_for(client.request(messages.new_session(PLACE)), PATIENCE)
        self.assertEqual(caught.exception.code, GEMINI_ERROR)
        self.assertTrue(client.is_running)
