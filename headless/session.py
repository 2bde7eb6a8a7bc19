"""Hot exit: what an editor keeps over a restart, in <data>/Local; ids are new each time.

What comes back: windows, folders, layouts, tabs, unsaved and scratch text, view settings,
selections and persistent regions. What does not: phantoms, other regions, callbacks, previews.
It is also written while the editor runs, so that little is lost by a crash.
"""

from __future__ import annotations

import copy
import json
import os
import sys
import threading
from contextlib import suppress
from typing import Any, Dict, List

from . import files, syntaxes, windows
from .queues import QueueClosed
from .views import Marks

FILE = os.path.join("Local", "Session.sublime_session")  # in <data>
PERSISTENT = 16  # RegionFlags.PERSISTENT
SECONDS = 2.0  # from one look at what has changed to the next


def path(editor: Any) -> str:
    return os.path.join(editor.data, FILE)


def has_unsaved_text(data: str) -> bool:
    """Whether the session in a data folder has text that somebody would miss and that is in no
    file. Raises what reading and parsing raise."""
    try:
        with open(os.path.join(data, FILE), encoding="utf-8") as file:
            buffers = json.load(file)["buffers"]
    except FileNotFoundError:
        return False
    return any(kept.get("contents") and not kept["scratch"] for kept in buffers)


class Keeper:
    """Writes an editor's session: `run`, in a thread of its own, whenever it has changed; `finish`
    for the last time."""

    def __init__(self, editor: Any) -> None:
        self._editor = editor
        self._written: Any = None
        self._writing = threading.Lock()
        self._is_over = threading.Event()

    def run(self) -> None:
        # The editor may end between two looks.
        with suppress(QueueClosed):
            while not self._is_over.wait(SECONDS):
                if not self._editor.preferences().get("hot_exit", True):
                    continue
                self._look(self._editor.ui(lambda: copy.deepcopy(_content(self._editor))))

    def _look(self, content: Dict[str, Any]) -> None:
        with self._writing:
            if content != self._written and not self._is_over.is_set():
                self._written = content
                _write(self._editor, content)

    def finish(self) -> None:
        """On the UI thread."""
        self._is_over.set()
        with self._writing:
            save(self._editor)


def save(editor: Any) -> None:
    """Write the session; an editor that cannot keep it says so and still quits. One for whose user
    hot exit is off keeps none."""
    if editor.preferences().get("hot_exit", True):
        _write(editor, _content(editor))


def _content(editor: Any) -> Dict[str, Any]:
    buffers: List[Any] = [
        buffer
        for buffer in editor.buffers.values()
        if any(view.sheet is not None for view in buffer.views)
    ]
    return {
        "buffers": [_buffer(buffer) for buffer in buffers],
        "windows": [_window(window, buffers) for window in editor.windows],
    }


def _write(editor: Any, content: Dict[str, Any]) -> None:
    """In one step: an editor that is killed meanwhile leaves the session of before."""
    unfinished = path(editor) + ".unfinished"
    try:
        os.makedirs(os.path.dirname(unfinished), exist_ok=True)
        with open(unfinished, "w", encoding="utf-8") as file:
            json.dump(content, file)
        os.replace(unfinished, path(editor))
    except OSError as error:
        sys.stderr.write("Unable to save the session: %s\n" % error)


def _buffer(buffer: Any) -> Dict[str, Any]:
    """Files that are clean are read again; everything else is kept as text."""
    kept: Dict[str, Any] = {
        "file": buffer.file_name,
        "name": buffer.name,
        "encoding": buffer.encoding,
        "line_endings": buffer.line_endings,
        "scratch": buffer.scratch,
        "read_only": buffer.read_only,
        "dirty": buffer.is_dirty(),
    }
    on_disk = buffer.file_name is not None and os.path.isfile(buffer.file_name)
    if buffer.is_dirty() or not on_disk or buffer.scratch:
        kept["contents"] = buffer.text.characters
    return kept


def _window(window: Any, buffers: List[Any]) -> Dict[str, Any]:
    return {
        "folders": window.folders,
        "layout": window.layout,
        "group": window.active_group,
        "settings": window.settings.own,
        "shows": window.shows,
        "groups": [_group(group, buffers) for group in window.groups],
    }


def _group(group: Any, buffers: List[Any]) -> Dict[str, Any]:
    sheets = [sheet for sheet in group.sheets if sheet.view is not None]
    return {
        "sheets": [_sheet(sheet, buffers) for sheet in sheets],
        "active": sheets.index(group.active) if group.active in sheets else -1,
        "selected": [sheets.index(sheet) for sheet in group.selected if sheet in sheets],
    }


def _sheet(sheet: Any, buffers: List[Any]) -> Dict[str, Any]:
    view = sheet.view
    regions = {
        key: [marks.regions, marks.scope, marks.icon, marks.flags]
        for key, marks in view.marks.items()
        if marks.flags & PERSISTENT
    }
    return {
        "buffer": buffers.index(view.buffer),
        "semi": sheet.state == windows.SEMI,
        "settings": view.settings.own,
        "selection": view.selection,
        "viewport": view.viewport,
        "syntax": view.syntax.path,
        "regions": regions,
    }


def restore(editor: Any) -> bool:
    """Bring the windows of the last session back; False where there are none to bring."""
    try:
        with open(path(editor), encoding="utf-8") as file:
            content = json.load(file)
    except FileNotFoundError:
        return False
    except (OSError, ValueError) as error:
        sys.stderr.write("Unable to restore the session: %s\n" % error)
        return False
    buffers: Dict[int, Any] = {}
    for kept in content["windows"]:
        _restore_window(editor, kept, content["buffers"], buffers)
    return bool(content["windows"])


def _restore_window(
    editor: Any, kept: Dict[str, Any], contents: List[Any], buffers: Dict[int, Any]
) -> None:
    window = editor.bare_window(kept["folders"])
    window.settings.own.update(kept["settings"])
    window.shows.update(kept["shows"])
    window.set_layout(kept["layout"])
    for group, held in zip(window.groups, kept["groups"]):
        sheets = [
            _restore_sheet(editor, group, sheet, contents, buffers) for sheet in held["sheets"]
        ]
        group.selected = [sheets[index] for index in held["selected"]]
        group.active = sheets[held["active"]] if held["active"] >= 0 else None
    window.active_group = kept["group"]
    if not window.sheets():
        editor.new_file(window, windows.TRANSIENT)
    editor.refocus()


def _restore_sheet(
    editor: Any, group: Any, kept: Dict[str, Any], contents: List[Any], buffers: Dict[int, Any]
) -> Any:
    index = kept["buffer"]
    if index not in buffers:
        buffers[index] = _restored_buffer(editor, contents[index])
    view = editor.make_view(
        buffers[index], editor.syntaxes.by_path(kept["syntax"]) or syntaxes.PLAIN
    )
    view.settings.own.update(kept["settings"])
    view.select([(a, b) for a, b in kept["selection"]])
    view.viewport = (kept["viewport"][0], kept["viewport"][1])
    for key, (regions, scope, icon, flags) in kept["regions"].items():
        pairs = [(a, b) for a, b in regions]
        view.marks[key] = Marks(pairs, scope, icon, flags, [], "", None, None)
    sheet = editor.make_sheet(group, view)
    sheet.state = windows.SEMI if kept["semi"] else windows.TAB
    group.sheets.append(sheet)
    return sheet


def _restored_buffer(editor: Any, kept: Dict[str, Any]) -> Any:
    buffer = editor.new_buffer()
    buffer.name = kept["name"]
    if kept["file"]:
        editor.associate(buffer, kept["file"])
    text = kept.get("contents")
    if text is None:
        try:
            buffer.fill(files.read(kept["file"]))
        except OSError:
            text = ""
    if text is not None:
        buffer.fill(files.Content(text, kept["encoding"], kept["line_endings"]))
        buffer.disk_text = None
    if kept["file"]:
        buffer.stamp = files.stamp(kept["file"])
    buffer.scratch, buffer.read_only = kept["scratch"], kept["read_only"]
    if kept["dirty"]:
        buffer.mark_dirty()
    return buffer
