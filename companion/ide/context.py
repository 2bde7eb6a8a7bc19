"""What the user looks at: the open files of one window, newest first; never asks the editor.

Source: the companion specification, section II, and what the CLI makes of it
(docs/protocol.md, section 4).
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Sequence

from .clis import GEMINI_CLI, Cli

# The CLI keeps ten files and drops the rest, so more would only be traffic.
MAX_FILES = 10
# UTF-16 code units of selected text that the CLI keeps.
MAX_SELECTION_UNITS = 16384


@dataclass(frozen=True)
class Cursor:
    """A caret: `line` counts from 1, `character` counts UTF-16 code units from 1."""

    line: int
    character: int


@dataclass(frozen=True)
class OpenFile:
    """One view of a file as it was seen at one moment.

    `path` is absolute; `selected_text` has at most MAX_SELECTION_UNITS UTF-16 units.
    """

    view_id: int
    path: str
    cursor: Cursor | None = None
    selected_text: str = ""


@dataclass(frozen=True)
class ContextUpdate:
    """What the CLIs of a window are told of it; `is_trusted` None leaves that member out
    (docs/protocol.md 4.38). Nobody changes the entries."""

    open_files: Sequence[Mapping[str, Any]]
    is_trusted: bool | None = None

    def notification(self, cli: Cli = GEMINI_CLI) -> tuple[str, dict[str, Any]]:
        """Method and params of the JSON-RPC notification, the same for each CLI."""
        state: dict[str, Any] = {"openFiles": self.open_files}
        if self.is_trusted is not None:
            state["isTrusted"] = self.is_trusted
        return "ide/contextUpdate", {"workspaceState": state}


def _milliseconds() -> int:
    return int(time.time() * 1000)


class ContextStore:
    """The open files of a window by view, with the moment of each one's last focus.

    `clock` gives milliseconds since the epoch; `exists` says whether a path is a file on disk.
    """

    def __init__(
        self,
        clock: Callable[[], int] = _milliseconds,
        exists: Callable[[str], bool] = os.path.isfile,
    ) -> None:
        self._clock = clock
        self._exists = exists
        # Oldest focus first: ten thousand tabs cost an update no more than ten do.
        self._files: OrderedDict[int, OpenFile] = OrderedDict()
        self._focused_at: dict[int, int] = {}
        self._last_focus = 0
        self._active: int | None = None

    def add(self, file: OpenFile) -> None:
        """A file is open; it keeps its place where it was known, and is oldest where it was not."""
        known = file.view_id in self._files
        self._files[file.view_id] = file
        if not known:
            self._files.move_to_end(file.view_id, last=False)
            self._focused_at[file.view_id] = 0

    def focus(self, file: OpenFile) -> None:
        """The file is the one the user looks at. Its stamp is larger than every other, even within
        one millisecond: the CLI takes the newest for active (docs/protocol.md 4.34)."""
        self._files[file.view_id] = file
        self._files.move_to_end(file.view_id)
        self._last_focus = max(self._clock(), self._last_focus + 1)
        self._focused_at[file.view_id] = self._last_focus
        self._active = file.view_id

    def select(self, file: OpenFile) -> None:
        """A selection moved. Late word of a closed view must not bring its file back."""
        if file.view_id in self._files:
            self._files[file.view_id] = file

    def close(self, view_id: int) -> None:
        self._files.pop(view_id, None)
        self._focused_at.pop(view_id, None)
        if self._active == view_id:
            self._active = None

    def open_files(self) -> list[dict[str, Any]]:
        """The `openFiles` member of ide/contextUpdate: newest first, one entry a path."""
        entries: dict[str, dict[str, Any]] = {}
        for view_id in reversed(self._files):
            path = self._files[view_id].path
            if path not in entries and self._exists(path):
                entries[path] = self._entry(view_id)
            if len(entries) == MAX_FILES:
                break
        return list(entries.values())

    def _entry(self, view_id: int) -> dict[str, Any]:
        file = self._files[view_id]
        entry: dict[str, Any] = {"path": file.path, "timestamp": self._focused_at[view_id]}
        if view_id == self._active:
            entry["isActive"] = True
            if file.cursor is not None:
                entry["cursor"] = {"line": file.cursor.line, "character": file.cursor.character}
            if file.selected_text:
                entry["selectedText"] = file.selected_text
        return entry
