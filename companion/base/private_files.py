"""Files and folders that only this user can enter or read. Knows nothing of their content."""

from __future__ import annotations

import os
import re
import secrets
import stat
import sys
from contextlib import ExitStack, suppress
from typing import Iterable

from .file_replace import replace_file, sync_file, sync_folder

# The prefix of an unfinished file, whose writer may have died; the writer's process id follows.
UNFINISHED = ".unfinished-"
UNFINISHED_NAME = re.compile(re.escape(UNFINISHED) + r"(\d+)-[0-9a-f]+")


class NotPrivate(Exception):
    """Somebody else could read the file; the text is a sentence for the user."""


def make_folder(path: str) -> None:
    """Create our folder, or check that nobody else can enter it. Raises OSError, NotPrivate."""
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    status = os.lstat(path)
    if not stat.S_ISDIR(status.st_mode):
        raise NotPrivate(f"{path} should be a folder and is not; remove it.")
    if sys.platform == "win32":
        return
    if status.st_uid != os.getuid():
        raise NotPrivate(
            f"{path} belongs to another user, who could read the token. Set TMPDIR to a folder of"
            " your own for Sublime Text and for the CLI."
        )
    if stat.S_IMODE(status.st_mode) & 0o077:
        os.chmod(path, 0o700)


def make_parents(path: str) -> None:
    """Create the missing folders above the path, for this user only. Raises OSError."""
    folder = os.path.dirname(path)
    if folder != path and not os.path.isdir(folder):
        make_parents(folder)
        with suppress(FileExistsError):
            os.mkdir(folder, 0o700)


def write_file(path: str, data: bytes, lasting: bool = False) -> None:
    """Create or replace a file in one step, so that it is never half written or readable by others.
    A `lasting` file survives a power cut; that takes as long as the disk does.

    Raises OSError.
    """
    write_pieces(path, (data,), lasting)


def write_pieces(path: str, pieces: Iterable[bytes], lasting: bool = False) -> None:
    """Create or replace a file as `write_file` does, with data that is made meanwhile. Raises what
    the pieces raise, too."""
    name = f"{UNFINISHED}{os.getpid()}-{secrets.token_hex(8)}"
    unfinished = os.path.join(os.path.dirname(path), name)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with ExitStack() as failing:
        failing.callback(_remove_quietly, unfinished)
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(pieces)
            if lasting:
                file.flush()
                sync_file(descriptor)
        replace_file(unfinished, path)
        failing.pop_all()
    if lasting:
        sync_folder(os.path.dirname(path))


def _remove_quietly(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


def sweep_folder(folder: str) -> list[str]:
    """Remove the files of this user that a writer left unfinished when it died. Gives their paths;
    none if the folder cannot be read."""
    removed = []
    with suppress(OSError):
        for entry in os.scandir(folder):
            if is_ours(entry) and _is_abandoned(entry.name):
                with suppress(OSError):
                    os.unlink(entry.path)
                    removed.append(entry.path)
    return removed


def _is_abandoned(name: str) -> bool:
    match = UNFINISHED_NAME.fullmatch(name)
    pid = int(match.group(1)) if match else os.getpid()
    return pid != os.getpid() and not is_running(pid)


def is_ours(entry: os.DirEntry[str]) -> bool:
    """Whether it is a file of this user, and not a link."""
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    owned = sys.platform == "win32" or status.st_uid == os.getuid()
    return owned and stat.S_ISREG(status.st_mode)


def is_running(pid: int) -> bool:
    """Whether the process is running."""
    try:
        if sys.platform == "win32":
            # There os.kill would end the process.
            import _winapi

            process = _winapi.OpenProcess(_winapi.SYNCHRONIZE, False, pid)
            try:
                return _winapi.WaitForSingleObject(process, 0) == _winapi.WAIT_TIMEOUT
            finally:
                _winapi.CloseHandle(process)
        os.kill(pid, 0)
    except PermissionError:
        # It is running, as another user.
        return True
    except (OSError, OverflowError):
        return False
    return True


def is_within(path: str, folder: str) -> bool:
    """Compares the folders themselves, because some systems have several spellings of a name."""
    path = os.path.realpath(path)
    while not (os.path.isdir(path) and os.path.isdir(folder) and os.path.samefile(path, folder)):
        path, below = os.path.dirname(path), path
        if path == below:
            return False
    return True
