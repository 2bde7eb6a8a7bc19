"""Frees the CLI's memory while nobody uses it. The CLI gives none back by itself, so a large
process is ended, and the next use starts another."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from typing import Callable, Iterator

from ...base.log import logger
from .runner import Runner

# Bytes of memory from which a process is ended, and the seconds for which nobody must have used it.
LARGE, IDLE = 600 << 20, 60.0


class IdleWatch:
    """All methods are called on one loop. `is_busy` says whether a turn runs."""

    def __init__(self, runner: Runner, is_busy: Callable[[], bool]) -> None:
        self._runner = runner
        self._is_busy = is_busy
        self._users = 0
        self._timer: asyncio.TimerHandle | None = None
        self._ending: asyncio.Task[None] | None = None

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep the process while somebody talks with it, and for IDLE after that."""
        self._users += 1
        try:
            yield
        finally:
            self._users -= 1
            self.check_later()

    def check_later(self) -> None:
        """Check after IDLE, and not before."""
        self.stop()
        self._timer = asyncio.get_running_loop().call_later(IDLE, self._check_memory)

    def stop(self) -> None:
        """Stop checking."""
        if self._timer is not None:
            self._timer.cancel()

    def _check_memory(self) -> None:
        self._ending = asyncio.ensure_future(self._end_if_large())

    async def _end_if_large(self) -> None:
        # Every use starts another check afterwards. Nothing is awaited between this and the moment
        # when the process is no longer the current one.
        if not self._users and not self._is_busy() and self._runner.memory > LARGE:
            logger.info("%s is large and nobody uses it, so it is ended", self._runner.name)
            await self._runner.stop()
