"""What happens to the file while its diff waits: noticed, said at the head, and taken over into the
proposal where the user wants that; UI thread only."""

from __future__ import annotations

import os
from functools import partial
from typing import Callable, Mapping

import sublime

from ...base.merge import Merged
from ...ide.events import FileAsked, MergeAsked, StampsAsked
from ...ide.file_content import Original, Stamp
from ...ide.service import Companion
from .. import queues, texts
from . import pair
from .marks import CONFLICTS
from .queue import waiting_diffs
from .record import waiting
from .reviews import Review, Reviews

YOURS, THEIRS = "proposal", "your changes"
CHANGED_ON_DISK = "The file has changed on disk since the diff was opened."
UNSAVED = "The file has unsaved changes in another tab, which will conflict."
NOT_MERGED = 'Your changes could not be merged; "Gemini Companion: Show Log" tells more.'
MERGED = "Your changes are in the proposal now: look at it again, then accept."
MARKED = "Your changes are in the proposal; {} in conflict, between marks: settle them first."


class Conflicts:
    """Those of the diffs of one companion."""

    def __init__(self, companion: Companion, reviews: Reviews, tell: Callable[[str], None]) -> None:
        self._companion = companion
        self._reviews = reviews
        self._tell = tell
        self._is_looking = False
        # The files of waiting diffs, as of the last look; read by the worker, too.
        self._paths: frozenset[str] = frozenset()

    def modified(self, view: sublime.View) -> None:
        """The text of a view is another; on the worker."""
        path = view.file_name() if self._paths else None
        if path is not None and any(is_same_file(path, each) for each in self._paths):
            queues.on_ui_thread(self._look_at_tabs)

    def look(self) -> None:
        """Look whether files of waiting diffs are others now; to be called now and then."""
        self._look_at_tabs()
        if not self._paths or self._is_looking:
            return
        self._is_looking = True

        def reply(stamps: Mapping[str, Stamp]) -> None:
            """On the companion's thread."""
            queues.on_ui_thread(partial(self._compare, stamps))

        self._companion.post(StampsAsked(tuple(self._paths), reply))

    def _look_at_tabs(self) -> None:
        found = self._all()
        self._paths = frozenset(review.path for _right, review in found)
        for right, review in found:
            self._set(right, review, UNSAVED, texts.unsaved_view(review.path) is not None)

    def take_over(self, right: sublime.View, present: Original) -> None:
        """Merge what the user changed in the file into the proposal, as one edit that can be
        undone."""
        review = self._reviews.of(right)
        if review is None:
            return
        view = texts.unsaved_view(review.path)
        if view is None and present.note:
            self._tell(present.note)
            return
        theirs = present.text if view is None else texts.text_of(view)
        reply = partial(self._merge_made, right, present, right.change_count())
        event = MergeAsked(review.original, texts.text_of(right), theirs, (YOURS, THEIRS), reply)
        self._companion.post(event)

    def _merge_made(
        self, right: sublime.View, present: Original, count: int, found: Merged | None
    ) -> None:
        """On the companion's thread."""
        queues.on_ui_thread(partial(self._show_merged, right, present, count, found))

    def _show_merged(
        self, right: sublime.View, present: Original, count: int, found: Merged | None
    ) -> None:
        if waiting(right) is None:
            return
        if found is None:
            self._tell(NOT_MERGED)
            return
        if right.change_count() != count:
            # The user went on typing.
            self.take_over(right, present)
            return
        texts.replace(right, found.text)
        pair.show_original(right, present)
        self._reviews.begin(right, present.text)
        points = [sublime.Region(right.text_point(row, 0)) for row in found.conflicts]
        right.add_regions(CONFLICTS, points, "region.redish", "dot", sublime.HIDDEN)
        self._tell(MARKED.format(len(found.conflicts)) if found.conflicts else MERGED)

    def _all(self) -> list[tuple[sublime.View, Review]]:
        found = [(right, self._reviews.of(right)) for right in waiting_diffs()]
        return [(right, review) for right, review in found if review is not None]

    def _compare(self, stamps: Mapping[str, Stamp]) -> None:
        self._is_looking = False
        for right, review in self._all():
            now = [stamps[review.path]] if review.path in stamps else review.stamps
            if now != review.stamps:
                review.stamps = now
                reply = partial(self._read, right, review)
                self._companion.post(FileAsked(review.path, reply))

    def _read(self, right: sublime.View, review: Review, present: Original) -> None:
        """On the companion's thread."""
        queues.on_ui_thread(partial(self._was_read, right, review, present))

    def _was_read(self, right: sublime.View, review: Review, present: Original) -> None:
        record = waiting(right)
        if present.is_late:
            # Nobody knows: the next look asks again.
            review.stamps = []
        elif record is not None and self._reviews.of(right) is review:
            is_other = present.digest != record.file_digest
            self._set(right, review, CHANGED_ON_DISK, is_other)

    def _set(self, right: sublime.View, review: Review, note: str, is_so: bool) -> None:
        if (note in review.notes) == is_so:
            return
        review.notes = [it for it in review.notes if it != note] + ([note] if is_so else [])
        self._reviews.draw_head(right)
        if is_so:
            self._tell(note)


def is_same_file(path: str, other: str) -> bool:
    return os.path.normcase(path) == os.path.normcase(other)
