"""Loops of unittest: what is checked in them, and what is not noted."""

from __future__ import annotations

import asyncio
import unittest
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable

from ..loop_checks import are_stacks_wanted


class Checked(unittest.IsolatedAsyncioTestCase):
    async def test_what_is_begun_from_another_thread_is_refused(self) -> None:
        loop: Any = asyncio.get_running_loop()
        starts: tuple[Callable[[], Any], ...] = (
            lambda: loop.call_soon(int),
            lambda: loop.call_later(0, int),
            lambda: loop.call_at(0, int),
        )
        with ThreadPoolExecutor() as pool:
            for start in starts:
                with self.assertRaisesRegex(RuntimeError, "Non-thread-safe"):
                    pool.submit(start).result()
            pool.submit(loop.call_soon_threadsafe, int).result()

    async def test_a_coroutine_is_no_callback(self) -> None:
        async def step() -> None: ...

        loop: Any = asyncio.get_running_loop()
        for start in (loop.call_soon, lambda callback: loop.call_later(0, callback)):
            with self.assertRaisesRegex(TypeError, "coroutines cannot be used"):
                start(step)

    @unittest.skipIf(are_stacks_wanted(), "stacks are wanted")
    async def test_no_stack_is_noted(self) -> None:
        handle = asyncio.get_running_loop().call_soon(int)
        self.assertIsNone(getattr(handle, "_source_traceback", None))
