"""The reviews of all diffs: when a text changes, its changes are computed again.

All of it is made from the diff's two texts, and made again after a restart; only the records of the
diffs say which there are (`record`).
"""

from __future__ import annotations

import os
from functools import partial
from typing import Callable, Iterable

import sublime

from ...base.answer import Answer
from ...base.comparison import Comparison, compare_texts
from ...base.digest import Compared, Digest
from ...base.signal import Signal, ValueSignal
from .. import file_reading, queues, texts
from ..presses import Presses
from ..stories import Stories, run_in_thread
from . import large, pair
from .diff_kinds import kind_of
from .drawing import Drawing
from .marks import Marks
from .open_diffs import diff_ids, ids_anywhere, partner_view, undecided_diffs
from .record import DiffRecord, add_seen, set_seen, update_record, waiting_record
from .review import Review

# Code points of large texts that are kept for all diffs; beyond this, only the beginning is shown.
MAX_HELD = 256 * 1024 * 1024
FAILED = 'The changes could not be computed; "Gemini Companion: Show Log" shows more.'
OVER = "{} was decided on before: what was pressed after that changes nothing."
LOST = (
    "What you dropped or merged was lost at the restart: if you accept the proposal, it is written"
    " as it came."
)


class Reviews:
    """The reviews of one companion, by the ids of their diffs. UI thread only."""

    def __init__(self, stories: Stories, tell: Callable[[str], None]) -> None:
        self._stories = stories
        self._tell = tell
        self._reviews: dict[str, Review] = {}
        # The user's presses on diffs and on sheets of them.
        self.presses = Presses(tell)
        # Hundreds can be decided together.
        self.forget_soon = queues.Once(lambda: self.forget_ended())
        self.drawing = Drawing(self.review_of)
        # There are other changes, or other notes about them.
        self.updates = Signal()
        # The diff with this id has come before the user's eyes: it has got tabs, or was gone to.
        self.arrivals = ValueSignal[str]()
        # The diff with this id is not there any more.
        self.ends = ValueSignal[str]()

    def begin_review(
        self, right: sublime.View, original: str, digest: Digest | None = None
    ) -> None:
        """Review the proposal against this text from now on. For large texts the views show the
        digest."""
        record = waiting_record(right)
        if record is None:
            return
        older = self._reviews.get(record.id)
        if not record.is_unopened and (older is None or older.marks.right != right):
            self.arrivals.emit(record.id)
        review = Review(record.id, record.path, original, Marks(partner_view(right), right))
        review.is_compared, review.digest = record.is_compared, digest
        if older is not None:
            review.notes, review.taken_over = older.notes, older.taken_over
            review.dropped = older.dropped.intersection(digest.shown.keys if digest else ())
        elif record.has_drops:
            review.notes["lost"] = LOST
        self._reviews[record.id] = review
        if review.is_compared:
            self._compute_changes(right, review)
        else:
            self.drawing.draw_comments(right)
            self.updates.emit()

    def stop(self) -> None:
        """Stop all reviews. The next start draws everything again; the phantoms between the lines
        would otherwise be there twice."""
        reviews, self._reviews = self._reviews, {}
        for review in reviews.values():
            review.marks.erase_between()

    def forget_ended(self) -> None:
        """Forget the reviews of diffs that are decided; to be called from time to time as well, for
        those that have made way for newer ones."""
        ended = self._reviews.keys() - diff_ids()
        # To look at all tabs takes long, so that is done only where something seems to be over.
        ended = ended and ended - ids_anywhere()
        for id in ended:
            del self._reviews[id]
            self.ends.emit(id)
        if ended:
            self.updates.emit()

    def has_room_for(self, digest: Digest) -> bool:
        """Whether the texts of one more large diff can be kept."""
        self.forget_ended()
        digests = [digest, *(review.digest for review in self._reviews.values())]
        return sum(each.size for each in digests if each is not None) <= MAX_HELD

    def resume_reviews(self, window: sublime.Window) -> None:
        """Review the diffs that came back with the window."""
        for right, record in list(undecided_diffs(window)):
            left = partner_view(right)
            if left.is_valid():
                self.begin_review(right, texts.text_of(left))
            elif record.is_whole and not kind_of(record).is_made:
                # The original is not in a view.
                self._stories.begin(self.read_again(right, record.path), right)

    async def read_again(self, right: sublime.View, path: str) -> None:
        """Begin the review of a diff whose original is in no view, if it has none yet."""
        present = await file_reading.read_content(path)
        record = waiting_record(right)
        if record is not None and self.review_of(right) is None:
            pair.compare_with(right, record, present)
            self.begin_review(right, present.text)

    def review_of(self, right: sublime.View) -> Review | None:
        record = waiting_record(right)
        return self._reviews.get(record.id) if record is not None else None

    def with_id(self, id: str) -> Review | None:
        """The review of the diff with the id."""
        return self._reviews.get(id)

    def refresh_review(self, view: sublime.View) -> None:
        """Compute the changes again, if the text has changed."""
        review = self.review_of(view)
        if review is not None and review.is_compared and not review.is_current(view):
            self._compute_changes(view, review)

    async def wait_for_comparison(self, view: sublime.View) -> Comparison | None:
        """The comparison of the present text, now or once there is one. None if the diff is decided
        before, or if there can be none; then the user is told."""
        while True:
            review, record = self.review_of(view), waiting_record(view)
            if record is None:
                return None
            if review is None or not review.is_compared:
                self._tell(not_compared(record))
                return None
            if review.comparison is not None and review.is_current(view):
                return review.comparison
            if not await self._compute_changes(view, review):
                self._tell(FAILED)
                return None

    def is_compared(self, view: sublime.View) -> bool:
        """Whether the diff has changes, known already or not."""
        review = self.review_of(view)
        return review is not None and review.is_compared

    def set_note(self, view: sublime.View, subject: str, sentence: str) -> None:
        """Show the sentence at the head, in place of an earlier one on the subject; empty for
        none."""
        review = self.review_of(view)
        if review is None or review.notes.get(subject, "") == sentence:
            return
        review.notes.pop(subject, None)
        if sentence:
            review.notes[subject] = sentence
            self._tell(sentence)
        self.drawing.draw_head(view)
        self.updates.emit()

    def set_seen(self, view: sublime.View, keys: Iterable[str]) -> None:
        """The user wants the changes of these keys, and has not seen the others."""
        set_seen(view, keys)
        self.drawing.draw_head(view)
        self.updates.emit()

    def has_digest(self, view: sublime.View) -> bool:
        """Whether the view has only the changed parts of texts that are known."""
        review = self.review_of(view)
        return review is not None and review.digest is not None

    def set_dropped(self, view: sublime.View, keys: frozenset[str]) -> None:
        """They do not want those of these keys; of a review with a digest."""
        review = self.review_of(view)
        if review is not None:
            review.dropped = keys
            self.refresh_review(view)

    def mark_change_seen(self, view: sublime.View, key: str) -> None:
        """The user wants the change of that key."""
        review = self.review_of(view)
        if review is not None:
            add_seen(view, key)
            review.dropped -= {key}
            self.refresh_review(view)
            self.drawing.draw_head(view)
            self.updates.emit()

    def _compute_changes(self, right: sublime.View, review: Review) -> Answer[bool]:
        """Compute the changes, unless that is being done. Gives False if it fails; if it succeeds,
        the text may have changed meanwhile."""
        if review.computing is None:
            computing = review.computing = Answer[bool]()
            self._stories.begin(self._run_comparison(right, review, computing), right)
            return computing
        return review.computing

    async def _run_comparison(
        self, right: sublime.View, review: Review, computing: Answer[bool]
    ) -> None:
        try:
            count = right.change_count()
            compared = await run_in_thread(_comparison_work(right, review))
            if self.review_of(right) is not review:
                return
            if compared is None:
                computing.give(False)
                review.notes["failed"] = FAILED
                self.drawing.draw_head(right)
            else:
                self._show_comparison(right, review, count, compared)
        finally:
            review.computing = None
            computing.give(True)
        # Further keystrokes are waited for, unless a story waits for this.
        if review.digest is not None and compared is not None and not review.is_current(right):
            self._compute_changes(right, review)

    def _show_comparison(
        self, right: sublime.View, review: Review, count: int, compared: Compared
    ) -> None:
        review.notes.pop("failed", None)
        comparison, text = compared
        if review.digest is not None:
            count = _show_dropped(right, review, comparison)
        review.comparison, review.change_count, review.text = comparison, count, text
        if review.is_current(right):
            self.drawing.draw_all(right, review, comparison)
            self.updates.emit()


def _comparison_work(right: sublime.View, review: Review) -> Callable[[], Compared]:
    if review.digest is not None:
        return partial(review.digest.without_changes, review.dropped)
    old, new = review.original, texts.text_of(right)
    return lambda: (compare_texts(old, new), None)


def not_compared(record: DiffRecord) -> str:
    """Why a diff has no changes to go to, keep or drop, and what to do."""
    why = f"The proposal for {os.path.basename(record.path)} is "
    if record.is_whole:
        why += f"not compared with the file ({record.original_state})."
    else:
        why += "shown in part only."
    return f"{why} Accept it or reject it as a whole."


def _show_dropped(right: sublime.View, review: Review, comparison: Comparison) -> int:
    """Gives the change count of the view afterwards."""
    record = waiting_record(right)
    if review.digest is not None and record is not None:
        large.show_dropped(right, review.comparison or review.digest.shown, comparison)
        update_record(right, record, has_drops=bool(comparison.dropped) or review.digest.is_merged)
    return right.change_count()
