"""One command of the system's shell, with an end to its time, its output and its children; knows no
HTTP."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass

from ..agent.home import INHERITED

# Seconds for a command that asks for none of its own.
SECONDS = 120.0
# Bytes that are kept of each of the two outputs; the rest is read and dropped.
MAX_OUTPUT = 1 << 20
CHUNK = 1 << 16
# Seconds for what children of an ended command still write.
DRAINING = 0.5
# Seconds until the first look whether it ended, and between two looks later on.
FIRST_LOOK, LOOKING = 0.005, 0.1
# The exit code of one that was ended by a signal.
KILLED = -1


@dataclass(frozen=True)
class Result:
    """`output` and `errors` are what was written to the two outputs; bytes that are no UTF-8 are
    replaced. `was_cut` says whether there was more, `was_late` whether its time ran out."""

    output: str
    errors: str
    exit_code: int
    was_cut: bool
    was_late: bool


async def run(command: str, folder: str, seconds: float = SECONDS) -> Result:
    """Run it, with nothing to read. Whatever it started ends with it, also where the caller is
    cancelled. Raises OSError and ValueError where it cannot be started."""
    process = await asyncio.create_subprocess_shell(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env={name: os.environ[name] for name in INHERITED if name in os.environ},
        start_new_session=sys.platform != "win32",
    )
    readers = [_Reader(process.stdout), _Reader(process.stderr)]
    try:
        was_late = not await _ends_within(process, seconds)
        if not was_late:
            await asyncio.wait({reader.task for reader in readers}, timeout=DRAINING)
    finally:
        _kill(process)
        # The pipes of a killed command close by themselves, save where a child left its group.
        for reader in readers:
            reader.task.cancel()
    await _ends_within(process, DRAINING)
    code = process.returncode
    return Result(
        readers[0].text,
        readers[1].text,
        KILLED if was_late or code is None or code < 0 else code,
        any(reader.was_cut for reader in readers),
        was_late,
    )


class _Reader:
    """Reads on to the end, whatever the size, so that the command is never held up."""

    def __init__(self, stream: asyncio.StreamReader | None) -> None:
        self._stream = stream
        self._kept = bytearray()
        self.was_cut = False
        self.task = asyncio.ensure_future(self._read())

    @property
    def text(self) -> str:
        return self._kept.decode("utf-8", "replace")

    async def _read(self) -> None:
        while self._stream is not None:
            data = await self._stream.read(CHUNK)
            if not data:
                return
            room = MAX_OUTPUT - len(self._kept)
            self.was_cut |= len(data) > room
            self._kept += data[: max(room, 0)]


async def _ends_within(process: asyncio.subprocess.Process, seconds: float) -> bool:
    """By looking: `Process.wait` waits for the pipes too in some releases of Python, and those a
    child may hold open for as long as it likes."""
    loop = asyncio.get_running_loop()
    end, pause = loop.time() + seconds, FIRST_LOOK
    while process.returncode is None:
        left = end - loop.time()
        if left <= 0:
            return False
        await asyncio.sleep(min(pause, left))
        pause = min(2 * pause, LOOKING)
    return True


def _kill(process: asyncio.subprocess.Process) -> None:
    """The whole group, which may outlive its first process."""
    if sys.platform == "win32":
        if process.returncode is None:
            subprocess.call(
                ["taskkill", "/PID", str(process.pid), "/T", "/F"],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
