"""The one editor of this process, and how the API modules reach it."""

from __future__ import annotations

from typing import Any, Optional

_editor: Optional[Any] = None


def current() -> Any:
    """The running Editor; raises RuntimeError where none runs in this process."""
    if _editor is None:
        raise RuntimeError("no headless editor runs in this process; start python -m headless")
    return _editor


def start(editor: Any) -> None:
    global _editor
    _editor = editor


def end() -> None:
    global _editor
    _editor = None


def is_running() -> bool:
    return _editor is not None
