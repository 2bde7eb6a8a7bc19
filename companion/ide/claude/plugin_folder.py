"""The folder by which the hooks of Claude Code's plugin find an editor, with the pipe on which they
announce themselves: one for each editor, in the CLI's home. Knows no loop.

Nobody but this user can enter it, and that is the proof for both sides: who writes into the pipe,
and who reads it, is this user. Source: docs/protocol.md 11.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from contextlib import ExitStack, suppress
from dataclasses import asdict
from typing import Any

from ...base import private_files
from ...base.regular_file import read_beginning
from .. import server_file
from . import lock_file

NAME = "gemini-companion-{pid}.hooks"
PATTERN = re.compile(r"gemini-companion-(\d{1,10})\.hooks")
CALLS = "calls"
# Says which process serves; the hooks do not read it.
SERVING = "serving.json"
# Bytes that are read of that file; ours are far smaller.
MAX_SIZE = 65536
NOT_KEPT = "{} is open to others, who could read what Claude Code's hooks report."


def has_pipes() -> bool:
    """Whether hooks can reach an editor on this system."""
    return sys.platform != "win32"


def hook_folders() -> list[str]:
    """Where this editor's folder has to be; none if this user does not use the CLI."""
    name = NAME.format(pid=os.getpid())
    return [os.path.join(each, name) for each in lock_file.lock_folders()] if has_pipes() else []


def make_hook_folder(path: str) -> None:
    """Create the folder with its pipe; or nothing, if that fails. Raises OSError, NotPrivate."""
    private_files.make_folder(os.path.dirname(path))
    remove_hook_folder(path)
    with ExitStack() as failing:
        failing.callback(remove_hook_folder, path)
        private_files.make_folder(path)
        if stat.S_IMODE(os.lstat(path).st_mode) & 0o077:
            # Some disks know no permissions.
            raise private_files.NotPrivate(NOT_KEPT.format(path))
        serving = json.dumps(asdict(server_file.this_process())).encode("ascii")
        private_files.write_file(os.path.join(path, SERVING), serving)
        os.mkfifo(os.path.join(path, CALLS), 0o600)
        failing.pop_all()


def is_whole(path: str) -> bool:
    """Whether the folder has its pipe."""
    return os.path.exists(os.path.join(path, CALLS))


def remove_hook_folder(path: str) -> None:
    """Remove the folder and the pipes in it, as far as that is possible."""
    with suppress(OSError):
        if not stat.S_ISDIR(os.lstat(path).st_mode):
            return
        for name in os.listdir(path):
            with suppress(OSError):
                os.unlink(os.path.join(path, name))
        os.rmdir(path)


def remove_own_folders() -> None:
    """Remove that of this process: for an editor that quits without our thread."""
    for path in hook_folders():
        remove_hook_folder(path)


def open_pipe(path: str, flags: int) -> int:
    """The descriptor of a pipe of this user; it never blocks. Raises OSError."""
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    status = os.fstat(descriptor)
    if not stat.S_ISFIFO(status.st_mode) or status.st_uid != os.getuid():
        os.close(descriptor)
        raise OSError(f"{path} is no pipe of this user")
    return descriptor


def sweep_hook_folders() -> list[str]:
    """Remove the folders of editors that have ended, and no others; gives their paths. May wait for
    a disk."""
    removed = []
    for folder in lock_file.lock_folders() if has_pipes() else []:
        with suppress(OSError):
            for entry in list(os.scandir(folder)):
                match = PATTERN.fullmatch(entry.name)
                is_own = match and entry.stat(follow_symlinks=False).st_uid == os.getuid()
                if match and is_own and _has_ended(entry.path, int(match.group(1))):
                    remove_hook_folder(entry.path)
                    removed.append(entry.path)
    return removed


def _has_ended(path: str, pid: int) -> bool:
    serving = _serving_in(path)
    if serving is None:
        return not private_files.is_running(pid)
    # What tells whether somebody reads the pipe would block.
    return server_file.has_ended(serving, lambda: True) is True


def _serving_in(path: str) -> server_file.ServingProcess | None:
    try:
        members: Any = json.loads(read_beginning(os.path.join(path, SERVING), MAX_SIZE))
        return server_file.process_of(members)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
