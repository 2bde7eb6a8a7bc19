"""Which edits of chats have stood in a sheet of changes before the user's eyes. UI thread only."""

from __future__ import annotations

from typing import Collection

import sublime

from ..changes.sheet import ChangeSheet
from ..review.record import DiffRecord, waiting_record
from ..review.reviews import Reviews
from .question_sight import FullKey, Sight, visible_part

# In the keys of what was seen, for a section of a sheet.
SECTION = "section"


class SectionSight:
    """The edits that one companion's sheets have shown as wholes, and for a while. `sight` has how
    much of each."""

    def __init__(self, reviews: Reviews, sight: Sight) -> None:
        self._reviews = reviews
        self._sight = sight
        # The lengths of the sections that were in sight, when they were so last.
        self._lengths: dict[FullKey, int] = {}

    def look_at(self, sheet: ChangeSheet, view: sublime.View) -> None:
        """Note what is in sight of the view of the sheet; to be called again and again."""
        visible, model = visible_part(view), sheet.model
        if visible is None or view.size() != model.points[-1]:
            # Something was typed that is not taken yet.
            return
        first = model.section_at(model.row_at(visible.begin()))
        last = model.section_at(model.row_at(visible.end()))
        for number in range(first, last + 1):
            key = self._key_in(sheet, number)
            if key is not None:
                start = model.points[number]
                length = len(model.sections[number].text.rstrip("\n"))
                self._lengths[key] = length
                self._sight.note_visible(visible, key, start, start + length)

    def was_read(self, record: DiffRecord) -> bool:
        """Whether the edit that the review is about was in sight."""
        key = _key_of(record)
        return key in self._lengths and self._sight.was_read(key, self._lengths[key])

    def keep_only(self, ids: Collection[str]) -> None:
        """Only the diffs with these ids wait still."""
        gone = [key for key in self._lengths if key[1][2] not in ids]
        self._sight.forget(gone)
        for key in gone:
            del self._lengths[key]

    def _key_in(self, sheet: ChangeSheet, number: int) -> FullKey | None:
        """The key of the section; None unless it shows all that the review of a chat's edit has."""
        section = sheet.model.sections[number]
        source = sheet.find_source(section.file.id)
        right = source.review_view(section.file.id) if source is not None else None
        record = waiting_record(right) if right is not None else None
        if right is None or record is None or not record.chat or section.is_typed:
            return None
        review, shown = self._reviews.review_of(right), section.file.comparison
        is_shown = shown is not None and review is not None and review.comparison is shown
        return _key_of(record) if is_shown else None


def _key_of(record: DiffRecord) -> FullKey:
    return record.chat, (SECTION, record.call, record.id, "")
