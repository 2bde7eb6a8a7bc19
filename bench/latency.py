"""How long a selection takes to reach the CLI, beyond the debounce that the companion waits."""

from __future__ import annotations

import os
import socket
import tempfile
import time
from contextlib import contextmanager
from typing import Iterator, List, Tuple
from unittest import mock

from companion.ide.companion import Companion
from companion.ide.context import Cursor, OpenFile
from companion.ide.context_updates import DEBOUNCE
from companion.ide.events import FileFocused, SelectionChanged

from .fake_editor import FakeEditor
from .peers import Peer, open_peer
from .serve_companion import WINDOW, start_companion
from .table import Row, millisecond_row, quantile

EVENTS = 200
# Seconds for one update to come.
PATIENCE = 5.0


def measure() -> Iterator[Row]:
    """The median and the 99th percentile, in milliseconds."""
    late = _measure_delays()
    detail = f"{min(late) * 1e3:.2f} to {max(late) * 1e3:.2f} ms"
    name = "selection to SSE byte, beyond the debounce"
    yield millisecond_row(f"{name}: p50", quantile(late, 50), detail)
    yield millisecond_row(f"{name}: p99", quantile(late, 99), detail)


def _measure_delays() -> List[float]:
    """Seconds beyond the debounce, one number for each selection."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file.py")
        with open(path, "w"):
            pass
        with _start_companion(folder) as (companion, peer):
            companion.post(FileFocused(WINDOW, OpenFile(1, path, Cursor(1, 1))))
            with _open_stream(peer) as stream:
                return [
                    _measure_delay(companion, stream, path, line) for line in range(2, EVENTS + 2)
                ]


@contextmanager
def _start_companion(folder: str) -> Iterator[Tuple[Companion, Peer]]:
    """A companion of this process and a session with it; its discovery file is in the folder."""
    companion = Companion(os.getpid())
    with mock.patch.dict(os.environ, TMPDIR=folder):
        variables = start_companion(companion, FakeEditor(), folder)
    try:
        port = int(variables["GEMINI_CLI_IDE_SERVER_PORT"])
        yield companion, open_peer(port, variables["GEMINI_CLI_IDE_AUTH_TOKEN"])
    finally:
        companion.stop()


def _measure_delay(companion: Companion, stream: socket.socket, path: str, line: int) -> float:
    file = OpenFile(1, path, Cursor(line, 1), "selected text")
    began = time.perf_counter()
    companion.post(SelectionChanged(WINDOW, file))
    _receive_until(stream, b'"line":%d,' % line)
    return time.perf_counter() - began - DEBOUNCE


def _open_stream(peer: Peer) -> socket.socket:
    """The session's event stream, after the context of now has come."""
    stream = socket.create_connection(("127.0.0.1", peer.port), PATIENCE)
    stream.sendall(peer.stream_request())
    _receive_until(stream, b'"line":1,')
    return stream


def _receive_until(stream: socket.socket, wanted: bytes) -> None:
    """Read until the wanted bytes came. Raises ConnectionError, socket.timeout."""
    received = b""
    while wanted not in received:
        data = stream.recv(65536)
        if not data:
            raise ConnectionError("the stream ended")
        received += data
