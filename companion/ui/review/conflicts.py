"""Changes of the file while its diff waits: noticed, reported at the head, and merged into the
proposal if the user wants that. UI thread only."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import Callable, NamedTuple, Tuple

import sublime

from ...base.answer import Unanswered
from ...base.comparison import Comparison, compare_texts
from ...base.digest import Digest
from ...base.file_content import Original
from ...base.merge import Merged, merge_texts
from ...base.text_digest import text_digest
from ...ide.companion import Companion
from ...ide.questions import FileStamps
from .. import file_reading, queues, texts
from ..stories import Stories, run_in_thread
from . import ending, pair, sight
from .open_diffs import undecided_diffs
from .record import DiffRecord, update_record, waiting_record
from .review import Review
from .reviews import Reviews

# The merged text, and its changes of the proposal.
Merge = Tuple[Merged, Comparison]

# Subjects of the notes at the head.
DISK, TAB, MARKS = "disk", "tab", "marks"
FORGOTTEN = "The whole proposal was lost at the restart: nothing can be merged into it."
NOT_MERGED = 'Your changes could not be merged; "Gemini Companion: Show Log" shows more.'
MERGED = "Your changes are in the proposal now: review it again, then accept."
LARGE_MERGED = "Your changes are in the proposal now. The only way to remove them is to reject it."
LARGE_CONFLICTS = (
    "Nothing was merged: your changes and the proposal conflict at {} places, and a text of this"
    " size cannot be edited here. Reject it, and ask the CLI to propose it again."
)


class Theirs(NamedTuple):
    """What the user made of the file. `tab_digest` is that of a text which only the file's tab has,
    empty for the text on disk."""

    text: str
    tab_digest: str = ""


class Conflicts:
    """Watches the files of the diffs of one companion."""

    def __init__(
        self,
        companion: Companion,
        stories: Stories,
        reviews: Reviews,
        tell: Callable[[str], None],
    ) -> None:
        self._companion = companion
        self._stories = stories
        self._reviews = reviews
        self._tell = tell
        self._is_looking = False
        # The files of waiting diffs at the last check; also read by the worker.
        self._paths: frozenset[str] = frozenset()

    def note_modified(self, view: sublime.View) -> None:
        """The text of a view has changed; called on the worker."""
        path = view.file_name() if self._paths else None
        if path is not None and any(is_same_file(path, each) for each in self._paths):
            queues.on_ui_thread(self._check_views)

    def look_for_changes(self) -> None:
        """Check whether files of waiting diffs have changed; to be called from time to time."""
        self._check_views()
        if self._paths and not self._is_looking:
            self._stories.begin(self._check_files())

    async def _check_files(self) -> None:
        self._is_looking = True
        try:
            stamps = await self._companion.ask(FileStamps(tuple(self._paths)))
        except Unanswered:
            # The next check asks again.
            return
        finally:
            self._is_looking = False
        for right, _record, review in self._all_reviews():
            now = [stamps[review.path]] if review.path in stamps else review.stamps
            if now != review.stamps:
                review.stamps = now
                self._stories.begin(self._check_file(right, review), right)

    async def _check_file(self, right: sublime.View, review: Review) -> None:
        present = await file_reading.read_content(review.path)
        record = waiting_record(right)
        if present.is_late:
            # It is not known: the next check asks again.
            review.stamps = []
        elif record is not None and self._reviews.review_of(right) is review:
            self._reviews.set_note(right, DISK, ending.what_changed(record, present))

    def _check_views(self) -> None:
        """Check the files' tabs, and the conflicts that are left in the diffs."""
        found = self._all_reviews()
        self._paths = frozenset(review.path for _right, _record, review in found)
        for right, record, review in found:
            marks = ending.conflicts_said(right) if record.has_conflicts else ""
            tab = ending.unsaved_sentence(record)
            for subject, sentence in ((TAB, tab), (MARKS, marks)):
                if review.notes.get(subject, "") != sentence:
                    self._reviews.set_note(right, subject, sentence)

    def can_take_over(self, right: sublime.View, present: Original) -> bool:
        """Whether the user has changed something in the file that can be merged into the
        proposal."""
        record, review = waiting_record(right), self._reviews.review_of(right)
        if record is None or review is None or not (record.is_whole or review.digest is not None):
            return False
        return _is_changed(record, present) or ending.unmerged_view(record) is not None

    async def take_over(self, right: sublime.View, present: Original) -> None:
        """Merge the user's changes in the file into the proposal: as one edit that can be undone;
        or, if only the changed parts are shown, into the text behind them. First those in its tab,
        then those on disk."""
        # Again, if the user continues to type meanwhile.
        is_over = False
        while not is_over:
            review, record = self._reviews.review_of(right), waiting_record(right)
            if review is None or record is None:
                return
            theirs = _read_theirs(record, present)
            if present.note and not theirs.tab_digest:
                self._tell(present.note)
                return
            if review.digest is not None:
                is_over = await self._merge_large(right, review, review.digest, theirs, present)
            elif right.is_read_only():
                self._tell(FORGOTTEN)
                return
            else:
                is_over = await self._merge_theirs(right, review, theirs, present)

    async def _merge_theirs(
        self, right: sublime.View, review: Review, theirs: Theirs, present: Original
    ) -> bool:
        """False if the text has changed meanwhile, or if there is more to merge."""
        count = right.change_count()
        work = partial(_compute_merge, review.original, texts.text_of(right), theirs.text)
        found = await run_in_thread(work)
        record = waiting_record(right)
        if record is None:
            return True
        if found is None:
            self._tell(NOT_MERGED)
            return True
        if right.change_count() != count:
            return False
        result, comparison = found
        # Change by change, so that comments and the caret stay in their places.
        texts.replace_rows(right, comparison)
        if theirs.tab_digest:
            record = update_record(right, record, unsaved_digest=theirs.tab_digest)
            self._reviews.refresh_review(right)
        else:
            pair.show_original(right, present)
            self._reviews.begin_review(right, present.text)
        if result.conflicts:
            await self._show_conflicts(right)
        elif theirs.tab_digest and _is_changed(record, present):
            return False
        else:
            self._tell(MERGED)
        return True

    async def _show_conflicts(self, right: sublime.View) -> None:
        """Report the conflicts, and go to the first one."""
        record = waiting_record(right)
        if record is not None:
            update_record(right, record, has_conflicts=True)
            self._reviews.set_note(right, MARKS, ending.conflicts_said(right))
        comparison = await self._reviews.wait_for_comparison(right)
        if comparison is None:
            return
        for region in ending.conflict_marks(right)[:1]:
            sight.show_row(right, comparison, right.rowcol(region.begin())[0])

    async def _merge_large(
        self,
        right: sublime.View,
        review: Review,
        before: Digest,
        theirs: Theirs,
        present: Original,
    ) -> bool:
        """False if other changes have been dropped meanwhile, or if there is more to merge."""
        dropped = review.dropped
        shown = before.whole.old.text if theirs.tab_digest else present.text
        found = await run_in_thread(partial(before.merged_with, theirs.text, shown, dropped))
        now, record = self._reviews.review_of(right), waiting_record(right)
        if now is None or record is None or now.digest is not before:
            return True
        if now.dropped != dropped:
            return False
        digest, conflicts = found if found is not None else (None, 0)
        if digest is not None:
            # The text no longer contains them, and other changes may have their keys.
            now.dropped = frozenset()
            is_more = bool(theirs.tab_digest) and _is_changed(record, present)
            if theirs.tab_digest:
                record = update_record(right, record, unsaved_digest=theirs.tab_digest)
                present = replace(present, text=shown, digest=record.file_digest)
            pair.show_digest(right, digest, present)
            self._reviews.begin_review(right, present.text, digest)
            if is_more:
                return False
        sentence = LARGE_MERGED if digest is not None else NOT_MERGED
        self._tell(LARGE_CONFLICTS.format(conflicts) if conflicts else sentence)
        return True

    def _all_reviews(self) -> list[tuple[sublime.View, DiffRecord, Review]]:
        all_views = (found for window in sublime.windows() for found in undecided_diffs(window))
        found = [(right, record, self._reviews.with_id(record.id)) for right, record in all_views]
        return [(right, record, review) for right, record, review in found if review is not None]


def _is_changed(record: DiffRecord, present: Original) -> bool:
    return present.exists and present.digest != record.file_digest


def _read_theirs(record: DiffRecord, present: Original) -> Theirs:
    view = ending.unmerged_view(record)
    if view is None:
        return Theirs(present.text)
    text = texts.text_of(view)
    return Theirs(text, text_digest(text))


def _compute_merge(base: str, proposal: str, theirs: str) -> Merge:
    result = merge_texts(base, proposal, theirs)
    return result, compare_texts(proposal, result.text)


def is_same_file(path: str, other: str) -> bool:
    return os.path.normcase(path) == os.path.normcase(other)
