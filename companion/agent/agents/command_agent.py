"""An agent of which only its command is known. What it can do is what the protocol says, and its
settings and logins are the user's own."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from typing import Mapping, Sequence

from ..credentials import OWN, Credentials
from ..failure import CLIENT_NOT_INITIALIZED, VALIDATION_ERROR, AgentError
from ..sentence import sentence
from .cli import AgentCli
from .program import Program

# An id is also the name of a folder.
ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
NO_ID = re.compile(r"[^a-z0-9._-]+")


class CommandAgent(AgentCli):
    """`id` is made of its command by `id_of`."""

    kinds = (OWN,)
    # It may be any agent.
    shows_headers = starts_git = has_sign_ins = uses_terminals = True

    def __init__(self, folder: str, trusted: bool, id: str) -> None:
        super().__init__(folder, trusted)
        self.id = id
        self.program = Program(id, id, "", "")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Credentials:
        return Credentials(OWN)


def words_of(command: str) -> list[str]:
    """The words of a command as a shell reads them. Raises AgentError if there are none, or if a
    quotation has no end."""
    try:
        words = shlex.split(command, posix=os.name != "nt")
    except ValueError:
        words = []
    if not words:
        told = sentence("Expected the command of an agent; got {got}.", got=repr(command))
        raise AgentError(VALIDATION_ERROR, told)
    return words


def id_of(words: Sequence[str]) -> str:
    """`/usr/bin/opencode acp` is "opencode-acp"."""
    names = (re.split(r"[\\/]", word)[-1] for word in words)
    return NO_ID.sub("-", "-".join(names).lower()).strip("-._")[:64] or "agent"


def find_command(words: Sequence[str], search: str | None = None) -> tuple[str, ...]:
    """The words with the path of the program. `search` counts as PATH, if it is given. Raises
    AgentError if there is none."""
    path = shutil.which(words[0], path=search)
    if path is None:
        told = sentence("{cli} was not found in {place}.", cli=words[0], place="PATH")
        raise AgentError(CLIENT_NOT_INITIALIZED, told)
    return (os.path.abspath(path), *words[1:])
