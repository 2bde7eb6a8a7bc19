"""Starts a CLI in the system's own terminal. `system` is one of Sublime's words for platforms:
"linux", "osx" or "windows"."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from typing import Callable, Mapping, Sequence

from ...base.child_processes import NO_WINDOW
from .loopback import SCRIPT, without_proxy

# Terminals of Linux and the BSDs, in the order in which they are tried; the command follows.
LINUX_TERMINALS = (
    ["x-terminal-emulator", "-e"],
    ["gnome-terminal", "--"],
    ["konsole", "-e"],
    ["xfce4-terminal", "-x"],
    ["alacritty", "-e"],
    ["kitty"],
    ["ptyxis", "--"],
    ["ghostty", "-e"],
    ["wezterm", "start", "--"],
    ["foot"],
    ["mate-terminal", "-x"],
    ["lxterminal", "-e"],
    ["xterm", "-e"],
)


@dataclass(frozen=True)
class Started:
    """A terminal that the command `name` started. Its `script` removes itself when it runs; empty
    if there is none."""

    name: str
    process: subprocess.Popen[bytes]
    script: str = ""


class NoTerminal(Exception):
    """There is no terminal for the CLI; the text is a sentence for the user."""


def run_in_terminal(
    system: str,
    terminal: Sequence[str],
    command: Sequence[str],
    folder: str,
    environment: Mapping[str, str],
) -> Started:
    """Start the CLI. May take a moment, so not on the UI thread.

    `terminal` is the user's own command line, in which the items "{cwd}" and "{command}" stand for
    the folder and the CLI; if it is empty, a terminal is searched. Raises NoTerminal.
    """
    environment = {**environment, "TERM_PROGRAM": "sublime"}
    if system == "windows":
        line = line_for(system, terminal, command, folder)
        return Started(line[0], _start_process(line, folder, environment, bool(terminal)))
    # A terminal may be a window of a running process, with an environment of its own.
    path = write_script(command, folder, environment)
    try:
        line = line_for(system, terminal, [path], folder)
        return Started(line[0], _start_process(line, folder, {}, has_window=True), path)
    except NoTerminal:
        os.unlink(path)
        raise


def is_waiting(started: Started) -> bool:
    """Whether the terminal has not run the CLI yet, as far as its script shows."""
    return bool(started.script) and os.path.exists(started.script)


def problem_of(started: Started) -> str:
    """The sentence for the user about a terminal that is waited for. It may still run the CLI: it
    is slow, or its command only asked another process for a window, whatever its exit status."""
    status = started.process.poll()
    ended = f" and ended with status {status}" if status else ""
    return (
        f'The terminal "{started.name}" has not run the CLI yet{ended}; see "terminal_command" in'
        " the settings."
    )


def remove_script(started: Started) -> None:
    """The script contains a token, and nobody is expected to run it any more."""
    with suppress(FileNotFoundError):
        os.unlink(started.script)


def _start_process(
    line: Sequence[str], folder: str, environment: Mapping[str, str], has_window: bool
) -> subprocess.Popen[bytes]:
    whole = {**os.environ, **environment}
    try:
        return subprocess.Popen(
            line,
            cwd=folder,
            env={**whole, **without_proxy(whole, os.name == "nt")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            creationflags=0 if has_window else NO_WINDOW,
        )
    except OSError as error:
        raise NoTerminal(
            f'The terminal "{line[0]}" could not be started ({error.strerror}); see'
            ' "terminal_command" in the settings.'
        ) from error


def line_for(
    system: str,
    terminal: Sequence[str],
    command: Sequence[str],
    folder: str,
    which: Callable[[str], object] = shutil.which,
) -> list[str]:
    """The command line that opens a terminal with the command in it. Raises NoTerminal."""
    if terminal:
        line: list[str] = []
        for item in terminal:
            line += list(command) if item == "{command}" else [item.replace("{cwd}", folder)]
        return line
    if system == "windows":
        # "start" opens the user's default terminal of Windows, with our environment. "call" is
        # needed because cmd removes the quotes from a line that begins with one.
        return ["cmd.exe", "/c", "start", "", "cmd.exe", "/k", "call", *command]
    if system == "osx":
        return ["open", "-a", "Terminal", *command]
    for line in LINUX_TERMINALS:
        if which(line[0]):
            return [*line, *command]
    raise NoTerminal(
        'No terminal was found. Install Terminus, or name one in "terminal_command" in the'
        " settings."
    )


def write_script(command: Sequence[str], folder: str, environment: Mapping[str, str]) -> str:
    """Writes a script that only this user can read and that removes itself; gives its path.
    Everybody can read the arguments of a process, and shells keep what is typed in their history.

    If the CLI fails, the terminal stays open until the user has read why."""
    descriptor, path = tempfile.mkstemp(suffix=".command", prefix="gemini-cli-")
    exports = "".join(
        f"export {name}={shlex.quote(value)}\n" for name, value in environment.items()
    )
    line = " ".join(shlex.quote(part) for part in command)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nrm -f "$0"\ncd {shlex.quote(folder)} || exit\n')
        file.write(f"{exports}{SCRIPT}{line}\n")
        file.write(
            "status=$?\nif [ $status -ne 0 ]; then\n"
            "  printf '\\nIt ended with status %s. Press Enter.\\n' $status\n  read -r _\nfi\n"
        )
    os.chmod(path, 0o700)
    return path
