"""Connections that have not sent the token yet: few, for a short time, with little data. Knows no
HTTP.

Anybody on this machine can connect, and a web page can make its browser do so. Clients that send
little and slowly must not use up the connections that the CLI needs.
"""

from __future__ import annotations

import asyncio

from .vanished_clients import watch_for_vanishing

# Seconds from the beginning of a connection to a request with the token. While a CLI draws a large
# text, it sends nothing; if its connection ends then, it believes that the server has ended
# (docs/protocol.md 3.20).
TIME_LIMIT = 60.0
# Bytes of such a connection that are parsed: the headers of a request with the token are far
# shorter. The HTTP parser's objects are larger than the bytes, and some versions have no limit.
MAX_BYTES = 16 * 1024


class UnauthenticatedConnections:
    """The connections without a request that has the token, oldest first, at most `limit`; one more
    ends the oldest. A client that opens more than `limit` at once loses some before any byte of
    them is read."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._timers: dict[UnauthenticatedProtocol, asyncio.TimerHandle] = {}

    def __len__(self) -> int:
        return len(self._timers)

    def add(self, connection: UnauthenticatedProtocol) -> None:
        if len(self._timers) >= self.limit:
            next(iter(self._timers)).abort()
        loop = asyncio.get_running_loop()
        self._timers[connection] = loop.call_later(TIME_LIMIT, connection.abort)

    def remove(self, connection: UnauthenticatedProtocol) -> None:
        timer = self._timers.pop(connection, None)
        if timer is not None:
            timer.cancel()


class UnauthenticatedProtocol(asyncio.Protocol):
    """Stands before the protocol of a connection until `lift_limits`, then steps aside.

    Data beyond MAX_BYTES waits, one or two reads of it in our memory and the rest in the sender's.
    A client with the token then continues; for all others the time runs out.
    """

    def __init__(self, connections: UnauthenticatedConnections, inner: asyncio.Protocol) -> None:
        self._connections = connections
        self._inner = inner
        self._transport: asyncio.Transport | None = None
        self._allowance = MAX_BYTES
        self._waiting = b""

    def lift_limits(self) -> None:
        """The client has sent the token: the limits of this module no longer apply."""
        self._connections.remove(self)
        if self._transport is None:
            return
        self._transport.set_protocol(self._inner)
        if self._waiting:
            # This comes first, because the inner protocol may want to pause again.
            self._transport.resume_reading()
            self._inner.data_received(self._waiting)
            self._waiting = b""

    def abort(self) -> None:
        self._connections.remove(self)
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self._transport = transport
        watch_for_vanishing(transport.get_extra_info("socket"))
        self._connections.add(self)
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        allowed, beyond = data[: self._allowance], data[self._allowance :]
        self._allowance -= len(allowed)
        if beyond and self._transport is not None:
            self._waiting += beyond
            self._transport.pause_reading()
        if allowed:
            self._inner.data_received(allowed)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()

    def connection_lost(self, error: Exception | None) -> None:
        self._connections.remove(self)
        self._inner.connection_lost(error)
