"""Panels that ask the user. Their texts may come from a CLI, a project or a file, so characters
that nobody sees are spelled out and nothing is read as HTML. Awaited by stories; UI thread only."""

from __future__ import annotations

import copy
import html
import re
from functools import partial
from typing import Any, List, Sequence, Union

import sublime

from ..base.answer import Answer
from ..base.shown_text import shown_line

# Blanks that HTML would make one of.
RUN = re.compile("^ | (?= )")
# A label, or a label with rows below it.
Item = Union[str, List[str], sublime.QuickPanelItem]


class SpelledText(str):
    """A text in which what nobody sees is spelled out already, and in which each blank counts."""


def panel_item(label: str, details: str = "", annotation: str = "") -> sublime.QuickPanelItem:
    return sublime.QuickPanelItem(label, details, annotation)


async def ask_choice(
    window: sublime.Window,
    items: Sequence[Item],
    placeholder: str,
    answer: Answer[int] | None = None,
    **options: Any,
) -> int:
    """The number of the item that the user chooses, from 0; -1 for none. `options` are further
    arguments of the editor's method. With an `answer`, `close_panel` can end the panel."""
    answer = Answer() if answer is None else answer
    # The editor's type requires items of one kind.
    shown: Any = [_shown_item(item) for item in items]
    window.show_quick_panel(shown, answer.give, placeholder=shown_line(placeholder), **options)
    try:
        return await answer
    finally:
        if not answer.is_there:
            window.run_command("hide_overlay")


def close_panel(window: sublime.Window, answer: Answer[int]) -> None:
    """Close the panel that waits for the answer; the user chooses none."""
    if not answer.is_there:
        answer.give(-1)
        window.run_command("hide_overlay")


async def ask_line(
    window: sublime.Window,
    caption: str,
    text: str = "",
    answer: Answer[str | None] | None = None,
) -> str | None:
    """The line that the user types, in the place of the text; None if they cancel."""
    answer = Answer() if answer is None else answer
    cancel = partial(answer.give, None)
    window.show_input_panel(shown_line(caption), text, answer.give, None, cancel)
    try:
        return await answer
    finally:
        if not answer.is_there:
            window.run_command("hide_panel", {"cancel": True})


class Panel:
    """The panels of one story, one after the other, which something else may end for good: then it
    `is_withdrawn`, and the user chooses nothing in it any more."""

    def __init__(self, window: sublime.Window) -> None:
        self._window = window
        self._choice: Answer[int] = Answer()
        self._line: Answer[str | None] = Answer()
        self._is_line = self.is_withdrawn = False

    async def ask_choice(self, items: Sequence[Item], placeholder: str, **options: Any) -> int:
        """Let the user choose one of the items, as the function `ask_choice` does; -1 once it is
        withdrawn."""
        if self.is_withdrawn:
            return -1
        self._choice, self._is_line = Answer(), False
        return await ask_choice(self._window, items, placeholder, self._choice, **options)

    async def ask_line(self, caption: str, text: str = "") -> str | None:
        """Let the user write a line, as the function `ask_line` does; None once it is withdrawn."""
        if self.is_withdrawn:
            return None
        self._line, self._is_line = Answer(), True
        return await ask_line(self._window, caption, text, self._line)

    def withdraw(self) -> None:
        self.is_withdrawn = True
        if not self._is_line:
            close_panel(self._window, self._choice)
        elif not self._line.is_there:
            self._line.give(None)
            self._window.run_command("hide_panel", {"cancel": True})


def _shown_item(item: Item) -> Item:
    if isinstance(item, str):
        return shown_line(item)
    if isinstance(item, list):
        return [shown_line(row) for row in item]
    details = [item.details] if isinstance(item.details, str) else item.details
    shown = copy.copy(item)
    shown.trigger, shown.annotation = _shown_text(item.trigger), shown_line(item.annotation)
    # Sublime Text reads these as HTML, but not the strings of lists.
    shown.details = [_shown_detail(each) for each in details]
    return shown


def _shown_text(text: str) -> str:
    return text if isinstance(text, SpelledText) else shown_line(text)


def _shown_detail(text: str) -> str:
    markup = html.escape(_shown_text(text), quote=False)
    return RUN.sub("&nbsp;", markup) if isinstance(text, SpelledText) else markup
