"""What the companion's servers of MCP answer with."""

from __future__ import annotations

import asyncio
import unittest
from types import SimpleNamespace
from typing import Any

from GeminiCompanion.companion.ide import answers


class Pumping(unittest.IsolatedAsyncioTestCase):
    async def test_a_client_that_leaves_as_a_write_ends_is_waited_for_no_longer(self) -> None:
        request: Any = SimpleNamespace(transport=object())
        asked: list[float] = []

        async def next(silence: float) -> bytes:
            if asked:
                self.fail("another value was waited for")
            asked.append(silence)
            return b"1"

        async def write(frame: bytes) -> None:
            # What the server does when the connection is lost.
            request.transport = None
            pumping.cancel()

        source: Any = SimpleNamespace(next=next)
        response: Any = SimpleNamespace(write=write)
        pumping = asyncio.ensure_future(answers.pump_stream(source, bytes, request, response))
        with self.assertRaises((ConnectionError, asyncio.CancelledError)):
            await pumping
        self.assertEqual(len(asked), 1)
