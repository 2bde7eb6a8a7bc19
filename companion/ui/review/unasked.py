"""Edits that CLIs made without asking: gathered quietly, listed by turns. UI thread only."""

from __future__ import annotations

from dataclasses import replace
from typing import Callable

import sublime

from ...ide.accepted_edits import Edit
from ...ide.editor import UnaskedEdit
from .. import sharing_settings
from .history import History


class Unasked:
    """Those of one companion, which the history keeps."""

    def __init__(self, history: History, tell: Callable[[str], None]) -> None:
        self._history = history
        self._tell = tell

    def gather(self, window_id: int, found: UnaskedEdit) -> None:
        """A CLI made the edit. It counts as one with the edit before it of the same file in the
        same turn, unless somebody else wrote the file in between."""
        edit = _edit(window_id, found)
        earlier = self._earlier(edit)
        if earlier is None:
            self._history.add(edit)
            return
        whole = replace(edit, before=earlier.before)
        is_back = whole.before.exists and whole.before.text == whole.after
        self._history.replace(earlier, None if is_back else whole)

    def count(self, window: sublime.Window) -> int:
        """How many of the window's the user has not looked at."""
        return sum(1 for it in self._history.of_window(window) if it.turn and not it.is_seen)

    def _earlier(self, edit: Edit) -> Edit | None:
        """The edit that this one goes on with."""
        alike = [
            it
            for it in self._history.of_turn(edit.turn)
            if (it.path, it.is_seen) == (edit.path, False)
        ]
        is_one = bool(alike) and not edit.problem and alike[-1].after == edit.before.text
        return alike[-1] if is_one else None


def _edit(window_id: int, found: UnaskedEdit) -> Edit:
    window = sublime.Window(window_id)
    is_there = window.is_valid()
    return Edit(
        window_id,
        found.path,
        found.before,
        None if found.after.note else found.after.text,
        found.client,
        found.at,
        tuple(window.folders()) if is_there else (),
        sharing_settings.of(window) if is_there else None,
        found.turn,
        found.prompt,
    )
