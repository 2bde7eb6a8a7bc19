"""The diffs that wait for a decision, over all windows: from one to the next, and a list of them;
UI thread only."""

from __future__ import annotations

import os
from functools import partial
from typing import Callable

import sublime

from .. import queues
from . import head, pair
from .lookup import current, diffs
from .record import waiting
from .reviews import Reviews

NONE = "No proposed edit waits for you."
ONLY = "No other proposed edit waits for you."


class Queue:
    """That of one companion."""

    def __init__(self, reviews: Reviews, tell: Callable[[str], None]) -> None:
        self._reviews = reviews
        self._tell = tell

    def go(self, right: sublime.View | None, step: int) -> None:
        """Show the waiting diff `step` (1 or -1) after this one; from the last one on to the
        first."""
        found = waiting_diffs()
        if right in found:
            at = found.index(right) + step
        else:
            at = 0
        if not found or found[at % len(found)] == right:
            self._tell(ONLY if found else NONE)
            return
        show(found[at % len(found)])

    def show_next_of(self, window: sublime.Window) -> None:
        """A diff of the window was decided: show one that waits, in another window if need be."""
        if list(diffs(window)):
            # It is shown already.
            return
        found = waiting_diffs()
        if found:
            show(found[0])
        else:
            self._tell(NONE)

    def choose(self, window: sublime.Window) -> None:
        """Let the user choose one of all in a list, with a look at each."""
        found = waiting_diffs()
        if not found:
            self._tell(NONE)
            return
        before, shown = window.active_view(), current(window)
        items = [self._item(view) for view in found]

        def highlighted(index: int) -> None:
            view = found[index] if 0 <= index < len(found) else None
            if view is not None and waiting(view) is not None and view.window() == window:
                pair.show(window, view)

        def chosen(index: int) -> None:
            if index < 0:
                for view in (shown, before):
                    if view is not None and view.is_valid():
                        _show_again(window, view)
            elif waiting(found[index]) is not None:
                show(found[index])
            else:
                self._tell("That diff is decided already.")

        window.show_quick_panel(
            items,
            chosen,
            # A preview takes the keyboard for a moment.
            sublime.KEEP_OPEN_ON_FOCUS_LOST,
            on_highlight=highlighted,
            placeholder="Proposed edits that wait for you",
        )

    def _item(self, view: sublime.View) -> sublime.QuickPanelItem:
        record, review = waiting(view), self._reviews.of(view)
        if record is None:
            return sublime.QuickPanelItem(view.name())
        summary = review.summary if review is not None else None
        return sublime.QuickPanelItem(
            os.path.basename(record.path),
            [os.path.dirname(record.path), *head.origin(record)],
            f"+{summary.added} -{summary.removed}" if summary is not None else "",
        )


def _show_again(window: sublime.Window, view: sublime.View) -> None:
    """As it was before the previews."""
    if waiting(view) is not None:
        pair.show(window, view)
    else:
        window.focus_view(view)


def waiting_diffs() -> list[sublime.View]:
    """The right views of all windows' undecided diffs, oldest first in each window."""
    return [view for window in sublime.windows() for view in diffs(window)]


def show(right: sublime.View) -> None:
    """Go there, with the keyboard."""
    window = right.window()
    if window is None:
        return
    if window != sublime.active_window():
        window.bring_to_front()
    # Sublime gives the window the keyboard a moment later.
    queues.on_ui_thread(partial(pair.show, window, right))
