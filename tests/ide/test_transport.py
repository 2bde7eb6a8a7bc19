"""The server on the wire: who may talk to it, what it answers, and how its streams live."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import http.client
import json
import os
import socket
import sys
import threading
import time
import unittest
from dataclasses import dataclass
from typing import Any, AsyncIterator, Iterator
from unittest import mock

from GeminiCompanion.companion.base import (
    connection,
    connection_shares,
    http_server,
    jsonrpc,
    log,
    unauthenticated,
)
from GeminiCompanion.companion.base.large_json import TruncatedString
from GeminiCompanion.companion.ide import answers, editor_tools, mcp, transport
from GeminiCompanion.companion.ide.clis import CLIS, GEMINI_CLI, Cli
from GeminiCompanion.companion.ide.context import ContextStore
from GeminiCompanion.companion.ide.decisions import Decision
from GeminiCompanion.companion.ide.editor import CodeKnowledge, EditorError
from GeminiCompanion.companion.ide.editor_tools import EditorTools
from GeminiCompanion.companion.ide.hooks.hook_desk import HookDesk
from GeminiCompanion.companion.ide.session import Session
from GeminiCompanion.companion.ide.sessions import Sessions
from GeminiCompanion.companion.ide.transport import Endpoint

from ..support import (
    PATIENCE,
    Background,
    Client,
    patched,
    read_all,
    read_head,
    wait_for,
)

TOKEN = "t0ken-of-the-test"
PATH = os.path.abspath(os.path.join(os.sep, "project", "a.py"))
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
# Small ones, for tests that cross them.
LARGE = 0x100000
MAX_BODY = 0x200000


@dataclass(frozen=True)
class Note:
    """A notification with a method and a value."""

    method: str
    value: Any = None

    def notification(self, cli: Cli = GEMINI_CLI) -> tuple[str, Any]:
        return self.method, self.value


def plain(message: Any) -> Any:
    """What a Note was: its number, its context, or its method."""
    method = message["method"]
    if method == "context":
        return {"context": message["params"]}
    return int(method) if method.isdigit() else method


class Desk(mcp.Desk):
    """Refuses what is called "refused", fails at what is called "bug"."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.content = ""

    async def open_diff(
        self, session: Session, path: str, content: str, sent_path: str = ""
    ) -> None:
        if content == "refused":
            raise EditorError("It cannot be shown.")
        if content == "bug":
            raise ZeroDivisionError("secret detail")
        self.opened.append(path)
        self.content = content

    async def close_diff(self, session: Session, path: str, decided: bool = True) -> str | None:
        return None


def hooks(sessions: Sessions) -> HookDesk:
    return HookDesk(sessions, lambda: 0)


def tools() -> EditorTools:
    return EditorTools(1, CodeKnowledge(), ContextStore())


class TransportTestCase(unittest.TestCase):
    """`self.client` has the token and, after `initialize`, a session."""

    def setUp(self) -> None:
        self.desk = Desk()
        self.ended: list[Session] = []
        self.contexts = 0
        self.background = Background(self.listening)
        self.addCleanup(self.background.stop)
        self.port = self.background.start()
        self.client = Client(self.port, TOKEN)

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[int]:
        self.sessions = Sessions(self.ended.append)
        endpoint = Endpoint(
            TOKEN, self.sessions, self.desk, hooks(self.sessions), tools(), self.on_stream
        )
        async with endpoint.listen_on() as port:
            yield port

    def on_stream(self, session: Session) -> None:
        self.contexts += 1
        session.send_notification(Note("context", self.contexts), passing=True)

    def session(self, client: Client | None = None) -> Session | None:
        client = client or self.client
        return self.background.call(self.sessions.find_session, client.session_id)

    def send(self, method: str, client: Client | None = None, params: Any = None) -> None:
        session = self.session(client)
        if session is None:
            self.fail("the session is gone")
        self.background.call(session.send_notification, Note(method, params))

    def assert_refused(self, answer: Any, status: int, *parts: str) -> None:
        self.assertEqual(answer.status, status, answer.body)
        self.assertRegex(answer.headers["Content-Type"], "^text/plain")
        self.assertRegex(answer.body.decode(), r"^Expected .*\.\n$")
        for part in parts:
            self.assertIn(part, answer.body.decode())

    def assert_goes_on(self) -> None:
        if "Mcp-Session-Id" not in self.client.headers:
            self.client.initialize()
        self.assertEqual(self.client.post(PING).json()["result"], {})


class WhoIsSpeaking(TransportTestCase):
    """All CLIs introduce themselves by the same name; the token tells them apart."""

    def test_each_cli_is_known_by_its_token(self) -> None:
        for cli in CLIS:
            client = Client(self.port, cli.token(TOKEN))
            client.initialize()
            session = self.session(client)
            self.assertEqual(session and session.cli, cli)

    def test_each_cli_is_told_of_a_rejection_in_its_own_word(self) -> None:
        for cli in CLIS:
            client = Client(self.port, cli.token(TOKEN))
            client.initialize()
            with client.stream() as stream:
                stream.next()
                session = self.session(client)
                if session is None:
                    self.fail("the session is gone")
                self.background.call(
                    session.send_notification, Decision(PATH, None, session.id, 0.0)
                )
                message = stream.next().message
            self.assertEqual(
                (message["method"], message["params"]), (cli.rejected, {"filePath": PATH})
            )


@unittest.skipUnless(sys.platform == "linux", "only there has a machine more loopback addresses")
class AnotherInterface(TransportTestCase):
    ADDRESS = "127.0.0.2"

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[int]:
        self.told: list[str] = []
        self.sessions = Sessions(self.ended.append)
        # Somebody has it, with a port that the endpoint shall have.
        with socket.create_server((self.ADDRESS, 0)) as other:
            self.taken = Endpoint(
                TOKEN,
                Sessions(lambda session: None),
                self.desk,
                hooks(self.sessions),
                tools(),
                self.on_stream,
                self.ADDRESS,
                self.told.append,
            )
            async with self.taken.listen_on(other.getsockname()[1]):
                self.told_of_taken = list(self.told)
        endpoint = Endpoint(
            TOKEN,
            self.sessions,
            self.desk,
            hooks(self.sessions),
            tools(),
            self.on_stream,
            self.ADDRESS,
            self.told.append,
        )
        async with endpoint.listen_on() as port:
            yield port

    def ask(self, **headers: str) -> int:
        """The status of a request that comes in by the other interface."""
        connection = http.client.HTTPConnection(self.ADDRESS, self.port, timeout=PATIENCE)
        self.addCleanup(connection.close)
        everything = {**self.client.headers, "Content-Type": "application/json", **headers}
        connection.request("POST", "/mcp", json.dumps(PING), everything)
        return connection.getresponse().status

    def test_a_cli_is_served_there_as_it_is_on_this_machine(self) -> None:
        self.client.initialize()
        self.assertEqual(self.ask(), 200)
        self.assertEqual(self.ask(Host=f"host.docker.internal:{self.port}"), 200)
        self.assert_goes_on()

    def test_without_the_token_nobody_gets_anything_there(self) -> None:
        self.client.initialize()
        self.assertEqual(self.ask(Authorization="Bearer wrong"), 401)
        self.assertEqual(self.ask(Host=f"example.com:{self.port}"), 403)
        self.assertEqual(self.ask(Origin="http://example.com"), 403)

    def test_where_it_cannot_be_had_that_is_told_and_this_machine_is_served(self) -> None:
        self.assertIn(self.ADDRESS, self.told_of_taken[0])
        self.assertIn("extra_bind_address", self.told_of_taken[0])


class WhoMayTalk(TransportTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.client.initialize()

    def test_without_the_token_nobody_gets_anything(self) -> None:
        wrong = [None, "", "Bearer", "Bearer ", TOKEN, "Basic " + TOKEN, "Bearer " + TOKEN[:-1]]
        wrong += [f"Bearer {TOKEN}x", f"Bearer {TOKEN.upper()}", "Bearer \xff\xe9"]
        asked = [("POST", value) for value in wrong]
        for method, value in (*asked, ("GET", None), ("DELETE", wrong[-1]), ("PUT", "Bearer x")):
            with self.subTest(method=method, value=value):
                body = json.dumps(PING) if method == "POST" else None
                answer = self.client.request(method, body, Authorization=value)
                self.assert_refused(answer, 401, "token")
        self.assertIsNotNone(self.session())

    def test_what_one_request_may_does_not_count_for_the_next_of_the_connection(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        self.addCleanup(connection.close)
        good = {**self.client.headers, "Content-Type": "application/json"}

        def status(headers: dict[str, str], method: str = "POST", path: str = "/mcp") -> int:
            connection.request(method, path, json.dumps(PING), headers)
            response = connection.getresponse()
            response.read()
            return response.status

        for refusal, other in (
            (401, {"Authorization": "Bearer " + TOKEN[:-1]}),
            (403, {"Host": "evil.example"}),
            (403, {"Origin": "http://evil.example"}),
            (400, {"MCP-Protocol-Version": "2000-01-01"}),
            (415, {"Content-Type": "text/plain"}),
            (406, {"Accept": "text/html"}),
        ):
            with self.subTest(refusal=refusal, other=other):
                found = [status(good), status({**good, **other}), status(good)]
                self.assertEqual(found, [200, refusal, 200])
        found = [status(good, "PUT"), status(good, path="/other"), status(good)]
        self.assertEqual(found, [405, 404, 200])

    def test_every_name_of_this_machine_is_a_host(self) -> None:
        for name in ("127.0.0.1", "localhost", "LocalHost", "[::1]", "host.docker.internal"):
            with self.subTest(name=name):
                answer = self.client.post(PING, Host=f"{name}:{self.port}")
                self.assertEqual(answer.status, 200)

    def test_any_other_host_is_refused(self) -> None:
        hosts = ["evil.example", f"evil.example:{self.port}", "127.0.0.1", "localhost", "[::1]"]
        hosts += [f"127.0.0.1:{self.port + 1}", f"127.0.0.1.evil.example:{self.port}", "::1"]
        hosts += [
            f"127.0.0.1:{self.port}.evil.example",
            f"x@127.0.0.1:{self.port}",
            f":{self.port}",
        ]
        for host in hosts:
            with self.subTest(host=host):
                self.assert_refused(self.client.post(PING, Host=host), 403, "Host")

    def test_a_whole_address_in_the_request_line_has_to_name_the_server_too(self) -> None:
        self.client.initialize()
        body = json.dumps(PING).encode()
        head = self.client.head(Content_Length=str(len(body)), Connection="close")
        for host, status in (
            (f"127.0.0.1:{self.port}", 200),
            (f"evil.example:{self.port}", 403),
            ("127.0.0.1", 403),
        ):
            with self.subTest(host=host):
                whole = head.replace(b" /mcp ", f" http://{host}/mcp ".encode(), 1)
                answer = read_all(self.client.send_raw(whole + body))
                self.assertTrue(answer.startswith(f"HTTP/1.1 {status} ".encode()), answer)

    def test_no_answer_names_the_libraries_and_their_versions(self) -> None:
        self.client.initialize()
        with self.client.stream() as stream:
            answers = [str(stream.headers).encode()]
        for data in (
            b"secret \x00 nonsense\r\n\r\n",
            self.client.head(Connection="close").replace(b"Bearer ", b"Bearer x"),
            self.client.head("DELETE", Connection="close"),
        ):
            answers.append(read_all(self.client.send_raw(data)))
        for answer in answers:
            self.assertNotRegex(answer.lower(), b"aiohttp|python")

    def test_a_request_without_a_host_is_refused(self) -> None:
        head = self.client.head("GET", Host=None, Connection="close").replace(b"/1.1", b"/1.0", 1)
        self.assertRegex(read_all(self.client.send_raw(head)), rb"^HTTP/1\.\d 403 ")

    def test_web_pages_are_refused_whatever_they_know(self) -> None:
        origins = ["http://evil.example", "null", "", f"https://127.0.0.1:{self.port}"]
        origins += ["http://127.0.0.1", f"http://127.0.0.1:{self.port}.evil.example", "file://"]
        asked = [("POST", origin) for origin in origins]
        for method, origin in (*asked, *((name, "null") for name in ("GET", "DELETE", "OPTIONS"))):
            with self.subTest(method=method, origin=origin):
                answer = self.client.request(method, Origin=origin)
                self.assert_refused(answer, 403, "Origin")

    def test_the_servers_own_origin_is_allowed(self) -> None:
        for name in ("127.0.0.1", "localhost", "LocalHost", "host.docker.internal"):
            with self.subTest(name=name):
                answer = self.client.post(PING, Origin=f"http://{name}:{self.port}")
                self.assertEqual(answer.status, 200)

    def test_a_stranger_learns_nothing_from_paths_and_methods(self) -> None:
        stranger = Client(self.port, "wrong")
        for method, path in (("GET", "/"), ("PUT", "/mcp"), ("GET", "/no"), ("POST", "/mcp")):
            with self.subTest(method=method, path=path):
                self.assertEqual(stranger.request(method, path=path).status, 401)

    def test_no_answer_lets_a_web_page_read_it(self) -> None:
        for answer in (self.client.post(PING), self.client.request("OPTIONS")):
            for name in answer.headers:
                self.assertFalse(name.lower().startswith("access-control"), name)

    def test_a_stranger_is_refused_before_his_body_is_read(self) -> None:
        head = self.client.head(Authorization="Bearer no", Content_Length="1000000")
        with self.client.send_raw(head) as connection:
            self.assertIn(b" 401 ", read_head(connection))

    @unittest.skipUnless(sys.platform == "linux", "elsewhere 127.0.0.2 does not exist")
    def test_no_other_address_of_this_machine_is_served(self) -> None:
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", self.port), timeout=5).close()


class Strangers(TransportTestCase):
    """Whoever has not shown the token."""

    def test_a_connection_that_says_nothing_is_ended(self) -> None:
        with mock.patch.object(unauthenticated, "TIME_LIMIT", 0.05):
            self.assertEqual(read_all(self.client.send_raw(b"")), b"")
        self.assert_goes_on()

    def test_one_that_speaks_slowly_is_ended_at_the_same_moment(self) -> None:
        with mock.patch.object(unauthenticated, "TIME_LIMIT", 0.1):
            with self.client.send_raw(self.client.head().rstrip() + b"\r\n") as connection:
                connection.settimeout(0.01)
                started = time.monotonic()
                while self.is_open(connection):
                    self.assertLess(time.monotonic() - started, PATIENCE)

    def is_open(self, connection: socket.socket) -> bool:
        """Says one byte more."""
        try:
            connection.sendall(b"x")
            return bool(connection.recv(1))
        except socket.timeout:
            return True
        except ConnectionError:
            return False

    def test_one_that_was_refused_gets_no_more_time(self) -> None:
        head = self.client.head(Authorization="Bearer no", Content_Length="0")
        # A busy machine needs more until the head is there.
        for seconds in (0.1, 1.0, 10.0):
            with mock.patch.object(unauthenticated, "TIME_LIMIT", seconds):
                answer = read_all(self.client.send_raw(head))
            if answer:
                break
        self.assertIn(b" 401 ", answer)

    def test_one_is_listened_to_for_so_many_bytes_and_no_further(self) -> None:
        header = b"X-Long: " + b"x" * 4000 + b"\r\n"
        head = self.client.head("GET").split(b"\r\n", 1)
        with mock.patch.object(unauthenticated, "TIME_LIMIT", 0.1):
            late = head[0] + b"\r\n" + 5 * header + head[1]
            self.assertGreater(late.index(b"Authorization"), unauthenticated.MAX_BYTES)
            self.assertEqual(read_all(self.client.send_raw(late)), b"")
        self.assert_goes_on()

    def test_requests_without_the_token_are_not_taken_in_without_end(self) -> None:
        request = b"GET /mcp HTTP/1.1\r\nHost: x\r\n\r\n"
        # A busy machine needs more for all that it takes in.
        for seconds in (0.5, 5.0, 50.0):
            with mock.patch.object(unauthenticated, "MAX_BYTES", 10 * len(request)):
                with mock.patch.object(unauthenticated, "TIME_LIMIT", seconds):
                    answers = read_all(self.client.send_raw(500 * request))
            if answers.count(b"HTTP/1.1 403 ") >= 10:
                break
        self.assertEqual(answers.count(b"HTTP/1.1 403 "), 10)
        self.assert_goes_on()

    def test_what_waited_behind_the_token_is_not_lost(self) -> None:
        self.client.initialize()
        content = "".join(map(str, range(200_000)))
        arguments = {"filePath": PATH, "newContent": content}
        body = json.dumps(
            {**PING, "method": "tools/call", "params": {"name": "openDiff", "arguments": arguments}}
        )
        head = self.client.head(Content_Length=str(len(body)), Connection="close")
        for heard in (len(head), len(head) + 1, len(head) + 100_000):
            with self.subTest(heard=heard), mock.patch.object(unauthenticated, "MAX_BYTES", heard):
                answer = read_all(self.client.send_raw(head + body.encode()))
                self.assertRegex(answer, b"^HTTP/1.1 200 ")
                self.assertEqual(self.desk.content, content)
                self.desk.content = ""

    def test_many_of_them_cost_the_oldest_of_them_and_nobody_else(self) -> None:
        self.client.initialize()
        with contextlib.ExitStack() as stack, self.client.stream() as stream:
            for _ in range(3 * transport.MAX_UNAUTHENTICATED):
                stack.enter_context(self.client.send_raw(b"GET "))
            self.send("1")
            self.assertEqual(plain(stream.next().message), {"context": 1})
            self.assertEqual(plain(stream.next().message), 1)
            self.assert_goes_on()

    def test_whoever_has_the_token_keeps_his_connection(self) -> None:
        self.client.initialize()
        with mock.patch.object(unauthenticated, "TIME_LIMIT", 0.3), self.client.stream() as stream:
            self.assertEqual(read_all(self.client.send_raw(b"")), b"")
            self.send("1")
            stream.next()
            self.assertEqual(plain(stream.next().message), 1)

    def test_more_connections_with_the_token_than_the_limit_are_refused(self) -> None:
        self.client.initialize()
        with mock.patch.object(connection_shares, "MAX_CONNECTIONS", 2):
            with self.client.stream(), self.client.stream():
                self.assert_refused(self.client.post(PING), 503, "at most 2")
        wait_for(lambda: self.client.post(PING).status == 200)

    def test_what_is_no_http_is_not_quoted_in_the_log(self) -> None:
        recent = log.RecentLines()
        log.logger.addHandler(recent)
        self.addCleanup(log.logger.removeHandler, recent)
        head = self.client.head(Connection="close")
        read_all(self.client.send_raw(head.replace(b"Bearer", b"Bea\x01\x00rer")))
        read_all(self.client.send_raw(head.replace(b"Accept:", b"Acc ept\x00 ")))
        self.assertNotIn(TOKEN, "\n".join(recent.lines()))


class WhatMayBeAsked(TransportTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.client.initialize()

    def test_only_one_path_is_served(self) -> None:
        for path in ("/", "/mcp/", "/mcpx", "/MCP", "/sse", "/mcp/x", "//mcp"):
            with self.subTest(path=path):
                body = json.dumps(PING)
                self.assert_refused(self.client.request("POST", body, path), 404, "/mcp")

    def test_a_query_behind_the_path_changes_nothing(self) -> None:
        answer = self.client.request("POST", json.dumps(PING), "/mcp?a=b")
        self.assertEqual(answer.status, 200)

    def test_other_methods_are_refused_with_those_that_are_allowed(self) -> None:
        for method in ("PUT", "PATCH", "OPTIONS", "TRACE"):
            with self.subTest(method=method):
                answer = self.client.request(method)
                self.assert_refused(answer, 405, "POST, GET, DELETE")
                self.assertEqual(answer.headers["Allow"], "POST, GET, DELETE")
        self.assertEqual(self.client.request("HEAD").status, 405)

    def test_a_post_that_is_no_json_is_refused(self) -> None:
        types = [None, "", "text/plain", "application/x-www-form-urlencoded", "application/jsonx"]
        types += ["multipart/form-data; boundary=x", "json", "application/json-rpc"]
        for value in types:
            with self.subTest(value=value):
                answer = self.client.post(PING, Content_Type=value)
                self.assert_refused(answer, 415, "application/json")

    def test_json_may_come_with_parameters_and_in_capitals(self) -> None:
        for value in (
            "application/json; charset=utf-8",
            "APPLICATION/JSON",
            "application/json;x=y",
        ):
            with self.subTest(value=value):
                self.assertEqual(self.client.post(PING, Content_Type=value).status, 200)

    def test_a_post_that_does_not_take_json_is_refused(self) -> None:
        for value in ("text/html", "text/event-stream", "text/*", "image/png, text/plain"):
            with self.subTest(value=value):
                answer = self.client.post(PING, Accept=value)
                self.assert_refused(answer, 406, "application/json")

    def test_a_get_that_does_not_take_a_stream_is_refused(self) -> None:
        for value in ("text/html", "application/json", "application/*"):
            with self.subTest(value=value):
                answer = self.client.request("GET", Accept=value)
                self.assert_refused(answer, 406, "text/event-stream")

    def test_json_is_taken_by_name_by_wildcard_and_by_silence(self) -> None:
        for value in ("application/json", "*/*", "application/*;q=0.5", "text/html, */*", None):
            with self.subTest(value=value):
                self.assertEqual(self.client.post(PING, Accept=value).status, 200)

    def test_the_three_revisions_and_none_at_all_may_stand_in_the_header(self) -> None:
        for version in (*mcp.VERSIONS, None):
            with self.subTest(version=version):
                answer = self.client.post(PING, MCP_Protocol_Version=version)
                self.assertEqual(answer.status, 200)

    def test_another_revision_in_the_header_is_refused_with_those_that_are_known(self) -> None:
        for version in ("2024-11-05", "2099-01-01", "", "latest"):
            for method, id in (("POST", 1), ("GET", None), ("DELETE", None)):
                with self.subTest(version=version, method=method):
                    body = json.dumps(PING) if id else None
                    answer = self.client.request(method, body, MCP_Protocol_Version=version)
                    self.assertEqual(
                        (answer.status, answer.headers["Content-Type"]), (400, "application/json")
                    )
                    told = answer.json()
                    self.assertEqual((told["jsonrpc"], told["id"]), ("2.0", id))
                    self.assertEqual(
                        (told["error"]["code"], told["error"]["data"]),
                        (-32022, {"supported": list(mcp.SUPPORTED), "requested": version}),
                    )

    def test_without_a_session_nothing_but_initialize_is_answered(self) -> None:
        for method, body in (("POST", json.dumps(PING)), ("GET", None), ("DELETE", None)):
            with self.subTest(method=method):
                answer = self.client.request(method, body, Mcp_Session_Id=None)
                self.assert_refused(answer, 400, "Mcp-Session-Id")

    def test_an_unknown_session_is_not_found(self) -> None:
        for method, body in (("POST", json.dumps(PING)), ("GET", None), ("DELETE", None)):
            for id in ("", "unknown", self.client.session_id + "x"):
                with self.subTest(method=method, id=id):
                    answer = self.client.request(method, body, Mcp_Session_Id=id)
                    self.assert_refused(answer, 404, "initialize")


class Bodies(TransportTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.client.initialize()
        for name, value in (("LARGE", LARGE), ("MAX_BODY", MAX_BODY)):
            patched(self, mock.patch.object(transport, name, value))

    def propose(self, size: int) -> Any:
        """An openDiff whose body has so many bytes."""
        arguments = {"filePath": PATH, "newContent": ""}
        params = {"name": "openDiff", "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        arguments["newContent"] = "x" * (size - len(json.dumps(message)))
        return self.client.post(message).json()

    def test_a_body_of_the_limit_is_read(self) -> None:
        self.assertEqual(self.propose(MAX_BODY)["result"], {"content": []})

    def test_a_text_is_whole_up_to_a_large_body_and_an_excerpt_beyond_it(self) -> None:
        for size, kind in ((LARGE, str), (LARGE + 1, TruncatedString), (MAX_BODY, TruncatedString)):
            with self.subTest(size=size):
                self.assertEqual(self.propose(size)["result"], {"content": []})
                self.assertIs(type(self.desk.content), kind)
                self.assertEqual(set(self.desk.content), {"x"})

    def test_a_path_that_is_an_excerpt_is_the_tools_error(self) -> None:
        result = self.client.tool("closeDiff", filePath="/" + "x" * LARGE)
        self.assertTrue(result["isError"])
        self.assertRegex(result["content"][0]["text"], "^Expected filePath .{1,80}$")

    def test_a_large_body_with_little_text_is_refused(self) -> None:
        body = json.dumps(PING).encode().ljust(MAX_BODY)
        with mock.patch.object(transport, "MAX_BODY", 2 * MAX_BODY):
            self.assert_refused(self.client.post(body * 2), 413, "fewer values")
        self.assert_goes_on()

    def test_a_body_that_does_not_come_is_given_up(self) -> None:
        head = self.client.head(Content_Length="1000")
        with mock.patch.object(http_server, "BODY_TIME", 0.05), mock.patch.object(
            connection, "LINGERING", 0.5
        ):
            # To the end of the connection, which has no further use.
            answer = read_all(self.client.send_raw(head + b'{"half":'))
        self.assertIn(b" 408 ", answer)
        self.assertIn(b"connection: close", answer.lower())
        self.assert_goes_on()

    def test_a_larger_one_is_refused_by_its_length_before_it_is_sent(self) -> None:
        with self.client.send_raw(self.client.head(Content_Length=str(MAX_BODY + 1))) as connection:
            head = read_head(connection)
            self.assertIn(b" 413 ", head)
            self.assertIn(b"connection: close", head.lower())
            self.assertIn(str(MAX_BODY).encode(), connection.recv(1000))

    def test_a_larger_one_is_refused_where_its_length_is_not_told(self) -> None:
        chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
        head = self.client.head(Transfer_Encoding="chunked")
        with self.client.send_raw(head) as connection:
            for _ in range(MAX_BODY // 0x100000 + 1):
                connection.sendall(chunk)
            self.assertIn(b" 413 ", read_head(connection))
        self.assert_goes_on()

    def test_a_compressed_body_is_refused_unread(self) -> None:
        for body in (json.dumps(PING).encode(), gzip.compress(b" " * MAX_BODY, 1)):
            for coding in ("gzip", "deflate", "br", "nonsense"):
                with self.subTest(coding=coding, size=len(body)):
                    answer = self.client.post(body, Content_Encoding=coding)
                    self.assert_refused(answer, 415, "Content-Encoding")
        self.assertEqual(self.client.post(PING, Content_Encoding="identity").status, 200)

    def test_a_chunked_body_is_read(self) -> None:
        body = b"".join(b"1\r\n%c\r\n" % byte for byte in json.dumps(PING).encode()) + b"0\r\n\r\n"
        head = self.client.head(Transfer_Encoding="chunked", Connection="close")
        self.assertIn(b" 200 ", read_all(self.client.send_raw(head + body)))

    def test_a_client_that_asks_before_it_sends_is_told_to_go_on(self) -> None:
        body = json.dumps(PING).encode()
        for value in ("100-continue", "100-Continue"):
            with self.subTest(value=value):
                head = self.client.head(Content_Length=str(len(body)), Expect=value)
                with self.client.send_raw(head) as connection:
                    self.assertEqual(read_head(connection), b"HTTP/1.1 100 Continue\r\n\r\n")
                    connection.sendall(body)
                    self.assertIn(b" 200 ", read_head(connection))

    def test_a_client_that_asks_and_is_refused_is_not_told_to_go_on(self) -> None:
        for status, headers in (
            (401, {"Authorization": "Bearer no", "Content_Length": "10"}),
            (415, {"Content_Type": "text/plain", "Content_Length": "10"}),
            (413, {"Content_Length": str(MAX_BODY + 1)}),
        ):
            with self.subTest(status=status):
                head = self.client.head(Expect="100-continue", **headers)
                with self.client.send_raw(head) as connection:
                    self.assertIn(b" %d " % status, read_head(connection))

    def test_broken_http_is_refused_and_the_server_goes_on(self) -> None:
        chunked = self.client.head(Transfer_Encoding="chunked", Connection="close")
        for data in (
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
            b"POST\r\n\r\n",
            b"POST /mcp HTTP/9.9\r\n\r\n",
            b"POST /mcp HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
            chunked + b"zz\r\nx\r\n0\r\n\r\n",
        ):
            with self.subTest(data=data):
                self.assertRegex(read_all(self.client.send_raw(data)), rb"^HTTP/1\.\d 400 ")
        self.assert_goes_on()

    def test_a_client_that_leaves_within_its_body_disturbs_nobody(self) -> None:
        head = self.client.head(Content_Length="1000")
        with self.nothing_logged():
            self.client.send_raw(head + b'{"half":').close()
            self.assert_goes_on()

    @contextlib.contextmanager
    def nothing_logged(self) -> Iterator[None]:
        """Nothing of ours is logged from warnings upward."""
        recent = log.RecentLines()
        recent.setLevel("WARNING")
        log.logger.addHandler(recent)
        try:
            yield
        finally:
            log.logger.removeHandler(recent)
        self.assertEqual(recent.lines(), [])


class Initialize(TransportTestCase):
    def test_every_revision_is_agreed_on_and_an_unknown_one_is_answered_with_a_known(self) -> None:
        for wanted, agreed in (
            ("2025-03-26", "2025-03-26"),
            ("2025-06-18", "2025-06-18"),
            ("2025-11-25", "2025-11-25"),
            ("1999-01-01", "2025-06-18"),
        ):
            with self.subTest(wanted=wanted):
                client = Client(self.port, TOKEN)
                self.assertEqual(client.initialize(wanted)["protocolVersion"], agreed)
                session = self.session(client)
                self.assertEqual(session and session.protocol_version, agreed)
                self.assertEqual(client.call("ping")["result"], {})

    def test_the_answer_is_json_and_names_a_new_session(self) -> None:
        message = {**PING, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}
        answers = [self.client.post(message) for _ in range(2)]
        self.assertEqual({answer.status for answer in answers}, {200})
        self.assertEqual(len({answer.headers["Mcp-Session-Id"] for answer in answers}), 2)
        self.assertEqual(answers[0].headers["Content-Type"], "application/json")
        self.assertEqual(answers[0].json()["id"], 1)

    def test_without_a_revision_it_is_refused_and_no_session_begins(self) -> None:
        answer = self.client.post({**PING, "method": "initialize"})
        self.assertEqual((answer.status, answer.json()["id"]), (400, 1))
        self.assertEqual(answer.json()["error"]["code"], jsonrpc.INVALID_PARAMS)
        self.assertEqual(self.background.call(len, self.sessions), 0)

    def test_as_a_notification_it_begins_nothing(self) -> None:
        answer = self.client.post({"jsonrpc": "2.0", "method": "initialize"})
        self.assert_refused(answer, 400, "Mcp-Session-Id")

    def test_a_client_info_of_any_shape_is_taken(self) -> None:
        shapes: tuple[Any, ...] = (None, "x", [], {"version": None}, {"version": "%s %d"})
        for info in shapes:
            with self.subTest(info=info):
                params = {"protocolVersion": "2025-06-18", "clientInfo": info}
                answer = self.client.post({**PING, "method": "initialize", "params": params})
                self.assertEqual(answer.status, 200)


class Messages(TransportTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.client.initialize()

    def test_a_body_that_is_no_message_is_answered_with_the_error_and_the_server_goes_on(
        self,
    ) -> None:
        begin = b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": '
        for body, code in (
            (b"", jsonrpc.PARSE_ERROR),
            (b"{", jsonrpc.PARSE_ERROR),
            (b"\xef\xbb\xbf" + json.dumps(PING).encode(), jsonrpc.PARSE_ERROR),
            (begin + b'{"a": "\xff"}}', jsonrpc.PARSE_ERROR),
            (begin + b'{"a": "\\ud800"}}', jsonrpc.PARSE_ERROR),
            (begin + b'{"a": ' + b"9" * 100_000 + b"}}", jsonrpc.PARSE_ERROR),
            (begin + b'{"a": NaN}}', jsonrpc.PARSE_ERROR),
            (begin + b"[" * 200_000, jsonrpc.PARSE_ERROR),
            (b"[]", jsonrpc.INVALID_REQUEST),
            (b"null", jsonrpc.INVALID_REQUEST),
            (b'"ping"', jsonrpc.INVALID_REQUEST),
            (b"{}", jsonrpc.INVALID_REQUEST),
            (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', jsonrpc.INVALID_REQUEST),
        ):
            with self.subTest(body=body[:80]):
                answer = self.client.post(body)
                self.assertEqual(answer.status, 400)
                self.assertEqual(answer.headers["Content-Type"], "application/json")
                self.assertIsNone(answer.json()["id"])
                self.assertEqual(answer.json()["error"]["code"], code)
        self.assert_goes_on()

    def test_a_request_of_wrong_types_is_refused_under_its_id(self) -> None:
        for members in ({"method": 5}, {"params": [1]}, {"params": None}, {"jsonrpc": "1.0"}):
            with self.subTest(members=members):
                answer = self.client.post({**PING, "id": "mine", **members})
                self.assertEqual((answer.status, answer.json()["id"]), (400, "mine"))
                self.assertEqual(answer.json()["error"]["code"], jsonrpc.INVALID_REQUEST)

    def test_unknown_methods_and_tools_keep_the_connection(self) -> None:
        answer = self.client.post({**PING, "method": "nope"})
        self.assertEqual((answer.status, answer.json()["error"]["code"]), (200, -32601))
        answer = self.client.post({**PING, "method": "tools/call", "params": {"name": "nope"}})
        self.assertEqual((answer.status, answer.json()["error"]["code"]), (200, -32602))

    def test_a_relative_path_and_one_with_a_nul_are_the_tools_errors(self) -> None:
        for path in ("a.py", PATH + "\0"):
            with self.subTest(path=path):
                result = self.client.tool("openDiff", filePath=path, newContent="")
                self.assertIs(result["isError"], True)
        self.assertEqual(self.desk.opened, [])

    def test_a_tool_call_is_answered_with_its_result(self) -> None:
        result = self.client.tool("openDiff", filePath=PATH, newContent="x")
        self.assertEqual((result, self.desk.opened), ({"content": []}, [PATH]))

    def test_what_a_client_asked_for_is_done_where_it_leaves_before_the_answer(self) -> None:
        gate = self.background.call(asyncio.Event)
        began = threading.Event()

        async def open_diff(session: Session, path: str, content: str, sent_path: str) -> None:
            began.set()
            await gate.wait()
            self.desk.opened.append(path)

        params = {"name": "openDiff", "arguments": {"filePath": PATH, "newContent": "x"}}
        message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
        body = json.dumps(message).encode()
        head = self.client.head(Content_Length=str(len(body)))
        with mock.patch.object(self.desk, "open_diff", open_diff):
            with self.client.send_raw(head + body):
                self.assertTrue(began.wait(PATIENCE))
            # By the time that this is answered, the server knows that the first one is gone.
            self.assert_goes_on()
            self.background.call(gate.set)
            wait_for(lambda: self.desk.opened == [PATH])

    def test_notifications_and_responses_are_accepted_without_a_body(self) -> None:
        for message in (
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "method": "unknown"},
            {"jsonrpc": "2.0", "id": 5, "result": {}},
            {"jsonrpc": "2.0", "id": 5, "error": {"code": 1, "message": "m"}},
        ):
            with self.subTest(message=message):
                answer = self.client.post(message)
                self.assertEqual((answer.status, answer.body), (202, b""))

    def test_a_bug_of_ours_is_logged_once_and_keeps_the_connection(self) -> None:
        arguments = {"filePath": PATH, "newContent": "bug"}
        message = {**PING, "id": "mine", "method": "tools/call"}
        message["params"] = {"name": "openDiff", "arguments": arguments}
        with self.assertLogs(log.logger, "ERROR") as logs:
            answer = self.client.post(message)
        self.assertEqual((answer.status, answer.json()["id"]), (200, "mine"))
        self.assertEqual(answer.json()["error"]["code"], jsonrpc.INTERNAL_ERROR)
        self.assertNotIn(b"detail", answer.body)
        self.assertEqual(len(logs.output), 1)
        self.assertRegex(logs.output[0], "(?s)Traceback.*ZeroDivisionError: secret detail")
        self.assert_goes_on()

    def test_the_log_holds_neither_the_token_nor_the_text_of_files(self) -> None:
        with self.assertLogs(log.logger, "DEBUG") as logs:
            self.client.initialize()
            self.client.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
            self.client.tool("openDiff", filePath=PATH, newContent="text of a file")
            self.client.post(PING, Authorization=None)
        self.assertNotIn(TOKEN, "".join(logs.output))
        self.assertNotIn("text of a file", "".join(logs.output))


class TheToolServer(TransportTestCase):
    """The server `editor`, beside the companion's own."""

    def ask(self, body: Any, client: Client | None = None) -> Any:
        return (client or Client(self.port, TOKEN)).request("POST", json.dumps(body), "/tools")

    def test_its_requests_need_no_session_and_those_of_the_companion_do(self) -> None:
        answer = self.ask(PING)
        self.assertEqual((answer.status, answer.json()["result"]), (200, {}))
        self.assertIsNone(answer.headers["Mcp-Session-Id"])
        self.assert_refused(Client(self.port, TOKEN).request("POST", json.dumps(PING)), 400)

    def test_each_server_has_its_own_tools(self) -> None:
        asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        names = [tool["name"] for tool in self.ask(asked).json()["result"]["tools"]]
        self.assertIn("definition", names)
        self.assertNotIn("openDiff", names)

    def test_who_lacks_the_token_is_refused(self) -> None:
        self.assert_refused(self.ask(PING, Client(self.port, TOKEN[:-1])), 401)

    def test_it_has_no_stream_and_takes_no_batch(self) -> None:
        answer = Client(self.port, TOKEN).request("GET", None, "/tools")
        self.assertEqual((answer.status, answer.headers["Allow"]), (405, "POST"))
        answer = self.ask([PING])
        self.assertEqual((answer.status, answer.json()["error"]["code"]), (400, -32600))

    def test_a_notification_is_taken_without_an_answer(self) -> None:
        answer = self.ask({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.assertEqual((answer.status, answer.body), (202, b""))

    def test_a_bug_costs_one_answer(self) -> None:
        asked = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        with mock.patch.object(editor_tools, "answer_message", side_effect=ZeroDivisionError):
            answer = self.ask(asked)
        self.assertEqual((answer.status, answer.json()["error"]["code"]), (200, -32603))
        self.assertEqual(self.ask(asked).json()["result"], {})


class Batches(TransportTestCase):
    def test_the_revision_with_batches_answers_each_request_in_order(self) -> None:
        self.client.initialize("2025-03-26")
        answer = self.client.post(
            [
                PING,
                {"jsonrpc": "2.0", "method": "notifications/initialized"},
                17,
                {"jsonrpc": "2.0", "id": 2, "method": "nope"},
                {"jsonrpc": "2.0", "id": 3, "method": "tools/list"},
            ]
        )
        self.assertEqual(answer.status, 200)
        first, second, third, fourth = answer.json()
        self.assertEqual(first, {"jsonrpc": "2.0", "id": 1, "result": {}})
        self.assertEqual((second["id"], second["error"]["code"]), (None, jsonrpc.INVALID_REQUEST))
        self.assertEqual((third["id"], third["error"]["code"]), (2, jsonrpc.METHOD_NOT_FOUND))
        self.assertEqual((fourth["id"], len(fourth["result"]["tools"])), (3, 2))

    def test_a_batch_of_nothing_but_notifications_is_accepted_without_a_body(self) -> None:
        self.client.initialize("2025-03-26")
        answer = self.client.post([{"jsonrpc": "2.0", "method": "n"}] * 3)
        self.assertEqual((answer.status, answer.body), (202, b""))

    def test_a_batch_of_one_is_answered_with_an_array(self) -> None:
        self.client.initialize("2025-03-26")
        self.assertEqual(len(self.client.post([PING]).json()), 1)

    def test_an_empty_batch_is_refused_with_one_error(self) -> None:
        self.client.initialize("2025-03-26")
        answer = self.client.post([])
        self.assertEqual((answer.status, answer.json()["error"]["code"]), (400, -32600))

    def test_the_revisions_without_batches_refuse_them_whole(self) -> None:
        for version in ("2025-06-18", "2025-11-25"):
            with self.subTest(version=version):
                self.client.initialize(version)
                answer = self.client.post([PING])
                self.assertEqual((answer.status, answer.json()["error"]["code"]), (400, -32600))
                self.assertIn(version, answer.json()["error"]["message"])

    def test_a_session_cannot_begin_within_a_batch(self) -> None:
        message = {**PING, "method": "initialize", "params": {"protocolVersion": "2025-03-26"}}
        self.assert_refused(self.client.post([message]), 400, "Mcp-Session-Id")
        self.client.initialize("2025-03-26")
        (answer,) = self.client.post([message]).json()
        self.assertEqual(answer["error"]["code"], jsonrpc.METHOD_NOT_FOUND)
        self.assertEqual(self.background.call(len, self.sessions), 1)

    def test_a_bug_within_a_batch_spoils_only_its_own_answer(self) -> None:
        self.client.initialize("2025-03-26")
        call = {"name": "openDiff", "arguments": {"filePath": PATH, "newContent": "bug"}}
        with self.assertLogs(log.logger, "ERROR"):
            answer = self.client.post([{**PING, "method": "tools/call", "params": call}, PING])
        first, second = answer.json()
        self.assertEqual(first["error"]["code"], jsonrpc.INTERNAL_ERROR)
        self.assertEqual(second["result"], {})


class Streams(TransportTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.client.initialize()

    def messages(self, stream: Any, count: int) -> list[Any]:
        return [plain(stream.next().message) for _ in range(count)]

    def test_a_stream_begins_with_a_retry_time_and_the_context(self) -> None:
        with self.client.stream() as stream:
            event = stream.next()
            self.assertEqual(stream.status, 200)
            self.assertEqual(stream.headers["Content-Type"], "text/event-stream")
            self.assertIn("no-cache", stream.headers["Cache-Control"])
            self.assertEqual(stream.retry, transport.RETRY)
            self.assertEqual(
                (event.fields["event"], plain(event.message)), ("message", {"context": 1})
            )

    def test_every_event_has_an_id_that_is_larger_than_those_before(self) -> None:
        with self.client.stream() as stream:
            ids = [stream.next().id]
            for number in range(3):
                self.send(str(number))
                ids.append(stream.next().id)
        self.assertEqual(ids, sorted(set(ids)))

    def test_text_with_line_breaks_and_signs_of_every_kind_is_one_event(self) -> None:
        params = {"text": "a\n\nb\r\ndata: c\u2028\U0001f600"}
        with self.client.stream() as stream:
            stream.next()
            self.send("m", params=params)
            self.assertEqual(stream.next().message["params"], params)

    def test_a_second_stream_replaces_the_first_which_ends_in_good_order(self) -> None:
        with self.client.stream() as first:
            first.next()
            with self.client.stream() as second:
                second.next()
                self.assertTrue(first.ended())
                self.send("1")
                self.assertEqual(self.messages(second, 1), [1])

    def test_a_stream_that_resumes_gets_exactly_the_decisions_that_it_missed(self) -> None:
        with self.client.stream() as stream:
            stream.next()
            for number in range(1, 5):
                self.send(str(number))
            seen = [stream.next() for _ in range(4)]
        self.send("5")
        with self.client.stream(Last_Event_ID=str(seen[1].id)) as stream:
            self.assertEqual(self.messages(stream, 4), [3, 4, 5, {"context": 2}])
            self.send("6")
            self.assertEqual(self.messages(stream, 1), [6])

    def test_an_event_id_that_was_never_given_is_ignored(self) -> None:
        for number, value in enumerate(("x", "-1", "99999", "9" * 100, "", "1.5", "\xb2"), 1):
            with self.subTest(value=value):
                with self.client.stream(Last_Event_ID=value) as stream:
                    self.assertEqual(self.messages(stream, 1), [{"context": number}])

    def test_a_silent_stream_is_kept_open_by_comments(self) -> None:
        with mock.patch.object(answers, "KEEP_ALIVE", 0.01), self.client.stream() as stream:
            stream.next()
            self.assertEqual([stream.comment(), stream.comment()], [": keep-alive"] * 2)
            self.send("1")
            self.assertEqual(self.messages(stream, 1), [1])

    def test_a_client_that_leaves_takes_its_stream_with_it_and_not_its_session(self) -> None:
        stream = self.client.stream()
        stream.next()
        stream.close()
        session = self.session()
        wait_for(lambda: session is not None and session.stream is None)
        self.assert_goes_on()

    def test_a_client_that_leaves_as_its_stream_begins_is_no_failure(self) -> None:
        self.client.initialize()
        recent = log.RecentLines()
        log.logger.addHandler(recent)
        self.addCleanup(log.logger.removeHandler, recent)
        for step in ("prepare", "write"):
            with self.subTest(step=step):
                left = mock.patch.object(
                    transport.StreamResponse, step, side_effect=ConnectionResetError
                )
                with left as begun, self.client.send_raw(self.client.head("GET")):
                    wait_for(lambda: begun.called)
                # The next stream is as ever.
                with self.client.stream() as stream:
                    stream.next()
        self.assertEqual([line for line in recent.lines() if "ERROR" in line], [])

    def test_a_reader_that_stalls_loses_its_stream_and_nothing_else(self) -> None:
        huge = "x" * 10_000_000
        with mock.patch.object(answers, "STALLED", 0.05), self.client.stream() as stream:
            stream.next()
            self.send(huge)
            session = self.session()
            wait_for(lambda: session is not None and session.stream is None)
        with self.client.stream() as stream:
            self.assertEqual(len(self.messages(stream, 1)[0]), 10_000_000)

    def test_delete_ends_the_session_and_its_stream_in_good_order(self) -> None:
        with self.client.stream() as stream:
            stream.next()
            self.send("1")
            answer = self.client.request("DELETE")
            self.assertEqual((answer.status, answer.body), (204, b""))
            self.assertEqual(self.messages(stream, 1), [1])
            self.assertTrue(stream.ended())
        self.assertEqual(self.client.post(PING).status, 404)
        self.assertEqual(self.client.request("DELETE").status, 404)
        wait_for(lambda: len(self.ended) == 1)

    def test_delete_of_a_session_without_a_stream_ends_it(self) -> None:
        self.assertEqual(self.client.request("DELETE").status, 204)
        self.assertEqual(len(self.ended), 1)


class TheEnd(TransportTestCase):
    def test_streams_end_in_good_order_with_all_that_was_sent(self) -> None:
        self.client.initialize()
        other = Client(self.port, TOKEN)
        other.initialize()
        with self.client.stream() as one, other.stream() as two:
            one.next()
            two.next()
            self.send("1")
            self.background.stop()
            self.assertEqual(plain(one.next().message), 1)
            self.assertTrue(one.ended())
            self.assertTrue(two.ended())
        self.assertEqual(len(self.ended), 2)

    def test_nothing_listens_afterwards(self) -> None:
        self.background.stop()
        with self.assertRaises(ConnectionRefusedError):
            self.client.request("GET")

    def test_connections_that_idle_or_never_finish_do_not_hold_it_up(self) -> None:
        self.client.initialize()
        half = self.client.head(Content_Length="1000") + b"{"
        with self.client.send_raw(b""), self.client.send_raw(half), self.client.stream() as stalled:
            self.send("x" * 10_000_000)
            began = time.monotonic()
            self.background.stop()
            self.assertLess(time.monotonic() - began, PATIENCE)
            self.assertEqual(stalled.status, 200)

    def test_a_port_that_is_taken_is_said_by_an_error(self) -> None:
        @contextlib.asynccontextmanager
        async def again() -> AsyncIterator[int]:
            sessions = Sessions(lambda _: None)
            endpoint = Endpoint(
                TOKEN, sessions, self.desk, hooks(sessions), tools(), lambda _: None
            )
            with self.assertRaises(OSError):
                async with endpoint.listen_on(self.port):
                    self.fail("the port was free")
            yield 0

        background = Background(again)
        background.start()
        background.stop()
        self.assert_goes_on()
