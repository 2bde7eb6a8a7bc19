"""Connections that have not shown the token yet: few, briefly, little of it; knows no HTTP.

Anybody on this machine can connect, and a web page can make its browser do so. Whoever says little
and slowly must not use up what the CLI needs.
"""

from __future__ import annotations

import asyncio

# Seconds from the first moment of a connection to a request with the token.
PATIENCE = 10.0
# Connections without the token at a time, where the server names no other number; one more costs
# the oldest of them.
MAX_STRANGERS = 32
# Bytes of one that are listened to: the headers of a request with the token are far fewer. What the
# HTTP parser makes of bytes is larger than these, and some versions of it never refuse any.
MAX_HEARD = 16 * 1024


class Strangers:
    """Those who are still outside, oldest first. A client that opens more than `most` connections
    at once loses some before a word of theirs is heard."""

    def __init__(self, most: int = MAX_STRANGERS) -> None:
        self._most = most
        self._waiting: dict[Gate, asyncio.TimerHandle] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, gate: Gate) -> None:
        if len(self._waiting) >= self._most:
            next(iter(self._waiting)).shut()
        self._waiting[gate] = asyncio.get_running_loop().call_later(PATIENCE, gate.shut)

    def remove(self, gate: Gate) -> None:
        timer = self._waiting.pop(gate, None)
        if timer is not None:
            timer.cancel()


class Gate(asyncio.Protocol):
    """Stands before the protocol of a connection until `open`, and then is out of its way.

    What comes beyond MAX_HEARD waits, a read or two of it in our memory and all else in its
    sender's: one who has the token goes on, for the others time runs out.
    """

    def __init__(self, strangers: Strangers, inner: asyncio.Protocol) -> None:
        self._strangers = strangers
        self._inner = inner
        self._transport: asyncio.Transport | None = None
        self._left = MAX_HEARD
        self._unheard = b""

    def open(self) -> None:
        """The client has shown the token: the connection is its own from now on."""
        self._strangers.remove(self)
        if self._transport is None:
            return
        self._transport.set_protocol(self._inner)
        if self._unheard:
            # First this: the inner protocol may want to pause again.
            self._transport.resume_reading()
            self._inner.data_received(self._unheard)
            self._unheard = b""

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
        heard, unheard = data[: self._left], data[self._left :]
        self._left -= len(heard)
        if unheard and self._transport is not None:
            self._unheard += unheard
            self._transport.pause_reading()
        if heard:
            self._inner.data_received(heard)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()

    def connection_lost(self, error: Exception | None) -> None:
        self._strangers.remove(self)
        self._inner.connection_lost(error)
