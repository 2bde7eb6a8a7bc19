"""Finds the changes between two texts, row by row, and makes texts with some of them. Knows no
view.

A row is a line with its line end. Rows are numbered from 0 and ranges end before their second
number; columns count code points.

The limits are amounts of work, not times, so the same texts always give the same changes. Beyond a
limit the answer is coarser: fewer and larger changes, never wrong ones.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice
from typing import Iterable, Sequence, Tuple

# Pairs of equal rows that difflib may look at in one gap between rows that are sure to be equal:
# about a tenth of a second.
MAX_PAIRS = 200_000
# How often the rows of a text may be looked through in search of such rows, in multiples of their
# number: texts whose rows were only moved about want it more often than others.
MAX_ROUNDS = 32
# The most pairs of rows of one change that are compared to find which row became which.
MAX_ROW_PAIRS = 400
# Words of a pair of rows, and code points of a row, up to which words are compared.
MAX_WORDS = 400
MAX_ROW = 4000
# The share of equal code points from which a row counts as a changed version of another one.
ALIKE = 0.6

# Code points, and rows, that are handled in one call: a longer call would block other threads.
PIECE = 1024 * 1024
ROWS = 64 * 1024

_WORD = re.compile(r"\w+|\s+|.", re.DOTALL)

Range = Tuple[int, int, int, int]


@dataclass(frozen=True)
class Change:
    """The old rows from `old_start` to `old_end` became the new rows from `new_start` to `new_end`;
    either range may be empty, but not both."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int

    @property
    def removed(self) -> int:
        """The number of old rows that it removes."""
        return self.old_end - self.old_start

    @property
    def added(self) -> int:
        """The number of new rows that it adds."""
        return self.new_end - self.new_start


@dataclass(frozen=True)
class Span:
    """The code points of one row from column `start` to before column `end`."""

    row: int
    start: int
    end: int


def rows_of(text: str) -> list[str]:
    """The rows of a text, each with the "\\n" that ends it; the last one may have none.

    >>> rows_of("one\\r\\ntwo")
    ['one\\r\\n', 'two']
    """
    rows: list[str] = []
    start = 0
    while start < len(text):
        end = text.find("\n", start + PIECE) + 1 or len(text)
        *ended, last = text[start:end].split("\n")
        rows += [row + "\n" for row in ended]
        rows += [last] if last else []
        start = end
    return rows


def changes_between(old: Sequence[str], new: Sequence[str]) -> list[Change]:
    """The changes that turn the old rows into the new ones, in their order. No two of them
    touch."""
    found: list[Change] = []
    left = MAX_ROUNDS * (len(old) + len(new)) + MAX_PAIRS
    work: list[Range] = [(0, len(old), 0, len(new))]
    while work:
        part = _without_equal_ends(old, new, work.pop())
        old_start, old_end, new_start, new_end = part
        left -= old_end - old_start + new_end - new_start
        if old_start == old_end or new_start == new_end or left < 0:
            found += [Change(*part)] if part[0] < part[1] or part[2] < part[3] else []
        else:
            anchors = _unique_rows(old, new, part)
            if anchors:
                work += _gaps_between(part, anchors)
            else:
                found += _compare_part(old, new, part)
    return _join_changes(sorted(found, key=lambda change: (change.old_start, change.new_start)))


def with_changes(old: Sequence[str], new: Sequence[str], chosen: Iterable[Change]) -> str:
    """The old text with the chosen changes, which are some of `changes_between`, in their order."""
    parts: list[str] = []
    at = 0
    for change in chosen:
        parts += old[at : change.old_start]
        parts += new[change.new_start : change.new_end]
        at = change.old_end
    parts += old[at:]
    return "".join(["".join(parts[at : at + ROWS]) for at in range(0, len(parts), ROWS)])


def changed_characters(
    old: Sequence[str], new: Sequence[str], change: Change
) -> tuple[list[Span], list[Span]]:
    """The differences within rows that were altered, not added or removed as a whole: the spans of
    old rows, and those of new ones."""
    before: list[Span] = []
    after: list[Span] = []
    for old_row, new_row in _pair_rows(old, new, change):
        for old_part, new_part in _different_columns(old[old_row], new[new_row]):
            before += [Span(old_row, *old_part)] if old_part[0] < old_part[1] else []
            after += [Span(new_row, *new_part)] if new_part[0] < new_part[1] else []
    return before, after


def count_rows(changes: Iterable[Change]) -> tuple[int, int]:
    """The numbers of added and removed rows, in all changes."""
    listed = list(changes)
    return sum(change.added for change in listed), sum(change.removed for change in listed)


# ----- rows


def _without_equal_ends(old: Sequence[str], new: Sequence[str], part: Range) -> Range:
    old_start, old_end, new_start, new_end = part
    while old_start < old_end and new_start < new_end and old[old_start] == new[new_start]:
        old_start, new_start = old_start + 1, new_start + 1
    while old_start < old_end and new_start < new_end and old[old_end - 1] == new[new_end - 1]:
        old_end, new_end = old_end - 1, new_end - 1
    return old_start, old_end, new_start, new_end


def _unique_rows(old: Sequence[str], new: Sequence[str], part: Range) -> list[tuple[int, int]]:
    """Rows that stand once on either side and in the same order on both: the longest such row of
    pairs of an old and a new row. Source: Bram Cohen's "patience diff"."""
    old_start, old_end, new_start, new_end = part
    in_old = _count_occurrences(old, old_start, old_end)
    in_new = _count_occurrences(new, new_start, new_end)
    places = {new[at]: at for at in range(new_start, new_end) if in_new[new[at]] == 1}
    pairs = [
        (at, places[old[at]])
        for at in range(old_start, old_end)
        if in_old[old[at]] == 1 and old[at] in places
    ]
    return _longest_rising(pairs)


def _count_occurrences(rows: Sequence[str], start: int, end: int) -> Counter[str]:
    """How often each row occurs."""
    found: Counter[str] = Counter()
    for at in range(start, end, ROWS):
        found.update(rows[at : min(at + ROWS, end)])
    return found


def _longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The most pairs whose second numbers rise; the pairs come in the order of their first
    numbers."""
    if all(one[1] < other[1] for one, other in zip(pairs, islice(pairs, 1, None))):
        # As in most texts.
        return list(pairs)
    ends: list[int] = []
    chains: list[int] = []
    before: list[int] = []
    for index, (_old, new) in enumerate(pairs):
        at = bisect_left(ends, new)
        before.append(chains[at - 1] if at else -1)
        ends[at : at + 1], chains[at : at + 1] = [new], [index]
    found = []
    index = chains[-1] if chains else -1
    while index >= 0:
        found.append(pairs[index])
        index = before[index]
    return found[::-1]


def _gaps_between(part: Range, anchors: Sequence[tuple[int, int]]) -> list[Range]:
    """The parts between the anchors, those that have rows."""
    old_start, old_end, new_start, new_end = part
    gaps: list[Range] = []
    for old_row, new_row in [*anchors, (old_end, new_end)]:
        if old_start < old_row or new_start < new_row:
            gaps.append((old_start, old_row, new_start, new_row))
        old_start, new_start = old_row + 1, new_row + 1
    return gaps


def _compare_part(old: Sequence[str], new: Sequence[str], part: Range) -> list[Change]:
    """The changes of a part without anchors; a single one for the whole part if no rows are equal,
    or if the search would take long."""
    old_start, old_end, new_start, new_end = part
    before, after = old[old_start:old_end], new[new_start:new_end]
    in_new = _count_occurrences(new, new_start, new_end)
    pairs = sum(in_new[row] for row in before)
    if not pairs or pairs + len(before) > MAX_PAIRS:
        return [Change(*part)]
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    return [
        Change(old_start + i1, old_start + i2, new_start + j1, new_start + j2)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]


def _join_changes(changes: Iterable[Change]) -> list[Change]:
    """The changes, with those that touch joined to one."""
    found: list[Change] = []
    for change in changes:
        last = found[-1] if found else None
        if last and (last.old_end, last.new_end) == (change.old_start, change.new_start):
            found[-1] = Change(last.old_start, change.old_end, last.new_start, change.new_end)
        else:
            found.append(change)
    return found


# ----- characters


def _pair_rows(old: Sequence[str], new: Sequence[str], change: Change) -> list[tuple[int, int]]:
    """Which old row of a change became which new one."""
    old_rows = range(change.old_start, change.old_end)
    new_rows = range(change.new_start, change.new_end)
    if change.removed == change.added <= MAX_ROW_PAIRS:
        return [pair for pair in zip(old_rows, new_rows) if _are_alike(old[pair[0]], new[pair[1]])]
    if change.removed * change.added > MAX_ROW_PAIRS:
        return []
    alike = [(i, j) for i in old_rows for j in reversed(new_rows) if _are_alike(old[i], new[j])]
    # Reversed: of the new rows that one old row is like, the longest rising choice takes one.
    return _longest_rising(alike)


def _are_alike(one: str, other: str) -> bool:
    if max(len(one), len(other)) > MAX_ROW:
        return True
    # Leading blanks and line ends are equal in most rows, so they say nothing.
    matcher = SequenceMatcher(None, one.strip(), other.strip(), autojunk=False)
    quick = min(matcher.real_quick_ratio(), matcher.quick_ratio())
    return quick >= ALIKE and matcher.ratio() >= ALIKE


def _different_columns(one: str, other: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """The ranges of columns that are different, in both rows, word by word."""
    start, end = common_ends(one, other)
    middle, other_middle = one[start : len(one) - end], other[start : len(other) - end]
    words = [] if len(middle) > MAX_ROW else _WORD.findall(middle)
    other_words = [] if len(other_middle) > MAX_ROW else _WORD.findall(other_middle)
    if not 0 < len(words) <= MAX_WORDS or not 0 < len(other_words) <= MAX_WORDS:
        return [((start, len(one) - end), (start, len(other) - end))]
    places, other_places = _word_columns(words, start), _word_columns(other_words, start)
    matcher = SequenceMatcher(None, words, other_words, autojunk=False)
    return [
        ((places[i1], places[i2]), (other_places[j1], other_places[j2]))
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]


def _word_columns(words: Sequence[str], start: int) -> list[int]:
    """Where each word begins, and where the last one ends."""
    places = [start]
    for word in words:
        places.append(places[-1] + len(word))
    return places


def common_start(one: str, other: str) -> int:
    """The length of the longest common beginning. Searches by halves, because a row can have
    megabytes."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_end(one: str, other: str, most: int) -> int:
    """The length of the longest common end, which has so many code points at most. Searches by
    halves, as `common_start` does."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        # Only what is not known yet: the texts are large.
        ours = one[len(one) - middle : len(one) - low]
        if ours == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle - 1
    return low


def common_ends(one: str, other: str) -> tuple[int, int]:
    """The lengths of the longest common beginning, and of the longest common end behind it."""
    start = common_start(one, other)
    return start, common_end(one, other, min(len(one), len(other)) - start)
