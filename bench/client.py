"""A CLI in a process of its own: opens one diff, says "open", waits for the decision, says it.

`python bench/client.py PORT TOKEN PATH FILE`: proposes the text of FILE for PATH.
"""

from __future__ import annotations

import http.client
import json
import sys
import threading
from typing import Any, Dict


class Client:
    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._headers = {
            "Authorization": "Bearer " + token,
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }

    def post(self, method: str, params: Dict[str, Any]) -> None:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        connection = http.client.HTTPConnection("127.0.0.1", self._port)
        connection.request("POST", "/mcp", json.dumps(message), self._headers)
        response = connection.getresponse()
        response.read()
        if response.status != 200:
            raise RuntimeError(f"{method}: {response.status}")
        session = response.getheader("Mcp-Session-Id")
        if session:
            self._headers["Mcp-Session-Id"] = session
        connection.close()

    def stream(self) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self._port)
        connection.request("GET", "/mcp", headers=self._headers)
        return connection.getresponse()


def main(port: str, token: str, path: str, file: str) -> None:
    with open(file, encoding="utf-8", newline="") as proposal:
        content = proposal.read()
    client = Client(int(port), token)
    info = {"name": "bench", "version": "1"}
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
    client.post("initialize", params)
    stream = client.stream()
    decided = threading.Event()

    def read() -> None:
        for line in stream:
            if b"ide/diff" in line[:200]:
                decided.set()

    threading.Thread(target=read, daemon=True).start()
    arguments = {"filePath": path, "newContent": content}
    client.post("tools/call", {"name": "openDiff", "arguments": arguments})
    print("open", flush=True)
    print("decided" if decided.wait(60) else "nothing", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
