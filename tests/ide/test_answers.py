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
        frames: list[bytes] = []

        async def next_frame(silence: float) -> bytes:
            if frames:
                self.fail("another frame was waited for")
            frames.append(b"data: 1\n\n")
            return frames[0]

        async def write(frame: bytes) -> None:
            # What the server does when the connection is lost.
            request.transport = None
            pumping.cancel()

        pumping = asyncio.ensure_future(
            answers.pump(next_frame, request, SimpleNamespace(write=write))  # type: ignore[arg-type]
        )
        with self.assertRaises((ConnectionError, asyncio.CancelledError)):
            await pumping
        self.assertEqual(len(frames), 1)
