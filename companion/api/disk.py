"""Files, folders and commands: the handlers of what needs no agent. The work that waits for a disk
is done in threads of its own."""

from __future__ import annotations

import asyncio
from typing import Any, Callable, TypeVar

from ..agent.failure import VALIDATION_ERROR
from . import commands, files
from .exchange import Answer, Asked, Desk
from .refusal import COMMANDS_DISABLED, Refusal

T = TypeVar("T")


async def list_directory(desk: Desk, asked: Asked) -> Answer:
    path = asked.fields.get("path", "")
    real, items, is_cut = await _aside(files.listing, desk.roots, path)
    told = [
        {"name": it.name, "type": "directory" if it.is_folder else "file", "path": it.path}
        for it in items
    ]
    body = {"path": real, "items": told, "truncated": is_cut}
    if is_cut:
        return Answer("directory_cut", body, {"count": len(items)})
    return Answer("directory_listed", body)


async def read_file(desk: Desk, asked: Asked) -> Answer:
    path = asked.fields["path"]
    try:
        real, content = await _aside(files.read, desk.roots, path)
    except Refusal as refusal:
        refusal.more.update(path=path, content=None)
        raise
    return Answer("file_read", {"path": real, "content": content})


async def write_file(desk: Desk, asked: Asked) -> Answer:
    path, content = asked.fields["path"], asked.fields["content"]
    try:
        real = await _aside(files.write, desk.roots, path, content)
    except Refusal as refusal:
        refusal.more.update(path=path)
        raise
    return Answer("file_written", {"path": real, "content": content})


async def execute_command(desk: Desk, asked: Asked) -> Answer:
    """Any exit code is a success: the command ran, and what it says of itself is told."""
    if not desk.allows_commands:
        raise Refusal(COMMANDS_DISABLED)
    command = asked.fields["command"]
    if not command.strip():
        raise Refusal(VALIDATION_ERROR, "field_short", field="command")
    folder = desk.roots.folder(asked.fields.get("cwd", ""))
    seconds = float(asked.fields.get("timeout", commands.SECONDS))
    try:
        result = await commands.run(command, folder, seconds)
    except (OSError, ValueError) as error:
        raise Refusal(VALIDATION_ERROR, "command_bad", reason=error) from None
    body = {
        "command": command,
        "output": result.output,
        "stderr": result.errors or None,
        "exitCode": result.exit_code,
        "truncated": result.was_cut,
    }
    if result.was_late:
        return Answer("command_late", body, {"seconds": f"{seconds:g}"})
    return Answer("command_cut" if result.was_cut else "command_done", body)


async def _aside(work: Callable[..., T], *arguments: Any) -> T:
    return await asyncio.get_running_loop().run_in_executor(None, lambda: work(*arguments))
