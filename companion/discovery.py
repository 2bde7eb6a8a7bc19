"""Discovery files, through which the CLI finds the server; knows no editor and no protocol.

Source: the companion specification, section I.2, and contract B5 (what the CLI really looks for).
"""

from __future__ import annotations

import json
import os
import re
import socket
import stat
import sys
from contextlib import suppress
from dataclasses import dataclass, replace

from . import private
from .log import logger

NAME = re.compile(r"gemini-ide-server-(\d+)-(\d+)\.json")
# The prefix is what keeps a half-written file out of NAME, and so out of the CLI's sight.
UNFINISHED = re.compile(re.escape(private.UNFINISHED) + r"(\d+)-[0-9a-f]+")
IDE_INFO = {"name": "sublimetext", "displayName": "Sublime Text"}
# Seconds to wait for a port of this machine to answer; loopback answers or refuses at once.
PROBE_TIMEOUT = 0.2


class DiscoveryError(Exception):
    """The file cannot be published safely; the text is a sentence for the user."""


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
    """What Node's `os.tmpdir()` answers here, which is where the CLI looks (contract B5.42)."""
    if sys.platform == "win32":
        root = os.environ.get("SystemRoot") or os.environ.get("windir") or ""
        path = os.environ.get("TEMP") or os.environ.get("TMP") or root + "\\temp"
        return path[:-1] if path.endswith("\\") and not path.endswith(":\\") else path
    names = ("TMPDIR", "TMP", "TEMP")
    path = next((os.environ[name] for name in names if os.environ.get(name)), "/tmp")
    return path[:-1] if len(path) > 1 and path.endswith("/") else path


def folder() -> str:
    """The folder of all discovery files of this user."""
    return os.path.join(node_tmpdir(), "gemini", "ide")


class Publication:
    """One discovery file on disk, from its making to `remove`. Making it raises DiscoveryError."""

    def __init__(self, advertisement: Advertisement) -> None:
        self.advertisement = advertisement
        self.path = os.path.join(folder(), advertisement.name)
        self._write()

    def change_folders(self, folders: tuple[str, ...]) -> None:
        """Write the file anew where the folders differ. Raises DiscoveryError."""
        if folders != self.advertisement.folders:
            self.advertisement = replace(self.advertisement, folders=folders)
            self._write()

    def _write(self) -> None:
        try:
            private.make_folder(os.path.dirname(os.path.dirname(self.path)))
            private.make_folder(os.path.dirname(self.path))
            private.write(self.path, self.advertisement.encode())
        except private.NotPrivate as error:
            raise DiscoveryError(f"Gemini CLI cannot find this editor: {error}") from error
        except OSError as error:
            raise DiscoveryError(
                f"Gemini CLI cannot find this editor: {self.path} could not be written"
                f" ({error.strerror})."
            ) from error

    def remove(self) -> None:
        """Take the file away; plain os calls, so that it works while the editor quits."""
        with suppress(OSError):
            os.unlink(self.path)


def remove_all(pid: int) -> None:
    """Take away every file of the editor `pid`: for an editor that quits without our thread."""
    with suppress(OSError):
        for entry in os.scandir(folder()):
            match = NAME.fullmatch(entry.name)
            if match and int(match.group(1)) == pid and _is_ours(entry):
                with suppress(OSError):
                    os.unlink(entry.path)


def sweep(own_pid: int) -> list[str]:
    """Remove the discovery files of editors that are gone; gives the paths removed.

    Only this user's; only where the editor's process is dead (or is the one now starting anew,
    `own_pid`) and nothing listens on the port either (contract B5.39: a dead file of the same
    workspace keeps the CLI from connecting).
    """
    removed = []
    # A folder that cannot be read (another user's) is for the writing of our own file to report.
    with suppress(OSError):
        for entry in os.scandir(folder()):
            if _is_ours(entry) and _is_dead(entry.name, own_pid):
                with suppress(OSError):
                    os.unlink(entry.path)
                    removed.append(entry.path)
                    logger.info(
                        "removed the discovery file of an editor that is gone: %s", entry.name
                    )
    return removed


def _is_ours(entry: os.DirEntry[str]) -> bool:
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    owned = sys.platform == "win32" or status.st_uid == os.getuid()
    return owned and stat.S_ISREG(status.st_mode)


def _is_dead(name: str, own_pid: int) -> bool:
    unfinished = UNFINISHED.fullmatch(name)
    if unfinished:
        return not _is_running(int(unfinished.group(1)))
    finished = NAME.fullmatch(name)
    if not finished:
        return False
    pid, port = int(finished.group(1)), int(finished.group(2))
    return (pid == own_pid or not _is_running(pid)) and not _is_listening(port)


def _is_running(pid: int) -> bool:
    if sys.platform == "win32":
        # os.kill would end the process there; the port alone decides.
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _is_listening(port: int) -> bool:
    if not 0 < port < 65536:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(PROBE_TIMEOUT)
        return probe.connect_ex(("127.0.0.1", port)) == 0
