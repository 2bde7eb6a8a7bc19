"""Draws the changes in the two views of a diff. UI thread only; computes nothing.

The gutter has Sublime's own marks, which `set_reference_document` draws. This module colours the
lines and characters of each change with the colour scheme's colours for differences, and numbers
the lines where only parts of a file are shown. Phantoms between the lines are in `between`.
"""

from __future__ import annotations

from functools import partial
from typing import Callable

import sublime

from ...base.comparison import Comparison, Side
from . import between
from .sight import rows_in_sight

LINES = "gemini_companion_lines"
CHARACTERS = "gemini_companion_characters"
NUMBERS = "gemini_companion_line_number"
# The most changes with links at a time; if there are more, those in sight have links.
MAX_LINKS = 50

ADDED, REMOVED = "inserted", "deleted"
# Rows that are numbered in one block, and the number of blocks above and below those in sight.
ROWS, AROUND = 50, 4
NUMBER_STYLE = "color: color(var(--foreground) alpha(0.55))"
# The CSS of what differs in deleted lines, if a scheme has no colour for it.
UNDERLINE = "text-decoration: underline"
# If a scheme has no colours for differences: an outline in a colour that all schemes have.
OUTLINES = {ADDED: "region.greenish", REMOVED: "region.redish"}


class Marks:
    """The marks of one diff, and with them what is `between` the lines. `left` may be invalid,
    because the user can close it."""

    def __init__(self, left: sublime.View, right: sublime.View) -> None:
        self._left = left
        self.right = right
        self.between = between.Between(left, right, partial(deleted_styles, right))
        self._numbers = LineNumbers(left), LineNumbers(right)

    def drawing_steps(self, comparison: Comparison) -> list[Callable[[], None]]:
        """Functions that draw the changes, without the line numbers; each blocks the UI thread only
        for a moment."""
        colours = [partial(self._colour_lines, comparison, kind) for kind in (ADDED, REMOVED)]
        return [*colours, *self.between.drawing_steps(comparison)]

    def steps_beside(self, comparison: Comparison) -> list[Callable[[], None]]:
        """Functions that draw the line numbers of the rows in sight. They are drawn with the
        links."""
        left, right = self._numbers
        return [*left.drawing_steps(comparison.old), *right.drawing_steps(comparison.new)]

    def _colour_lines(self, comparison: Comparison, kind: str) -> None:
        is_new = kind == ADDED
        view = self.right if is_new else self._left
        if not view.is_valid():
            return
        characters = (comparison.new if is_new else comparison.old).characters
        for key, regions, part in (
            (LINES, comparison.regions(is_new), ""),
            (CHARACTERS, characters, ".char"),
        ):
            scope, flags = mark_style(view, kind, part)
            view.add_regions(key, [sublime.Region(*each) for each in regions], scope, flags=flags)

    def erase_between(self) -> None:
        """Erase what is drawn between the lines and before them."""
        self.between.erase()
        for each in self._numbers:
            each.erase()


class LineNumbers:
    """The file's own line numbers in a view that shows parts of it; the gutter would count the rows
    of the view (docs/sublime.md 7.6). They are drawn at the rows in sight and at some more: a
    phantom for each of ten thousand rows would block the editor."""

    def __init__(self, view: sublime.View) -> None:
        self._view = view
        # By the number of the block: a set, which erases its phantoms when it is collected, and the
        # text that it numbers.
        self._blocks: dict[int, tuple[sublime.PhantomSet, Side]] = {}
        # The numbers of the blocks in sight and around them.
        self._wanted = range(0)

    def drawing_steps(self, side: Side) -> list[Callable[[], None]]:
        """Functions that number the rows in sight; each blocks the UI thread only for a moment.
        `side` is the text of the view. Empty if that is done, or if the text is a whole file."""
        if not side.numbers or not self._view.is_valid():
            return []
        rows = rows_in_sight(self._view)
        self._wanted = range(rows[0] // ROWS - AROUND, rows[-1] // ROWS + AROUND + 1)
        for block in [block for block in self._blocks if block not in self._wanted]:
            self._blocks.pop(block)[0].update([])
        missing = [block for block in self._wanted if not self._is_drawn(side, block)]
        return [partial(self._draw_block, side, block) for block in missing]

    def _is_drawn(self, side: Side, block: int) -> bool:
        return block in self._blocks and self._blocks[block][1] is side

    def _draw_block(self, side: Side, block: int) -> None:
        # The view may have been scrolled away since this was planned, or drawn twice.
        if block not in self._wanted or self._is_drawn(side, block):
            return
        rows = range(len(side.numbers))[max(block, 0) * ROWS : max(block + 1, 0) * ROWS]
        digits = len(str(side.number(len(side.numbers)) + 1))
        if block in self._blocks:
            phantoms, _ = self._blocks[block]
        else:
            phantoms = sublime.PhantomSet(self._view, NUMBERS)
        self._blocks[block] = phantoms, side
        phantoms.update([_number_phantom(side, row, digits) for row in rows])

    def erase(self) -> None:
        for phantoms, _side in self._blocks.values():
            phantoms.update([])
        self._blocks.clear()


def erase_marks(view: sublime.View) -> None:
    """Erase everything that is drawn in the view, which is the user's from now on."""
    for key in (LINES, CHARACTERS):
        view.erase_regions(key)
    erase_comments(view)
    view.erase_phantoms(between.KEY)
    view.erase_phantoms(NUMBERS)
    view.reset_reference_document()


def erase_comments(view: sublime.View) -> None:
    number = 0
    while view.get_regions(comment_key(number)):
        view.erase_regions(comment_key(number))
        number += 1


def comment_key(number: int) -> str:
    """The key of the regions of a comment, counted from 0: each has its own and moves with its
    lines."""
    return f"gemini_companion_comment_{number}"


def mark_style(view: sublime.View, kind: str, part: str = "") -> tuple[str, sublime.RegionFlags]:
    """Scope and flags of regions for ADDED or REMOVED lines, or with ".char" for characters: what
    the view's colour scheme has for them."""
    plain = view.style_for_scope("").get("background")
    for scope in (f"diff.{kind}{part}", f"markup.{kind}{part}", f"diff.{kind}"):
        background = view.style_for_scope(scope).get("background")
        if background is not None and background != plain:
            return scope, sublime.DRAW_NO_OUTLINE
    if part:
        # The lines are outlined already; an outline inside another one would show nothing.
        flags = sublime.DRAW_NO_FILL | sublime.DRAW_NO_OUTLINE | sublime.DRAW_SOLID_UNDERLINE
        return OUTLINES[kind], flags
    return OUTLINES[kind], sublime.DRAW_NO_FILL


def deleted_styles(view: sublime.View) -> tuple[str, str]:
    """The CSS of deleted lines in a phantom, and of the characters in them that differ."""
    scope, flags = mark_style(view, REMOVED)
    colours = view.style_for_scope(scope)
    characters = view.style_for_scope(mark_style(view, REMOVED, ".char")[0]).get("background")
    if flags & sublime.DRAW_NO_FILL:
        return f"color: {colours.get('foreground', 'var(--redish)')}", UNDERLINE
    lines = f"background-color: {colours['background']}; color: {colours['foreground']}"
    if characters in (None, colours["background"]):
        return lines, UNDERLINE
    return lines, f"background-color: {characters}"


def _number_phantom(side: Side, row: int, digits: int) -> sublime.Phantom:
    number = side.numbers[row]
    text = "" if number is None else str(number + 1)
    shown = text.rjust(digits).replace(" ", "&nbsp;")
    styled = f'<span style="{NUMBER_STYLE}">{shown}&nbsp;</span>'
    html = f'<body id="gemini-companion-number">{styled}</body>'
    return sublime.Phantom(sublime.Region(side.starts[row]), html, sublime.LAYOUT_INLINE)
