"""Connections that have not shown the token yet: few, and not for long; knows no HTTP.

Anybody on this machine can connect, and a web page can make its browser do so. Whoever says little
and slowly must not use up what the CLI needs.
"""

from __future__ import annotations

import asyncio

# Seconds from the first moment of a connection to a request with the token.
PATIENCE = 10.0
# Connections without the token at a time; one more costs the oldest of them.
MAX_STRANGERS = 32


class Strangers:
    """Those who are still outside, oldest first."""

    def __init__(self) -> None:
        self._waiting: dict[Gate, asyncio.TimerHandle] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, gate: Gate) -> None:
        if len(self._waiting) >= MAX_STRANGERS:
            next(iter(self._waiting)).shut()
        self._waiting[gate] = asyncio.get_running_loop().call_later(PATIENCE, gate.shut)

    def remove(self, gate: Gate) -> None:
        timer = self._waiting.pop(gate, None)
        if timer is not None:
            timer.cancel()


class Gate(asyncio.Protocol):
    """Stands before the protocol of a connection until `open`, and then is out of its way."""

    def __init__(self, strangers: Strangers, inner: asyncio.Protocol) -> None:
        self._strangers = strangers
        self._inner = inner
        self._transport: asyncio.Transport | None = None

    def open(self) -> None:
        """The client has shown the token: the connection is its own from now on."""
        self._strangers.remove(self)
        if self._transport is not None:
            self._transport.set_protocol(self._inner)

    def shut(self) -> None:
        self._strangers.remove(self)
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self._transport = transport
        self._strangers.add(self)
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()

    def connection_lost(self, error: Exception | None) -> None:
        self._strangers.remove(self)
        self._inner.connection_lost(error)
