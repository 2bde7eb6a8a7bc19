"""The user's actions on single changes: go to one, keep it, drop it. UI thread only."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import Callable, Iterator

import sublime

from ...base.comparison import Comparison
from ...base.text_digest import text_digest
from .. import panels, settings, texts
from .diff_kinds import kind_of
from .open_diffs import home_of, name_of
from .record import DiffRecord, seen_changes, update_record, waiting_record
from .review import Drawn
from .reviews import OVER, Reviews
from .sight import caret_row, current_change, show_change

ALL_DROPPED = "All changes are dropped: the proposal is the file as it is."
FORGOTTEN = "The whole proposal was lost at the restart: none of its changes can be dropped."
NO_CHANGE = "The proposal no longer has this change."
AGAIN = "There are no more changes in this direction: continued at the other end."
ONLY = "There is no other change."
ABOVE = "All changes below are decided on: continue with those above."
ALL_DECIDED = "All changes are decided on: accept the proposal now, or reject it."
NO_CHANGES = "The proposal changes nothing."


@dataclass
class _Press:
    """Whether all is found that it needs, so that it is done if its story is cut."""

    is_done: bool = False


class SingleChanges:
    """The single changes of the diffs of one companion. When all changes of a diff were dropped and
    the user confirms it, `reject` decides on the diff."""

    def __init__(
        self,
        reviews: Reviews,
        tell: Callable[[str], None],
        reject: Callable[[sublime.View], object],
    ) -> None:
        self._reviews = reviews
        self._tell = tell
        self._reject = reject

    async def go_to_change(self, right: sublime.View, step: int, over: Callable[[], bool]) -> None:
        """Go to the next change (`step` 1) or the previous one (-1) from the caret. Beyond the last
        and the first, or if there are none, call `over`, which goes to another diff. If it
        gives False, there is no other diff, and the search continues at the other end."""
        if not self._reviews.is_compared(right) and over():
            return
        record = self._waiting_record(right)
        if record is None:
            return
        with self._cut_is_told(right) as press:
            async with self._reviews.presses.take_place(record.id):
                press.is_done = True
                await self._go_to_change(right, step, over)

    async def _go_to_change(self, right: sublime.View, step: int, over: Callable[[], bool]) -> None:
        comparison = await self._reviews.wait_for_comparison(right)
        if comparison is None:
            self._tell_if_over(right, comparison)
            return
        row = caret_row(right)
        number = comparison.next_change(row) if step > 0 else comparison.previous_change(row)
        if number is None:
            if over():
                return
            if not comparison.changes:
                self._tell_about(right, NO_CHANGES)
                return
            number = 0 if step > 0 else len(comparison.changes) - 1
            self._tell_about(right, AGAIN if len(comparison.changes) > 1 else ONLY)
        show_change(right, comparison, number)
        self._reviews.drawing.draw_links(right)

    async def keep_change(
        self, right: sublime.View, key: str | None = None, goes_on: bool = True
    ) -> None:
        """The user wants the change of that key, else the one at the caret or in sight. `goes_on`
        to the next one in the proposal's view, if the user wants that."""
        drawn, count = self._drawn_now(right), right.change_count()
        record = self._waiting_record(right)
        if record is None:
            return
        with self._cut_is_told(right) as press:
            async with self._reviews.presses.take_place(record.id):
                meant = await self._meant_change(right, key, drawn)
                press.is_done = True
                if meant is None:
                    return
                comparison, number = meant
                self._reviews.mark_change_seen(right, comparison.keys[number])
                if goes_on:
                    await self._go_on(right, comparison.new_starts[number], count)

    async def drop_change(
        self, right: sublime.View, key: str | None = None, goes_on: bool = True
    ) -> bool:
        """Restore the lines of the file, as one edit that can be undone; gives whether there is
        such an edit. `goes_on` as `keep_change`."""
        drawn, count = self._drawn_now(right), right.change_count()
        record = self._waiting_record(right)
        if record is None:
            return False
        with self._cut_is_told(right) as press:
            async with self._reviews.presses.take_place(record.id):
                meant = await self._meant_change(right, key, drawn)
                press.is_done = True
                if meant is None:
                    return False
                is_edit = not right.is_read_only()
                drop = self._drop_lines if is_edit else self._drop_of_large
                is_left = await drop(right, *meant, count, goes_on)
        # Other presses do not wait for the answer.
        if not is_left:
            await ask_whether_to_reject(right, self._reject)
        return is_edit

    async def _drop_lines(
        self, right: sublime.View, comparison: Comparison, number: int, count: int, goes_on: bool
    ) -> bool:
        """Gives whether any change is left. The view had that change count at the press."""
        change = comparison.changes[number]
        text = "".join(comparison.old.rows[change.old_start : change.old_end])
        region = sublime.Region(*comparison.new.region(change.new_start, change.new_end))
        typed = right.change_count() - count
        texts.replace_parts(right, [(region, text)])
        count = right.change_count() - typed
        self._reviews.refresh_review(right)
        is_left = len(comparison.changes) > 1
        if not is_left:
            _note_all_dropped(right)
        if is_left and goes_on:
            await self._go_on(right, change.new_start, count)
        return is_left

    async def drop_all(self, right: sublime.View) -> bool:
        """Drop all changes at once; nothing is asked, because undo brings them back. Gives whether
        any change is left."""
        record = self._waiting_record(right)
        if record is None:
            return False
        with self._cut_is_told(right):
            async with self._reviews.presses.take_place(record.id):
                return await self._drop_all(right)

    async def _drop_all(self, right: sublime.View) -> bool:
        comparison = await self._reviews.wait_for_comparison(right)
        if comparison is None or not comparison.changes:
            self._tell_if_over(right, comparison)
            return False
        if right.is_read_only():
            if self._reviews.has_digest(right):
                self._reviews.set_dropped(right, frozenset(comparison.keys))
            else:
                self._tell_about(right, FORGOTTEN)
            return False
        parts = [
            (
                sublime.Region(*comparison.new.region(change.new_start, change.new_end)),
                "".join(comparison.old.rows[change.old_start : change.old_end]),
            )
            for change in comparison.changes
        ]
        texts.replace_parts(right, parts)
        _note_all_dropped(right)
        self._reviews.refresh_review(right)
        return True

    def _drawn_now(self, right: sublime.View) -> Drawn | None:
        """What the user sees now; keys in links come from it."""
        review = self._reviews.review_of(right)
        return review.drawn if review is not None else None

    def _waiting_record(self, right: sublime.View) -> DiffRecord | None:
        """If nothing waits for a decision there, the user is told."""
        record = waiting_record(right)
        if record is None:
            self._tell(OVER.format(name_of(right)))
        return record

    @contextmanager
    def _cut_is_told(self, right: sublime.View) -> Iterator[_Press]:
        """A press is not lost silently if the diff closes before it is done."""
        name, press = name_of(right), _Press()
        try:
            yield press
        except GeneratorExit:
            if not press.is_done:
                self._tell(OVER.format(name))
            raise

    def _tell_if_over(self, right: sublime.View, comparison: Comparison | None) -> None:
        if comparison is None and waiting_record(right) is None:
            self._tell(OVER.format(name_of(right)))

    async def _meant_change(
        self, right: sublime.View, key: str | None, drawn: Drawn | None
    ) -> tuple[Comparison, int] | None:
        """The comparison of the present text, and the number, from 0, of the change that is meant
        by what was `drawn`. If there is none, gives None and tells the user."""
        comparison = await self._reviews.wait_for_comparison(right)
        if comparison is None:
            self._tell_if_over(right, comparison)
            return None
        if key is None:
            number = current_change(right, comparison)
        elif drawn is not None:
            number = drawn.number_in(comparison, right, key)
        else:
            number = comparison.keys.index(key) if key in comparison.keys else None
        if number is None:
            self._tell_about(right, NO_CHANGE if comparison.changes else NO_CHANGES)
            return None
        return comparison, number

    async def _go_on(self, right: sublime.View, row: int, count: int) -> None:
        """A change at the row was decided on: go to the next undecided one, if the user wants that
        and has not typed since the text had this change count."""
        window = right.window()
        if window is None or not settings.current_settings(window).keep_goes_on:
            return
        comparison = await self._reviews.wait_for_comparison(right)
        if comparison is None:
            return
        decided = seen_changes(right) | comparison.dropped
        undecided = [at for at, key in enumerate(comparison.keys) if key not in decided]
        below = [at for at in undecided if comparison.new_starts[at] >= row]
        if not undecided:
            self._tell_about(right, ALL_DECIDED)
            return
        # In a read-only view only the program makes changes.
        if right.change_count() != count and not right.is_read_only():
            return
        if not below:
            self._tell_about(right, ABOVE)
        show_change(right, comparison, (below or undecided)[0])
        self._reviews.drawing.draw_links(right)

    def _tell_about(self, right: sublime.View, sentence: str) -> None:
        self._tell(f"{name_of(right)}: {sentence}")

    async def _drop_of_large(
        self, right: sublime.View, comparison: Comparison, number: int, _count: int, goes_on: bool
    ) -> bool:
        """Drop a change in a view that has only the changed parts; or undo that. Gives whether any
        change is left."""
        review, key = self._reviews.review_of(right), comparison.keys[number]
        if review is None or review.digest is None:
            self._tell_about(right, FORGOTTEN)
            return True
        review.dropped ^= {key}
        # What is pressed next finds the view as it is then.
        await self._reviews.wait_for_comparison(right)
        is_left = len(review.dropped) < len(review.digest.shown.keys)
        if is_left and goes_on and key in review.dropped:
            await self._go_on(right, comparison.new_starts[number], right.change_count())
        return is_left


def _note_all_dropped(right: sublime.View) -> None:
    record = waiting_record(right)
    if record is not None:
        update_record(right, record, dropped_digest=text_digest(texts.text_of(right)))


async def ask_whether_to_reject(
    right: sublime.View, reject: Callable[[sublime.View], object]
) -> None:
    """No change of the proposal is left: ask what to do."""
    window, record = home_of(right), waiting_record(right)
    if window is None or record is None:
        return
    undo = "Take back" if right.is_read_only() else "Undo"
    name, detail = kind_of(record).offer
    first = [name, detail.format(record.proposer)]
    items = [first, ["Go on editing", f"{undo} brings the changes back."]]
    placeholder = f"{name_of(right)}: {ALL_DROPPED}"
    if await panels.ask_choice(window, items, placeholder) == 0:
        reject(right)
