"""The parts of two large texts in which they differ, short enough to be shown; knows no view.

Each change stands there with some rows around it. What is left out is said by a row of its own. So
the digest is a comparison like any other, and its changes are those of the whole texts, in the same
order.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import Optional, Sequence, Tuple

from .changes import Change, common_start, with_changes
from .comparison import Comparison, compare, comparison_of
from .merge import merged

# Code points of a text from which not all of it is shown.
LARGE = 2 * 1024 * 1024
# Rows shown before and after a change.
CONTEXT = 10
# Rows of one change, and code points of one row, that are shown: of more, a part.
MAX_CHANGE = 2000
MAX_ROW = 4000


# A comparison as it is drawn; and the text that is accepted in place of the one that is shown, None
# where that is the new text as it came.
Compared = Tuple[Comparison, Optional[str]]


@dataclass(frozen=True)
class Digest:
    """Two large texts, and what is shown of them. Changes have the same keys in both."""

    whole: Comparison
    shown: Comparison
    # Whether the new text is the user's, too: no CLI has it.
    is_merged: bool = False

    @property
    def size(self) -> int:
        """Code points of both texts."""
        return self.whole.old.starts[-1] + self.whole.new.starts[-1]

    def against(self, old: str) -> Digest:
        """The same new text, compared with another old one."""
        return replace(digest_of(old, self.new_text), is_merged=self.is_merged)

    def merged_with(self, theirs: str, present: str, dropped: frozenset[str]) -> MergedDigest:
        """Without the changes of these keys, but with what `theirs` has changed of the old text;
        compared with the text `present`."""
        old, new = with_changes(self.whole.old.rows, (), ()), self.without(dropped)[1]
        found = merged(old, self.new_text if new is None else new, theirs, "", "")
        if found.conflicts:
            return None, len(found.conflicts)
        return replace(digest_of(present, found.text), is_merged=True), 0

    @property
    def new_text(self) -> str:
        return with_changes(self.whole.new.rows, (), ())

    def new_row(self, shown: Comparison, row: int) -> int:
        """The row of the whole new text that the row of `shown` is; `shown` is that of the digest,
        be it with dropped changes."""
        number = bisect_right(shown.new_starts, row) - 1
        if number < 0:
            if not shown.changes:
                return row
            return max(self.whole.changes[0].new_start - (shown.changes[0].new_start - row), 0)
        here, there = shown.changes[number], self.whole.changes[number]
        if row < here.new_end:
            return min(there.new_start + row - here.new_start, there.new_end)
        if number + 1 < len(shown.changes):
            below = shown.changes[number + 1].new_start - row
            if below <= CONTEXT:
                return self.whole.changes[number + 1].new_start - below
        return there.new_end + row - here.new_end

    def without(self, dropped: frozenset[str]) -> Compared:
        """The same where the changes of these keys are dropped."""
        if not dropped:
            return self.shown, self.new_text if self.is_merged else None
        whole = self.whole
        chosen = [it for it, key in zip(whole.changes, whole.keys) if key not in dropped]
        text = with_changes(whole.old.rows, whole.new.rows, chosen)
        return _with_dropped(self.shown, dropped), text


# What a merge gives: the digest, None where there are conflicts; and how many.
MergedDigest = Tuple[Optional[Digest], int]


def digest_of(old: str, new: str) -> Digest:
    """Takes as long as `compare`."""
    whole = compare(old, new)
    return Digest(whole, digest(whole))


def digest(whole: Comparison) -> Comparison:
    """The comparison of the parts that are shown."""
    old: list[str] = []
    new: list[str] = []
    changes: list[Change] = []
    at = 0
    for change in whole.changes:
        equal = _between(whole.old.rows[at : change.old_start], CONTEXT if at else 0, CONTEXT)
        old += equal
        new += equal
        old_start, new_start = len(old), len(new)
        removed, added = _shown(
            whole.old.rows[change.old_start : change.old_end],
            whole.new.rows[change.new_start : change.new_end],
        )
        old += removed
        new += added
        changes.append(Change(old_start, len(old), new_start, len(new)))
        at = change.old_end
    equal = _between(whole.old.rows[at:], CONTEXT, 0)
    return comparison_of(old + equal, new + equal, tuple(changes), whole.keys)


def _with_dropped(shown: Comparison, dropped: frozenset[str]) -> Comparison:
    old = shown.old.rows
    new: list[str] = []
    changes: list[Change] = []
    at = 0
    for change, key in zip(shown.changes, shown.keys):
        new += old[at : change.old_start]
        start, at = len(new), change.old_end
        if key in dropped:
            new += old[change.old_start : change.old_end]
        else:
            new += shown.new.rows[change.new_start : change.new_end]
        changes.append(Change(change.old_start, change.old_end, start, len(new)))
    return comparison_of(old, [*new, *old[at:]], tuple(changes), shown.keys, dropped)


def _between(rows: Sequence[str], after: int, before: int) -> list[str]:
    """Equal rows between two changes: so many after the one, and before the other."""
    hidden = len(rows) - after - before
    if hidden <= 1:
        return [_cut(row, row) for row in rows]
    shown = [_cut(row, row) for row in (*rows[:after], *rows[len(rows) - before :])]
    return [*shown[:after], f"... {hidden:,} lines ...\n", *shown[after:]]


def _shown(removed: Sequence[str], added: Sequence[str]) -> tuple[list[str], list[str]]:
    """The rows of a change. Where each became another, the part in which they differ is shown."""
    if len(removed) == len(added):
        old = [_cut(one, other) for one, other in zip(removed, added)]
        new = [_cut(other, one) for one, other in zip(removed, added)]
    else:
        old, new = [_cut(row, row) for row in removed], [_cut(row, row) for row in added]
    return _shortened(old), _shortened(new)


def _shortened(rows: list[str]) -> list[str]:
    if len(rows) <= MAX_CHANGE:
        return rows
    half = MAX_CHANGE // 2
    hidden = f"... {len(rows) - 2 * half:,} more lines of this change ...\n"
    return [*rows[:half], hidden, *rows[-half:]]


def _cut(row: str, other: str) -> str:
    """The row; of a long one MAX_ROW code points, from a little before the place in which it
    differs from the other."""
    if len(row) <= MAX_ROW:
        return row
    differs = common_start(row, other) if other != row else 0
    start = max(0, min(differs - MAX_ROW // 4, len(row) - MAX_ROW))
    end = start + MAX_ROW
    before = f"... {start:,} characters ... " if start else ""
    ending = "\n" if row.endswith("\n") else ""
    after = f" ... {len(row) - end:,} characters ...{ending}" if end < len(row) else ""
    return before + row[start:end] + after
