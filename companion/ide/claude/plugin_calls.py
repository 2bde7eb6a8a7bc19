"""The calls of the hooks of Claude Code's plugin on one editor's pipe, each with a pipe for its
report and one for the answer (`extension/report.sh`). Knows no window.

Source: docs/protocol.md 11. The companion's loop owns it.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections import deque
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any, Awaitable, Callable, NamedTuple

from ...base.jsonrpc import RpcError, load_json
from ...base.large_json import PIECE, LargeJson, TooManyValues
from ...base.log import logger
from ...base.memory_budget import MemoryBudget, MemoryShare
from .plugin_folder import CALLS, open_pipe
from .safe_tasks import run_safely

# The calls that are answered at a time; others wait in the pipe.
MAX_CALLS = 64
# Seconds in which a call is answered: less than the hook waits, longer than disk and git are given.
TIME_LIMIT = 9.0
# Seconds for a hook to take its answer, which mostly fits into the pipe.
WRITING = 1.0
# The most bytes of a report, of all reports that are larger than a piece, and of a report without
# its long strings: it has each line that an edit changes.
MAX_REPORT, MAX_REPORTS, MAX_REST = 64 << 20, 64 << 20, 2 << 20
# Ends a report.
END = b"\0"
# What a hook announces: its name, whether its CLI has to be connected, the CLI's process, and the
# version of the plugin.
ANNOUNCEMENT = re.compile(rb"(\d{1,10}-\d{1,3}) (any|connected) (\d{1,10}) ([\w.]{1,40})")
# Bytes that are read of announcements at a time, and the most of one.
ANNOUNCED, MAX_LINE = 4096, 256
NOTHING, NOT_HERE = b"{}", b"no"


class PluginCall(NamedTuple):
    """A hook that waits. `pid` is that of its CLI, and `version` that of the plugin, as the hook
    says. One that is `only_connected` is for the editor that its CLI is connected to."""

    name: str
    only_connected: bool
    pid: int
    version: str


# Gives the line that answers the call with that report; the last argument tells whether the hook
# still waits.
AnswerCall = Callable[[PluginCall, Any, Callable[[], bool]], Awaitable[bytes]]


class PluginCalls:
    """The calls in one folder, from `start` to `stop`."""

    def __init__(self, folder: str, answer: AnswerCall) -> None:
        self._folder = folder
        self._answer = answer
        self._memory = MemoryBudget(MAX_REPORTS)
        self._pipe = -1
        self._is_listening = False
        self._beginning = b""
        self._waiting: deque[PluginCall] = deque()
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Raises OSError."""
        # Open for both, it is never at its end.
        self._pipe = open_pipe(os.path.join(self._folder, CALLS), os.O_RDWR)
        self._go_on()

    async def stop(self) -> None:
        """Every hook that waits gets its answer."""
        self._waiting.clear()
        self._listen(False)
        os.close(self._pipe)
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        _dismiss_hooks(self._folder)

    def _listen(self, is_wanted: bool) -> None:
        loop = asyncio.get_running_loop()
        if is_wanted and not self._is_listening:
            loop.add_reader(self._pipe, self._read_announcements)
        elif self._is_listening and not is_wanted:
            loop.remove_reader(self._pipe)
        self._is_listening = is_wanted

    def _read_announcements(self) -> None:
        with suppress(BlockingIOError):
            read = self._beginning + os.read(self._pipe, ANNOUNCED)
            *lines, rest = read.split(b"\n")
            self._beginning = rest[-MAX_LINE:]
            self._waiting.extend(filter(None, map(_announced_call, lines)))
            self._go_on()

    def _go_on(self) -> None:
        while self._waiting and len(self._tasks) < MAX_CALLS:
            serving = partial(self._serve_call, self._waiting.popleft())
            task = asyncio.ensure_future(run_safely(serving))
            self._tasks.add(task)
            task.add_done_callback(self._call_ended)
        self._listen(not self._waiting)

    def _call_ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if self._is_listening or self._waiting:
            self._go_on()

    async def _serve_call(self, call: PluginCall) -> None:
        try:
            await self._answer_call(call)
        except OSError as error:
            # It has ended.
            logger.debug("a hook of Claude Code has left (%s)", error)

    async def _answer_call(self, call: PluginCall) -> None:
        """Raises OSError if the hook is gone."""
        loop, path = asyncio.get_running_loop(), os.path.join(self._folder, call.name)
        with ExitStack() as stack:
            stack.callback(_remove_pipes, path)
            sending = os.fdopen(open_pipe(f"{path}.in", os.O_RDWR), "rb", 0)
            stack.callback(sending.close)
            waiting = os.fdopen(open_pipe(f"{path}.out", os.O_WRONLY), "wb", 0)
            stack.callback(waiting.close)
            # Its name says that nobody has taken the report.
            os.unlink(f"{path}.in")
            reader = asyncio.StreamReader()
            incoming, _ = await loop.connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(reader), sending
            )
            stack.callback(incoming.close)
            outgoing, hook = await loop.connect_write_pipe(_Waiting, waiting)
            stack.pop_all()
            line = NOTHING
            try:
                working = self._line_for(call, reader, outgoing)
                line = await asyncio.wait_for(working, TIME_LIMIT)
            except asyncio.TimeoutError:
                logger.warning("a hook of Claude Code was answered too late")
            finally:
                incoming.close()
                outgoing.write(line + b"\n")
                outgoing.close()
                _remove_pipes(path)
                await asyncio.wait({hook.has_left}, timeout=WRITING)
                if not hook.has_left.done():
                    outgoing.abort()

    async def _line_for(
        self, call: PluginCall, reader: asyncio.StreamReader, outgoing: asyncio.WriteTransport
    ) -> bytes:
        with MemoryShare(self._memory) as memory:
            try:
                report = await _read_report(reader, memory)
            except (RpcError, TooManyValues, _TooLarge, EOFError) as error:
                logger.warning("a hook of Claude Code reports what cannot be read: %r", error)
                return NOTHING
            return await self._answer(call, report, lambda: not outgoing.is_closing())


class _TooLarge(Exception):
    """A report has more than MAX_REPORT bytes."""


class _Waiting(asyncio.BaseProtocol):
    """The hook at the other end. Its transport closes when that ends; `has_left` is done then, and
    when all is written."""

    def __init__(self) -> None:
        self.has_left = asyncio.get_running_loop().create_future()

    def connection_lost(self, _error: Exception | None) -> None:
        self.has_left.set_result(None)


def _announced_call(line: bytes) -> PluginCall | None:
    match = ANNOUNCEMENT.fullmatch(line)
    if match is None:
        return None
    name, way, pid, version = (each.decode("ascii") for each in match.groups())
    return PluginCall(name, way == "connected", int(pid), version)


async def _read_report(reader: asyncio.StreamReader, memory: MemoryShare) -> Any:
    """Raises RpcError, TooManyValues, _TooLarge, EOFError."""
    size, small, large, end = 0, b"", LargeJson(MAX_REST), b""
    while not end:
        data = await reader.read(PIECE)
        if not data:
            raise EOFError
        data, end, _ = data.partition(END)
        size += len(data)
        small += data
        if size > MAX_REPORT:
            raise _TooLarge
        if size > PIECE:
            await memory.take_bytes(len(small))
            for at in range(0, len(small), PIECE):
                large.feed_data(small[at : at + PIECE])
            small = b""
    return load_json(small) if size <= PIECE else large.value()


def _dismiss_hooks(folder: str) -> None:
    """Answer those that nobody has begun to answer."""
    with suppress(OSError):
        for name in os.listdir(folder):
            if name.endswith(".out"):
                with suppress(OSError):
                    pipe = open_pipe(os.path.join(folder, name), os.O_WRONLY)
                    os.write(pipe, NOTHING + b"\n")
                    os.close(pipe)


def _remove_pipes(path: str) -> None:
    for end in (".in", ".out"):
        with suppress(OSError):
            os.unlink(path + end)
