"""The bytes that all large bodies and answers together may hold at a time. Knows no HTTP."""

from __future__ import annotations

import asyncio
from collections import deque

# Seconds to wait for others to return bytes.
TIME_LIMIT = 20.0


class MemoryBudget:
    """Bytes are given in the order of the requests for them, so that small requests do not starve a
    large one. Used on one loop."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._free = limit
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def take_bytes(self, size: int) -> int:
        """Gives the number of bytes taken, which must be given back: `size`, or the whole budget if
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
            self._serve_waiting()
            raise
        return size

    def give_back(self, size: int) -> None:
        self._free += size
        self._serve_waiting()

    def _serve_waiting(self) -> None:
        while self._waiting and (self._waiting[0][1].done() or self._waiting[0][0] <= self._free):
            size, turn = self._waiting.popleft()
            if not turn.done():
                self._free -= size
                turn.set_result(None)


class MemoryShare:
    """The bytes that one request holds; `with` gives them back at the end of the request."""

    def __init__(self, budget: MemoryBudget) -> None:
        self._budget = budget
        self._size = 0

    async def take_bytes(self, size: int) -> None:
        """Take `size` more bytes. Raises asyncio.TimeoutError."""
        self._size += await self._budget.take_bytes(size)

    def move_bytes(self) -> MemoryShare:
        """Another share that holds these bytes from now on, for work that outlives the request."""
        other = MemoryShare(self._budget)
        other._size, self._size = self._size, 0
        return other

    def __enter__(self) -> MemoryShare:
        return self

    def __exit__(self, *_error: object) -> None:
        size, self._size = self._size, 0
        if size:
            self._budget.give_back(size)
