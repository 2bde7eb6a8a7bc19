"""The files of one sheet: where their changes come from, and what is said of all of them. UI thread
only."""

from __future__ import annotations

from typing import Sequence

import sublime

from ...base.change_sheet import FileChanges, Section
from ...chat.amounts import count_text
from ..review.diff_kinds import SESSION, kind_of
from ..review.record import waiting_record
from ..stories import Slices, sleep
from .sources import SheetEntry, Source

# Files that are looked at before other work of the thread gets its turn.
AT_ONCE = 20
NOTHING = "No changes wait for you here."


class SheetFiles:
    """`sources` are asked in their order. `source_of` has where the changes of each file come from,
    by the ids of the files."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self.source_of: dict[str, Source] = {}

    @property
    def are_complete(self) -> bool:
        """Whether no edits from before a restart are still to come."""
        return all(source.is_complete for source in self._sources)

    async def collect_entries(self, window: sublime.Window) -> list[SheetEntry]:
        """What there is now of all files."""
        found: list[SheetEntry] = []
        for source in self._sources:
            for entry in source.entries(window):
                self.source_of[entry.id] = source
                found.append(entry)
                if len(found) % AT_ONCE == 0:
                    await sleep()
        return found

    def kept_changes(self, id: str) -> frozenset[str]:
        """The keys of the changes of the file that the user has kept."""
        source = self.source_of.get(id)
        return source.kept_changes(id) if source is not None else frozenset()

    def are_restoring(self, sections: Sequence[Section]) -> bool:
        """Whether a review of these may get the text yet that the companion has of it: it has none
        but those of proposals."""
        for section in sections:
            source = self.source_of.get(section.file.id)
            view = source.review_view(section.file.id) if source is not None else None
            record = waiting_record(view) if view is not None else None
            if record is not None and record.is_restored and kind_of(record) is SESSION:
                return True
        return False

    async def summary_line(self, sections: Sequence[Section]) -> str:
        """How many changes they have, and how many of these the user has kept."""
        if not sections:
            return NOTHING
        found = [(section.file.title, self.source_of.get(section.file.id)) for section in sections]
        known = [(title, source) for title, source in found if source is not None]
        said = f"{extent_words(known)}: {line_counts([section.file for section in sections])}"
        changes = kept = 0
        slices = Slices()
        for section in sections:
            if section.file.comparison is not None:
                keys = section.file.comparison.keys
                changes += len(keys)
                kept += len(self.kept_changes(section.file.id).intersection(keys))
                await slices.yield_when_due()
        return f"{said}, {kept:,} of {changes:,} changes kept" if kept else said


def extent_words(found: Sequence[tuple[str, Source]]) -> str:
    """How many changes of each kind, in how many files: "5 proposals in 4 files"."""
    kinds = list(dict.fromkeys(source.names for _title, source in found))
    said = []
    for names in kinds:
        count = sum(1 for _title, source in found if source.names == names)
        said.append(f"{count} {names[count != 1]}")
    files = len({title for title, _source in found})
    return f"{' and '.join(said)} in {count_text(files, 'file')}"


def line_counts(files: Sequence[FileChanges]) -> str:
    """How many lines they add and remove."""
    added = sum(file.counts[0] for file in files)
    removed = sum(file.counts[1] for file in files)
    return f"{count_text(added, 'line')} added, {removed:,} removed"
