"""How the agents are started that somebody names: an operator in options, a user in settings."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Sequence

from ..base.login_path import LOGIN_PATH
from .acp import protocol_version
from .agents import command_agent
from .agents.cli import AgentCli
from .agents.cli_home import with_changes
from .agents.program import (
    FoundCommand,
    Program,
    check_executable,
    is_there,
    launcher_command,
)
from .failure import AgentError, NotInstalled
from .processes.runner import Launch
from .sentence import sentence
from .supported import CLIS

# The versions of the protocol that an agent can be asked for, and the usual one.
VERSIONS, USUAL_VERSION = protocol_version.VERSIONS, protocol_version.USUAL
NOT_THERE = sentence(
    '{cli} was not found as "{words}". Install it with "{install}", or write its full path as its'
    ' "command" under "agents" in the settings. Doctor shows the folders that were searched.'
)
NO_PROGRAM = sentence(
    '{cli} was not found. Install it, or write its full path as its "command" under "agents" in the'
    " settings. Doctor shows the folders that were searched."
)
# What starts programs of other names, such as ["node", "/path/gemini.js"]; it is no agent itself.
RUNNERS_OF_FILES = frozenset({"bun", "env", "node"})
RUNNERS = RUNNERS_OF_FILES | {"bunx", "npm", "npx", "pnpm", "yarn"}


@dataclass(frozen=True)
class Chosen:
    """An agent as a user names it: the id of a row or another one, the words that start it in a
    terminal, and its variables, None for one that it does not get. The words of a row may be left
    out, and options among them do not count; `args` do. `own_login` says whether a row has the
    user's own login, whatever they chose elsewhere. `protocol_version` is the one of the protocol
    that it is asked for."""

    id: str
    command: tuple[str, ...] = ()
    env: tuple[tuple[str, str | None], ...] = ()
    args: tuple[str, ...] = ()
    own_login: bool | None = None
    protocol_version: int = USUAL_VERSION

    @property
    def launch(self) -> Launch:
        """Its program is looked for at each start, so that one that was just installed is found."""
        cli = CLIS.get(self.id, command_agent.CommandAgent)
        env = dict(self.env)
        fallback = cli.from_environment(with_changes(os.environ, env))
        look = self.find_command
        return Launch(
            (),
            agent=self.id,
            fallback=fallback,
            look=look,
            env=env,
            args=self.args,
            # An agent that is no row has no other login.
            own_login=self.own_login if self.id in CLIS else None,
            protocol_version=self.protocol_version,
            is_users=True,
        )

    def find_command(self) -> FoundCommand:
        """What starts it: on our PATH, else on that of the user's login shell, which is asked at
        the first time and may take seconds. Raises AgentError."""
        try:
            return FoundCommand(self._find_on(None))
        except AgentError:
            search = LOGIN_PATH.ask()
            if not search:
                raise
        return FoundCommand(self._find_on(search), search)

    def _find_on(self, search: str | None) -> tuple[str, ...]:
        row = CLIS.get(self.id)
        if row is None:
            return _find_command(self.command or (self.id,), search)
        return _find_program(row, self.command or (row.program.script,), search)


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


def _find_command(words: Sequence[str], search: str | None) -> tuple[str, ...]:
    """Raises AgentError."""
    with suppress(AgentError):
        return command_agent.find_command(words, search)
    check_executable(words[0], words[0], search)
    raise NotInstalled(NO_PROGRAM.with_values(cli=words[0]), words[0])


def _find_program(row: type[AgentCli], words: Sequence[str], search: str | None) -> tuple[str, ...]:
    """The program of a row, by words that start it in a terminal. Raises AgentError."""
    command = _installed_command(row.program, words, search) or _wrapped_command(words, search)
    if command:
        return command
    row.program.check_node(search)
    for word in words:
        check_executable(row.program.name, word, search)
    install = row.program.install_command
    told = NOT_THERE.with_values(cli=row.program.name, words=words[0], install=install)
    raise NotInstalled(told, words[0], install)


def _installed_command(
    program: Program, words: Sequence[str], search: str | None
) -> tuple[str, ...]:
    """The program that one of the words is or leads to; empty if none does. Raises AgentError if it
    needs Node and there is none."""
    for word in words:
        name = os.path.splitext(os.path.basename(word))[0].lower()
        path = shutil.which(word, path=search) or word
        # A relative path would be looked up in the current directory, which nobody chose.
        if name in RUNNERS or not os.path.isabs(path):
            continue
        command = program.installed_command(path, search)
        if not command and name == program.script:
            command = launcher_command(path)
        if command:
            return command
    return ()


def _wrapped_command(words: Sequence[str], search: str | None) -> tuple[str, ...]:
    """All words, where they begin with a program of any name that takes them; else empty."""
    path = shutil.which(words[0], path=search) or ""
    name = os.path.splitext(os.path.basename(path))[0].lower()
    command = (path, *words[1:])
    is_wrapper = os.path.isabs(path) and name not in RUNNERS_OF_FILES
    return command if is_wrapper and is_there(command) else ()
