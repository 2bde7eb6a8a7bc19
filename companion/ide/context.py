"""The open files of one window, newest first, as its CLIs are told of them. Never asks the editor.

Source: the companion specification, section II, and how the CLI uses it (docs/protocol.md,
section 4).
"""

from __future__ import annotations

import os
import time
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator, Mapping, Sequence

from ..base.path_maps import NO_MAPS
from .clis import GEMINI_CLI, Cli
from .sharing import Gate, Sharing, follow_links
from .window_trees import TreeFolders, WindowTrees

# The CLI keeps ten files and drops the rest, so more would only be traffic.
MAX_FILES = 10
# UTF-16 code units of selected text that the CLI keeps.
MAX_SELECTION_UNITS = 16384
# Marks a selection that was cut, so that the model knows (docs/protocol.md 4.35).
TRUNCATED = "... [TRUNCATED]"
# The reason for leaving a file out, beside those of `sharing`.
OLDER = "older"


@dataclass(frozen=True)
class Cursor:
    """A caret: `line` counts from 1, `character` counts UTF-16 code units from 1."""

    line: int
    character: int


@dataclass(frozen=True)
class OpenFile:
    """One view of a file at one moment.

    `path` is absolute. `selected_text` has at most MAX_SELECTION_UNITS UTF-16 units, followed by
    TRUNCATED if more was selected. `selection` is where the first selection begins and ends, None
    if there is none; an empty one is a caret.
    """

    view_id: int
    path: str
    cursor: Cursor | None = None
    selected_text: str = ""
    selection: tuple[Cursor, Cursor] | None = None


@dataclass(frozen=True)
class ContextUpdate:
    """The context that the CLIs of a window are sent. With `is_trusted` None that member is left
    out (docs/protocol.md 4.38). Nobody changes the entries."""

    open_files: Sequence[Mapping[str, Any]]
    is_trusted: bool | None = None

    def notification(self, cli: Cli = GEMINI_CLI) -> tuple[str, dict[str, Any]]:
        """Method and params of the JSON-RPC notification; the same for every CLI."""
        state: dict[str, Any] = {"openFiles": self.open_files}
        if self.is_trusted is not None:
            state["isTrusted"] = self.is_trusted
        return "ide/contextUpdate", {"workspaceState": state}


@dataclass(frozen=True)
class SharedContext:
    """`update` is what the CLIs of a window are sent at this moment. `connected` is the number of
    CLIs that listen. `held_back` counts the files that are left out, by reason (those of `sharing`;
    OLDER: beyond MAX_FILES)."""

    update: ContextUpdate
    connected: int
    paused: bool = False
    held_back: Mapping[str, int] = field(default_factory=dict)


def _now_in_milliseconds() -> int:
    return int(time.time() * 1000)


class ContextStore:
    """The open files of a window by view, with the time of the last focus of each.

    `clock` gives milliseconds since the epoch. `exists` says whether a path is a file on disk.
    `target` follows links and raises OSError. `sharing` decides what may be shared; it gets the
    window's `folders` and paths as the editor knows them. `path_maps` give the paths of the CLIs.
    `trees` are the work trees among the folders.
    """

    def __init__(
        self,
        clock: Callable[[], int] = _now_in_milliseconds,
        exists: Callable[[str], bool] = os.path.isfile,
        target: Callable[[str], str] = os.path.realpath,
    ) -> None:
        self._clock = clock
        self._exists = exists
        self._target = target
        self.sharing = Sharing()
        self.path_maps = NO_MAPS
        self.folders: Sequence[str] = ()
        self.trees = WindowTrees()
        # Oldest focus first: an update costs the same with ten tabs and with ten thousand.
        self._files: OrderedDict[int, OpenFile] = OrderedDict()
        self._focused_at: dict[int, int] = {}
        self._last_focus = 0
        self._active: int | None = None

    def add_file(self, file: OpenFile) -> None:
        """A file is open. A known file keeps its place; a new one becomes the oldest."""
        known = file.view_id in self._files
        self._files[file.view_id] = file
        if not known:
            self._files.move_to_end(file.view_id, last=False)
            self._focused_at[file.view_id] = 0

    def focus_file(self, file: OpenFile) -> None:
        """The user has moved to this file. Its time is greater than every other, even within one
        millisecond: for the CLI the newest file is the active one (docs/protocol.md 4.34)."""
        self._files[file.view_id] = file
        self._files.move_to_end(file.view_id)
        self._last_focus = max(self._clock(), self._last_focus + 1)
        self._focused_at[file.view_id] = self._last_focus
        self._active = file.view_id

    def update_selection(self, file: OpenFile) -> None:
        """The selection changed. A late event of a closed view must not bring its file back."""
        if file.view_id in self._files:
            self._files[file.view_id] = file

    def close_file(self, view_id: int) -> None:
        self._files.pop(view_id, None)
        self._focused_at.pop(view_id, None)
        if self._active == view_id:
            self._active = None

    def paths(self) -> Iterator[str]:
        """The open files, newest focus first, whoever may be told of them."""
        return iter(dict.fromkeys(each.path for each in reversed(self._files.values())))

    def set_folders(self, folders: tuple[str, ...], trees: Sequence[TreeFolders]) -> bool:
        """The window has these folders, and these work trees; gives whether the trees are others
        than before."""
        are_others = self.trees.all != tuple(trees)
        if are_others:
            self.trees = WindowTrees(trees, self._target)
        self.folders = (*folders, *self.trees.folders)
        return are_others

    def open_files(self, tree: TreeFolders | None = None) -> list[dict[str, Any]]:
        """The `openFiles` member of ide/contextUpdate: newest first, one entry for each path. With
        `tree` as it is for a CLI that works there: with its own files in the place of the user's,
        and without those that it does not have."""
        if self.sharing.paused:
            return []
        told: dict[str, dict[str, Any]] = {}
        gate = self.gate()
        for file in self.files():
            path = self.trees.own_path(tree, file.path)
            is_told = not gate.reason_to_hide(file.path)
            if (
                path not in told
                and is_told
                and (path == file.path or not gate.reason_to_hide(path))
            ):
                told[path] = self._file_entry(file, path)
                if len(told) == MAX_FILES:
                    break
        return list(told.values())

    def held_back(self) -> dict[str, int]:
        """The number of files that are left out, by reason."""
        reasons = [reason for _, reason in self._files_with_reasons()]
        told = reasons.count("")
        older = {OLDER: told - MAX_FILES} if told > MAX_FILES else {}
        return {**Counter(filter(None, reasons)), **older}

    def files(self) -> Iterator[OpenFile]:
        """One view of each path, newest first, whether the CLIs may be told of it or not."""
        seen: set[str] = set()
        for view_id in reversed(self._files):
            file = self._files[view_id]
            if file.path not in seen:
                seen.add(file.path)
                yield file

    @property
    def last_focus(self) -> int:
        """When the user last looked at another file, in milliseconds since the epoch; 0 if they
        have not."""
        return self._last_focus

    @property
    def active(self) -> OpenFile | None:
        """The file that the user looked at last."""
        return self._files.get(self._active) if self._active is not None else None

    def gate(self) -> Gate:
        """Which files may be told from now on, until the rules or the folders change."""
        folders = list(self.folders)
        if self.sharing.only_project_files:
            folders += filter(None, (follow_links(each, self._target) for each in self.folders))
        return Gate(self.sharing, tuple(folders), self._exists, self._target)

    def _files_with_reasons(self) -> Iterator[tuple[int, str]]:
        """One view of each path, newest first, with the reason to leave it out."""
        gate = self.gate()
        return ((file.view_id, gate.reason_to_hide(file.path)) for file in self.files())

    def _file_entry(self, file: OpenFile, path: str) -> dict[str, Any]:
        """The entry of a file that is told as the one at `path`. In another text what the user has
        selected is elsewhere, if it is there."""
        told, time = self.path_maps.to_remote(path), self._focused_at[file.view_id]
        entry: dict[str, Any] = {"path": told, "timestamp": time}
        if file.view_id == self._active:
            entry["isActive"] = True
            if not self.trees.has_same_text(file.path, path):
                return entry
            if file.cursor is not None:
                entry["cursor"] = {"line": file.cursor.line, "character": file.cursor.character}
            if file.selected_text:
                entry["selectedText"] = file.selected_text
        return entry
