"""Phantoms between the lines of a diff's views: the links of each change above it, comments below
their lines, room for lines that only the other side has, and, if one view shows both texts, the
deleted lines. UI thread only.

A phantom is below a line and covers nothing, unlike an annotation (docs/sublime.md 7.7). Nothing
can be above the first line: what belongs there is below it, and only that line is not level with
the other side.
"""

from __future__ import annotations

import html
from bisect import bisect_right
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Callable, Iterable, Iterator, Mapping, Sequence, Tuple

import sublime

from ...base.changes import Change
from ...base.comparison import Comparison, Filler, Side

KEY = "gemini_companion_between"
# Changes whose phantoms are drawn in one call, so that the UI thread is not blocked for long.
CHANGES = 50
# The most deleted lines of one phantom, characters of each, and phantoms with deleted lines.
MAX_ROWS, MAX_LENGTH, MAX_DELETED = 200, 400, 1000
# The most equal wrapped lines that are measured one by one, if the two sides differ in width.
MAX_MEASURED = 200
# Classes of the phantoms, and their CSS: the links of a change, a comment, room of either kind.
CHANGE, COMMENT, ROOM = (f"gemini-companion-{name}" for name in ("change", "comment", "room"))
COLOURS = {
    CHANGE: "color: color(var(--foreground) alpha(0.6))",
    COMMENT: "color: var(--yellowish)",
    ROOM: "",
}
# A blank that is as high as a line of text.
BLANK = "&nbsp;"
# A row, from 0, and the HTML below it.
Piece = Tuple[int, str]
Rows = Tuple[int, int]
# The CSS of deleted lines, and of the characters that differ in them.
Styles = Tuple[str, str]


@dataclass(frozen=True)
class Part:
    """The phantoms at some of the changes, without their links."""

    comparison: Comparison
    numbers: range
    left: Sequence[Piece]
    right: Sequence[Piece]


@dataclass(frozen=True)
class ShownComment:
    """A comment below a row of the right side, as lines of HTML, and the row of the left side below
    which it needs room."""

    row: int
    left_row: int
    lines: Sequence[str]


class Between:
    """The phantoms in the views of one diff. `left` is not valid if there is only one view.
    `deleted_styles` gives the CSS of deleted lines, and of the characters that differ in them."""

    def __init__(
        self, left: sublime.View, right: sublime.View, deleted_styles: Callable[[], Styles]
    ) -> None:
        self._views = left, right
        self._deleted_styles = deleted_styles
        # A set erases its phantoms when it is collected.
        self._sets: tuple[list[sublime.PhantomSet], list[sublime.PhantomSet]] = [], []
        self._comments = sublime.PhantomSet(left, KEY), sublime.PhantomSet(right, KEY)
        self._parts: dict[int, Part] = {}
        self._links: Mapping[int, str] = {}

    @property
    def is_measured(self) -> bool:
        """Whether lines are wrapped, so that their heights depend on the width of the views."""
        left, right = self._views
        return left.is_valid() and right.settings().get("word_wrap") is not False

    def drawing_steps(self, comparison: Comparison) -> list[Callable[[], None]]:
        """Functions that draw the phantoms, with the links that are known; each blocks the UI
        thread only for a moment."""
        if self.is_measured:
            # Existing phantoms would be measured as well.
            self.erase()
        used = max(len(sets) for sets in self._sets)
        count = max(len(comparison.changes) // CHANGES + 1, used)
        return [partial(self._draw_part, comparison, part) for part in range(count)]

    def erase(self) -> None:
        for each in (*self._sets[0], *self._sets[1], *self._comments):
            each.update([])

    def _draw_part(self, comparison: Comparison, part: int) -> None:
        """Draw the phantoms of some of the changes."""
        numbers = slice(part * CHANGES, (part + 1) * CHANGES)
        left, right = self._views
        if not left.is_valid():
            found: tuple[list[Piece], list[Piece]] = [], self._deleted_pieces(comparison, numbers)
        elif self.is_measured:
            found = Measured(left, right, comparison).room_pieces(numbers)
        else:
            fillers = comparison.fillers(numbers)
            found = _filler_pieces(left, fillers[0]), _filler_pieces(right, fillers[1])
        its_changes = range(len(comparison.changes))[numbers]
        self._parts[part] = Part(comparison, its_changes, *found)
        if left.is_valid():
            self._show_left(part)
        self._show_right(part)

    def show_links(self, comparison: Comparison, links: Mapping[int, str]) -> None:
        """Show these links, as HTML by the numbers of their changes. Phantoms of another comparison
        get their links when they are drawn again."""
        numbers = {*links, *self._links}
        changed = {
            number // CHANGES for number in numbers if links.get(number) != self._links.get(number)
        }
        self._links = links
        for part in changed:
            if part in self._parts and self._parts[part].comparison is comparison:
                self._show_right(part)

    def show_comments(
        self, comparison: Comparison | None, comments: Sequence[ShownComment]
    ) -> None:
        """Show these comments below their lines; `comparison` is that of the views, if there is
        one."""
        left, right = self._views
        ours = [(comment.row, _block_html(COMMENT, comment.lines)) for comment in comments]
        if comparison is None:
            points = [(right.line(right.text_point(row, 0)).end(), text) for row, text in ours]
            self._comments[1].update([_block_phantom(*each) for each in points])
            return
        self._comments[1].update(_row_phantoms(comparison.new, ours))
        if left.is_valid():
            rooms = [
                (comment.left_row, _block_html(ROOM, [BLANK] * len(comment.lines)))
                for comment in comments
            ]
            self._comments[0].update(_row_phantoms(comparison.old, rooms))

    def _show_left(self, number: int) -> None:
        """Room beside the links."""
        part = self._parts[number]
        changes = (part.comparison.changes[at] for at in part.numbers)
        blanks = [(max(change.old_start - 1, 0), _block_html(ROOM, [BLANK])) for change in changes]
        self._update_phantoms(0, number, _row_phantoms(part.comparison.old, (*blanks, *part.left)))

    def _show_right(self, number: int) -> None:
        part = self._parts[number]
        changes = zip(part.numbers, part.comparison.new_starts[part.numbers.start :])
        lines = [
            (max(start - 1, 0), _block_html(CHANGE, [self._links.get(change, BLANK)]))
            for change, start in changes
        ]
        self._update_phantoms(1, number, _row_phantoms(part.comparison.new, (*lines, *part.right)))

    def _update_phantoms(self, at: int, number: int, phantoms: list[sublime.Phantom]) -> None:
        sets = self._sets[at]
        while len(sets) <= number:
            sets.append(sublime.PhantomSet(self._views[at], KEY))
        sets[number].update(phantoms)

    def _deleted_pieces(self, comparison: Comparison, numbers: slice) -> list[Piece]:
        styles = self._deleted_styles()
        tab = self._views[1].settings().get("tab_size")
        tab_size = tab if isinstance(tab, int) and tab > 0 else 4
        return [
            (
                max(change.new_start - 1, 0),
                deleted_html(comparison.old, change.old_start, change.old_end, styles, tab_size),
            )
            for change in comparison.changes[:MAX_DELETED][numbers]
            if change.removed
        ]


class Measured:
    """The room that two views with wrapped lines need to keep equal lines at equal heights."""

    def __init__(self, left: sublime.View, right: sublime.View, comparison: Comparison) -> None:
        self._views = left, right
        self._sides = comparison.old, comparison.new
        self._changes = comparison.changes
        self._heads = _below_first(left), _below_first(right)

    def room_pieces(self, numbers: slice) -> tuple[list[Piece], list[Piece]]:
        """The phantoms of the left and of the right view."""
        found: tuple[list[Piece], list[Piece]] = ([], [])
        for ours, theirs in self._row_pairs(numbers):
            heights = self._rows_height(0, ours), self._rows_height(1, theirs)
            at = 0 if heights[0] < heights[1] else 1
            if heights[0] != heights[1]:
                piece = _space_html(abs(heights[0] - heights[1]))
                found[at].append((max((ours, theirs)[at][1] - 1, 0), piece))
        return found

    def _row_pairs(self, numbers: slice) -> Iterator[tuple[Rows, Rows]]:
        """Rows of the left and the right side that belong side by side: those of a change, and the
        equal ones above it."""
        end = len(self._sides[0].rows), len(self._sides[1].rows)
        last = Change(end[0], end[0], end[1], end[1])
        all_changes = (*self._changes, last)
        before = all_changes[numbers.start - 1] if numbers.start else Change(0, 0, 0, 0)
        for change in all_changes[numbers]:
            ours = before.old_end, change.old_start
            theirs = before.new_end, change.new_start
            yield from self._equal_pairs(ours, theirs)
            yield (change.old_start, change.old_end), (change.new_start, change.new_end)
            before = change

    def _equal_pairs(self, ours: Rows, theirs: Rows) -> Iterator[tuple[Rows, Rows]]:
        count = ours[1] - ours[0]
        if count > MAX_MEASURED or self._rows_height(0, ours) == self._rows_height(1, theirs):
            yield ours, theirs
            return
        for at in range(count):
            yield (ours[0] + at, ours[0] + at + 1), (theirs[0] + at, theirs[0] + at + 1)

    def _rows_height(self, side: int, rows: Rows) -> float:
        """The height of the rows, without phantoms below the last one and below the first of
        all."""
        first, last = rows
        if first == last:
            return 0.0
        view, text = self._views[side], self._sides[side]
        top = view.text_to_layout(text.starts[first])[1]
        bottom = view.text_to_layout(end_of(text, last - 1))[1] + view.line_height()
        head = self._heads[side] if first == 0 and last > 1 else 0.0
        return bottom - top - head


def end_of(side: Side, row: int) -> int:
    """The point at the end of the row, before its line end."""
    if row + 1 >= len(side.starts):
        return side.starts[-1]
    end = side.starts[row + 1]
    return end - (side.text[end - 1] == "\n")


def deleted_html(side: Side, first: int, end: int, styles: Styles, tab_size: int = 4) -> str:
    """The deleted rows of the side from `first` to before `end` as HTML; of many rows, only the
    first."""
    shown = ""
    for row in range(first, min(end, first + MAX_ROWS)):
        shown += f"<div>{_row_html(side, row, styles[1], tab_size)}</div>"
    if end - first > MAX_ROWS:
        shown += f"<div>... {end - first - MAX_ROWS:,} more deleted lines</div>"
    return f'<div style="{styles[0]}">{shown}</div>'


def _row_html(side: Side, row: int, style: str, tab_size: int) -> str:
    """The text of a row, with the style on the characters that differ."""
    text, start = side.rows[row].rstrip("\n"), side.starts[row]
    shown = text[:MAX_LENGTH]
    at = bisect_right(side.characters, (start,))
    found, done = "", 0
    for region in islice(side.characters, at, None):
        begin, end = (min(point - start, len(shown)) for point in region)
        if begin >= len(shown):
            break
        found += _text_html(shown, done, begin, tab_size)
        found += f'<span style="{style}">{_text_html(shown, begin, end, tab_size)}</span>'
        done = end
    found += _text_html(shown, done, len(shown), tab_size)
    # An empty line has no height.
    return found + " ..." * (len(text) > MAX_LENGTH) or "&nbsp;"


def _text_html(text: str, begin: int, end: int, tab_size: int) -> str:
    """A part of the text as HTML, with its tabs as wide as they are in the line."""
    columns = [len(text[:at].expandtabs(tab_size)) for at in (begin, end)]
    # HTML would drop a blank at the beginning, or a second one.
    return html.escape(text.expandtabs(tab_size)[slice(*columns)]).replace(" ", "&nbsp;")


def _filler_pieces(view: sublime.View, fillers: Sequence[Filler]) -> list[Piece]:
    height = view.line_height()
    return [(max(filler.above - 1, 0), _space_html(filler.rows * height)) for filler in fillers]


def _space_html(height: float) -> str:
    return f'<div style="padding-top: {height:g}px"></div>'


def _block_html(name: str, lines: Sequence[str]) -> str:
    return f'<div class="{name}" style="{COLOURS[name]}">{"<br>".join(lines)}</div>'


def _row_phantoms(side: Side, pieces: Iterable[Piece]) -> list[sublime.Phantom]:
    """One phantom for each row, because the order of several at one place is undefined."""
    found: dict[int, str] = {}
    for row, text in pieces:
        found[row] = found.get(row, "") + text
    return [_block_phantom(end_of(side, row), text) for row, text in found.items()]


def _block_phantom(point: int, text: str) -> sublime.Phantom:
    body = f'<body id="gemini-companion-between">{text}</body>'
    return sublime.Phantom(sublime.Region(point), body, sublime.LAYOUT_BLOCK)


def _below_first(view: sublime.View) -> float:
    """The height of the phantom below the first row."""
    first_end = view.line(0).end()
    if first_end == view.size():
        return 0.0
    top, below = view.text_to_layout(first_end)[1], view.text_to_layout(first_end + 1)[1]
    return below - top - view.line_height()
