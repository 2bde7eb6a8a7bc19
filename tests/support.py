"""What the tests of the core share: an editor of ten lines, a loop, a clock, a raw HTTP client."""

from __future__ import annotations

import asyncio
import functools
import glob
import http.client
import inspect
import json
import os
import shutil
import socket
import tempfile
import threading
import unittest
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, AsyncContextManager, Awaitable, Callable, Iterator, Mapping, TypeVar
from unittest import mock

from GeminiCompanion.companion.ide import discovery
from GeminiCompanion.companion.ide.editor import (
    YOURS,
    ClosedDiff,
    Editor,
    EditorError,
    Proposal,
    UnaskedEdit,
)
from GeminiCompanion.companion.ide.session import Session
from GeminiCompanion.companion.ide.status import Status

from .waiting import PATIENCE as PATIENCE
from .waiting import begun as begun
from .waiting import is_alive as is_alive
from .waiting import until as until
from .waiting import wait_for as wait_for

JSON_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
}

T = TypeVar("T")


def patched(test: unittest.TestCase, patch: Any) -> Any:
    """Have one of `mock` until the test ends; gives what stands there now."""
    test.addCleanup(patch.stop)
    return patch.start()


class InLoop(unittest.TestCase):
    """Its tests may be coroutines: each runs in a loop of its own, after `begin`, under any test
    runner."""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        for name, test in [*vars(cls).items()]:
            if name.startswith("test") and inspect.iscoroutinefunction(test):
                setattr(cls, name, in_loop(test))

    async def begin(self) -> None:
        """What a test needs a running loop for."""


def in_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    async def whole(self: InLoop) -> None:
        try:
            await self.begin()
            await test(self)
        finally:
            # What a failed test leaves may wait for the time of its Clock.
            vars(asyncio.get_running_loop()).pop("time", None)

    @functools.wraps(test)
    def run(self: InLoop) -> None:
        asyncio.run(whole(self))

    return run


class Clock:
    """The running loop's time, which stands still but for `advance`."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self._now = loop.time()
        loop.time = lambda: self._now  # type: ignore[method-assign]
        # In debug mode asyncio would take a leap for a callback that was slow.
        loop.slow_callback_duration = float("inf")

    async def advance(self, seconds: float) -> None:
        """Let the seconds pass, and run what became due and what that called."""
        self._now += seconds
        for _ in range(10):
            await asyncio.sleep(0)


class Background:
    """A thread whose loop keeps an async context manager open from `start` to `stop`.

    `value` is what the manager gave.
    """

    def __init__(self, manager: Callable[[], AsyncContextManager[Any]]) -> None:
        self.value: Any = None
        self._manager = manager
        self._started: Future[None] = Future()
        self._stop: Callable[[], None] = lambda: None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()))

    def start(self) -> Any:
        self._thread.start()
        self._started.result(PATIENCE)
        return self.value

    def stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop)
        self._thread.join(PATIENCE)

    def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """What the function gives when it is called in the loop."""

        async def call() -> T:
            return function(*arguments)

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result(PATIENCE)

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        stopped = asyncio.Event()
        self._stop = stopped.set
        async with self._manager() as self.value:
            self._started.set_result(None)
            await stopped.wait()


def discovery_files(folder: str) -> dict[str, Any]:
    """What the discovery files in a folder say, by their names.

    A CLI looks for this pattern, too: a file that is being written has another name.
    """
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "gemini-ide-server-*.json"))):
        # It may be removed after it was listed.
        with suppress(FileNotFoundError), open(path, encoding="utf-8") as file:
            found[os.path.basename(path)] = json.load(file)
    return found


def untold(session: Session) -> list[int]:
    """The decisions that no stream of the session brought, by their numbers."""
    return [event.number for event in session._waiting_events()]


def temp_folder(test: unittest.TestCase) -> str:
    """An empty folder that is the only temp folder there is, and the user's home, until the test
    ends."""
    temp = os.path.realpath(tempfile.mkdtemp())
    test.addCleanup(shutil.rmtree, temp, True)
    variables = {name: temp for name in ("TMPDIR", "TMP", "TEMP", "HOME", "USERPROFILE")}
    homes = ("QWEN_HOME", "LLXPRT_CONFIG_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR")
    variables.update(dict.fromkeys(homes, ""))
    for patch in (
        mock.patch.dict(os.environ, variables),
        mock.patch.object(discovery, "SHARED_TMPDIR", temp),
    ):
        patch.start()
        test.addCleanup(patch.stop)
    return temp


class FakeEditor(Editor):
    """`diffs` are those that are open, by window, session and path; `told` is what the user saw;
    `orphaned` says of window and session whether the editor shows that its CLI is gone.

    With a `refusal` it opens and closes nothing, and says so in these words; it takes texts back
    while it `has_window`.
    """

    def __init__(self) -> None:
        self.diffs: dict[tuple[int, str, str], str] = {}
        self.told: list[str] = []
        self.withdrawn: list[str] = []
        # The state of all windows, each time that it was another one.
        self.statuses: list[tuple[Status, ...]] = []
        self.orphaned: dict[tuple[int, str], bool] = {}
        self.refusal, self.has_window = "", True
        # Paths of diffs whose CLI closed them without a decision.
        self.left: list[str] = []
        # What was kept of diffs that came back, by their paths.
        self.saved: dict[str, str | None] = {}
        # Window and path of the diffs that the user typed into, and the texts that came back.
        self.edited: set[tuple[int, str]] = set()
        self.returned: list[tuple[int, str, str]] = []
        # What CLIs did without asking.
        self.unasked: list[UnaskedEdit] = []

    async def open_diff(self, window_id: int, proposal: Proposal) -> None:
        if self.refusal:
            raise EditorError(self.refusal)
        self.diffs[window_id, proposal.session_id, proposal.path] = proposal.content

    async def close_diff(
        self, window_id: int, session_id: str, path: str, decided: bool = True
    ) -> ClosedDiff | None:
        if self.refusal:
            raise EditorError(self.refusal)
        if not decided:
            self.left.append(path)
        text = self.diffs.pop((window_id, session_id, path), None)
        return None if text is None else ClosedDiff(text, (window_id, path) in self.edited)

    async def restore_text(
        self, window_id: int, session_id: str, path: str, saved: str | None
    ) -> str | None:
        self.saved[path] = saved
        return self.diffs.get((window_id, session_id, path))

    def set_orphaned(self, window_id: int, session_id: str, orphaned: bool) -> None:
        self.orphaned[window_id, session_id] = orphaned

    def show_status(self, statuses: tuple[Status, ...]) -> None:
        self.statuses.append(statuses)

    def gather_edit(self, window_id: int, edit: UnaskedEdit) -> None:
        self.unasked.append(edit)

    async def return_text(self, window_id: int, path: str, text: str, remark: str = YOURS) -> None:
        if not self.has_window:
            raise EditorError("The editor has no window.")
        self.returned.append((window_id, path, text))

    def show_message(self, sentence: str, about: str = "") -> None:
        self.told.append(sentence)

    def withdraw_message(self, about: str) -> None:
        self.withdrawn.append(about)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Event:
    """One event of a stream: its members by name, as text, and the message in it."""

    fields: Mapping[str, str]

    @property
    def id(self) -> int:
        return int(self.fields["id"])

    @property
    def message(self) -> Any:
        return json.loads(self.fields["data"])


class Client:
    """A CLI that says exactly what it is told to say. `headers` go with every request."""

    def __init__(self, port: int, token: str) -> None:
        self.port = port
        self.headers: dict[str, str] = {"Authorization": "Bearer " + token}

    def request(
        self, method: str, body: Any = None, path: str = "/mcp", **headers: str | None
    ) -> Answer:
        """`Content_Type=None` leaves a header out. Only a POST has those of JSON by itself."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, self._merged(method, headers))
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def post(self, value: Any, **headers: str | None) -> Answer:
        """Bytes go as they are, everything else as JSON."""
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        return self.request("POST", body, "/mcp", **headers)

    def call(self, method: str, params: Any = None) -> Any:
        """The JSON-RPC answer to a request."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        return self.post(message).json()

    def tool(self, name: str, **arguments: Any) -> Any:
        """The tool's result."""
        return self.call("tools/call", {"name": name, "arguments": arguments})["result"]

    def initialize(self, version: str = "2025-06-18") -> Any:
        """Begin a session, with which all further requests go; gives the result."""
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test"}}
        message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        answer = self.post(message)
        self.headers["Mcp-Session-Id"] = answer.headers["Mcp-Session-Id"]
        self.headers["MCP-Protocol-Version"] = answer.json()["result"]["protocolVersion"]
        return answer.json()["result"]

    @property
    def session_id(self) -> str:
        return self.headers["Mcp-Session-Id"]

    def stream(self, **headers: str | None) -> EventStream:
        return EventStream(self.port, self._merged("GET", headers))

    def send_raw(self, data: bytes) -> socket.socket:
        """A connection over which the bytes went; the caller closes it."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        connection.sendall(data)
        return connection

    def head(self, method: str = "POST", **headers: str | None) -> bytes:
        """The first lines of a raw request, with the headers of `request`."""
        merged = self._merged(method, {"Host": f"127.0.0.1:{self.port}", **headers})
        lines = [f"{method} /mcp HTTP/1.1"] + [f"{name}: {merged[name]}" for name in merged]
        return "\r\n".join(lines + ["", ""]).encode()

    def _merged(self, method: str, headers: Mapping[str, str | None]) -> dict[str, str]:
        own = {"Accept": "text/event-stream"} if method == "GET" else {}
        merged: dict[str, str | None] = {**self.headers, **own}
        if method == "POST":
            merged.update(JSON_HEADERS)
        for name, value in headers.items():
            merged[_header(name, merged)] = value
        return {name: value for name, value in merged.items() if value is not None}


def _header(name: str, known: Mapping[str, Any]) -> str:
    wanted = name.replace("_", "-")
    return next((each for each in known if each.lower() == wanted.lower()), wanted)


class StatelessClient(Client):
    """A client of MCP 2026-07-28: each request says all about itself. With a `name` it has the
    extension for diffs and the context."""

    def __init__(self, port: int, token: str, name: str = "", path: str = "/mcp") -> None:
        super().__init__(port, token)
        extensions = {"gemini-companion/ide": {"client": name}} if name else {}
        self.path = path
        self.meta: dict[str, Any] = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {"extensions": extensions},
        }

    def message(self, method: str, params: Any = None, id: Any = 1) -> tuple[Any, dict[str, Any]]:
        """A request with its headers."""
        whole = {**(params or {}), "_meta": self.meta}
        headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
        if isinstance(whole.get("name"), str):
            headers["Mcp-Name"] = whole["name"]
        return {"jsonrpc": "2.0", "id": id, "method": method, "params": whole}, headers

    def asked(self, method: str, params: Any = None, **more: str | None) -> Answer:
        """The answer to a request with these headers in place of its own."""
        message, headers = self.message(method, params)
        named = {_header(name, headers): value for name, value in more.items()}
        return self.request("POST", json.dumps(message), self.path, **{**headers, **named})

    def call(self, method: str, params: Any = None) -> Any:
        return self.asked(method, params).json()

    def listen(self, id: Any = "listen-1", **wanted: Any) -> EventStream:
        """The stream after its acknowledgement, which is `honored`."""
        message, headers = self.message("subscriptions/listen", {"notifications": wanted}, id)
        stream = EventStream(
            self.port, self._merged("POST", headers), json.dumps(message), self.path
        )
        acknowledged = stream.next().message
        if acknowledged["method"] != "notifications/subscriptions/acknowledged":
            raise AssertionError(acknowledged)
        stream.honored = acknowledged["params"]["notifications"]
        return stream


class EventStream:
    """A GET stream; with a body, what answers a POST. `retry` is what it said beside events, in
    milliseconds."""

    honored: Any = None

    def __init__(
        self, port: int, headers: Mapping[str, str], body: str | None = None, path: str = "/mcp"
    ) -> None:
        self.retry: int | None = None
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        method = "GET" if body is None else "POST"
        self._connection.request(method, path, body, headers=dict(headers))
        self._response = self._connection.getresponse()
        self.status = self._response.status
        self.headers = self._response.headers
        self._lines = self._read_lines()

    def __enter__(self) -> EventStream:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def next(self) -> Event:
        """The next event. Raises AssertionError where the stream ended."""
        event = self._read()
        if event is None:
            raise AssertionError("the stream ended")
        return event

    def ended(self) -> bool:
        """Whether the stream ended as HTTP wants it, without a further event.

        Raises ConnectionError where it just broke off, OSError where nothing came.
        """
        return self._read() is None

    def _read(self) -> Event | None:
        fields: dict[str, str] = {}
        for text in self._lines:
            name, _, value = text.partition(": ")
            if not text and fields:
                return Event(fields)
            if name == "retry":
                self.retry = int(value)
            elif text and not text.startswith(":"):
                fields[name] = value
        return None

    def comment(self) -> str:
        """The next comment; events before it are skipped."""
        return next(text for text in self._lines if text.startswith(":"))

    def _read_lines(self) -> Iterator[str]:
        """The lines of the chunked body: http.client takes one that broke off for a whole one."""
        rest = b""
        while True:
            size = self._response.fp.readline()
            if not size:
                raise ConnectionError("the stream broke off")
            data = self._response.fp.read(int(size, 16))
            self._response.fp.readline()
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            yield from (line.decode("utf-8") for line in lines)

    def close(self) -> None:
        self._response.close()
        self._connection.close()


def read_head(connection: socket.socket) -> bytes:
    """The first line and the headers of what comes next on the connection."""
    data = b""
    while not data.endswith(b"\r\n\r\n"):
        byte = connection.recv(1)
        if not byte:
            break
        data += byte
    return data


def read_all(connection: socket.socket) -> bytes:
    """What comes on the connection before it ends; closes it."""
    with connection:
        return b"".join(iter(lambda: connection.recv(65536), b""))
