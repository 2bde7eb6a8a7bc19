"""How long other clients wait while one sends very many requests ahead of their answers.

Each server is a process of its own, which all others share: the one connection, whose answers are
read or not, a client that keeps its connection, and one that makes a new one each time.
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import closing, contextmanager, suppress
from typing import Callable, ContextManager, Dict, Iterator, Tuple

from . import peers
from .table import Aim, Row, median_row

# Requests that are sent ahead, and how many with one call.
REQUESTS, BLOCK = 150_000, 1000
# Seconds for each case.
SECONDS = 3.0
PATIENCE = 60.0
ROUNDS = 3
AIM = Aim(250.0, False, "at most 250 ms")
# A port, the request that is sent very often, and that of the others.
Target = Tuple[int, bytes, bytes]


def measure() -> Iterator[Row]:
    for name, target in SERVERS.items():
        for reads in (False, True):
            waits = [_longest_wait(target, reads) * 1e3 for _ in range(ROUNDS)]
            how = "whose answers are read" if reads else "whose answers nobody reads"
            yield median_row(f"{REQUESTS:,} requests ahead, {how}: {name}", waits, " ms", 1, AIM)


def _longest_wait(target: Callable[[], ContextManager[Target]], reads: bool) -> float:
    """Seconds of the longest wait of another client."""
    with target() as (port, request, other):
        with closing(_connect(port)) as client:
            # What comes before the first answer is limited otherwise.
            client.sendall(request)
            client.recv(1 << 20)
            client.settimeout(None)
            others = [_Other(port, other, keeps) for keeps in (True, False)]
            for work in (_send_request, _read_answer) if reads else (_send_request,):
                threading.Thread(target=work, args=(client, request), daemon=True).start()
            time.sleep(SECONDS)
            return max(each.stop() for each in others)


def _connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), PATIENCE)


def _send_request(client: socket.socket, request: bytes) -> None:
    with suppress(OSError):
        for _ in range(REQUESTS // BLOCK):
            client.sendall(request * BLOCK)


def _read_answer(client: socket.socket, _request: bytes) -> None:
    with suppress(OSError):
        while client.recv(1 << 20):
            pass


class _Other(threading.Thread):
    """Asks all the time until `stop`, over one connection where it `keeps` that."""

    def __init__(self, port: int, request: bytes, keeps: bool) -> None:
        super().__init__(daemon=True)
        self._port, self._request = port, request
        self._kept = _connect(port) if keeps else None
        self._longest = 0.0
        self._is_over = threading.Event()
        self._ask_once()
        self.start()

    def run(self) -> None:
        while not self._is_over.wait(0.002):
            began = time.perf_counter()
            self._ask_once()
            self._longest = max(self._longest, time.perf_counter() - began)

    def stop(self) -> float:
        self._is_over.set()
        self.join(PATIENCE)
        if self._kept is not None:
            self._kept.close()
        return self._longest

    def _ask_once(self) -> None:
        connection = self._kept or _connect(self._port)
        connection.sendall(self._request)
        if not connection.recv(1 << 16):
            raise ConnectionError("the server closed the connection")
        if connection is not self._kept:
            connection.close()


@contextmanager
def _target_companion() -> Iterator[Target]:
    with peers.start_companion() as peer:
        request = peer.request(peers.LIST)
        yield peer.port, request, request


@contextmanager
def _target_api(limit: int = 0, only_reads: bool = False) -> Iterator[Target]:
    with peers.start_api(limit) as (port, tokens):
        one, other = (
            _make_get(port, token) for token in (tokens if not only_reads else tokens[::-1])
        )
        yield port, one, other


def _make_get(port: int, token: str) -> bytes:
    lines = ["GET /sessions HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Authorization: Bearer {token}"]
    return "\r\n".join([*lines, "", ""]).encode("ascii")


SERVERS: Dict[str, Callable[[], ContextManager[Target]]] = {
    "companion": _target_companion,
    "API": _target_api,
    "API, read-only token": lambda: _target_api(only_reads=True),
    "API with --rate-limit 60": lambda: _target_api(60),
}
