"""What comes to Claude Code's port from somebody who means harm, or is broken: others are served,
and nothing is left of it. `make fuzz` sends FUZZ times as much; FUZZ_SEED is that of an earlier
run."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import random
import re
import socket
import struct
import threading
import traceback
import tracemalloc
from typing import Any, Iterator
from unittest import mock

from GeminiCompanion.companion.base import unauthenticated
from GeminiCompanion.companion.base.log import logger
from GeminiCompanion.companion.ide.claude import claude_connection, claude_endpoint, waiting_diffs
from GeminiCompanion.companion.ide.diffs import MAX_OPEN_DIFFS

from ..support import patched, wait_for
from .claude_client import CLOSE, HEADERS, PING, PONG, TEXT, ClaudeClient, texts
from .test_claude import ClaudeCase
from .test_fuzz import BODIES, GAIN, JUNK, LIMIT, LITERALS, ROUNDS, SEED, VALUES
from .test_fuzz import HEADERS as BAD_HEADERS

TOOLS = ("openDiff", "close_tab", "closeAllDiffTabs", "getDiagnostics", "openFile", "")
METHODS = (
    *("initialize", "ping", "tools/list", "tools/call", "tools/call", "tools/call", "x", ""),
    *("notifications/initialized", "notifications/cancelled", "notifications/roots/list_changed"),
)
# Of a close that the other side brought about; 0 is an end without one.
CLOSES = (0, 1000, 1002, 1003, 1007, 1009)


class Storm(ClaudeCase):
    maxDiff = None

    def setUp(self) -> None:
        super().setUp()
        self.random = random.Random(SEED)
        self.open_windows(w1="project")
        # The tracebacks that go into the log.
        self.failures: list[str] = []
        patched(self, mock.patch.object(logger, "exception", self.note_failure))
        self.good = self.connect()
        wait_for(lambda: self.labels() == ["Claude Code"])

    def note_failure(self, *_words: Any) -> None:
        self.failures.append(traceback.format_exc())

    def assert_serves(self) -> None:
        """The CLI that does no harm is answered, and nothing has failed."""
        self.assertEqual(self.good.answer(self.good.begin("ping"))["result"], {})
        self.assertEqual("\n".join(self.failures), "")

    def left(self) -> tuple[int, int, int]:
        """Threads, tasks and descriptors."""
        descriptors = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
        return threading.active_count(), self.tasks(), descriptors

    def tasks(self) -> int:
        found: int = self.background.call(lambda: len(asyncio.all_tasks()))
        return found

    def assert_nothing_is_left(self, before: tuple[int, int, int]) -> None:
        wait_for(lambda: all(now <= then for now, then in zip(self.left(), before)))

    @contextlib.contextmanager
    def saying(self, number: int, sent: Any) -> Iterator[None]:
        """A failure says what was sent."""
        try:
            yield
        except (AssertionError, OSError) as error:
            raise AssertionError(f"number {number}, {repr(sent)[:300]}: {error}") from error


class Heads(Storm):
    def test_no_request_is_a_failure_or_hangs_and_nothing_is_left_of_them(self) -> None:
        patched(self, mock.patch.object(unauthenticated, "TIME_LIMIT", 0.3))
        self.exchange(self.request())
        before = self.left()
        for number in range(200 * ROUNDS):
            request = self.request()
            with self.saying(number, request):
                answer = self.exchange(request)
                self.assertNotIn(self.lock()["authToken"].encode(), answer)
                for status in re.findall(rb"(?m)^HTTP/1\.[01] (\d+)", answer):
                    self.assertIn(int(status) // 100, (1, 4), answer[:500])
            if number % 50 == 0:
                self.assert_serves()
        self.assert_nothing_is_left(before)
        self.assert_serves()

    def request(self) -> bytes:
        """A good upgrade with some of its parts made bad."""
        lock, chance = self.lock(), self.random
        headers = {**HEADERS, "Host": f"127.0.0.1:{lock['port']}"}
        headers["Sec-WebSocket-Key"] = chance.choice(["dGhlIHNhbXBsZSBub25jZQ==", "x", ""])
        if chance.random() < 0.7:
            headers[claude_endpoint.TOKEN_HEADER] = lock["authToken"]
        for name in list(headers):
            if chance.random() < 0.08:
                headers[name] = chance.choice(["", "x", "13, 14", "websocket", "mcp, chat", "\xff"])
        first = chance.choice([b"GET / HTTP/1.1"] * 6 + [b"POST / HTTP/1.1", b"GET /", b"GET /x?"])
        lines = [first, *(f"{name}: {value}".encode() for name, value in headers.items())]
        for _ in range(chance.choice((0, 0, 1, 3))):
            lines.insert(chance.randrange(1, len(lines) + 1), chance.choice(BAD_HEADERS))
        data = b"\r\n".join(lines) + b"\r\n\r\n" + chance.choice(BODIES)
        for _ in range(chance.choice((0, 0, 1, 3))):
            at = chance.randrange(len(data))
            data = data[:at] + chance.choice(JUNK) + data[at + chance.randrange(2) :]
        return data if chance.random() < 0.9 else data[: chance.randrange(len(data))]

    def exchange(self, request: bytes) -> bytes:
        """What comes back until the connection ends, or is a web socket. Raises TimeoutError."""
        received, port = b"", self.lock()["port"]
        with socket.create_connection(("127.0.0.1", port), timeout=LIMIT) as connection:
            with contextlib.suppress(ConnectionError):
                connection.sendall(request)
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_WR)
                while b" 101 " not in received:
                    part = connection.recv(65536)
                    received += part
                    if not part:
                        break
        return received

    def test_who_has_no_token_takes_no_place_from_who_has_it(self) -> None:
        port = self.lock()["port"]
        others = []
        for number in range(3 * claude_endpoint.MAX_UNAUTHENTICATED):
            connection = socket.create_connection(("127.0.0.1", port), timeout=LIMIT)
            self.addCleanup(connection.close)
            with contextlib.suppress(ConnectionError):
                connection.sendall(b"GET / HTTP/1.1\r\n" if number % 2 else b"")
            others.append(connection)
        self.assertEqual(self.connect().status, 101)
        self.assert_serves()

    def test_more_clis_than_a_number_are_refused_until_one_leaves(self) -> None:
        patched(self, mock.patch.object(claude_endpoint, "MAX_CLIS", 3))
        clients = [self.connect(), self.connect()]
        self.assertEqual(self.connect().status, 503)
        clients[0].close()
        wait_for(lambda: self.connect().status == 101)
        self.assert_serves()


class Frames(Storm):
    def test_any_frames_end_the_connection_with_a_code_or_are_passed_over(self) -> None:
        before = self.left()
        for number in range(100 * ROUNDS):
            frames = [self.frame() for _ in range(self.random.choice((1, 1, 2, 5)))]
            with self.saying(number, frames):
                self.assertIn(self.closed_after(frames), CLOSES)
        self.assert_nothing_is_left(before)
        self.assert_serves()

    def frame(self) -> bytes:
        chance = self.random
        data = chance.choice([b"", b"x", b"{}", b"\xff", b"\x03", b"\x03\xe8", b"x" * 200, *BODIES])
        first = chance.choice((0x80, 0x80, 0x80, 0, 0xC0, 0xF0)) | chance.randrange(16)
        size = len(data) + chance.choice((0, 0, 0, 0, 1, 5))
        is_masked = 0x80 if chance.random() < 0.9 else 0
        if size < 126 and chance.random() < 0.9:
            head = struct.pack("!BB", first, is_masked | size)
        elif size < 1 << 16 and chance.random() < 0.9:
            head = struct.pack("!BBH", first, is_masked | 126, size)
        else:
            size = chance.choice((size, size, 1 << 62, (1 << 64) - 1))
            head = struct.pack("!BBQ", first, is_masked | 127, size)
        return head + (bytes(4) if is_masked else b"") + data

    def closed_after(self, frames: list[bytes]) -> int:
        """The code with which the connection ends, after the client has sent no more."""
        lock = self.lock()
        client = ClaudeClient(lock["port"], lock["authToken"])
        try:
            with contextlib.suppress(OSError):
                client._socket.sendall(b"".join(frames))
                client._socket.shutdown(socket.SHUT_WR)
            return client.close_code()
        finally:
            client.close()

    def test_pings_by_the_thousand_are_answered_while_others_are_served(self) -> None:
        client, count = self.connect(), 5000 * ROUNDS
        sending = threading.Thread(
            target=lambda: [client.send_frame(PING, b"%d" % number) for number in range(count)]
        )
        sending.start()
        self.assert_serves()
        seen = 0
        while seen < count:
            opcode, data = client.read_frame()
            self.assertNotIn(opcode, (0, CLOSE))
            if opcode == PONG:
                self.assertEqual(data, b"%d" % seen)
                seen += 1
        sending.join()
        self.assert_serves()


class Messages(Storm):
    def test_every_message_is_answered_with_a_result_or_an_error(self) -> None:
        client = self.connect()
        for number in range(450 * ROUNDS):
            message = self.message()
            with self.saying(number, message):
                client.send_frame(TEXT, json.dumps(message).encode())
                self.assert_proper(client)
        self.assert_serves()

    def test_every_text_is_answered_with_an_error_or_ends_its_connection(self) -> None:
        before = self.left()
        for number in range(60 * ROUNDS):
            client = self.connect()
            text = self.text()
            with self.saying(number, text), contextlib.suppress(EOFError, ConnectionError):
                client.send_frame(TEXT, text)
                self.assert_proper(client)
            client.close()
        self.assert_nothing_is_left(before)
        self.assert_serves()

    def test_the_memory_of_the_server_stays_flat(self) -> None:
        client = self.connect()

        def part() -> int:
            for _ in range(90 * ROUNDS):
                client.send_frame(TEXT, json.dumps(self.message()).encode())
                self.assert_proper(client)
            client._waiting.clear()
            for tab in ("t1", "t2", "t3", *map(str, VALUES)):
                client.call("close_tab", tab_name=tab)
            gc.collect()
            return tracemalloc.get_traced_memory()[0]

        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        part()
        held = [part() for _ in range(4)]
        # Others in this process may take memory once. What leaks does so each time.
        self.assertLess(min(after - before for before, after in zip(held, held[1:])), GAIN)

    def value(self, good: Any) -> Any:
        return good if self.random.random() < 0.9 else self.random.choice(VALUES)

    def drop(self, members: dict[str, Any]) -> None:
        for name in list(members):
            if self.random.random() < 0.06:
                del members[name]

    def message(self) -> Any:
        """One with some of its members missing or of another type."""
        path = self.value(self.path(self.random.choice(("a.py", "b.py"))))
        arguments = {
            **{"new_file_path": path, "old_file_path": self.value(path)},
            **{"new_file_contents": self.value("new\n"), "uri": self.value(f"file://{path}")},
            "tab_name": self.value(self.random.choice(("t1", "t2", "t3"))),
        }
        self.drop(arguments)
        params = {
            **{"name": self.value(self.random.choice(TOOLS)), "arguments": self.value(arguments)},
            **{"requestId": self.value(7), "protocolVersion": self.value("2025-11-25")},
            **{"clientInfo": self.value({"name": "x"}), "capabilities": self.value({"roots": {}})},
        }
        self.drop(params)
        message = {
            **{"jsonrpc": self.value("2.0"), "id": self.value(7), "params": self.value(params)},
            "method": self.value(self.random.choice(METHODS)),
        }
        self.drop(message)
        if self.random.random() < 0.1:
            # An answer to what was asked, or was not.
            roots = self.value([{"uri": self.value("file:///x")}])
            answer = {"id": self.value("roots"), "result": self.value({"roots": roots})}
            return {"jsonrpc": "2.0", **answer}
        return message if self.random.random() < 0.95 else [message]

    def text(self) -> bytes:
        """A message as JSON that was damaged on its way."""
        text, chance = json.dumps(self.message()).encode(), self.random
        at = chance.choice([match.end() for match in re.finditer(rb'": ', text)] or [0])
        return chance.choice(
            [
                text[:at] + chance.choice(LITERALS) + text[at:],
                *(text[: chance.randrange(len(text))], text + b"x", text * 2, text[1:]),
                chance.choice([b"\xef\xbb\xbf", b"\0", b" " * 9999, b"\xff"]) + text,
            ]
        )

    def assert_proper(self, client: ClaudeClient) -> None:
        """All that has come until now."""
        end = client.answer(client.begin("ping"))
        for message in [*client._waiting, end]:
            self.assertEqual(message["jsonrpc"], "2.0")
            if "method" not in message:
                self.assertEqual(("result" in message) + ("error" in message), 1, message)
                self.assertNotIn(waiting_diffs.FAILED, str(message))
                self.assertNotEqual(message.get("error", {}).get("code"), -32603)
        client._waiting.clear()


class Floods(Storm):
    def test_diffs_by_the_hundred_are_shown_up_to_a_number_and_all_end(self) -> None:
        client, count = self.connect(), 300
        ids = [client.open_diff(self.path(f"{n}.py"), f"{n}\n", f"t{n}") for n in range(count)]
        refused = {client.answer(id)["id"] for id in ids[claude_connection.MAX_CALLS :]}
        self.assertEqual(len(refused), count - claude_connection.MAX_CALLS)
        wait_for(lambda: len(self.editor.diffs) == MAX_OPEN_DIFFS)
        self.assert_serves()
        for number in range(count):
            self.assertEqual(texts(client.call("close_tab", tab_name=f"t{number}")), ["TAB_CLOSED"])
        wait_for(lambda: not self.editor.diffs)
        for id in set(ids) - refused:
            self.assertEqual(texts(client.answer(id)["result"]), ["error"])
        # There is room again.
        self.proposed(client, "a.py")
        self.assert_serves()

    def test_names_without_end_are_not_kept(self) -> None:
        text = "x" * (1 << 20)
        self.assertEqual(
            texts(self.good.answer(self.good.open_diff(self.path("a.py"), "", text))["result"]),
            ["error"],
        )
        self.good.send({"id": text, "method": "ping"})
        self.assertEqual(self.good.answer(None)["error"]["code"], -32600)
        self.assertEqual(self.editor.diffs, {})
        self.assert_serves()

    def test_connections_that_come_and_go_with_diffs_leave_reviews_and_nothing_else(self) -> None:
        before = self.left()
        for number in range(30 * ROUNDS):
            client = self.connect()
            for _ in range(self.random.randrange(4)):
                client.open_diff(self.path("a.py"), f"{number}\n", f"t{self.random.randrange(9)}")
            if self.random.random() < 0.5:
                client.send_frame(CLOSE, b"\x03\xe8")
            client.close()
        wait_for(lambda: self.labels() == ["Claude Code"])
        self.assert_nothing_is_left(before)
        self.assert_serves()

    def test_one_that_reads_nothing_makes_only_itself_wait(self) -> None:
        client = self.connect()
        stopped = threading.Event()

        def send() -> None:
            with contextlib.suppress(OSError):
                while not stopped.is_set():
                    client.begin("tools/list")
                    client.begin_call("getDiagnostics", uri="file:///" + "x" * 5000)

        sending = threading.Thread(target=send)
        self.addCleanup(sending.join)
        self.addCleanup(client.close)
        self.addCleanup(client._socket.shutdown, socket.SHUT_RDWR)
        self.addCleanup(stopped.set)
        sending.start()
        for _ in range(50):
            self.assert_serves()
        self.assertLessEqual(self.tasks(), claude_connection.MAX_CALLS * 2)

    def test_messages_of_the_largest_size_let_others_be_served(self) -> None:
        patched(self, mock.patch.object(claude_endpoint, "MAX_MESSAGE", 4 << 20))
        clients = [self.connect() for _ in range(4)]
        text = "line of text\n" * ((3 << 20) // 14)
        sending = [
            threading.Thread(target=client.open_diff, args=(self.path(f"{n}.py"), text, "t"))
            for n, client in enumerate(clients)
        ]
        for thread in sending:
            thread.start()
        self.assert_serves()
        for thread in sending:
            thread.join()
        wait_for(lambda: len(self.editor.diffs) == len(clients))
        with contextlib.suppress(ConnectionError):
            clients[0].send_frame(TEXT, b'"' + b"x" * (5 << 20) + b'"')
        self.assertIn(clients[0].close_code(), (0, 1009))
        self.assert_serves()
