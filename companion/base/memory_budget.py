"""Bytes that large bodies and answers may hold at a time, in all; knows no HTTP."""

from __future__ import annotations

import asyncio
from collections import deque

# Seconds to wait for others to give their bytes back.
TIME_LIMIT = 20.0


class MemoryBudget:
    """Given out in the order in which it is asked for, so that small ones do not starve a large
    one. On one loop."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._free = limit
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def take(self, size: int) -> int:
        """The bytes that were taken, which have to be given back: `size`, or the whole budget where
        that is less. Raises asyncio.TimeoutError."""
        size = min(size, self._limit)
        if not self._waiting and size <= self._free:
            self._free -= size
            return size
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size, turn))
        try:
            await asyncio.wait_for(asyncio.shield(turn), TIME_LIMIT)
        except (asyncio.TimeoutError, asyncio.CancelledError):
            if turn.done():
                self.give_back(size)
            else:
                turn.cancel()
            self._serve()
            raise
        return size

    def give_back(self, size: int) -> None:
        self._free += size
        self._serve()

    def _serve(self) -> None:
        while self._waiting and (self._waiting[0][1].done() or self._waiting[0][0] <= self._free):
            size, turn = self._waiting.popleft()
            if not turn.done():
                self._free -= size
                turn.set_result(None)


class MemoryShare:
    """What one request holds of the budget; `with` gives it back at the request's end."""

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget
        self._size = 0

    async def take(self, size: int) -> None:
        """Hold `size` bytes more. Raises asyncio.TimeoutError."""
        self._size += await self._budget.take(size)

    def __enter__(self) -> MemoryShare:
        return self

    def __exit__(self, *_error: object) -> None:
        size, self._size = self._size, 0
        if size:
            self._budget.give_back(size)
