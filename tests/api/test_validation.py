"""What requests may bring, field by field, and that openapi.json says the same."""

from __future__ import annotations

import json
import os
import re
import unittest
from typing import Any, Iterator

import jsonschema
from GeminiCompanion.companion.api import routes
from GeminiCompanion.companion.api.contract import refusal, schemas
from GeminiCompanion.companion.api.contract.answer_texts import TEXTS, answer_text, language_of
from GeminiCompanion.companion.api.contract.route import Route

from .contract import DOCUMENT
from .support import ApiTest, Reply

# The door for OpenAI's clients says its errors in its own way: tests/e2e/test_api_clients.
POSTS = [
    route
    for route in routes.API
    if route.method == "POST" and not (route.is_openai or route.uploads)
]
# One value of each kind of JSON.
SAMPLES = {
    "string": "x", "boolean": True, "number": 1.5, "array": [], "object": {}, "null": None,
}  # fmt: skip


def valid(schema: Any) -> Any:
    """A value that the schema of a field takes."""
    if "enum" in schema:
        return schema["enum"][0]
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if kinds[0] == "array" and schema.get("minItems"):
        return [valid(schema["items"])]
    return {"string": "x", "boolean": False, "array": [], "number": 1, "integer": 1}[kinds[0]]


def in_body(route: Any) -> dict[str, Any]:
    """The fields that do not stand in the path, by name."""
    fields = route.form.schema["properties"]
    return {name: fields[name] for name in fields if f"{{{name}}}" not in route.path}


def required(route: Route[Any]) -> dict[str, Any]:
    fields = route.form.schema["properties"]
    return {name: valid(fields[name]) for name in route.form.schema.get("required", [])}


def wrong(schema: Any) -> Iterator[Any]:
    """Values that the schema of a field does not take."""
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    for kind, value in SAMPLES.items():
        if kind not in kinds and not (kind == "number" and "integer" in kinds):
            yield value
    if "enum" in schema:
        yield "something else"
    if schema.get("minLength"):
        yield ""
    if "maxLength" in schema and schema["maxLength"] <= schemas.MAX_COMMAND:
        yield "x" * (schema["maxLength"] + 1)
    if "maxItems" in schema:
        yield ["x"] * (schema["maxItems"] + 1)
        yield [1]
    if "minimum" in schema:
        yield schema["minimum"] - 1
        yield schema["maximum"] + 1


class Bodies(ApiTest):
    def test_what_a_kind_of_login_needs_is_named(self) -> None:
        for body, field in (
            ({"authType": "gemini-api-key"}, "apiKey"),
            ({"authType": "gemini-api-key", "apiKey": ""}, "apiKey"),
            ({"authType": "gemini-api-key", "apiKey": " "}, "apiKey"),
            ({"authType": "vertex-ai", "apiKey": None}, "apiKey"),
        ):
            with self.subTest(body):
                reply = self.ask("POST", "/auth/config", body)
                self.assertEqual(reply.status, 400)
                self.assertIn(f"field {field} ", reply["message"])
                self.assertLess(len(reply["message"]), 100)

    def test_a_line_end_behind_a_text_is_a_letter_of_it(self) -> None:
        for name in ("a\n", "a\r\n", "\na"):
            reply = self.ask("POST", "/tokens", {"name": name, "scopes": ["read"]})
            self.refused(reply, 400, "VALIDATION_ERROR")

    def test_every_field_of_every_endpoint_is_checked(self) -> None:
        for route in POSTS:
            for name, schema in in_body(route).items():
                for value in wrong(schema):
                    with self.subTest(f"{route.path} {name}={str(value)[:30]}"):
                        body = {**required(route), name: value}
                        reply = self.ask("POST", route.path, body)
                        self.refused(reply, 400, "VALIDATION_ERROR")
                        self.assertIn(name, reply["message"])
                        self.assertNotIn("xxxxx", reply["message"])

    def test_every_field_that_is_needed_is_missed(self) -> None:
        for route in POSTS:
            for name in in_body(route).keys() & set(route.form.schema.get("required", [])):
                with self.subTest(f"{route.path} {name}"):
                    body = required(route)
                    del body[name]
                    reply = self.ask("POST", route.path, body)
                    self.refused(reply, 400, "VALIDATION_ERROR")
                    self.assertIn(name, reply["message"])

    def test_a_body_that_is_no_object_of_json_is_refused_everywhere(self) -> None:
        for route in POSTS:
            for body in (
                b"[]", b"null", b'"x"', b"1", b"{", b"{}x", b"\xff", b"\xef\xbb\xbf{}",
                b'{"message": "\\ud800"}', b'{"a": NaN}', b"[" * 100_000, b" ",
                b'{"a": ' + b"9" * 5000 + b"}",
            ):  # fmt: skip
                with self.subTest(f"{route.path} {body[:20]!r}"):
                    self.refused(self.ask("POST", route.path, body), 400, "VALIDATION_ERROR")

    def test_null_counts_as_absence_where_a_field_may_be_absent(self) -> None:
        body = {"path": None}
        self.refused(self.ask("POST", "/read-file", body), 400, "VALIDATION_ERROR")
        everything = {name: None for name in schemas.CHAT["properties"]}
        reply = self.ask("POST", "/chat", {**everything, "message": "hello"})
        self.refused(reply, 401, "AUTH_NOT_SET")

    def test_members_that_are_not_known_are_passed_over(self) -> None:
        self.assertEqual(self.ask("POST", "/cancel", {"unknown": {"a": [1]}}).status, 200)

    def test_the_refusal_is_told_in_chinese_too(self) -> None:
        reply = self.ask("POST", "/read-file", {}, {"Accept-Language": ""})
        self.assertEqual(reply["message"], "请求参数错误：缺少字段 path")

    def test_a_refusal_in_chinese_has_no_english_sentence_in_it(self) -> None:
        deep = b'{"path":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
        for path, body in (
            ("/read-file", b"{"),
            ("/read-file", b'"ends within'),
            ("/read-file", b"\xff"),
            ("/read-file", deep),
            ("/chat", b'{"message": " "}'),
            ("/chat", b'{"message": "/init"}'),
            ("/chat", b'{"message": "hello", "sessionId": "x"}'),
            ("/chat", b'{"message": "hello"}'),
            ("/cancel", b'{"sessionId": "x"}'),
            ("/tool-confirmation", b'{"callId": "x", "outcome": "cancel"}'),
            ("/auth/config", b'{"authType": "gemini-api-key"}'),
            ("/auth/google-login", b"{}"),
            ("/auth/google-login", b'{"code": "x"}'),
        ):
            with self.subTest(path=path, body=body[:40]):
                message = self.ask("POST", path, body, {"Accept-Language": "zh"})["message"]
                self.assertRegex(message, "[\u4e00-\u9fff]")
                # Names and words of programs may stand there, and no two English words.
                self.assertNotRegex(message, "[a-z]{2,} [a-z]{2,}")


class Talk(ApiTest):
    """What can be refused without an agent."""

    def setUp(self) -> None:
        self.ask("POST", "/auth/clear")

    def configure(self) -> Reply:
        key = {"authType": "gemini-api-key", "apiKey": "the-key"}
        return self.ask("POST", "/auth/config", key)

    def test_without_credentials_nobody_talks(self) -> None:
        for method, path, body in (
            ("POST", "/chat", {"message": "hello"}),
            ("POST", "/chat", {"message": "hello", "stream": True}),
            ("POST", "/sessions", {}),
            ("GET", "/models", None),
            ("POST", "/model", {"model": "x"}),
        ):
            self.refused(self.ask(method, path, body), 401, "AUTH_NOT_SET")

    def test_a_cli_that_cannot_be_started_is_told(self) -> None:
        self.configure()
        reply = self.ask("POST", "/chat", {"message": "hello", "stream": True})
        self.refused(reply, 500, "CLIENT_NOT_INITIALIZED")

    def test_what_the_credentials_lack_is_told(self) -> None:
        for body in (
            {"authType": "gemini-api-key"},
            {"authType": "gemini-api-key", "apiKey": "  "},
            {"authType": "gemini-api-key", "apiKey": "a\nb"},
            {"authType": "vertex-ai"},
            {"authType": "vertex-ai", "googleCloudProject": "p"},
        ):
            self.refused(self.ask("POST", "/auth/config", body), 400, "VALIDATION_ERROR")
        self.assertIsNone(self.ask("GET", "/auth/status")["data"]["authType"])

    def test_only_at_the_editor_is_an_agent_given_the_own_login_of_its_user(self) -> None:
        server = self.another_server(others=("claude", "opencode", "codex"))
        told = self.ask("GET", "/agents", server=server)["agents"]
        self.assertNotIn("own-login", [kind for schemes in told for kind in schemes["authTypes"]])
        for id in ("claude", "opencode", "codex", "gemini"):
            body = {"authType": "own-login", "agent": id}
            reply = self.ask("POST", "/auth/config", body, server=server)
            self.refused(reply, 400, "VALIDATION_ERROR")
            self.assertIn("Only the user of this computer", reply["message"])

    def test_what_is_known_of_the_login_is_told(self) -> None:
        self.assertEqual(self.configure()["message"], "The credentials are set.")
        data = self.ask("GET", "/auth/status")["data"]
        self.assertEqual(
            data,
            {"isAuthenticated": True, "authType": "gemini-api-key", "hasApiKey": True,
             "hasGoogleCloudConfig": False, "account": None, "verified": False},
        )  # fmt: skip
        vertex = {"authType": "vertex-ai", "googleCloudProject": "p", "googleCloudLocation": "l"}
        self.ask("POST", "/auth/config", vertex)
        self.assertTrue(self.ask("GET", "/auth/status")["data"]["hasGoogleCloudConfig"])

    def test_logging_out_and_clearing_work_twice(self) -> None:
        self.configure()
        for path in ("/auth/clear", "/auth/clear", "/auth/logout", "/auth/logout"):
            self.assertEqual(self.ask("POST", path).status, 200)
            self.assertFalse(self.ask("GET", "/auth/status")["data"]["isAuthenticated"])

    def test_credentials_survive_a_restart_and_their_end_does_too(self) -> None:
        folder = os.path.join(self.root, "kept")
        first = self.another_server(folder)
        key = {"authType": "gemini-api-key", "apiKey": "the-key"}
        self.ask("POST", "/auth/config", key, server=first)
        self.on_loop(first.stop())
        second = self.another_server(folder)
        kept = self.ask("GET", "/auth/status", server=second)["data"]
        self.assertEqual((kept["isAuthenticated"], kept["hasApiKey"]), (True, True))
        self.ask("POST", "/auth/logout", server=second)
        self.on_loop(second.stop())
        third = self.another_server(folder)
        self.assertIsNone(self.ask("GET", "/auth/status", server=third)["data"]["authType"])

    def test_a_login_needs_its_kind_and_a_beginning(self) -> None:
        self.refused(self.ask("POST", "/auth/google-login", {}), 400, "VALIDATION_ERROR")
        self.ask("POST", "/auth/config", {"authType": "oauth-personal"})
        reply = self.ask("POST", "/auth/google-login", {"code": "4/x"})
        self.refused(reply, 400, "VALIDATION_ERROR")
        self.refused(self.ask("POST", "/chat", {"message": "x"}), 401, "AUTH_REQUIRED")

    def test_what_nobody_began_is_not_found(self) -> None:
        self.configure()
        call = {"callId": "x", "outcome": "proceed_once"}
        self.refused(self.ask("POST", "/tool-confirmation", call), 404, "TOOL_CALL_NOT_FOUND")
        self.refused(self.ask("POST", "/cancel", {"sessionId": "x"}), 404, "SESSION_NOT_FOUND")
        stop = self.ask("POST", "/sessions/x/subagents/stop", {"callId": "y"})
        self.refused(stop, 404, "TOOL_CALL_NOT_FOUND")
        self.refused(self.ask("GET", "/models?sessionId=x"), 404, "SESSION_NOT_FOUND")
        message = {"message": "hello", "sessionId": "x"}
        self.refused(self.ask("POST", "/chat", message), 404, "SESSION_NOT_FOUND")
        self.refused(self.ask("GET", "/chat/x/events"), 404, "TURN_NOT_FOUND")
        for id in ("x", "x.1", "x.-1", "", ".", "x.99999999999999999999", "x.\u0661"):
            headers = {"Last-Event-ID": id} if id.isascii() else {}
            reply = self.ask("GET", "/chat/x/events", headers=headers)
            self.refused(reply, 404, "TURN_NOT_FOUND")
        reply = self.ask("POST", "/chat", {"message": "x"}, {"Last-Event-ID": "x.1"})
        self.refused(reply, 404, "TURN_NOT_FOUND")

    def test_a_refusal_tells_of_what_there_is_too_much_and_how_much_may_be(self) -> None:
        for ask, sentence in (
            (("GET", "/sessions/x/messages?limit=1000"), "to be between 1 and 100."),
            (("GET", "/sessions/x/messages?limit=0"), "to be between 1 and 100."),
            (("GET", "/sessions/x/messages?limit=many"), "to be of type integer."),
            (("GET", "/sessions/x/messages?limit=" + "9" * 5000), "to be of type integer."),
            (("PATCH", "/sessions/x", {"title": "x" * 5000}), "characters in the field title."),
            (("POST", "/chat", {"message": "x", "filePaths": ["x"] * 101}), "at most 100 items"),
        ):
            with self.subTest(sentence):
                reply = self.ask(*ask)
                self.assertEqual((reply.status, reply["code"]), (400, "VALIDATION_ERROR"))
                self.assertIn(sentence, reply["message"])

    def test_nothing_to_cancel_is_no_failure(self) -> None:
        reply = self.ask("POST", "/cancel")
        self.assertEqual((reply.status, reply["cancelled"]), (200, 0))
        self.assertEqual(self.ask("GET", "/tool-confirmations")["confirmations"], [])
        self.assertEqual(self.ask("GET", "/sessions")["sessions"], [])

    def test_messages_that_cannot_be_are_refused(self) -> None:
        self.configure()
        for body, status, code in (
            ({"message": " \n\t"}, 400, "VALIDATION_ERROR"),
            ({"message": "/extensions install x"}, 400, "VALIDATION_ERROR"),
            ({"message": "  $init"}, 400, "VALIDATION_ERROR"),
            ({"message": " /INIT"}, 400, "VALIDATION_ERROR"),
            ({"message": "/memory refresh"}, 400, "VALIDATION_ERROR"),
            ({"message": "x", "workspacePath": "/"}, 403, "PATH_REFUSED"),
            ({"message": "x", "workspacePath": "nowhere"}, 404, "FILE_NOT_FOUND"),
            ({"message": "x", "workspacePath": self.write("a", "")}, 400, "VALIDATION_ERROR"),
            ({"message": "x", "filePaths": ["nowhere"]}, 404, "FILE_NOT_FOUND"),
            ({"message": "x", "filePaths": ["/etc/passwd"]}, 403, "PATH_REFUSED"),
            ({"message": "x", "filePaths": ["../x"]}, 403, "PATH_REFUSED"),
        ):
            for streams in (True, False):
                with self.subTest(f"{body} {streams}"):
                    reply = self.ask("POST", "/chat", {**body, "stream": streams})
                    self.refused(reply, status, code)

    def test_the_status_starts_nothing(self) -> None:
        reply = self.ask("GET", "/status", headers={"Authorization": ""})
        self.assertEqual((reply.status, reply["status"]), (200, "ok"))
        self.assertEqual(reply["cli"], {"version": None, "running": False, "pid": None})


class Description(ApiTest):
    def test_it_is_served_and_is_the_one_that_answers_are_held_against(self) -> None:
        reply = self.ask("GET", "/openapi.json")
        self.assertEqual(reply.headers["Content-Type"].partition(";")[0], "application/json")
        self.assertEqual(reply.body, json.loads(json.dumps(DOCUMENT)))

    def test_it_has_every_route_and_no_other(self) -> None:
        told = {
            (method.upper(), path)
            for path, operations in DOCUMENT["paths"].items()
            for method in operations
        }
        self.assertEqual(told, {(route.method, route.path) for route in routes.API})

    def test_the_specifications_routes_are_all_there(self) -> None:
        wanted = {
            "GET /status", "POST /auth/config", "POST /auth/google-login", "GET /auth/status",
            "POST /auth/logout", "POST /auth/clear", "POST /chat", "POST /tool-confirmation",
            "GET /list-directory", "POST /read-file", "POST /write-file", "POST /execute-command",
        }  # fmt: skip
        self.assertLessEqual(wanted, {f"{route.method} {route.path}" for route in routes.API})

    def test_its_names_are_unique_and_its_references_lead_somewhere(self) -> None:
        names = [
            operation["operationId"]
            for operations in DOCUMENT["paths"].values()
            for operation in operations.values()
        ]
        self.assertEqual(len(names), len(set(names)))
        found = re.findall(r'"#/components/schemas/(\w+)"', json.dumps(DOCUMENT))
        self.assertLessEqual(set(found), set(DOCUMENT["components"]["schemas"]))

    def test_its_schemas_are_schemas(self) -> None:
        for schema in DOCUMENT["components"]["schemas"].values():
            jsonschema.Draft202012Validator.check_schema(schema)
        for route in routes.API:
            jsonschema.Draft202012Validator.check_schema(route.form.schema)
            jsonschema.Draft7Validator.check_schema(route.form.schema)


class Texts(unittest.TestCase):
    def test_every_refusal_has_its_sentence_and_its_status(self) -> None:
        for code, (status, title) in refusal.KINDS.items():
            with self.subTest(code):
                self.assertTrue(400 <= status < 600 and title)
                self.assertTrue(code in TEXTS or code in ("FORBIDDEN",))

    def test_both_languages_fill_in_the_same_values(self) -> None:
        for key, (chinese, english) in TEXTS.items():
            with self.subTest(key):
                there, here = (set(re.findall(r"\{(\w+)\}", text)) for text in (chinese, english))
                if key not in ("UNAUTHORIZED",):
                    self.assertLessEqual(there - {"reason"}, here | {"reason"})
                    self.assertLessEqual(here, there)
                self.assertNotRegex(english, "[\u4e00-\u9fff]")
                self.assertRegex(chinese, "[\u4e00-\u9fff]")

    def test_every_text_is_used(self) -> None:
        home = os.path.dirname(routes.__file__)
        code = ""
        for folder, _folders, names in os.walk(home):
            for name in names:
                if name.endswith(".py") and name != "answer_texts.py":
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        code += file.read()
        for key in TEXTS:
            self.assertTrue(f'"{key}"' in code or key in refusal.KINDS, key)

    def test_the_language_is_the_one_that_is_preferred(self) -> None:
        for accepted, language in (
            ("en-US,en;q=0.9,zh;q=0.8", "en"),
            ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
            ("en;q=0.1, zh;q=0.2", "zh"),
            ("EN", "en"),
            ("en;q=0", "zh"),
            ("fr, *", "zh"),
            ("", "zh"),
        ):
            self.assertEqual(language_of(accepted), language, accepted)
        self.assertEqual(answer_text("logged_out"), "登出成功")
