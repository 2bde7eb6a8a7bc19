"""What comes over the wire from somebody who means harm, or is broken: the server stays as it is.

A few hundred requests, the same ones each time; `make fuzz` sends FUZZ times as many, new ones.
FUZZ_SEED sends those of an earlier run.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import random
import re
import socket
import threading
import tracemalloc
import unittest
from typing import Any, AsyncIterator, Callable, Iterator
from unittest import mock

from GeminiCompanion.companion.base import connection, http_server, unauthenticated
from GeminiCompanion.companion.ide import sessions
from GeminiCompanion.companion.ide.workspace import Workspace

from ..support import (
    PATIENCE,
    Background,
    Client,
    EventStream,
    FakeEditor,
    StatelessClient,
    read_all,
    temp_folder,
    wait_for,
)

ROUNDS = int(os.environ.get("FUZZ", "1"))
SEED = int(os.environ.get("FUZZ_SEED", 20261121 if ROUNDS == 1 else random.randrange(2**32)))
if ROUNDS > 1:
    print(f"seed {SEED}", flush=True)
HTTP_REQUESTS = 400 * ROUNDS
MESSAGES = 450 * ROUNDS
# Seconds for a connection to be answered or ended.
LIMIT = 60.0
# Bytes that a server may have gained over a hundred messages for each round.
GAIN = 64 * 1024 * ROUNDS

JUNK = [
    b"\0", b"\r", b"\n", b"\r\n", b"\r\n\r\n", b" ", b"\t", b":", b"\xff", b"\xed\xa0\x80",
    b"\xe2\x80\xa8", b"0", b"-1", b"1e9", b"99999999999999999999", b"0x10", b";", b",", b"chunked",
    b"gzip", b"A" * 5000, b"A" * 70000, b"%00", b"..", b"//", b"?", b"#", b"\x16\x03\x01",
]  # fmt: skip
HEADERS = [
    b"Content-Length: 5", b"Content-Length: 0", b"Content-Length: -5", b"Content-Length: 5, 6",
    b"Content-Length: 99999999999999999999", b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: chunked, identity", b"Transfer-Encoding: xchunked",
    b"Transfer-Encoding: gzip, chunked", b"Transfer-Encoding:\tchunked", b"Connection: upgrade",
    b"Upgrade: h2c", b"Upgrade: websocket", b"Expect: 100-continue", b"Expect: nothing",
    b"Content-Encoding: gzip", b"Content-Encoding: deflate", b"Range: bytes=0-1",
    b"Last-Event-ID: 1", b"Last-Event-ID: -1", b"Last-Event-ID: 99999999999999999999",
    b"Last-Event-ID: \xff", b"Mcp-Session-Id: \xff", b"Mcp-Session-Id:", b"MCP-Protocol-Version: x",
    b"MCP-Protocol-Version: 2026-07-28", b"Mcp-Method: ping", b"Mcp-Name: \xff",
    b"Accept: text/plain", b"Accept: */*", b"Accept:", b"Origin: null", b"Origin: http://evil",
    b"Host: evil", b"Host:", b"Authorization: Bearer", b"Authorization: Basic eA==",
    b"Content-Type: text/plain", b"Content-Type: application/json; charset=utf-16",
    b"Cookie: " + b"a=b; " * 2000, b" folded", b"No-Colon", b": nameless", b"X: " + b"y" * 9000,
]  # fmt: skip
BODIES = [
    b"", b"{}", b"[]", b"null", b'"', b"{", b"[[[[", b"[" * 5000, b'{"a":' * 2000, b"NaN", b"1e999",
    b"1" * 5000, b'"\\ud800"', b"\xef\xbb\xbf{}", b"\xff\xfe{\0}\0", b"5\r\nhello\r\n0\r\n\r\n",
    b"zz\r\nhello\r\n0\r\n\r\n", b"ffffffffffffffff\r\nx", b"5\r\nhelloXX0\r\n\r\n", b"0\r\n\r\n",
    b"5;a=b\r\nhello\r\n0\r\nTrailer: x\r\n\r\n", b"GET /mcp HTTP/1.1\r\nHost: x\r\n\r\n",
]  # fmt: skip
VALUES: list[Any] = [
    None, True, False, 0, -1, 1.5, 10**30, "", "x", "\0", "\ud83d\ude00", "/a", "relative",
    "/" * 5000, "a\0b", "..", "\u202e", [], [[]], {}, {"": ""}, {"a": {"b": []}}, "openDiff",
    "closeDiff", "2025-06-18", "2025-11-25", "error", "x" * 100000,
]  # fmt: skip
EVENT_IDS = [
    "",
    "0",
    "1",
    "-1",
    "1.5",
    "x",
    "9" * 30,
    "\u0663".encode().decode("latin-1"),
    "1,2",
    "1" * 4000,
]
METHODS = [
    "initialize", "ping", "tools/list", "tools/call", "logging/setLevel", "resources/list", "",
    "notifications/initialized", "notifications/cancelled", "rpc.discover", "ide/diffAccepted",
]  # fmt: skip
KNOWN_ERRORS = (-32600, -32601, -32602, -32020, -32021, -32022)
# Values as JSON texts that no encoder writes.
LITERALS = [
    b"NaN", b"Infinity", b"-Infinity", b"1e999", b"9" * 5000, b"-0", b"01", b"0x1", b"'x'", b"True",
    b'"\\ud800"', b'"\\udc00\\ud800"', b'"\xed\xa0\x80"', b'"\xff"', b'"\0"', b'"\\u0000"', b'"\n"',
    b"[" * 100000, b'{"":' * 20000, b"[" * 500 + b"]" * 500, b'{"a":1,"a":2}', b"undefined", b"",
]  # fmt: skip
DUPLICATES = [b'"jsonrpc":"1.0"', b'"id":8', b'"id":null', b'"method":7', b'"params":[]']
# Ways to say twice, and differently, where a body ends; the rest of it looks like a request.
CONFLICTS = [
    [b"Content-Length: 5", b"Content-Length: {}"], [b"Content-Length: {}", b"Content-Length: 5"],
    [b"Content-Length: {}", b"Transfer-Encoding: chunked"], [b"Content-Length: 5, {}"],
    [b"Transfer-Encoding: chunked", b"Content-Length: 5"], [b"Content-Length: +5"],
    [b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity", b"Content-Length: 5"],
    [b"Content-Length: 5", b"Transfer-Encoding: \x0bchunked"], [b"Content-Length: 0x5"],
    [b"Content-Length : 5"], [b"Content-Length: 5_0"], [b"Transfer-Encoding: chunked, chunked"],
]  # fmt: skip


class FuzzTestCase(unittest.TestCase):
    """One window's endpoint; `self.random` is where every choice comes from."""

    def setUp(self) -> None:
        temp_folder(self)
        self.random = random.Random(SEED)
        self.background = Background(self.serving)
        self.addCleanup(self.background.stop)
        self.background.start()
        environment = self.workspace.advertisement.environment()
        self.token = environment["GEMINI_CLI_IDE_AUTH_TOKEN"]
        self.client = Client(int(environment["GEMINI_CLI_IDE_SERVER_PORT"]), self.token)
        self.client.initialize()

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        opened = asyncio.Event()
        self.editor = FakeEditor()
        self.workspace = Workspace(1, ("/w",), self.editor, on_change=opened.set)
        running = asyncio.ensure_future(self.workspace.run(2**30))
        await asyncio.wait_for(opened.wait(), PATIENCE)
        try:
            yield
        finally:
            self.workspace.close()
            await running

    def assert_serves(self) -> None:
        """A good request is answered; the session may have been ended by a DELETE."""
        answer = self.client.post({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        if answer.status == 404:
            del self.client.headers["Mcp-Session-Id"]
            self.client.initialize()
            answer = self.client.post({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        self.assertEqual((answer.status, answer.json()["result"]), (200, {}))

    @contextlib.contextmanager
    def saying(self, number: int, sent: Any) -> Iterator[None]:
        """A failure says what was sent. Thousands of subtests would take longer than the tests."""
        try:
            yield
        except (AssertionError, OSError) as error:
            raise AssertionError(f"number {number}, {repr(sent)[:300]}: {error}") from error

    def value(self, good: Any) -> Any:
        return good if self.random.random() < 0.85 else self.random.choice(VALUES)

    def drop(self, members: dict[str, Any]) -> None:
        for name in list(members):
            if self.random.random() < 0.08:
                del members[name]

    def tasks(self) -> int:
        return self.background.call(lambda: len(asyncio.all_tasks()))

    def assert_nothing_is_left(self, before: tuple[int, int, int]) -> None:
        """No more threads, tasks and descriptors than `left` gave before."""
        wait_for(lambda: all(now <= then for now, then in zip(self.left(), before)))

    def left(self) -> tuple[int, int, int]:
        descriptors = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
        return threading.active_count(), self.tasks(), descriptors


class Http(FuzzTestCase):
    def test_no_request_whatever_it_looks_like_is_a_failure_or_hangs(self) -> None:
        with mock.patch.object(unauthenticated, "TIME_LIMIT", 0.3), mock.patch.object(
            http_server, "BODY_TIME", 0.3
        ):
            for number in range(HTTP_REQUESTS):
                request = self.request()
                with self.saying(number, request):
                    self.assert_answered(self.exchange(request))
                if number % 50 == 0:
                    self.assert_serves()
        self.assert_serves()

    def test_nothing_is_left_of_them(self) -> None:
        with mock.patch.object(unauthenticated, "TIME_LIMIT", 0.3), mock.patch.object(
            http_server, "BODY_TIME", 0.3
        ), mock.patch.object(connection, "LINGERING", 0.3):
            before = self.left()
            for _ in range(100):
                self.exchange(self.request())
            self.assert_nothing_is_left(before)

    def request(self) -> bytes:
        """A good request with some of its parts made bad."""
        method = self.random.choice(["POST", "GET", "DELETE", "PUT", "PRI", "post", "\x00"])
        with_token = self.random.random() < 0.7
        more = {} if with_token else {"Authorization": "Bearer wrong"}
        head = self.client.head(method, **more)
        lines = head.rstrip(b"\r\n").split(b"\r\n")
        for _ in range(self.random.randrange(4)):
            lines.insert(self.random.randrange(1, len(lines) + 1), self.random.choice(HEADERS))
        if self.random.random() < 0.2:
            lines[0] = self.random.choice(
                [b"POST /mcp", b"/mcp", b"POST /mcp HTTP/3.7", b"", lines[0]]
            )
        data = b"\r\n".join(lines) + b"\r\n\r\n" + self.random.choice(BODIES)
        for _ in range(self.random.choice([0, 0, 1, 3])):
            at = self.random.randrange(len(data))
            data = data[:at] + self.random.choice(JUNK) + data[at + self.random.randrange(2) :]
        return data if self.random.random() < 0.9 else data[: self.random.randrange(len(data))]

    def exchange(self, request: bytes) -> bytes:
        """What comes back until the connection ends, or a stream has begun. Raises TimeoutError."""
        received = b""
        with socket.create_connection(("127.0.0.1", self.client.port), timeout=LIMIT) as connection:
            with contextlib.suppress(ConnectionError):
                connection.sendall(request)
                if self.random.random() < 0.5:
                    # One that the server has reset already says so in another way.
                    with contextlib.suppress(OSError):
                        connection.shutdown(socket.SHUT_WR)
                    connection.settimeout(LIMIT)
                while b"text/event-stream" not in received:
                    part = connection.recv(65536)
                    received += part
                    if not part or self.is_whole(received):
                        break
        return received

    def is_whole(self, received: bytes) -> bool:
        """Whether it is an answer whose connection stays open."""
        head, end, body = received.partition(b"\r\n\r\n")
        if re.match(rb"HTTP/1\.1 204 ", head):
            # It has no body, and need not say so.
            return bool(end)
        length = re.search(rb"(?i)content-length: (\d+)", head)
        return bool(end and length and len(body) >= int(length.group(1)))

    def assert_answered(self, received: bytes) -> None:
        """By nothing at all, or by a status that says whose fault it was."""
        self.assertNotIn(self.token.encode(), received)
        for status in re.findall(rb"(?m)^HTTP/1\.[01] (\d+)", received):
            self.assertIn(int(status) // 100, (1, 2, 4), received[:500])


class Framing(FuzzTestCase):
    def test_a_request_inside_of_a_body_whose_end_is_in_doubt_is_not_obeyed(self) -> None:
        for conflict in CONFLICTS:
            with self.subTest(conflict=conflict):
                hidden = self.open_diff("/hidden.py", 1)
                body = b"0\r\n\r\n" + hidden
                lines = [line.replace(b"{}", b"%d" % len(body)) for line in conflict]
                answer = read_all(self.client.send_raw(self.framed(lines) + body))
                self.assertEqual(re.findall(rb"(?m)^HTTP/1\.[01] (\d+)", answer), [b"400"])
        self.assertEqual(self.editor.diffs, {})
        self.assert_serves()

    def test_requests_that_come_in_one_go_are_answered_each_and_in_order(self) -> None:
        for _ in range(20 * ROUNDS):
            ids = [self.random.randrange(10**6) for _ in range(self.random.randrange(1, 9))]
            data = b"".join(self.open_diff(f"/{id}.py", id) for id in ids)
            self.client.send_raw(data[: self.random.randrange(len(data))]).close()
            with self.client.send_raw(data) as connection:
                received = b""
                while received.count(b'"result"') < len(ids):
                    part = connection.recv(65536)
                    self.assertTrue(part, received[-500:])
                    received += part
            self.assertEqual([int(id) for id in re.findall(rb'"id":(\d+)', received)], ids)

    def open_diff(self, path: str, id: int) -> bytes:
        params = {"name": "openDiff", "arguments": {"filePath": path, "newContent": "x"}}
        message = {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}
        body = json.dumps(message).encode()
        return self.framed([b"Content-Length: %d" % len(body)]) + body

    def framed(self, lines: list[bytes]) -> bytes:
        return b"\r\n".join([self.client.head("POST").rstrip(b"\r\n"), *lines, b"", b""])


class Messages(FuzzTestCase):
    def test_every_message_is_answered_with_a_result_or_an_error_of_the_protocol(self) -> None:
        for number in range(MESSAGES):
            message = self.message()
            with self.saying(number, message):
                self.assert_proper(message, self.client.post(message))
        self.assert_serves()

    def test_every_body_is_answered_with_a_result_or_an_error_of_the_protocol(self) -> None:
        for number in range(MESSAGES // 5):
            body = self.body()
            with self.saying(number, body):
                self.assert_proper(None, self.client.post(body))
        self.assert_serves()

    def test_the_memory_of_the_server_stays_flat(self) -> None:
        def part() -> int:
            for _ in range(MESSAGES // 5):
                self.client.post(self.message())
            gc.collect()
            return tracemalloc.get_traced_memory()[0]

        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        part()
        held = [part() for _ in range(4)]
        # Others in this process may take memory once. What leaks does so each time.
        self.assertLess(min(after - before for before, after in zip(held, held[1:])), GAIN)

    def message(self) -> Any:
        if self.random.random() < 0.1:
            return [self.one() for _ in range(self.random.randrange(4))]
        return self.one()

    def one(self) -> Any:
        """A message with some of its members missing or of another type."""
        arguments = {"filePath": self.value("/a.py"), "newContent": self.value("text")}
        self.drop(arguments)
        params = {
            "name": self.random.choice(["openDiff", "closeDiff", "x"]),
            "arguments": self.value(arguments),
            "protocolVersion": self.value("2025-06-18"),
            "clientInfo": self.value({"name": "x"}),
            "level": self.value("info"),
        }
        self.drop(params)
        message = {
            "jsonrpc": self.value("2.0"),
            "id": self.value(7),
            "method": self.value(self.random.choice(METHODS)),
            "params": self.value(params),
        }
        self.drop(message)
        return message

    def body(self) -> bytes:
        """A message as JSON that was damaged on its way."""
        body = json.dumps(self.one()).encode()
        how = self.random.randrange(7)
        if how < 3:
            ends = [match.end() for match in re.finditer(rb'": ', body)] or [0]
            at = self.random.choice(ends)
            old = re.compile(rb'"[^"]*"|[^,}\]]*').match(body, at)
            end = old.end() if old is not None else at
            return body[:at] + self.random.choice(LITERALS) + body[end:]
        if how == 3:
            return b"{" + self.random.choice(DUPLICATES) + b"," + body[1:]
        if how == 4:
            return body[: self.random.randrange(len(body))]
        if how == 5:
            return self.random.choice([b"\xef\xbb\xbf", b"\0", b" " * 9999, b"\xff"]) + body
        return self.random.choice([body + b"x", body * 2, body.decode().encode("utf-16"), body[1:]])

    def assert_proper(self, message: Any, answer: Any) -> None:
        self.assertIn(answer.status, (200, 202, 400), answer.body[:300])
        self.assertNotIn(self.token.encode(), answer.body)
        if answer.status == 202:
            self.assertEqual(answer.body, b"")
            return
        body = answer.json()
        self.assertEqual(body["jsonrpc"], "2.0")
        self.assertEqual(("result" in body) + ("error" in body), 1)
        if "error" in body:
            self.assertIn(body["error"]["code"], (-32700, -32600, -32601, -32602))
            self.assertTrue(body["error"]["message"].endswith("."))
        elif isinstance(message, dict):
            self.assertEqual(json.dumps(body["id"]), json.dumps(message["id"]))


class Stateless(FuzzTestCase):
    """Requests of MCP 2026-07-28 with parts missing or of another kind."""

    def test_every_request_is_answered_with_a_result_or_an_error_of_the_protocol(self) -> None:
        statuses = set()
        for number in range(MESSAGES):
            message, headers = self.one()
            path = self.random.choice(["/mcp", "/mcp", "/tools"])
            with self.saying(number, (message, headers)):
                body = json.dumps(message)
                answer = self.client.request("POST", body, path, **headers)
                self.assert_proper(message, answer)
            statuses.add(answer.status)
        self.assertLessEqual(len(self.workspace.sessions), sessions.MAX_NAMED + 1)
        self.assertLessEqual({200, 202, 400, 404}, statuses)
        self.assert_serves()

    def test_streams_of_many_names_leave_nothing(self) -> None:
        before = self.left()
        streams: list[EventStream] = []
        for _ in range(60 * ROUNDS):
            name = self.random.choice(["", "one", "two", "three"])
            streams.append(StatelessClient(self.client.port, self.token, name).listen())
            while len(streams) > 8:
                streams.pop(self.random.randrange(len(streams))).close()
        for stream in streams:
            stream.close()
        wait_for(lambda: self.background.call(len, self.workspace.sessions.subscriptions) == 0)
        self.assert_nothing_is_left(before)
        self.assert_serves()

    def one(self) -> tuple[Any, dict[str, str]]:
        name = "".join(self.random.choices("ab", k=6))
        client = StatelessClient(self.client.port, self.token, name)
        method = self.random.choice([*METHODS, "server/discover", "tools/call", "tools/list"])
        tool = self.random.choice(["openDiff", "closeDiff", "open_files", "x"])
        arguments = {"filePath": self.value("/a.py"), "newContent": self.value("text")}
        self.drop(arguments)
        message, headers = client.message(method, {"name": tool, "arguments": arguments})
        meta = {key: self.value(value) for key, value in message["params"]["_meta"].items()}
        self.drop(meta)
        message["params"]["_meta"] = self.value(meta)
        self.drop(message)
        self.drop(headers)
        if self.random.random() < 0.1:
            bad = ["2025-06-18", "x", "=?base64?!?=", "=?base64?/w==?=", "\x7f", "\xe9", ""]
            headers[self.random.choice([*headers, "Mcp-Name"])] = self.random.choice(bad)
        return message, headers

    def assert_proper(self, message: Any, answer: Any) -> None:
        self.assertIn(answer.status, (200, 202, 400, 404, 503), answer.body[:300])
        self.assertNotIn(self.token.encode(), answer.body)
        if answer.headers["Content-Type"] == "application/json":
            body = answer.json()
            self.assertEqual(("result" in body) + ("error" in body), 1)
            if "error" in body:
                self.assertIn(body["error"]["code"], KNOWN_ERRORS)
            elif "resultType" in body["result"]:
                self.assertEqual(body["result"]["resultType"], "complete")
            if "id" in message and isinstance(body["id"], int):
                self.assertEqual(body["id"], message["id"])


class Clients(FuzzTestCase):
    def test_sessions_that_come_and_go_at_odd_times_leave_nothing(self) -> None:
        self.assert_serves()
        before = self.left()
        clients: list[Client] = []
        streams: list[EventStream] = []
        for _ in range(300 * ROUNDS):
            self.step(clients, streams)
            self.assertLessEqual(len(self.workspace.sessions), sessions.MAX_SESSIONS)
        for client in clients:
            self.assertIn(client.request("DELETE").status, (204, 404))
        for stream in streams:
            stream.close()
        self.assert_nothing_is_left(before)
        self.assert_serves()

    def step(self, clients: list[Client], streams: list[EventStream]) -> None:
        """One request of one client, whose session may be gone by now."""
        if not clients or self.random.random() < 0.4:
            clients.append(Client(self.client.port, self.token))
            clients[-1].initialize()
        client = self.random.choice(clients)
        what = self.random.randrange(5)
        if what == 0:
            self.assertIn(client.request("DELETE").status, (204, 404))
        elif what == 1:
            self.assertIn(client.post({"jsonrpc": "2.0", "method": "x"}).status, (202, 404))
        elif what == 2:
            stream = client.stream(Last_Event_ID=self.random.choice(EVENT_IDS))
            self.assertIn(stream.status, (200, 404))
            streams.append(stream)
        elif what == 3:
            # Gone before the answer.
            client.send_raw(client.head("GET")).close()
        while len(streams) > 8:
            streams.pop(self.random.randrange(len(streams))).close()


class Streams(FuzzTestCase):
    def test_whatever_becomes_of_them_no_decision_comes_twice_or_not_at_all(self) -> None:
        """One client whose streams begin, break and come back at random."""
        seen: list[int] = []
        sent = last = 0
        for _ in range(60 * ROUNDS):
            headers = {"Last_Event_ID": str(last)} if last else {}
            with self.client.stream(**headers) as stream:
                for _ in range(self.random.randrange(4)):
                    sent += 1
                    self.decide(sent)
                while len(seen) < sent and self.random.random() < 0.9:
                    event = stream.next()
                    last = event.id
                    if event.message["method"] == "ide/diffRejected":
                        seen.append(int(event.message["params"]["filePath"]))
        with self.client.stream(Last_Event_ID=str(last)) as stream:
            while len(seen) < sent:
                event = stream.next()
                if event.message["method"] == "ide/diffRejected":
                    seen.append(int(event.message["params"]["filePath"]))
        self.assertEqual(seen, list(range(1, sent + 1)))

    def decide(self, number: int) -> None:
        call: Callable[..., None] = self.workspace.diffs.reject
        self.background.call(call, self.client.session_id, str(number))
