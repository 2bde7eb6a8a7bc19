"""Ends a connection whose client does not read its answer."""

from __future__ import annotations

import asyncio
import math

# Seconds within which a client must read some of an answer that waits for it. The kernel holds a
# few megabytes and reports them only in large steps.
STALLED = 60.0


class StallWatch:
    """Watches one connection, from each `begin` to the `end`."""

    def __init__(self) -> None:
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, transport: asyncio.WriteTransport, before: float = math.inf) -> None:
        """An answer waits. Check now and every STALLED seconds whether fewer bytes wait than
        `before`; otherwise abort the transport."""
        waiting = transport.get_write_buffer_size()
        if waiting >= before:
            transport.abort()
            return
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(STALLED, self.begin, transport, waiting)

    def end(self) -> None:
        """No data waits any more, or the connection is lost."""
        if self._timer is not None:
            self._timer.cancel()
