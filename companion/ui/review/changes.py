"""What the user does with single changes: go to one, keep it, drop it; UI thread only."""

from __future__ import annotations

from functools import partial
from typing import Callable

import sublime

from ...base.changes import Change
from ...base.comparison import Comparison
from .. import texts
from .reviews import Reviews
from .sight import caret_row, current, show_change

ALL_DROPPED = "All changes are dropped: the proposal is the file as it is."
FORGOTTEN = "The whole proposal was forgotten at the restart: no change of it can be dropped."
NO_CHANGE = "The proposal has no such change any more."
AGAIN = "That was the last change in this direction: they begin anew."
ONLY = "There is no other change."
NO_CHANGES = "The proposal changes nothing."


class Changes:
    """Those of the diffs of one companion. `reject` is what decides on a diff whose changes were
    all dropped, once the user says so."""

    def __init__(
        self,
        reviews: Reviews,
        tell: Callable[[str], None],
        reject: Callable[[sublime.View], object],
    ) -> None:
        self._reviews = reviews
        self._tell = tell
        self._reject = reject

    def go(self, right: sublime.View, step: int, over: Callable[[], bool]) -> None:
        """Go to the next change (`step` 1) or the previous one (-1) from the caret. Beyond the last
        and the first, or where there are none, call `over`, which goes to another diff; False of it
        says that there is none, and the changes begin anew."""
        if self._reviews.is_compared(right) or not over():
            self._reviews.with_comparison(right, partial(self._go, right, step, over))

    def keep(self, right: sublime.View, key: str | None = None) -> None:
        """The user wants the change of that key, else the one at the caret or in sight."""

        def do(comparison: Comparison) -> None:
            number = self._number(right, comparison, key)
            if number is not None:
                self._reviews.saw(right, comparison.keys[number])

        self._reviews.with_comparison(right, do)

    def drop(self, right: sublime.View, key: str | None = None) -> None:
        """Put the lines of the file back, as one edit that can be undone."""

        def do(comparison: Comparison) -> None:
            number = self._number(right, comparison, key)
            if number is not None and right.is_read_only():
                self._drop_of_large(right, comparison.keys[number])
            elif number is not None:
                self._put_back(right, comparison, comparison.changes[number])

        self._reviews.with_comparison(right, do)

    def _number(self, right: sublime.View, comparison: Comparison, key: str | None) -> int | None:
        """The number, from 0, of the change that is meant; None where there is none, and a word."""
        if key is not None:
            number = comparison.keys.index(key) if key in comparison.keys else None
        else:
            number = current(right, comparison)
        if number is None:
            self._tell(NO_CHANGE if comparison.changes else NO_CHANGES)
        return number

    def _go(
        self, right: sublime.View, step: int, over: Callable[[], bool], comparison: Comparison
    ) -> None:
        row = caret_row(right)
        number = comparison.next_change(row) if step > 0 else comparison.previous_change(row)
        if number is None:
            if over():
                return
            if not comparison.changes:
                self._tell(NO_CHANGES)
                return
            number = 0 if step > 0 else len(comparison.changes) - 1
            self._tell(AGAIN if len(comparison.changes) > 1 else ONLY)
        show_change(right, comparison, number)
        self._reviews.drawing.links(right)

    def _put_back(self, right: sublime.View, comparison: Comparison, change: Change) -> None:
        text = "".join(comparison.old.rows[change.old_start : change.old_end])
        region = sublime.Region(*comparison.new.region(change.new_start, change.new_end))
        texts.pending.put(right, text, region)
        self._reviews.refresh(right)
        if len(comparison.changes) == 1:
            ask_whether_to_reject(right, self._reject)

    def _drop_of_large(self, right: sublime.View, key: str) -> None:
        """The same where the view has the changed parts only; or take that back."""
        review = self._reviews.of(right)
        if review is None or review.digest is None:
            self._tell(FORGOTTEN)
        else:
            review.dropped ^= {key}
            self._reviews.refresh(right)
            if len(review.dropped) == len(review.digest.shown.keys):
                ask_whether_to_reject(right, self._reject)


def ask_whether_to_reject(right: sublime.View, reject: Callable[[sublime.View], object]) -> None:
    """No change of the proposal is left."""
    window = right.window()
    if window is None:
        return
    undo = "Take back" if right.is_read_only() else "Undo"
    items = [
        ["Reject the proposal", "Gemini CLI is told that the file stays as it is."],
        ["Go on editing", f"{undo} brings the changes back."],
    ]

    def answer(index: int) -> None:
        if index == 0:
            reject(right)

    window.show_quick_panel(items, answer, placeholder=ALL_DROPPED)
