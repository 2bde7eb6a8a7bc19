"""One command in a terminal of ours: a process in a group of its own, with no input, and what it
has put out. Knows no protocol's messages."""

from __future__ import annotations

import asyncio
import codecs
import signal
import subprocess
import sys
from functools import partial
from typing import Callable, Iterable, Mapping, Sequence

from ...base.background import in_thread
from ...base.child_processes import NO_WINDOW, end_group, end_tree, has_group
from ..acp.terminal_messages import Exit

# Bytes of one read; and of the output that is kept at most, whatever the agent wants.
CHUNK, MOST = 1 << 16, 4 << 20
# Seconds for what an ended command left in its pipe; what it has started may hold that open.
DRAINING = 0.5


def runs_as_shown() -> bool:
    """Whether a command runs here exactly as its words. Windows makes one line of them, which cmd
    and batch files read once more in another way."""
    return sys.platform != "win32"


def shell_command(line: str) -> tuple[str, ...]:
    """The program that runs a line for the shell."""
    return ("/bin/sh", "-c", line)


class TerminalProcess:
    """Made by `start`. `exit` gets how it ended. `tell` gets each piece of its output."""

    def __init__(
        self, process: asyncio.subprocess.Process, limit: int | None, tell: Callable[[str], None]
    ) -> None:
        self._process = process
        self._limit = MOST if limit is None else min(limit, MOST)
        self._tell = tell
        self._kept = bytearray()
        self.is_truncated = False
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        # Once its group is empty, its number may become that of another.
        self._has_group = True
        self._reading = asyncio.ensure_future(self._read_output())
        self.exit: asyncio.Future[Exit] = asyncio.ensure_future(self._wait_for_exit())

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        environment: Mapping[str, str],
        folder: str,
        limit: int | None,
        tell: Callable[[str], None],
    ) -> TerminalProcess:
        """Raises OSError, ValueError if the process cannot be started."""
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            cwd=folder,
            start_new_session=True,
            creationflags=NO_WINDOW,
        )
        return cls(process, limit, tell)

    @property
    def output(self) -> str:
        """Its end, as far as it is kept; the beginning of a character waits for the rest."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        return decoder.decode(bytes(self._kept), final=self._reading.done())

    @property
    def ended(self) -> Exit | None:
        """None while it runs."""
        is_over = self.exit.done() and not self.exit.cancelled()
        return self.exit.result() if is_over else None

    async def kill(self) -> None:
        """End it and all that it has started."""
        if self.running_pid is None:
            self.end_rest()
        else:
            await in_thread(partial(end_tree, self.running_pid))

    def end_rest(self) -> None:
        """End what it has left, after its own end."""
        self._has_group = self._has_group and has_group(self._process.pid)
        if self._has_group:
            end_group(self._process.pid)

    @property
    def running_pid(self) -> int | None:
        """None once it has ended."""
        return self._process.pid if self._process.returncode is None else None

    async def _read_output(self) -> None:
        stdout = self._process.stdout
        while stdout is not None:
            data = await stdout.read(CHUNK)
            if not data:
                break
            self._keep(data)
            piece = self._decoder.decode(data)
            if piece:
                self._tell(piece)

    def _keep(self, data: bytes) -> None:
        self._kept += data
        left_out = len(self._kept) - self._limit
        if left_out > 0:
            self.is_truncated = True
            # Not within a character.
            while left_out < len(self._kept) and self._kept[left_out] & 0xC0 == 0x80:
                left_out += 1
            del self._kept[:left_out]

    async def _wait_for_exit(self) -> Exit:
        code = await self._process.wait()
        self._has_group = self._has_group and has_group(self._process.pid)
        await asyncio.wait({self._reading}, timeout=DRAINING)
        if code >= 0:
            return Exit(code)
        try:
            return Exit(signal=signal.Signals(-code).name)
        except ValueError:
            return Exit(signal=str(-code))


def end_processes(processes: Iterable[TerminalProcess]) -> None:
    """End them and all that they have started, at once, with one look at what runs."""
    running = []
    for process in processes:
        if process.running_pid is None:
            process.end_rest()
        else:
            running.append(process.running_pid)
    if running:
        end_tree(*running)
