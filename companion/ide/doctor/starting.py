"""What to type in a terminal so that the CLI that starts there finds the window. Pure."""

from __future__ import annotations

import re

from . import lookup
from .facts import LINUX, WINDOWS, Facts


def start_line(facts: Facts) -> str:
    """The line that starts the CLI. It names the folder, for the terminal may be anywhere; that of
    a CLI that runs is in the folder. On Windows, whose shells change the folder in different ways,
    it says so in words."""
    if facts.process is not None:
        return _command_line(facts)
    if facts.platform == WINDOWS:
        return f"{_command_line(facts)}, in the folder {facts.folder}"
    return f"cd {_quote_path(facts.folder)} && {_command_line(facts)}"


def _command_line(facts: Facts) -> str:
    """The command with all variables that the CLI needs; of the shells of Windows, none takes them
    in the same line."""
    name = facts.cli.command if facts.names_cli else facts.wrapper
    return name if facts.platform == WINDOWS else " ".join([*_needed_variables(facts), name])


def _needed_variables(facts: Facts) -> list[str]:
    """The variables that the CLI needs, each as `NAME=value`."""
    found = []
    if lookup.calls_container_host(facts) and not facts.reaches_host:
        found.append("REMOTE_CONTAINERS=1")
    if not _is_found_anyway(facts):
        found += temp_folder(facts)
    return found


def temp_folder(facts: Facts) -> list[str]:
    """The temp folder with which the CLI would find the window, if there is one."""
    form = facts.cli.discovery
    if form is None or form.in_home:
        return []
    tail = facts.paths.join("", *form.folder)
    folders = map(facts.paths.dirname, facts.window.discovery_paths)
    roots = [
        folder[: -len(tail) - 1] for folder in folders if folder.endswith(facts.paths.sep + tail)
    ]
    name = "TEMP" if facts.platform == WINDOWS else "TMPDIR"
    # The last folder is that of the settings, for CLIs outside the editor's sandbox.
    if not roots:
        return []
    return [f"{name}={roots[-1] if facts.platform == WINDOWS else _quote_path(roots[-1])}"]


def _is_found_anyway(facts: Facts) -> bool:
    """Whether the CLI searches a folder with a file of the window. On Linux, the terminal of one
    that does not run yet need not have the editor's TMPDIR."""
    form = facts.cli.discovery
    if form is None or form.in_home:
        return True
    searched = {facts.discovery_folder}
    if facts.process is None and facts.platform == LINUX:
        searched.add(facts.paths.join(lookup.SHARED_TMPDIR, *form.folder))
    return searched <= set(map(facts.paths.dirname, facts.window.discovery_paths))


def _quote_path(path: str) -> str:
    # Not within quotes, where ~, which pages have for the user's home, would be no folder.
    return re.sub(r"([^\w@%+=:,./~-])", r"\\\1", path)
