"""A Claude Code whose messages are bytes at once, so that the server is measured and not the
client."""

from __future__ import annotations

import base64
import json
import os
import socket
import struct
from typing import Any, Dict

# Seconds for an answer.
PATIENCE = 60.0
TEXT = 1


class ClaudeClient:
    """A web socket to the server for Claude Code, as of a CLI that runs in the folder."""

    def __init__(self, port: int, token: str, folder: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = b""
        key = base64.b64encode(os.urandom(16)).decode("ascii")
        lines = (
            "GET / HTTP/1.1",
            f"Host: 127.0.0.1:{port}",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Protocol: mcp",
            f"Sec-WebSocket-Key: {key}",
            f"X-Claude-Code-Ide-Authorization: {token}",
        )
        self._socket.sendall("\r\n".join([*lines, "", ""]).encode("ascii"))
        while b"\r\n\r\n" not in self._received:
            self._receive()
        head, _, self._received = self._received.partition(b"\r\n\r\n")
        if b" 101 " not in head.splitlines()[0]:
            raise ConnectionError(f"the server refused: {head!r}")
        self._begin_session(folder)

    def close(self) -> None:
        self._socket.close()

    def request(self, id: Any, method: str, params: Dict[str, Any]) -> Dict[str, Any]:
        """The answer to the request. Raises ConnectionError, socket.timeout."""
        self.send({"id": id, "method": method, "params": params})
        return self._message_with(id)

    def send(self, message: Dict[str, Any]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode("ascii")
        size = len(data)
        if size < 126:
            head = struct.pack("!BB", 0x80 | TEXT, 0x80 | size)
        elif size < 1 << 16:
            head = struct.pack("!BBH", 0x80 | TEXT, 0x80 | 126, size)
        else:
            head = struct.pack("!BBQ", 0x80 | TEXT, 0x80 | 127, size)
        # A mask of zeros leaves the data as it is.
        self._socket.sendall(head + bytes(4) + data)

    def _begin_session(self, folder: str) -> None:
        client = {"name": "claude-code", "version": "2.1.330"}
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"roots": {}},
            "clientInfo": client,
        }
        self.request(0, "initialize", params)
        self.send({"method": "notifications/initialized"})
        self._message_with("roots")
        self.send({"id": "roots", "result": {"roots": [{"uri": f"file://{folder}"}]}})

    def _message_with(self, id: Any) -> Dict[str, Any]:
        while True:
            opcode, data = self._next_frame()
            if opcode == TEXT:
                message: Dict[str, Any] = json.loads(data)
                if message.get("id") == id:
                    return message

    def _next_frame(self) -> "tuple[int, bytes]":
        first, size = self._take(2)
        if size == 126:
            (size,) = struct.unpack("!H", self._take(2))
        elif size == 127:
            (size,) = struct.unpack("!Q", self._take(8))
        return first & 0x0F, self._take(size)

    def _take(self, size: int) -> bytes:
        while len(self._received) < size:
            self._receive()
        data, self._received = self._received[:size], self._received[size:]
        return data

    def _receive(self) -> None:
        data = self._socket.recv(65536)
        if not data:
            raise ConnectionError("the connection ended")
        self._received += data
