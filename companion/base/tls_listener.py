"""Accepts connections with TLS and hands them over after a successful handshake. Knows no HTTP.

A client has shown nothing before its handshake, so few may try at a time, and only for a short
time.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import Any, Callable

from .log import logger
from .unauthenticated import TIME_LIMIT

# Seconds until the next attempt if the system gives no connection, as without a free descriptor.
PAUSE = 0.5


class TlsListener:
    """Works from its creation, on a running loop, until `close`. At most `limit` clients are in
    their handshake at a time; one more ends the oldest."""

    def __init__(
        self,
        listener: socket.socket,
        context: ssl.SSLContext,
        connection: Callable[[], asyncio.Protocol],
        limit: int,
    ) -> None:
        self.sockets = (listener,)
        self._listener = listener
        self._context = context
        self._connection = connection
        self._limit = limit
        # Oldest first.
        self._handshakes: dict[asyncio.Task[None], None] = {}
        listener.setblocking(False)
        self._accepting = asyncio.ensure_future(self._accept_clients())
        # Not earlier: the loop would expect data on whatever gets the same descriptor.
        self._accepting.add_done_callback(lambda _done: listener.close())

    def close(self) -> None:
        """Accept no more clients; connections that were handed over continue."""
        self._accepting.cancel()
        for task in list(self._handshakes):
            task.cancel()

    async def _accept_clients(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                client, _address = await loop.sock_accept(self._listener)
            except OSError as error:
                logger.warning("a connection could not be accepted: %s", error)
                await asyncio.sleep(PAUSE)
                continue
            if len(self._handshakes) >= self._limit:
                next(iter(self._handshakes)).cancel()
            task = asyncio.ensure_future(self._hand_over(client))
            self._handshakes[task] = None
            task.add_done_callback(self._handshakes.pop)
            # The task begins and others get their turn, however many wait to be accepted.
            await asyncio.sleep(0)

    async def _hand_over(self, client: socket.socket) -> None:
        # The types of this method came with later Pythons than the method.
        loop: Any = asyncio.get_running_loop()
        try:
            await loop.connect_accepted_socket(
                self._connection, client, ssl=self._context, ssl_handshake_timeout=TIME_LIMIT
            )
        except OSError:
            # No TLS, an old version, or nothing in time; the library's message may quote the data.
            logger.debug("a handshake of TLS went wrong")
