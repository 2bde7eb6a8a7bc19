"""Changes of the file while its diff waits: noticed, reported at the head, and merged into the
proposal if the user wants that. UI thread only."""

from __future__ import annotations

import os
from functools import partial
from typing import Callable, Tuple

import sublime

from ...base.answer import Unanswered
from ...base.comparison import Comparison, compare
from ...base.digest import Digest
from ...base.merge import Merged, merged
from ...ide.file_content import Original
from ...ide.questions import FileStamps
from ...ide.service import Companion
from .. import file_reading, queues, texts
from ..stories import Stories, computed
from . import ending, pair, sight
from .open_diffs import diffs
from .record import DiffRecord, update, waiting
from .review import Review
from .reviews import Reviews

# The merged text, and its changes of the proposal.
Merge = Tuple[Merged, Comparison]

THEIRS = "your changes"
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

    def modified(self, view: sublime.View) -> None:
        """The text of a view has changed; called on the worker."""
        path = view.file_name() if self._paths else None
        if path is not None and any(is_same_file(path, each) for each in self._paths):
            queues.on_ui_thread(self._check_views)

    def look(self) -> None:
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
        for right, _record, review in self._all():
            now = [stamps[review.path]] if review.path in stamps else review.stamps
            if now != review.stamps:
                review.stamps = now
                self._stories.begin(self._check_file(right, review), right)

    async def _check_file(self, right: sublime.View, review: Review) -> None:
        present = await file_reading.content(review.path)
        record = waiting(right)
        if present.is_late:
            # It is not known: the next check asks again.
            review.stamps = []
        elif record is not None and self._reviews.of(right) is review:
            self._reviews.say(right, DISK, ending.what_changed(record, present))

    def _check_views(self) -> None:
        """Check the files' tabs, and the conflicts that are left in the diffs."""
        found = self._all()
        self._paths = frozenset(review.path for _right, _record, review in found)
        for right, record, review in found:
            marks = ending.conflicts_said(right) if record.has_conflicts else ""
            for subject, sentence in ((TAB, ending.unsaved(review.path)), (MARKS, marks)):
                if review.notes.get(subject, "") != sentence:
                    self._reviews.say(right, subject, sentence)

    def can_take_over(self, right: sublime.View, present: Original) -> bool:
        """Whether the user has changed something in the file that can be merged into the
        proposal."""
        record, review = waiting(right), self._reviews.of(right)
        if record is None or review is None or not (record.is_whole or review.digest is not None):
            return False
        is_changed = present.exists and present.digest != record.file_digest
        return is_changed or texts.unsaved_view(record.path) is not None

    async def take_over(self, right: sublime.View, present: Original) -> None:
        """Merge the user's changes in the file into the proposal: as one edit that can be undone;
        or, if only the changed parts are shown, into the text behind them."""
        # Again, if the user continues to type meanwhile.
        is_over = False
        while not is_over:
            review = self._reviews.of(right)
            if review is None:
                return
            view = texts.unsaved_view(review.path)
            if view is None and present.note:
                self._tell(present.note)
                return
            theirs = present.text if view is None else texts.text_of(view)
            if review.digest is not None:
                is_over = await self._merge_large(right, review, review.digest, theirs, present)
            elif right.is_read_only():
                self._tell(FORGOTTEN)
                return
            else:
                is_over = await self._merge(right, review, theirs, present)

    async def _merge(
        self, right: sublime.View, review: Review, theirs: str, present: Original
    ) -> bool:
        """False if the text has changed meanwhile."""
        count = right.change_count()
        found = await computed(partial(_merge, review.original, texts.text_of(right), theirs))
        record = waiting(right)
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
        pair.show_original(right, present)
        self._reviews.begin(right, present.text)
        if result.conflicts:
            await self._show_conflicts(right)
        else:
            self._tell(MERGED)
        return True

    async def _show_conflicts(self, right: sublime.View) -> None:
        """Report the conflicts, and go to the first one."""
        record = waiting(right)
        if record is not None:
            update(right, record, has_conflicts=True)
            self._reviews.say(right, MARKS, ending.conflicts_said(right))
        comparison = await self._reviews.comparison(right)
        if comparison is None:
            return
        for region in ending.conflicts(right)[:1]:
            sight.show_row(right, comparison, right.rowcol(region.begin())[0])

    async def _merge_large(
        self, right: sublime.View, review: Review, before: Digest, theirs: str, present: Original
    ) -> bool:
        """False if other changes have been dropped meanwhile."""
        dropped = review.dropped
        work = partial(before.merged_with, theirs, present.text, dropped)
        found = await computed(work)
        now = self._reviews.of(right)
        if now is None or now.digest is not before:
            return True
        if now.dropped != dropped:
            return False
        digest, conflicts = found if found is not None else (None, 0)
        if digest is not None:
            # The text no longer contains them, and other changes may have their keys.
            now.dropped = frozenset()
            pair.show_digest(right, digest, present)
            self._reviews.begin(right, present.text, digest)
        sentence = LARGE_MERGED if digest is not None else NOT_MERGED
        self._tell(LARGE_CONFLICTS.format(conflicts) if conflicts else sentence)
        return True

    def _all(self) -> list[tuple[sublime.View, DiffRecord, Review]]:
        all_views = (found for window in sublime.windows() for found in diffs(window))
        found = [(right, record, self._reviews.with_id(record.id)) for right, record in all_views]
        return [(right, record, review) for right, record, review in found if review is not None]


def _merge(base: str, proposal: str, theirs: str) -> Merge:
    result = merged(base, proposal, theirs, ending.YOURS, THEIRS)
    return result, compare(proposal, result.text)


def is_same_file(path: str, other: str) -> bool:
    return os.path.normcase(path) == os.path.normcase(other)
