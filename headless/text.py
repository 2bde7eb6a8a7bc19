"""The characters of one buffer: points are code-point offsets, rows and columns count from 0."""

from __future__ import annotations

import re
import threading
from itertools import accumulate, count
from operator import add
from typing import List, Optional, Tuple

from .lines import Lines

# Code points of an edit after which nothing is counted before somebody asks.
_LARGE_EDIT = 0x10000
# Code points before a point among which its row mostly begins.
_NEAR = 1000
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")


class Text:
    """Text with an index of its lines, made when somebody asks for a row."""

    def __init__(self, characters: str = "") -> None:
        self.characters = characters
        self._lines: Optional[Lines] = None
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
            if len(inserted) > _LARGE_EDIT:
                self._lines = None
            if self._lines is not None:
                self._lines.replaced(self.characters, begin, end)
            # Text without astral characters stays so unless some come; else it is asked again.
            if self._astral or (self._astral is False and _ASTRAL.search(inserted)):
                self._astral = None
            return removed

    @property
    def starts(self) -> List[int]:
        """The point where each row starts: of all rows, which takes its time in a large text."""
        # By what is written in C alone.
        lengths = map(len, self.characters.split("\n")[:-1])
        return list(map(add, accumulate(lengths, initial=0), count()))

    def _indexed(self) -> Lines:
        if self._lines is None:
            self._lines = Lines(self.characters)
        return self._lines

    def row_count(self) -> int:
        with self._lock:
            return self._indexed().row_count()

    def _start(self, row: int) -> int:
        return self._indexed().start(self.characters, row)

    def rowcol(self, point: int) -> Tuple[int, int]:
        with self._lock:
            point = self.clamp(point)
            row = self._indexed().row(self.characters, point)
            # Mostly it begins a little before; a long way back is faster by the index.
            begin = self.characters.rfind("\n", max(0, point - _NEAR), point) + 1
            return row, point - (begin or self._start(row))

    def rowcol_utf16(self, point: int) -> Tuple[int, int]:
        with self._lock:
            row, column = self.rowcol(point)
            start = self.clamp(point) - column
            return row, self.utf16_units(start, start + column)

    def rowcol_utf8(self, point: int) -> Tuple[int, int]:
        with self._lock:
            row, column = self.rowcol(point)
            start = self.clamp(point) - column
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
            begin = self._start(row)
            end = self.characters.find("\n", begin)
            return begin, len(self.characters) if end < 0 else end

    def line(self, point: int) -> Tuple[int, int]:
        """Begin and end of the line around a point, without its line break."""
        with self._lock:
            return self.row_span(self.rowcol(point)[0])

    def point(self, row: int, column: int, clamp_column: bool = False) -> int:
        """Without clamping a column may run on into the following rows, as in Sublime."""
        with self._lock:
            if row < 0:
                return 0
            if row >= self.row_count():
                return len(self.characters)
            begin, end = self.row_span(row)
            limit = end if clamp_column else len(self.characters)
            return max(0, min(begin + column, limit))

    def point_in_units(self, row: int, column: int, clamp_column: bool, utf: int) -> int:
        """Like `point`, `column` in UTF-8 or UTF-16 units (`utf` is 8 or 16)."""
        with self._lock:
            if row < 0 or row >= self.row_count():
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
