"""How many lines an edit adds and removes. Knows no view."""

from __future__ import annotations

from dataclasses import dataclass

from ..agent.turn_events import Diff
from ..base.changes import changes_between, common_ends, count_rows, rows_of
from .pen import Pen
from .rendered import ADDED, DIM, REMOVED

# Code points of both texts, and of what is left of them without the same beginning and end, up to
# which lines are counted: more takes too long between two events.
MAX_BOTH, MAX_COUNTED = 1 << 23, 1 << 18


@dataclass(frozen=True)
class EditCount:
    """`added` and `removed` are None for an edit that is too large to be counted. One that
    `is_left_out` was not written."""

    path: str
    added: int | None
    removed: int | None
    is_left_out: bool = False

    def write_count(self, pen: Pen) -> None:
        if self.is_left_out:
            pen.write("left out", DIM)
            return
        if self.added is None or self.removed is None:
            pen.write("large", DIM)
            return
        pen.write(f"+{self.added}", ADDED)
        pen.write(" ")
        pen.write(f"-{self.removed}", REMOVED)


def count_edit(diff: Diff) -> EditCount:
    old, new = diff.old_text, diff.new_text
    if len(old) + len(new) <= MAX_BOTH:
        old, new = _without_common_rows(old, new)
    if len(old) + len(new) > MAX_COUNTED:
        return EditCount(diff.path, None, None)
    return EditCount(diff.path, *count_rows(changes_between(rows_of(old), rows_of(new))))


def unwritten_edit(path: str) -> EditCount:
    return EditCount(path, 0, 0, is_left_out=True)


def _without_common_rows(old: str, new: str) -> tuple[str, str]:
    """Both without rows that they have in common at the beginning and at the end."""
    start, same = common_ends(old, new)
    start = old.rfind("\n", 0, start) + 1
    end = old.find("\n", len(old) - same) + 1 if same else 0
    left = len(old) - end if end else 0
    return old[start : len(old) - left], new[start : len(new) - left]


def total_count(edits: tuple[EditCount, ...]) -> EditCount:
    """The sum of the counts of several files."""
    if any(edit.added is None for edit in edits):
        return EditCount("", None, None)
    return EditCount(
        "", sum(edit.added or 0 for edit in edits), sum(edit.removed or 0 for edit in edits)
    )
