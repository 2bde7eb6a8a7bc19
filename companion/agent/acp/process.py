"""One process with pipes, started in a group of its own and ended with that group. Reads lines of
bytes and knows nothing of their content."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections import deque
from contextlib import suppress
from typing import AsyncIterator, Callable, Mapping, Sequence

from ...base.child_processes import NO_WINDOW, end_group, end_tree, groups_below

# Bytes of one read; larger reads gain nothing.
CHUNK = 1 << 16
# Bytes of one line: a diff contains two whole files. A longer line means that the process is
# broken.
MAX_LINE = 64 << 20
# Bytes of one line of standard error; a longer one counts as several.
MAX_ERROR_LINE = 1 << 16
# Lines of standard error that are kept: enough to say why a start failed.
KEPT_LINES = 20
# Seconds that a process gets after its input was closed, and after it was asked to end.
CLOSING, TERMINATING = 1.0, 3.0
# Seconds between two looks at a group that ends.
LOOKING = 0.02
# Seconds to read what an ended process left in its pipes; its children may hold them open.
DRAINING = 1.0
# Seconds until the system has told that a killed process has ended; a busy one tells it late.
TELLING = 10.0


class TooLong(Exception):
    """A line has no end."""


class AgentProcess:
    """Made by `start`, with this `environment`. Ends with `stop`, or at once with `kill`.

    `takes_error` gets each line of standard error; a line that it takes is not among the
    `last_errors`.
    """

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        takes_error: Callable[[str], bool],
        environment: Mapping[str, str],
    ) -> None:
        self._process = process
        self.environment = environment
        self._takes_error = takes_error
        self._errors: deque[str] = deque(maxlen=KEPT_LINES)
        self._drain = asyncio.ensure_future(self._drain_errors())

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        environment: Mapping[str, str],
        folder: str,
        takes_error: Callable[[str], bool] = lambda line: False,
    ) -> AgentProcess:
        """Raises OSError if the process cannot be started."""
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            cwd=folder,
            # Windows ends a tree of processes by their parents and has no such groups.
            start_new_session=sys.platform != "win32",
            creationflags=NO_WINDOW,
        )
        return cls(process, takes_error, environment)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.returncode is None

    @property
    def last_errors(self) -> str:
        """The last lines that it wrote to standard error."""
        return "\n".join(self._errors)

    def write(self, data: bytes) -> None:
        """Never waits. If the process has ended, the data is dropped."""
        stdin = self._process.stdin
        if stdin is not None and not stdin.is_closing():
            stdin.write(data)

    async def read_lines(self) -> AsyncIterator[bytes]:
        """Its output line by line, without the line feeds. Raises TooLong."""
        stdout = self._process.stdout
        parts: list[bytes] = []
        size = 0
        while stdout is not None:
            data = await stdout.read(CHUNK)
            if not data:
                break
            first, *others = data.split(b"\n")
            parts.append(first)
            for other in others:
                yield b"".join(parts)
                parts, size = [other], 0
            size += len(data)
            if size > MAX_LINE:
                raise TooLong(f"a line has more than {MAX_LINE} bytes")
        if any(parts):
            yield b"".join(parts)

    async def stop(self) -> None:
        """End the process as gently as possible, within five seconds; a busy system may take longer
        to tell of its end."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        if not await self._ends_within(CLOSING) and sys.platform != "win32":
            # A CLI with tool servers or background commands does not end by itself. It leaves the
            # commands running, and once it has ended they cannot be found.
            commands = groups_below(self.pid)
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGTERM)
            end = asyncio.get_running_loop().time() + TERMINATING
            await self._ends_within(TERMINATING)
            if self._process.returncode == -signal.SIGTERM:
                # It may be a launcher, and the CLI that it has started is still ending.
                await self._group_ends_by(end)
            for group in commands:
                end_group(group)
        await self.kill()

    async def kill(self) -> None:
        """End the process and everything that it started, at once."""
        if self.is_running:
            end_tree(self.pid)
        else:
            end_group(self.pid)
        # Some releases of Python wait for the pipes here, which a grandchild may hold open.
        await self._ends_within(DRAINING)
        await self._hear_of_end(TELLING)
        await asyncio.wait({self._drain}, timeout=DRAINING)
        self._drain.cancel()

    async def kill_unread(self) -> None:
        """Do what `kill` does, for whoever reads no more lines: those that are left would hold its
        pipe open."""
        dropping = asyncio.ensure_future(self._drop_lines())
        await self.kill()
        await asyncio.wait({dropping}, timeout=DRAINING)
        dropping.cancel()

    async def _drop_lines(self) -> None:
        stdout = self._process.stdout
        while stdout is not None and await stdout.read(CHUNK):
            pass

    async def _ends_within(self, seconds: float) -> bool:
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._process.wait(), seconds)
        return not self.is_running

    async def _hear_of_end(self, seconds: float) -> None:
        """Wait until the process itself has ended, whatever becomes of its pipes."""
        end = asyncio.get_running_loop().time() + seconds
        while self.is_running and asyncio.get_running_loop().time() < end:
            await asyncio.sleep(LOOKING)

    async def _group_ends_by(self, end: float) -> None:
        """`end` is a time of the loop."""
        with suppress(ProcessLookupError, PermissionError):
            while asyncio.get_running_loop().time() < end:
                os.killpg(self.pid, 0)
                await asyncio.sleep(LOOKING)

    async def _drain_errors(self) -> None:
        stderr = self._process.stderr
        rest = b""
        while stderr is not None:
            data = await stderr.read(CHUNK)
            *lines, rest = (rest + data).split(b"\n")
            if not data or len(rest) > MAX_ERROR_LINE:
                lines, rest = [*lines, rest], b""
            for line in lines:
                text = line.decode("utf-8", "replace").strip()
                if text and not self._takes_error(text):
                    self._errors.append(text)
            if not data:
                break
