"""Accepted edits that no CLI has written to their files yet: shows, applies and discards them. UI
thread only."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from typing import Callable

import sublime

from ..base.answer import Unanswered
from ..edits.ledger import EditLedger
from ..ide.companion import Companion
from ..ide.questions import TextWithdrawal, UnwrittenTexts
from . import panels, texts
from .review.edit_rows import EditRow
from .stories import sleep

# Milliseconds between checks whether a file has been loaded.
LOADING = 20
NONE = "No accepted text waits for a CLI in this window."
DISCARDED = "The text was discarded."
TOO_LATE = "The CLI has come back and got the text meanwhile."
IN_TAB = "The text is in the tab; save it to keep it."
NOT_TAKEN = "The file's tab does not accept the text; it is in a new tab."
ACTIONS = [
    ["Apply it yourself", "Puts it into the file's tab, unsaved. No CLI will get it."],
    ["Open it as a new tab", "Read it, or save it elsewhere. It continues to wait."],
    ["Discard it", "No CLI will get it."],
]


class UnwrittenEdits:
    """The accepted texts that are not in their files, as the companion tells the ledger."""

    caption, nothing = "Which accepted text?", NONE

    def __init__(
        self, companion: Companion, edits: EditLedger, tell: Callable[[str], None]
    ) -> None:
        self._companion = companion
        self._edits = edits
        self._tell = tell

    async def edit_rows(self, window: sublime.Window) -> list[EditRow]:
        """The window's texts; choosing one asks what to do with it."""
        id = window.id()
        # What it told last is there without its answer as well.
        with suppress(Unanswered):
            texts = await self._companion.ask(UnwrittenTexts(id))
            self._edits.set_unwritten({id: texts})
        return [
            EditRow(
                sublime.QuickPanelItem(
                    os.path.basename(edit.path), [os.path.dirname(edit.path), edit.client]
                ),
                partial(self._choose_action, window, edit.path, edit.after or ""),
            )
            for edit in self._edits.unwritten_edits(id)
        ]

    async def _choose_action(self, window: sublime.Window, path: str, text: str) -> None:
        action = await panels.ask_choice(window, ACTIONS, os.path.basename(path))
        if action == 0:
            await self._apply_text(window, path, text)
        elif action == 1:
            texts.open_tab(window, path, text)
        elif action == 2:
            is_ours = await self._companion.ask(TextWithdrawal(window.id(), path, text))
            self._tell(DISCARDED if is_ours else TOO_LATE)

    async def _apply_text(self, window: sublime.Window, path: str, text: str) -> None:
        """Put the text into the file's tab, or beside it; only after that it no longer waits."""
        is_new = window.find_open_file(path) is None
        view = window.open_file(path)
        while view.is_loading():
            await sleep(LOADING)
        sentence = _apply_obstacle(view)
        if not sentence and texts.replace_theirs(view, text):
            sentence = IN_TAB
        else:
            sentence = sentence or NOT_TAKEN
            view, is_new = texts.open_tab(window, path, text), True
        count = view.change_count()
        if await self._companion.ask(TextWithdrawal(window.id(), path, text)):
            self._tell(sentence)
            return
        if view.change_count() == count:
            _take_back(view, is_new)
        self._tell(TOO_LATE)


def _take_back(view: sublime.View, is_new: bool) -> None:
    if is_new:
        view.set_scratch(True)
        view.close()
    else:
        view.run_command("undo")


def _apply_obstacle(view: sublime.View) -> str:
    """Why a text must not be put into the file's tab, as a sentence; empty if it may be."""
    if not view.is_valid():
        return "The file's tab was closed; the text is in a new tab."
    if view.is_read_only():
        return "The file's tab is read-only; the text is in a new tab."
    if view.is_dirty():
        return "The file's tab has unsaved changes; the text is in a new tab."
    return ""
