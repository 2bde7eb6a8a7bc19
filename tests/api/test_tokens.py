"""Named tokens and their scopes, and tickets for browsers."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import tempfile
import threading
import unittest
from contextlib import suppress
from datetime import datetime, timezone
from typing import Any
from unittest import mock

from GeminiCompanion.companion.agent.conversations.transcripts import Transcripts
from GeminiCompanion.companion.agent.failure import AUTH_NOT_SET, AgentError
from GeminiCompanion.companion.agent.processes.account import Account
from GeminiCompanion.companion.api import routes, state_folder
from GeminiCompanion.companion.api.contract import scopes
from GeminiCompanion.companion.api.operations import tickets, tokens
from GeminiCompanion.companion.api.server import Server
from GeminiCompanion.companion.base import file_lock
from GeminiCompanion.companion.base.file_lock import FileLock
from GeminiCompanion.companion.base.log import logger

from ..support import wait_for
from .support import PATIENCE, ApiTest, Reply

CONVERSATION = "00000000-0000-4000-8000-000000000001"


class TokenCase(ApiTest):
    def give(self, name: str, *granted: str, by: str = "", server: Server | None = None) -> str:
        """The token."""
        reply = self.ask_as(by, "POST", "/tokens", {"name": name, "scopes": granted}, server)
        self.assertEqual(reply.status, 200, reply)
        return str(reply["token"])

    def ask_as(
        self, token: str, method: str, path: str, body: Any = None, server: Server | None = None
    ) -> Reply:
        """With this token; with the full one, if it is empty."""
        token = token or (server or self.server).token
        headers = {"Authorization": f"Bearer {token}"}
        return self.ask(method, path, body, headers, server)

    def tearDown(self) -> None:
        for each in self.ask("GET", "/tokens")["tokens"]:
            self.ask("DELETE", f"/tokens/{each['name']}")

    def follow(self, token: str, target: str = "/events") -> http.client.HTTPResponse:
        """A stream that is open."""
        connection = self.open()
        self.addCleanup(connection.close)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        connection.request("GET", target, headers=headers)
        return connection.getresponse()

    def streams(self) -> int:
        """How many streams are open."""
        return self.server._listeners.streams

    def until_streams(self, count: int) -> None:
        wait_for(lambda: self.streams() == count)


class Scopes(TokenCase):
    def test_a_token_opens_the_routes_of_its_scopes_and_no_other(self) -> None:
        known = {scopes.OPEN, scopes.ANY, *scopes.GRANTED}
        for scope in scopes.GRANTED:
            token = self.give(scope, scope)
            for route in routes.API:
                self.assertIn(route.scope, known)
                path = re.sub(r"\{\w+\}", "x", route.path)
                with self.subTest(f"{scope}: {route.method} {path}"):
                    if route.streams and route.method == "GET" and route.scope == scope:
                        continue
                    reply = self.ask_as(token, route.method, path)
                    error = reply.body if reply.data.startswith(b"{") else {}
                    error = error["error"] if route.is_openai else error
                    code = error.get("code", "").upper() if isinstance(error, dict) else ""
                    is_refused = code in ("SCOPE_MISSING", "READ_ONLY")
                    allowed = route.scope in (scope, scopes.ANY, scopes.OPEN)
                    self.assertEqual(is_refused, not allowed, reply)
                    self.assertEqual(reply.status == 403, is_refused, reply)

    def test_every_path_of_the_description_says_its_scope(self) -> None:
        document = self.ask("GET", "/openapi.json").body
        for route in routes.API:
            operation = document["paths"][route.path][route.method.lower()]
            if route.is_open:
                self.assertEqual(operation["security"], [])
            else:
                self.assertEqual(operation["x-scope"], route.scope)

    def test_fields_that_reach_further_need_the_scope_for_that(self) -> None:
        token = self.give("talker", "chat")
        servers = [{"name": "a", "command": "/bin/true"}]
        for method, path, body in (
            ("PATCH", "/sessions/x", {"mode": "yolo"}),
            ("POST", "/sessions", {"mcpServers": servers}),
            ("POST", "/sessions/x/options", {"id": "mode", "value": "yolo"}),
        ):
            self.refused(self.ask_as(token, method, path, body), 403, "SCOPE_MISSING")
        self.refused(
            self.ask_as(token, "PATCH", "/sessions/x", {"title": "a"}), 404, "SESSION_NOT_FOUND"
        )

    def test_nobody_gives_or_renews_what_they_may_not_do_themselves(self) -> None:
        admin = self.give("admin", "admin")
        self.give("writer", "files", "admin")
        wanted = {"name": "more", "scopes": ["files"]}
        self.refused(self.ask_as(admin, "POST", "/tokens", wanted), 403, "SCOPE_MISSING")
        renewed = self.ask_as(admin, "POST", "/tokens/writer/renew", {})
        self.refused(renewed, 403, "SCOPE_MISSING")
        self.give("less", "admin", by=admin)


class Commands(TokenCase):
    """Which commands of agents a token may send."""

    server: Server

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        folder = os.path.join(tempfile.mkdtemp(dir=cls.root), "state")
        agents = os.path.join(folder, "agent")
        os.makedirs(agents, mode=0o700)
        os.chmod(folder, 0o700)
        transcripts = Transcripts(os.path.join(agents, "conversations"))
        transcript = transcripts.file_of(CONVERSATION)
        transcript.begin_file(cls.workspace, datetime.now(timezone.utc))
        transcript.add_change(session="a-session", owned="yes", agent="codex")
        transcripts.write_all()
        cls.server = cls.another_server(folder, others=["codex", "claude", "opencode"])

    def send(self, token: str, message: str, **more: Any) -> Reply:
        body = {"message": message, "workspacePath": self.workspace, **more}
        return self.ask_as(token, "POST", "/chat", body)

    def test_a_token_that_only_chats_reaches_no_login_and_no_setting_by_a_command(self) -> None:
        token = self.give("talker", "read", "chat", "decide", "files")
        for agent, message, named in (
            ("codex", "/logout", "/logout is a command of Codex"),
            ("codex", "\u200b \n/ LogOut", "/LogOut is a command of Codex"),
            ("claude", "/config permissionMode=dontAsk", "/config permissionMode=dontAsk is"),
            ("opencode", "/init", "/init is a command of opencode"),
        ):
            reply = self.send(token, message, agent=agent, newSession=True)
            self.refused(reply, 403, "SCOPE_MISSING")
            self.assertIn(named, reply["message"])
            self.assertIn("the scope admin", reply["message"])
        self.refused(self.send(token, "/logout", sessionId=CONVERSATION), 403, "SCOPE_MISSING")

    def test_a_message_that_waits_is_no_way_around_it(self) -> None:
        token, queue = self.give("talker", "chat"), f"/sessions/{CONVERSATION}/queue"
        body = {"message": "/logout"}
        self.refused(self.ask_as(token, "POST", queue, body), 403, "SCOPE_MISSING")
        added = self.ask_as(token, "POST", queue, {"message": "hello"})
        self.assertEqual(added.status, 200, added)
        place = f"{queue}/{added['queueId']}"
        self.refused(self.ask_as(token, "PATCH", place, body), 403, "SCOPE_MISSING")

    def test_a_message_that_waits_needs_a_login_that_is_there_for_clients(self) -> None:
        queue, no = f"/sessions/{CONVERSATION}/queue", AgentError(AUTH_NOT_SET, "Not for you.")
        added = self.ask("POST", queue, {"message": "hello"}, server=self.server)
        place = f"{queue}/{added['queueId']}"
        with mock.patch.object(Account, "check_for_clients", side_effect=no):
            for method, path, body in (
                ("POST", queue, {"message": "hello"}),
                ("PATCH", place, {"message": "hello"}),
                ("POST", f"{place}/now", {}),
            ):
                reply = self.ask(method, path, body, server=self.server)
                self.refused(reply, 401, "AUTH_NOT_SET")
            taken = self.ask("DELETE", place, {}, server=self.server)
        self.assertEqual(taken.status, 200, taken)

    def test_harmless_ones_and_those_of_a_wider_token_go_to_the_agent(self) -> None:
        for granted, message in ((("chat",), "/status"), (("chat", "admin"), "/logout")):
            token = self.give("-".join(granted), *granted)
            reply = self.send(token, message, agent="codex", newSession=True)
            # There is none here.
            self.assertIn(reply["code"], ("AUTH_NOT_SET", "CLIENT_NOT_INITIALIZED"), reply)


class Keeping(TokenCase):
    def test_tokens_are_listed_without_themselves_and_kept_as_hashes(self) -> None:
        token = self.give("phone", "decide", "read")
        told = self.ask("GET", "/tokens")
        self.assertEqual(
            [(each["name"], each["scopes"]) for each in told["tokens"]],
            [("phone", ["read", "decide"])],
        )
        folder = os.path.dirname(self.server.token_file)
        kept = b""
        for name in os.listdir(folder):
            if os.path.isfile(os.path.join(folder, name)):
                with open(os.path.join(folder, name), "rb") as file:
                    kept += file.read()
        self.assertIn(b"phone", kept)
        for secret in (token, token[:20]):
            self.assertNotIn(secret, told.data.decode())
            self.assertNotIn(secret.encode(), kept)
        if os.name == "posix":
            path = os.path.join(folder, state_folder.NAMED_FILE)
            self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)

    def restarted(self, server: Server, **settings: Any) -> Server:
        folder = os.path.dirname(server.token_file)
        self.on_loop(server.stop())
        return self.another_server(folder, **settings)

    def test_they_outlast_a_restart_but_not_one_with_new_tokens(self) -> None:
        server = self.another_server()
        token = self.give("phone", "read", server=server)
        server = self.restarted(server)
        self.assertEqual(self.ask_as(token, "GET", "/sessions", server=server).status, 200)
        server = self.restarted(server, new_tokens=True)
        self.refused(self.ask_as(token, "GET", "/sessions", server=server), 401, "UNAUTHORIZED")
        self.assertEqual(self.ask("GET", "/tokens", server=server)["tokens"], [])

    def test_a_damaged_file_lets_nobody_in_and_is_told(self) -> None:
        server = self.another_server()
        token = self.give("phone", "read", server=server)
        path = os.path.join(os.path.dirname(server.token_file), state_folder.NAMED_FILE)
        with open(path, encoding="utf-8") as file:
            good = json.load(file)
        for bad in ("{", "[1]", json.dumps([{**good[0], "scopes": ["all"]}]), "[[]]"):
            with open(path, "w", encoding="utf-8") as file:
                file.write(bad)
            with self.assertLogs(logger, "ERROR"):
                server = self.restarted(server)
            reply = self.ask_as(token, "GET", "/sessions", server=server)
            self.refused(reply, 401, "UNAUTHORIZED")

    def test_a_name_is_given_once_and_has_only_plain_letters(self) -> None:
        self.give("phone", "read")
        for name, status, code in (
            ("phone", 409, "TOKEN_EXISTS"), ("full", 409, "TOKEN_EXISTS"),
            ("read-only", 409, "TOKEN_EXISTS"), ("a b", 400, "VALIDATION_ERROR"),
            ("", 400, "VALIDATION_ERROR"), ("../x", 400, "VALIDATION_ERROR"),
        ):  # fmt: skip
            reply = self.ask("POST", "/tokens", {"name": name, "scopes": ["read"]})
            self.refused(reply, status, code)
        for scopes_ in ([], ["all"], ["open"], "read"):
            reply = self.ask("POST", "/tokens", {"name": "b", "scopes": scopes_})
            self.refused(reply, 400, "VALIDATION_ERROR")

    def test_what_the_disk_does_not_take_is_not_given(self) -> None:
        target = "GeminiCompanion.companion.base.private_files.write_file"
        with mock.patch(target, side_effect=OSError(28, "No space left")):
            reply = self.ask("POST", "/tokens", {"name": "phone", "scopes": ["read"]})
        self.refused(reply, 500, "FILE_ERROR")
        self.assertEqual(self.ask("GET", "/tokens")["tokens"], [])


class Ending(TokenCase):
    def test_a_token_that_is_withdrawn_or_renewed_works_no_more_and_its_streams_end(self) -> None:
        for method, path in (("DELETE", "/tokens/phone"), ("POST", "/tokens/phone/renew")):
            with self.subTest(method):
                token, other = self.give("phone", "read"), self.give("other", "read")
                streams = [self.follow(token), self.follow(token)]
                before = self.streams()
                self.follow(other)
                self.until_streams(before + 1)
                self.assertEqual(
                    self.ask(method, path, {} if method == "POST" else None).status, 200
                )
                for each in streams:
                    with self.assertRaises((http.client.IncompleteRead, ConnectionError)):
                        each.read()
                self.until_streams(before - 1)
                self.refused(self.ask_as(token, "GET", "/sessions"), 401, "UNAUTHORIZED")
                self.assertEqual(self.ask_as(other, "GET", "/sessions").status, 200)
                self.tearDown()

    def test_a_request_ends_with_its_token_also_while_its_body_is_on_the_way(self) -> None:
        token, body = self.give("phone", "read"), b'{"path": "/events"}'
        connection = self.connect()
        head = (
            f"POST /tickets HTTP/1.1\r\nHost: 127.0.0.1:{self.server.port}\r\n"
            f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        connection.sendall(head.encode("ascii") + body[:5])
        wait_for(lambda: len(self.server._named._open) == 1)
        self.ask("DELETE", "/tokens/phone")
        with suppress(ConnectionError):
            connection.sendall(body[5:])
            self.assertEqual(connection.recv(100), b"")

    def test_a_renewed_token_may_do_what_the_old_one_did(self) -> None:
        self.give("phone", "read", "chat")
        reply = self.ask("POST", "/tokens/phone/renew", {})
        self.assertEqual((reply["name"], reply["scopes"]), ("phone", ["read", "chat"]))
        self.assertEqual(self.ask_as(reply["token"], "GET", "/sessions").status, 200)

    def test_a_token_can_withdraw_itself_and_gets_the_answer(self) -> None:
        token = self.give("admin", "admin")
        self.assertEqual(self.ask_as(token, "DELETE", "/tokens/admin").status, 200)
        self.refused(self.ask_as(token, "GET", "/tokens"), 401, "UNAUTHORIZED")

    def test_one_that_is_not_there_is_not_found(self) -> None:
        self.refused(self.ask("DELETE", "/tokens/nobody"), 404, "TOKEN_NOT_FOUND")
        self.refused(self.ask("POST", "/tokens/full/renew", {}), 404, "TOKEN_NOT_FOUND")


class Tickets(TokenCase):
    def ticket(self, path: str, token: str = "") -> str:
        """A path with a ticket."""
        reply = self.ask_as(token, "POST", "/tickets", {"path": path})
        self.assertEqual(reply.status, 200, reply)
        return str(reply["url"])

    def ask_without_token(self, url: str, method: str = "GET") -> Reply:
        return self.ask(method, url, headers={"Authorization": ""})

    def test_a_ticket_opens_one_stream_once_without_a_token(self) -> None:
        url = self.ticket("/events")
        self.assertEqual(self.follow("", url).status, 200)
        self.refused(self.ask_without_token(url), 401, "UNAUTHORIZED")

    def test_it_works_for_its_path_and_for_get_alone(self) -> None:
        for path, method in (("/sessions", "GET"), ("/events/", "GET"), ("/chat", "POST")):
            url = self.ticket("/events")
            other = path + url[len("/events") :]
            self.refused(self.ask_without_token(other, method), 401, "UNAUTHORIZED")
        url = self.ticket("/cancel")
        self.refused(self.ask_without_token(url, "POST"), 401, "UNAUTHORIZED")

    def test_its_path_may_be_written_with_percent_signs_but_has_no_query(self) -> None:
        url = self.ticket("/sessions/a%20b")
        self.refused(self.ask_without_token(url), 404, "SESSION_NOT_FOUND")
        for path in ("/events?lastEventId=1", "/events#a"):
            reply = self.ask("POST", "/tickets", {"path": path})
            self.refused(reply, 400, "VALIDATION_ERROR")

    def test_it_is_forgotten_after_its_time(self) -> None:
        with mock.patch.object(tickets, "LIFETIME", 0.0):
            url = self.ticket("/sessions")
        self.refused(self.ask_without_token(url), 401, "UNAUTHORIZED")

    def test_it_opens_no_more_than_its_token_does_and_ends_with_it(self) -> None:
        token = self.give("phone", "read")
        url = self.ticket("/list-directory", token)
        self.refused(self.ask_without_token(url), 403, "READ_ONLY")
        url = self.ticket("/sessions", token)
        self.ask("POST", "/tokens/phone/renew", {})
        self.refused(self.ask_without_token(url), 401, "UNAUTHORIZED")
        url = self.ticket("/events")
        stream = self.follow("", url)
        self.assertEqual(stream.status, 200)

    def test_a_stream_by_ticket_ends_with_the_token_that_got_it(self) -> None:
        token = self.give("phone", "read")
        stream = self.follow("", self.ticket("/events", token))
        self.ask("DELETE", "/tokens/phone")
        with self.assertRaises((http.client.IncompleteRead, ConnectionError)):
            stream.read()

    def test_a_token_in_the_query_opens_nothing(self) -> None:
        for name in ("ticket", "token", "access_token"):
            reply = self.ask_without_token(f"/sessions?{name}={self.server.token}")
            self.refused(reply, 401, "UNAUTHORIZED")

    def test_each_has_only_so_many_and_takes_nobody_elses_away(self) -> None:
        many, (one, other) = tickets.Tickets(), map(tokens.Caller, ("one", "other"))
        others, _ends = many.give_ticket("/a", other)
        with mock.patch.object(tickets, "MAX_TICKETS", 10):
            given = [many.give_ticket("/a", one)[0] for _ in range(15)]
        self.assertEqual(len(many._out), 11)
        self.assertEqual(len(set(given)), len(given))
        callers = [many.redeem_ticket(each, "/a") for each in (others, given[0], given[-1])]
        self.assertEqual(callers, [other, tickets.NOBODY, one])

    def test_those_whose_time_is_over_take_no_memory(self) -> None:
        many = tickets.Tickets()
        with mock.patch.object(tickets, "LIFETIME", 0.0):
            for number in range(20):
                many.give_ticket("/a", tokens.Caller(str(number)))
        self.assertEqual(len(many._out), 1)


class OfServersWithOneFolder(TokenCase):
    def test_what_one_gives_opens_the_other_until_either_withdraws_it(self) -> None:
        now = mock.patch.object(tokens, "MOMENT", 0)
        now.start()
        self.addCleanup(now.stop)
        other = self.another_server(os.path.dirname(self.server.token_file))
        both = (self.server, other)
        for giver, taker in (both, both[::-1]):
            token = self.give("shared", "read", server=giver)
            self.assertEqual(self.ask_as(token, "GET", "/sessions", server=taker).status, 200)
            self.assertEqual(self.ask("DELETE", "/tokens/shared", server=taker).status, 200)
            self.assertEqual(self.ask_as(token, "GET", "/sessions", server=giver).status, 401)

    def test_what_one_gives_is_listed_at_the_other_which_knows_of_none(self) -> None:
        other = self.another_server(os.path.dirname(self.server.token_file))
        self.give("shared", "read", server=other)
        with mock.patch.object(tokens, "MOMENT", 0):
            listed = self.ask("GET", "/tokens")["tokens"]
        self.assertEqual([token["name"] for token in listed], ["shared"])

    def test_what_one_gives_is_withdrawn_at_the_other_which_knows_of_none(self) -> None:
        other = self.another_server(os.path.dirname(self.server.token_file))
        self.give("shared", "read", server=other)
        with mock.patch.object(tokens, "MOMENT", 0):
            self.assertEqual(self.ask("DELETE", "/tokens/shared").status, 200)

    def test_a_stream_ends_that_another_server_has_withdrawn_the_token_of(self) -> None:
        now = mock.patch.object(tokens, "MOMENT", 0)
        now.start()
        self.addCleanup(now.stop)
        other = self.another_server(os.path.dirname(self.server.token_file))
        response = self.follow(self.give("shared", "read", server=other))
        self.assertEqual(response.status, 200)
        self.ask("DELETE", "/tokens/shared", server=other)
        self.ask("GET", "/sessions")
        self.until_streams(0)


class OfOneFile(unittest.IsolatedAsyncioTestCase):
    """Two servers' tokens, of which the second looks for changes each time it is asked to."""

    async def asyncSetUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "named-tokens.json")
        self.first, self.second = self.loaded(), self.loaded()
        self.giver = tokens.Caller("giver", "giver", frozenset(scopes.GRANTED))
        now = mock.patch.object(tokens, "MOMENT", 0)
        now.start()
        self.addCleanup(now.stop)
        _made, self.token = await self.first.give_token("shared", ["read"], self.giver)
        await self.second.refresh()

    def loaded(self) -> tokens.Tokens:
        made = tokens.Tokens(self.path)
        made.load()
        return made

    async def test_no_request_waits_for_a_disk_that_does_not_answer(self) -> None:
        answers, asked = threading.Event(), []
        self.addCleanup(answers.set)
        stat = tokens.Tokens._file_state

        def slow(file: tokens.Tokens) -> Any:
            asked.append(file)
            answers.wait(PATIENCE)
            return stat(file)

        await self.first.withdraw_token("shared", lambda: None)
        with mock.patch.object(tokens, "LOOKING", 0.01):
            with mock.patch.object(tokens.Tokens, "_file_state", slow):
                for _ in range(3):
                    await asyncio.wait_for(self.second.refresh(), PATIENCE / 2)
                self.assertEqual(len(asked), 1)
                self.assertNotEqual(self.second.holder_of(self.token), tokens.NOBODY)
                answers.set()
                assert self.second._looking is not None
                await self.second._looking
        self.assertEqual(self.second.holder_of(self.token), tokens.NOBODY)

    async def test_all_are_forgotten_only_once_nobody_writes_them(self) -> None:
        waits, lock = threading.Event(), FileLock(self.path + tokens.LOCK)
        self.assertTrue(lock.acquire())
        forgetting = threading.Thread(target=tokens.Tokens(self.path).load, args=(True,))
        with mock.patch.object(file_lock.time, "sleep", lambda _seconds: waits.set()):
            forgetting.start()
            self.assertTrue(waits.wait(PATIENCE))
            self.assertTrue(os.path.exists(self.path))
            lock.release()
            forgetting.join(PATIENCE)
        self.assertFalse(os.path.exists(self.path))

    async def test_one_that_another_server_has_renewed_is_withdrawn_by_its_name(self) -> None:
        ended: list[str] = []
        renewed, _token = await self.first.renew_token("shared", self.giver, lambda: None)
        with self.first.track_request(renewed.caller, lambda: ended.append("at the first")):
            await self.second.withdraw_token("shared", lambda: None)
            await self.first.refresh()
        self.assertEqual((list(self.loaded()), ended), ([], ["at the first"]))

    async def test_one_that_is_withdrawn_works_no_more_once_the_disk_can_be_read(self) -> None:
        await self.first.withdraw_token("shared", lambda: None)
        with mock.patch.object(tokens.Tokens, "_read_file", side_effect=OSError(5, "I/O error")):
            await self.second.refresh()
        self.assertNotEqual(self.second.holder_of(self.token), tokens.NOBODY)
        await self.second.refresh()
        self.assertEqual(self.second.holder_of(self.token), tokens.NOBODY)
