"""What happens to the file while its diff waits: noticed, said at the head, and taken over into the
proposal where the user wants that; UI thread only."""

from __future__ import annotations

from functools import partial
from typing import Callable, Mapping

import sublime

from ...base.merge import merged
from ...ide.events import FileAsked, StampsAsked
from ...ide.file_content import Original, Stamp
from ...ide.service import Companion
from .. import queues, texts
from . import pair
from .queue import waiting_diffs
from .record import waiting
from .reviews import Review, Reviews

CONFLICTS = "gemini_companion_conflicts"
YOURS, THEIRS = "proposal", "your changes"
CHANGED_ON_DISK = "The file has changed on disk since the diff was opened."
UNSAVED = "The file has unsaved changes in another tab, which will conflict."
MERGED = "Your changes are in the proposal now: look at it again, then accept."
MARKED = "Your changes are in the proposal; {} in conflict, between marks: settle them first."


class Conflicts:
    """Those of the diffs of one companion."""

    def __init__(self, companion: Companion, reviews: Reviews, tell: Callable[[str], None]) -> None:
        self._companion = companion
        self._reviews = reviews
        self._tell = tell
        self._is_looking = False

    def look(self) -> None:
        """Look whether files of waiting diffs are others now; to be called now and then."""
        found = {right: review for right, review in self._all()}
        for right, review in found.items():
            self._set(right, review, UNSAVED, unsaved_view(review.path) is not None)
        if not found or self._is_looking:
            return
        self._is_looking = True

        def reply(stamps: Mapping[str, Stamp]) -> None:
            """On the companion's thread."""
            queues.on_ui_thread(partial(self._compare, stamps))

        paths = tuple({review.path for review in found.values()})
        self._companion.post(StampsAsked(paths, reply))

    def take_over(self, right: sublime.View, present: Original) -> None:
        """Merge what the user changed in the file into the proposal, as one edit that can be
        undone."""
        review = self._reviews.of(right)
        if review is None:
            return
        view = unsaved_view(review.path)
        theirs = present.text if view is None else texts.text_of(view)
        found = merged(review.original, texts.text_of(right), theirs, YOURS, THEIRS)
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
        if record is not None and self._reviews.of(right) is review:
            is_other = present.digest != record.file_digest
            self._set(right, review, CHANGED_ON_DISK, is_other)

    def _set(self, right: sublime.View, review: Review, note: str, is_so: bool) -> None:
        if (note in review.notes) == is_so:
            return
        review.notes = [it for it in review.notes if it != note] + ([note] if is_so else [])
        self._reviews.draw_head(right)
        if is_so:
            self._tell(note)


def unsaved_view(path: str) -> sublime.View | None:
    """A tab in which the file has unsaved changes; None where there is none."""
    for window in sublime.windows():
        view = window.find_open_file(path)
        if view is not None and view.is_dirty():
            return view
    return None
