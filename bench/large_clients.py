"""The clients of `bench.large`: `python -m bench.large_clients WHERE CASE` says a line when it is
ready, goes on with a line of input, and ends with the longest wait of another client, in seconds.
"""

from __future__ import annotations

import http.client
import json
import socket
import sys
import threading
import time
from typing import Any, Dict, List, Tuple

CLIENTS = 128
SIZE = 60_000_000
# The API's largest file.
TEXT = 10 << 20
PATIENCE = 60.0


def _make_body(case: str, where: Dict[str, Any]) -> bytes:
    if case.startswith("objects"):
        return b'{"path":[' + b'{"a":1},' * (SIZE // 8) + b"0]}"
    if case == "text to the API":
        path = json.dumps(where["file"] + ".new").encode()
        return b'{"path":%b,"content":"%b"}' % (path, b"\\u0001" * TEXT)
    arguments = b'{"filePath":"/a/b.txt","newContent":"%b"}' % (b"x" * SIZE)
    return (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call",'
        b'"params":{"name":"openDiff","arguments":%b}}' % arguments
    )


def _read_target(case: str, where: Dict[str, Any]) -> Tuple[int, str, str]:
    """Port, token and path."""
    if case.endswith("API"):
        return (*where["api"], "/write-file")
    return (*where["companion"], "/mcp")


def _make_head(port: int, token: str, path: str, length: int, *more: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Authorization: Bearer {token}"]
    lines += ["Content-Type: application/json", f"Content-Length: {length}", *more, "", ""]
    return "\r\n".join(lines).encode()


def _send_body(port: int, head: bytes, body: bytes) -> None:
    """Send all of it where that is wanted, and read the answer to its end."""
    client = socket.create_connection(("127.0.0.1", port), PATIENCE)
    try:
        client.sendall(head + body)
    except ConnectionError:
        pass
    try:
        while client.recv(1 << 20):
            pass
    except ConnectionError:
        pass
    client.close()


class Other(threading.Thread):
    """Asks for something small all the time; `longest` seconds is what an answer took."""

    def __init__(self, port: int, token: str, path: str) -> None:
        super().__init__(daemon=True)
        self.longest = 0.0
        self.over = False
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream"}
        self._path = path

    def ask(self) -> float:
        began = time.perf_counter()
        self._connection.request("GET", self._path, headers=self._headers)
        self._connection.getresponse().read()
        return time.perf_counter() - began

    def run(self) -> None:
        while not self.over:
            self.longest = max(self.longest, self.ask())
            time.sleep(0.001)


def _open_session(port: int, token: str) -> str:
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connection.request("POST", "/mcp", json.dumps(message), headers)
    return connection.getresponse().headers["Mcp-Session-Id"] or ""


def large(where: Dict[str, Any], case: str) -> None:
    port, token, path = _read_target(case, where)
    other = Other(port, token, "/mcp" if path == "/mcp" else "/sessions")
    other.ask()
    body = b"" if case == "nothing" else _make_body(case, where)
    more = ["Connection: close"]
    if path == "/mcp":
        more.append(f"Mcp-Session-Id: {_open_session(port, token)}")
    head = _make_head(port, token, path, len(body), *more)
    print("ready", flush=True)
    sys.stdin.readline()
    other.start()
    if body:
        _send_body(port, head, body)
    else:
        time.sleep(1)
    other.over = True
    other.join()
    json.dump(other.longest, sys.stdout)


def stalled(where: Dict[str, Any]) -> None:
    """Ask for a large file over and over, and read nothing."""
    port, token = where["api"]
    body = json.dumps({"path": where["file"]}).encode()
    clients: List[socket.socket] = []
    for _ in range(CLIENTS):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(PATIENCE)
        client.connect(("127.0.0.1", port))
        client.sendall(_make_head(port, token, "/read-file", len(body)) + body)
        clients.append(client)
    print("asked", flush=True)
    sys.stdin.readline()
    for client in clients:
        client.close()


if __name__ == "__main__":
    _where = json.loads(sys.argv[1])
    if sys.argv[2] == "stalled":
        stalled(_where)
    else:
        large(_where, sys.argv[2])
