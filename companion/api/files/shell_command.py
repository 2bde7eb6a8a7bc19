"""One command of the system's shell, with an end to its time, its output and its children; knows no
HTTP."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from dataclasses import dataclass

from ...agent.cli_home import INHERITED
from ...base.child_processes import NO_WINDOW, end_group, end_tree

# Seconds for a command that asks for none of its own.
SECONDS = 120.0
PROXY = "_PROXY"
# The two outputs, as their descriptors.
OUTPUTS = (1, 2)
# Bytes that are kept of each of the two outputs; the rest is read and dropped.
MAX_OUTPUT = 1 << 20
# Seconds for what children of an ended command still write.
DRAINING = 0.5
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
    cancelled, save what left its process group; of that nothing is heard any more. Raises OSError
    and ValueError where it cannot be started."""
    transport, process = await _started(command, folder)
    try:
        was_late = not await _comes(process.ended, seconds)
        if not was_late:
            await _comes(process.silent, DRAINING)
    finally:
        _end(transport)
    await _comes(process.ended, DRAINING)
    code = transport.get_returncode()
    return Result(
        process.text(OUTPUTS[0]),
        process.text(OUTPUTS[1]),
        KILLED if was_late or code is None or code < 0 else code,
        process.was_cut,
        was_late,
    )


class _Process(asyncio.SubprocessProtocol):
    """Reads on to the end, whatever the size, so that the command is never held up.

    `ended` comes with the process, `silent` with the end of both its outputs: those a child may
    hold open for as long as it likes.
    """

    def __init__(self) -> None:
        self.ended, self.silent = asyncio.Event(), asyncio.Event()
        self.was_cut = False
        self._kept = {number: bytearray() for number in OUTPUTS}
        self._open = set(OUTPUTS)
        self._transport: asyncio.BaseTransport | None = None

    def text(self, number: int) -> str:
        return self._kept[number].decode("utf-8", "replace")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        room = MAX_OUTPUT - len(self._kept[fd])
        self.was_cut |= len(data) > room
        self._kept[fd] += data[: max(room, 0)]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        self._open.discard(fd)
        if not self._open:
            self.silent.set()

    def process_exited(self) -> None:
        self.ended.set()

    def connection_lost(self, exc: Exception | None) -> None:
        # Not before the process ended: closing one that runs would reap it behind the loop's back.
        if self._transport is not None:
            self._transport.close()


async def _started(command: str, folder: str) -> tuple[asyncio.SubprocessTransport, _Process]:
    starting = asyncio.ensure_future(
        asyncio.get_running_loop().subprocess_shell(
            _Process,
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=_environment(),
            start_new_session=sys.platform != "win32",
            creationflags=NO_WINDOW,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        # It may run already, and asyncio would end its first process only.
        _end((await starting)[0])
        raise


def _environment() -> dict[str, str]:
    known = {name: os.environ[name] for name in INHERITED if name in os.environ}
    # Before the "@" of a proxy's address there is a password.
    return {
        name: it for name, it in known.items() if "@" not in it or not name.upper().endswith(PROXY)
    }


def _end(transport: asyncio.SubprocessTransport) -> None:
    _kill(transport)
    for pipe in map(transport.get_pipe_transport, OUTPUTS):
        if pipe is not None:
            pipe.close()


async def _comes(event: asyncio.Event, seconds: float) -> bool:
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except asyncio.TimeoutError:
        return False
    return True


def _kill(process: asyncio.SubprocessTransport) -> None:
    """The whole group, which may outlive its first process."""
    if sys.platform == "win32" and process.get_returncode() is None:
        end_tree(process.get_pid())
    end_group(process.get_pid())
