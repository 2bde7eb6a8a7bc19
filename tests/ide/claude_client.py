"""A Claude Code of the tests: the web socket by hand, with any frame."""

from __future__ import annotations

import base64
import json
import os
import socket
import struct
from contextlib import suppress
from typing import Any, Mapping

from ..support import PATIENCE, read_head

TEXT, CLOSE, PING, PONG = 1, 8, 9, 10
HEADERS = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Protocol": "mcp",
    "Sec-WebSocket-Extensions": "permessage-deflate; client_max_window_bits",
}


class ClaudeClient:
    """A connection to the port; `status` is that of the answer to its request, `head` the whole.
    With other `headers` those are sent instead, without those that are None."""

    def __init__(self, port: int, token: str, **headers: str | None) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), PATIENCE)
        key = base64.b64encode(os.urandom(16)).decode()
        sent: dict[str, str | None] = {
            "Host": f"127.0.0.1:{port}",
            **HEADERS,
            "Sec-WebSocket-Key": key,
            "X-Claude-Code-Ide-Authorization": token,
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        lines = [f"{name}: {value}" for name, value in sent.items() if value is not None]
        self._socket.sendall(
            "\r\n".join(["GET / HTTP/1.1", *lines, "", ""]).encode("utf-8", "surrogateescape")
        )
        self.head = read_head(self._socket).decode()
        self.status = int(self.head.split()[1])
        self._ids = 0
        # What came while something else was waited for.
        self._waiting: list[dict[str, Any]] = []

    def close(self) -> None:
        self._socket.close()

    def close_both_ways(self) -> None:
        """Also where another thread reads: that ends."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def send_frame(self, opcode: int, data: bytes, first: int = 0x80) -> None:
        """`first` has the bits beside the opcode: 0x80 ends the message, 0x40 is compressed."""
        size = len(data)
        if size < 126:
            head = struct.pack("!BB", first | opcode, 0x80 | size)
        elif size < 1 << 16:
            head = struct.pack("!BBH", first | opcode, 0x80 | 126, size)
        else:
            head = struct.pack("!BBQ", first | opcode, 0x80 | 127, size)
        # A mask of zeros leaves the data as it is.
        self._socket.sendall(head + bytes(4) + data)

    def send(self, message: Mapping[str, Any]) -> None:
        self.send_frame(TEXT, json.dumps({"jsonrpc": "2.0", **message}).encode())

    def read_frame(self) -> tuple[int, bytes]:
        """The next frame: opcode and data. (0, b"") if the connection has ended."""
        try:
            first, second = self._read(2)
            size = second & 0x7F
            if size == 126:
                (size,) = struct.unpack("!H", self._read(2))
            elif size == 127:
                (size,) = struct.unpack("!Q", self._read(8))
            return first & 0x0F, self._read(size)
        except (EOFError, ConnectionError):
            return 0, b""

    def read(self) -> dict[str, Any]:
        """The next message. Raises EOFError if there is none."""
        while True:
            opcode, data = self.read_frame()
            if opcode == TEXT:
                found: dict[str, Any] = json.loads(data)
                return found
            if opcode in (0, CLOSE):
                raise EOFError(data)

    def close_code(self) -> int:
        """The code with which the other side closes; 0 if it just ends."""
        while True:
            opcode, data = self.read_frame()
            if opcode == CLOSE:
                return int(struct.unpack("!H", data[:2])[0])
            if opcode == 0:
                return 0

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            piece = self._socket.recv(size - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data

    def begin(self, method: str, **params: Any) -> int:
        """Send a request; gives its id."""
        self._ids += 1
        self.send({"id": self._ids, "method": method, "params": params})
        return self._ids

    def begin_call(self, tool: str, **arguments: Any) -> int:
        return self.begin("tools/call", name=tool, arguments=arguments)

    def answer(self, id: int | None) -> dict[str, Any]:
        """The answer to the request."""
        return self._take(lambda message: message.get("id") == id and "method" not in message)

    def notification(self, method: str) -> dict[str, Any]:
        """The params of the next notification with the method."""
        found: dict[str, Any] = self._take(lambda message: message.get("method") == method)[
            "params"
        ]
        return found

    def _take(self, is_wanted: Any) -> dict[str, Any]:
        for message in self._waiting:
            if is_wanted(message):
                self._waiting.remove(message)
                return message
        while True:
            message = self.read()
            if is_wanted(message):
                return message
            self._waiting.append(message)

    def call(self, tool: str, **arguments: Any) -> Any:
        """The result of the tool."""
        return self.answer(self.begin_call(tool, **arguments))["result"]

    def initialize(self, folder: str, pid: int = 1) -> None:
        """As the CLI begins, in the folder."""
        capabilities = {"roots": {"listChanged": True}}
        client = {"name": "claude-code", "version": "2.1.330"}
        params = {"protocolVersion": "2025-11-25", "capabilities": capabilities}
        self.answer(self.begin("initialize", **params, clientInfo=client))
        self.send({"method": "notifications/initialized"})
        self.send({"method": "ide_connected", "params": {"pid": pid}})
        asked = self._take(lambda message: message.get("method") == "roots/list")
        self.send({"id": asked["id"], "result": {"roots": [{"uri": f"file://{folder}"}]}})

    def open_diff(self, path: str, text: str, tab: str = "tab") -> int:
        """Ask for a diff; gives the id of the request, which is answered later."""
        paths = {"old_file_path": path, "new_file_path": path}
        return self.begin_call("openDiff", **paths, new_file_contents=text, tab_name=tab)


def texts(result: Mapping[str, Any]) -> list[str]:
    """The texts of a tool's result, after `error` if it is one."""
    found = [part["text"] for part in result["content"]]
    return ["error"] if result.get("isError") else found
