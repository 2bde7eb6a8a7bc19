"""Who may talk to the API, and what everybody else gets."""

from __future__ import annotations

import http.client
import json
import logging
import os
import socket
import stat
import sys
import time
import unittest
from datetime import datetime, timezone
from typing import Any, AsyncIterator
from unittest import mock

from GeminiCompanion.companion.agent import failure
from GeminiCompanion.companion.agent import turn_events as events
from GeminiCompanion.companion.agent.failure import AgentError
from GeminiCompanion.companion.api import routes, server, state_folder
from GeminiCompanion.companion.api.contract import schemas
from GeminiCompanion.companion.api.files import page_files
from GeminiCompanion.companion.api.server import Server
from GeminiCompanion.companion.api.serving import dispatch, guard
from GeminiCompanion.companion.api.serving.access import Access
from GeminiCompanion.companion.base import (
    connection,
    connection_shares,
    http_server,
    large_json,
    memory_budget,
)
from GeminiCompanion.companion.base.large_json import PIECE
from GeminiCompanion.companion.base.log import logger
from GeminiCompanion.companion.base.private_files import NotPrivate

from ..support import wait_for
from .support import PATIENCE, ApiTest

CONFIGURED = "https://app.example.com"


def said(data: bytes) -> dict[str, str]:
    """The JSON at the end of a raw answer."""
    return json.loads(data.partition(b"\r\n\r\n")[2].decode("utf-8"))


def rest_of(client: socket.socket) -> bytes:
    """All that comes until the server ends the connection."""
    return b"".join(iter(lambda: client.recv(4096), b""))


class Guarded(ApiTest):
    def test_every_route_but_the_open_ones_wants_the_token(self) -> None:
        for route in routes.API:
            path = route.path.replace("{turnId}", "x")
            with self.subTest(f"{route.method} {path}"):
                body: Any = {} if route.method == "POST" else None
                reply = self.ask(route.method, path, body, {"Authorization": ""})
                if route.is_open:
                    self.assertIn(reply.status, (200, 503))
                    continue
                if route.is_openai:
                    self.assertEqual(
                        (reply.status, reply["error"]["code"]), (401, "invalid_api_key")
                    )
                else:
                    self.refused(reply, 401, "UNAUTHORIZED")
                self.assertEqual(reply.headers["WWW-Authenticate"], "Bearer")

    def test_the_open_routes_are_the_status_the_probes_and_the_page(self) -> None:
        known = (*routes.API, *routes.page_routes(list(page_files.read_page_files())))
        paths = {route.path for route in known if route.is_open}
        self.assertEqual(
            {path for path in paths if "." not in path}, {"/", "/status", "/healthz", "/readyz"}
        )
        self.assertNotIn("/openapi.json", paths)

    def test_any_other_token_is_none(self) -> None:
        token = self.server.token
        for given in (
            "Bearer", "Bearer ", f"Bearer {token}x", f"Bearer {token[:-1]}", token,
            f"Basic {token}", "Bearer \u00e4", f"Bearer {token} {token}",
        ):  # fmt: skip
            with self.subTest(given):
                reply = self.ask("GET", "/auth/status", headers={"Authorization": given})
                self.refused(reply, 401, "UNAUTHORIZED")

    def test_a_token_in_the_address_is_none(self) -> None:
        for name in ("token", "access_token"):
            path = f"/auth/status?{name}={self.server.token}"
            self.refused(self.ask("GET", path, headers={"Authorization": ""}), 401, "UNAUTHORIZED")

    def test_the_schemes_name_is_read_in_either_case(self) -> None:
        headers = {"Authorization": f"bearer {self.server.token}"}
        self.assertEqual(self.ask("GET", "/auth/status", headers=headers).status, 200)

    def test_before_the_token_all_paths_have_the_same_methods(self) -> None:
        own = {"Authorization": "", "Origin": self.server.url}
        for path in ("/chat", "/status", "/chat/x/events", "/nowhere"):
            told = self.ask("OPTIONS", path, headers=own).headers
            self.assertEqual(told["Access-Control-Allow-Methods"], guard.METHODS)
            self.assertNotIn("Allow", told)

    def test_a_stranger_does_not_learn_what_paths_and_methods_there_are(self) -> None:
        for method, path in (("GET", "/nowhere"), ("DELETE", "/chat"), ("POST", "/status")):
            reply = self.ask(method, path, headers={"Authorization": ""})
            self.refused(reply, 401, "UNAUTHORIZED")

    def test_any_other_host_is_refused_even_for_the_status(self) -> None:
        port = self.server.port
        for host in ("example.com", f"example.com:{port}", "127.0.0.1", "127.0.0.1:1", "0.0.0.0"):
            with self.subTest(host):
                reply = self.ask("GET", "/status", headers={"Host": host})
                self.refused(reply, 403, "FORBIDDEN")

    def target(self, target: str, server: Server | None = None) -> bytes:
        """All that is answered where the request line asks for the target, by a right Host."""
        client = self.connect(server)
        head = f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{self.server.port}\r\nConnection: close"
        client.sendall(f"{head}\r\n\r\n".encode())
        return rest_of(client)

    def test_a_whole_address_in_the_request_line_has_to_name_the_server_too(self) -> None:
        port = self.server.port
        for address in (f"http://127.0.0.1:{port}/status", f"HTTP://LocalHost:{port}/status"):
            with self.subTest(address):
                self.assertIn(b" 200 ", self.target(address)[:20])
        for address in (
            "http://example.com/status",
            f"http://example.com:{port}/status",
            "http://127.0.0.1/status",
            f"http://user@127.0.0.1:{port}/status",
            f"ftp://example.com:{port}/status",
        ):
            with self.subTest(address):
                self.assertTrue(self.target(address).startswith(b"HTTP/1.1 403 "))

    def test_an_address_that_is_none_is_refused_and_no_failure_of_ours(self) -> None:
        with self.assertLogs(level="DEBUG") as logs:
            logging.getLogger().debug("the only line")
            # Some releases of the library do not say why.
            self.assertIn(self.target("http://[/status")[:13], (b"HTTP/1.0 400 ", b""))
        self.assertNotIn("ERROR", "".join(logs.output))

    def test_no_answer_names_the_libraries_and_their_versions(self) -> None:
        own = {"Origin": self.server.url}
        replies = [
            self.ask(method, path, headers=headers)
            for method, path, headers in (
                ("GET", "/status", {}),
                ("GET", "/", {}),
                ("GET", "/page.js", {}),
                ("GET", "/openapi.json", {}),
                ("GET", "/metrics", {}),
                ("GET", "/v1/models", {}),
                ("OPTIONS", "/chat", own),
                ("GET", "/nowhere", {}),
                ("GET", "/sessions", {"Authorization": ""}),
            )
        ]
        heads = [str(reply.headers).encode() for reply in replies]
        heads.append(self.target("/ HTTP/1.0 \x00").partition(b"\r\n\r\n")[0])
        heads.append(self.target("/status").partition(b"\r\n\r\n")[0])
        for head in heads:
            self.assertNotRegex(head.lower(), b"aiohttp|python")

    def test_all_loopback_names_are_the_server(self) -> None:
        for name in ("127.0.0.1", "localhost", "LOCALHOST", "[::1]"):
            headers = {"Host": f"{name}:{self.server.port}"}
            self.assertEqual(self.ask("GET", "/status", headers=headers).status, 200)

    def test_it_listens_on_the_loopback_address_only(self) -> None:
        acceptors = self.server._http._acceptors
        places = [each.getsockname()[0] for acceptor in acceptors for each in acceptor.sockets]
        self.assertEqual(places, ["127.0.0.1"])

    def test_pages_of_other_origins_are_refused_whatever_they_know(self) -> None:
        for origin in ("https://example.com", "null", f"https://127.0.0.1:{self.server.port}"):
            for method, path in (("GET", "/status"), ("POST", "/auth/clear"), ("OPTIONS", "/chat")):
                with self.subTest(f"{origin} {method} {path}"):
                    reply = self.ask(method, path, headers={"Origin": origin})
                    self.refused(reply, 403, "FORBIDDEN")
                    self.assertNotIn("Access-Control-Allow-Origin", reply.headers)

    def test_an_origin_is_the_same_in_either_case(self) -> None:
        for origin in (self.server.url.upper(), f"HTTP://LocalHost:{self.server.port}"):
            self.assertEqual(self.ask("GET", "/status", headers={"Origin": origin}).status, 200)

    def test_its_own_page_may_talk_to_it(self) -> None:
        reply = self.ask("GET", "/auth/status", headers={"Origin": self.server.url})
        self.assertEqual(reply.status, 200)
        self.assertEqual(reply.headers["Access-Control-Allow-Origin"], self.server.url)
        self.assertEqual(reply.headers["Vary"], "Origin")

    def test_a_request_that_is_no_json_is_refused_and_does_nothing(self) -> None:
        body = json.dumps({"path": self.path("made"), "content": "x"}).encode()
        for kind in ("text/plain", "", "application/x-www-form-urlencoded", "application/jsonp"):
            with self.subTest(kind):
                reply = self.ask("POST", "/write-file", body, {"Content-Type": kind})
                self.refused(reply, 415, "UNSUPPORTED_MEDIA_TYPE")
        self.assertFalse(os.path.exists(self.path("made")))

    def test_a_form_without_fields_is_no_json_either(self) -> None:
        headers = {"Content-Type": "text/plain"}
        reply = self.ask("POST", "/auth/clear", b"", headers)
        self.refused(reply, 415, "UNSUPPORTED_MEDIA_TYPE")

    def test_who_has_nothing_to_say_needs_no_body(self) -> None:
        self.assertEqual(self.ask("POST", "/auth/clear").status, 200)
        headers = {"Content-Type": "application/octet-stream"}
        self.assertEqual(self.ask("POST", "/auth/clear", b"", headers).status, 200)
        self.assertEqual(self.ask("POST", "/auth/clear", b"{}", headers).status, 415)

    def test_a_charset_may_stand_beside_the_type(self) -> None:
        headers = {"Content-Type": "Application/JSON; charset=utf-8"}
        self.assertEqual(self.ask("POST", "/auth/clear", {}, headers).status, 200)

    def test_a_compressed_body_is_refused_unread(self) -> None:
        reply = self.ask("POST", "/auth/clear", b"\x1f\x8b", {"Content-Encoding": "gzip"})
        self.refused(reply, 415, "UNSUPPORTED_MEDIA_TYPE")

    def test_a_path_that_there_is_not_is_told_as_everything_else(self) -> None:
        self.refused(self.ask("GET", "/nowhere"), 404, "NOT_FOUND")
        self.refused(self.ask("GET", "/chat/x/y/z"), 404, "NOT_FOUND")

    def test_another_method_is_told_which_there_are(self) -> None:
        for path, allowed in (("/chat", "POST"), ("/status", "GET"), ("/chat/x/events", "GET")):
            reply = self.ask("PUT", path, {})
            self.refused(reply, 405, "METHOD_NOT_ALLOWED")
            self.assertEqual(reply.headers["Allow"], f"{allowed}, OPTIONS")

    def test_the_head_of_an_answer_can_be_had_alone(self) -> None:
        reply = self.ask("HEAD", "/status")
        self.assertEqual((reply.status, reply.data), (200, b""))

    def test_no_answer_is_kept_or_guessed_at_by_a_browser(self) -> None:
        for path in ("/status", "/nowhere", "/openapi.json"):
            headers = self.ask("GET", path).headers
            self.assertEqual(headers["Cache-Control"], "no-store")
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")

    def test_the_page_is_open_and_can_load_nothing_from_elsewhere(self) -> None:
        reply = self.ask("GET", "/", headers={"Authorization": ""})
        self.assertEqual(reply.status, 200)
        self.assertIn(b"<!doctype html>", reply.data.lower())
        policy = reply.headers["Content-Security-Policy"]
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe", policy)
        self.assertEqual(reply.headers["X-Content-Type-Options"], "nosniff")
        self.assertIn("camera=()", reply.headers["Permissions-Policy"])
        # Its buttons copy.
        self.assertNotIn("clipboard", reply.headers["Permissions-Policy"])
        self.assertNotIn(self.server.token.encode(), reply.data)

    def test_the_page_may_come_from_elsewhere_as_out_of_a_packed_package(self) -> None:
        page = {"index.html": b"<!doctype html>packed", "page.js": b"1"}
        server = self.another_server(page=page)
        for path, kind in (
            ("/", "text/html"),
            ("/index.html", "text/html"),
            ("/page.js", "text/j"),
        ):
            reply = self.ask("GET", path, headers={"Authorization": ""}, server=server)
            self.assertEqual(reply.data, page[path[1:] or "index.html"])
            self.assertTrue(reply.headers["Content-Type"].startswith(kind))
        server = self.another_server(page={})
        self.refused(self.ask("GET", "/", server=server), 404, "NOT_FOUND")

    def test_nothing_beside_the_page_can_be_read(self) -> None:
        for path in ("/../server.py", "/..%2fserver.py", "/%2e%2e/server.py", "/server.py"):
            self.refused(self.ask("GET", path), 404, "NOT_FOUND")


class Limits(ApiTest):
    def test_a_body_that_says_it_is_too_large_is_refused_at_once(self) -> None:
        headers = {"Content-Length": str(dispatch.MAX_BODY + 1)}
        with mock.patch.object(connection, "LINGERING", 0.1):
            reply = self.ask("POST", "/auth/clear", b"{", headers)
        self.refused(reply, 413, "TOO_LARGE")
        self.assertEqual(reply.headers["Connection"], "close")

    def test_a_body_that_does_not_say_it_is_refused_when_it_is(self) -> None:
        with mock.patch.object(dispatch, "MAX_BODY", 1 << 20):
            client = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE)
            self.addCleanup(client.close)
            headers = {
                "Authorization": f"Bearer {self.server.token}",
                "Content-Type": "application/json",
            }
            pieces = iter([b" " * (1 << 19)] * 3)
            client.request("POST", "/auth/clear", pieces, headers, encode_chunked=True)
            response = client.getresponse()
            self.assertEqual((response.status, json.load(response)["code"]), (413, "TOO_LARGE"))

    def test_a_body_that_does_not_come_is_given_up(self) -> None:
        lingering = mock.patch.object(connection, "LINGERING", 0.1)
        with lingering, mock.patch.object(http_server, "BODY_TIME", 0.1):
            reply = self.ask("POST", "/auth/clear", b"{", {"Content-Length": "2"})
        self.refused(reply, 408, "REQUEST_TIMEOUT")
        self.assertEqual(reply.headers["Connection"], "close")

    def test_a_client_that_asks_before_it_sends_is_told_to_go_on(self) -> None:
        client = self.connect()
        head = (
            f"POST /auth/clear HTTP/1.1\r\nHost: 127.0.0.1:{self.server.port}\r\n"
            f"Authorization: Bearer {self.server.token}\r\nContent-Type: application/json\r\n"
            "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n"
        )
        client.sendall(head.encode())
        self.assertTrue(client.recv(100).startswith(b"HTTP/1.1 100"))
        client.sendall(b"{}")
        self.assertIn(b" 200 ", client.recv(1000))

    def test_what_is_no_http_gets_the_envelope_and_is_not_quoted(self) -> None:
        client = self.connect()
        with self.assertLogs(logger, "DEBUG") as logs:
            logger.info("the only line")
            client.sendall(b"secret \x00 nonsense\r\n\r\n")
            data = rest_of(client)
        self.assertTrue(data.startswith(b"HTTP/1.1 400") or data.startswith(b"HTTP/1.0 400"), data)
        self.assertEqual(said(data)["code"], "VALIDATION_ERROR")
        self.assertNotIn("secret", data.decode() + "".join(logs.output))

    def begin(self, *more: str) -> socket.socket:
        """A connection with a request on it whose body is still to come."""
        client = self.connect()
        lines = (
            "POST /auth/clear HTTP/1.1",
            f"Host: 127.0.0.1:{self.server.port}",
            f"Authorization: Bearer {self.server.token}",
            "Content-Type: application/json",
            *more,
        )
        client.sendall("\r\n".join((*lines, "", "")).encode())
        return client

    def test_a_client_that_leaves_within_its_body_is_no_failure_of_ours(self) -> None:
        lingering = mock.patch.object(connection, "LINGERING", 0.5)
        with lingering, self.assertLogs(logger, "DEBUG") as logs:
            logger.info("the only line")
            for _ in range(3):
                client = self.begin("Content-Length: 100")
                client.sendall(b"{")
                client.close()
            wait_for(lambda: not self.server._http.connections)
        self.assertNotIn("Traceback", "".join(logs.output))
        self.assertNotIn("ERROR", "".join(logs.output))

    def test_a_body_in_broken_pieces_is_refused_and_no_failure_of_ours(self) -> None:
        lingering = mock.patch.object(connection, "LINGERING", 0.1)
        with lingering, self.assertLogs(logger, "DEBUG") as logs:
            logger.info("the only line")
            # Some releases of the library never tell of it.
            with mock.patch.object(http_server, "BODY_TIME", 0.5):
                client = self.begin("Transfer-Encoding: chunked")
                client.sendall(b"secret\r\n{}\r\n0\r\n\r\n")
                data = rest_of(client)
        self.assertIn(data[9:12], (b"400", b"408"), data)
        self.assertFalse(said(data)["success"])
        self.assertNotIn("Traceback", "".join(logs.output))

    def test_more_connections_with_the_token_than_the_limit_are_refused(self) -> None:
        with mock.patch.object(connection_shares, "MAX_CONNECTIONS", server.KEPT_URGENT + 1):
            held = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE)
            self.addCleanup(held.close)
            held.request("GET", "/sessions", None, {"Authorization": f"Bearer {self.server.token}"})
            held.getresponse().read()
            reply = self.ask("GET", "/sessions")
            self.refused(reply, 503, "TOO_MANY")
            self.assertEqual(reply.headers["Retry-After"], "5")
            self.assertEqual(self.ask("GET", "/status", headers={"Authorization": ""}).status, 200)
            # What stops something gets one of the places that are kept.
            self.assertEqual(self.ask("POST", "/cancel", {}).status, 200)
            self.assertEqual(self.ask("GET", "/tokens").status, 200)
            self.refused(
                self.ask("GET", "/readyz", headers={"Authorization": ""}), 503, "NOT_READY"
            )

    def test_one_token_leaves_places_for_the_others(self) -> None:
        access = Access(has_read_only_token=True, connections=3)
        another = self.another_server(access=access)
        with open(another.read_only_file) as file:
            reading = file.read().strip()
        head = (
            f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{another.port}\r\nAccept-Language: en\r\n"
            f"Authorization: Bearer {reading}\r\n\r\n"
        )
        clients = [self.connect(another) for _ in range(4)]
        for client in clients:
            client.sendall(head.encode())
        told = [client.recv(4096) for client in clients]
        self.assertEqual(sum(b"HTTP/1.1 200" in each for each in told), 3, told)
        ((refused, client),) = (pair for pair in zip(told, clients) if b"HTTP/1.1 503" in pair[0])
        self.assertIn("this token", said(refused + rest_of(client))["message"])
        for path in ("/sessions", "/tokens"):
            self.assertEqual(self.ask("GET", path, server=another).status, 200)

    def test_a_connection_kept_for_what_is_urgent_serves_nothing_else(self) -> None:
        another = self.another_server(access=Access(connections=1))
        authorized = {"Authorization": f"Bearer {another.token}"}
        first, second = self.open(another), self.open(another)
        self.addCleanup(first.close)
        self.addCleanup(second.close)
        for client, path, status in (
            (first, "/sessions", 200), (second, "/tokens", 200), (second, "/sessions", 503),
        ):  # fmt: skip
            client.request("GET", path, None, authorized)
            reply = client.getresponse()
            reply.read()
            self.assertEqual(reply.status, status)

    def test_as_many_as_may_have_the_token_may_come_at_the_same_moment(self) -> None:
        most = server.MAX_CONNECTIONS - server.KEPT_URGENT
        another = self.another_server(access=Access(connections=most))
        head = (
            f"GET /sessions HTTP/1.1\r\nHost: 127.0.0.1:{another.port}\r\nConnection: close\r\n"
            f"Authorization: Bearer {another.token}\r\n\r\n"
        )
        clients = [self.connect(another) for _ in range(most)]
        for client in clients:
            client.sendall(head.encode())
        answers = [rest_of(client)[:12] for client in clients]
        self.assertEqual(answers, [b"HTTP/1.1 200"] * len(clients))

    def test_many_strangers_cost_the_oldest_of_them_and_nobody_else(self) -> None:
        strangers = [self.connect() for _ in range(server.MAX_CONNECTIONS + 10)]
        self.assertEqual(self.ask("GET", "/sessions").status, 200)
        self.assertEqual(strangers[0].recv(1), b"")

    def begin_to_read(self, buffer: int, server: Server | None = None) -> socket.socket:
        """A connection with a large answer on its way, of which the kernel holds a part only."""
        server = server or self.server
        body = json.dumps({"path": self.write("large", "x" * schemas.MAX_FILE)}).encode()
        client = socket.socket()
        self.addCleanup(client.close)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        client.settimeout(PATIENCE)
        client.connect(("127.0.0.1", server.port))
        head = (
            f"POST /read-file HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            f"Authorization: Bearer {server.token}\r\nConnection: close\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        client.sendall(head.encode() + body)
        return client

    def test_who_takes_nothing_of_an_answer_is_not_waited_for(self) -> None:
        with mock.patch.object(connection, "STALLED", 0.1):
            client = self.begin_to_read(4096)
            self.assertTrue(client.recv(100))
            wait_for(lambda: not self.server._http.connections)

    def test_who_takes_an_answer_slowly_gets_all_of_it(self) -> None:
        with mock.patch.object(connection, "STALLED", 2.0):
            client, size, last = self.begin_to_read(1 << 17), 0, time.monotonic()
            for data in iter(lambda: client.recv(1 << 17), b""):
                size += len(data)
                while time.monotonic() < last + 0.03:
                    time.sleep(0.001)
                last = time.monotonic()
        self.assertGreater(size, schemas.MAX_FILE)

    def test_an_answer_that_nobody_reads_waits_in_memory_for_a_piece_of_it_only(self) -> None:
        client = self.begin_to_read(4096)
        self.assertTrue(client.recv(100))
        (served,) = self.server._http._server.connections
        if served.transport is None:
            self.fail("the connection is gone")
        buffered = served.transport.get_write_buffer_size
        wait_for(buffered)
        self.assertLess(buffered(), 1 << 20)

    def test_large_answers_that_nobody_reads_hold_up_other_large_ones_for_a_while(self) -> None:
        limit = mock.patch.object(dispatch, "MAX_MEMORY", schemas.MAX_FILE)
        with limit:
            server = self.another_server()
        client = self.begin_to_read(4096, server)
        self.assertTrue(client.recv(100))
        large = {"path": self.path("large")}
        with mock.patch.object(memory_budget, "TIME_LIMIT", 0.05):
            reply = self.ask("POST", "/read-file", large, server=server)
            self.refused(reply, 503, "TOO_MANY")
            small = {"path": self.write("small", "text")}
            self.assertEqual(self.ask("POST", "/read-file", small, server=server).status, 200)
        client.close()
        self.assertEqual(self.ask("POST", "/read-file", large, server=server).status, 200)

    def test_a_body_of_many_values_is_refused_long_before_its_end(self) -> None:
        with mock.patch.object(connection, "LINGERING", 0.5):
            client = self.begin(f"Content-Length: {dispatch.MAX_BODY}")
            client.sendall(b'{"path":[' + b'{"a":1},' * (large_json.MAX_REST // 8) + b"0," * PIECE)
            head = rest_of(client)
        self.assertIn(b" 413 ", head)
        self.assertIn(b"connection: close", head.lower())

    def test_a_bug_is_logged_and_told_without_its_details(self) -> None:
        with mock.patch.object(self.server.agent, "list_sessions", side_effect=KeyError("inner")):
            with self.assertLogs(logger, "ERROR") as logs:
                reply = self.ask("GET", "/sessions")
        self.refused(reply, 500, "INTERNAL_ERROR")
        self.assertNotIn("inner", reply.data.decode())
        self.assertIn("KeyError", "".join(logs.output))


class Texts(ApiTest):
    """What cannot be encoded as it is."""

    HALF = "bad \ud83d half"

    def test_an_error_with_half_a_character_is_told(self) -> None:
        error = AgentError(failure.GEMINI_ERROR, self.HALF, self.HALF)
        with mock.patch.object(self.server.agent, "list_sessions", side_effect=error):
            reply = self.ask("GET", "/sessions")
        self.refused(reply, 500, "GEMINI_ERROR")
        self.assertEqual((reply["message"], reply["details"]), ("bad ? half", "bad <U+D83D> half"))

    def test_half_a_character_takes_no_event_from_a_stream(self) -> None:
        bodies: Any = events.Content(self.HALF), events.Error(self.HALF, failure.GEMINI_ERROR, "")
        time = datetime.now(timezone.utc)

        async def told(_after: int) -> AsyncIterator[events.TurnEvent]:
            for number, body in enumerate(bodies, 1):
                yield events.TurnEvent(number, time, "session", "turn", body)

        turn = mock.Mock(id="turn", is_over=True, last_number=2, read_events=told)
        for accepted in ("text/event-stream", "application/x-ndjson"):
            with mock.patch.object(self.server.agent.turns, "by_id", return_value=turn):
                reply = self.ask("GET", "/chat/turn/events", headers={"Accept": accepted})
            self.assertEqual(reply.data.count(b"bad ? half"), 2, reply)

    def test_a_refusal_that_cannot_be_told_is_a_bug_like_others(self) -> None:
        broken = mock.Mock(side_effect=[KeyError("inner"), {"code": "INTERNAL_ERROR"}])
        with mock.patch.object(dispatch, "refusal_envelope", broken), self.assertLogs(
            logger, "ERROR"
        ):
            server = self.server
            client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
            self.addCleanup(client.close)
            client.request("GET", "/nowhere", None, {"Authorization": f"Bearer {server.token}"})
            response = client.getresponse()
            self.assertEqual(
                (response.status, json.load(response)["code"]), (500, "INTERNAL_ERROR")
            )


class Configured(ApiTest):
    api = {"origins": frozenset([CONFIGURED + "/"])}

    def test_a_configured_page_may_talk_to_it_with_the_token(self) -> None:
        headers = {"Origin": CONFIGURED}
        reply = self.ask("GET", "/auth/status", headers=headers)
        self.assertEqual(reply.status, 200)
        self.assertEqual(reply.headers["Access-Control-Allow-Origin"], CONFIGURED)
        reply = self.ask("GET", "/auth/status", headers={**headers, "Authorization": ""})
        self.refused(reply, 401, "UNAUTHORIZED")

    def test_a_browser_that_asks_first_is_told_what_it_may_send(self) -> None:
        names = "authorization,content-type,idempotency-key,x-request-id,x-stainless-os"
        asked = {
            "Origin": CONFIGURED,
            "Authorization": "",
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": names,
        }
        reply = self.ask("OPTIONS", "/chat", headers=asked)
        self.assertEqual((reply.status, reply.data), (204, b""))
        self.assertEqual(reply.headers["Access-Control-Allow-Origin"], CONFIGURED)
        self.assertIn("POST", reply.headers["Access-Control-Allow-Methods"])
        self.assertEqual(reply.headers["Access-Control-Allow-Headers"], names)
        reply = self.ask("OPTIONS", "/chat", headers={**asked, "Origin": "https://example.net"})
        self.refused(reply, 403, "FORBIDDEN")
        self.assertNotIn("Access-Control-Allow-Headers", reply.headers)

    def test_other_pages_stay_refused(self) -> None:
        headers = {"Origin": CONFIGURED + ".example.net"}
        self.refused(self.ask("GET", "/status", headers=headers), 403, "FORBIDDEN")


class AnyPage(ApiTest):
    api = {"origins": frozenset(["*"])}

    def test_even_then_nobody_gets_in_without_the_token(self) -> None:
        headers = {"Origin": "https://example.com", "Authorization": ""}
        self.refused(self.ask("POST", "/chat", {}, headers), 401, "UNAUTHORIZED")
        headers.pop("Authorization")
        reply = self.ask("GET", "/auth/status", headers=headers)
        self.assertEqual(reply.headers["Access-Control-Allow-Origin"], "https://example.com")


class Log(ApiTest):
    api = {"allows_commands": True}

    def test_it_holds_neither_token_nor_key_nor_what_files_hold(self) -> None:
        path = self.write("a.txt", "what-the-file-holds")
        # All loggers there are, those of the library included.
        with self.assertLogs(level=logging.DEBUG) as theirs, self.assertLogs(logger, 1) as ours:
            logging.getLogger().info("at least one line")
            logger.info("at least one line")
            self.ask("POST", "/read-file", {"path": path})
            self.ask("POST", "/write-file", {"path": path, "content": "what-was-written"})
            self.ask("POST", "/auth/config", {"authType": "gemini-api-key", "apiKey": "the-secret"})
            self.ask("POST", "/execute-command", {"command": "echo what-was-said"})
            self.ask("POST", "/chat", {"message": "what-the-user-said"})
            self.ask("POST", "/auth/clear")
        lines = "".join(theirs.output + ours.output)
        for secret in (
            "what-the-file-holds", "what-was-written", "the-secret", "what-was-said",
            "what-the-user-said", self.server.token,
        ):  # fmt: skip
            self.assertNotIn(secret, lines)

    def test_no_answer_holds_the_key(self) -> None:
        key = {"authType": "gemini-api-key", "apiKey": "the-secret-key"}
        told = [self.ask("POST", "/auth/config", key), self.ask("GET", "/auth/status")]
        told.append(self.ask("GET", "/status"))
        told.append(self.ask("POST", "/chat", {"message": "x"}))
        for reply in told:
            self.assertNotIn("the-secret-key", reply.data.decode())
        self.assertTrue(told[1]["data"]["hasApiKey"])


class Language(ApiTest):
    def test_chinese_is_spoken_unless_english_is_asked_for(self) -> None:
        for accepted, message in (
            ("", "服务器运行正常"),
            ("zh-CN,en;q=0.5", "服务器运行正常"),
            ("fr", "服务器运行正常"),
            ("en-US,en;q=0.9,zh;q=0.8", "The server is running."),
            ("en;q=nonsense", "服务器运行正常"),
        ):
            reply = self.ask("GET", "/status", headers={"Accept-Language": accepted})
            self.assertEqual(reply["message"], message, accepted)

    def test_the_operator_can_choose_english_for_who_does_not_say(self) -> None:
        server = self.another_server(language="en")
        reply = self.ask("GET", "/nowhere", headers={"Accept-Language": ""}, server=server)
        self.assertEqual(reply["message"], "There is nothing at /nowhere.")


class State(ApiTest):
    def test_a_folder_that_the_model_could_read_is_refused_and_not_made(self) -> None:
        inside = self.path("sub")
        os.mkdir(inside)
        around = os.path.join(self.root, "around")
        os.makedirs(os.path.join(around, "agent", "home"))
        for folder, root in (
            (self.path(".cache/api"), self.workspace),
            (self.workspace, self.workspace),
            (os.path.join(inside, "..", "state"), self.workspace),
            (os.path.join(self.root, "state"), os.path.abspath(os.sep)),
            (around, os.path.join(around, "agent", "home")),
        ):
            with self.subTest(folder=folder, root=root):
                with self.assertRaisesRegex(NotPrivate, "--state"):
                    self.another_server(folder, roots=[inside, root])
        self.assertEqual(os.listdir(self.workspace), ["sub"])

    @unittest.skipIf(sys.platform == "win32", "links want a right there")
    def test_no_link_leads_it_into_a_root(self) -> None:
        link = os.path.join(self.root, "link")
        os.symlink(self.workspace, link)
        with self.assertRaisesRegex(NotPrivate, "--state"):
            self.another_server(os.path.join(link, "state"))
        with self.assertRaisesRegex(NotPrivate, "--state"):
            self.another_server(self.path("state"), roots=[link])
        self.assertFalse(os.path.exists(self.path("state")))

    @unittest.skipIf(sys.platform == "win32", "Windows has no such modes")
    def test_a_folder_with_other_things_in_it_is_refused_and_stays_open(self) -> None:
        folder = os.path.join(self.root, "shared")
        os.mkdir(folder)
        os.chmod(folder, 0o755)
        for name in ("theirs", "token"):
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write("theirs")
        with self.assertRaisesRegex(NotPrivate, "--state"):
            self.another_server(folder)
        self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode), 0o755)
        with open(os.path.join(folder, "token"), encoding="ascii") as file:
            self.assertEqual(file.read(), "theirs")

    @unittest.skipIf(sys.platform == "win32", "Windows has no such modes")
    def test_an_empty_one_and_one_of_ours_are_taken_and_closed(self) -> None:
        folder = os.path.join(self.root, "empty")
        os.mkdir(folder)
        for _ in range(2):
            os.chmod(folder, 0o755)
            server = self.another_server(folder)
            self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode), 0o700)
            self.on_loop(server.stop())
            with open(os.path.join(folder, ".DS_Store"), "w", encoding="ascii"):
                pass


@unittest.skipIf(sys.platform == "win32", "Windows has no such modes")
class Token(ApiTest):
    def test_only_the_user_can_read_it(self) -> None:
        path = self.server.token_file
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode), 0o700)
        with open(path, encoding="ascii") as file:
            self.assertEqual(file.read().strip(), self.server.token)

    def test_it_is_kept_between_starts(self) -> None:
        first = self.another_server()
        self.on_loop(first.stop())
        folder = os.path.dirname(first.token_file)
        self.assertEqual(self.another_server(folder).token, first.token)

    def test_a_new_one_can_be_had_and_the_old_one_opens_nothing_then(self) -> None:
        access = Access(has_read_only_token=True)
        first = self.another_server(access=access)
        self.on_loop(first.stop())
        folder = os.path.dirname(first.token_file)
        read_only = state_folder.token_of(folder, state_folder.READ_ONLY_FILE)
        second = self.another_server(folder, access=access, new_tokens=True)
        for token, status in (
            (first.token, 401),
            (read_only, 401),
            (second.token, 200),
            (state_folder.token_of(folder, state_folder.READ_ONLY_FILE), 200),
        ):
            headers = {"Authorization": f"Bearer {token}"}
            self.assertEqual(self.ask("GET", "/sessions", None, headers, second).status, status)

    def test_servers_with_one_folder_have_one_token(self) -> None:
        folder = os.path.dirname(self.server.token_file)
        self.assertEqual(self.another_server(folder).token, self.server.token)

    def test_another_server_has_another_one(self) -> None:
        self.assertNotEqual(self.another_server().token, self.server.token)

    def test_one_that_others_could_have_read_or_that_is_none_is_replaced(self) -> None:
        for spoil in (
            lambda path: os.chmod(path, 0o644),
            lambda path: open(path, "w").close(),
            lambda path: os.replace(path, path + "x") or os.symlink(path + "x", path),
        ):
            folder = os.path.join(self.root, "spoiled")
            state_folder.prepare_folder(folder)
            first = state_folder.token_of(folder)
            path = os.path.join(folder, state_folder.TOKEN_FILE)
            spoil(path)
            second = state_folder.token_of(folder)
            self.assertNotEqual(first, second)
            self.assertEqual(stat.S_IMODE(os.lstat(path).st_mode), 0o600)

    @unittest.skipIf(sys.platform == "win32", "folders have no modes")
    def test_folders_above_it_are_made_for_this_user_alone_whatever_the_umask(self) -> None:
        self.addCleanup(os.umask, os.umask(0))
        cache = os.path.join(self.root, "home", ".cache")
        state_folder.prepare_folder(os.path.join(cache, state_folder.NAME))
        self.assertEqual(stat.S_IMODE(os.stat(cache).st_mode), 0o700)

    def test_it_lies_where_the_platform_keeps_such_things(self) -> None:
        home = os.path.expanduser("~")
        for platform, variables, expected in (
            ("linux", {}, os.path.join(home, ".cache")),
            ("linux", {"XDG_CACHE_HOME": "/c"}, "/c"),
            ("linux", {"XDG_CACHE_HOME": "c"}, os.path.join(home, ".cache")),
            ("darwin", {}, os.path.join(home, "Library", "Caches")),
            ("win32", {"LOCALAPPDATA": "/local"}, "/local"),
        ):
            folder = state_folder.default_folder(variables, platform)
            self.assertEqual(folder, os.path.join(expected, "gemini-companion-api"))

    def test_the_list_of_conversations_lies_beside_it_for_each_state_folder(self) -> None:
        variables = {"XDG_CACHE_HOME": self.root, "LOCALAPPDATA": self.root}
        with mock.patch.object(sys, "platform", "linux"):
            found = [state_folder.index_folder(variables, each, []) for each in ("/a", "/b")]
            self.assertEqual({os.path.dirname(path) for path in found},
                             {os.path.join(self.root, "gemini-companion-api-index")})  # fmt: skip
            self.assertEqual(len(set(found)), 2)
            self.assertEqual(state_folder.index_folder(variables, "/a", [self.root]), "")
