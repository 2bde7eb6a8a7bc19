"""The file's own line numbers in a view that shows parts of it; the gutter would count the rows of
the view (docs/sublime.md 7.6). UI thread only; computes nothing.

They are drawn at the rows in sight and at some more: a phantom for each of ten thousand rows would
block the editor.
"""

from __future__ import annotations

from functools import partial
from typing import Callable

import sublime

from ...base.comparison import Side
from .sight import rows_in_sight

KEY = "gemini_companion_line_number"
# Rows that are numbered in one block, and the number of blocks above and below those in sight.
ROWS, AROUND = 50, 4
STYLE = "color: color(var(--foreground) alpha(0.55))"


class LineNumbers:
    """The numbers in one view."""

    def __init__(self, view: sublime.View) -> None:
        self._view = view
        # By the number of the block: a set, which erases its phantoms when it is collected, and the
        # text that it numbers.
        self._blocks: dict[int, tuple[sublime.PhantomSet, Side]] = {}

    def steps(self, side: Side) -> list[Callable[[], None]]:
        """Functions that number the rows in sight; each blocks the UI thread only for a moment.
        `side` is the text of the view. Empty if that is done, or if the text is a whole file."""
        if not side.numbers or not self._view.is_valid():
            return []
        rows = rows_in_sight(self._view)
        wanted = range(rows[0] // ROWS - AROUND, rows[-1] // ROWS + AROUND + 1)
        for block in [block for block in self._blocks if block not in wanted]:
            self._blocks.pop(block)[0].update([])
        missing = [it for it in wanted if it not in self._blocks or self._blocks[it][1] is not side]
        return [partial(self._draw, side, block) for block in missing]

    def _draw(self, side: Side, block: int) -> None:
        rows = range(len(side.numbers))[max(block, 0) * ROWS : max(block + 1, 0) * ROWS]
        digits = len(str(side.number(len(side.numbers)) + 1))
        if block in self._blocks:
            phantoms, _ = self._blocks[block]
        else:
            phantoms = sublime.PhantomSet(self._view, KEY)
        self._blocks[block] = phantoms, side
        phantoms.update([_phantom(side, row, digits) for row in rows])

    def erase(self) -> None:
        for phantoms, _side in self._blocks.values():
            phantoms.update([])
        self._blocks.clear()


def _phantom(side: Side, row: int, digits: int) -> sublime.Phantom:
    number = side.numbers[row]
    text = "" if number is None else str(number + 1)
    shown = text.rjust(digits).replace(" ", "&nbsp;")
    html = f'<body id="gemini-companion-number"><span style="{STYLE}">{shown}&nbsp;</span></body>'
    return sublime.Phantom(sublime.Region(side.starts[row]), html, sublime.LAYOUT_INLINE)
