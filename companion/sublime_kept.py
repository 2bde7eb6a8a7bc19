"""Accepted texts that no CLI could be told of yet: shown, applied, discarded; UI thread only."""

from __future__ import annotations

import os

import sublime

from . import sublime_diff
from .editor import Editor
from .service import Companion

# Milliseconds between looks at whether a file has been loaded.
LOADING = 20


class KeptDecisions:
    """Those of one window, for as long as the user is asked about them."""

    def __init__(self, companion: Companion, editor: Editor, window: sublime.Window) -> None:
        self._companion = companion
        self._editor = editor
        self._window = window

    def show(self) -> None:
        """Let the user choose one of the texts, and what becomes of it."""

        def reply(kept: tuple[tuple[str, str], ...]) -> None:
            """On the companion's thread."""
            sublime.set_timeout(lambda: self._choose(kept), 0)

        self._companion.kept(self._window.id(), reply)

    def _choose(self, kept: tuple[tuple[str, str], ...]) -> None:
        if not kept:
            self._editor.tell("No accepted text waits for Gemini CLI in this window.")
            return
        items = [[os.path.basename(path), path] for path, _ in kept]
        self._window.show_quick_panel(
            items,
            lambda index: self._ask(*kept[index]) if index >= 0 else None,
            placeholder="Which accepted text?",
        )

    def _ask(self, path: str, text: str) -> None:
        items = [
            ["Apply it yourself", "Puts it into the file's tab, unsaved. No CLI gets it any more."],
            ["Open it as a new tab", "To look at it, or to save it elsewhere. It goes on waiting."],
            ["Discard it", "No CLI gets it any more."],
        ]

        def answer(index: int) -> None:
            if index == 1:
                sublime_diff.open_text(self._window, path, text)
            elif index >= 0:
                self._withdraw(path, text, apply=index == 0)

        def ask() -> None:
            self._window.show_quick_panel(items, answer, placeholder=os.path.basename(path))

        # A panel opens only once the one whose answer asks for it has closed.
        sublime.set_timeout(ask, 0)

    def _withdraw(self, path: str, text: str, apply: bool) -> None:
        def reply(withdrawn: bool) -> None:
            """On the companion's thread."""
            sublime.set_timeout(lambda: finish(withdrawn), 0)

        def finish(withdrawn: bool) -> None:
            if not withdrawn:
                self._editor.tell("Gemini CLI has come back and got the text meanwhile.")
            elif apply:
                self._apply(self._window.open_file(path), text)
            else:
                self._editor.tell("The text was discarded.")

        self._companion.withdraw(self._window.id(), path, text, reply)

    def _apply(self, view: sublime.View, text: str) -> None:
        if not view.is_valid():
            # The user closed the tab while it was loading: the text has to be somewhere.
            sublime_diff.open_text(self._window, "applied text", text)
        elif view.is_loading():
            sublime.set_timeout(lambda: self._apply(view, text), LOADING)
        else:
            sublime_diff.put_text(view, text)
            self._editor.tell("The text is in the tab; save it to keep it.")
