"""A load generator in a process of its own: keep-alive connections, one request at a time each.

`python -m bench.load` reads one plan as JSON from standard input and writes one count as JSON. It
knows of HTTP only where an answer ends, so that it stays faster than every server it measures.
"""

from __future__ import annotations

import json
import math
import re
import selectors
import socket
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from typing import List, Tuple

# Requests waiting at once: a CLI uses three or four connections.
CONNECTIONS = 8
# Seconds without any answer after which a server counts as dead.
PATIENCE = 5.0

_LENGTH = re.compile(rb"\r\nContent-Length: (\d+)\r\n", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\nTransfer-Encoding: chunked\r\n", re.IGNORECASE)


@dataclass(frozen=True)
class Count:
    """What one run saw. `seconds` of wall clock; `busy` is the generator's own share of a core,
    between 0 and 1: near 1 it has measured itself. `served` are the seconds that the server had a
    processor, 0 where the system does not tell."""

    answers: int
    failures: int
    seconds: float
    busy: float
    served: float = 0.0

    @property
    def rate(self) -> float:
        """Good answers per second."""
        return self.answers / self.seconds

    @property
    def served_rate(self) -> float:
        """Good answers for each second that the server had a processor: other work on the machine
        changes it little."""
        return self.answers / self.served if self.served else math.nan


class Connection:
    """One client: sends its requests in turn, for ever, the next when the last was answered."""

    def __init__(self, port: int, requests: List[bytes]) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.answers = self.failures = 0
        self._requests = requests
        self._received = b""

    def send(self) -> None:
        turn = (self.answers + self.failures) % len(self._requests)
        self.socket.sendall(self._requests[turn])

    def receive(self) -> None:
        """Take what has come; send the next request where an answer is whole."""
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError("the server closed the connection")
        self._received += data
        if is_whole(self._received):
            if self._received.startswith(b"HTTP/1.1 2") and b'"result":' in self._received:
                self.answers += 1
            else:
                self.failures += 1
            self._received = b""
            self.send()


def is_whole(data: bytes) -> bool:
    """Whether one HTTP answer, with a length or in chunks, is there to its end."""
    head = data.find(b"\r\n\r\n") + 4
    if head < 4:
        return False
    length = _LENGTH.search(data, 0, head)
    if length is not None:
        return len(data) >= head + int(length.group(1))
    return _CHUNKED.search(data, 0, head) is not None and data.endswith(b"\r\n0\r\n\r\n")


def load_server(port: int, scripts: List[List[bytes]], seconds: float) -> Count:
    """Load a server with one connection for each script. Raises ConnectionError, OSError."""
    selector = selectors.DefaultSelector()
    connections = [Connection(port, script) for script in scripts]
    for connection in connections:
        selector.register(connection.socket, selectors.EVENT_READ, connection.receive)
    began, cpu = time.monotonic(), time.process_time()
    for connection in connections:
        connection.send()
    while time.monotonic() - began < seconds:
        ready = selector.select(PATIENCE)
        if not ready:
            raise ConnectionError("the server stopped answering")
        for key, _ in ready:
            key.data()
    elapsed = time.monotonic() - began
    busy = (time.process_time() - cpu) / elapsed
    for connection in connections:
        connection.socket.close()
    answers = sum(connection.answers for connection in connections)
    return Count(answers, sum(connection.failures for connection in connections), elapsed, busy)


def run_apart(port: int, scripts: List[List[bytes]], seconds: float) -> Count:
    """`run` in a new process, so that no server shares its interpreter with the generator.

    Raises subprocess.SubprocessError."""
    texts = [[request.decode("latin-1") for request in script] for script in scripts]
    done = subprocess.run(
        [sys.executable, "-m", "bench.load"],
        input=json.dumps([port, texts, seconds]),
        stdout=subprocess.PIPE,
        text=True,
        timeout=seconds + 3 * PATIENCE,
        check=True,
    )
    return Count(**json.loads(done.stdout))


def _read_plan(text: str) -> Tuple[int, List[List[bytes]], float]:
    port, texts, seconds = json.loads(text)
    return port, [[request.encode("latin-1") for request in script] for script in texts], seconds


if __name__ == "__main__":
    json.dump(asdict(load_server(*_read_plan(sys.stdin.read()))), sys.stdout)
