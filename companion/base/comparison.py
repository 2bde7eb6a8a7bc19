"""Two texts side by side, with the place of each change in both of them. Knows no view.

All of it is computed at once and frozen, so that one thread can make it and another one draw it.
Rows are numbered from 0. A region is a pair of points, counted in code points from the start of its
text; the second one is behind the last.
"""

from __future__ import annotations

import hashlib
from array import array
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, islice
from typing import Any, Iterator, Optional, Sequence, Tuple, overload

from .changes import ROWS, Change, Span, changed_characters, changes_between, count_rows, rows_of

# Up to this number of changes, changed characters are marked; beyond it, whole rows.
MAX_DETAILED = 2000
# Hexadecimal digits of a change's name: no two changes of a text have the same by chance.
KEY_LENGTH = 16

Region = Tuple[int, int]
Numbers = Sequence[Optional[int]]


class Rows(Sequence[str]):
    """The rows of a text, each cut out when it is asked for. The garbage collector would walk
    through a list of them, in any thread, and freeing one takes long."""

    def __init__(self, text: str, starts: Sequence[int]) -> None:
        self._text = text
        self._starts = starts

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        text, starts = self._text, self._starts
        if isinstance(at, slice):
            return [text[starts[number] : starts[number + 1]] for number in range(len(self))[at]]
        row = range(len(self))[at]
        return text[starts[row] : starts[row + 1]]


@dataclass(frozen=True)
class Side:
    """One of the texts. `starts` has the point of each row and of the end. `characters` are the
    regions that differ within altered rows. If the rows are parts of a larger text, `numbers` has
    the row of each in that text, None for one that is not part of it."""

    text: str
    starts: Sequence[int]
    characters: tuple[Region, ...]
    numbers: Numbers = ()

    @property
    def rows(self) -> Rows:
        return Rows(self.text, self.starts)

    def region(self, start: int, end: int) -> Region:
        """The region of the rows from `start` to before `end`."""
        return self.starts[start], self.starts[end]

    def number(self, row: int) -> int:
        """The number of the row in the larger text, or else of the next shown row that has one."""
        below = islice(self.numbers, row, None)
        above = reversed(self.numbers[:row])
        return next((neighbour for neighbour in chain(below, above) if neighbour is not None), row)


@dataclass(frozen=True)
class Filler:
    """Room for `rows` rows that exist only on the other side, above the row `above`, which may be
    one after the last."""

    above: int
    rows: int


@dataclass(frozen=True)
class Comparison:
    """`old` and `new` with the changes between them, in order. `keys` has a name for each change,
    which stays the same as long as its rows do, wherever they are. Changes with `dropped` keys have
    the old rows on the new side as well: they are listed but change nothing."""

    old: Side
    new: Side
    changes: tuple[Change, ...]
    keys: tuple[str, ...]
    dropped: frozenset[str] = frozenset()

    @property
    def in_force(self) -> Sequence[Change]:
        """The changes that are not dropped."""
        if not self.dropped:
            return self.changes
        return [change for change, key in zip(self.changes, self.keys) if key not in self.dropped]

    # Computed once: each step of scrolling uses these.
    @cached_property
    def old_starts(self) -> Sequence[int]:
        """The old row at which each change begins."""
        return [change.old_start for change in self.changes]

    @cached_property
    def new_starts(self) -> Sequence[int]:
        """The new row at which each change begins."""
        return [change.new_start for change in self.changes]

    @cached_property
    def new_ends(self) -> Sequence[int]:
        """The new row before which each change ends."""
        return [change.new_end for change in self.changes]

    @cached_property
    def counts(self) -> tuple[int, int]:
        """The numbers of added and of removed rows."""
        return count_rows(self.in_force)

    def regions(self, of_new: bool) -> list[Region]:
        """The regions of the added rows on the new side, or of the removed ones on the old side."""
        if of_new:
            return [
                self.new.region(change.new_start, change.new_end)
                for change in self.in_force
                if change.added
            ]
        return [
            self.old.region(change.old_start, change.old_end)
            for change in self.in_force
            if change.removed
        ]

    def fillers(self, numbers: slice = slice(None)) -> tuple[list[Filler], list[Filler]]:
        """The room that the old and the new side need at these changes to keep equal rows at equal
        heights."""
        changes = [(change, change.added - change.removed) for change in self.changes[numbers]]
        return (
            [Filler(change.old_end, rows) for change, rows in changes if rows > 0],
            [Filler(change.new_end, -rows) for change, rows in changes if rows < 0],
        )

    def anchor(self, row: int, from_new: bool) -> tuple[int, int] | None:
        """The last equal row at or above the row of the new side, or of the old one, and the row
        beside it on the other side; None if there is none."""
        index = bisect_right(self.new_starts if from_new else self.old_starts, row) - 1
        if index < 0:
            return row, row
        change = self.changes[index]
        ours, theirs = (change.new_start, change.new_end), (change.old_start, change.old_end)
        if not from_new:
            ours, theirs = theirs, ours
        if row >= ours[1]:
            return row, theirs[1] + row - ours[1]
        return (ours[0] - 1, theirs[0] - 1) if ours[0] and theirs[0] else None

    def old_row_beside(self, row: int) -> int:
        """The row of the old side that ends at the same height as the row of the new side: the one
        beside it, or the last one of its change."""
        index = bisect_right(self.new_starts, row) - 1
        if index < 0:
            return row
        change = self.changes[index]
        if row < change.new_end:
            return max(change.old_end - 1, 0)
        return change.old_end + row - change.new_end

    def change_at(self, row: int) -> int | None:
        """The number, from 0, of the change to which the row of the new side belongs. A change that
        only removes rows belongs to the row that is now in their place."""
        index = bisect_right(self.new_starts, row) - 1
        if index < 0:
            return None
        change = self.changes[index]
        return index if row < max(change.new_end, change.new_start + 1) else None

    def next_change(self, row: int) -> int | None:
        """The number of the first change that begins below the row of the new side."""
        index = bisect_right(self.new_starts, row)
        return index if index < len(self.changes) else None

    def previous_change(self, row: int) -> int | None:
        """The number of the last change that ends above the row of the new side."""
        above = [
            change for change in self.changes if max(change.new_end, change.new_start + 1) <= row
        ]
        return len(above) - 1 if above else None

    def number_at(self, place: Region, key: str) -> int | None:
        """The number of the change whose new rows are exactly at this place and which had that key
        in an earlier comparison of the text; None if there is none. Keys count equal changes: when
        one of those goes, the ones below get other keys."""
        name = key[:KEY_LENGTH]
        for number, (change, its) in enumerate(zip(self.changes, self.keys)):
            is_alike = its.startswith(name)
            if is_alike and self.new.region(change.new_start, change.new_end) == place:
                return number
        return None


def compare_texts(old: str, new: str) -> Comparison:
    """Takes about a second for ten thousand changes: not on a thread that somebody waits for."""
    rows = rows_of(old), rows_of(new)
    return comparison_of((old, new), rows, tuple(changes_between(*rows)))


def compare_rows(old: str, new: str) -> Comparison:
    """Compare without the characters that differ within rows, in a tenth of the time of
    `compare_texts`."""
    rows = rows_of(old), rows_of(new)
    return comparison_of((old, new), rows, tuple(changes_between(*rows)), is_detailed=False)


def comparison_of(
    texts: tuple[str, str],
    rows: tuple[Sequence[str], Sequence[str]],
    changes: tuple[Change, ...],
    keys: tuple[str, ...] = (),
    dropped: frozenset[str] = frozenset(),
    numbers: tuple[Numbers, Numbers] = ((), ()),
    is_detailed: bool = True,
) -> Comparison:
    """The comparison of texts whose rows and changes are known. `keys` are the changes' keys, if
    they have any yet; `numbers` are the row numbers of both sides in the larger texts."""
    old_rows, new_rows = rows
    old_starts, new_starts = _row_starts(old_rows), _row_starts(new_rows)
    before: list[Region] = []
    after: list[Region] = []
    for change in changes if is_detailed and len(changes) <= MAX_DETAILED else ():
        removed, added = changed_characters(old_rows, new_rows, change)
        before += _span_regions(removed, old_starts)
        after += _span_regions(added, new_starts)
    return Comparison(
        Side(texts[0], old_starts, tuple(before), numbers[0]),
        Side(texts[1], new_starts, tuple(after), numbers[1]),
        changes,
        keys or tuple(_change_keys(old_rows, new_rows, changes)),
        dropped,
    )


def _change_keys(
    old_rows: Sequence[str], new_rows: Sequence[str], changes: Sequence[Change]
) -> Iterator[str]:
    times: dict[str, int] = {}
    for change in changes:
        digest = hashlib.sha256()
        _add_rows(digest, old_rows, change.old_start, change.old_end)
        digest.update(b"\0")
        _add_rows(digest, new_rows, change.new_start, change.new_end)
        name = digest.hexdigest()[:KEY_LENGTH]
        times[name] = times.get(name, 0) + 1
        yield name if times[name] == 1 else f"{name}-{times[name]}"


def _add_rows(digest: Any, rows: Sequence[str], start: int, end: int) -> None:
    for at in range(start, end, ROWS):
        text = "".join(rows[at : min(at + ROWS, end)])
        digest.update(text.encode("utf-8", "surrogatepass"))


def _row_starts(rows: Sequence[str]) -> Sequence[int]:
    # Not a list: the garbage collector would walk through all of it, in any thread.
    starts = array("q", [0])
    for at in range(0, len(rows), ROWS):
        lengths = map(len, rows[at : at + ROWS])
        starts.extend(accumulate(lengths, initial=starts.pop()))
    return starts


def _span_regions(spans: Sequence[Span], starts: Sequence[int]) -> list[Region]:
    return [(starts[span.row] + span.start, starts[span.row] + span.end) for span in spans]
