"""The endpoint of a window without a socket."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import Any, AsyncIterator


class Endpoint:
    """Stands in for that of the transport: same arguments, same use of sessions and desk. `open`
    has those that listen, by port."""

    open: dict[int, Endpoint] = {}

    def __init__(
        self, token: str, sessions: Any, desk: Any, hooks: Any, tools: Any, on_stream: Any, *_: Any
    ) -> None:
        self.token, self.sessions, self.desk, self.on_stream = token, sessions, desk, on_stream
        self.hooks = hooks
        self.key = ""
        self._works: set[asyncio.Future[Any]] = set()

    @asynccontextmanager
    async def listen_on(self, port: int = 0) -> AsyncIterator[int]:
        port = port or max(self.open, default=40000) + 1
        self.open[port] = self
        try:
            yield port
        finally:
            del self.open[port]
            self.sessions.end_all()
            if self._works:
                await asyncio.wait(list(self._works), timeout=0.2)
            for work in self._works:
                work.cancel()

    def hand_over(self) -> None:
        pass

    def begin(self, work: Any) -> asyncio.Future[Any]:
        found = asyncio.ensure_future(work)
        self._works.add(found)
        found.add_done_callback(self._works.discard)
        return found
