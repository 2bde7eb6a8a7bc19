"""Hunks between a reference text and a text, row by row; what the gutter marks and reverts."""

from __future__ import annotations

import difflib
from typing import Any, List, NamedTuple, Tuple


class Hunk(NamedTuple):
    """Rows first..last (from 0, last excluded) of the text in the place of `old` lines.

    `old_first` is the row in the reference. Without rows lines were deleted before `first`,
    without old lines the rows are new.
    """

    first: int
    last: int
    old_first: int
    old: Tuple[str, ...]

    @property
    def kind(self) -> str:
        """ "inserted", "deleted" or "modified"."""
        if not self.old:
            return "inserted"
        return "deleted" if self.first == self.last else "modified"

    def covers(self, row: int) -> bool:
        return self.first <= row < self.last or (self.first == self.last == row)

    def reverted(self, text: Any) -> Tuple[int, int, str]:
        """Begin, end (points) and the text to put there to take the change back."""
        begin, end = text.point(self.first, 0), text.point(self.last, 0)
        if self.last < text.row_count():
            return begin, end, "".join(line + "\n" for line in self.old)
        # The last row has no line break of its own.
        if self.first == self.last:
            return end, end, "".join("\n" + line for line in self.old)
        if self.old:
            return begin, end, "\n".join(self.old)
        return max(0, begin - 1), end, ""


def hunks(old: str, new: str) -> List[Hunk]:
    """What changed from old to new; lines end with a line feed only."""
    before, after = old.split("\n"), new.split("\n")
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    return [
        Hunk(first, last, low, tuple(before[low:high]))
        for tag, low, high, first, last in matcher.get_opcodes()
        if tag != "equal"
    ]


def view_hunks(view: Any) -> List[Hunk]:
    """The changes a view shows in its gutter; none where mini_diff is off."""
    reference = view.buffer.shown_reference()
    if reference is None or not view.settings.get("mini_diff", True):
        return []
    return hunks(reference, view.text.characters)
