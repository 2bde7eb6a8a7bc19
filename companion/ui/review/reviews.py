"""The reviews under way: of each diff its changes, and which of them the user has seen.

All of it is made of the diff's two texts, and anew after a restart; which diffs there are, only
their records say (`record`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Callable, Sequence

import sublime

from ...base.comparison import Comparison
from ...ide.events import ComparisonAsked
from ...ide.file_content import Stamp
from ...ide.service import Companion
from .. import queues, texts
from . import head, sight
from .links import link
from .lookup import diffs, partner, with_id
from .marks import MAX_LINKS, Marks
from .record import waiting

# Milliseconds without a keystroke in a proposal after which its changes are computed again.
AT_REST = 200


@dataclass(frozen=True)
class Comment:
    """What the user says of the rows `first` to `last` of the proposal, both counted from 0."""

    first: int
    last: int
    text: str


@dataclass
class Review:
    """One diff. `comparison` is that of the proposal as of `change_count`, None until the first one
    is there. `seen` has the keys of the changes that the user wants."""

    id: str
    path: str
    original: str
    marks: Marks
    comparison: Comparison | None = None
    change_count: int = -1
    is_computing: bool = False
    seen: set[str] = field(default_factory=set)
    comments: list[Comment] = field(default_factory=list)
    # What has to be said at the head, and the stamp of the file at the last look, if there was one.
    notes: list[str] = field(default_factory=list)
    stamps: list[Stamp] = field(default_factory=list)
    # What is to be done once the comparison is that of the text as it is.
    pending: list[Callable[[Comparison], None]] = field(default_factory=list)

    @property
    def summary(self) -> head.Summary | None:
        comparison = self.comparison
        if comparison is None:
            return None
        added, removed = comparison.counts
        return head.Summary(
            added, removed, len(comparison.changes), len(self.seen.intersection(comparison.keys))
        )


class Reviews:
    """Those of one companion, by the ids of their diffs; on the UI thread, unless a method says
    otherwise."""

    def __init__(self, companion: Companion) -> None:
        self._companion = companion
        self._reviews: dict[str, Review] = {}

    def begin(self, right: sublime.View, original: str) -> None:
        """Review the proposal against this text, from now on."""
        record = waiting(right)
        if record is None or not record.is_compared:
            return
        ended = [id for id in self._reviews if with_id(id) is None]
        for id in ended:
            del self._reviews[id]
        review = Review(record.id, record.path, original, Marks(partner(right), right))
        older = self._reviews.get(record.id)
        if older is not None:
            review.seen, review.comments = older.seen, older.comments
        self._reviews[record.id] = review
        self._compute(right, review)

    def resume(self, window: sublime.Window) -> None:
        """Review the diffs that came back with the window."""
        for right in diffs(window):
            left = partner(right)
            if left.is_valid():
                self.begin(right, texts.text_of(left))

    def of(self, right: sublime.View) -> Review | None:
        record = waiting(right)
        return self._reviews.get(record.id) if record is not None else None

    def modified(self, view: sublime.View) -> None:
        """The text of a view is another; on the worker."""
        if waiting(view) is not None:
            count = view.change_count()
            queues.on_worker(partial(self._if_at_rest, view, count), AT_REST)

    def _if_at_rest(self, view: sublime.View, count: int) -> None:
        """On the worker."""
        if view.is_valid() and view.change_count() == count:
            queues.on_ui_thread(partial(self.refresh, view))

    def refresh(self, view: sublime.View) -> None:
        """Compute the changes again, if the text is another."""
        review = self.of(view)
        if review is not None and review.change_count != view.change_count():
            self._compute(view, review)

    def with_comparison(self, view: sublime.View, work: Callable[[Comparison], None]) -> None:
        """Do the work with the comparison of the text as it is, now or as soon as there is one;
        never, where the diff is decided before."""
        review = self.of(view)
        if review is None:
            return
        if review.comparison is not None and review.change_count == view.change_count():
            work(review.comparison)
            return
        review.pending.append(work)
        self._compute(view, review)

    def saw(self, view: sublime.View, key: str) -> None:
        """The user wants the change of that key."""
        review = self.of(view)
        if review is not None:
            review.seen.add(key)
            self.draw_head(view)

    def _compute(self, right: sublime.View, review: Review) -> None:
        if review.is_computing:
            # What comes of it is looked at again, should the text be another by then.
            return
        review.is_computing = True
        count = right.change_count()

        def reply(comparison: Comparison) -> None:
            """On the companion's thread."""
            queues.on_ui_thread(partial(self._computed, right, review, count, comparison))

        self._companion.post(ComparisonAsked(review.original, texts.text_of(right), reply))

    def _computed(
        self, right: sublime.View, review: Review, count: int, comparison: Comparison
    ) -> None:
        review.is_computing = False
        if self.of(right) is not review:
            return
        review.comparison, review.change_count = comparison, count
        if right.change_count() != count:
            # Keystrokes that come now are waited for, unless somebody waits for this.
            if review.pending:
                self._compute(right, review)
            return
        self._draw(right, review, comparison)
        pending, review.pending = review.pending, []
        for work in pending:
            work(comparison)

    def _draw(self, right: sublime.View, review: Review, comparison: Comparison) -> None:
        parts = review.marks.draw(comparison)
        self.draw_head(right)
        for part in parts:
            # One by one, so that keystrokes come between.
            queues.on_ui_thread(partial(self._draw_fillers, right, review, comparison, part))

    def _draw_fillers(
        self, right: sublime.View, review: Review, comparison: Comparison, part: int
    ) -> None:
        if self.of(right) is review and review.comparison is comparison:
            review.marks.draw_fillers(comparison, part)

    def draw_head(self, right: sublime.View) -> None:
        """Show what is at the head of the proposal, and the links of its changes."""
        record, review = waiting(right), self.of(right)
        if record is not None:
            notes = review.notes if review is not None else []
            head.draw(right, record, review.summary if review is not None else None, notes)
            self.draw_links(right)

    def draw_links(self, right: sublime.View) -> None:
        """Show the links of the changes; of many, of those in sight."""
        review = self.of(right)
        if review is None or review.comparison is None:
            return
        comparison = review.comparison
        numbers: Sequence[int] = range(len(comparison.changes))
        if len(numbers) > MAX_LINKS:
            numbers = sight.changes_in_sight(right, comparison)[:MAX_LINKS]
        review.marks.draw_links([self._links(review, comparison, it) for it in numbers])

    def _links(self, review: Review, comparison: Comparison, number: int) -> tuple[int, str]:
        """The point of a change in the proposal, and what stands there."""
        key = comparison.keys[number]
        parts = [
            f"{number + 1} of {len(comparison.changes)}",
            "seen" if key in review.seen else link("Keep", "keep_change", id=review.id, change=key),
            link("Drop", "drop_change", id=review.id, change=key),
        ]
        point = comparison.new.starts[comparison.new_row(number)]
        return point, " &nbsp; ".join(parts)
