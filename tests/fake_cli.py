"""A CLI of a few lines: connects to a window's server as Gemini CLI does, off the UI thread.

cli = FakeCli(environment)              # the variables of a window's terminal
yield cli.connected                     # initialize, initialized and the stream are done
answer = cli.call("openDiff", filePath=path, newContent="...")   # a Future
yield answer.done
yield lambda: cli.notifications         # what came on the stream, as (method, params)
cli.close()
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Mapping

from .extension_client import ExtensionClient, key_of
from .waiting import PATIENCE, pause_after

JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class FakeCli:
    """Knows of no decision on a file outside of `folder`: the real one ignores a decision that it
    does not await, and those of a CLI that is gone go to all that come later."""

    def __init__(
        self, environment: Mapping[str, str], version: str = "2025-06-18", folder: str = ""
    ) -> None:
        self.folder = folder
        self.port = int(environment["GEMINI_CLI_IDE_SERVER_PORT"])
        self.headers = {
            "Authorization": "Bearer " + environment["GEMINI_CLI_IDE_AUTH_TOKEN"],
            "MCP-Protocol-Version": version,
        }
        self.notifications: list[tuple[str, dict[str, Any]]] = []
        # All bytes that came, of answers and of the stream.
        self.raw: list[bytes] = []
        self.stream_ended = threading.Event()
        self.is_closed = False
        # What broke the stream off; None while it lives and after a graceful end.
        self.stream_error: Exception | None = None
        self._stream_began = threading.Event()
        self._last_event: dict[str, str] = {}
        self._stream: http.client.HTTPConnection | None = None
        self._pool = ThreadPoolExecutor(1)
        self._started = self._pool.submit(self._start, version)

    def connected(self) -> bool:
        """Whether the stream is there; raises what kept it from being there."""
        if self._started.done():
            self._started.result()
        return self._stream_began.is_set()

    def call(self, tool: str, **arguments: Any) -> Future[dict[str, Any]]:
        """The tool's result, in a while."""
        params = {"name": tool, "arguments": arguments}
        return self._pool.submit(lambda: self._post("tools/call", params)["result"])

    def editor_tool(self, tool: str, **arguments: Any) -> Future[dict[str, Any]]:
        """What the server `editor` of the window answers to a call, in a while."""
        params = {"name": tool, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return self._pool.submit(lambda: self._post_json("/tools", message))

    def hook(self, event: str, **told: Any) -> Future[dict[str, Any]]:
        """What the window answers to a hook of this process, in a while."""
        told = {"hook_event_name": event, "session_id": "cli", "cwd": "/", **told}
        body = {"pid": os.getpid(), "version": "test", "input": told}
        return self._pool.submit(lambda: self._post_hook(body))

    def request(self, method: str) -> Future[dict[str, Any]]:
        """The method's result, in a while."""
        return self._pool.submit(lambda: self._post(method, {})["result"])

    def post_together(self, *calls: tuple[str, dict[str, Any]]) -> Future[None]:
        """Call tools one right after the other, without waiting for the answer to the first."""

        def post() -> None:
            with ThreadPoolExecutor(len(calls)) as pool:
                for name, arguments in calls:
                    params = {"name": name, "arguments": arguments}
                    pool.submit(self._post, "tools/call", params)
                    # One connection each: the first has to be on its way before the second.
                    threading.Event().wait(0.01)

        return self._pool.submit(post)

    def received(self, method: str) -> list[dict[str, Any]]:
        return [
            params
            for name, params in self.notifications
            if name == method and params.get("filePath", self.folder).startswith(self.folder)
        ]

    def context(self) -> list[dict[str, Any]]:
        """The open files of the newest context; none before the first came."""
        updates = self.received("ide/contextUpdate")
        files: list[dict[str, Any]] = updates[-1]["workspaceState"]["openFiles"] if updates else []
        return files

    def resume(self) -> None:
        """Come back to a stream that ended, as the SDK does: after the last event that arrived. One
        that ends only now is waited for: its server would cut off the next one, too."""
        if self.stream_ended.is_set():
            self._begin_stream()
        else:
            self._stream_began.clear()
            threading.Thread(target=self._resume_later, daemon=True).start()

    def _resume_later(self) -> None:
        self.stream_ended.wait(PATIENCE)
        self._begin_stream()

    def _begin_stream(self) -> None:
        # That of the stream before: one that the test cuts may end either way.
        self.stream_error = None
        self.stream_ended.clear()
        self._stream_began.clear()
        threading.Thread(target=self._read_stream, daemon=True).start()

    def close(self) -> None:
        """Leave as the CLI does: without a word."""
        self.is_closed = True
        if self._stream is not None and self._stream.sock is not None:
            with contextlib.suppress(OSError):
                self._stream.sock.shutdown(2)
        self._pool.shutdown(wait=False)

    def _start(self, version: str) -> None:
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "fake"}}
        self._post("initialize", params)
        self._post("notifications/initialized", None)
        threading.Thread(target=self._read_stream, daemon=True).start()

    def _post(self, method: str, params: dict[str, Any] | None) -> dict[str, Any]:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message.update(id=1, params=params)
        return self._post_json("/mcp", message)

    def _post_json(self, path: str, message: dict[str, Any]) -> dict[str, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request("POST", path, json.dumps(message), {**self.headers, **JSON})
            response = connection.getresponse()
            body = response.read()
            self.raw.append(str(response.headers).encode() + body)
        finally:
            connection.close()
        if response.status not in (200, 202):
            raise RuntimeError(f"{message}: {response.status} {body!r}")
        session = response.getheader("Mcp-Session-Id")
        if session is not None:
            self.headers["Mcp-Session-Id"] = session
        answer: dict[str, Any] = json.loads(body) if body else {}
        return answer

    def _post_hook(self, body: dict[str, Any]) -> dict[str, Any]:
        answer = ExtensionClient(self.port, key_of(self.port)).post("/hooks", body)
        if answer.status != 200:
            raise RuntimeError(f"{body}: {answer}")
        found: dict[str, Any] = answer.json()
        return found

    def _read_stream(self) -> None:
        response, id = self._open_stream(), ""
        try:
            for line in iter(response.readline, b""):
                self.raw.append(line)
                self._stream_began.set()
                if line.startswith(b"id: "):
                    id = line[4:].strip().decode()
                if line.startswith(b"data: "):
                    message = json.loads(line[6:])
                    self.notifications.append((message["method"], message["params"]))
                    # Only now: an event that was cut off has to come again.
                    self._last_event = {"Last-Event-ID": id}
        except (OSError, ValueError, http.client.HTTPException) as error:
            self.stream_error = error
        finally:
            response.close()
            if self._stream is not None:
                self._stream.close()
            self.stream_ended.set()

    def _open_stream(self) -> http.client.HTTPResponse:
        """Ask for the stream, and again where the server cuts that off, as the SDK does: one that
        ends does so to whoever comes just before its port is another's."""
        begin = time.monotonic()
        while True:
            self._stream = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
            headers = {**self.headers, "Accept": "text/event-stream", **self._last_event}
            try:
                self._stream.request("GET", "/mcp", headers=headers)
                return self._stream.getresponse()
            except ConnectionError:
                self._stream.close()
                waited = time.monotonic() - begin
                if self.is_closed or waited > PATIENCE:
                    raise
                time.sleep(pause_after(waited))
