"""Handlers of files, folders and commands, which need no agent. Work that waits for a disk runs in
a thread of its own, because some disks never answer."""

from __future__ import annotations

import asyncio
from typing import Callable, TypeVar

from ...agent.failure import VALIDATION_ERROR
from ...base import http_server
from ...base.background import in_thread
from ..contract.refusal import COMMANDS_DISABLED, FILE_ERROR, Refusal
from ..contract.schemas import MAX_FILE
from ..files import served_files, shell_command
from .handler_types import HandlerAnswer, Inputs, Services

# Seconds for the disk to read or list.
READING = 20.0
# Bytes of a file that is read at once; a larger one waits for memory first.
SMALL = 64 * 1024
# Bytes of memory for a list of MAX_ITEMS entries, approximately.
LISTING = 8 << 20

T = TypeVar("T")


async def list_directory(services: Services, inputs: Inputs) -> HandlerAnswer:
    path = inputs.fields.get("path", "")
    await http_server.reserve_memory(inputs.memory, LISTING)
    real, items, is_cut = await _read_in_time(
        path, lambda: served_files.list_folder(services.roots, path)
    )
    told = [
        {"name": item.name, "type": "directory" if item.is_folder else "file", "path": item.path}
        for item in items
    ]
    body = {"path": served_files.readable_name(real), "items": told, "truncated": is_cut}
    if is_cut:
        return HandlerAnswer("directory_cut", body, {"count": len(items)})
    return HandlerAnswer("directory_listed", body)


async def read_file(services: Services, inputs: Inputs) -> HandlerAnswer:
    path = inputs.fields["path"]
    try:
        real, content = await _read_in_time(
            path, lambda: served_files.read_text_file(services.roots, path, SMALL)
        )
        if content is None:
            await http_server.reserve_memory(inputs.memory, MAX_FILE)
            real, content = await _read_in_time(
                path, lambda: served_files.read_text_file(services.roots, path)
            )
    except Refusal as refusal:
        refusal.more.update(path=path, content=None)
        raise
    return HandlerAnswer(
        "file_read", {"path": served_files.readable_name(real), "content": content}
    )


async def write_file(services: Services, inputs: Inputs) -> HandlerAnswer:
    path, content = inputs.fields["path"], inputs.fields["content"]
    try:
        real = await in_thread(lambda: served_files.write_text_file(services.roots, path, content))
    except Refusal as refusal:
        refusal.more.update(path=path, content=content)
        raise
    return HandlerAnswer(
        "file_written", {"path": served_files.readable_name(real), "content": content}
    )


async def execute_command(services: Services, inputs: Inputs) -> HandlerAnswer:
    """Run a command. Any exit code is a success of the request: the command ran, and the answer has
    its exit code and output."""
    if not services.allows_commands:
        raise Refusal(COMMANDS_DISABLED)
    command = inputs.fields["command"]
    if not command.strip():
        raise Refusal(VALIDATION_ERROR, "command_blank")
    path = inputs.fields.get("cwd", "")
    folder = await _read_in_time(path, lambda: served_files.open_folder(services.roots, path))
    seconds = float(inputs.fields.get("timeout", shell_command.SECONDS))
    try:
        result = await shell_command.run_command(command, folder.path, seconds)
    except (OSError, ValueError) as error:
        raise Refusal(VALIDATION_ERROR, "command_bad", reason=error) from None
    finally:
        folder.close()
    body = {
        "command": command,
        "output": result.output,
        "stderr": result.errors or None,
        "exitCode": result.exit_code,
        "truncated": result.was_cut,
    }
    if result.was_late:
        return HandlerAnswer("command_late", body, {"seconds": f"{seconds:g}"})
    return HandlerAnswer("command_cut" if result.was_cut else "command_done", body)


async def _read_in_time(path: str, work: Callable[[], T]) -> T:
    """The result of work that changes nothing. Raises Refusal if it takes too long."""
    try:
        return await in_thread(work, READING)
    except asyncio.TimeoutError:
        reason = f"nothing came of it within {READING:g} seconds"
        raise Refusal(FILE_ERROR, path=path, reason=reason) from None
