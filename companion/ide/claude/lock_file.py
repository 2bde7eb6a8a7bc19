"""The lock file by which Claude Code finds the editor: one for all its windows. Knows no editor and
no protocol.

Source: docs/protocol.md 11.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Callable, Iterator

from ...base import private_files
from ...base.log import logger
from ...base.regular_file import read_beginning
from .. import server_file
from ..clis import CLAUDE_CODE
from ..discovery import IDE_INFO, is_listening

# The folder in the CLI's home.
FOLDER = "ide"
NAME = re.compile(r"(?P<port>\d{1,5})\.lock")
# Says in a file that it is ours, and which process serves. The CLI reads past it.
OWNER = "geminiCompanion"
# Bytes that are read of one; ours are far smaller.
MAX_SIZE = 1 << 20
NOT_FOUND = "This editor may not be found by Claude Code: "


@dataclass(frozen=True)
class Lock:
    """What the file says. `pid` is the editor's process: if it is dead, the CLI removes the file.
    `folders` are those of all windows, as the CLI knows them."""

    pid: int
    port: int
    token: str
    folders: tuple[str, ...]

    def encode(self) -> bytes:
        members = {
            "pid": self.pid,
            "workspaceFolders": self.folders,
            "ideName": IDE_INFO["displayName"],
            "transport": "ws",
            "runningInWindows": os.name == "nt",
            "authToken": self.token,
            OWNER: asdict(server_file.this_process()),
        }
        return json.dumps(members).encode("ascii")


def lock_folders() -> list[str]:
    """Where the CLI looks. If its home does not exist, this user does not use it, and nothing is
    created for it."""
    homes = CLAUDE_CODE.possible_homes(os.environ, os.path.expanduser("~"))
    return [os.path.join(home, FOLDER) for home in homes if os.path.isdir(home)]


class LockFile:
    """The file of one server, from its first `show` to `remove`. `problem` says why there is none,
    empty if there is one, or if the CLI has no home here. `tell` gets each new problem, `withdraw`
    is called when it is over."""

    def __init__(self, tell: Callable[[str], None], withdraw: Callable[[], None]) -> None:
        self._tell, self._withdraw = tell, withdraw
        self._lock: Lock | None = None
        self.paths: tuple[str, ...] = ()
        self.problem = ""

    def show(self, lock: Lock) -> None:
        """Write the file, unless it says so already."""
        if lock != self._lock:
            self._lock = lock
            self._write()

    def renew(self) -> None:
        """Write the file again if it is missing: the CLI removes what it takes for dead, and may
        have been installed meanwhile."""
        folders = [os.path.dirname(path) for path in self.paths]
        is_whole = all(map(os.path.exists, self.paths)) and folders == lock_folders()
        if self._lock is not None and (self.problem or not is_whole):
            self._write()

    def remove(self) -> None:
        self._lock = None
        self._change_paths(())
        self._report("")

    def _write(self) -> None:
        if self._lock is None:
            return
        written, problem = [], ""
        for folder in lock_folders():
            path = os.path.join(folder, f"{self._lock.port}.lock")
            try:
                private_files.make_folder(folder)
                private_files.write_file(path, self._lock.encode())
                written.append(path)
            except private_files.NotPrivate as error:
                problem = f"{NOT_FOUND}{error}"
            except OSError as error:
                problem = f"{NOT_FOUND}{path} could not be written ({error.strerror})."
        self._change_paths(tuple(written))
        self._report(problem)

    def _change_paths(self, paths: tuple[str, ...]) -> None:
        gone, self.paths = set(self.paths) - set(paths), paths
        for path in gone:
            _remove_quietly(path)

    def _report(self, problem: str) -> None:
        if self.problem and problem != self.problem:
            self._withdraw()
        if problem and problem != self.problem:
            logger.error("%s", problem)
            self._tell(problem)
        self.problem = problem


def sweep_locks() -> list[str]:
    """Remove the files of our servers that have ended, and no others; gives their paths. The CLI
    connects to none of two that have its folder."""
    removed = []
    for path, port, serving in _own_locks():
        if server_file.has_ended(serving, partial(is_listening, port)):
            with suppress(OSError):
                os.unlink(path)
                removed.append(path)
                logger.info("removed the lock file of an editor that is gone: %s", path)
    return removed


def remove_locks() -> None:
    """Remove the files of this process: for an editor that quits without our thread."""
    for path, _port, serving in _own_locks():
        if serving == server_file.this_process():
            _remove_quietly(path)


def _own_locks() -> Iterator[tuple[str, int, server_file.ServingProcess]]:
    """Path, port and serving process of each file of this user that we wrote."""
    for folder in lock_folders():
        private_files.sweep_folder(folder)
        with suppress(OSError):
            for entry in list(os.scandir(folder)):
                match = NAME.fullmatch(entry.name)
                serving = (
                    _serving_in(entry.path) if match and private_files.is_ours(entry) else None
                )
                if match and serving is not None:
                    yield entry.path, int(match.group("port")), serving


def _serving_in(path: str) -> server_file.ServingProcess | None:
    """The process that serves, as the file says; None if the file is not ours."""
    try:
        members: Any = json.loads(read_beginning(path, MAX_SIZE))
        return server_file.process_of(members[OWNER])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _remove_quietly(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)
