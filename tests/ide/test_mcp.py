"""Methods and tools: what is answered to which message."""

from __future__ import annotations

import json
import os
import unittest
from typing import Any

import jsonschema
from GeminiCompanion.companion import __version__
from GeminiCompanion.companion.base import jsonrpc
from GeminiCompanion.companion.base.jsonrpc import Notification, Request, Response, RpcError
from GeminiCompanion.companion.ide import mcp
from GeminiCompanion.companion.ide.editor import EditorError
from GeminiCompanion.companion.ide.mcp_tables import Arguments
from GeminiCompanion.companion.ide.session import Session

from ..support import InLoop

PATH = os.path.abspath(os.path.join(os.sep, "project", "a.py"))


class Desk(mcp.Desk):
    """Notes what is asked; `refusal` is a sentence with which it refuses, `text` a diff's text."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.refusal = ""
        self.text: str | None = "as edited"
        self.decided = False

    async def open_diff(
        self, session: Session, path: str, content: str, sent_path: str = ""
    ) -> None:
        self.note("open", session.id, path, content)

    async def close_diff(self, session: Session, path: str, decided: bool = True) -> str | None:
        self.note("close", session.id, path)
        self.decided = decided
        return self.text

    def note(self, *words: str) -> None:
        if self.refusal:
            raise EditorError(self.refusal)
        self.asked.append(words)


class McpTestCase(InLoop):
    def setUp(self) -> None:
        self.desk = Desk()

    async def answer(self, method: str, params: Any = None, version: str = "2025-06-18") -> Any:
        """The JSON-RPC answer to a request with the id 1."""
        message = Request(1, method, {} if params is None else params)
        body = await mcp.handle_message(message, self.desk, Session("s", version))
        answer = json.loads(body or b"null")
        self.assertEqual((answer["jsonrpc"], answer["id"]), ("2.0", 1))
        return answer

    async def call(self, tool: Any, arguments: Any, version: str = "2025-06-18") -> Any:
        return await self.answer("tools/call", {"name": tool, "arguments": arguments}, version)

    def assert_error(self, answer: Any, code: int, *parts: str) -> None:
        self.assertEqual(answer["error"]["code"], code, answer)
        for part in parts:
            self.assertIn(part, answer["error"]["message"])

    def assert_tool_error(self, answer: Any, *parts: str) -> None:
        self.assertIs(answer["result"]["isError"], True)
        (content,) = answer["result"]["content"]
        self.assertEqual(content["type"], "text")
        for part in parts:
            self.assertIn(part, content["text"])


class Initialize(unittest.TestCase):
    def negotiate(self, version: Any) -> tuple[str, dict[str, Any]]:
        return mcp.negotiate_version(Request(1, "initialize", {"protocolVersion": version}))

    def test_every_known_revision_is_echoed(self) -> None:
        for version in ("2025-03-26", "2025-06-18", "2025-11-25"):
            with self.subTest(version=version):
                agreed, result = self.negotiate(version)
                self.assertEqual((agreed, result["protocolVersion"]), (version, version))

    def test_an_unknown_revision_is_answered_with_the_one_that_clients_speak(self) -> None:
        for version in ("2024-11-05", "2099-01-01", "", "x"):
            with self.subTest(version=version):
                agreed, result = self.negotiate(version)
                self.assertEqual((agreed, result["protocolVersion"]), ("2025-06-18", "2025-06-18"))

    def test_tools_and_logging_are_what_the_server_can(self) -> None:
        _, result = self.negotiate("2025-06-18")
        self.assertEqual(result["capabilities"], {"tools": {"listChanged": True}, "logging": {}})

    def test_the_server_names_itself_and_its_version(self) -> None:
        _, result = self.negotiate("2025-06-18")
        self.assertEqual(result["serverInfo"]["name"], "gemini-companion")
        self.assertEqual(result["serverInfo"]["version"], __version__)

    def test_a_revision_that_is_no_string_is_refused_with_what_came(self) -> None:
        for version, kind in ((None, "null"), (20250618, "a number"), (["2025-06-18"], "an array")):
            with self.subTest(version=version):
                with self.assertRaises(RpcError) as caught:
                    self.negotiate(version)
                self.assertEqual((caught.exception.code, caught.exception.id), (-32602, 1))
                self.assertIn(kind, caught.exception.message)

    def test_a_missing_revision_is_refused(self) -> None:
        with self.assertRaises(RpcError):
            mcp.negotiate_version(Request(1, "initialize", {}))


class Methods(McpTestCase):
    async def test_ping_is_answered_with_nothing(self) -> None:
        self.assertEqual((await self.answer("ping"))["result"], {})

    async def test_every_level_of_the_protocol_can_be_set(self) -> None:
        for level in mcp.LOG_LEVELS:
            with self.subTest(level=level):
                answer = await self.answer("logging/setLevel", {"level": level})
                self.assertEqual(answer["result"], {})

    async def test_another_level_is_refused_with_those_that_are_known(self) -> None:
        for params in ({"level": "loud"}, {}, {"level": 3}, {"level": ["info"]}):
            with self.subTest(params=params):
                answer = await self.answer("logging/setLevel", params)
                self.assert_error(answer, jsonrpc.INVALID_PARAMS, "debug", "emergency", "got")

    async def test_an_unknown_method_is_refused_with_those_that_are_known(self) -> None:
        for method in ("nope", "", "tools/List", "resources/list", "initialize"):
            with self.subTest(method=method):
                answer = await self.answer(method)
                self.assert_error(answer, jsonrpc.METHOD_NOT_FOUND, "tools/call", repr(method))

    async def test_notifications_and_responses_are_not_answered(self) -> None:
        for message in (
            Notification("notifications/initialized", {}),
            Notification("notifications/cancelled", {"requestId": 1}),
            Notification("unknown", {}),
            Notification("ping", {}),
            Response(1, {}),
            Response(None, None, {"code": 1, "message": "m"}),
        ):
            with self.subTest(message=message):
                body = await mcp.handle_message(message, self.desk, Session("s", "2025-06-18"))
                self.assertIsNone(body)


class ToolList(McpTestCase):
    async def test_exactly_the_two_tools_are_offered_that_the_cli_looks_for(self) -> None:
        tools = (await self.answer("tools/list"))["result"]["tools"]
        self.assertEqual([tool["name"] for tool in tools], ["openDiff", "closeDiff"])

    async def test_the_list_has_no_further_page(self) -> None:
        self.assertEqual(
            list((await self.answer("tools/list", {"cursor": "x"}))["result"]), ["tools"]
        )

    async def test_every_tool_has_a_description_and_a_valid_schema_of_an_object(self) -> None:
        for tool in (await self.answer("tools/list"))["result"]["tools"]:
            with self.subTest(tool=tool["name"]):
                self.assertTrue(tool["description"])
                jsonschema.Draft7Validator.check_schema(tool["inputSchema"])
                self.assertEqual(tool["inputSchema"]["type"], "object")

    async def test_what_the_shown_schema_refuses_the_tool_refuses_too(self) -> None:
        tools = (await self.answer("tools/list"))["result"]["tools"]
        values: tuple[Any, ...] = (PATH, "", None, 1, True, [], {})
        for tool in tools:
            validator = jsonschema.Draft7Validator(tool["inputSchema"])
            for path in values:
                for content in values:
                    arguments = {"filePath": path, "newContent": content}
                    with self.subTest(tool=tool["name"], arguments=arguments):
                        answer = await self.call(tool["name"], arguments)
                        self.assertEqual("result" in answer, validator.is_valid(arguments))


class OpenDiff(McpTestCase):
    async def test_it_opens_the_diff_of_its_session_and_answers_with_nothing(self) -> None:
        answer = await self.call("openDiff", {"filePath": PATH, "newContent": "x\n"})
        self.assertEqual(answer["result"], {"content": []})
        self.assertEqual(self.desk.asked, [("open", "s", PATH, "x\n")])

    async def test_path_and_text_arrive_exactly_as_they_were_sent(self) -> None:
        for path in (PATH + "/../ü//b.", PATH + " \U0001f600\u0301", PATH + "/."):
            for text in ("", "\ufeffa\r\n\x00\u2028", "no end"):
                with self.subTest(path=path, text=text):
                    await self.call("openDiff", {"filePath": path, "newContent": text})
                    self.assertEqual(self.desk.asked[-1], ("open", "s", path, text))

    async def test_what_the_editor_cannot_is_the_tools_error_with_its_sentence(self) -> None:
        self.desk.refusal = "It is a folder."
        answer = await self.call("openDiff", {"filePath": PATH, "newContent": ""})
        self.assert_tool_error(answer, "It is a folder.")

    async def test_a_path_that_is_not_absolute_is_the_tools_error_in_every_revision(self) -> None:
        for version in mcp.VERSIONS:
            for path in ("a.py", "./a.py", "~/a.py", "../a", " " + PATH, "file://" + PATH):
                with self.subTest(version=version, path=path):
                    answer = await self.call(
                        "openDiff", {"filePath": path, "newContent": ""}, version
                    )
                    self.assert_tool_error(answer, "absolute", repr(path))
        self.assertEqual(self.desk.asked, [])

    async def test_a_path_with_a_nul_is_the_tools_error(self) -> None:
        answer = await self.call("openDiff", {"filePath": PATH + "\0b", "newContent": ""})
        self.assert_tool_error(answer, "absolute", "\\x00")
        self.assertEqual(self.desk.asked, [])


class CloseDiff(McpTestCase):
    def text(self, answer: Any) -> str:
        (content,) = answer["result"]["content"]
        self.assertEqual(content["type"], "text")
        text: str = content["text"]
        return text

    async def test_it_answers_with_the_text_as_json(self) -> None:
        for text in ("", '{"content": "trap"}', "a\r\n\u2028\U0001f600", "half \ud83d"):
            with self.subTest(text=text):
                self.desk.text = text
                answer = await self.call("closeDiff", {"filePath": PATH})
                self.assertEqual(json.loads(self.text(answer)), {"content": text})
                self.assertNotIn("isError", answer["result"])

    async def test_without_such_a_diff_it_answers_with_an_empty_object(self) -> None:
        self.desk.text = None
        answer = await self.call("closeDiff", {"filePath": PATH})
        self.assertEqual(self.text(answer), "{}")
        self.assertNotIn("isError", answer["result"])

    async def test_only_a_cli_that_asks_for_no_notification_has_a_decision(self) -> None:
        for flags in ({"suppressNotification": True}, {"suppressNotification": False}, {}):
            with self.subTest(flags=flags):
                await self.call("closeDiff", {"filePath": PATH, **flags})
                self.assertEqual(self.desk.asked[-1], ("close", "s", PATH))
                self.assertIs(self.desk.decided, flags.get("suppressNotification", False))

    async def test_what_the_editor_cannot_is_the_tools_error_with_its_sentence(self) -> None:
        self.desk.refusal = "It is gone."
        self.assert_tool_error(await self.call("closeDiff", {"filePath": PATH}), "It is gone.")


class BadCalls(McpTestCase):
    ARGUMENTS: tuple[tuple[Any, str], ...] = (
        ({}, "filePath"),
        ({"filePath": PATH}, "newContent"),
        ({"newContent": ""}, "filePath"),
        ({"filePath": "", "newContent": ""}, "arguments.filePath"),
        ({"filePath": None, "newContent": ""}, "null"),
        ({"filePath": PATH, "newContent": 5}, "a number"),
        ({"filePath": [PATH], "newContent": ""}, "an array"),
        ({"filePath": PATH, "newContent": "", "extra": 1}, "extra"),
        (None, "null"),
        ([], "an array"),
        ("text", "a string"),
    )

    async def test_bad_arguments_are_an_error_of_the_protocol_in_the_older_revisions(self) -> None:
        for version in ("2025-03-26", "2025-06-18"):
            for arguments, part in self.ARGUMENTS:
                with self.subTest(version=version, arguments=arguments):
                    answer = await self.call("openDiff", arguments, version)
                    self.assert_error(answer, jsonrpc.INVALID_PARAMS, "openDiff", part)
        self.assertEqual(self.desk.asked, [])

    async def test_bad_arguments_are_an_error_of_the_tool_since_2025_11_25(self) -> None:
        for arguments, part in self.ARGUMENTS:
            with self.subTest(arguments=arguments):
                answer = await self.call("openDiff", arguments, "2025-11-25")
                self.assert_tool_error(answer, "openDiff", part)
        self.assertEqual(self.desk.asked, [])

    async def test_missing_arguments_count_as_an_empty_object(self) -> None:
        answer = await self.answer("tools/call", {"name": "closeDiff"})
        self.assert_error(answer, jsonrpc.INVALID_PARAMS, "filePath", "required")

    async def test_a_flag_that_is_no_boolean_is_refused(self) -> None:
        arguments = {"filePath": PATH, "suppressNotification": "yes"}
        answer = await self.call("closeDiff", arguments)
        self.assert_error(answer, jsonrpc.INVALID_PARAMS, "suppressNotification", "a string")

    async def test_no_error_repeats_the_text_of_a_file(self) -> None:
        secret = "the text of a file"
        for arguments in (
            {"filePath": PATH, "newContent": [secret]},
            {"filePath": PATH, "newContent": {"text": secret}},
            [PATH, secret],
        ):
            with self.subTest(arguments=arguments):
                answer = await self.call("openDiff", arguments)
                self.assertNotIn(secret, json.dumps(answer))

    async def test_an_unknown_tool_is_refused_in_every_revision_with_those_that_are_known(
        self,
    ) -> None:
        names: tuple[Any, ...] = ("writeFile", "opendiff", "", None, 5, ["openDiff"], {})
        for version in mcp.VERSIONS:
            for name in names:
                with self.subTest(version=version, name=name):
                    answer = await self.call(name, {}, version)
                    self.assert_error(
                        answer, jsonrpc.INVALID_PARAMS, "openDiff, closeDiff", repr(name)
                    )

    async def test_a_bug_of_the_editor_is_not_dressed_as_an_answer(self) -> None:
        class Broken(Desk):
            def note(self, *words: str) -> None:
                raise ZeroDivisionError

        self.desk = Broken()
        with self.assertRaises(ZeroDivisionError):
            await self.call("closeDiff", {"filePath": PATH})


class Schemas(unittest.TestCase):
    def test_they_ask_for_no_more_than_names_types_and_not_empty(self) -> None:
        """What lets arguments of a shape that was good before pass without another look."""
        known = {"$schema", "type", "properties", "required", "additionalProperties", "description"}
        for tool in mcp.TOOLS:
            self.assertLessEqual(set(tool.schema), known)
            for schema in tool.schema["properties"].values():
                self.assertLessEqual(set(schema), {"type", "description", "minLength"})
                self.assertEqual(schema.get("minLength", 1), 1)

    def test_arguments_are_looked_at_again_where_one_of_them_is_empty(self) -> None:
        expected = Arguments(mcp.TOOLS[1].schema)
        for path, is_good in (("/a", True), ("/b", True), ("", False), ("/c", True)):
            self.assertEqual(expected.problem({"filePath": path}) is None, is_good)
