"""Where the rows of a text begin, found in a large one at once: line breaks counted by blocks."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import List, Optional, Tuple

# Code points of a block, which has fewer than twice as many; a row is looked for within one.
_BLOCK = 1024


class Lines:
    """The line breaks of one text, which whoever asks hands in: it must be the text that was
    counted last. Points are code points, rows count from 0."""

    def __init__(self, text: str) -> None:
        self._lengths: List[int] = []
        self._breaks: List[int] = []
        # Of both, the sums of all blocks up to each, the block included.
        self._sums: Optional[Tuple[List[int], List[int]]] = None
        self._count(text, 0, 0, 0)

    def replaced(self, text: str, begin: int, end: int) -> None:
        """What stood from `begin` to `end` in the text counted last is another piece now."""
        ends, _rows = self._summed()
        low, high = bisect_left(ends, begin), bisect_left(ends, end) + 1
        self._count(text, low, high, ends[low - 1] if low else 0)

    def _count(self, text: str, low: int, high: int, begin: int) -> None:
        """Count anew what stands in the blocks from `low` to before `high`, from `begin` on."""
        end = len(text) - sum(self._lengths[high:])
        # The last one has what is beyond whole blocks: else each letter of a text that grows within
        # would make one more.
        edges = range(begin, max(end - _BLOCK, begin) + 1, _BLOCK)
        ends = [*edges[1:], end]
        self._lengths[low:high] = [stop - edge for edge, stop in zip(edges, ends)]
        self._breaks[low:high] = [text.count("\n", edge, stop) for edge, stop in zip(edges, ends)]
        self._sums = None

    def _summed(self) -> Tuple[List[int], List[int]]:
        if self._sums is None:
            self._sums = list(accumulate(self._lengths)), list(accumulate(self._breaks))
        return self._sums

    def row_count(self) -> int:
        _ends, rows = self._summed()
        return rows[-1] + 1

    def start(self, text: str, row: int) -> int:
        """The point where a row that exists begins."""
        if row == 0:
            return 0
        ends, rows = self._summed()
        block = bisect_left(rows, row)
        point = ends[block - 1] if block else 0
        for _ in range(row - (rows[block - 1] if block else 0)):
            point = text.index("\n", point) + 1
        return point

    def row(self, text: str, point: int) -> int:
        """The row of a point within the text or at its end."""
        ends, rows = self._summed()
        block = bisect_left(ends, point)
        if not block:
            return text.count("\n", 0, point)
        return rows[block - 1] + text.count("\n", ends[block - 1], point)
