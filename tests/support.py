"""What the tests of the core share: an editor of ten lines, a loop, a clock, a raw HTTP client."""

from __future__ import annotations

import asyncio
import functools
from typing import Any, Awaitable, Callable


def in_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run a test that is a coroutine in a loop of its own, under any test runner."""

    @functools.wraps(test)
    def run(*arguments: Any) -> None:
        asyncio.run(test(*arguments))  # type: ignore[arg-type]

    return run


class Clock:
    """The running loop's time, which stands still but for `advance`."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self._now = loop.time()
        loop.time = lambda: self._now  # type: ignore[method-assign]
        # In debug mode asyncio would take a leap for a callback that was slow.
        loop.slow_callback_duration = float("inf")

    async def advance(self, seconds: float) -> None:
        """Let the seconds pass, and run what became due and what that called."""
        self._now += seconds
        for _ in range(10):
            await asyncio.sleep(0)
