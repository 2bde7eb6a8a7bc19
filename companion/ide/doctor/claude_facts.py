"""What Claude Code meets on its way to the editor, as frozen values. Asks no system."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ClaudeServing:
    """What the editor does for Claude Code. `is_admitted`: the window's settings let it connect.
    `port` is 0 without a server. `lock_paths` are the lock files; `problem` says why one is
    missing, empty if none is or if it is not known. `connected` counts those of the window.
    `hook_problem` says why no hook is heard, empty if they are."""

    is_admitted: bool = True
    port: int = 0
    lock_paths: tuple[str, ...] = ()
    problem: str = ""
    connected: int = 0
    hook_problem: str = ""


@dataclass(frozen=True)
class ClaudeLock:
    """A lock file as the CLI reads it. `folders` have their links resolved. `is_alive`: its process
    runs. `is_readable`: its content is an object with folders."""

    path: str
    port: int
    folders: tuple[str, ...] = ()
    is_alive: bool = True
    is_readable: bool = True


@dataclass(frozen=True)
class ClaudeChoices:
    """What the user chose in the CLI's files, and nothing else of these: they hold keys.

    `auto_connects` and `diff_tool` are in the file at `path`; None and "" if they are not set.
    `mode` is the permission mode in which the CLI starts, empty if none is set, `mode_from` where
    it is set. `asks_edits`: a rule makes the CLI ask about edits in every mode. `unread` is a file
    that could not be read, empty if all could."""

    path: str = ""
    auto_connects: bool | None = None
    diff_tool: str = ""
    mode: str = ""
    mode_from: str = ""
    asks_edits: bool = False
    unread: str = ""


@dataclass(frozen=True)
class ClaudeFacts:
    """`lock_folders` are where the CLI looks, if they can be: its homes that exist."""

    homes: tuple[str, ...] = ()
    lock_folders: tuple[str, ...] = ()
    locks: tuple[ClaudeLock, ...] = ()
    choices: ClaudeChoices = ClaudeChoices()
