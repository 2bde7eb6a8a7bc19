"""Terminals: the companion's variables in Terminus, and Gemini CLI started in a terminal."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from typing import Any, Callable, Mapping, Sequence

import sublime
from sublime import platform

from ..base.log import logger
from ..ide.clis import VARIABLES
from . import queues, settings

TERMINUS_SETTINGS = "Terminus.sublime-settings"
# The command that takes our variables out of a terminal view's settings again, where Terminus keeps
# them to start it anew: a token would stand in the session file (docs/sublime.md 8.4).
FORGET = "gemini_companion_forget_environment"
TERMINUS_ARGUMENTS = "terminus_view.args"

# Terminals of Linux and the BSDs, in the order tried; the command line follows.
LINUX_TERMINALS = (
    ["x-terminal-emulator", "-e"],
    ["gnome-terminal", "--"],
    ["konsole", "-e"],
    ["xfce4-terminal", "-x"],
    ["alacritty", "-e"],
    ["kitty"],
    ["xterm", "-e"],
)


class NoTerminal(Exception):
    """No terminal to start the CLI in; the text is a sentence for the user."""


def has_terminus() -> bool:
    return bool(sublime.find_resources(TERMINUS_SETTINGS))


def with_environment(
    arguments: Mapping[str, Any], environment: Mapping[str, str]
) -> dict[str, Any] | None:
    """The arguments of `terminus_open` with the variables; None where nothing is to be added.

    Terminus lets `env` replace the variables of its own configuration, so those come along.
    """
    env = arguments.get("env") or {}
    if not environment or arguments.get("config_name") == "<ask>" or set(environment) <= set(env):
        return None
    configured = {} if env else _configured_env(arguments)
    hooks = list(arguments.get("post_view_hooks") or [])
    return {
        **arguments,
        "env": {**configured, **env, **environment},
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
    """Take our variables out of what Terminus keeps to start the view's terminal again."""
    arguments: Any = view.settings().get(TERMINUS_ARGUMENTS)
    if arguments and arguments.get("env"):
        env = arguments["env"]
        rest = {key: env[key] for key in env if key not in VARIABLES}
        view.settings().set(TERMINUS_ARGUMENTS, {**arguments, "env": rest})


def run_cli(
    window: sublime.Window,
    folder: str,
    environment: Mapping[str, str],
    tell: Callable[[str], None],
) -> None:
    """Start Gemini CLI in the folder: in Terminus, else in the system's terminal. `tell` is called
    with a sentence where that fails."""
    found = settings.of(window)
    if has_terminus():
        run_in_terminus(window, found.cli_command, folder, environment)
        return

    def run() -> None:
        try:
            run_in_system(found.terminal_command, found.cli_command, folder, environment)
        except NoTerminal as error:
            logger.error("%s", error)
            tell(str(error))

    queues.on_worker(run)


def run_in_terminus(
    window: sublime.Window, command: Sequence[str], folder: str, environment: Mapping[str, str]
) -> None:
    # Terminus says TERM_PROGRAM=Terminus-Sublime whatever it is told, and expands "$"
    # (docs/sublime.md 8.2, 8.3).
    cmd = [part.replace("$", "\\$") for part in _as_sublime(command)]
    arguments: dict[str, Any] = {
        "cmd": cmd,
        "cwd": folder.replace("$", "\\$"),
        "title": "Gemini CLI",
        "auto_close": False,
        "reactivable": False,
    }
    window.run_command("terminus_open", with_environment(arguments, environment) or arguments)


def _as_sublime(command: Sequence[str]) -> list[str]:
    if platform() == "windows":
        # Item by item: cmd does not know the backslashes before quotes in a quoted whole.
        return ["cmd.exe", "/c", "set", "TERM_PROGRAM=sublime&&", *command]
    return ["env", "TERM_PROGRAM=sublime", *command]


def run_in_system(
    terminal: Sequence[str], command: Sequence[str], folder: str, environment: Mapping[str, str]
) -> None:
    """Start the CLI in the system's terminal; may take a moment, so not on the UI thread.

    `terminal` is the user's own command line, in which the items "{cwd}" and "{command}" stand for
    the folder and the CLI; empty for the one that is found. Raises NoTerminal.
    """
    environment = {**environment, "TERM_PROGRAM": "sublime"}
    line = _terminal_line(terminal, command, folder, environment)
    try:
        subprocess.Popen(
            line,
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise NoTerminal(
            f'The terminal "{line[0]}" could not be started ({error.strerror}); see'
            ' "terminal_command" in the settings.'
        ) from error


def _terminal_line(
    terminal: Sequence[str], command: Sequence[str], folder: str, environment: Mapping[str, str]
) -> list[str]:
    if terminal:
        line: list[str] = []
        for item in terminal:
            line += list(command) if item == "{command}" else [item.replace("{cwd}", folder)]
        return line
    if platform() == "windows":
        # "call", since cmd takes the quotes away from a line that begins with one.
        return ["cmd.exe", "/c", "start", "", "cmd.exe", "/k", "call", *command]
    if platform() == "osx":
        return ["open", "-a", "Terminal", _script(command, folder, environment)]
    for line in LINUX_TERMINALS:
        if shutil.which(line[0]):
            return [*line, *command]
    raise NoTerminal(
        'No terminal was found. Install Terminus, or name one in "terminal_command" in the'
        " settings."
    )


def _script(command: Sequence[str], folder: str, environment: Mapping[str, str]) -> str:
    """A script that only this user can read and that removes itself: macOS' Terminal starts
    nothing with an environment, and what it is told to type lands in the shell's history."""
    descriptor, path = tempfile.mkstemp(suffix=".command", prefix="gemini-cli-")
    exports = "".join(
        f"export {name}={shlex.quote(value)}\n" for name, value in environment.items()
    )
    line = " ".join(shlex.quote(part) for part in command)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nrm -f "$0"\ncd {shlex.quote(folder)} || exit\n')
        file.write(f"{exports}exec {line}\n")
    os.chmod(path, 0o700)
    return path
