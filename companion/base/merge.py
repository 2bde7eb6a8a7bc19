"""A three-way merge of texts, row by row. Knows no file and no view.

The rows are those of `changes`. A change on one side only is taken from that side; the same change
on both sides is taken once. Everything else is a conflict: the text then has both sides, between
marks in the form that Git uses, which say whose each side is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Sequence

from .changes import Change, changes_between, rows_of

# The lines of a conflict: the text of `yours` is between the first two, that of `theirs` between
# the last two.
START, MIDDLE, END = "<<<<<<< proposal", "=======", ">>>>>>> your changes"
# Also of a conflict of which only one of its ends is left.
_MARKS = re.compile(f"^(?:{START}|{END})$", re.MULTILINE)


@dataclass(frozen=True)
class Merged:
    """`text` is the merged text. `conflicts` are the rows of the first mark of each conflict in it,
    counted from 0."""

    text: str
    conflicts: tuple[int, ...]


@dataclass(frozen=True)
class _Side:
    rows: Sequence[str]
    changes: Sequence[Change]

    def rows_between(self, start: int, end: int, touching: Sequence[Change]) -> Sequence[str]:
        """The side's rows for the rows of the base from `start` to `end`; `touching` are the side's
        changes there."""
        if not touching:
            return []
        first, last = touching[0], touching[-1]
        before, after = first.old_start - start, end - last.old_end
        return self.rows[first.new_start - before : last.new_end + after]


def has_marks(text: str) -> bool:
    """Whether a conflict of a merge is not resolved yet in the text."""
    return _MARKS.search(text) is not None


def contains_changes(base: str, text: str, theirs: str) -> bool:
    """Whether the text has all changes from `base` to `theirs`."""
    return merge_texts(base, text, theirs).text == text


def merge_texts(base: str, yours: str, theirs: str) -> Merged:
    """`yours`, the proposal, with the changes from `base` to `theirs`, the user's own."""
    base_rows = rows_of(base)
    sides = [_side_of(base_rows, text) for text in (yours, theirs)]
    rows: list[str] = []
    conflicts: list[int] = []
    at = 0
    for start, end, touching in _group_changes([side.changes for side in sides]):
        rows += base_rows[at:start]
        found = [side.rows_between(start, end, its) for side, its in zip(sides, touching)]
        if not touching[0] or not touching[1]:
            rows += found[0] if touching[0] else found[1]
        elif found[0] == found[1]:
            rows += found[0]
        else:
            conflicts.append(len(rows))
            rows += _conflict_rows(found[0], found[1])
        at = end
    return Merged("".join(rows + base_rows[at:]), tuple(conflicts))


def _side_of(base: Sequence[str], text: str) -> _Side:
    rows = rows_of(text)
    return _Side(rows, changes_between(base, rows))


def _group_changes(
    sides: Sequence[Sequence[Change]],
) -> list[tuple[int, int, tuple[list[Change], list[Change]]]]:
    """The rows of the base, start and end, where changes of both sides meet, with those changes.
    Changes of two sides meet if they overlap or touch."""
    marked = sorted(
        ((change, which) for which, changes in enumerate(sides) for change in changes),
        key=lambda pair: (pair[0].old_start, pair[0].old_end),
    )
    groups: list[tuple[int, int, tuple[list[Change], list[Change]]]] = []
    for change, which in marked:
        if groups and change.old_start <= groups[-1][1]:
            start, end, touching = groups[-1]
            groups[-1] = (start, max(end, change.old_end), touching)
        else:
            groups.append((change.old_start, change.old_end, ([], [])))
        groups[-1][2][which].append(change)
    return groups


def _conflict_rows(yours: Sequence[str], theirs: Sequence[str]) -> list[str]:
    return [f"{START}\n", *_end_last_row(yours), f"{MIDDLE}\n", *_end_last_row(theirs), f"{END}\n"]


def _end_last_row(rows: Sequence[str]) -> list[str]:
    """The rows, with a line end after the last: a mark has to be at the start of a line."""
    return [row if row.endswith("\n") else row + "\n" for row in rows]
