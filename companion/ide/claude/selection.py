"""What Claude Code is told of the file that the user looks at, and of what they selected. Pure.

Source: docs/protocol.md 11.
"""

from __future__ import annotations

from typing import Any, Mapping

from ..context import ContextUpdate, Cursor, OpenFile
from .file_urls import file_url

METHOD = "selection_changed"
_START = {"line": 0, "character": 0}
# Without a path it takes back what was told before.
NOTHING: Mapping[str, Any] = {"text": "", "selection": {"start": _START, "end": _START}}


def selection_params(update: ContextUpdate, active: OpenFile | None) -> Mapping[str, Any]:
    """The params for the present context: of the `active` file, if the update tells of it. An empty
    selection has no place, so that it is not told again with each step of the caret."""
    told = next((file for file in update.open_files if file.get("isActive")), None)
    if told is None or active is None:
        return NOTHING
    path, text = told["path"], told.get("selectedText", "")
    place = active.selection if text else None
    begin, end = place or (Cursor(1, 1), Cursor(1, 1))
    return {
        "text": text,
        "filePath": path,
        "fileUrl": file_url(path),
        "selection": {"start": _position(begin), "end": _position(end)},
    }


def _position(cursor: Cursor) -> dict[str, int]:
    """Lines and characters count from 0 there."""
    return {"line": cursor.line - 1, "character": cursor.character - 1}
