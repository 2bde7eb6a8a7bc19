"""Requests of one connection: their order, what ends them, and how they are answered."""

from __future__ import annotations

import asyncio
import gc
import traceback
import unittest
import zlib

from aiohttp.web_request import BaseRequest
from aiohttp.web_response import StreamResponse
from GeminiCompanion.companion.base.http_server import (
    HttpServer,
    end_with_client,
    outlive_client,
    small_answer,
)

from ..support import PATIENCE, until

REQUEST = b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n"


class Requests(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.may_go_on, self.is_done = asyncio.Event(), asyncio.Event()
        self.request: BaseRequest | None = None
        self.ended: list[str] = []

    async def serve(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        self.request = None
        self.server = HttpServer(self.handle, (b"no HTTP", "text/plain"), 8)
        port = await self.server.start(0, 0.1)
        self.addAsyncCleanup(self.server.stop)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        self.addCleanup(writer.close)
        return reader, writer

    async def handle(self, request: BaseRequest) -> StreamResponse:
        self.request = request
        self.depth = sum(1 for _ in traceback.walk_stack(None))
        self.server.admit_request(request)
        try:
            return await self.answer(request)
        except asyncio.CancelledError:
            self.ended.append(request.path)
            raise

    async def answer(self, request: BaseRequest) -> StreamResponse:
        if "stream" in request.path:
            end_with_client(request)
        if "written" in request.path:
            outlive_client(request)
        if "header" in request.path:
            return small_answer(200, {"Companion": self.header})
        if "body" in request.path:
            return small_answer(200, {"Content-Type": "text/plain"}, await request.read())
        if "slow" in request.path:
            await self.may_go_on.wait()
            self.is_done.set()
        return small_answer(200, {}, request.path.encode("ascii"))

    async def leave(self, writer: asyncio.StreamWriter, path: str) -> None:
        """While that is handled, until the server knows."""
        await until(lambda: self.request is not None and self.request.path == path)
        writer.close()
        await until(lambda: self.request is not None and self.request.transport is None)

    async def answers(self, reader: asyncio.StreamReader, *paths: bytes) -> None:
        for path in paths:
            found = await asyncio.wait_for(reader.readuntil(path), PATIENCE)
            self.assertIn(b"200 OK", found)

    async def test_requests_of_a_connection_are_answered_in_their_order(self) -> None:
        self.may_go_on.clear()
        reader, writer = await self.serve()
        writer.write(REQUEST % b"/one" + REQUEST % b"/slow" + REQUEST % b"/three")
        await self.answers(reader, b"/one")
        self.may_go_on.set()
        await self.answers(reader, b"/slow", b"/three")

    async def test_a_request_is_handled_to_its_end_where_its_client_leaves(self) -> None:
        # Also behind a stream that has ended, with which it would have been cancelled.
        for before, path in (
            (b"/one", "/slow"),
            (b"/stream", "/slow"),
            (b"/one", "/slow-stream-written"),
        ):
            with self.subTest(before=before, path=path):
                self.may_go_on.clear()
                self.is_done.clear()
                reader, writer = await self.serve()
                writer.write(REQUEST % before + REQUEST % path.encode("ascii"))
                await self.answers(reader, before)
                await self.leave(writer, path)
                self.may_go_on.set()
                await asyncio.wait_for(self.is_done.wait(), PATIENCE)
        self.assertEqual(self.ended, [])

    async def test_a_stream_is_cancelled_where_its_client_leaves_and_nothing_follows(self) -> None:
        self.ended.clear()
        reader, writer = await self.serve()
        writer.write(REQUEST % b"/one" + REQUEST % b"/slow-stream" + REQUEST % b"/three")
        await self.answers(reader, b"/one")
        await self.leave(writer, "/slow-stream")
        await until(lambda: self.ended == ["/slow-stream"])
        await until(lambda: self.server.connections == 0)
        self.assertEqual(self.request.path if self.request else "", "/slow-stream")

    async def test_a_server_that_stops_cancels_what_does_not_end_in_time(self) -> None:
        self.ended.clear()
        _reader, writer = await self.serve()
        writer.write(REQUEST % b"/slow")
        await until(lambda: self.request is not None and self.request.path == "/slow")
        await self.server.stop()
        await until(lambda: self.ended == ["/slow"])

    async def test_a_compressed_body_stays_as_it_was_sent(self) -> None:
        reader, writer = await self.serve()
        body = zlib.compress(b"the text")
        head = b"POST /body HTTP/1.1\r\nHost: a\r\nContent-Encoding: deflate\r\n"
        writer.write(head + b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)
        self.assertEqual(await reader.readexactly(len(body)), body)

    async def test_an_answer_names_neither_the_library_nor_python(self) -> None:
        reader, writer = await self.serve()
        for request in (REQUEST % b"/body", b"no HTTP\r\n\r\n"):
            writer.write(request)
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)
            self.assertIn(b"\r\nServer: GeminiCompanion\r\n", head)
            self.assertNotRegex(head, b"(?i)aiohttp|python")

    async def test_an_answer_with_a_line_break_in_a_header_is_not_sent(self) -> None:
        for value in ("a\r\nSet-Cookie: b", "a\nb"):
            with self.subTest(value):
                reader, writer = await self.serve()
                self.header = value
                writer.write(REQUEST % b"/header")
                answer = await asyncio.wait_for(reader.read(), PATIENCE)
                self.assertNotIn(b"Set-Cookie", answer)
                self.assertNotIn(b"200 OK", answer)

    async def test_many_requests_of_a_connection_pile_nothing_up(self) -> None:
        reader, writer = await self.serve()
        depths, count = set(), []
        for number in range(120):
            writer.write(REQUEST % b"/one")
            await self.answers(reader, b"/one")
            depths.add(self.depth)
            if number in (20, 119):
                gc.collect()
                count.append(len(gc.get_objects()))
        self.assertEqual(len(depths), 1)
        self.assertLess(count[1] - count[0], 100)
