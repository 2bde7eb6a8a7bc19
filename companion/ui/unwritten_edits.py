"""Accepted edits that no CLI has written to their files yet: shown, applied, discarded.

All of it runs on the UI thread, unless a function says otherwise.
"""

from __future__ import annotations

import os
from functools import partial
from typing import Callable

import sublime

from ..ide.editor import Editor
from ..ide.events import TextWithdrawn, UnwrittenAsked
from ..ide.service import Companion
from . import panels, queues, texts

# Milliseconds between looks at whether a file has been loaded.
LOADING = 20


class UnwrittenEdits:
    """Those of one window, for as long as the user is asked about them."""

    def __init__(self, companion: Companion, editor: Editor, window: sublime.Window) -> None:
        self._companion = companion
        self._editor = editor
        self._window = window

    def show(self) -> None:
        """Let the user choose one of the texts, and what becomes of it."""

        def reply(found: tuple[tuple[str, str], ...]) -> None:
            """On the companion's thread."""
            queues.on_ui_thread(partial(self._choose, found))

        self._companion.post(UnwrittenAsked(self._window.id(), reply))

    def _choose(self, found: tuple[tuple[str, str], ...]) -> None:
        if not found:
            self._editor.tell("No accepted text waits for Gemini CLI in this window.")
            return
        items = [[os.path.basename(path), path] for path, _ in found]
        panels.choose(
            self._window,
            items,
            lambda index: self._ask(*found[index]) if index >= 0 else None,
            "Which accepted text?",
        )

    def _ask(self, path: str, text: str) -> None:
        items = [
            ["Apply it yourself", "Puts it into the file's tab, unsaved. No CLI gets it any more."],
            ["Open it as a new tab", "To look at it, or to save it elsewhere. It goes on waiting."],
            ["Discard it", "No CLI gets it any more."],
        ]

        def answer(index: int) -> None:
            if index == 0:
                self._apply(path, text)
            elif index == 1:
                texts.open_tab(self._window, path, text)
            elif index == 2:
                tell = partial(self._editor.tell, "The text was discarded.")
                self._withdraw(path, text, tell, lambda: None)

        def ask() -> None:
            panels.choose(self._window, items, answer, os.path.basename(path))

        # A panel opens only once the one whose answer asks for it has closed.
        queues.on_ui_thread(ask)

    def _withdraw(
        self, path: str, text: str, done: Callable[[], None], come_late: Callable[[], None]
    ) -> None:
        def reply(withdrawn: bool) -> None:
            """On the companion's thread."""
            queues.on_ui_thread(partial(finish, withdrawn))

        def finish(withdrawn: bool) -> None:
            if withdrawn:
                done()
            else:
                come_late()
                self._editor.tell("Gemini CLI has come back and got the text meanwhile.")

        self._companion.post(TextWithdrawn(self._window.id(), path, text, reply))

    def _apply(self, path: str, text: str) -> None:
        is_new = self._window.find_open_file(path) is None
        view = self._window.open_file(path)

        def put() -> None:
            if view.is_loading():
                queues.on_ui_thread(put, LOADING)
            else:
                self._put(view, is_new, path, text)

        put()

    def _put(self, view: sublime.View, is_new: bool, path: str, text: str) -> None:
        """Put the text into the file's tab, or beside it; only then it need not wait any more."""
        sentence = _obstacle(view)
        if not sentence and texts.replace_theirs(view, text):
            sentence = "The text is in the tab; save it to keep it."
        else:
            sentence = sentence or "The file's tab does not take the text; it is in a new tab."
            view, is_new = texts.open_tab(self._window, path, text), True
        count = view.change_count()

        def undo() -> None:
            if view.change_count() != count:
                return
            if is_new:
                view.set_scratch(True)
                view.close()
            else:
                view.run_command("undo")

        self._withdraw(path, text, partial(self._editor.tell, sentence), undo)


def _obstacle(view: sublime.View) -> str:
    """Why a text is not to be put into the file's tab, as a sentence; empty where it may be."""
    if not view.is_valid():
        return "The file's tab was closed; the text is in a new tab."
    if view.is_read_only():
        return "The file's tab is read-only; the text is in a new tab."
    if view.is_dirty():
        return "The file's tab has unsaved changes; the text is in a new tab."
    return ""
