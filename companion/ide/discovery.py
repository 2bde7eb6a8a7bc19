"""Discovery files, through which a CLI finds the server, and beside each the one for its extension
(`server_file`). Knows no editor and no protocol.

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
from functools import partial
from typing import Any, Callable, Iterator

from ..base import private_files
from ..base.log import logger
from ..base.path_maps import NO_MAPS, PathMaps
from . import server_file
from .clis import CLIS, GEMINI_CLI, Cli, DiscoveryForm
from .doctor import lookup
from .doctor.facts import LINUX, WINDOWS
from .doctor.lookup import SHARED_TMPDIR
from .surroundings import has_own_processes

IDE_INFO = {"name": "sublimetext", "displayName": "Sublime Text"}
# Seconds to wait for a port of this machine to answer; loopback answers or refuses at once.
PROBE_TIMEOUT = 0.2
# Bytes of a discovery file that are read; ours are far smaller.
MAX_SIZE = 65536


@dataclass(frozen=True)
class Advertisement:
    """The content of the discovery files of one endpoint. `folders` are absolute paths of the
    editor; `path_maps` give the paths by which CLIs know them. `trees` are the folders of work
    trees of these: a CLI in one is of the window, too. `pid` is the editor's. `token` is the
    endpoint's token, from which each CLI gets its own; `key` is that of the CLIs' extension."""

    pid: int
    port: int
    token: str
    folders: tuple[str, ...] = ()
    path_maps: PathMaps = NO_MAPS
    key: str = ""
    trees: tuple[str, ...] = ()

    @property
    def all_folders(self) -> tuple[str, ...]:
        """The folders and the work trees."""
        return (*self.folders, *self.trees)

    @property
    def remote_folders(self) -> tuple[str, ...]:
        """The folders and the work trees as CLIs know them."""
        return self.path_maps.remote_folders(self.all_folders)

    @property
    def workspace_path(self) -> str:
        """All of them in one string, as discovery files have them."""
        return self.path_maps.separator.join(self.remote_folders)

    def environment(self) -> dict[str, str]:
        """The variables with which a terminal leads each CLI to the endpoint (docs/protocol.md
        5.46). They name no work tree: Gemini CLI may write into all that they name (5.47)."""
        variables: dict[str, str] = {}
        path = self.path_maps.separator.join(self.path_maps.remote_folders(self.folders))
        for cli in CLIS:
            variables.update(cli.environment(self.port, path, self.token, self.pid))
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

    def write_files(self, advertisement: Advertisement) -> None:
        """The file of the extension comes first: who sees the discovery file finds both. Raises
        OSError, NotPrivate."""
        folder = self.root
        for part in self.form.folder:
            folder = os.path.join(folder, part)
            private_files.make_folder(folder)
        told = advertisement.port, advertisement.workspace_path, advertisement.key
        path = self.path(advertisement)
        private_files.write_file(
            _key_path(path, advertisement.pid, advertisement.port),
            server_file.encode_server_file(*told),
        )
        private_files.write_file(path, advertisement.encode(self.cli, self.form))

    def owner(self, entry: os.DirEntry[str]) -> tuple[int, int] | None:
        """The editor's process and port if this is a discovery file of this user, or the one beside
        it; None for every other file. If the name has no process, only our own files count."""
        pattern = re.escape(self.form.name)
        for number in ("pid", "port"):
            pattern = pattern.replace(re.escape("{" + number + "}"), rf"(?P<{number}>\d+)")
        is_beside = server_file.PATTERN.fullmatch(entry.name)
        match = is_beside or re.fullmatch(pattern, entry.name)
        if not match or not private_files.is_ours(entry):
            return None
        has_pid = is_beside or "{pid}" in self.form.name
        pid = match.group("pid") if has_pid else _pid_within(entry.path)
        return (int(pid), int(match.group("port"))) if pid is not None else None


def _key_path(path: str, pid: int, port: int) -> str:
    """The path of the extension's file beside a discovery file."""
    return os.path.join(os.path.dirname(path), server_file.NAME.format(pid=pid, port=port))


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


def discovery_folders(extra: str = "") -> list[DiscoveryFolder]:
    """The places for discovery files, Gemini CLI's first. `extra` is another folder for them; it
    stands for a temp folder or a home. If a CLI's home folder does not exist, this user does not
    use the CLI, and nothing is created for it (docs/adr/0017-one-table-of-clis.md)."""
    user_home = os.path.expanduser("~")
    found = []
    for cli in CLIS:
        homes = [home for home in cli.possible_homes(os.environ, user_home) if os.path.isdir(home)]
        if cli.discovery is not None and (homes or cli == GEMINI_CLI):
            roots = homes if cli.discovery.in_home else temp_folders()
            roots = [*roots, extra] if extra and os.path.isdir(extra) else roots
            found += [DiscoveryFolder(cli, cli.discovery, root) for root in roots]
    return found


class Publication:
    """The discovery files of one endpoint, from their creation to `remove`.

    `paths` are the files that could be written. `unwritten` has, for each folder without a file, a
    sentence about the reason. `problem` is the first of these sentences that matters, because a CLI
    is likely to search there; empty if none does. `tell` gets each new one, and `withdraw` is
    called when it is not true any more. `extra` is as in `discovery_folders`.
    """

    def __init__(
        self,
        advertisement: Advertisement,
        extra: str = "",
        tell: Callable[[str], None] = lambda problem: None,
        withdraw: Callable[[], None] = lambda: None,
    ) -> None:
        self.advertisement = advertisement
        self._extra = extra
        self._tell, self._withdraw = tell, withdraw
        self.paths: tuple[str, ...] = ()
        self.problem = ""
        self.unwritten: dict[str, str] = {}
        self._places: list[DiscoveryFolder] = []
        self._write_all()

    def change_advertisement(self, advertisement: Advertisement) -> None:
        """Write the files again if their content is to change."""
        if advertisement != self.advertisement:
            self.advertisement = advertisement
            self._write_all()

    def write_again(self) -> None:
        """Write the files again in any case."""
        self._write_all()

    def renew(self) -> None:
        """Write the files again if one is missing: temp folders are cleaned, a full disk has space
        again, or the user has installed another CLI."""
        paths = [file for path in self.paths for file in (path, self._own_key_path(path))]
        is_whole = (
            all(map(os.path.exists, paths)) and discovery_folders(self._extra) == self._places
        )
        if self.problem or not is_whole:
            self._write_all()

    def _write_all(self) -> None:
        paths, problem = self.paths, self.problem
        self._write_files()
        # A file that could not be written again would still name the old folders.
        for path in set(paths) - set(self.paths):
            self._remove_file(path)
        if problem not in ("", self.problem):
            self._withdraw()
        if self.problem not in ("", problem):
            logger.error("%s", self.problem)
            self._tell(self.problem)

    def _write_files(self) -> None:
        self.paths, self.problem = (), ""
        self.unwritten = {}
        self._places = discovery_folders(self._extra)
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
            place.write_files(self.advertisement)
        except private_files.NotPrivate as error:
            return f"{may_fail}{error}"
        except OSError as error:
            _remove_quietly(self._own_key_path(path))
            return f"{may_fail}{path} could not be written ({error.strerror})."
        self.paths += (path,)
        return ""

    def remove(self) -> None:
        """Remove the files. Uses plain os calls, so that it works while the editor quits."""
        for path in self.paths:
            self._remove_file(path)
        if self.problem:
            self._withdraw()

    def _remove_file(self, path: str) -> None:
        _remove_quietly(path)
        _remove_quietly(self._own_key_path(path))

    def _own_key_path(self, path: str) -> str:
        return _key_path(path, self.advertisement.pid, self.advertisement.port)


def _remove_quietly(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


def remove_all(pid: int, extra: str = "") -> None:
    """Remove every file of the editor `pid`, whose packages this process runs: for an editor that
    quits without our thread."""
    for path, owner, port in _discovery_files(extra):
        serving = server_file.process_in(_key_path(path, owner, port))
        # In a container another editor has the same number.
        if owner == pid and serving in (None, server_file.this_process()):
            _remove_quietly(path)


def _discovery_files(extra: str) -> Iterator[tuple[str, int, int]]:
    """Path, editor's process and port of each discovery file of this user, and after them of each
    file beside one."""
    found = []
    for place in discovery_folders(extra):
        # If a folder cannot be read (another user's), the writing of our own file reports that.
        with suppress(OSError):
            for entry in os.scandir(place.folder):
                owner = place.owner(entry)
                if owner is not None:
                    found.append((entry.path, *owner))
    yield from sorted(found, key=lambda file: file[0].endswith(server_file.SUFFIX))


def sweep_files(own_pid: int, extra: str = "") -> list[str]:
    """Remove the files of editors that have ended; gives the paths removed. A dead file of the same
    workspace keeps the CLI from connecting (docs/protocol.md 5.39).

    Removes only files of this user. `own_pid` is the editor that is starting.
    """
    removed = [
        path
        for place in discovery_folders(extra)
        for path in private_files.sweep_folder(place.folder)
    ]
    for path, pid, port in _discovery_files(extra):
        if _has_ended(path, pid, port, own_pid):
            with suppress(OSError):
                os.unlink(path)
                removed.append(path)
                logger.info("removed a file of an editor that is gone: %s", path)
    return removed


def _has_ended(path: str, pid: int, port: int, own_pid: int) -> bool:
    """Whether the editor of the file has ended, or its server. A file that does not name the
    serving process, as those of earlier versions, goes only if the editor's process has ended and
    nothing listens on the port. Windows keeps such files over a restart and reuses the numbers of
    processes, so only the port counts there."""
    listens = partial(is_listening, port)
    serving = server_file.process_in(_key_path(path, pid, port))
    has_ended = server_file.has_ended(serving, listens) if serving is not None else None
    if has_ended is not None:
        return has_ended
    is_gone = sys.platform == "win32" or pid == own_pid or not private_files.is_running(pid)
    return is_gone and not listens()


def remove_dead(path: str) -> bool:
    """Remove a discovery file if nothing listens on its port; gives whether it was removed.

    The user asked for this, so the number of its editor's process is not checked: another process
    may have it by now.
    """
    for found, pid, port in _discovery_files(""):
        if found == path and not is_listening(port):
            _remove_quietly(path)
            _remove_quietly(_key_path(path, pid, port))
            return not os.path.lexists(path)
    return False


def is_listening(port: int) -> bool:
    if not 0 < port < 65536:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(PROBE_TIMEOUT)
        return probe.connect_ex(("127.0.0.1", port)) == 0
