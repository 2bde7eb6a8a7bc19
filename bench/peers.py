"""The servers that are compared, each started as a process, and the requests for each."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import tempfile
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Dict, Iterator, List, Tuple

from .load import CONNECTIONS

SDK_SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sdk_server")
# Seconds for a server to leave once its input has ended.
PATIENCE = 5.0

# The libraries with compiled parts, as their switches name them.
COMPILED = ("AIOHTTP", "FROZENLIST", "MULTIDICT", "PROPCACHE", "YARL")

# Bytes of text in each proposal: a small source file.
_CONTENT = "def add(a, b):\n    return a + b\n" * 16


def _make_call(tool: str, **arguments: str) -> Dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"method": "tools/call", "params": params, "jsonrpc": "2.0", "id": 7}


def _make_pair(path: str) -> List[Dict[str, Any]]:
    opened = _make_call("openDiff", filePath=path, newContent=_CONTENT)
    return [opened, _make_call("closeDiff", filePath=path)]


LIST = {"method": "tools/list", "params": {}, "jsonrpc": "2.0", "id": 7}
# What each connection says over and over, by the name of the measurement.
DIALOGUES: Dict[str, List[List[Dict[str, Any]]]] = {
    "tools/list": [[LIST]] * CONNECTIONS,
    "closeDiff, none open": [[_make_call("closeDiff", filePath="/no/diff.py")]] * CONNECTIONS,
    "openDiff + closeDiff": [_make_pair("/a/file%d.py" % n) for n in range(CONNECTIONS)],
}


@dataclass(frozen=True)
class Peer:
    """A running server that speaks MCP."""

    port: int
    token: str
    session: str = ""
    pid: int = 0

    def request(self, message: Dict[str, Any]) -> bytes:
        """The bytes of one POST, with the headers that Gemini CLI sends (wire recordings)."""
        body = json.dumps(message, separators=(",", ":")).encode("ascii")
        lines = ["POST /mcp HTTP/1.1"] + [
            "%s: %s" % header for header in self._make_headers(len(body)).items()
        ]
        return "\r\n".join(lines + ["", ""]).encode("ascii") + body

    def stream_request(self) -> bytes:
        """The bytes of the GET that opens the session's event stream."""
        headers = {**self._make_headers(0), "accept": "text/event-stream"}
        lines = ["GET /mcp HTTP/1.1"] + ["%s: %s" % header for header in headers.items()]
        return "\r\n".join(lines + ["", ""]).encode("ascii")

    def scripts(self, dialogue: str) -> List[List[bytes]]:
        return [[self.request(request) for request in script] for script in DIALOGUES[dialogue]]

    def ask(self, message: Dict[str, Any]) -> "tuple[str, bytes]":
        """POST one message; the session's id, if the answer names one, and the body."""
        body = json.dumps(message).encode("ascii")
        url = "http://127.0.0.1:%d/mcp" % self.port
        headers = self._make_headers(len(body))
        del headers["connection"]
        with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as answer:
            return answer.headers.get("mcp-session-id") or "", answer.read()

    def _make_headers(self, length: int) -> Dict[str, str]:
        headers = {
            "host": "127.0.0.1:%d" % self.port,
            "connection": "keep-alive",
            "accept": "application/json, text/event-stream",
            "authorization": "Bearer " + self.token,
            "content-type": "application/json",
            "mcp-protocol-version": "2025-06-18",
            "mcp-session-id": self.session,
            "accept-language": "*",
            "sec-fetch-mode": "cors",
            "user-agent": "undici",
            "accept-encoding": "gzip, deflate",
            "content-length": str(length),
        }
        return {name: value for name, value in headers.items() if value}


def busy_seconds(pid: int) -> float:
    """Seconds that the process has had a processor; 0 where the system does not tell."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    # In the manual of proc they are counted from 1 and from the process id on.
    return (int(fields[14 - 3]) + int(fields[15 - 3])) / os.sysconf("SC_CLK_TCK")


def open_peer(port: int, token: str) -> Peer:
    """The server with a session for all connections, as the CLI has it."""
    params = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    }
    message = {"method": "initialize", "params": params, "jsonrpc": "2.0", "id": 0}
    session, _ = Peer(port, token).ask(message)
    peer = Peer(port, token, session)
    peer.ask({"method": "notifications/initialized", "jsonrpc": "2.0"})
    return peer


@contextmanager
def start_companion(is_pure: bool = False) -> Iterator[Peer]:
    """Ours; where it `is_pure`, with the libraries in Python alone, as the package that carries
    them has them."""
    switches = {f"{name}_NO_EXTENSIONS": "1" for name in COMPILED} if is_pure else {}
    command = [sys.executable, "-m", "bench.serve_companion"]
    with tempfile.TemporaryDirectory() as folder:
        with _start_process(command, TMPDIR=folder, **switches) as (line, pid):
            yield replace(open_peer(int(line.split()[0]), line.split()[1]), pid=pid)


@contextmanager
def start_api(limit: int) -> Iterator[Tuple[int, List[str]]]:
    """The API's port, its token and the one that only reads; with as many requests a minute as the
    `limit` for each of them, 0 for any number."""
    with _start_process([sys.executable, "-m", "bench.serve_api", str(limit)]) as (line, _pid):
        port, *tokens = line.split()
        yield int(port), tokens


@contextmanager
def start_sdk(*options: str) -> Iterator[Peer]:
    """The SDK's server. Raises FileNotFoundError where there is no node."""
    token = secrets.token_urlsafe(32)
    command = ["node", os.path.join(SDK_SERVER, "server.mjs"), *options]
    with _start_process(command, BENCH_TOKEN=token, NODE_ENV="production") as (line, pid):
        yield replace(open_peer(int(line), token), pid=pid)


@contextmanager
def start_bare(sizes: List[int], like: Peer) -> Iterator[Peer]:
    """The bare aiohttp handler, which is asked in the same words as the other."""
    command = [sys.executable, "-m", "bench.serve_bare"] + [str(size) for size in sizes]
    with _start_process(command) as (line, pid):
        yield replace(like, port=int(line), pid=pid)


@contextmanager
def _start_process(command: List[str], **environment: str) -> Iterator[Tuple[str, int]]:
    """A server that says one line when it is ready and leaves when its input ends; the line, and
    the id of the process."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        universal_newlines=True,
        env={**os.environ, **environment},
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        yield process.stdout.readline(), process.pid
    finally:
        process.stdin.close()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
