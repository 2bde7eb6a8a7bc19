"""Terminus: puts the companion's variables into its terminals, and starts Gemini CLI in one, or
else in the system's terminal."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import Any, Callable, Mapping, Sequence

import sublime
from sublime import platform

from ...base import background
from ...base.log import logger
from ...base.login_path import LOGIN_PATH
from ...ide.clis import VARIABLES, by_command, program_name
from .. import application, queues, settings
from . import system_terminal
from .loopback import without_proxy
from .system_terminal import NoTerminal, Started

TERMINUS_SETTINGS = "Terminus.sublime-settings"
# The command that removes our variables from a terminal view's settings, and those that the user
# has for an agent. Terminus keeps them there to start it again, and a token or a key would be in
# the session file (docs/sublime.md 8.4).
FORGET = "gemini_companion_forget_environment"
TERMINUS_ARGUMENTS = "terminus_view.args"

# The name of the command that opens a terminal, in Terminus' own modules.
OPEN_COMMAND = "TerminusOpenCommand"
NOT_LOADED = "Terminus is not loaded. {} runs in the system's terminal."
# Milliseconds between checks whether the system's terminal runs the CLI; the number of checks after
# which the user is told that it does not (a minute), and after which its script is removed (a
# quarter of an hour).
LOOK, LATE, LAST = 500, 120, 1800


def has_terminus() -> bool:
    """Whether its command exists; the user's settings for it remain when it is removed."""
    names = [name for name in list(sys.modules) if name.startswith("Terminus.")]
    return any(hasattr(sys.modules.get(name), OPEN_COMMAND) for name in names)


def with_environment(
    arguments: Mapping[str, Any], environment: Mapping[str, str]
) -> dict[str, Any] | None:
    """The arguments of `terminus_open` with the variables; None if nothing has to be added.

    In Terminus `env` replaces the variables of its own configuration, so those are included.
    """
    env = arguments.get("env") or {}
    if not environment or arguments.get("config_name") == "<ask>" or set(environment) <= set(env):
        return None
    configured = {} if env else _configured_env(arguments)
    given = {**configured, **env, **environment}
    proxies = without_proxy({**os.environ, **given}, platform() == "windows")
    hooks = list(arguments.get("post_view_hooks") or [])
    return {
        **arguments,
        "env": {**given, **proxies},
        "post_view_hooks": hooks + [[FORGET, {}]],
    }


def _configured_env(arguments: Mapping[str, Any]) -> Mapping[str, str]:
    """The variables that the chosen shell has in Terminus' settings."""
    name = str(arguments.get("config_name") or "")
    if not name and (arguments.get("cmd") or arguments.get("shell_cmd")):
        return {}
    configs: Any = sublime.load_settings(TERMINUS_SETTINGS).get("shell_configs")
    for config in configs or []:
        enabled = config.get("enable", True)
        here = platform() in config.get("platforms", [platform()])
        default = name.lower() in ("", "default")
        wanted = (
            config.get("default") if default else config.get("name", "").lower() == name.lower()
        )
        if enabled and here and wanted:
            env: Mapping[str, str] = config.get("env") or {}
            return env
    return {}


def forget_environment(view: sublime.View) -> None:
    """Remove our variables, and those of agents, from what Terminus keeps to start the view's
    terminal again."""
    arguments: Any = view.settings().get(TERMINUS_ARGUMENTS)
    if arguments and arguments.get("env"):
        env = arguments["env"]
        of_agents = {name for each in settings.current_settings().agents for name, _ in each.env}
        rest = {key: env[key] for key in env if key not in VARIABLES and key not in of_agents}
        view.settings().set(TERMINUS_ARGUMENTS, {**arguments, "env": rest})


async def run_cli(
    window: sublime.Window,
    folder: str,
    environment: Mapping[str, str],
    tell: Callable[[str], None],
    command: Sequence[str] = (),
) -> None:
    """Start Gemini CLI in the folder, or the command: in Terminus, else in the system's terminal.
    If that fails, `tell` gets a sentence."""
    found = settings.current_settings(window)
    words = command or found.terminal_cli
    changes = await background.start_work(partial(LOGIN_PATH.changes_for, words[0], "node"))
    environment = {**changes, **environment}
    if has_terminus():
        run_in_terminus(window, words, folder, environment)
        return
    if application.has_resource(TERMINUS_SETTINGS):
        tell(NOT_LOADED.format(name_of(words)))

    start = partial(
        system_terminal.run_in_terminal,
        *(platform(), found.terminal_command, words, folder, environment),
    )
    try:
        started = await background.start_work(start)
    except NoTerminal as error:
        logger.error("%s", error)
        tell(str(error))
    else:
        queues.on_worker(partial(_watch_start, started, tell))


def _watch_start(
    started: Started, tell: Callable[[str], None], looks: int = 0, is_told: bool = False
) -> None:
    """Runs on the worker: a terminal that finds no screen, for example, ends silently. The user is
    told once."""
    if not system_terminal.is_waiting(started):
        return
    if looks >= LAST:
        system_terminal.remove_script(started)
        logger.error('The terminal "%s" did not run the CLI.', started.name)
        return
    if not is_told and (started.process.poll() or looks >= LATE):
        problem = system_terminal.problem_of(started)
        logger.error("%s", problem)
        tell(problem)
        is_told = True
    queues.on_worker(partial(_watch_start, started, tell, looks + 1, is_told), LOOK)


def run_in_terminus(
    window: sublime.Window, command: Sequence[str], folder: str, environment: Mapping[str, str]
) -> None:
    # Terminus always sets TERM_PROGRAM=Terminus-Sublime, and expands "$" (docs/sublime.md 8.2,
    # 8.3).
    cmd = [part.replace("$", "\\$") for part in _as_sublime(platform(), command)]
    arguments: dict[str, Any] = {
        "cmd": cmd,
        "cwd": folder.replace("$", "\\$"),
        "title": name_of(command),
        "auto_close": False,
        "reactivable": False,
    }
    window.run_command("terminus_open", with_environment(arguments, environment) or arguments)


def name_of(command: Sequence[str]) -> str:
    """The user's name for the program that the command starts."""
    cli = by_command(command)
    return cli.name if cli is not None else program_name(command[0])


def _as_sublime(system: str, command: Sequence[str]) -> list[str]:
    if system == "windows":
        # Item by item: cmd does not understand backslashes before quotes in a quoted whole.
        return ["cmd.exe", "/c", "set", "TERM_PROGRAM=sublime&&", *command]
    return ["env", "TERM_PROGRAM=sublime", *command]


def open_terminal(window: sublime.Window) -> None:
    """Open Terminus' own shell. The palette does not report its commands to packages; the listener
    sees this one and adds the variables (docs/sublime.md 8.5)."""
    window.run_command("terminus_open", {})
