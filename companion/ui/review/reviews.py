"""The reviews under way: of each diff its changes, and which of them the user has seen.

All of it is made of the diff's two texts, and anew after a restart; which diffs there are, only
their records say (`record`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Callable, Sequence

import sublime

from ...base.comparison import Comparison, compare
from ...base.digest import Compared, Digest
from ...ide.events import ComparisonAsked, FileAsked
from ...ide.file_content import Original, Stamp
from ...ide.service import Companion
from .. import queues, texts
from . import head, large, pair, sight
from .links import link
from .lookup import diffs, partner, with_id
from .marks import MAX_LINKS, Marks
from .record import update, waiting

# Code points of large texts that are held for all diffs: of more, only the beginning is shown.
MAX_HELD = 256 * 1024 * 1024
FAILED = 'The changes could not be computed; "Gemini Companion: Show Log" tells more.'
LOST = "What you dropped was forgotten at the restart: accepted, the whole proposal is written."


@dataclass(frozen=True)
class Comment:
    """What the user says of the rows `first` to `last` of the proposal, both counted from 0."""

    first: int
    last: int
    text: str


@dataclass
class Review:
    """One diff. `comparison` is that of the proposal as of `change_count`, None until the first one
    is there. `seen` has the keys of the changes that the user wants.

    Of large texts the views have a `digest`; `dropped` are the keys of the changes that the user
    does not want, and `text` is the whole new text without those that are dropped in `comparison`,
    None where none is."""

    id: str
    path: str
    original: str
    marks: Marks
    comparison: Comparison | None = None
    change_count: int = -1
    is_computing: bool = False
    seen: set[str] = field(default_factory=set)
    comments: list[Comment] = field(default_factory=list)
    # The number, from 0, of the change that is before the user's eyes.
    current: int | None = None
    digest: Digest | None = None
    dropped: frozenset[str] = frozenset()
    text: str | None = None
    # What has to be said at the head, and the stamp of the file at the last look, if there was one.
    notes: list[str] = field(default_factory=list)
    stamps: list[Stamp] = field(default_factory=list)
    # What is to be done once the comparison is that of the text as it is.
    pending: list[Callable[[Comparison], None]] = field(default_factory=list)

    def is_current(self, right: sublime.View) -> bool:
        """Whether the comparison is that of the proposal as it is."""
        if self.comparison is None:
            return False
        if self.digest is not None:
            return self.comparison.dropped == self.dropped
        return self.change_count == right.change_count()

    @property
    def summary(self) -> head.Summary | None:
        comparison = self.comparison
        if comparison is None:
            return None
        added, removed = comparison.counts
        seen = len(self.seen.intersection(comparison.keys))
        dropped = len(comparison.dropped)
        return head.Summary(added, removed, len(comparison.changes), seen, self.current, dropped)


def _compared(old: str, new: str) -> Compared:
    return compare(old, new), None


class Reviews:
    """Those of one companion, by the ids of their diffs; on the UI thread, unless a method says
    otherwise."""

    def __init__(self, companion: Companion) -> None:
        self._companion = companion
        self._reviews: dict[str, Review] = {}

    def begin(self, right: sublime.View, original: str, digest: Digest | None = None) -> None:
        """Review the proposal against this text, from now on; of large texts the views show the
        digest."""
        self.forget_ended()
        record = waiting(right)
        if record is None or not record.is_compared:
            return
        older = self._reviews.get(record.id)
        review = Review(record.id, record.path, original, Marks(partner(right), right))
        review.digest = digest
        if older is not None:
            review.seen, review.comments = older.seen, older.comments
            review.notes, review.pending = older.notes, older.pending
            review.dropped = older.dropped.intersection(digest.shown.keys if digest else ())
        elif record.has_drops:
            review.notes.append(LOST)
        self._reviews[record.id] = review
        self._compute(right, review)

    def stop(self) -> None:
        """Review nothing any more. The next start draws all anew, and what stands between the lines
        would be there twice."""
        reviews, self._reviews = self._reviews, {}
        for review in reviews.values():
            review.marks.erase_between()

    def forget_ended(self) -> None:
        """Hold nothing of diffs that are decided."""
        for id in [id for id in self._reviews if with_id(id) is None]:
            del self._reviews[id]

    def has_room_for(self, digest: Digest | None) -> bool:
        """Whether the texts of one more large diff can be held."""
        self.forget_ended()
        digests = [digest, *(review.digest for review in self._reviews.values())]
        return sum(it.size for it in digests if it is not None) <= MAX_HELD

    def resume(self, window: sublime.Window) -> None:
        """Review the diffs that came back with the window."""
        for right in diffs(window):
            record, left = waiting(right), partner(right)
            if left.is_valid():
                self.begin(right, texts.text_of(left))
            elif record is not None and record.is_whole:
                # The original stands in no view: it is read again.
                reply = partial(self._read, right)
                self._companion.post(FileAsked(record.path, reply))

    def _read(self, right: sublime.View, present: Original) -> None:
        """On the companion's thread."""
        queues.on_ui_thread(partial(self._was_read, right, present))

    def _was_read(self, right: sublime.View, present: Original) -> None:
        if waiting(right) is not None and self.of(right) is None:
            pair.compare(right, present)
            self.begin(right, present.text)

    def of(self, right: sublime.View) -> Review | None:
        record = waiting(right)
        return self._reviews.get(record.id) if record is not None else None

    def refresh(self, view: sublime.View) -> None:
        """Compute the changes again, if the text is another."""
        review = self.of(view)
        if review is not None and not review.is_current(view):
            self._compute(view, review)

    def with_comparison(self, view: sublime.View, work: Callable[[Comparison], None]) -> None:
        """Do the work with the comparison of the text as it is, now or as soon as there is one;
        never, where the diff is decided before."""
        review = self.of(view)
        if review is None:
            return
        if review.comparison is not None and review.is_current(view):
            work(review.comparison)
            return
        review.pending.append(work)
        self._compute(view, review)

    def saw(self, view: sublime.View, key: str) -> None:
        """The user wants the change of that key."""
        review = self.of(view)
        if review is not None:
            review.seen.add(key)
            review.dropped -= {key}
            self.refresh(view)
            self.draw_head(view)

    def _compute(self, right: sublime.View, review: Review) -> None:
        if review.is_computing:
            # What comes of it is looked at again, should the text be another by then.
            return
        review.is_computing = True
        count = right.change_count()

        def reply(compared: Compared | None) -> None:
            """On the companion's thread."""
            queues.on_ui_thread(partial(self._computed, right, review, count, compared))

        if review.digest is not None:
            compute = partial(review.digest.without, review.dropped)
        else:
            compute = partial(_compared, review.original, texts.text_of(right))
        self._companion.post(ComparisonAsked(compute, reply))

    def _computed(
        self, right: sublime.View, review: Review, count: int, compared: Compared | None
    ) -> None:
        review.is_computing = False
        if self.of(right) is not review:
            return
        if compared is None:
            review.pending.clear()
            review.notes.append(FAILED)
            self.draw_head(right)
            return
        comparison, text = compared
        if review.digest is not None:
            count = _show_dropped(right, review, comparison)
        review.comparison, review.change_count, review.text = comparison, count, text
        if not review.is_current(right):
            # Keystrokes that come now are waited for, unless somebody waits for this.
            if review.pending or review.digest is not None:
                self._compute(right, review)
            return
        self._draw(right, review, comparison)
        pending, review.pending = review.pending, []
        for work in pending:
            work(comparison)

    def _draw(self, right: sublime.View, review: Review, comparison: Comparison) -> None:
        review.current = sight.current(right, comparison)
        steps = review.marks.steps(comparison)
        self.draw_head(right)
        self._draw_later(right, review, comparison, steps)

    def widened(self, right: sublime.View) -> None:
        """The views are wider now, or less wide."""
        review = self.of(right)
        if review is not None and review.comparison is not None and review.marks.is_measured:
            steps = review.marks.steps_between(review.comparison)
            self._draw_later(right, review, review.comparison, steps)

    def _draw_later(
        self,
        right: sublime.View,
        review: Review,
        comparison: Comparison,
        steps: Sequence[Callable[[], None]],
    ) -> None:
        def draw(step: Callable[[], None]) -> None:
            if self.of(right) is review and review.comparison is comparison:
                step()

        for step in steps:
            # One by one, so that keystrokes come between.
            queues.on_ui_thread(partial(draw, step))

    def draw_head(self, right: sublime.View) -> None:
        """Show what is at the head of the proposal, and the links of its changes."""
        record, review = waiting(right), self.of(right)
        if record is not None:
            notes = review.notes if review is not None else []
            head.draw(right, record, review.summary if review is not None else None, notes)
            self.draw_links(right)

    def draw_links(self, right: sublime.View) -> None:
        """Show the links of the changes; of many, of those in sight. At the head, the one that is
        before the user's eyes is counted."""
        review = self.of(right)
        if review is None or review.comparison is None:
            return
        if review.change_count != right.change_count():
            # The changes may stand elsewhere now, and are drawn again soon.
            return
        comparison = review.comparison
        current = sight.current(right, comparison)
        if current != review.current:
            review.current = current
            self.draw_head(right)
            return
        numbers: Sequence[int] = range(len(comparison.changes))
        if len(numbers) > MAX_LINKS:
            numbers = sight.changes_in_sight(right, comparison)[:MAX_LINKS]
        review.marks.draw_links([_links(review, comparison, it) for it in numbers])


def _show_dropped(right: sublime.View, review: Review, comparison: Comparison) -> int:
    """Gives the change count of the view then."""
    record = waiting(right)
    if review.digest is not None and record is not None:
        large.show_dropped(right, review.comparison or review.digest.shown, comparison)
        update(right, record, has_drops=bool(comparison.dropped))
    return right.change_count()


def _links(review: Review, comparison: Comparison, number: int) -> tuple[int, str]:
    """The point of a change in the proposal, and what stands there."""
    key = comparison.keys[number]
    keep, drop = (
        link(name, command, id=review.id, change=key)
        for name, command in (("Keep", "keep_change"), ("Drop", "drop_change"))
    )
    parts = ["seen" if key in review.seen else keep, drop]
    if key in comparison.dropped:
        parts = [link("Take back", "drop_change", id=review.id, change=key)]
    if number == review.current:
        # The head may be out of sight.
        parts += head.decision_links(review.id)
    point = comparison.new.starts[comparison.new_row(number)]
    return point, " &nbsp; ".join([f"{number + 1} of {len(comparison.changes)}", *parts])
