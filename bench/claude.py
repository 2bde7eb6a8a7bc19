"""How long a proposal takes from `openDiff` to the decision: over Claude Code's web socket, beside
the way of Gemini CLI in the same process, by turns.

The former also asks the disk, in a thread, whether the file is shared.
"""

from __future__ import annotations

import glob
import json
import os
import socket
import statistics
import tempfile
import time
from contextlib import closing, contextmanager
from typing import Iterator, List, Tuple
from unittest import mock

from companion.ide.companion import Companion
from companion.ide.editor import Proposal
from companion.ide.events import DiffAccepted

from .claude_client import PATIENCE, ClaudeClient
from .fake_editor import FakeEditor
from .peers import Peer, open_peer
from .serve_companion import LOOK, start_companion
from .table import Aim, Row, median_row, millisecond_row, quantile

ROUNDS = 300
# Of these, one ratio each.
GROUP = 30
TEXT = "def add(a, b):\n    return a + b\n" * 16
AIM = Aim(1.0, True, "at least 1.0")


class DecidingEditor(FakeEditor):
    """Its user accepts each proposal as soon as it is shown."""

    def __init__(self, companion: Companion) -> None:
        super().__init__()
        self._companion = companion

    async def open_diff(self, window_id: int, proposal: Proposal) -> None:
        await super().open_diff(window_id, proposal)
        decision = proposal.session_id, proposal.path, proposal.content, ""
        self._companion.post(DiffAccepted(window_id, *decision))


def measure() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        sent, socketed = _measure_ways(folder)
    name = "openDiff to the decision"
    for way, seconds in (("web socket", socketed), ("POST and event stream", sent)):
        detail = f"p99 {quantile(seconds, 99) * 1e3:,.2f} ms"
        yield millisecond_row(f"{name}, {way}: p50", statistics.median(seconds), detail)
    ratios = [
        statistics.median(sent[at : at + GROUP]) / statistics.median(socketed[at : at + GROUP])
        for at in range(0, ROUNDS, GROUP)
    ]
    yield median_row(f"{name}: the second by the first", ratios, "", 2, AIM)


def _measure_ways(folder: str) -> Tuple[List[float], List[float]]:
    """Seconds over HTTP and over the web socket, of rounds by turns."""
    sent: List[float] = []
    socketed: List[float] = []
    with _start_companion(folder) as (peer, claude), closing(claude):
        address = "127.0.0.1", peer.port
        with socket.create_connection(address, PATIENCE) as stream, socket.create_connection(
            address, PATIENCE
        ) as posts:
            stream.sendall(peer.stream_request())
            _receive_until(stream, b"ide/contextUpdate")
            for number in range(ROUNDS):
                path = os.path.join(folder, f"file{number}.py")
                # The accepted text is there at once, and waits for nobody to write it.
                with open(path, "w", encoding="utf-8") as file:
                    file.write(TEXT)
                sent.append(_post_diff(peer, posts, stream, path))
                socketed.append(_call_diff(claude, path))
    return sent, socketed


@contextmanager
def _start_companion(folder: str) -> Iterator[Tuple[Peer, ClaudeClient]]:
    """A companion of this process, a session with it, and a Claude Code that is connected. The
    files that lead there are in the folder."""
    home = os.path.join(folder, "home")
    os.makedirs(os.path.join(home, ".claude"))
    companion = Companion(os.getpid())
    places = {"TMPDIR": folder, "HOME": home, "USERPROFILE": home}
    with mock.patch.dict(os.environ, places):
        os.environ.pop("CLAUDE_CONFIG_DIR", None)
        variables = start_companion(companion, DecidingEditor(companion), folder)
        try:
            peer = open_peer(
                int(variables["GEMINI_CLI_IDE_SERVER_PORT"]),
                variables["GEMINI_CLI_IDE_AUTH_TOKEN"],
            )
            yield peer, ClaudeClient(*_find_lock(home), folder)
        finally:
            companion.stop()


def _find_lock(home: str) -> Tuple[int, str]:
    """Port and token of the server for Claude Code. Raises TimeoutError."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        for path in glob.glob(os.path.join(glob.escape(home), ".claude", "ide", "*.lock")):
            with open(path, encoding="utf-8") as file:
                return int(os.path.basename(path)[: -len(".lock")]), json.load(file)["authToken"]
        time.sleep(LOOK)
    raise TimeoutError("there is no server for Claude Code")


def _post_diff(peer: Peer, posts: socket.socket, stream: socket.socket, path: str) -> float:
    arguments = {"filePath": path, "newContent": TEXT}
    params = {"name": "openDiff", "arguments": arguments}
    request = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    began = time.perf_counter()
    posts.sendall(peer.request(request))
    _receive_until(posts, b'"result"')
    _receive_until(stream, b"ide/diffAccepted", b"\n\n")
    return time.perf_counter() - began


def _call_diff(claude: ClaudeClient, path: str) -> float:
    paths = {"old_file_path": path, "new_file_path": path}
    arguments = {**paths, "new_file_contents": TEXT, "tab_name": path}
    began = time.perf_counter()
    answer = claude.request(path, "tools/call", {"name": "openDiff", "arguments": arguments})
    seconds = time.perf_counter() - began
    if answer["result"]["content"][0]["text"] != "FILE_SAVED":
        raise RuntimeError(f"the proposal was not accepted: {answer}")
    return seconds


def _receive_until(connection: socket.socket, wanted: bytes, end: bytes = b"") -> None:
    """Read until the wanted bytes came, and the end after them. Raises ConnectionError,
    socket.timeout."""
    received = b""
    while wanted not in received or end not in received[received.index(wanted) :]:
        data = connection.recv(65536)
        if not data:
            raise ConnectionError("the connection ended")
        received += data
