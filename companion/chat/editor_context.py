"""What the editor tells an agent with a message, as a text below the user's words: the files that
they look at, the cursor, the selection, new problems. The transcript shows it as it was sent.

Source of the entries: `ide/contextUpdate`, section II of the companion specification.
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from .amounts import path_in
from .markdown import fence_text

# How it begins.
HEAD = "[From the editor] "
NEW_PROBLEMS = "Since your edits the tools of the editor report these problems, which are new:"
MORE = "({} more are left out.)"
# Lines of problems, and characters of one.
MAX_LINES, MAX_LINE = 20, 300


def context_text(open_files: Sequence[Mapping[str, Any]], folder: str) -> str:
    """The entries of `openFiles` as a text; paths are as seen from the folder. Empty if there are
    none.

    >>> context_text([{"path": "/w/a.py", "isActive": True, "cursor": {"line": 3}}], "/w")
    '[From the editor] In front: a.py, line 3.'
    """
    told, selected = [], ""
    others = [_entry_name(file, folder) for file in open_files if not file.get("isActive")]
    for each in (file for file in open_files if file.get("isActive")):
        cursor = each.get("cursor")
        line = f", line {cursor['line']}" if isinstance(cursor, Mapping) else ""
        told.append(f"In front: {_entry_name(each, folder)}{line}.")
        selected = str(each.get("selectedText") or "")
    if others:
        told.append(f"Open: {', '.join(others)}.")
    if selected.strip():
        told.append(f"Selected:\n{fence_text(selected)}")
    return (HEAD + " ".join(told)).rstrip() if told else ""


def as_problems(found: Sequence[tuple[str, Sequence[str]]], folder: str) -> str:
    """New problems as a text: the paths of files that the agent has edited, each with its lines.
    Empty if there are none."""
    lines = [
        f"{_one_line(path_in(folder, path))}, {problem}" for path, told in found for problem in told
    ]
    shown = [
        line if len(line) <= MAX_LINE else line[:MAX_LINE] + "..." for line in lines[:MAX_LINES]
    ]
    more = [MORE.format(len(lines) - MAX_LINES)] if len(lines) > MAX_LINES else []
    return "\n".join([HEAD + NEW_PROBLEMS, *shown, *more]) if lines else ""


def _entry_name(entry: Mapping[str, Any], folder: str) -> str:
    return _one_line(path_in(folder, str(entry.get("path"))))


def _one_line(path: str) -> str:
    return " ".join(path.split())
