"""Chunked bodies whose chunks are small beyond all use: with the parser of the aiohttp that is
installed, and with the one in Python that the package carries."""

from __future__ import annotations

import asyncio
import itertools
import math
import os
import subprocess
import sys
import unittest
from typing import Iterator

from aiohttp.web_request import BaseRequest
from aiohttp.web_response import Response, StreamResponse
from GeminiCompanion.companion.base.http_server import HttpServer, Refused, read_json
from GeminiCompanion.companion.base.memory_budget import MemoryBudget, MemoryShare

LIMIT = 64 * 1024 * 1024
HEAD = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunks(size: int, count: int) -> Iterator[bytes]:
    """A JSON string in so many chunks of that size."""
    yield b'1\r\n"\r\n'
    chunk = b"%x\r\n%s\r\n" % (size, b"a" * size)
    # In pieces that a socket takes at once.
    step = max(1, 64 * 1024 // len(chunk))
    for at in range(0, count, step):
        yield chunk * min(step, count - at)
    yield b'1\r\n"\r\n0\r\n\r\n'


class Bodies(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.taken: list[int] = []
        self.server = HttpServer(self.handle, (b"no HTTP", "text/plain"), 8)
        self.port = await self.server.start(0, 1.0)
        self.addAsyncCleanup(self.server.stop)

    async def handle(self, request: BaseRequest) -> StreamResponse:
        self.server.admit_request(request)
        with MemoryShare(MemoryBudget(LIMIT)) as memory:
            try:
                value = await read_json(request, LIMIT, memory, math.inf)
                return Response(text=str(len(value)))
            except Refused as refused:
                return Response(status=refused.status, text=refused.reason)
            finally:
                self.taken.append(request.content.total_bytes)

    async def ask(self, body: Iterator[bytes]) -> tuple[int, str]:
        """Status and text, for a client that sends until it is answered."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        answer = asyncio.ensure_future(reader.readline())
        try:
            for piece in itertools.chain((HEAD,), body):
                if answer.done():
                    break
                writer.write(piece)
                await writer.drain()
            status = int((await asyncio.wait_for(answer, 60)).split()[1])
            text = await asyncio.wait_for(reader.read(64 * 1024), 60)
            return status, text.decode().rpartition("\n")[2]
        except ConnectionError:
            # It was answered, and what it still sent was refused.
            return int((await answer).split()[1]), ""
        finally:
            writer.close()

    async def test_chunks_of_one_byte_are_refused_long_before_the_end(self) -> None:
        status, _text = await self.ask(chunks(1, 2 * 1024 * 1024))
        self.assertEqual(status, 413)
        self.assertLess(self.taken[0], 1024 * 1024)

    async def test_a_body_in_chunks_of_any_use_is_taken(self) -> None:
        for size, count in ((64, 32 * 1024), (4096, 512), (1, 8 * 1024)):
            with self.subTest(size):
                self.assertEqual(await self.ask(chunks(size, count)), (200, str(size * count)))

    async def test_trailers_without_end_are_refused(self) -> None:
        body = itertools.chain((b"2\r\n[]\r\n0\r\n",), itertools.repeat(b"a: b\r\n" * 1024, 4096))
        status, _text = await self.ask(body)
        self.assertIn(status, (400, 413))

    async def test_the_extension_of_a_chunk_has_an_end(self) -> None:
        body = itertools.chain((b"2;a=",), itertools.repeat(b"b" * 4096, 4096))
        status, _text = await self.ask(body)
        self.assertIn(status, (400, 413))


class InPython(unittest.TestCase):
    @unittest.skipIf(os.environ.get("AIOHTTP_NO_EXTENSIONS"), "this is the one in Python")
    def test_the_parser_that_the_package_carries_keeps_the_same_limits(self) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", f"{__file__}::Bodies"],
            env={**os.environ, "AIOHTTP_NO_EXTENSIONS": "1"},
            capture_output=True,
            timeout=300,
        )
        self.assertEqual(done.returncode, 0, done.stdout.decode() + done.stderr.decode())
