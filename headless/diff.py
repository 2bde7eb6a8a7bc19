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

    def reverted_by_rows(self, text: Any) -> List[Tuple[int, int, str]]:
        """The same in order, row by row where there is one for another: so what stands at a row
        stays there."""
        pairs = min(self.last - self.first, len(self.old))
        found = []
        for at in range(pairs):
            begin, end = text.line(text.point(self.first + at, 0))
            found.append((begin, end, self.old[at]))
        rest = self._replace(first=self.first + pairs, old=self.old[pairs:])
        is_more = rest.old or rest.first < rest.last
        return [*found, *([rest.reverted(text)] if is_more else [])]


def hunks(old: str, new: str) -> List[Hunk]:
    """What changed from old to new; lines end with a line feed only."""
    before, after = old.split("\n"), new.split("\n")
    # What is equal at both ends is cut off: the matcher's time grows with the square.
    head = _common(before, after)
    shorter = min(len(before), len(after)) - head
    tail = min(shorter, _common(before[::-1], after[::-1]))
    ends = len(before) - tail, len(after) - tail
    middles = before[head : ends[0]], after[head : ends[1]]
    matcher = difflib.SequenceMatcher(None, *middles, autojunk=False)
    return [
        Hunk(head + first, head + last, head + low, tuple(before[head + low : head + high]))
        for tag, low, high, first, last in matcher.get_opcodes()
        if tag != "equal"
    ]


def _common(first: List[str], second: List[str]) -> int:
    """How many lines are equal at the start."""
    count = 0
    for one, other in zip(first, second):
        if one != other:
            break
        count += 1
    return count


def view_hunks(view: Any) -> List[Hunk]:
    """The changes a view shows in its gutter; none where mini_diff is off."""
    reference = view.buffer.shown_reference()
    if reference is None or not view.settings.get("mini_diff", True):
        return []
    return hunks(reference, view.text.characters)
