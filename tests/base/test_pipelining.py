"""Requests that are sent ahead of the answers to those before them."""

from __future__ import annotations

import asyncio
import itertools
import random
import tracemalloc
import unittest
from functools import partial
from typing import cast
from unittest import mock

from aiohttp.web_protocol import RequestHandler
from aiohttp.web_request import BaseRequest
from aiohttp.web_response import StreamResponse
from GeminiCompanion.companion.base.connection import PARSED_AT_ONCE, Connection
from GeminiCompanion.companion.base.http_server import HttpServer, small_answer

from ..support import PATIENCE, patched, until

REQUEST = b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n"
POST = b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%b"
UPGRADE = b"GET /slow HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
MANY = 3000
# Requests of one connection that may be answered while another one's is.
TURNS = 8


class Pipelining(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        # It would remember where each of some thousand futures was made.
        asyncio.get_running_loop().set_debug(False)
        self.may_go_on = asyncio.Event()
        self.requests: list[BaseRequest] = []
        self.filling = b""
        self.server = HttpServer(self.handle, (b"no HTTP", "text/plain"), 8)
        self.port = await self.server.start(0, 0.1)
        self.addAsyncCleanup(self.server.stop)
        # Requests that the library has got to parse.
        self.parsed = 0
        parse = RequestHandler.data_received

        def received(connection: RequestHandler, data: bytes) -> None:
            self.parsed += data.count(b"HTTP/1.1\r\n")
            parse(connection, data)

        patched(self, mock.patch.object(RequestHandler, "data_received", received))

    @property
    def waiting(self) -> int:
        """Requests that may have been parsed and have not begun."""
        return self.parsed - len(self.requests)

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """One that has shown the token."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.addCleanup(writer.close)
        writer.write(REQUEST % b"/first")
        await self.answered(reader, b"/first")
        return reader, writer

    async def handle(self, request: BaseRequest) -> StreamResponse:
        self.requests.append(request)
        self.server.admit_request(request)
        body = await request.read()
        if request.path == "/slow":
            await self.may_go_on.wait()
        filling = self.filling if request.path == "/large" else b""
        return small_answer(200, {}, request.path.encode("ascii") + body + filling)

    async def answered(self, reader: asyncio.StreamReader, *ends: bytes) -> None:
        for end in ends:
            answer = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n" + end), PATIENCE)
            self.assertTrue(answer.startswith(b"HTTP/1.1 200 "), answer)

    async def begun(self) -> Connection:
        """The connection whose slow request has begun."""
        await until(lambda: self.requests[-1].path == "/slow")
        return self.connection()

    def connection(self) -> Connection:
        """That of the last request."""
        return cast(Connection, self.requests[-1].protocol)

    async def test_requests_after_a_body_that_came_late_are_all_answered(self) -> None:
        reader, writer = await self.connect()
        writer.write(b"POST /late HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n")
        await until(lambda: self.requests[-1].path == "/late")
        writer.write(b"ok")
        await self.answered(reader, b"/lateok")
        names = [b"/%d" % number for number in range(100, 200)]
        writer.write(b"".join(REQUEST % name for name in names))
        await self.answered(reader, *names)

    def is_paused_or_has(self, connection: Connection, count: int) -> bool:
        transport = connection.transport
        is_paused = transport is not None and not transport.is_reading()
        return is_paused or self.waiting >= count

    async def test_few_are_parsed_while_one_is_handled_and_the_rest_stays_with_the_sender(
        self,
    ) -> None:
        another = REQUEST % b"/"
        most = PARSED_AT_ONCE // len(another) + 1
        reader, writer = await self.connect()
        writer.write(REQUEST % b"/slow" + another * MANY)
        connection = await self.begun()
        await until(partial(self.is_paused_or_has, connection, most + 1))
        self.assertLessEqual(self.waiting, most)
        self.may_go_on.set()
        await self.answered(reader, b"/slow", *[b"/"] * MANY)

    async def test_few_are_parsed_where_each_comes_alone(self) -> None:
        reader, writer = await self.connect()
        writer.write(REQUEST % b"/slow")
        connection = await self.begun()
        for _ in range(300):
            connection.data_received(REQUEST % b"/")
        self.assertLessEqual(self.waiting, 1)
        self.may_go_on.set()
        await self.answered(reader, b"/slow", *[b"/"] * 300)

    async def test_a_request_of_another_client_waits_for_few_of_them(self) -> None:
        other_reader, other = await self.connect()
        _reader, writer = await self.connect()
        writer.write(REQUEST % b"/slow" + (REQUEST % b"/") * MANY)
        connection = await self.begun()
        await until(partial(self.is_paused_or_has, connection, TURNS))
        before = len(self.requests)
        other.write(REQUEST % b"/other")
        self.may_go_on.set()
        await self.answered(other_reader, b"/other")
        paths = [request.path for request in self.requests[before:]]
        self.assertLess(paths.index("/other"), TURNS)
        self.assertLess(len(paths), 2 * TURNS)
        writer.transport.abort()
        await until(lambda: self.server.connections == 1)

    async def test_none_is_lost_and_no_body_is_anothers(self) -> None:
        chosen = random.Random(1)
        reader, writer = await self.connect()
        sizes = [0, 0, 0, 1, 100, 3 * PARSED_AT_ONCE, 200_000]
        bodies = [b"%d" % n + b"a" * chosen.choice(sizes) for n in range(500)]
        sent = b"".join(POST % (b"/", len(body), body) for body in bodies)
        sending = asyncio.ensure_future(self.send(writer, sent, chosen))
        await self.answered(reader, *[b"/" + body for body in bodies])
        await sending

    async def test_empty_lines_in_bodies_and_before_requests_hold_nothing_up(self) -> None:
        reader, writer = await self.connect()
        for line in (b"\r\n", b"\n"):
            body = b"[" + 3 * line + b"]" + 2 * line
            request = POST % (b"/", len(body), body)
            for sent in ([request], [request, request], [request[:-1], request[-1:] + request]):
                with self.subTest(sent=sent):
                    for piece in sent:
                        writer.write(piece)
                        await until(partial(self.has_parsed_all, self.connection()))
                    count = b"".join(sent).count(b"POST")
                    await self.answered(reader, *[b"/" + body] * count)
        for _ in range(3):
            writer.write(b"\r\n" * 3)
            await until(lambda: self.waiting == 0)
            writer.write(REQUEST % b"/")
            await self.answered(reader, b"/")

    async def send(self, writer: asyncio.StreamWriter, data: bytes, chosen: random.Random) -> None:
        ends = sorted(chosen.sample(range(len(data)), 200))
        for begin, end in itertools.zip_longest([0, *ends], ends):
            writer.write(data[begin:end])
            await writer.drain()

    def has_parsed_all(self, connection: Connection) -> bool:
        return not connection._unparsed

    async def test_the_parser_is_not_entered_while_it_is_at_work(self) -> None:
        depth, depths = 0, []

        def received(connection: Connection, data: bytes) -> None:
            nonlocal depth
            if data:
                depth += 1
                depths.append(depth)
                # As releases do from within their parsers, where a body ends.
                connection._must_resume = True
                connection.resume_reading()
                depth -= 1

        await self.connect()
        connection = self.connection()
        with mock.patch.object(RequestHandler, "data_received", received), mock.patch.object(
            RequestHandler, "resume_reading"
        ):
            connection.data_received(b"a" * 3 * PARSED_AT_ONCE)
            await until(partial(self.has_parsed_all, connection))
        self.assertEqual(set(depths), {1})

    async def test_few_are_parsed_while_an_answer_waits_for_its_reader(self) -> None:
        _reader, writer = await self.connect()
        # What the reader does not take is more than the kernel holds.
        self.filling = b"x" * 1024 * 1024
        cast(asyncio.Transport, writer.transport).pause_reading()
        writer.writelines([REQUEST % b"/large"] * 50 * MANY)
        connection = self.connection()
        await until(lambda: connection._stall_watch._timer)
        # As many rounds of the loop as would parse all that has arrived.
        for _ in range(2000):
            await asyncio.sleep(0)
        self.assertLess(self.waiting, MANY)
        writer.transport.abort()

    async def test_a_body_that_comes_after_a_head_for_another_protocol_is_read(self) -> None:
        """As the HTTP client of Java sends its first request."""
        reader, writer = await self.connect()
        head, _, body = (POST % (b"/body", 4, b"late")).partition(b"\r\n\r\n")
        writer.write(head + b"\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n")
        await until(lambda: self.requests[-1].path == "/body")
        writer.write(body)
        await self.answered(reader, b"/bodylate")
        self.assertEqual(await asyncio.wait_for(reader.read(), PATIENCE), b"")

    async def test_what_follows_a_request_for_another_protocol_is_not_kept(self) -> None:
        reader, writer = await self.connect()
        another = REQUEST % b"/"
        writer.write(UPGRADE)
        connection = await self.begun()
        data = another * (PARSED_AT_ONCE // len(another))
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        for _ in range(100):
            connection.data_received(data)
        self.assertLess(tracemalloc.get_traced_memory()[0], 4 * PARSED_AT_ONCE)
        self.may_go_on.set()
        await self.answered(reader, b"/slow")
        self.assertEqual(await asyncio.wait_for(reader.read(), PATIENCE), b"")
