"""Two texts side by side in fixed columns, for a terminal; knows no editor."""

from __future__ import annotations

import textwrap
import unicodedata
from bisect import bisect_left
from itertools import accumulate, groupby
from typing import Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from headless.diff import Hunk, hunks

from . import unseen

RED, GREEN, DIM, STRONG, PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[2m", "\x1b[7m", "\x1b[27m"
RESET = "\x1b[0m"
# Columns of a line number at least, and of what stands behind it.
DIGITS, SIGN = 4, 3
TAB = " " * 4
# From this many columns on the texts stand side by side.
NARROW = 60

Regions = Sequence[Tuple[int, int]]
# Words for single lines of the new text, by row.
Beside = Mapping[int, Sequence[str]]
# Of lines, by row; None where they are counted from 1.
Numbers = Optional[Mapping[int, str]]


class Row(NamedTuple):
    """Two lines that stand side by side, by their numbers from 0; None where none stands. `hunk` is
    the number of the change it belongs to, from 0, else -1."""

    left: Optional[int]
    right: Optional[int]
    hunk: int


class Sides:
    """Two texts, line by line; `old` is None where there is nothing to compare with."""

    def __init__(self, old: Optional[str], new: str) -> None:
        self.old = old.split("\n") if old is not None else []
        self.new = new.split("\n")
        self.hunks: List[Hunk] = hunks(old, new) if old is not None else []
        self.rows = _pair_rows(self.hunks, len(self.old), len(self.new), old is not None)
        self.old_starts = _line_starts(self.old)
        self.new_starts = _line_starts(self.new)

    def hunk_at(self, row: int) -> int:
        """The number of the change at a line of the new text, -1 where there is none; lines that
        were taken away belong to the one that stands there now."""
        for number, hunk in enumerate(self.hunks):
            if hunk.first <= row < max(hunk.last, hunk.first + 1):
                return number
        return -1

    def place(self, row: int) -> Tuple[int, int]:
        """Where the change at a line of the new text stands among the rows, else the line itself:
        the first row and the one after the last."""
        number = self.hunk_at(row)
        if number >= 0:
            return self._span(number)
        low, high = 0, len(self.rows)
        while low < high:
            middle = (low + high) // 2
            if self._new_at(middle) < row:
                low = middle + 1
            else:
                high = middle
        return low, low + 1

    def _span(self, number: int) -> Tuple[int, int]:
        found = [at for at, row in enumerate(self.rows) if row.hunk == number]
        return found[0], found[-1] + 1

    def _new_at(self, at: int) -> int:
        """The line of the new text at a row, or the last one above it."""
        while at >= 0 and self.rows[at].right is None:
            at -= 1
        right = self.rows[at].right if at >= 0 else -1
        return -1 if right is None else right


class Picture(NamedTuple):
    """How much of two texts is drawn, and what is marked in it: the rows from `top` on, at most
    `height`, `width` columns, of lines that are too long from the column `shift` on. `old` and
    `new` are the regions of the characters that differ; `beside` are words for single lines of the
    new text, `numbers` the line numbers of both, which take `head` columns with the signs behind
    them."""

    top: int
    height: int
    width: int
    shift: int
    colour: bool
    old: Regions
    new: Regions
    beside: Sequence[Tuple[int, str]]
    numbers: Tuple[Numbers, Numbers]
    head: int


def head_columns(numbers: Tuple[Numbers, Numbers]) -> int:
    """The columns before each line for its number and its sign."""
    found = [len(text) for each in numbers if each for text in each.values()]
    return max([DIGITS, *found]) + SIGN


def draw_sides(sides: Sides, how: Picture) -> List[str]:
    """Both sides in at most `height` lines of at most `width` columns."""
    beside: Dict[int, List[str]] = {}
    for number, words in how.beside:
        beside.setdefault(number, []).append(make_printable(words))
    lines = (_one_below_the_other if how.width < NARROW else _side_by_side)(sides, how, beside)
    return lines[: how.height]


def _one_below_the_other(sides: Sides, how: Picture, beside: Beside) -> List[str]:
    """All rows in one column: of each change what goes, then what comes."""
    width, result = how.width - how.head, []
    shown = sides.rows[how.top : how.top + how.height]
    for hunk, group in groupby(shown, key=lambda row: row.hunk):
        rows = list(group)
        for row in rows if hunk >= 0 else ():
            if row.left is not None:
                line = _draw_head(row.left, how.numbers[0], "-", how.head)
                line += _draw_cell(sides.old, sides.old_starts, row.left, how.old, width, how)
                result.append(RED + line + RESET if how.colour else line)
        for row in rows:
            if row.right is not None:
                line = _draw_head(row.right, how.numbers[1], "+" if hunk >= 0 else "", how.head)
                line += _draw_cell(sides.new, sides.new_starts, row.right, how.new, width, how)
                begin = GREEN if hunk >= 0 else DIM
                result.append(begin + line + RESET if how.colour else line)
                words = textwrap.wrap(" ".join(beside.get(row.right, ())), width)
                result += [" " * how.head + word.rjust(width) for word in words]
    return result


def _side_by_side(sides: Sides, how: Picture, beside: Beside) -> List[str]:
    side = max(20, (how.width - 3) // 2)
    result: List[str] = []
    for row in sides.rows[how.top : how.top + how.height]:
        signs = ("-", "+") if row.hunk >= 0 else ("", "")
        left = _draw_head(row.left, how.numbers[0], signs[0], how.head)
        left += _draw_cell(sides.old, sides.old_starts, row.left, how.old, side - how.head, how)
        right = _draw_head(row.right, how.numbers[1], signs[1], how.head)
        right += _draw_cell(sides.new, sides.new_starts, row.right, how.new, side - how.head, how)
        below = " ".join(beside.get(row.right, ())) if row.right is not None else ""
        if below and right.endswith(" " * (len(below) + 1)):
            right, below = right[: -len(below)] + below, ""
        result.append(_join_sides(left, right, row, how.colour))
        if below:
            # There is no room at the right edge of the line.
            width = side - how.head
            rows = [words.rjust(width) for words in textwrap.wrap(below, width)]
            result += [" " * side + " | " + " " * how.head + words for words in rows]
    return result


def draw_titles(names: Tuple[str, str], width: int) -> str:
    """What stands above both columns, or above the only one."""
    if width < NARROW:
        return _fit_text(names[1], (), width).rstrip()
    side = max(20, (width - 3) // 2)
    return " | ".join(_fit_text(name, (), side) for name in names).rstrip()


def _join_sides(left: str, right: str, row: Row, colour: bool) -> str:
    if not colour:
        return left + " | " + right
    if row.hunk < 0:
        return DIM + left + " | " + right + RESET
    return RED + left + RESET + " | " + GREEN + right + RESET


def _draw_head(row: Optional[int], numbers: Numbers, sign: str, width: int) -> str:
    """The number and the sign before a line; blanks where there is none."""
    if row is None:
        return " " * width
    label = str(row + 1) if numbers is None else numbers.get(row, "")
    return "%s %1s " % (label.rjust(width - SIGN), sign)


def _draw_cell(
    lines: List[str],
    starts: List[int],
    row: Optional[int],
    marked: Regions,
    width: int,
    how: Picture,
) -> str:
    if row is None:
        return " " * width
    # What fits is seen whole, and of every other line something.
    length = len(lines[row])
    begin = min(how.shift, length - width // 2) if length > width else 0
    before = "%d+…" % begin if begin else ""
    width -= len(before)
    spans = _spans_within(marked, starts[row] + begin, width) if how.colour else []
    return before + _fit_text(lines[row][begin:], spans, max(0, width))


def _spans_within(marked: Regions, start: int, length: int) -> List[Tuple[int, int]]:
    """The parts of sorted regions within a piece of the text, counted from its start."""
    at = bisect_left([end for _begin, end in marked], start)
    found = []
    for begin, end in marked[at:]:
        if begin >= start + length:
            break
        found.append((max(0, begin - start), min(length, end - start)))
    return found


def _fit_text(text: str, spans: Sequence[Tuple[int, int]], width: int) -> str:
    """The text filled to `width` columns, or cut, with a mark; the spans in reverse."""
    # More characters than columns are never shown, and a line can have millions of them.
    pieces = list(_spell_out(text[:width]))
    count, mark = _count_fitting(pieces, len(text), width)
    shown, used, strong = "", len(mark), False
    for at, piece in pieces[:count]:
        if strong != any(begin <= at < end for begin, end in spans):
            strong = not strong
            shown += STRONG if strong else PLAIN
        used, shown = used + count_columns(piece), shown + piece
    return shown + (PLAIN if strong else "") + mark + " " * (width - used)


def _spell_out(text: str) -> Iterator[Tuple[int, str]]:
    """What is shown of the text, character by character, and where in it that stands."""
    at = 0
    for start, end, spelled in (*unseen.unseen_parts(text), (len(text), len(text), "")):
        yield from (
            (index, TAB if text[index] == "\t" else text[index]) for index in range(at, start)
        )
        if spelled:
            yield start, spelled
        at = end


def _count_fitting(pieces: Sequence[Tuple[int, str]], length: int, width: int) -> Tuple[int, str]:
    """How many of the pieces there is room for, and what stands behind them where that is not all
    of a text of this length: the number of its characters that are missing."""
    ends = list(accumulate((count_columns(shown) for _at, shown in pieces), initial=0))
    if ends[-1] <= width and length <= width:
        return len(pieces), ""
    places = [*(at for at, _shown in pieces), min(length, width)]
    for count in range(len(pieces), -1, -1):
        mark = "…+%d" % (length - places[count])
        if ends[count] + len(mark) <= width:
            return count, mark
    return 0, "…"[:width]


def count_columns(text: str) -> int:
    """Wide characters take two."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)


def make_printable(text: str) -> str:
    """The text with tabs as spaces, and spelled out what nobody would see, or a terminal would
    obey."""
    found, at = "", 0
    for start, end, spelled in unseen.unseen_parts(text):
        found, at = found + text[at:start] + spelled, end
    return (found + text[at:]).replace("\t", TAB)


def wrap_text(text: str, width: int) -> List[str]:
    """The lines of a text, long ones in several, between words where that can be."""
    found: List[str] = []
    for line in map(make_printable, text.split("\n")):
        is_long = len(line) > width
        found += textwrap.wrap(line, width, break_on_hyphens=False) if is_long else [line]
    return found


def cut_text(text: str, width: int) -> str:
    """The text in at most `width` columns."""
    return _fit_text(text, (), width).rstrip()


def shorten_text(text: str, width: int) -> str:
    """The text in at most `width` columns, without its middle: both ends of a row of a list
    matter."""
    if len(text) <= width or count_columns(text) != len(text):
        return cut_text(text, width)
    end = (width - 1) // 2
    return text[: width - 1 - end] + "…" + text[len(text) - end :]


def _line_starts(lines: List[str]) -> List[int]:
    return list(accumulate((len(line) + 1 for line in lines), initial=0))


def _pair_rows(changes: List[Hunk], old: int, new: int, compared: bool) -> List[Row]:
    """All lines of both texts, those that belong together on one row."""
    if not compared:
        return [Row(None, at, -1) for at in range(new)]
    result: List[Row] = []
    left = right = 0
    for number, hunk in enumerate(changes):
        result += [Row(left + at, right + at, -1) for at in range(hunk.first - right)]
        left, right = hunk.old_first, hunk.first
        gone, come = len(hunk.old), hunk.last - hunk.first
        result += [
            Row(left + at if at < gone else None, right + at if at < come else None, number)
            for at in range(max(gone, come))
        ]
        left, right = left + gone, hunk.last
    return result + [Row(left + at, right + at, -1) for at in range(new - right)]
