"""The server where it can be reached from elsewhere: by other names, encrypted, with a token that
only reads, so often and no more, and with a log of who did what."""

from __future__ import annotations

import contextlib
import http.client
import io
import ipaddress
import json
import os
import shutil
import socket
import ssl
import tempfile
import threading
import unittest
from datetime import datetime, timezone
from typing import Any
from unittest import mock

from GeminiCompanion.companion.agent import turn_events as events
from GeminiCompanion.companion.api import __main__ as program
from GeminiCompanion.companion.api import routes, state_folder
from GeminiCompanion.companion.api.contract import schemas
from GeminiCompanion.companion.api.contract.scopes import ANY, OPEN, READ
from GeminiCompanion.companion.api.operations import audit_log, callers
from GeminiCompanion.companion.api.server import Server
from GeminiCompanion.companion.api.serving import certificate
from GeminiCompanion.companion.api.serving.access import Access
from GeminiCompanion.companion.api.serving.certificate import BadCertificate, Certificate
from GeminiCompanion.companion.base import connection
from GeminiCompanion.companion.base.log import logger
from multidict import CIMultiDict

from ..support import wait_for
from .support import PATIENCE, ApiTest, Reply

CERTIFICATES = os.path.join(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "certificates"
)
FIRST, SECOND, LOCKED = (
    os.path.join(CERTIFICATES, name + ".pem") for name in ("first", "second", "locked")
)
# What a request has in place of each part of a path.
WHOEVER = "x"


class Named(ApiTest):
    names = ("gemini.test", "Tunnel.test:9000", "usual.test:443", "[2001:db8::1]")
    api = {"access": Access(names=names)}

    def ask_as(self, host: str, **more: str) -> Reply:
        return self.ask("GET", "/auth/status", headers={"Host": host, **more})

    def test_a_name_that_was_allowed_counts_with_the_own_port_and_with_the_usual_one(self) -> None:
        port = self.server.port
        for host in (
            f"gemini.test:{port}", "gemini.test", "GEMINI.test", "tunnel.test:9000",
            "usual.test:443", "usual.test", f"[2001:db8::1]:{port}", f"127.0.0.1:{port}",
        ):  # fmt: skip
            with self.subTest(host):
                self.assertEqual(self.ask_as(host).status, 200)

    def test_every_other_name_and_port_is_refused(self) -> None:
        port = self.server.port
        for host in (
            "gemini.test:1", f"evil.gemini.test:{port}", "tunnel.test", f"tunnel.test:{port}",
            "usual.test:80", "[2001:db8::2]", f"gemini.test.example.com:{port}",
        ):  # fmt: skip
            with self.subTest(host):
                self.refused(self.ask_as(host), 403, "FORBIDDEN")

    def test_the_page_under_such_a_name_may_talk_to_it_and_no_other(self) -> None:
        host = f"gemini.test:{self.server.port}"
        # A proxy may have spoken TLS with the browser.
        for origin in (f"http://{host}", f"https://{host}", "https://gemini.test"):
            reply = self.ask_as(host, Origin=origin)
            self.assertEqual(reply.status, 200)
            self.assertEqual(reply.headers["Access-Control-Allow-Origin"], origin)
        for origin in ("https://evil.test", "http://gemini.test:1", "http://tunnel.test"):
            self.refused(self.ask_as(host, Origin=origin), 403, "FORBIDDEN")

    def test_without_tls_of_its_own_it_binds_no_browser_to_it(self) -> None:
        self.assertNotIn("Strict-Transport-Security", self.ask_as("gemini.test").headers)


class Elsewhere(ApiTest):
    """As in a container."""

    api = {"access": Access("0.0.0.0")}

    def test_it_listens_at_the_address_that_was_named(self) -> None:
        acceptors = self.server._http._acceptors
        places = [each.getsockname()[0] for acceptor in acceptors for each in acceptor.sockets]
        self.assertEqual(places, ["0.0.0.0"])
        self.assertEqual(self.server.url, f"http://127.0.0.1:{self.server.port}")
        self.assertEqual(self.ask("GET", "/status").status, 200)

    def test_no_name_counts_that_was_not_allowed(self) -> None:
        for host in ("0.0.0.0", "example.com", "192.0.2.1"):
            headers = {"Host": f"{host}:{self.server.port}"}
            self.refused(self.ask("GET", "/status", headers=headers), 403, "FORBIDDEN")


class Encrypted(ApiTest):
    pem: str

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.pem = os.path.join(cls.root, "server.pem")
        shutil.copy(FIRST, cls.pem)
        cls.server = cls.another_server(access=Access(certificate=Certificate(cls.pem, cls.pem)))

    def setUp(self) -> None:
        self.trusted = FIRST
        always = mock.patch.object(certificate, "PAUSE", 0.0)
        always.start()
        self.addCleanup(always.stop)

    def open(self, server: Server | None = None) -> http.client.HTTPConnection:
        context = ssl.create_default_context(cafile=self.trusted)
        port = (server or self.server).port
        return http.client.HTTPSConnection("127.0.0.1", port, timeout=PATIENCE, context=context)

    def encrypted(self) -> ssl.SSLSocket:
        context = ssl.create_default_context(cafile=self.trusted)
        client = context.wrap_socket(self.connect(), server_hostname="localhost")
        self.addCleanup(client.close)
        return client

    def renew(self, data: bytes) -> None:
        """In one step, and with another time than before."""
        new = self.pem + ".new"
        with open(new, "wb") as file:
            file.write(data)
        os.replace(new, self.pem)

    def test_a_browser_asks_for_its_names_by_tls_alone_but_for_those_of_every_machine(self) -> None:
        names = ("gemini.test", "localhost:9000")
        access = Access(names=names, certificate=Certificate(self.pem, self.pem))
        server = self.another_server(access=access)

        def told(host: str) -> bool:
            reply = self.ask("GET", "/status", headers={"Host": host}, server=server)
            return "Strict-Transport-Security" in reply.headers

        for host, is_bound in (
            ("gemini.test", True),
            (f"GEMINI.test:{server.port}", True),
            ("localhost:9000", False),
            (f"localhost:{server.port}", False),
            (f"127.0.0.1:{server.port}", False),
            ("evil.test", False),
        ):
            with self.subTest(host):
                self.assertIs(told(host), is_bound)

    def test_requests_are_answered(self) -> None:
        self.assertEqual(self.server.url, f"https://127.0.0.1:{self.server.port}")
        self.assertEqual(self.ask("GET", "/sessions").status, 200)
        self.refused(
            self.ask("GET", "/sessions", headers={"Authorization": ""}), 401, "UNAUTHORIZED"
        )
        headers = {"Host": f"example.com:{self.server.port}"}
        self.refused(self.ask("GET", "/status", headers=headers), 403, "FORBIDDEN")

    def test_its_page_has_an_origin_with_https(self) -> None:
        port = self.server.port
        for origin, status in (
            (f"https://127.0.0.1:{port}", 200),
            (f"http://127.0.0.1:{port}", 403),
        ):
            self.assertEqual(self.ask("GET", "/status", headers={"Origin": origin}).status, status)

    def test_what_is_not_encrypted_gets_nothing(self) -> None:
        client = self.connect()
        client.sendall(
            f"GET /status HTTP/1.1\r\nHost: 127.0.0.1:{self.server.port}\r\n\r\n".encode()
        )
        told = b""
        with contextlib.suppress(ConnectionError):
            told = b"".join(iter(lambda: client.recv(1000), b""))
        self.assertNotIn(b"HTTP", told)

    def test_a_large_text_goes_in_and_out_whole(self) -> None:
        path, text = self.path("large"), "x" * schemas.MAX_FILE
        self.assertEqual(
            self.ask("POST", "/write-file", {"path": path, "content": text}).status, 200
        )
        self.assertEqual(self.ask("POST", "/read-file", {"path": path})["content"], text)

    def test_who_takes_nothing_of_an_answer_is_not_waited_for(self) -> None:
        body = json.dumps({"path": self.write("large", "x" * schemas.MAX_FILE)}).encode()
        raw = socket.socket()
        self.addCleanup(raw.close)
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.settimeout(PATIENCE)
        raw.connect(("127.0.0.1", self.server.port))
        context = ssl.create_default_context(cafile=FIRST)
        head = (
            f"POST /read-file HTTP/1.1\r\nHost: 127.0.0.1:{self.server.port}\r\n"
            f"Authorization: Bearer {self.server.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        with mock.patch.object(connection, "STALLED", 0.1):
            client = context.wrap_socket(raw, server_hostname="localhost")
            self.addCleanup(client.close)
            client.sendall(head.encode() + body)
            self.assertTrue(client.recv(100))
            wait_for(lambda: not self.server._http.connections)

    def test_strangers_are_limited_after_their_handshake_too(self) -> None:
        with mock.patch.object(self.server._http._unauthenticated, "limit", 2):
            first = self.encrypted()
            self.encrypted()
            self.encrypted()
            with contextlib.suppress(ConnectionError):
                self.assertEqual(first.recv(1), b"")

    def test_a_renewed_certificate_counts_from_the_next_connection_on(self) -> None:
        with open(FIRST, "rb") as one, open(SECOND, "rb") as other:
            old, new = one.read(), other.read()
        self.addCleanup(self.renew, old)
        held = self.open()
        self.addCleanup(held.close)
        headers = {"Authorization": f"Bearer {self.server.token}"}
        held.request("GET", "/sessions", None, headers)
        self.assertEqual(held.getresponse().read()[:1], b"{")
        with self.assertLogs(logger) as logs:
            self.renew(new)
            with self.assertRaises(ssl.SSLError):
                self.ask("GET", "/sessions")
            self.trusted = SECOND
            self.assertEqual(self.ask("GET", "/sessions").status, 200)
        self.assertEqual(len(logs.output), 1)
        held.request("GET", "/sessions", None, headers)
        self.assertEqual(held.getresponse().read()[:1], b"{")

    def test_many_handshakes_look_at_the_files_once(self) -> None:
        own = Certificate(self.pem, self.pem)
        self.server = self.another_server(access=Access(certificate=own))
        with mock.patch.object(certificate, "PAUSE", 3600.0):
            with mock.patch.object(own, "_file_stamp", wraps=own._file_stamp) as looks:
                for _ in range(3):
                    self.assertEqual(self.ask("GET", "/sessions").status, 200)
        self.assertEqual(looks.call_count, 1)

    def test_one_that_cannot_be_used_yet_changes_nothing(self) -> None:
        with open(FIRST, "rb") as file:
            good = file.read()
        self.addCleanup(self.renew, good)
        with open(LOCKED, "rb") as file:
            locked = file.read()
        for bad in (b"", good[:300], b"nonsense", locked):
            with self.subTest(bad[:10]), self.assertLogs(logger, "WARNING") as logs:
                self.renew(bad)
                for _ in range(2):
                    self.assertEqual(self.ask("GET", "/sessions").status, 200)
                self.assertEqual(len(logs.output), 1)
        os.unlink(self.pem)
        self.assertEqual(self.ask("GET", "/sessions").status, 200)

    def test_files_that_are_no_certificate_are_told_apart(self) -> None:
        missing = os.path.join(self.root, "missing.pem")
        with open(FIRST, encoding="ascii") as file:
            key, _begin, only = file.read().partition("-----BEGIN CERTIFICATE")
        alone = os.path.join(self.root, "alone.pem")
        with open(alone, "w", encoding="ascii") as file:
            file.write(_begin + only)
        for path, key, part in (
            (missing, FIRST, f"{missing} cannot be read"),
            (FIRST, missing, f"{missing} cannot be read"),
            (FIRST, SECOND, f"{SECOND} has another one"),
            (LOCKED, LOCKED, "without a password"),
            (alone, alone, "its key in"),
            (__file__, __file__, "in PEM"),
            (self.root, FIRST, f"{self.root} cannot be read"),
        ):
            with self.subTest(part), self.assertRaises(BadCertificate) as caught:
                Certificate(path, key)
            self.assertIn(part, str(caught.exception))


class ReadOnly(ApiTest):
    api = {"access": Access(has_read_only_token=True), "allows_commands": True}

    def setUp(self) -> None:
        with open(self.server.read_only_file, encoding="ascii") as file:
            self.token = file.read().strip()

    def ask_to_read(self, method: str, path: str, body: Any = None) -> Reply:
        return self.ask(method, path, body, {"Authorization": f"Bearer {self.token}"})

    def test_it_opens_what_tells_of_conversations_events_and_status_and_no_more(self) -> None:
        opened = {f"{route.method} {route.path}" for route in routes.API if route.scope == READ}
        self.assertEqual(
            opened,
            {
                "GET /sessions", "GET /sessions/{sessionId}/messages", "GET /events",
                "GET /sessions/{sessionId}", "GET /sessions/{sessionId}/export",
                "GET /sessions/{sessionId}/state", "GET /elicitations",
                "GET /sessions/{sessionId}/queue",
                "GET /sessions/{sessionId}/events", "GET /tool-confirmations", "GET /auth/status",
                "GET /metrics", "GET /openapi.json", "GET /agents",
                "GET /sessions/{sessionId}/attachments",
                "GET /sessions/{sessionId}/attachments/{attachmentId}",
                "GET /sessions/{sessionId}/turns/{turnId}/files",
            },
        )  # fmt: skip

    def test_every_other_route_is_refused_before_its_fields_are_looked_at(self) -> None:
        for route in routes.API:
            path = route.path.replace("{sessionId}", WHOEVER).replace("{turnId}", WHOEVER)
            if route.path == "/events" or route.scope == ANY:
                continue
            with self.subTest(f"{route.method} {path}"):
                reply = self.ask_to_read(route.method, path)
                if route.scope in (READ, OPEN):
                    self.assertIn(reply.status, (200, 404, 503))
                elif route.is_openai:
                    self.assertEqual((reply.status, reply["error"]["code"]), (403, "read_only"))
                else:
                    self.refused(reply, 403, "READ_ONLY")

    def test_nothing_is_done_with_it(self) -> None:
        body = {"path": self.path("made"), "content": "x"}
        self.refused(self.ask_to_read("POST", "/write-file", body), 403, "READ_ONLY")
        command = {"command": f"touch {self.path('made')}"}
        self.refused(self.ask_to_read("POST", "/execute-command", command), 403, "READ_ONLY")
        self.assertEqual(os.listdir(self.workspace), [])

    def test_it_is_another_one_and_only_the_user_can_read_it(self) -> None:
        self.assertNotEqual(self.token, self.server.token)
        if os.name == "posix":
            self.assertEqual(os.stat(self.server.read_only_file).st_mode & 0o777, 0o600)

    def test_without_the_option_none_is_made_and_an_old_one_opens_nothing(self) -> None:
        folder = os.path.dirname(self.server.read_only_file)
        copy = os.path.join(self.root, "copy")
        os.makedirs(copy, 0o700)
        for name in (state_folder.TOKEN_FILE, state_folder.READ_ONLY_FILE):
            shutil.copy(os.path.join(folder, name), copy)
        another = self.another_server(copy, access=Access())
        headers = {"Authorization": f"Bearer {self.token}"}
        self.refused(
            self.ask("GET", "/sessions", headers=headers, server=another), 401, "UNAUTHORIZED"
        )
        fresh = self.another_server(access=Access())
        self.assertFalse(os.path.exists(fresh.read_only_file))


class Limited(ApiTest):
    LIMIT = 5

    def setUp(self) -> None:
        access = Access(
            rate_limit=self.LIMIT,
            has_read_only_token=True,
            proxies=[ipaddress.ip_network("127.0.0.0/24")],
        )
        self.server = self.another_server(access=access)
        self.now = 1000.0
        clock = mock.patch.object(callers, "time", mock.Mock(monotonic=lambda: self.now))
        clock.start()
        self.addCleanup(clock.stop)

    def use_up(self, **headers: str) -> None:
        for _ in range(self.LIMIT):
            self.assertNotEqual(self.ask("GET", "/sessions", headers=headers).status, 429)

    def test_one_request_too_many_is_told_when_to_come_back(self) -> None:
        self.use_up()
        reply = self.ask("GET", "/sessions", headers={"Origin": self.server.url})
        self.refused(reply, 429, "RATE_LIMITED")
        self.assertEqual(reply.headers["Retry-After"], "12")
        self.assertIn("Retry-After", reply.headers["Access-Control-Expose-Headers"])
        self.now += 11.9
        self.refused(self.ask("GET", "/sessions"), 429, "RATE_LIMITED")
        self.now += 0.2
        self.assertEqual(self.ask("GET", "/sessions").status, 200)
        self.refused(self.ask("GET", "/sessions"), 429, "RATE_LIMITED")
        self.now += 3600
        self.use_up()

    def test_clients_of_openai_are_told_as_openai_would(self) -> None:
        self.use_up()
        reply = self.ask("GET", "/v1/models")
        self.assertEqual((reply.status, reply["error"]["code"]), (429, "rate_limit_exceeded"))

    def test_each_token_counts_for_itself_and_strangers_cost_it_nothing(self) -> None:
        self.use_up(Authorization="Bearer wrong")
        for path in ("/sessions", "/status", "/nowhere"):
            reply = self.ask("GET", path, headers={"Authorization": ""})
            self.refused(reply, 429, "RATE_LIMITED")
        with open(self.server.read_only_file, encoding="ascii") as file:
            self.use_up(Authorization="Bearer " + file.read().strip())
        self.use_up()

    def test_behind_a_proxy_strangers_count_by_the_address_that_it_tells(self) -> None:
        mine = "198.51.100.9, 192.0.2.1"
        self.use_up(**{"Authorization": "", "X-Forwarded-For": mine})
        for told, status in (
            (mine, 429),
            # What the client itself wrote counts for nothing.
            ("203.0.113.5, 192.0.2.1", 429),
            ("192.0.2.1, 192.0.2.2", 200),
            ("2001:db8::1", 200),
            ("nonsense", 200),
        ):
            headers = {"Authorization": "", "X-Forwarded-For": told}
            self.assertEqual(self.ask("GET", "/status", headers=headers).status, status, told)
        network = "2001:db8::%x"
        for number in range(2, 2 + self.LIMIT - 1):
            headers = {"Authorization": "", "X-Forwarded-For": network % number}
            self.assertEqual(self.ask("GET", "/status", headers=headers).status, 200)
        headers = {"Authorization": "", "X-Forwarded-For": network % 77}
        self.assertEqual(self.ask("GET", "/status", headers=headers).status, 429)

    def test_the_last_line_that_tells_addresses_counts_where_there_are_several(self) -> None:
        # As http.client sends them: two lines, the client's and below it the proxy's own.
        lines = {"X-Forwarded-For": "198.51.100.1", "x-forwarded-for": "192.0.2.1"}
        self.use_up(Authorization="", **lines)
        for forged in ("198.51.100.2", "198.51.100.3, 192.0.2.9"):
            headers = {"Authorization": "", **lines, "X-Forwarded-For": forged}
            self.refused(self.ask("GET", "/status", headers=headers), 429, "RATE_LIMITED")

    def test_a_client_that_has_left_already_counts_as_one_without_an_address(self) -> None:
        gone = mock.Mock(headers=CIMultiDict({"X-Forwarded-For": "192.0.2.1"}))
        gone.get_extra_info.return_value = None
        proxies = [ipaddress.ip_network("127.0.0.1")]
        counting = callers.Callers(proxies, rate_limit=1)
        counting.count_request("", gone)
        with self.assertRaises(callers.RateLimited):
            counting.count_request("", gone)

    def test_only_so_many_callers_are_remembered(self) -> None:
        limit = callers.RateLimit(1)
        with mock.patch.object(callers, "MAX_CALLERS", 3):
            for number in range(10):
                limit.count_request(str(number))
        self.assertEqual(list(limit._callers), ["7", "8", "9"])
        with self.assertRaises(callers.RateLimited):
            limit.count_request("9")


class Audited(ApiTest):
    def setUp(self) -> None:
        self.log = os.path.join(self.root, self._testMethodName)
        access = Access(audit_log=self.log, has_read_only_token=True)
        self.server = self.another_server(access=access, allows_commands=True)

    def lines(self, count: int) -> list[dict[str, Any]]:
        """All that there are, once there are so many: a line is written after its answer."""
        wait_for(lambda: len(self.written()) >= count)
        lines = [json.loads(line) for line in self.written()]
        self.assertEqual(len(lines), count, lines)
        return lines

    def written(self) -> list[str]:
        with open(self.log, encoding="ascii") as file:
            return file.read().splitlines()

    def test_each_request_has_a_line_that_says_who_did_what(self) -> None:
        headers = {"X-Request-Id": "the-id"}
        self.ask("PATCH", "/sessions/nobodys", {"title": "x"}, headers)
        (line,) = self.lines(1)
        moment = datetime.strptime(line.pop("time"), "%Y-%m-%dT%H:%M:%S.%fZ")
        age = datetime.now(timezone.utc).replace(tzinfo=None) - moment
        self.assertLess(abs(age.total_seconds()), PATIENCE)
        self.assertGreaterEqual(line.pop("seconds"), 0)
        self.assertEqual(
            line,
            {
                "requestId": "the-id", "token": "full", "address": "127.0.0.1",
                "method": "PATCH", "route": "/sessions/{sessionId}", "status": 404,
                "sessionId": "nobodys",
            },
        )  # fmt: skip

    def test_a_decision_has_the_name_of_its_tool(self) -> None:
        body = events.ToolConfirmation("call", "write_file", "", "", "", {}, ())
        now = datetime.now(timezone.utc)
        waiting = events.TurnEvent(1, now, "the-session", "turn", body)
        turns = self.server.agent.turns
        with mock.patch.object(type(turns), "confirmations", [waiting]):
            with mock.patch.object(turns, "confirm_call"):
                decision = {"callId": "call", "outcome": "proceed_once"}
                self.assertEqual(self.ask("POST", "/tool-confirmation", decision).status, 200)
        (line,) = self.lines(1)
        self.assertEqual(
            (line["tool"], line["decision"], line["sessionId"], line["status"]),
            ("write_file", "proceed_once", "the-session", 200),
        )

    def test_who_is_refused_is_told_apart(self) -> None:
        self.ask("GET", "/sessions", headers={"Authorization": "Bearer guessed"})
        self.ask("GET", "/sessions", headers={"Host": "evil.test"})
        with open(self.server.read_only_file, encoding="ascii") as file:
            token = {"Authorization": "Bearer " + file.read().strip()}
        self.ask("POST", "/cancel", {}, token)
        self.ask("PUT", "/nowhere/" + "x" * 300)
        lines = self.lines(4)
        self.assertEqual(
            [(line["token"], line["method"], line["route"], line["status"]) for line in lines],
            [
                (None, "GET", "/sessions", 401),
                ("full", "GET", "/sessions", 403),
                ("read-only", "POST", "/cancel", 403),
                ("full", "other", "other", 404),
            ],
        )

    def test_open_routes_and_what_a_browser_asks_first_have_none(self) -> None:
        for method, path in (("GET", "/status"), ("GET", "/readyz"), ("OPTIONS", "/chat")):
            self.ask(method, path, headers={"Authorization": ""})
            self.ask(method, path, headers={"Host": "evil.test"})
        self.ask("GET", "/sessions")
        self.assertEqual(self.lines(1)[0]["route"], "/sessions")

    def test_it_holds_neither_texts_nor_tokens_nor_keys(self) -> None:
        path = self.write("name-of-a-file", "what-the-file-holds")
        self.ask("POST", "/read-file", {"path": path})
        self.ask("POST", "/write-file", {"path": path, "content": "what-was-written"})
        self.ask("POST", "/auth/config", {"authType": "gemini-api-key", "apiKey": "the-secret"})
        self.ask("POST", "/execute-command", {"command": "echo what-was-said"})
        self.ask("POST", "/chat", {"message": "what-was-said"})
        self.ask("GET", "/list-directory?path=what-was-asked")
        self.ask("GET", "/auth/status", headers={"Authorization": "Bearer what-was-guessed"})
        self.lines(7)
        told = "\n".join(self.written())
        for secret in ("what-", "the-secret", "name-of-a-file", self.server.token):
            self.assertNotIn(secret, told)

    @unittest.skipIf(os.name == "nt", "the command is one of a Unix shell")
    def test_a_client_that_leaves_has_a_line_without_a_status(self) -> None:
        command = {"command": "touch begun && exec sleep 600"}
        client = self.connect()
        body = json.dumps(command).encode()
        head = (
            f"POST /execute-command HTTP/1.1\r\nHost: 127.0.0.1:{self.server.port}\r\n"
            f"Authorization: Bearer {self.server.token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        client.sendall(head.encode() + body)
        wait_for(lambda: os.path.exists(self.path("begun")))
        client.close()
        (line,) = self.lines(1)
        self.assertEqual((line["route"], line["status"]), ("/execute-command", None))

    def test_a_file_that_was_moved_away_is_begun_anew(self) -> None:
        self.ask("GET", "/sessions")
        self.lines(1)
        os.rename(self.log, self.log + ".1")
        self.ask("GET", "/tool-confirmations")
        wait_for(lambda: os.path.exists(self.log))
        self.assertEqual(self.lines(1)[0]["route"], "/tool-confirmations")
        if os.name == "posix":
            self.assertEqual(os.stat(self.log).st_mode & 0o777, 0o600)

    def test_a_disk_that_refuses_is_said_once_and_keeps_nobody_waiting(self) -> None:
        audit = self.server._audit
        full = mock.patch.object(audit, "_open_file", side_effect=OSError(28, "No space left"))
        with full, self.assertLogs(logger, "ERROR") as logs:
            for _ in range(3):
                self.assertEqual(self.ask("GET", "/sessions").status, 200)
                self.on_loop(audit.write_all())
        self.assertEqual(len(logs.output), 1)
        self.ask("GET", "/sessions")
        self.lines(1)

    @unittest.skipUnless(hasattr(os, "mkfifo"), "there are no such pipes")
    def test_a_pipe_that_nobody_reads_keeps_nobody_waiting(self) -> None:
        self.ask("GET", "/sessions")
        self.lines(1)
        os.unlink(self.log)
        os.mkfifo(self.log)
        with self.assertLogs(logger, "ERROR"):
            self.assertEqual(self.ask("GET", "/sessions").status, 200)
            self.assertEqual(self.ask("GET", "/sessions").status, 200)
            self.on_loop(self.server._audit.write_all())

    def test_a_disk_that_does_not_answer_keeps_nobody_waiting_and_gets_the_newest_lines(
        self,
    ) -> None:
        answers = threading.Event()
        self.addCleanup(answers.set)
        with mock.patch.object(audit_log, "MAX_WAITING", 2):
            self.server = self.another_server(access=Access(audit_log=self.log))
            audit = self.server._audit
            open_now = audit._open_file
            with mock.patch.object(audit, "_open_file") as slow:
                slow.side_effect = lambda: answers.wait(PATIENCE) and open_now()
                self.ask("GET", "/nowhere")
                wait_for(lambda: slow.called)
                for path in ("/sessions", "/tool-confirmations", "/agents"):
                    self.assertEqual(self.ask("GET", path).status, 200)
                with self.assertLogs(logger, "ERROR"):
                    answers.set()
                    self.on_loop(audit.write_all())
        routes_told = [line["route"] for line in self.lines(3)]
        self.assertEqual(routes_told, ["other", "/tool-confirmations", "/agents"])

    def test_what_was_done_last_is_written_before_the_server_ends(self) -> None:
        self.server = self.another_server(access=Access(audit_log=self.log))
        self.ask("GET", "/sessions")
        self.on_loop(self.server.stop())
        self.assertEqual([json.loads(line)["route"] for line in self.written()], ["/sessions"])

    def test_who_comes_too_often_has_one_line_for_that(self) -> None:
        access = Access(audit_log=self.log, rate_limit=2)
        self.server = self.another_server(access=access)
        clock = mock.patch.object(callers, "time", mock.Mock(monotonic=lambda: 1000.0))
        clock.start()
        self.addCleanup(clock.stop)
        for _ in range(6):
            self.ask("GET", "/sessions")
        self.assertEqual([line["status"] for line in self.lines(3)], [200, 200, 429])


class Options(unittest.TestCase):
    def setUp(self) -> None:
        self.root = os.path.realpath(tempfile.mkdtemp(prefix="options-"))
        self.addCleanup(shutil.rmtree, self.root, True)
        self.workspace = os.path.join(self.root, "workspace")
        os.mkdir(self.workspace)
        self.state = os.path.join(self.root, "state")

    def fails(self, *arguments: str) -> str:
        """What is said. Raises AssertionError where the program does not end with status 2, or has
        begun anything."""
        errors = io.StringIO()
        usual = ("--workspace", self.workspace, "--state", self.state)
        before = sorted(os.listdir(self.root))
        with contextlib.redirect_stderr(errors), self.assertRaises(SystemExit) as caught:
            program.main([*usual, *arguments])
        self.assertEqual(caught.exception.code, 2)
        self.assertEqual(sorted(os.listdir(self.root)), before)
        return errors.getvalue().rpartition("error: ")[2]

    def test_another_address_without_tls_has_to_be_said_twice(self) -> None:
        told = self.fails("--host", "0.0.0.0")
        for part in ("0.0.0.0", "--certificate", "--without-tls", "unencrypted"):
            self.assertIn(part, told)

    @unittest.skipIf(os.name == "nt", "links need rights there")
    def test_a_key_to_which_the_model_could_change_the_way_is_refused(self) -> None:
        os.symlink(CERTIFICATES, os.path.join(self.workspace, "link"))
        path = os.path.join(self.workspace, "link", "first.pem")
        told = self.fails("--certificate", path)
        self.assertIn("outside of", told)
        self.assertIn(path, told)

    def test_what_makes_no_sense_is_told_with_what_came(self) -> None:
        inside = os.path.join(self.workspace, "key.pem")
        shutil.copy(FIRST, inside)
        for arguments, parts in (
            (("--workspace", os.path.join(self.root, "nowhere")), ("--workspace", "a folder")),
            (("--port", "70000"), ("--port", "a port")),
            (("--language", "fr"), ("--language", "invalid choice: 'fr'")),
            (("--turn-time", "0"), ("--turn-time", "seconds from 1")),
            (("--decision-time", "soon"), ("--decision-time", "seconds from 1")),
            (("--agents", "0"), ("--agents", "expected 1 to")),
            (("--protocol-version", "3"), ("--protocol-version", "invalid choice: 3")),
            (("--agents", "many"), ("--agents", "expected 1 to")),
            (("--allow-origin", "https://a.test/page"), ("--allow-origin", "no origin")),
            (("--host", "localhost"), ("--host", "an IP address", "'localhost'")),
            (("--host", "192.0.2.1"), ("--host", "of this machine", "192.0.2.1")),
            (("--allow-host", "https://a.test"), ("--allow-host", "name", "'https://a.test'")),
            (("--allow-host", "a.test/page"), ("--allow-host", "'a.test/page'")),
            (("--allow-host", "*"), ("--allow-host", "'*'")),
            (("--allow-host", ""), ("--allow-host", "''")),
            (("--allow-host", "a.test:70000"), ("--allow-host", "port", "'a.test:70000'")),
            (("--allow-host", "a.test:0"), ("--allow-host", "'a.test:0'")),
            (("--allow-origin", "a.test"), ("--allow-origin", "no origin")),
            (("--rate-limit", "0"), ("--rate-limit", "from 1", "'0'")),
            (("--rate-limit", "many"), ("--rate-limit", "'many'")),
            (("--proxy", "nginx"), ("--proxy", "an IP address", "'nginx'")),
            (("--proxy", "10.0.0.1/8"), ("--proxy", "a network", "'10.0.0.1/8'")),
            (("--key", FIRST), ("--certificate with --key",)),
            (("--certificate", "nowhere.pem"), ("--certificate", "nowhere.pem cannot be read")),
            (("--certificate", FIRST, "--key", SECOND), (SECOND, "has another one")),
            (("--certificate", LOCKED), ("without a password",)),
            (("--certificate", FIRST, "--without-tls"), ("got both",)),
            (("--certificate", FIRST, "--key", inside), ("--key", "outside of", inside)),
            (("--certificate", inside), ("--certificate", "outside of", inside)),
            (("--audit-log", os.path.join(self.workspace, "log")), ("--audit-log", "outside of")),
            (("--audit-log", self.root), ("--audit-log", "a file", self.root)),
            (("--audit-log", os.path.join(self.root, "no", "log")), ("--audit-log", "a file")),
        ):
            with self.subTest(arguments):
                told = self.fails(*arguments)
                for part in parts:
                    self.assertIn(part, told)
