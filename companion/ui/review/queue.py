"""The diffs of all windows that wait for a decision: goes from one to the next, and lists them. UI
thread only."""

from __future__ import annotations

import os
from functools import partial
from typing import Callable, Sequence

import sublime

from .. import panels, queues
from . import head, pair
from .open_diffs import diffs
from .preview import Preview
from .record import waiting
from .reviews import Reviews

NONE = "No proposed edit waits for you."
DECIDED = "That diff is decided already."
ONLY = "No other proposed edit waits for you."


class ReviewQueue:
    """The queue of one companion."""

    def __init__(self, reviews: Reviews, tell: Callable[[str], None]) -> None:
        self._reviews = reviews
        self._tell = tell

    def go(self, right: sublime.View | None, step: int) -> None:
        """Show the waiting diff `step` (1 or -1) after this one; after the last comes the first."""
        found = waiting_diffs()
        other = _beside(found, right, step)
        if other is None:
            self._tell(ONLY if found else NONE)
        else:
            show(other)

    def go_within(self, right: sublime.View, step: int) -> bool:
        """Show the next waiting diff of this one's window; False if there is no other one."""
        window = right.window()
        here = [] if window is None else [view for view, _record in diffs(window)]
        other = _beside(here, right, step)
        if other is not None:
            show(other)
        return other is not None

    async def choose(self, window: sublime.Window) -> None:
        """Let the user choose among all diffs in a list that previews each."""
        found = waiting_diffs()
        if not found:
            self._tell(NONE)
            return
        preview = Preview(window, self._reviews)
        items = [self._item(view) for view in found]

        def highlighted(index: int) -> None:
            if 0 <= index < len(found):
                preview.show(found[index])

        number, is_there = -1, False
        try:
            number = await panels.choice(
                window,
                items,
                "Proposed edits that wait for you",
                # A preview takes the keyboard for a moment.
                flags=sublime.KEEP_OPEN_ON_FOCUS_LOST,
                on_highlight=highlighted,
            )
            is_there = number >= 0 and waiting(found[number]) is not None
        finally:
            preview.end(is_back=not is_there)
        if is_there:
            show(found[number])
        elif number >= 0:
            self._tell(DECIDED)

    def _item(self, view: sublime.View) -> sublime.QuickPanelItem:
        record, review = waiting(view), self._reviews.of(view)
        if record is None:
            return sublime.QuickPanelItem(view.name())
        summary = review.summary(view) if review is not None else None
        return sublime.QuickPanelItem(
            os.path.basename(record.path),
            [os.path.dirname(record.path), *head.origin(record)],
            f"+{summary.added} -{summary.removed}" if summary is not None else "",
        )


def _beside(
    found: Sequence[sublime.View], right: sublime.View | None, step: int
) -> sublime.View | None:
    """The diff `step` after this one; after the last comes the first. If this one is not among
    them, the first. None if there is no other."""
    at = found.index(right) + step if right is not None and right in found else 0
    other = found[at % len(found)] if found else None
    return other if other != right else None


def waiting_diffs() -> list[sublime.View]:
    """The right views of all windows' undecided diffs, oldest first in each window."""
    return [view for window in sublime.windows() for view, _record in diffs(window)]


def show(right: sublime.View) -> None:
    """Go there, with the keyboard."""
    window = right.window()
    if window is None:
        return
    if window != sublime.active_window():
        window.bring_to_front()
    # Sublime gives the window the keyboard a moment later.
    queues.on_ui_thread(partial(pair.show, window, right))
