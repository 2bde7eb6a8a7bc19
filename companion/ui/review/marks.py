"""What is drawn of the changes in the two views of a diff; UI thread only, and computes nothing.

The gutter has Sublime's own marks, which `set_reference_document` draws. Here the lines and the
characters of each change are coloured as the colour scheme colours differences, room is made where
one side lacks lines, and each change has its links at the right edge.
"""

from __future__ import annotations

from typing import Iterable, Sequence

import sublime

from ...base.comparison import Comparison, Filler, Region

LINES = "gemini_companion_lines"
CHARACTERS = "gemini_companion_characters"
LINKS = "gemini_companion_change"
FILLERS = "gemini_companion_filler"
# Changes that have links at a time: many annotations slow the editor down (ST#5846).
MAX_LINKS = 50
# Phantoms of one set: a set is updated at once, and should not hold up the UI thread for long.
PHANTOMS = 100

ADDED, REMOVED = "inserted", "deleted"
# Where a scheme colours no differences, an outline in one of the colours that all schemes have.
OUTLINES = {ADDED: "region.greenish", REMOVED: "region.redish"}


class Marks:
    """Those of one diff. `left` may be invalid: the user can close it."""

    def __init__(self, left: sublime.View, right: sublime.View) -> None:
        self._left = left
        self._right = right
        # A set erases its phantoms when it is let go.
        self._fillers: dict[bool, list[sublime.PhantomSet]] = {False: [], True: []}

    def draw(self, comparison: Comparison) -> list[int]:
        """Colour what differs. Gives the numbers of the parts that `draw_fillers` has."""
        if self._left.is_valid():
            old = comparison.old
            _colour(self._left, comparison.old_regions(), old.characters, REMOVED)
        _colour(self._right, comparison.new_regions(), comparison.new.characters, ADDED)
        parts = max(len(comparison.old_fillers()), len(comparison.new_fillers()))
        used = max(len(sets) for sets in self._fillers.values())
        return list(range(max(-(-parts // PHANTOMS), used)))

    def draw_fillers(self, comparison: Comparison, part: int) -> None:
        """Make room for some of the lines that only the other side has."""
        if self._left.is_valid():
            self._fill(self._left, False, comparison.old_fillers(), part, comparison.old.starts)
        self._fill(self._right, True, comparison.new_fillers(), part, comparison.new.starts)

    def draw_links(self, points: Sequence[tuple[int, str]]) -> None:
        """Show these links, as HTML, at the right edge beside these points of the proposal."""
        regions = [sublime.Region(point) for point, _text in points]
        self._right.add_regions(
            LINKS,
            regions,
            "region.bluish",
            flags=sublime.HIDDEN,
            annotations=[text for _point, text in points],
            annotation_color="",
        )

    def _fill(
        self,
        view: sublime.View,
        is_right: bool,
        fillers: Sequence[Filler],
        part: int,
        starts: Sequence[int],
    ) -> None:
        sets = self._fillers[is_right]
        while len(sets) <= part:
            sets.append(sublime.PhantomSet(view, FILLERS))
        height = view.line_height()
        wanted = fillers[part * PHANTOMS : (part + 1) * PHANTOMS]
        sets[part].update([_phantom(filler, starts, height) for filler in wanted])


def erase(view: sublime.View) -> None:
    """Take away all that is drawn in the view."""
    for key in (LINES, CHARACTERS, LINKS):
        view.erase_regions(key)
    view.erase_phantoms(FILLERS)


def _phantom(filler: Filler, starts: Sequence[int], line_height: float) -> sublime.Phantom:
    # A block stands below the line that it belongs to; above the first one there is no place.
    row = max(filler.above - 1, 0)
    text = (
        '<body id="gemini-companion-filler">'
        f'<div style="padding-top: {filler.rows * line_height:g}px"></div></body>'
    )
    return sublime.Phantom(sublime.Region(starts[row]), text, sublime.LAYOUT_BLOCK)


def _colour(
    view: sublime.View, lines: Iterable[Region], characters: Iterable[Region], kind: str
) -> None:
    scope, flags = style(view, kind)
    view.add_regions(LINES, [sublime.Region(*each) for each in lines], scope, flags=flags)
    scope, flags = style(view, kind, ".char")
    view.add_regions(CHARACTERS, [sublime.Region(*each) for each in characters], scope, flags=flags)


def style(view: sublime.View, kind: str, part: str = "") -> tuple[str, sublime.RegionFlags]:
    """Scope and flags of regions for ADDED or REMOVED lines, or, with ".char", characters: what the
    view's colour scheme has for them."""
    plain = view.style_for_scope("").get("background")
    for scope in (f"diff.{kind}{part}", f"markup.{kind}{part}", f"diff.{kind}"):
        background = view.style_for_scope(scope).get("background")
        if background is not None and background != plain:
            return scope, sublime.DRAW_NO_OUTLINE
    if part:
        # Lines are outlined already, and an outline within another one tells nothing.
        flags = sublime.DRAW_NO_FILL | sublime.DRAW_NO_OUTLINE | sublime.DRAW_SOLID_UNDERLINE
        return OUTLINES[kind], flags
    return OUTLINES[kind], sublime.DRAW_NO_FILL
