"""Runs one command in the system's shell, and limits its time, its output and its children. Knows
no HTTP."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from dataclasses import dataclass

from ...base.child_processes import INHERITED, NO_WINDOW, end_group, end_tree

# Seconds for a command that asks for no other time.
SECONDS = 120.0
PROXY = "_PROXY"
# The descriptors of stdout and stderr.
OUTPUTS = (1, 2)
# Bytes of each output that are kept; the rest is read and dropped.
MAX_OUTPUT = 1 << 20
# Seconds for children of an ended command to write the rest.
DRAINING = 0.5
# The exit code of a command that a signal ended.
KILLED = -1


@dataclass(frozen=True)
class Result:
    """`output` and `errors` are the texts of stdout and stderr; bytes that are not UTF-8 are
    replaced. `was_cut` says that there was more, `was_late` that the time ran out."""

    output: str
    errors: str
    exit_code: int
    was_cut: bool
    was_late: bool


async def run_command(command: str, folder: str, seconds: float = SECONDS) -> Result:
    """Run the command without input. Its process group ends with it, also if the caller is
    cancelled; a process that left the group lives on, and its output is ignored. Raises OSError and
    ValueError if the command cannot be started."""
    transport, process = await _start_process(command, folder)
    try:
        was_late = not await _happens_within(process.ended, seconds)
        if not was_late:
            await _happens_within(process.silent, DRAINING)
    finally:
        _end_process(transport)
    await _happens_within(process.ended, DRAINING)
    code = transport.get_returncode()
    return Result(
        process.output_text(OUTPUTS[0]),
        process.output_text(OUTPUTS[1]),
        KILLED if was_late or code is None or code < 0 else code,
        process.was_cut,
        was_late,
    )


class _Process(asyncio.SubprocessProtocol):
    """Reads all output, whatever its size, so that the command never blocks.

    `ended` is set when the process ends, `silent` when both outputs are closed: a child may hold
    those open for as long as it likes.
    """

    def __init__(self) -> None:
        self.ended, self.silent = asyncio.Event(), asyncio.Event()
        self.was_cut = False
        self._kept = {number: bytearray() for number in OUTPUTS}
        self._open = set(OUTPUTS)
        self._transport: asyncio.BaseTransport | None = None

    def output_text(self, number: int) -> str:
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
        # Only after the process has ended: closing the transport earlier would reap the process
        # without asyncio's knowledge.
        if self._transport is not None:
            self._transport.close()


async def _start_process(command: str, folder: str) -> tuple[asyncio.SubprocessTransport, _Process]:
    starting = asyncio.ensure_future(
        asyncio.get_running_loop().subprocess_shell(
            _Process,
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=_command_environment(),
            start_new_session=sys.platform != "win32",
            creationflags=NO_WINDOW,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        # The command may be running already, and asyncio would kill its first process only.
        _end_process((await starting)[0])
        raise


def _command_environment() -> dict[str, str]:
    known = {name: os.environ[name] for name in INHERITED if name in os.environ}
    # A proxy's address may contain a password before the "@".
    return {
        name: value
        for name, value in known.items()
        if "@" not in value or not name.upper().endswith(PROXY)
    }


def _end_process(transport: asyncio.SubprocessTransport) -> None:
    _kill_group(transport)
    for pipe in map(transport.get_pipe_transport, OUTPUTS):
        if pipe is not None:
            pipe.close()


async def _happens_within(event: asyncio.Event, seconds: float) -> bool:
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except asyncio.TimeoutError:
        return False
    return True


def _kill_group(process: asyncio.SubprocessTransport) -> None:
    """Kill the whole group, which may outlive its first process."""
    if sys.platform == "win32" and process.get_returncode() is None:
        end_tree(process.get_pid())
    end_group(process.get_pid())
