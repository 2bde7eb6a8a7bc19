"""The diffs of all windows that wait for a decision: goes from one to the next. UI thread only."""

from __future__ import annotations

import os
from functools import partial
from typing import Callable, Iterator, Sequence

import sublime

from ...edits.ledger import EditLedger
from .. import queues
from . import head, pair
from .edit_rows import EditRow
from .open_diffs import home_of, undecided_diffs
from .record import DiffRecord, waiting_record
from .reviews import Reviews

NONE = "No proposed edit waits for you."
DECIDED = "That diff is decided already."
# Said of one in the list.
NO_TABS = "no tabs yet"
ONLY = "No other proposed edit waits for you."


class ReviewQueue:
    """The queue of one companion. `show` goes to a diff, whether it has tabs or not."""

    caption, nothing = "Proposed edits that wait for you", NONE

    def __init__(
        self,
        edits: EditLedger,
        reviews: Reviews,
        show: Callable[[sublime.View], None],
        tell: Callable[[str], None],
    ) -> None:
        self._edits = edits
        self._show = show
        self._reviews = reviews
        self._tell = tell

    def go_to_diff(self, right: sublime.View | None, step: int) -> None:
        """Show the waiting diff `step` (1 or -1) after this one; after the last comes the first."""
        found = waiting_diffs()
        other = _diff_beside(found, right, step)
        if other is None:
            self._tell(ONLY if found else NONE)
        else:
            self._show(other)

    def go_within(self, right: sublime.View, step: int) -> bool:
        """Show the next waiting diff of this one's window; False if there is no other one."""
        window = home_of(right)
        here = [] if window is None else [view for view, _record in undecided_diffs(window)]
        other = _diff_beside(here, right, step)
        if other is not None:
            self._show(other)
        return other is not None

    async def edit_rows(self, window: sublime.Window) -> list[EditRow]:
        """The proposals of all windows, oldest first in each, and then the open reviews of edits
        that are made; choosing one goes there."""
        diffs = {record.id: (view, record) for view, record in _all_diffs()}
        asked = [edit.id for edit in self._edits.asked_edits()]
        return [self.diff_row(*diffs[id]) for id in dict.fromkeys((*asked, *diffs))]

    def diff_row(self, view: sublime.View, record: DiffRecord) -> EditRow:
        """An undecided diff."""
        review = self._reviews.review_of(view)
        summary = review.diff_summary(view) if review is not None else None
        without_tabs = [NO_TABS] if record.is_unopened else []
        item = sublime.QuickPanelItem(
            os.path.basename(record.path),
            [os.path.dirname(record.path), *head.origin_words(record), *without_tabs],
            f"+{summary.added} -{summary.removed}" if summary is not None else "",
        )
        return EditRow(item, partial(self._go_to, view), view)

    async def _go_to(self, view: sublime.View) -> None:
        if waiting_record(view) is None:
            self._tell(DECIDED)
        else:
            self._show(view)


def _diff_beside(
    found: Sequence[sublime.View], right: sublime.View | None, step: int
) -> sublime.View | None:
    """The diff `step` after this one; after the last comes the first. If this one is not among
    them, the first. None if there is no other."""
    at = found.index(right) + step if right is not None and right in found else 0
    other = found[at % len(found)] if found else None
    return other if other != right else None


def waiting_diffs() -> list[sublime.View]:
    """The right views of all windows' undecided diffs, oldest first in each window."""
    return [view for view, _record in _all_diffs()]


def _all_diffs() -> Iterator[tuple[sublime.View, DiffRecord]]:
    return (found for window in sublime.windows() for found in undecided_diffs(window))


def show_diff(right: sublime.View) -> None:
    """Go to one that has tabs, with the keyboard."""
    window = right.window()
    if window is None:
        return
    if window != sublime.active_window():
        window.bring_to_front()
    # Sublime gives the window the keyboard a moment later.
    queues.on_ui_thread(partial(pair.show_pair, window, right))
