"""Finds a CLI on this machine, as a command that can be started. Starts nothing."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from typing import NamedTuple, Sequence

from ..failure import CLIENT_NOT_INITIALIZED, AgentError
from ..sentence import sentence

# The first bytes of a native program: on Linux, on macOS (both orders, and for two processors), on
# Windows.
NATIVE = (
    b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xfe\xed\xfa\xcf", b"\xca\xfe\xba\xbe", b"MZ",
)  # fmt: skip

NOT_EXECUTABLE = sentence("{cli} cannot be started: {path} is there, and is not executable.")
# What systems call such a machine.
ARM = ("arm64", "aarch64")


class FoundCommand(NamedTuple):
    """The words that start a program, and the PATH that it needs; "" for the one that we have."""

    words: tuple[str, ...]
    path: str = ""


@dataclass(frozen=True)
class Program:
    """A CLI as npm installs it. `name` is for people. `script` is its name in PATH, `package` is
    npm's name of the package, and `file` is the program in it: one for Node, or a native one.
    `native` is the native one in the package for this machine, if there is a package for each."""

    name: str
    script: str
    package: str
    file: str
    native: str = ""

    def find_command(self, path: str = "", search: str | None = None) -> tuple[str, ...]:
        """What starts it: the program itself where it is found, else its launcher as it is.

        `path` is the program, its script or launcher, a folder with node_modules, or empty for a
        search in PATH. `search` counts as PATH, if it is given. Raises AgentError.
        """
        start = path or shutil.which(self.script, path=search) or ""
        command = self.installed_command(start, search) or launcher_command(start)
        if command:
            return command
        self.check_node(search)
        check_executable(self.name, path or self.script, search)
        told = sentence("{cli} was not found in {place}.", cli=self.name, place=path or "PATH")
        raise AgentError(CLIENT_NOT_INITIALIZED, told)

    def installed_command(self, start: str, search: str | None = None) -> tuple[str, ...]:
        """The native program, or Node and the program for it; empty if `start` does not lead to
        one. Started without npm's script in between, which takes longer. Raises AgentError if it
        needs Node and there is none."""
        for candidate in self._candidate_paths(start):
            if candidate.endswith(".js") and os.path.isfile(candidate):
                return (_find_node(search), candidate)
            if _is_native(candidate):
                # The program behind a link may be one for many names, which looks at its own.
                is_link = candidate == os.path.realpath(start)
                return (os.path.abspath(start) if is_link else candidate,)
        return ()

    def check_node(self, search: str | None = None) -> None:
        """Raises AgentError if it needs Node and there is none."""
        if self.file.endswith(".js"):
            _find_node(search)

    @property
    def install_command(self) -> str:
        """The command that installs it."""
        return f"npm install -g {self.package}"

    def _candidate_paths(self, start: str) -> list[str]:
        real = os.path.realpath(start)
        beside = os.path.dirname(os.path.abspath(start))
        places = (
            os.path.join(real, "node_modules"),
            # Windows: gemini.cmd is beside node_modules.
            os.path.join(beside, "node_modules"),
            # npm's own links in a project: node_modules/.bin/gemini.
            os.path.dirname(beside),
        )
        files = [f"{self.package}/{self.file}"]
        if self.native:
            files.append(self.native.format(machine=_machine_name()))
        return [
            real,
            *(os.path.join(place, *file.split("/")) for place in places for file in files),
        ]


def _machine_name() -> str:
    """npm's name for machines like this one."""
    system = {"win32": "windows"}.get(sys.platform, sys.platform)
    windows = os.environ.get("PROCESSOR_ARCHITECTURE", "")
    is_arm = (windows if sys.platform == "win32" else os.uname().machine).lower() in ARM
    return f"{system}-{'arm64' if is_arm else 'x64'}"


def _find_node(search: str | None) -> str:
    """Raises AgentError."""
    node = shutil.which("node", path=search)
    if node is None:
        told = sentence("Node.js 20 or newer is needed and was not found.")
        raise AgentError(CLIENT_NOT_INITIALIZED, told)
    return node


def _is_native(path: str) -> bool:
    if not (os.path.isfile(path) and os.access(path, os.X_OK)):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(4).startswith(NATIVE)
    except OSError:
        return False


def launcher_command(path: str) -> tuple[str, ...]:
    """A program of any kind as it is found, by the name by which it is found: a script of pnpm or
    asdf, a link of Volta or mise. Empty if the file is not there or not executable."""
    is_program = bool(path) and os.path.isfile(path) and os.access(path, os.X_OK)
    return (os.path.abspath(path),) if is_program else ()


def check_executable(name: str, word: str, search: str | None = None) -> None:
    """Raises AgentError if the word, as a path or in PATH, is a file that is not executable. `name`
    is that of the agent."""
    folders = [""] if os.path.dirname(word) else _folders(search)
    for path in (os.path.join(folder, word) for folder in folders):
        if os.path.isfile(path) and not os.access(path, os.X_OK):
            raise AgentError(
                CLIENT_NOT_INITIALIZED, NOT_EXECUTABLE.with_values(cli=name, path=path)
            )


def _folders(search: str | None) -> list[str]:
    return os.get_exec_path() if search is None else search.split(os.pathsep)


def is_there(command: Sequence[str]) -> bool:
    """Whether the command's program can be run, and the files that it names exist."""
    files = [word for word in command if os.path.isabs(word)]
    return shutil.which(command[0]) is not None and all(map(os.path.exists, files))
