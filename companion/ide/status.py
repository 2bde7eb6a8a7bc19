"""The state of a window's endpoint as it is shown to the user. Holds no secret."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from . import live_words
from .clis import CLAUDE_CODE, by_label
from .decisions import UnwrittenText
from .live_clis import LiveCli


class ConnectedClient(NamedTuple):
    """A connected CLI: its session's id, its name, and the same with a number if several CLIs with
    that name are connected to the window."""

    session_id: str
    name: str
    label: str


@dataclass(frozen=True)
class ConnectedCli:
    """A CLI with a live stream. `command` is what users type to start it. `name` has a number if
    several CLIs of its kind are connected to the window. `version` is empty if the CLI does not
    tell it. `folders` are those of the window. `since` is in seconds since the epoch. `waiting`
    counts its diffs without a decision. `live` is what its hooks say of it, None if they say
    nothing.
    """

    window_id: int
    session_id: str
    command: str
    name: str
    version: str
    folders: tuple[str, ...]
    since: float
    waiting: int
    live: LiveCli | None = None


@dataclass(frozen=True)
class Status:
    """One window. `connected` counts the CLIs with a live stream; `waiting` the diffs without a
    decision. `unwritten` are the accepted texts that are not in their files. `port` is 0 if no
    server could be started. `discovery_paths` is empty if no file could be written. `folders` are
    absolute. `clients` are the connected CLIs; those that are `live` have their labels as names.
    `away` names CLIs that were connected a moment ago, or before a restart, and were not back in
    time. `unsaved` says why the present state would be lost at a restart; empty if it would not.
    `outdated` names CLIs whose extension is that of an earlier version. `claude_locks` are the
    files by which Claude Code finds the editor; empty if it may not connect to the window. `clis`
    are all that are known, as they are listed.
    """

    window_id: int
    port: int
    folders: tuple[str, ...]
    discovery_paths: tuple[str, ...]
    connected: int
    waiting: int
    unwritten: tuple[UnwrittenText, ...]
    clients: tuple[ConnectedClient, ...] = ()
    unsaved: str = ""
    away: tuple[str, ...] = ()
    live: tuple[LiveCli, ...] = ()
    outdated: tuple[str, ...] = ()
    claude_locks: tuple[str, ...] = ()
    clis: tuple[ConnectedCli, ...] = ()

    def text(self) -> str:
        """Some lines for a panel, with the next step if something is missing."""
        lines = [
            "Connected: " + ", ".join(client.label for client in self.clients)
            if self.clients
            else "CLI: not connected",
            *(f"{each.name}: {line}" for each in self.live for line in live_words.cli_lines(each)),
            f"Proposed edits without a decision: {self.waiting}",
            f"Server: 127.0.0.1, port {self.port}"
            if self.port
            else 'Server: none; run "Gemini Companion: Restart Companion"',
            "Folders: %s" % (", ".join(self.folders) or "none; open the folder of your project"),
            "Discovery file: %s"
            % (", ".join(self.discovery_paths) or "not written; the log says why"),
        ]
        if self.claude_locks:
            lines.append(f"Lock file for {CLAUDE_CODE.name}: {', '.join(self.claude_locks)}")
        missing = sum(text.is_missing for text in self.unwritten)
        if missing:
            lines.append(
                f"Accepted texts that no CLI has written: {missing}; see"
                ' "Gemini Companion: Show Changes".'
            )
        if self.outdated:
            lines.append(
                f"Extension of an earlier version: {', '.join(self.outdated)}; renew the extension"
                ' with "Gemini Companion: Install CLI Extension", and restart the CLI.'
            )
        if self.unsaved:
            lines.append(f"Not saved for a restart: {self.unsaved}")
        if not self.connected and self.folders:
            lines.append(
                'To connect, start "gemini" in one of the folders and type "/ide enable" there.'
            )
        if self.claude_locks and self.folders and not self._has_claude():
            lines.append(
                f'To connect {CLAUDE_CODE.name}, start "claude --ide" in one of the folders, or'
                ' type "/ide" in one that runs there.'
            )
        return "\n".join(lines) + "\n"

    def _has_claude(self) -> bool:
        return any(by_label(client.label) == CLAUDE_CODE for client in self.clients)
