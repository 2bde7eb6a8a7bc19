"""Gathers what Claude Code meets on this machine. Of its files, which hold keys, only the values
are taken that decide whether it connects and asks."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from dataclasses import replace
from typing import Any, Mapping

from ...base.private_files import is_running
from ...base.regular_file import read_beginning
from .. import system_processes
from ..clis import CLAUDE_CODE
from ..hooks import extension
from ..system_processes import SystemProcess
from .claude_facts import ClaudeChoices, ClaudeFacts, ClaudeLock
from .facts import WINDOWS, Facts, FoundProgram, Window

# Where its lock files are, in its home.
FOLDER = "ide"
LOCK = re.compile(r"(\d{1,5})\.lock")
# The most lock files that are read, and the bytes of one and of a file of settings.
MAX_LOCKS = 64
MAX_LOCK, MAX_SETTINGS = 1 << 16, 1 << 23
MAX_PID = 1 << 31
# The variables that decide; others may be keys.
VARIABLES = ("CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_AUTO_CONNECT_IDE", "CLAUDE_CONFIG_DIR")
# Options of one that another program drives.
WITHOUT_TERMINAL = {"-p", "--print", "--output-format", "--input-format"}
MODE, BYPASS = "--permission-mode", "--dangerously-skip-permissions"
BYPASS_MODE = "bypassPermissions"
# The files of the user's settings in the CLI's home, and those in the folder of a project.
USER_SETTINGS, PROJECT_SETTINGS = "settings.json", ("settings.json", "settings.local.json")


def has_terminal(process: SystemProcess) -> bool:
    """Whether a user sees it in a terminal; others never connect."""
    return not any(word.partition("=")[0] in WITHOUT_TERMINAL for word in process.command.split())


def gather_facts(
    platform: str,
    window: Window,
    environment: Mapping[str, str],
    user_home: str,
    program: FoundProgram,
    process: SystemProcess | None,
) -> Facts:
    """The facts of one that runs, or of one that would be started in the window's folder.
    `environment` is the editor's."""
    own = process.environment if process is not None else None
    whole = own if own is not None else environment
    # Those of the editor lead nobody who is in another terminal.
    names = VARIABLES if own is not None else VARIABLES[-1:]
    chosen = {name: whole[name] for name in names if whole.get(name)}
    variable = "USERPROFILE" if platform == WINDOWS else "HOME"
    home = (whole.get(variable) if own is not None else "") or user_home
    told = process.folder if process is not None else None
    folder = os.path.realpath(told or (window.folders or (home,))[0])
    facts = Facts(
        CLAUDE_CODE,
        platform,
        window,
        home,
        program,
        replace(process, environment=chosen) if process is not None else None,
        chosen,
        folder,
        is_started=False,
        is_connected=_is_connected(process, window.claude.port),
        has_own_network=process is not None and system_processes.has_own_network(process.pid),
    )
    found = _claude_facts(facts)
    place = extension.extension_folder(CLAUDE_CODE, chosen, home)
    plugin = extension.installed_at(CLAUDE_CODE, place, folder)
    return replace(facts, claude=found, extension=plugin)


def _is_connected(process: SystemProcess | None, port: int) -> bool | None:
    if process is None or not port:
        return None if process is None else False
    ports = system_processes.ports_to(process.pid, port)
    return bool(ports) if ports is not None else None


def _claude_facts(facts: Facts) -> ClaudeFacts:
    """It looks into both homes (seen in 2.1.330)."""
    usual = os.path.join(facts.home, ".claude")
    chosen = facts.environment.get("CLAUDE_CONFIG_DIR", "")
    homes = tuple(dict.fromkeys([chosen, usual] if chosen else [usual]))
    there = [home for home in homes if os.path.isdir(home)]
    folders = tuple(os.path.join(home, FOLDER) for home in there)
    # Beside the home unless the variable is set.
    path = os.path.join(chosen or facts.home, ".claude.json")
    return ClaudeFacts(homes, folders, _read_locks(folders), _read_choices(facts, homes[0], path))


def _read_locks(folders: tuple[str, ...]) -> tuple[ClaudeLock, ...]:
    found: list[ClaudeLock] = []
    for folder in folders:
        with suppress(OSError):
            for name in sorted(os.listdir(folder)):
                match = LOCK.fullmatch(name)
                if match is not None and len(found) < MAX_LOCKS:
                    found.append(_read_lock(os.path.join(folder, name), int(match.group(1))))
    return tuple(found)


def _read_lock(path: str, port: int) -> ClaudeLock:
    members = _read_object(path, MAX_LOCK)
    folders, pid = (members or {}).get("workspaceFolders"), (members or {}).get("pid")
    if not isinstance(folders, list):
        return ClaudeLock(path, port, is_readable=False)
    named = [each for each in folders if isinstance(each, str) and each and "\0" not in each]
    is_alive = type(pid) is not int or (0 < pid < MAX_PID and is_running(pid))
    real = tuple(map(os.path.realpath, named))
    return ClaudeLock(path, port, real, is_alive)


def _read_choices(facts: Facts, home: str, path: str) -> ClaudeChoices:
    members = _read_object(path, MAX_SETTINGS)
    unread = [] if members is not None else [path]
    connects, tool = (members or {}).get("autoConnectIde"), (members or {}).get("diffTool")
    files = [os.path.join(home, USER_SETTINGS)]
    files += [os.path.join(facts.folder, ".claude", name) for name in PROJECT_SETTINGS]
    mode, mode_from, asks = "", "", False
    for file in files:
        settings = _read_object(file, MAX_SETTINGS)
        if settings is None:
            unread.append(file)
        permissions = (settings or {}).get("permissions")
        permissions = permissions if isinstance(permissions, dict) else {}
        found, rules = permissions.get("defaultMode"), permissions.get("ask")
        if isinstance(found, str):
            mode, mode_from = found, file
        asks = asks or (isinstance(rules, list) and "Edit" in rules)
    started = _mode_in(facts.process.command) if facts.process is not None else ""
    return ClaudeChoices(
        path,
        connects if isinstance(connects, bool) else None,
        tool if isinstance(tool, str) else "",
        started or mode,
        "its command line" if started else mode_from,
        asks,
        next(iter(unread), ""),
    )


def _mode_in(command: str) -> str:
    """The mode that a command line chooses; empty if it chooses none."""
    words = command.split()
    for word, following in zip(words, [*words[1:], ""]):
        name, _, value = word.partition("=")
        if name == BYPASS:
            return BYPASS_MODE
        if name == MODE:
            return value or following
    return ""


def _read_object(path: str, size: int) -> Mapping[str, Any] | None:
    """The object in the file; an empty one without a file, None if it cannot be read."""
    try:
        content = json.loads(read_beginning(path, size).decode("utf-8-sig"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None
