"""The routes of the extension: nobody is answered without a proof, and each answer has one."""

from __future__ import annotations

import contextlib
import os
import unittest
from typing import Any, AsyncIterator
from unittest import mock

from GeminiCompanion.companion.ide import transport
from GeminiCompanion.companion.ide.clis import CLIS, GEMINI_CLI, QWEN_CODE, Cli
from GeminiCompanion.companion.ide.context import ContextStore
from GeminiCompanion.companion.ide.editor import CodeKnowledge
from GeminiCompanion.companion.ide.editor_tools import EditorTools
from GeminiCompanion.companion.ide.hooks.hook_answers import HookAnswer
from GeminiCompanion.companion.ide.hooks.hook_desk import HookDesk
from GeminiCompanion.companion.ide.sessions import Sessions
from GeminiCompanion.companion.ide.transport import Endpoint

from ..extension_client import PATH, ExtensionAnswer, ExtensionClient, digest
from ..support import Background, Client

TOKEN = "t0ken-of-the-test"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


def told(**more: Any) -> dict[str, Any]:
    said = {"hook_event_name": "BeforeTool", "session_id": "s", "cwd": "/w", **more}
    return {"pid": os.getpid(), "version": "1", "input": said}


class Routes(unittest.TestCase):
    """`heard` are the CLIs of the hooks that reached the desk."""

    def setUp(self) -> None:
        self.heard_of: list[Cli] = []
        self.background = Background(self.listening)
        self.addCleanup(self.background.stop)
        self.port = self.background.start()

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[int]:
        sessions = Sessions(mock.Mock())
        self.hooks = HookDesk(sessions, lambda: self.port)
        self.hooks.listeners.append(self)
        tools = EditorTools(1, CodeKnowledge(), ContextStore())
        endpoint = Endpoint(TOKEN, sessions, mock.Mock(), self.hooks, tools, mock.Mock())
        self.key = endpoint.key
        async with endpoint.listen_on() as port:
            yield port

    async def answer_hook(self, event: Any, session: Any) -> HookAnswer:
        self.heard_of.append(event.cli)
        return HookAnswer(asks=True, message="Look.")

    def client(self, key: str = "", **more: Any) -> ExtensionClient:
        client = ExtensionClient(self.port, key or self.key, **more)
        self.addCleanup(client.connection.close)
        return client

    def assert_refused(self, answer: ExtensionAnswer, status: int) -> None:
        self.assertEqual((answer.status, self.heard_of), (status, []))

    def test_a_hook_is_answered_to_who_proves_itself_and_the_answer_proves_the_window(self) -> None:
        for cli in (GEMINI_CLI, QWEN_CODE):
            answer = self.client(cli_id=cli.id).post("/hooks", told(hook_event_name="SessionStart"))
            self.assertEqual((answer.status, answer.is_signed), (200, True))
        self.assertEqual(self.client().post("/hooks", told()).json()["decision"], "ask")
        self.assertEqual(self.heard_of[:2], [GEMINI_CLI, QWEN_CODE])

    def test_a_message_for_the_tool_server_is_answered_in_the_same_way(self) -> None:
        answer = self.client().post("/tools", PING)
        self.assertEqual((answer.status, answer.is_signed), (200, True))
        self.assertEqual(answer.json(), {"jsonrpc": "2.0", "id": 1, "result": {}})
        notification = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        self.assertEqual(self.client().post("/tools", notification)[:2], (200, b""))

    def test_what_is_wrong_is_said_with_a_proof_as_well(self) -> None:
        rows: tuple[tuple[str, Any, int], ...] = (
            ("/hooks", {"input": {}}, 400),
            ("/hooks", {**told(), "only_connected": True}, 421),
            ("/hooks", b"{", 400),
            ("/tools", [PING], 400),
        )
        for route, value, status in rows:
            answer = self.client().post(route, value)
            self.assertEqual((answer.status, answer.is_signed), (status, True))
        self.assertEqual(self.client(cli_id="nobody").post("/hooks", told()).status, 400)

    def test_without_the_key_nobody_is_heard(self) -> None:
        body = b"{}"
        for key in ("0" * 64, TOKEN):
            client = self.client()
            theirs = client.greet()
            client.key = key
            told = client.authorization(theirs, f"{PATH}/hooks", digest(body))
            answer = client.send(f"{PATH}/hooks", body, {"Authorization": told}, theirs)
            self.assert_refused(answer, 401)
        for headers in ({}, {"Authorization": f"Bearer {TOKEN}"}, {"Authorization": "Extension"}):
            client = self.client()
            client.greet()
            self.assert_refused(client.send(f"{PATH}/hooks", body, headers, ""), 401)

    def test_the_proof_holds_for_one_request_of_one_connection_alone(self) -> None:
        body = b'{"a": 1}'
        client, other = self.client(), self.client()
        theirs = client.greet()
        told = client.authorization(theirs, f"{PATH}/tools", digest(body))
        headers = {"Authorization": told}
        # On another connection, with and without a handshake of its own.
        self.assert_refused(other.send(f"{PATH}/tools", body, headers, theirs), 401)
        other.greet()
        self.assert_refused(other.send(f"{PATH}/tools", body, headers, theirs), 401)
        self.assertEqual(client.send(f"{PATH}/tools", body, headers, theirs).status, 400)
        # The same once more.
        self.assert_refused(client.send(f"{PATH}/tools", body, headers, theirs), 401)

    def test_it_covers_port_route_and_body(self) -> None:
        body = b"{}"
        for port, path, signed in (
            (self.port + 1, "/hooks", body),
            (self.port, "/tools", body),
            (self.port, "/hooks", b"{ }"),
        ):
            client = self.client()
            theirs = client.greet()
            client.port = port
            told = client.authorization(theirs, PATH + path, digest(signed))
            answer = client.send(f"{PATH}/hooks", body, {"Authorization": told}, theirs)
            self.assert_refused(answer, 401)

    def test_a_large_body_is_compared_with_what_was_signed_too(self) -> None:
        big = told(tool_input={"content": "x" * 3_000_000})
        self.assertEqual(self.client().post("/hooks", big).status, 200)
        self.heard_of.clear()
        client = self.client()
        theirs = client.greet()
        sent = b'{"a": "%b"}' % (b"x" * 3_000_000)
        signed = client.authorization(theirs, f"{PATH}/hooks", digest(b"{}"))
        answer = client.send(f"{PATH}/hooks", sent, {"Authorization": signed}, theirs)
        self.assert_refused(answer, 401)
        self.assertTrue(answer.is_signed)

    def test_a_greeting_needs_a_nonce_and_tells_nothing_of_the_key(self) -> None:
        for nonce in ("", "0" * 31, "0" * 33, "g" * 32, "A" * 32, "\u0660" * 32):
            client = self.client()
            headers = {"Companion-Nonce": nonce.encode("utf-8")}
            client.connection.request("GET", PATH, headers=headers)
            response = client.connection.getresponse()
            self.assertEqual(response.status, 400)
            self.assertNotIn(self.key.encode(), response.read())

    def test_web_pages_and_other_names_are_refused_there_too(self) -> None:
        stranger = Client(self.port, TOKEN)
        nonce = {"Companion_Nonce": "0" * 32}
        for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
            answer = stranger.request("GET", None, PATH, **nonce, **headers)
            self.assertEqual(answer.status, 403)

    def test_other_paths_and_methods_are_refused(self) -> None:
        stranger = Client(self.port, TOKEN)
        self.assertEqual(stranger.request("GET", None, f"{PATH}/x").status, 404)
        self.assertEqual(stranger.request("GET", None, f"{PATH}/hooks").status, 405)
        self.assertEqual(stranger.request("POST", "{}", PATH).status, 405)

    def test_the_key_is_none_of_the_tokens_and_another_one_at_each_start(self) -> None:
        self.assertNotIn(self.key, [cli.token(TOKEN) for cli in CLIS])
        self.assertEqual(Client(self.port, self.key).request("GET").status, 401)
        before = self.key
        self.background.stop()
        self.background = Background(self.listening)
        self.port = self.background.start()
        self.addCleanup(self.background.stop)
        self.assertNotEqual(self.key, before)

    def test_an_extension_of_an_earlier_version_is_refused_and_known_from_then_on(self) -> None:
        answer = Client(self.port, TOKEN).request("POST", "{}", transport.HOOKS)
        self.assertEqual((answer.status, self.heard_of), (410, []))
        self.assertIn(b"install it again", answer.body)
        self.assertEqual(self.hooks.outdated, {GEMINI_CLI})
        self.client().post("/hooks", told())
        self.assertEqual(self.hooks.outdated, set())
