"""What stands between the lines of a diff's views, as phantoms: room where only the other side has
lines, and, where there is one view for both texts, the deleted lines; UI thread only.

A phantom stands below a line. Above the first one there is no place: what belongs there stands
below it, and only that line is not level with the other side.
"""

from __future__ import annotations

import html
from typing import Iterator, Sequence, Tuple

import sublime

from ...base.changes import Change
from ...base.comparison import Comparison, Filler, Side

KEY = "gemini_companion_filler"
# Changes whose phantoms are drawn at once: the UI thread should not be held up for long.
CHANGES = 100
# Deleted lines that one phantom shows, characters of each, and phantoms that have any.
MAX_ROWS, MAX_LENGTH, MAX_DELETED = 200, 400, 1000
# Wrapped lines that are equal, of which each is measured, where the two sides are not equally wide.
MAX_MEASURED = 200
# A row, from 0, and what stands below it, as HTML.
Piece = Tuple[int, str]
Rows = Tuple[int, int]


class Between:
    """What is drawn in the views of one diff. `left` is not valid where there is one view only."""

    def __init__(self, left: sublime.View, right: sublime.View) -> None:
        self._left = left
        self._right = right
        # A set erases its phantoms when it is let go.
        self._sets: dict[bool, list[sublime.PhantomSet]] = {False: [], True: []}

    @property
    def is_measured(self) -> bool:
        """Whether lines are wrapped, and their heights depend on how wide the views are."""
        return self._left.is_valid() and self._right.settings().get("word_wrap") is not False

    def parts(self, comparison: Comparison) -> list[int]:
        """The numbers of the parts that `draw` is to be called with, in their order."""
        if self.is_measured:
            # What is there already would be measured, too.
            self.erase()
        used = max(len(sets) for sets in self._sets.values())
        return list(range(max(len(comparison.changes) // CHANGES + 1, used)))

    def erase(self) -> None:
        for each in self._sets[False] + self._sets[True]:
            each.update([])

    def draw(self, comparison: Comparison, part: int, deleted_style: str) -> None:
        """Draw what belongs to some of the changes; `deleted_style` is the CSS of deleted lines."""
        numbers = slice(part * CHANGES, (part + 1) * CHANGES)
        if not self._left.is_valid():
            found = self._deleted(comparison, numbers, deleted_style)
            self._show(True, part, comparison.new, found)
        elif self.is_measured:
            left, right = Measured(self._left, self._right, comparison).pieces(numbers)
            self._show(False, part, comparison.old, left)
            self._show(True, part, comparison.new, right)
        else:
            left = _room(self._left, comparison.old_fillers(numbers))
            self._show(False, part, comparison.old, left)
            right = _room(self._right, comparison.new_fillers(numbers))
            self._show(True, part, comparison.new, right)

    def _show(self, is_right: bool, part: int, side: Side, pieces: Sequence[Piece]) -> None:
        sets, view = self._sets[is_right], self._right if is_right else self._left
        while len(sets) <= part:
            sets.append(sublime.PhantomSet(view, KEY))
        sets[part].update(
            [
                sublime.Phantom(sublime.Region(end_of(side, row)), text, sublime.LAYOUT_BLOCK)
                for row, text in pieces
            ]
        )

    def _deleted(self, comparison: Comparison, numbers: slice, style: str) -> list[Piece]:
        tab = self._right.settings().get("tab_size")
        tab_size = tab if isinstance(tab, int) and tab > 0 else 4
        return [
            (
                max(change.new_start - 1, 0),
                deleted(comparison.old.rows[change.old_start : change.old_end], style, tab_size),
            )
            for change in comparison.changes[:MAX_DELETED][numbers]
            if change.removed
        ]


class Measured:
    """The room that two views with wrapped lines need for equal lines to stand at equal heights."""

    def __init__(self, left: sublime.View, right: sublime.View, comparison: Comparison) -> None:
        self._views = left, right
        self._sides = comparison.old, comparison.new
        self._changes = comparison.changes
        self._heads = _below_first(left), _below_first(right)

    def pieces(self, numbers: slice) -> tuple[list[Piece], list[Piece]]:
        """What stands in the left and in the right view."""
        found: tuple[list[Piece], list[Piece]] = ([], [])
        for ours, theirs in self._pairs(numbers):
            heights = self._height(0, ours), self._height(1, theirs)
            at = 0 if heights[0] < heights[1] else 1
            if heights[0] != heights[1]:
                piece = _space(abs(heights[0] - heights[1]))
                found[at].append((max((ours, theirs)[at][1] - 1, 0), piece))
        return found

    def _pairs(self, numbers: slice) -> Iterator[tuple[Rows, Rows]]:
        """Rows of the left and the right side that belong side by side: those of a change, and the
        equal ones above it."""
        end = len(self._sides[0].rows), len(self._sides[1].rows)
        last = Change(end[0], end[0], end[1], end[1])
        all_changes = (*self._changes, last)
        before = all_changes[numbers.start - 1] if numbers.start else Change(0, 0, 0, 0)
        for change in all_changes[numbers]:
            ours = before.old_end, change.old_start
            theirs = before.new_end, change.new_start
            yield from self._equal(ours, theirs)
            yield (change.old_start, change.old_end), (change.new_start, change.new_end)
            before = change

    def _equal(self, ours: Rows, theirs: Rows) -> Iterator[tuple[Rows, Rows]]:
        count = ours[1] - ours[0]
        if count > MAX_MEASURED or self._height(0, ours) == self._height(1, theirs):
            yield ours, theirs
            return
        for at in range(count):
            yield (ours[0] + at, ours[0] + at + 1), (theirs[0] + at, theirs[0] + at + 1)

    def _height(self, side: int, rows: Rows) -> float:
        """That of the rows without what stands below the last one and below the first of all."""
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
    if row >= len(side.rows):
        return side.starts[-1]
    return side.starts[row] + len(side.rows[row].rstrip("\n"))


def deleted(rows: Sequence[str], style: str, tab_size: int = 4) -> str:
    """Deleted lines as HTML, the first of them where they are many."""
    shown = "".join(f"<div>{_row(row, tab_size)}</div>" for row in rows[:MAX_ROWS])
    if len(rows) > MAX_ROWS:
        shown += f"<div>... {len(rows) - MAX_ROWS:,} more deleted lines</div>"
    return f'<body id="gemini-companion-deleted"><div style="{style}">{shown}</div></body>'


def _row(row: str, tab_size: int) -> str:
    text = row.rstrip("\n").expandtabs(tab_size)
    if len(text) > MAX_LENGTH:
        text = text[:MAX_LENGTH] + " ..."
    # A blank at the beginning, or a second one, would not be shown.
    return html.escape(text).replace(" ", "&nbsp;") or "&nbsp;"


def _room(view: sublime.View, fillers: Sequence[Filler]) -> list[Piece]:
    height = view.line_height()
    return [(max(it.above - 1, 0), _space(it.rows * height)) for it in fillers]


def _space(height: float) -> str:
    return (
        f'<body id="gemini-companion-filler"><div style="padding-top: {height:g}px"></div></body>'
    )


def _below_first(view: sublime.View) -> float:
    """The height of what stands below the first row."""
    first_end = view.line(0).end()
    if first_end == view.size():
        return 0.0
    top, below = view.text_to_layout(first_end)[1], view.text_to_layout(first_end + 1)[1]
    return below - top - view.line_height()
