"""Draws a review: the head, the links at the changes, and the changes in small steps. UI thread
only."""

from __future__ import annotations

from functools import partial
from typing import Callable, Collection, Mapping, Sequence

import sublime

from ...base.comparison import Comparison
from .. import queues
from . import comments, head, sight
from .marks import MAX_LINKS
from .open_diffs import is_unopened
from .record import seen_changes, waiting_record
from .review import Drawn, Review


class Drawing:
    """`review_of` gives the review of a diff, by its right view."""

    def __init__(self, review_of: Callable[[sublime.View], Review | None]) -> None:
        self._review_of = review_of

    def draw_all(self, right: sublime.View, review: Review, comparison: Comparison) -> None:
        """Draw everything again."""
        review.drawn = Drawn(comparison, right.change_id())
        if is_unopened(right):
            return
        review.current = sight.current_change(right, comparison)
        steps = review.marks.drawing_steps(comparison)
        self.draw_head(right)
        self._draw_later(right, review, comparison, [*steps, partial(self.draw_comments, right)])

    def follow_width(self, right: sublime.View) -> None:
        """The width of the views has changed."""
        review = self._review_of(right)
        self.draw_head(right)
        if review is None or review.comparison is None:
            return
        between = review.marks.between
        steps = between.drawing_steps(review.comparison) if between.is_measured else []
        self._draw_later(
            right, review, review.comparison, [*steps, partial(self.draw_comments, right)]
        )

    def _draw_later(
        self,
        right: sublime.View,
        review: Review,
        comparison: Comparison,
        steps: Sequence[Callable[[], None]],
    ) -> None:
        def draw_step(step: Callable[[], None]) -> None:
            if self._review_of(right) is review and review.comparison is comparison:
                step()

        for step in steps:
            # One by one, so that keystrokes come between.
            queues.on_ui_thread(partial(draw_step, step))

    def draw_head(self, right: sublime.View) -> None:
        """Draw the head of the proposal, and the links of its changes."""
        record, review = waiting_record(right), self._review_of(right)
        if record is None:
            return
        if review is None:
            head.draw_head(right, record)
            return
        head.draw_head(right, record, review.diff_summary(right), list(review.notes.values()))
        self.draw_links(right)

    def draw_links(self, right: sublime.View, is_scrolled: bool = False) -> None:
        """Draw the links of the changes; if there are many, of those in sight. The head shows which
        change is before the user's eyes. While the view `is_scrolled`, the head is drawn only if it
        is in sight, because drawing it moves all below it."""
        review = self._review_of(right)
        if review is None or review.comparison is None or is_unopened(right):
            return
        if review.change_count != right.change_count():
            # The changes may have moved, and are drawn again soon.
            return
        comparison = review.comparison
        current, is_head_in_sight = (
            sight.current_change(right, comparison),
            sight.is_head_in_sight(right),
        )
        if current != review.current and (is_head_in_sight or not is_scrolled):
            review.current = current
            self.draw_head(right)
            return
        numbers: Sequence[int] = range(len(comparison.changes))
        if len(numbers) > MAX_LINKS:
            numbers = sight.changes_in_sight(right, comparison)[:MAX_LINKS]
        record = waiting_record(right)
        decision: dict[int | None, list[str]] = {}
        if record is not None and not is_head_in_sight:
            decision[current] = list(head.decision_links(record).values())
        links = partial(_change_links, review, comparison, seen_changes(right), decision)
        review.marks.between.show_links(comparison, {number: links(number) for number in numbers})
        if review.digest is not None:
            self._draw_later(right, review, comparison, review.marks.steps_beside(comparison))

    def draw_comments(self, right: sublime.View) -> None:
        """Draw the user's comments below their lines."""
        review = self._review_of(right)
        if review is None or is_unopened(right):
            return
        comparison = review.comparison
        if comparison is None or review.change_count == right.change_count():
            review.marks.between.show_comments(
                comparison, comments.shown_comments(right, comparison)
            )


def _change_links(
    review: Review,
    comparison: Comparison,
    wanted: Collection[str],
    decision: Mapping[int | None, Sequence[str]],
    number: int,
) -> str:
    """The links above a change. `wanted` are the keys of the changes that the user has kept.
    `decision` are the links that decide on the diff, by the number of the change."""
    key = comparison.keys[number]
    keep, drop = (
        head.diff_link(name, command, id=review.id, change=key)
        for name, command in (("Keep", "keep_change"), ("Drop", "drop_change"))
    )
    parts = ["seen" if key in wanted else keep, drop]
    if key in comparison.dropped:
        parts = ["dropped", head.diff_link("Take back", "drop_change", id=review.id, change=key)]
    parts += decision.get(number, ())
    return "&nbsp; ".join([f"{number + 1} of {len(comparison.changes)}", *parts])
