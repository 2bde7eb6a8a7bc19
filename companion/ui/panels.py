"""Panels that ask, in words that may be those of a CLI, a project or a file: these hide nothing and
are taken for no HTML; awaited by stories, UI thread only."""

from __future__ import annotations

import copy
import html
from functools import partial
from typing import Any, List, Sequence, Union

import sublime

from ..base.answer import Answer
from ..base.shown_text import shown_line

# A label, or a label with rows below it.
Item = Union[str, List[str], sublime.QuickPanelItem]


async def choice(
    window: sublime.Window, items: Sequence[Item], placeholder: str, **options: Any
) -> int:
    """The number, from 0, of the item that the user chooses; -1 for none. `options` are more of
    those that the editor takes."""
    answer: Answer[int] = Answer()
    # Its own type wants items that are all of one kind.
    shown: Any = [_shown(item) for item in items]
    window.show_quick_panel(shown, answer.give, placeholder=shown_line(placeholder), **options)
    try:
        return await answer
    finally:
        if not answer.is_there:
            window.run_command("hide_overlay")


async def line(window: sublime.Window, caption: str) -> str | None:
    """The line that the user types; None where they cancel."""
    answer: Answer[str | None] = Answer()
    cancel = partial(answer.give, None)
    window.show_input_panel(shown_line(caption), "", answer.give, None, cancel)
    try:
        return await answer
    finally:
        if not answer.is_there:
            window.run_command("hide_panel", {"cancel": True})


def _shown(item: Item) -> Item:
    if isinstance(item, str):
        return shown_line(item)
    if isinstance(item, list):
        return [shown_line(row) for row in item]
    details = [item.details] if isinstance(item.details, str) else item.details
    shown = copy.copy(item)
    shown.trigger, shown.annotation = shown_line(item.trigger), shown_line(item.annotation)
    # Sublime Text takes these for HTML, those of lists not.
    shown.details = [html.escape(shown_line(each), quote=False) for each in details]
    return shown
