"""Finds a CLI on this machine, as a command that can be started. Starts nothing."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import Sequence

from ..wording.failure import CLIENT_NOT_INITIALIZED, AgentError
from ..wording.sentence import sentence


@dataclass(frozen=True)
class Program:
    """A CLI as npm installs it. `name` is for people. `script` is its name in PATH, `package` is
    npm's name of the package, and `file` is the program in it."""

    name: str
    script: str
    package: str
    file: str

    def find(self, path: str = "") -> tuple[str, ...]:
        """Node and the program. Started without the script in between, because that does not pass
        on signals.

        `path` is the program, its script, a folder with node_modules, or empty for a search in
        PATH. Raises AgentError.
        """
        node = shutil.which("node")
        if node is None:
            told = sentence("Node.js 20 or newer is needed and was not found.")
            raise AgentError(CLIENT_NOT_INITIALIZED, told)
        for candidate in self._candidates(path or shutil.which(self.script) or ""):
            if candidate.endswith(".js") and os.path.isfile(candidate):
                return (node, candidate)
        told = sentence("{cli} was not found in {place}.", cli=self.name, place=path or "PATH")
        raise AgentError(CLIENT_NOT_INITIALIZED, told)

    def _candidates(self, start: str) -> list[str]:
        real = os.path.realpath(start)
        beside = os.path.dirname(os.path.abspath(start))
        package = os.path.join(*self.package.split("/"))
        file = os.path.join(*self.file.split("/"))
        return [
            real,
            os.path.join(real, "node_modules", package, file),
            # Windows: gemini.cmd is beside node_modules.
            os.path.join(beside, "node_modules", package, file),
            # npm's own links in a project: node_modules/.bin/gemini.
            os.path.join(os.path.dirname(beside), package, file),
        ]


def is_there(command: Sequence[str]) -> bool:
    """Whether the command's program can be run, and the files that it names exist."""
    files = [word for word in command if os.path.isabs(word)]
    return shutil.which(command[0]) is not None and all(map(os.path.isfile, files))
