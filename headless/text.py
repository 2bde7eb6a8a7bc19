"""The characters of one buffer: points are code-point offsets, rows and columns count from 0."""

from __future__ import annotations

import re
import threading
from bisect import bisect_right
from itertools import accumulate, count
from operator import add
from typing import List, Optional, Tuple

# Code points of an edit after which the line index is made anew.
_LARGE_EDIT = 0x10000
_BREAK = re.compile("\n")
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")


class Text:
    """Text with a cached line index, so that a row is found in a 100 MB buffer at once."""

    def __init__(self, characters: str = "") -> None:
        self.characters = characters
        self._starts: Optional[List[int]] = None
        self._astral: Optional[bool] = None
        # Plugins read from any thread while the UI thread writes.
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self.characters)

    def clamp(self, point: int) -> int:
        return max(0, min(point, len(self.characters)))

    def slice(self, begin: int, end: int) -> str:
        return self.characters[max(0, begin) : max(0, end)]

    def replace(self, begin: int, end: int, inserted: str) -> str:
        """Put `inserted` in the place of begin..end, which must be clamped; what was there."""
        with self._lock:
            removed = self.characters[begin:end]
            self.characters = self.characters[:begin] + inserted + self.characters[end:]
            self._reindex(begin, end, inserted)
            # Text without astral characters stays so unless some come; else it is asked again.
            if self._astral or (self._astral is False and _ASTRAL.search(inserted)):
                self._astral = None
            return removed

    def _reindex(self, begin: int, end: int, inserted: str) -> None:
        if self._starts is None:
            return
        if len(inserted) + end - begin > _LARGE_EDIT:
            # Until somebody asks: an index costs more than the edit itself.
            self._starts = None
            return
        low = bisect_right(self._starts, begin)
        high = bisect_right(self._starts, end)
        shift = len(inserted) - (end - begin)
        fresh = [begin + match.end() for match in _BREAK.finditer(inserted)]
        tail = self._starts[high:]
        if shift:
            tail = [start + shift for start in tail]
        self._starts[low:] = fresh + tail

    @property
    def starts(self) -> List[int]:
        """The point where each row starts."""
        with self._lock:
            if self._starts is None:
                # By what is written in C alone: the editor has such an index at once.
                lengths = map(len, self.characters.split("\n")[:-1])
                self._starts = list(map(add, accumulate(lengths, initial=0), count()))
            return self._starts

    def row_count(self) -> int:
        return len(self.starts)

    def rowcol(self, point: int) -> Tuple[int, int]:
        with self._lock:
            point = self.clamp(point)
            row = bisect_right(self.starts, point) - 1
            return row, point - self.starts[row]

    def rowcol_utf16(self, point: int) -> Tuple[int, int]:
        with self._lock:
            row, column = self.rowcol(point)
            start = self.starts[row]
            return row, self.utf16_units(start, start + column)

    def rowcol_utf8(self, point: int) -> Tuple[int, int]:
        with self._lock:
            row, column = self.rowcol(point)
            start = self.starts[row]
            return row, self.utf8_units(start, start + column)

    def utf16_units(self, begin: int, end: int) -> int:
        if self._plain_utf16():
            return end - begin
        return utf16_length(self.characters[begin:end])

    def utf8_units(self, begin: int, end: int) -> int:
        if self.characters.isascii():
            return end - begin
        return len(self.characters[begin:end].encode("utf-8", "surrogatepass"))

    def _plain_utf16(self) -> bool:
        if self.characters.isascii():
            return True
        if self._astral is None:
            self._astral = _ASTRAL.search(self.characters) is not None
        return not self._astral

    def row_span(self, row: int) -> Tuple[int, int]:
        """Begin and end of a row that exists, without its line break."""
        with self._lock:
            begin = self.starts[row]
            if row + 1 < len(self.starts):
                return begin, self.starts[row + 1] - 1
            return begin, len(self.characters)

    def line(self, point: int) -> Tuple[int, int]:
        """Begin and end of the line around a point, without its line break."""
        with self._lock:
            return self.row_span(self.rowcol(point)[0])

    def point(self, row: int, column: int, clamp_column: bool = False) -> int:
        """Without clamping a column may run on into the following rows, as in Sublime."""
        with self._lock:
            if row < 0:
                return 0
            if row >= len(self.starts):
                return len(self.characters)
            begin, end = self.row_span(row)
            limit = end if clamp_column else len(self.characters)
            return max(0, min(begin + column, limit))

    def point_in_units(self, row: int, column: int, clamp_column: bool, utf: int) -> int:
        """Like `point`, `column` in UTF-8 or UTF-16 units (`utf` is 8 or 16)."""
        with self._lock:
            if row < 0 or row >= len(self.starts):
                return self.point(row, 0)
            begin, end = self.row_span(row)
            limit = end if clamp_column else len(self.characters)
            if self.characters.isascii() or (utf == 16 and self._plain_utf16()):
                return max(0, min(begin + column, limit))
            # No code point takes less than one unit: more of the text cannot be needed.
            return begin + _code_points(
                self.characters[begin : min(limit, begin + column)], column, utf
            )


def utf16_length(text: str) -> int:
    if text.isascii():
        return len(text)
    return len(text) + sum(1 for _ in _ASTRAL.finditer(text))


def _code_points(text: str, units: int, utf: int) -> int:
    """How many code points of text lie wholly within the first `units` units."""
    count = 0
    for character in text:
        units -= _width(character, utf)
        if units < 0:
            break
        count += 1
    return count


def _width(character: str, utf: int) -> int:
    if utf == 16:
        return 2 if character > "\uffff" else 1
    code = ord(character)
    return 1 if code < 0x80 else 2 if code < 0x800 else 3 if code < 0x10000 else 4
