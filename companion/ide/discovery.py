"""Discovery files, through which a CLI finds the server. Knows no editor and no protocol.

Source: the companion specification, section I.2, and docs/protocol.md, sections 5 and 7.
"""

from __future__ import annotations

import json
import os
import re
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Callable, Iterator

from ..base import private_files
from ..base.log import logger
from .clis import CLIS, GEMINI_CLI, Cli, DiscoveryForm
from .doctor import lookup
from .doctor.facts import LINUX, WINDOWS
from .doctor.lookup import SHARED_TMPDIR
from .path_maps import NO_MAPS, PathMaps
from .surroundings import has_own_processes

IDE_INFO = {"name": "sublimetext", "displayName": "Sublime Text"}
# Seconds to wait for a port of this machine to answer; loopback answers or refuses at once.
PROBE_TIMEOUT = 0.2
# Bytes of a discovery file that are read; ours are far smaller.
MAX_SIZE = 65536


@dataclass(frozen=True)
class Advertisement:
    """The content of the discovery files of one endpoint. `folders` are absolute paths of the
    editor; `path_maps` give the paths by which CLIs know them. `pid` is the editor's. `token` is
    the endpoint's token, from which each CLI gets its own."""

    pid: int
    port: int
    token: str
    folders: tuple[str, ...] = ()
    path_maps: PathMaps = NO_MAPS

    @property
    def remote_folders(self) -> tuple[str, ...]:
        """The folders as CLIs know them."""
        return self.path_maps.remote_folders(self.folders)

    @property
    def workspace_path(self) -> str:
        return self.path_maps.separator.join(self.remote_folders)

    def environment(self) -> dict[str, str]:
        """The variables with which a terminal leads each CLI to the endpoint (docs/protocol.md
        5.46)."""
        variables: dict[str, str] = {}
        for cli in CLIS:
            variables.update(cli.environment(self.port, self.workspace_path, self.token, self.pid))
        return variables

    def encode(self, cli: Cli, form: DiscoveryForm) -> bytes:
        members: dict[str, Any] = {
            "port": self.port,
            "workspacePath": self.workspace_path,
            "authToken": cli.token(self.token),
            "ideInfo": IDE_INFO,
        }
        if form.has_owner:
            members.update(ideName=IDE_INFO["displayName"], pid=self.pid)
        if form.has_owner and not has_own_processes():
            # The CLI removes a file if no process has its `ppid` (docs/protocol.md 7).
            members["ppid"] = self.pid
        return json.dumps(members).encode("ascii")


@dataclass(frozen=True)
class DiscoveryFolder:
    """A folder in which a CLI searches: the parts of `form.folder` below `root`. This package never
    creates `root`."""

    cli: Cli
    form: DiscoveryForm
    root: str

    @property
    def folder(self) -> str:
        return os.path.join(self.root, *self.form.folder)

    def path(self, advertisement: Advertisement) -> str:
        name = self.form.name.format(pid=advertisement.pid, port=advertisement.port)
        return os.path.join(self.folder, name)

    def write(self, advertisement: Advertisement) -> None:
        """Raises OSError, NotPrivate."""
        folder = self.root
        for part in self.form.folder:
            folder = os.path.join(folder, part)
            private_files.make_folder(folder)
        private_files.write(self.path(advertisement), advertisement.encode(self.cli, self.form))

    def owner(self, entry: os.DirEntry[str]) -> tuple[int, int] | None:
        """The editor's process and port if this is a discovery file of this user; None for every
        other file. If the name has no process, only our own files count."""
        pattern = re.escape(self.form.name)
        for number in ("pid", "port"):
            pattern = pattern.replace(re.escape("{" + number + "}"), rf"(?P<{number}>\d+)")
        match = re.fullmatch(pattern, entry.name)
        if not match or not private_files.is_ours(entry):
            return None
        pid = match.group("pid") if "{pid}" in self.form.name else _pid_within(entry.path)
        return (int(pid), int(match.group("port"))) if pid is not None else None


def _pid_within(path: str) -> int | None:
    """The process in a file that this editor wrote, at whichever start of it."""
    try:
        with open(path, "rb") as file:
            members = json.loads(file.read(MAX_SIZE))
        pid = members["pid"] if members["ideInfo"] == IDE_INFO else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return pid if type(pid) is int and pid > 0 else None


def node_tmpdir() -> str:
    """The result of Node's `os.tmpdir()` here, where a CLI searches."""
    return lookup.temp_folder(
        WINDOWS if sys.platform == "win32" else LINUX, os.environ, SHARED_TMPDIR
    )


def temp_folders() -> list[str]:
    """The temp folders that a CLI may have, the likeliest first.

    Its environment may differ from the editor's: a shell under sudo or in nix-shell lacks the
    editor's variables. Each CLI searches one folder only, so none finds two files.
    """
    candidates = [node_tmpdir()]
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        # Without the variable, it would be a folder that all users of the machine can read.
        candidates += [os.environ.get("TMP") or "", local + "\\Temp" if local else ""]
    else:
        candidates += [_darwin_tmpdir(), SHARED_TMPDIR]
    distinct: dict[str, str] = {}
    for path in candidates:
        if not distinct or os.path.isdir(path):
            distinct.setdefault(os.path.realpath(path), path)
    return list(distinct.values())


def _darwin_tmpdir() -> str:
    """The temp folder that macOS gives to programs, whatever a shell sets; empty elsewhere."""
    if sys.platform != "darwin":
        return ""
    # _CS_DARWIN_USER_TEMP_DIR, for which Python has no name.
    with suppress(OSError, ValueError):
        return (os.confstr(65537) or "").rstrip("/")
    return ""


def places(extra: str = "") -> list[DiscoveryFolder]:
    """The places for discovery files, Gemini CLI's first. `extra` is another folder for them; it
    stands for a temp folder or a home. If a CLI's home folder does not exist, this user does not
    use the CLI, and nothing is created for it (docs/adr/0017-one-table-of-clis.md)."""
    user_home = os.path.expanduser("~")
    found = []
    for cli in CLIS:
        homes = [it for it in cli.possible_homes(os.environ, user_home) if os.path.isdir(it)]
        if cli.discovery is not None and (homes or cli == GEMINI_CLI):
            roots = homes if cli.discovery.in_home else temp_folders()
            roots = [*roots, extra] if extra and os.path.isdir(extra) else roots
            found += [DiscoveryFolder(cli, cli.discovery, root) for root in roots]
    return found


class Publication:
    """The discovery files of one endpoint, from their creation to `remove`.

    `paths` are the files that could be written. `unwritten` has, for each folder without a file, a
    sentence about the reason. `problem` is the first of these sentences that matters, because a CLI
    is likely to search there; empty if none does. `tell` gets each new one. `extra` is as in
    `places`.
    """

    def __init__(
        self,
        advertisement: Advertisement,
        extra: str = "",
        tell: Callable[[str], None] = lambda problem: None,
    ) -> None:
        self.advertisement = advertisement
        self._extra = extra
        self._tell = tell
        self.paths: tuple[str, ...] = ()
        self.problem = ""
        self.unwritten: dict[str, str] = {}
        self._places: list[DiscoveryFolder] = []
        self._write()

    def change(self, advertisement: Advertisement) -> None:
        """Write the files again if their content is to change."""
        if advertisement != self.advertisement:
            self.advertisement = advertisement
            self._write()

    def write_again(self) -> None:
        """Write the files again in any case."""
        self._write()

    def renew(self) -> None:
        """Write the files again if one is missing: temp folders are cleaned, a full disk has space
        again, or the user has installed another CLI."""
        is_whole = all(map(os.path.exists, self.paths)) and places(self._extra) == self._places
        if self.problem or not is_whole:
            self._write()

    def _write(self) -> None:
        paths, problem = self.paths, self.problem
        self._write_files()
        # A file that could not be written again would still name the old folders.
        for path in set(paths) - set(self.paths):
            _unlink(path)
        if self.problem not in ("", problem):
            logger.error("%s", self.problem)
            self._tell(self.problem)

    def _write_files(self) -> None:
        self.paths, self.problem = (), ""
        self.unwritten = {}
        self._places = places(self._extra)
        tried: set[str] = set()
        for place in self._places:
            problem = self._write_into(place)
            if problem:
                self.unwritten[place.folder] = problem
            # Only the likeliest place of a CLI matters.
            if place.cli.id not in tried:
                self.problem = self.problem or problem
            elif problem:
                logger.info("%s", problem)
            tried.add(place.cli.id)

    def _write_into(self, place: DiscoveryFolder) -> str:
        """Gives what went wrong, as a sentence."""
        path = place.path(self.advertisement)
        may_fail = f"This editor may not be found by {place.cli.name}: "
        try:
            place.write(self.advertisement)
        except private_files.NotPrivate as error:
            return f"{may_fail}{error}"
        except OSError as error:
            return f"{may_fail}{path} could not be written ({error.strerror})."
        self.paths += (path,)
        return ""

    def remove(self) -> None:
        """Remove the files. Uses plain os calls, so that it works while the editor quits."""
        for path in self.paths:
            _unlink(path)


def _unlink(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


def remove_all(pid: int, extra: str = "") -> None:
    """Remove every file of the editor `pid`: for an editor that quits without our thread."""
    for path, owner, _port in _files(extra):
        if owner == pid:
            _unlink(path)


def _files(extra: str) -> Iterator[tuple[str, int, int]]:
    """Path, editor's process and port of each discovery file of this user."""
    for place in places(extra):
        # If a folder cannot be read (another user's), the writing of our own file reports that.
        with suppress(OSError):
            for entry in os.scandir(place.folder):
                owner = place.owner(entry)
                if owner is not None:
                    yield (entry.path, *owner)


def sweep(own_pid: int, extra: str = "") -> list[str]:
    """Remove the discovery files of editors that have ended; gives the paths removed.

    Removes only files of this user, and only if the editor's process has ended (or is `own_pid`,
    the one that is starting) and nothing listens on the port. Windows keeps such files over a
    restart and reuses the numbers of processes, so only the port counts there. A dead file of the
    same workspace keeps the CLI from connecting (docs/protocol.md 5.39).
    """
    removed = [path for place in places(extra) for path in private_files.sweep(place.folder)]
    for path, pid, port in _files(extra):
        is_gone = sys.platform == "win32" or pid == own_pid or not private_files.is_running(pid)
        if is_gone and not _is_listening(port):
            with suppress(OSError):
                os.unlink(path)
                removed.append(path)
                logger.info("removed the discovery file of an editor that is gone: %s", path)
    return removed


def remove_dead(path: str) -> bool:
    """Remove a discovery file if nothing listens on its port; gives whether it was removed.

    The user asked for this, so the number of its editor's process is not checked: another process
    may have it by now.
    """
    for found, _pid, port in _files(""):
        if found == path and not _is_listening(port):
            _unlink(path)
            return not os.path.lexists(path)
    return False


def _is_listening(port: int) -> bool:
    if not 0 < port < 65536:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(PROBE_TIMEOUT)
        return probe.connect_ex(("127.0.0.1", port)) == 0
