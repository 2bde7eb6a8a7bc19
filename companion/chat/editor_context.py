"""What the editor tells an agent with a message, as a text below the user's words: the files that
they look at, the cursor, the selection. The transcript shows it as it was sent.

Source of the entries: `ide/contextUpdate`, section II of the companion specification.
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from .amounts import path_in
from .markdown import fenced

# How it begins.
HEAD = "[From the editor] "


def as_text(open_files: Sequence[Mapping[str, Any]], folder: str) -> str:
    """The entries of `openFiles` as a text; paths are as seen from the folder. Empty if there are
    none.

    >>> as_text([{"path": "/w/a.py", "isActive": True, "cursor": {"line": 3}}], "/w")
    '[From the editor] In front: a.py, line 3.'
    """
    told, selected = [], ""
    others = [_name(it, folder) for it in open_files if not it.get("isActive")]
    for each in (it for it in open_files if it.get("isActive")):
        cursor = each.get("cursor")
        line = f", line {cursor['line']}" if isinstance(cursor, Mapping) else ""
        told.append(f"In front: {_name(each, folder)}{line}.")
        selected = str(each.get("selectedText") or "")
    if others:
        told.append(f"Open: {', '.join(others)}.")
    if selected.strip():
        told.append(f"Selected:\n{fenced(selected)}")
    return (HEAD + " ".join(told)).rstrip() if told else ""


def _name(entry: Mapping[str, Any], folder: str) -> str:
    return " ".join(path_in(folder, str(entry.get("path"))).split())
