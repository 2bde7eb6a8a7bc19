"""A CLI's own search for an editor, step by step, as its source does it (docs/protocol.md 5 and 7).
Pure."""

from __future__ import annotations

import re
from typing import Iterator, Mapping, Sequence
from urllib.parse import unquote

from ..system_processes import SystemProcess
from .facts import MACOS, WINDOWS, DiscoveryFile, Facts

SHELLS = ("zsh", "bash", "sh", "tcsh", "csh", "ksh", "fish", "dash")
# How many ancestors the CLI goes up.
MAX_ANCESTORS = 32
# Which of the ancestors it uses on Windows, counted from the root.
FROM_ROOT = 3
CONTAINER_MARKS = ("/.dockerenv", "/run/.containerenv")
CONTAINER_HOST = "host.docker.internal"
# The folder that every program of a Unix machine may write to. A CLI without TMPDIR searches it.
SHARED_TMPDIR = "/tmp"
DEV_CONTAINER = ("VSCODE_REMOTE_CONTAINERS_SESSION", "REMOTE_CONTAINERS")
TERMINALS = ("vscode", "sublime", "Zed")
# The first version that uses any editor's file with a matching folder, not only its own target's.
ANY_PID = (0, 31)
NUMBERS = re.compile(r"(\d+)\.(\d+)")


def version_of(text: str) -> tuple[int, ...]:
    """The first two numbers; empty if there are none."""
    match = NUMBERS.search(text)
    return tuple(map(int, match.groups())) if match else ()


def temp_folder(platform: str, environment: Mapping[str, str], shared: str = SHARED_TMPDIR) -> str:
    """The result of Node's `os.tmpdir()` (docs/protocol.md 5.42)."""
    if platform == WINDOWS:
        root = environment.get("SystemRoot") or environment.get("windir") or ""
        path = environment.get("TEMP") or environment.get("TMP") or root + "\\temp"
        return path[:-1] if path.endswith("\\") and not path.endswith(":\\") else path
    found = [environment[name] for name in ("TMPDIR", "TMP", "TEMP") if environment.get(name)]
    path = found[0] if found else shared
    return path[:-1] if len(path) > 1 and path.endswith("/") else path


def target_pid(facts: Facts) -> int:
    """The process that the CLI takes for the editor (docs/protocol.md 5.43); 0 if the CLI does not
    run yet."""
    told = facts.environment.get(facts.cli.variables.pid, "")
    if told.isdigit() and int(told) > 0:
        return int(told)
    if facts.process is None:
        return 0
    chain = list(_ancestor_processes(facts.processes, facts.process))
    if facts.platform == WINDOWS:
        return (chain[-FROM_ROOT] if len(chain) >= FROM_ROOT else chain[-1]).pid
    for each in chain:
        if each.name in SHELLS:
            parent = facts.processes.get(each.parent)
            return parent.parent if parent is not None and parent.parent > 1 else each.parent
    return chain[-1].pid


def _ancestor_processes(
    processes: Mapping[int, SystemProcess], start: SystemProcess
) -> Iterator[SystemProcess]:
    """The process and its ancestors, without the very first."""
    each: SystemProcess | None = start
    for _ in range(MAX_ANCESTORS):
        if each is None:
            return
        yield each
        each = processes.get(each.parent) if each.parent > 1 else None


def chosen_file(facts: Facts) -> DiscoveryFile | None:
    """The file that the CLI reads, None if it finds none. If that leads nowhere, it tries no other
    (docs/protocol.md 5.39)."""
    form = facts.cli.discovery
    if form is None:
        return None
    readable = [file for file in facts.files if file.is_ours and file.makes_sense]
    return _by_home(facts, readable) if form.in_home else _by_pid(facts, readable)


def _by_pid(facts: Facts, readable: Sequence[DiscoveryFile]) -> DiscoveryFile | None:
    target = target_pid(facts)
    exact = [file for file in readable if file.pid == target and not file.port and target]
    if exact:
        return exact[0]
    if target and () < version_of(facts.program.version) < ANY_PID:
        readable = [file for file in readable if file.pid == target]

    def sort_key(file: DiscoveryFile) -> tuple[bool, bool, int]:
        is_alive = facts.platform == WINDOWS or file.pid in facts.processes
        return file.pid != target, not is_alive, -file.pid

    found = sorted((file for file in readable if file.port), key=sort_key)
    fitting = [file for file in found if runs_within(facts, file.workspace)]
    port = facts.environment.get(facts.cli.variables.port, "")
    if len(fitting) == 1:
        return fitting[0]
    named = [file for file in fitting or found if str(file.points_to) == port]
    return next(iter(named or fitting or found), None)


def _by_home(facts: Facts, readable: Sequence[DiscoveryFile]) -> DiscoveryFile | None:
    port = facts.environment.get(facts.cli.variables.port, "")
    named = [file for file in readable if str(file.port) == port]
    newest = sorted(readable, key=lambda file: -file.modified)
    fitting = [file for file in newest if runs_within(facts, file.workspace)]
    # If a file leads nowhere, it tries the next one.
    alive = [file for file in fitting if file.answers]
    return next(iter(named or alive or fitting or newest), None)


def known_workspace(facts: Facts) -> str | None:
    """The folders that the CLI knows: from the file, else from the environment; None from
    neither."""
    file = chosen_file(facts)
    if file is not None and file.workspace is not None:
        return file.workspace
    return facts.environment.get(facts.cli.variables.workspace)


def workspace_folders(facts: Facts, workspace: str) -> list[str]:
    """The folders of a `workspacePath`, split as the CLI splits it."""
    return [unquote(part) for part in workspace.split(facts.separator)]


def runs_within(facts: Facts, workspace: str | None) -> bool:
    """Whether the CLI runs in one of the folders (docs/protocol.md 5.44)."""
    if not workspace:
        return False
    folders = [facts.real.get(part, part) for part in workspace_folders(facts, workspace)]
    return any(is_within(facts, facts.folder, folder) for folder in folders if folder)


def is_within(facts: Facts, path: str, folder: str) -> bool:
    if facts.platform in (MACOS, WINDOWS):
        path, folder = path.lower(), folder.lower()
    try:
        relative: str = facts.paths.relpath(path, folder)
    except ValueError:  # another drive
        return False
    return relative != ".." and not relative.startswith(".." + facts.paths.sep)


def is_detected(facts: Facts) -> bool:
    """Whether the CLI knows of any editor (docs/protocol.md 5.45)."""
    file = chosen_file(facts)
    return (file is not None and file.names_editor) or knows_terminal(facts.environment)


def knows_terminal(environment: Mapping[str, str]) -> bool:
    """Whether the terminal alone shows that there is an editor."""
    emulator = environment.get("TERMINAL_EMULATOR", "").lower()
    others = ("ZED_SESSION_ID", "XCODE_VERSION_ACTUAL")
    return (
        environment.get("TERM_PROGRAM") in TERMINALS
        or any(environment.get(name) for name in others)
        or "jetbrains" in emulator
    )


def calls_container_host(facts: Facts) -> bool:
    """Whether the CLI calls `host.docker.internal` instead of 127.0.0.1 (docs/protocol.md 5.50)."""
    is_remote = facts.environment.get("SSH_CONNECTION") or any(
        facts.environment.get(name) for name in DEV_CONTAINER
    )
    return bool(facts.exists) and not is_remote


def port_called(facts: Facts) -> int:
    """The port that the CLI calls first, 0 if it knows none."""
    file = chosen_file(facts)
    if file is not None and file.points_to:
        return file.points_to
    port = facts.environment.get(facts.cli.variables.port, "")
    return int(port) if port.isdigit() else 0
