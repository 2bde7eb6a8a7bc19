"""Discovery files, through which the CLI finds the server; knows no editor and no protocol.

Source: the companion specification, section I.2, and docs/protocol.md, section 5.
"""

from __future__ import annotations

import json
import os
import re
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Iterator

from ..base import private_files
from ..base.log import logger

# What is written by halves has another name (see `private`), out of the CLI's sight.
NAME = re.compile(r"gemini-ide-server-(\d+)-(\d+)\.json")
# Where every program of a Unix machine may write, and where a CLI looks that has no TMPDIR.
SHARED_TMPDIR = "/tmp"
IDE_INFO = {"name": "sublimetext", "displayName": "Sublime Text"}
# Seconds to wait for a port of this machine to answer; loopback answers or refuses at once.
PROBE_TIMEOUT = 0.2


@dataclass(frozen=True)
class Advertisement:
    """What one discovery file says. `folders` are absolute paths; `pid` is the editor's."""

    pid: int
    port: int
    token: str
    folders: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"gemini-ide-server-{self.pid}-{self.port}.json"

    @property
    def workspace_path(self) -> str:
        return os.pathsep.join(self.folders)

    def encode(self) -> bytes:
        members = {
            "port": self.port,
            "workspacePath": self.workspace_path,
            "authToken": self.token,
            "ideInfo": IDE_INFO,
        }
        return json.dumps(members).encode("ascii")


def node_tmpdir() -> str:
    """What Node's `os.tmpdir()` answers here, where the CLI looks (docs/protocol.md 5.42)."""
    if sys.platform == "win32":
        root = os.environ.get("SystemRoot") or os.environ.get("windir") or ""
        path = os.environ.get("TEMP") or os.environ.get("TMP") or root + "\\temp"
        return path[:-1] if path.endswith("\\") and not path.endswith(":\\") else path
    names = ("TMPDIR", "TMP", "TEMP")
    path = next((os.environ[name] for name in names if os.environ.get(name)), SHARED_TMPDIR)
    return path[:-1] if len(path) > 1 and path.endswith("/") else path


def folders() -> list[str]:
    """The folders for discovery files, the likeliest first.

    The CLI may have another environment than the editor: a shell under sudo or in nix-shell lacks
    the variables that the editor has. Each CLI looks into one folder only, so none finds two files.
    """
    candidates = [node_tmpdir()]
    if sys.platform == "win32":
        candidates += [os.environ.get("TMP") or "", os.environ.get("LOCALAPPDATA", "") + "\\Temp"]
    else:
        candidates += [_darwin_tmpdir(), SHARED_TMPDIR]
    distinct: dict[str, str] = {}
    for path in candidates:
        if not distinct or os.path.isdir(path):
            distinct.setdefault(os.path.realpath(path), os.path.join(path, "gemini", "ide"))
    return list(distinct.values())


def _darwin_tmpdir() -> str:
    """What macOS gives programs that it starts, whatever a shell makes of it; else nothing."""
    if sys.platform != "darwin":
        return ""
    # _CS_DARWIN_USER_TEMP_DIR, which Python has no name for.
    with suppress(OSError, ValueError):
        return (os.confstr(65537) or "").rstrip("/")
    return ""


class Publication:
    """The discovery files of one endpoint, from their making to `remove`.

    `paths` are those that could be written; `problem` is a sentence for the user where the CLI may
    look in vain, else empty.
    """

    def __init__(self, advertisement: Advertisement) -> None:
        self.advertisement = advertisement
        self.paths: tuple[str, ...] = ()
        self.problem = ""
        self._write()

    def change_folders(self, folders: tuple[str, ...]) -> None:
        """Write the files anew where the folders differ."""
        if folders != self.advertisement.folders:
            self.advertisement = replace(self.advertisement, folders=folders)
            self._write()

    def renew(self) -> None:
        """Write the files anew where one is missing: temp folders are swept, and disks have space
        again."""
        if self.problem or not all(map(os.path.exists, self.paths)):
            self._write()

    def _write(self) -> None:
        before, self.paths, self.problem = self.paths, (), ""
        for index, folder in enumerate(folders()):
            problem = self._write_into(folder)
            if problem and index == 0:
                self.problem = problem
            elif problem:
                logger.info("%s", problem)
        # One that could not be written anew would go on telling of the old folders.
        for path in set(before) - set(self.paths):
            _unlink(path)

    def _write_into(self, folder: str) -> str:
        """Gives what is wrong, as a sentence."""
        path = os.path.join(folder, self.advertisement.name)
        try:
            private_files.make_folder(os.path.dirname(folder))
            private_files.make_folder(folder)
            private_files.write(path, self.advertisement.encode())
        except private_files.NotPrivate as error:
            return f"Gemini CLI may not find this editor: {error}"
        except OSError as error:
            return (
                f"Gemini CLI may not find this editor: {path} could not be written"
                f" ({error.strerror})."
            )
        self.paths += (path,)
        return ""

    def remove(self) -> None:
        """Take the files away; plain os calls, so that it works while the editor quits."""
        for path in self.paths:
            _unlink(path)


def _unlink(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


def remove_all(pid: int) -> None:
    """Take away every file of the editor `pid`: for an editor that quits without our thread."""
    for entry in _entries():
        match = NAME.fullmatch(entry.name)
        if match and int(match.group(1)) == pid and private_files.is_ours(entry):
            _unlink(entry.path)


def _entries() -> Iterator[os.DirEntry[str]]:
    for folder in folders():
        # One that cannot be read (another user's) is for the writing of our own file to report.
        with suppress(OSError):
            yield from os.scandir(folder)


def sweep(own_pid: int) -> list[str]:
    """Remove the discovery files of editors that are gone; gives the paths removed.

    Only this user's; only where the editor's process is dead (or is the one now starting anew,
    `own_pid`) and nothing listens on the port either. A dead file of the same workspace keeps the
    CLI from connecting (docs/protocol.md 5.39).
    """
    removed = [path for folder in folders() for path in private_files.sweep(folder)]
    for entry in _entries():
        if private_files.is_ours(entry) and _is_dead(entry.name, own_pid):
            with suppress(OSError):
                os.unlink(entry.path)
                removed.append(entry.path)
                logger.info("removed the discovery file of an editor that is gone: %s", entry.name)
    return removed


def _is_dead(name: str, own_pid: int) -> bool:
    finished = NAME.fullmatch(name)
    if not finished:
        return False
    pid, port = int(finished.group(1)), int(finished.group(2))
    return (pid == own_pid or not private_files.is_running(pid)) and not _is_listening(port)


def _is_listening(port: int) -> bool:
    if not 0 < port < 65536:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(PROBE_TIMEOUT)
        return probe.connect_ex(("127.0.0.1", port)) == 0
