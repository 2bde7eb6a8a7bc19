"""The parts of two large texts in which they differ, short enough to be shown. Knows no view.

Each change is shown with some rows around it. A row of its own says how much is left out. So the
digest is a comparison like any other, and its changes are those of the whole texts, in the same
order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Iterator, Optional, Sequence, Tuple

from .changes import Change, common_start, with_changes
from .comparison import KEY_LENGTH, Comparison, compare_texts, comparison_of
from .merge import merge_texts

# From this many code points only parts of a text are shown.
LARGE = 2 * 1024 * 1024
# Rows shown before and after a change.
CONTEXT = 10
# The most rows of one change, and code points of one row, that are shown.
MAX_CHANGE = 2000
MAX_ROW = 4000


# A comparison as it is drawn; and the text that is accepted instead of the shown one, None if that
# is the new text unchanged.
Compared = Tuple[Comparison, Optional[str]]


@dataclass(frozen=True)
class Digest:
    """Two large texts, and the parts of them that are shown. A change has the same key in both."""

    whole: Comparison
    shown: Comparison
    # Whether the user has changed the new text, so that no CLI has it.
    is_merged: bool = False

    @property
    def size(self) -> int:
        """The number of code points of both texts."""
        return self.whole.old.starts[-1] + self.whole.new.starts[-1]

    def compare_with(self, old: str) -> Digest:
        """The digest of this new text, compared with another old one."""
        return replace(digest_of(old, self.new_text), is_merged=self.is_merged)

    def still_dropped(self, earlier: Digest, dropped: frozenset[str]) -> frozenset[str]:
        """The keys of the changes that had these keys in an earlier digest of the same new text, if
        they still exist. Among equal changes a key only says which one it is in its digest."""
        places = {place for place, key in _change_places(earlier.whole) if key in dropped}
        return frozenset(key for place, key in _change_places(self.whole) if place in places)

    def merged_with(self, theirs: str, present: str, dropped: frozenset[str]) -> MergedDigest:
        """Leaves out the changes of these keys and adds the changes from the old text to `theirs`;
        compares the result with the text `present`."""
        new = self.without_changes(dropped)[1]
        yours = self.new_text if new is None else new
        found = merge_texts(self.whole.old.text, yours, theirs)
        if found.conflicts:
            return None, len(found.conflicts)
        return replace(digest_of(present, found.text), is_merged=True), 0

    @property
    def new_text(self) -> str:
        return self.whole.new.text

    def without_changes(self, dropped: frozenset[str]) -> Compared:
        """The comparison and the accepted text, with the changes of these keys dropped."""
        if not dropped:
            return self.shown, self.new_text if self.is_merged else None
        whole = self.whole
        chosen = [change for change, key in zip(whole.changes, whole.keys) if key not in dropped]
        text = with_changes(whole.old.rows, whole.new.rows, chosen)
        return _with_dropped(self.shown, dropped), text


# The result of a merge: the digest, None if there are conflicts; and the number of conflicts.
MergedDigest = Tuple[Optional[Digest], int]


def digest_of(old: str, new: str) -> Digest:
    """Takes as long as `compare`."""
    whole = compare_texts(old, new)
    return Digest(whole, digest_comparison(whole))


def _change_places(whole: Comparison) -> Iterator[tuple[tuple[int, str], str]]:
    """The place of each change and its key; a place is the new row at which the change begins, with
    the part of the key that names its rows."""
    for start, key in zip(whole.new_starts, whole.keys):
        yield (start, key[:KEY_LENGTH]), key


def digest_comparison(whole: Comparison) -> Comparison:
    """The comparison of the shown parts."""
    old, new = _Parts(whole.old.rows), _Parts(whole.new.rows)
    changes: list[Change] = []
    for number, change in enumerate(whole.changes):
        after = CONTEXT if number else 0
        starts = old.add_equal(change.old_start, after), new.add_equal(change.new_start, after)
        removed, added = _cut_rows(
            whole.old.rows[change.old_start : change.old_end],
            whole.new.rows[change.new_start : change.new_end],
        )
        ends = old.add_changed(removed), new.add_changed(added)
        changes.append(Change(starts[0], ends[0], starts[1], ends[1]))
    for side in (old, new):
        side.add_equal(len(side.whole), CONTEXT if changes else 0, 0)
    numbers = old.numbers, new.numbers
    rows = old.rows, new.rows
    texts = "".join(old.rows), "".join(new.rows)
    return comparison_of(texts, rows, tuple(changes), whole.keys, numbers=numbers)


class _Parts:
    """The shown parts of a text; everything before the row `at` is done."""

    def __init__(self, whole: Sequence[str]) -> None:
        self.whole = whole
        self.rows: list[str] = []
        self.numbers: list[int | None] = []
        self.at = 0

    def add_equal(self, end: int, after: int, before: int = CONTEXT) -> int:
        """Add the equal rows before `end`: some after the change above, and some before the one
        below. Gives the number of rows so far."""
        hidden = end - self.at - after - before
        if hidden > 1:
            self._add_rows(self._equal_rows(after))
            self._add_remark(f"... {hidden:,} lines ...\n")
            self.at += hidden
        self._add_rows(self._equal_rows(end - self.at))
        return len(self.rows)

    def add_changed(self, rows: Sequence[str]) -> int:
        """Add the next rows of the text as they are shown; of many rows, both ends."""
        half = MAX_CHANGE // 2
        hidden = len(rows) - 2 * half if len(rows) > MAX_CHANGE else 0
        if hidden:
            self._add_rows(rows[:half])
            self._add_remark(f"... {hidden:,} more lines of this change ...\n")
            self.at += hidden
            rows = rows[-half:]
        self._add_rows(rows)
        return len(self.rows)

    def _equal_rows(self, count: int) -> list[str]:
        return [_cut_row(row, row) for row in self.whole[self.at : self.at + count]]

    def _add_rows(self, rows: Sequence[str]) -> None:
        self.rows += rows
        self.numbers += range(self.at, self.at + len(rows))
        self.at += len(rows)

    def _add_remark(self, row: str) -> None:
        self.rows.append(row)
        self.numbers.append(None)


def _with_dropped(shown: Comparison, dropped: frozenset[str]) -> Comparison:
    old = shown.old.rows
    new: list[str] = []
    numbers: list[int | None] = []
    changes: list[Change] = []
    at = new_at = 0
    for change, key in zip(shown.changes, shown.keys):
        new += old[at : change.old_start]
        numbers += shown.new.numbers[new_at : change.new_start]
        start, at, new_at = len(new), change.old_end, change.new_end
        if key in dropped:
            new += old[change.old_start : change.old_end]
            numbers += [None] * change.removed
        else:
            new += shown.new.rows[change.new_start : change.new_end]
            numbers += shown.new.numbers[change.new_start : change.new_end]
        changes.append(Change(change.old_start, change.old_end, start, len(new)))
    new += old[at:]
    both = shown.old.numbers, [*numbers, *shown.new.numbers[new_at:]]
    texts = shown.old.text, "".join(new)
    return comparison_of(texts, (old, new), tuple(changes), shown.keys, dropped, both)


def _cut_rows(removed: Sequence[str], added: Sequence[str]) -> tuple[list[str], list[str]]:
    """The rows of a change. If a row became another, the part in which they differ is shown."""
    if len(removed) == len(added):
        old = [_cut_row(one, other) for one, other in zip(removed, added)]
        return old, [_cut_row(other, one) for one, other in zip(removed, added)]
    return [_cut_row(row, row) for row in removed], [_cut_row(row, row) for row in added]


def _cut_row(row: str, other: str) -> str:
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
