"""Where the text of a view stands, in pixels: rows, wrapped lines, phantoms between them.

A font of fixed pitch: every cell is as wide as the next, tabs reach to the next stop and East
Asian wide characters take two cells. Known: phantoms (their heights from `minihtml`), word wrap at
blanks, folded rows. Not known: the indent of wrapped lines, rulers, a minimap.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import Any, Dict, List, NamedTuple, Tuple

from . import minihtml

INLINE, BELOW, BLOCK = 0, 1, 2
# Pixels that the window needs for itself.
SIDE_BAR, TABS, STATUS_BAR, PANEL = 190.0, 32.0, 26.0, 170.0
_DIGIT_ROOM = 5  # cells of the gutter beside the digits of the line number


class Screen(NamedTuple):
    """What a view is shown in: its size in pixels without the gutter, and its font."""

    width: float
    height: float
    font: minihtml.Font


def screen(view: Any) -> Screen:
    """The room that a view has in its window; the whole window where it has none."""
    switches = view.switches
    font = minihtml.Font(switches.line_height, switches.em_width, switches.em_width / 0.6)
    width, height = _room(view)
    return Screen(max(0.0, width - gutter_width(view)), height, font)


def _room(view: Any) -> Tuple[float, float]:
    window, switches = view.window, view.switches
    if window is None:
        return switches.window_width, switches.window_height
    width, height = groups_room(window, switches)
    if view.sheet is None:
        return switches.window_width, PANEL
    group = view.sheet.group
    if group not in window.groups:
        return width, height
    left, top, right, bottom = cell(window.layout, window.groups.index(group))
    beside = len(group.selected) if view.sheet in group.selected else 1
    tabs = TABS if window.shows["tabs"] else 0.0
    return width * (right - left) / max(1, beside), height * (bottom - top) - tabs


def origin(view: Any) -> Tuple[float, float]:
    """Where the text of a view begins in its window; menu and title are no part of it."""
    window = view.window
    if window is None:
        return 0.0, 0.0
    width, height = groups_room(window, view.switches)
    side = SIDE_BAR if shows_side_bar(window) else 0.0
    gutter = gutter_width(view)
    if view.sheet is None or view.sheet.group not in window.groups:
        return gutter, height
    left, top, _right, _bottom = cell(window.layout, window.groups.index(view.sheet.group))
    tabs = TABS if window.shows["tabs"] else 0.0
    return side + width * left + gutter, height * top + tabs


def groups_room(window: Any, switches: Any) -> Tuple[float, float]:
    """What side bar, panel and status bar leave of a window for its groups."""
    width = switches.window_width - (SIDE_BAR if shows_side_bar(window) else 0.0)
    height = switches.window_height - (STATUS_BAR if window.shows["status_bar"] else 0.0)
    return width, height - (PANEL if window.active_panel else 0.0)


def shows_side_bar(window: Any) -> bool:
    return bool(window.shows["sidebar"] and window.folders)


def cell(layout: Dict[str, Any], index: int) -> Tuple[float, float, float, float]:
    """Left, top, right and bottom of a group, as fractions of the room for groups."""
    x1, y1, x2, y2 = layout["cells"][index]
    cols, rows = layout["cols"], layout["rows"]
    return cols[x1], rows[y1], cols[x2], rows[y2]


def gutter_width(view: Any) -> float:
    if not view.settings.get("gutter", True):
        return 0.0
    digits = len(str(view.text.row_count())) if view.settings.get("line_numbers", True) else 0
    return float((digits + _DIGIT_ROOM) * view.switches.em_width)


# Counts that are known of rows up to some length, by the columns and the tab size: each state of a
# growing text has mostly the rows of the one before.
_SHORT, _MOST = 1000, 1 << 14
_known: Dict[Tuple[int, int], Dict[str, int]] = {}


def _known_counts(columns: int, tab: int) -> Dict[str, int]:
    """By the rows."""
    known = _known.setdefault((columns, tab), {})
    if len(known) > _MOST:
        known.clear()
    return known


class Layout:
    """The rows of one state of a view. Rows count from 0, points are code points."""

    def __init__(self, view: Any, columns: int, font: minihtml.Font) -> None:
        self.text = view.text
        self.columns = columns
        self.font = font
        self.tab = max(1, int(view.settings.get("tab_size", 4)))
        self.inline: List[Tuple[int, minihtml.Size]] = []
        self._place_phantoms(view)
        self._count_lines(view)

    def _place_phantoms(self, view: Any) -> None:
        """Sum up what phantoms add below rows; inline ones make room within their line."""
        added: Dict[int, float] = {}
        # Most of them have the same few contents.
        sizes: Dict[str, minihtml.Size] = {}
        for phantom in view.measured_phantoms:
            size = sizes.get(phantom.content)
            if size is None:
                size = sizes[phantom.content] = minihtml.measure(phantom.content, self.font)
            point = min(phantom.region)
            row = self.text.rowcol(point)[0]
            more = size.height
            if phantom.layout == INLINE:
                self.inline.append((point, size))
                more = max(0.0, size.height - self.font.line)
            added[row] = added.get(row, 0.0) + more
        self.inline.sort()
        self._rows = sorted(added)
        self._sums = list(accumulate((added[row] for row in self._rows), initial=0.0))

    def _count_lines(self, view: Any) -> None:
        """How many lines stand above each row; None where every row is one line."""
        self._above: Any = None
        if not self.columns and not view.folds:
            return
        # Rows that fit are mostly told by their lengths.
        columns, is_plain = self.columns or len(self.text), self._is_plain
        known = _known_counts(self.columns, self.tab)
        counts = [
            1
            if len(line) <= columns and (not self.columns or is_plain(line))
            else known.get(line) or self._count_wrapped(line, known)
            for line in self.text.characters.split("\n")
        ]
        for a, b in view.folds:
            first, last = (self.text.rowcol(point)[0] for point in (min(a, b), max(a, b)))
            for row in range(first + 1, last + 1):
                counts[row] = 0
        self._above = list(accumulate(counts, initial=0))

    def _count_wrapped(self, line: str, known: Dict[str, int]) -> int:
        """How many lines a row takes, which is `known` from then on."""
        count = 1
        if self.columns and self.cells(line) > self.columns:
            count = len(self._wrapped(0, line))
        if len(line) <= _SHORT:
            known[line] = count
        return count

    # Rows

    def lines(self, row: int) -> List[Tuple[int, int]]:
        """Begin and end of the lines on which a row is shown; more than one where it wraps."""
        begin, end = self.text.row_span(row)
        if not self.columns:
            return [(begin, end)]
        line = self.text.slice(begin, end)
        if len(line) <= self.columns and self.cells(line) <= self.columns:
            return [(begin, end)]
        return self._wrapped(begin, line)

    @staticmethod
    def _is_plain(text: str) -> bool:
        """Whether every character takes one cell."""
        return text.isascii() and "\t" not in text

    def _wrapped(self, begin: int, line: str) -> List[Tuple[int, int]]:
        if self._is_plain(line):
            return self._wrapped_plain(begin, line)
        found, start, blank, used = [], 0, 0, 0
        for at, character in enumerate(line):
            width = self._cells(character, used)
            if used + width > self.columns and at > start:
                cut = blank if blank > start else at
                found.append((begin + start, begin + cut))
                start = cut
                used = self.cells(line[start:at])
                width = self._cells(character, used)
            used += width
            if character in " \t":
                blank = at + 1
        return found + [(begin + start, begin + len(line))]

    def _wrapped_plain(self, begin: int, line: str) -> List[Tuple[int, int]]:
        found, start = [], 0
        while len(line) - start > self.columns:
            cut = line.rfind(" ", start, start + self.columns) + 1
            cut = cut if cut > start else start + self.columns
            found.append((begin + start, begin + cut))
            start = cut
        return found + [(begin + start, begin + len(line))]

    def top(self, row: int) -> float:
        """Where a row begins; also that of the first row that is not there."""
        lines = row if self._above is None else self._above[min(row, len(self._above) - 1)]
        return float(lines * self.font.line + self._sums[bisect_left(self._rows, row)])

    def bottom_of_text(self, row: int) -> float:
        """Where the lines of a row end and the phantoms below it begin."""
        at = bisect_left(self._rows, row)
        there = at < len(self._rows) and self._rows[at] == row
        below = self._sums[at + 1] - self._sums[at] if there else 0.0
        return self.top(row + 1) - below

    def row_at(self, y: float) -> int:
        """The row that stands at a height; phantoms belong to the row above them."""
        low, high = 0, self.text.row_count() - 1
        while low < high:
            middle = (low + high + 1) // 2
            if self.top(middle) <= y:
                low = middle
            else:
                high = middle - 1
        return self._shown(low)

    def _shown(self, row: int) -> int:
        """The row itself, or the one it is folded into."""
        while row and self._above is not None and self._above[row] == self._above[row + 1]:
            row -= 1
        return row

    def height(self) -> float:
        return self.top(self.text.row_count())

    def width(self) -> float:
        """Of the longest row, by its characters; 0 where rows wrap."""
        if self.columns:
            return 0.0
        longest = max(self.text.characters.split("\n"), key=len)
        return self.cells(longest) * self.font.em_width

    # Points

    def place(self, point: int) -> Tuple[float, float]:
        """Left and top of a point."""
        row = self._shown(self.text.rowcol(point)[0])
        lines = self.lines(row)
        index = max(0, bisect_right([begin for begin, _end in lines], point) - 1)
        begin = lines[index][0]
        x = self.cells(self.text.slice(begin, max(begin, point))) * self.font.em_width
        x += self._inline_before(begin, point)
        return float(x), self.top(row) + index * self.font.line

    def _inline_before(self, begin: int, point: int) -> float:
        return sum(size.width for at, size in self.inline if begin <= at < point)

    def point(self, x: float, y: float) -> int:
        """The point nearest to a place."""
        row = self.row_at(y)
        lines = self.lines(row)
        index = int((y - self.top(row)) // self.font.line)
        begin, end = lines[max(0, min(index, len(lines) - 1))]
        line = self.text.slice(begin, end)
        if not self.inline and self._is_plain(line):
            return int(begin + max(0.0, min(x / self.font.em_width + 0.5, float(len(line)))))
        used = 0.0
        for at, character in enumerate(line, begin):
            used += self._inline_before(at, at + 1) if self.inline else 0.0
            width = self._cells(character, int(used / self.font.em_width)) * self.font.em_width
            if x < used + width / 2:
                return at
            used += width
        return end

    def cells(self, text: str) -> int:
        """How many cells a piece from the start of a line takes."""
        if self._is_plain(text):
            return len(text)
        used = 0
        for character in text:
            used += self._cells(character, used)
        return used

    def _cells(self, character: str, used: int) -> int:
        if character == "\t":
            return self.tab - used % self.tab
        if character < "\u0300":
            return 1
        if unicodedata.combining(character):
            return 0
        return 2 if unicodedata.east_asian_width(character) in "WF" else 1
