"""Requests that are handled in the one task of their connection."""

from __future__ import annotations

import asyncio
import sys
import unittest
from typing import Any

from aiohttp.web_request import BaseRequest
from aiohttp.web_response import StreamResponse
from GeminiCompanion.companion.base.http_server import (
    Answer,
    HttpServer,
    end_with_client,
    head_of,
    outlive_client,
)

REQUEST = b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n"
# Seconds for what comes at once, unless the machine is very busy.
PATIENCE = 30


class OneTask(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.tasks: list[asyncio.Task[Any] | None] = []
        self.may_go_on, self.is_done = asyncio.Event(), asyncio.Event()

    async def serve(self, in_tasks: bool) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        server = HttpServer(self.handle, (b"no HTTP", "text/plain"), 8, in_tasks)
        port = await server.start(0, 0.1)
        self.addAsyncCleanup(server.stop)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        self.addCleanup(writer.close)
        return reader, writer

    async def handle(self, request: BaseRequest) -> StreamResponse:
        self.tasks.append(asyncio.current_task())
        if request.path == "/stream":
            end_with_client(request)
            outlive_client(request)
        if request.path == "/slow":
            await self.may_go_on.wait()
            self.is_done.set()
        return Answer(head_of(200, {}), request.path.encode("ascii"))

    async def answers(self, reader: asyncio.StreamReader, *paths: bytes) -> None:
        for path in paths:
            found = await asyncio.wait_for(reader.readuntil(path), PATIENCE)
            self.assertIn(b"200 OK", found)

    async def test_requests_of_a_connection_are_answered_in_their_order(self) -> None:
        for in_tasks in (False, True):
            with self.subTest(in_tasks=in_tasks):
                self.may_go_on.clear()
                reader, writer = await self.serve(in_tasks)
                writer.write(REQUEST % b"/one" + REQUEST % b"/slow" + REQUEST % b"/three")
                await self.answers(reader, b"/one")
                self.may_go_on.set()
                await self.answers(reader, b"/slow", b"/three")

    @unittest.skipIf(sys.version_info >= (3, 12), "tasks begin at once there")
    async def test_all_of_a_connection_is_done_in_one_task_unless_each_needs_its_own(self) -> None:
        for in_tasks, count in ((False, 1), (True, 2)):
            with self.subTest(in_tasks=in_tasks):
                self.tasks.clear()
                reader, writer = await self.serve(in_tasks)
                for path in (b"/one", b"/two"):
                    writer.write(REQUEST % path)
                    await self.answers(reader, path)
                self.assertEqual(len(set(self.tasks)), count)

    async def test_a_request_is_handled_to_its_end_where_its_client_leaves(self) -> None:
        # Also behind a stream that has ended, on which it would have been cancelled.
        reader, writer = await self.serve(in_tasks=False)
        writer.write(REQUEST % b"/stream" + REQUEST % b"/slow")
        await self.answers(reader, b"/stream")
        writer.close()
        await writer.wait_closed()
        self.may_go_on.set()
        await asyncio.wait_for(self.is_done.wait(), PATIENCE)


if __name__ == "__main__":
    unittest.main()
