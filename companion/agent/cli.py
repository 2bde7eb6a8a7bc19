"""Where the Gemini CLI is on this machine, as a command that can be started; starts nothing."""

from __future__ import annotations

import os
import shutil
from typing import Sequence

from .failure import CLIENT_NOT_INITIALIZED, AgentError
from .sentence import sentence

# The CLI's program within the npm package, and the package beside the script that starts it.
PROGRAM = os.path.join("bundle", "gemini.js")
PACKAGE = os.path.join("node_modules", "@google", "gemini-cli")


def find(path: str = "") -> tuple[str, ...]:
    """Node and the program: started without the script between, whose signals would not arrive.

    `path` is the program, the script `gemini`, a folder with node_modules, or empty for what PATH
    has. Raises AgentError.
    """
    node = shutil.which("node")
    if node is None:
        raise AgentError(
            CLIENT_NOT_INITIALIZED, sentence("Node.js 20 or newer is needed and not found.")
        )
    start = path or shutil.which("gemini") or ""
    for candidate in _candidates(start):
        if candidate.endswith(".js") and os.path.isfile(candidate):
            return (node, candidate)
    raise AgentError(
        CLIENT_NOT_INITIALIZED,
        sentence("The Gemini CLI is not found in {place}.", place=path or "PATH"),
    )


def is_there(command: Sequence[str]) -> bool:
    """Whether the command's program can be run, and the files that it names are there."""
    files = [word for word in command if os.path.isabs(word)]
    return shutil.which(command[0]) is not None and all(map(os.path.isfile, files))


def _candidates(start: str) -> list[str]:
    real = os.path.realpath(start)
    beside = os.path.dirname(os.path.abspath(start))
    return [
        real,
        os.path.join(real, PACKAGE, PROGRAM),
        # Windows: gemini.cmd stands beside node_modules.
        os.path.join(beside, PACKAGE, PROGRAM),
        # npm's own links for a project: node_modules/.bin/gemini.
        os.path.join(os.path.dirname(beside), "@google", "gemini-cli", PROGRAM),
    ]
