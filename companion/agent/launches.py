"""How the agents are started that somebody names: an operator in options, a user in settings."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Sequence

from .agents import command_agent
from .agents.cli import AgentCli
from .failure import CLIENT_NOT_INITIALIZED, AgentError
from .processes.runner import Launch
from .sentence import sentence
from .supported import CLIS

NOT_THERE = sentence(
    '{cli} was not found as "{words}". Install it with "{install}", or write its full path as its'
    ' "command" under "agents" in the settings.'
)
NO_PROGRAM = sentence(
    '{cli} was not found. Install it, or write its full path as its "command" under "agents" in the'
    " settings."
)
# What starts programs of other names, such as ["node", "/path/gemini.js"]; it is no agent itself.
RUNNERS = frozenset({"bun", "bunx", "env", "node", "npm", "npx", "pnpm", "yarn"})


@dataclass(frozen=True)
class Chosen:
    """An agent as a user names it: the id of a row or another one, and the words that start it in a
    terminal. Those of a row may be left out, and options among them do not count."""

    id: str
    command: tuple[str, ...] = ()

    @property
    def launch(self) -> Launch:
        """Its program is looked for at each start, so that one that was just installed is found."""
        cli = CLIS.get(self.id, command_agent.CommandAgent)
        fallback = cli.from_environment(os.environ)
        return Launch((), agent=self.id, fallback=fallback, look=self.find_command)

    def find_command(self) -> tuple[str, ...]:
        """What starts it. Raises AgentError."""
        row = CLIS.get(self.id)
        if row is None:
            return _find_command(self.command or (self.id,))
        return _find_program(row, self.command or (row.program.script,))


def launch_of(named: str, path: str = "", gateway: str = "", **more: Any) -> Launch:
    """An agent by the id of a row, or by a command. `path` is where the program of a row is, empty
    for a search in PATH; `gateway` is the URL of the operator's own gateway to Gemini's API. `more`
    are other fields of the Launch. Raises AgentError if the agent is not found."""
    cli = CLIS.get(named)
    if cli is None:
        words = command_agent.words_of(named)
        row = command_agent.id_of(words)
        if row in CLIS:
            # The program of a row by its path.
            return launch_of(row, words[0], gateway, **more)
        fallback = command_agent.CommandAgent.from_environment(os.environ)
        found = command_agent.find_command(words)
        return Launch(found, agent=command_agent.id_of(words), fallback=fallback, **more)
    variables = cli.address_variables(gateway) if gateway else {}
    fallback_of_row = cli.from_environment(os.environ)
    return Launch(
        cli.program.find_command(path), variables, agent=named, fallback=fallback_of_row, **more
    )


def _find_command(words: Sequence[str]) -> tuple[str, ...]:
    """Raises AgentError."""
    with suppress(AgentError):
        return command_agent.find_command(words)
    raise AgentError(CLIENT_NOT_INITIALIZED, NO_PROGRAM.with_values(cli=words[0]))


def _find_program(row: type[AgentCli], words: Sequence[str]) -> tuple[str, ...]:
    """The program of a row, by words that start it in a terminal. Raises AgentError."""
    for word in words:
        if os.path.splitext(os.path.basename(word))[0].lower() in RUNNERS:
            continue
        path = shutil.which(word) or word
        # A relative path would be looked up in the current directory, which nobody chose.
        if os.path.isabs(path):
            with suppress(AgentError):
                return row.program.find_command(path)
    row.program.check_node()
    told = NOT_THERE.with_values(
        cli=row.program.name, words=" ".join(words), install=row.program.install_command
    )
    raise AgentError(CLIENT_NOT_INITIALIZED, told)
