"""The edits that the user accepted: shown again, and undone where nobody has gone on; UI thread
only."""

from __future__ import annotations

import difflib
import os
import time
from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import Callable

import sublime

from ...ide.events import FilePutBack
from ...ide.file_content import Original
from ...ide.service import Companion
from .. import queues, texts

# Edits of each window, and bytes of all of them: the oldest are forgotten first.
MAX_EDITS = 50
MAX_BYTES = 64 * 1024 * 1024
NOTHING = "No accepted edits in this window so far."
NOT_WRITTEN = "The file is as it was before the edit: there is nothing to undo."
CHANGED = "The file has changed since: nothing was undone. The three texts are in tabs."
UNSAVED = "The file has unsaved changes: nothing was undone. The three texts are in tabs."


@dataclass(frozen=True)
class Edit:
    """`before` is the file as it was, whole; `after` the accepted text with `\\n` line ends;
    `client` names its CLI; `at` is in seconds since the epoch."""

    window_id: int
    path: str
    before: Original
    after: str
    client: str
    at: float

    @property
    def size(self) -> int:
        return len(self.before.data or b"") + len(self.before.text) + len(self.after)


class History:
    """That of one companion."""

    def __init__(self, companion: Companion, tell: Callable[[str], None]) -> None:
        self._companion = companion
        self._tell = tell
        self._edits: deque[Edit] = deque()

    def add(self, edit: Edit) -> None:
        """The user accepted it. One of which the file's bytes are not known cannot be undone."""
        if edit.before.note:
            return
        self._edits.append(edit)
        own = [it for it in self._edits if it.window_id == edit.window_id]
        if len(own) > MAX_EDITS:
            self._edits.remove(own[0])
        while sum(it.size for it in self._edits) > MAX_BYTES:
            self._edits.popleft()

    def choose(self, window: sublime.Window) -> None:
        """Let the user choose one of the window's edits, and what becomes of it."""
        edits = [it for it in reversed(self._edits) if it.window_id == window.id()]
        if not edits:
            self._tell(NOTHING)
            return
        items = [_item(edit) for edit in edits]

        def chosen(index: int) -> None:
            if index >= 0:
                # A panel that opens in another one's answer would be closed with it.
                queues.on_ui_thread(partial(self._ask, window, edits[index]))

        window.show_quick_panel(items, chosen, placeholder="Edits that you accepted")

    def _ask(self, window: sublime.Window, edit: Edit) -> None:
        items = [
            ["Show it", "The text before and after, as a difference."],
            ["Undo it", "The old text is put back, if the file is still what you accepted."],
        ]

        def chosen(index: int) -> None:
            if index == 0:
                show(window, edit)
            elif index == 1:
                self.undo(window, edit)

        window.show_quick_panel(items, chosen, placeholder=os.path.basename(edit.path))

    def undo(self, window: sublime.Window, edit: Edit) -> None:
        """Put the old text back, if the file is still what was accepted; else show the texts."""
        if texts.unsaved_view(edit.path) is not None:
            self._refuse(window, edit, UNSAVED, None)
            return

        def reply(problem: str, present: Original | None) -> None:
            """On the companion's thread."""
            queues.on_ui_thread(partial(self._undone, window, edit, problem, present))

        self._companion.post(FilePutBack(edit.path, edit.before, edit.after, reply))

    def _undone(
        self, window: sublime.Window, edit: Edit, problem: str, present: Original | None
    ) -> None:
        if present is not None and present.digest == edit.before.digest:
            self._tell(NOT_WRITTEN)
            return
        if present is not None:
            self._refuse(window, edit, CHANGED, present)
            return
        if not problem:
            for each in sublime.windows():
                _load_again(each, edit)
            if edit in self._edits:
                self._edits.remove(edit)
        self._tell(problem or f"{os.path.basename(edit.path)} is as it was before the edit.")

    def _refuse(
        self, window: sublime.Window, edit: Edit, sentence: str, present: Original | None
    ) -> None:
        found = {"before the edit": edit.before.text, "as accepted": edit.after}
        if present is not None:
            found["as it is now"] = present.text
        for name, text in found.items():
            view = texts.open_tab(window, edit.path, text)
            view.set_name(f"{os.path.basename(edit.path)} ({name})")
            view.set_scratch(True)
        if present is None:
            window.open_file(edit.path)
        self._tell(sentence)


def show(window: sublime.Window, edit: Edit) -> None:
    """Open the difference between the text before and after, as a tab of its own."""
    name = os.path.basename(edit.path)
    rows = difflib.unified_diff(
        edit.before.text.splitlines(keepends=True),
        edit.after.splitlines(keepends=True),
        f"{name} before",
        f"{name} accepted",
    )
    text = "".join(row if row.endswith("\n") else row + "\n" for row in rows)
    view = texts.open_tab(window, name + ".diff", text)
    view.set_name(f"{name} (accepted edit)")
    view.set_scratch(True)


def _item(edit: Edit) -> sublime.QuickPanelItem:
    when = time.strftime("%H:%M:%S", time.localtime(edit.at))
    details = [os.path.dirname(edit.path)] + ([edit.client] if edit.client else [])
    return sublime.QuickPanelItem(os.path.basename(edit.path), details, when)


def _load_again(window: sublime.Window, edit: Edit) -> None:
    """Let an open tab show what is on disk now; one of a file that is gone keeps its text."""
    view = window.find_open_file(edit.path)
    if view is not None and edit.before.exists:
        view.run_command("revert")
