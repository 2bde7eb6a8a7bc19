"""What is drawn of the changes in the two views of a diff; UI thread only, and computes nothing.

The gutter has Sublime's own marks, which `set_reference_document` draws. Here the lines and the
characters of each change are coloured as the colour scheme colours differences, and each change has
its links at the right edge. What stands between the lines is in `between`.
"""

from __future__ import annotations

from functools import partial
from typing import Callable, Iterable, Sequence

import sublime

from ...base.comparison import Comparison, Region
from . import between

LINES = "gemini_companion_lines"
CHARACTERS = "gemini_companion_characters"
LINKS = "gemini_companion_change"
CONFLICTS = "gemini_companion_conflicts"
# Changes that have links at a time: many annotations slow the editor down (ST#5846).
MAX_LINKS = 50

ADDED, REMOVED = "inserted", "deleted"
# Where a scheme colours no differences, an outline in one of the colours that all schemes have.
OUTLINES = {ADDED: "region.greenish", REMOVED: "region.redish"}


class Marks:
    """Those of one diff. `left` may be invalid: the user can close it."""

    def __init__(self, left: sublime.View, right: sublime.View) -> None:
        self._left = left
        self._right = right
        self._between = between.Between(left, right)
        # The links that are drawn; None where their places may be others.
        self._links: Sequence[tuple[int, str]] | None = None

    @property
    def is_measured(self) -> bool:
        """Whether what stands between the lines depends on how wide the views are."""
        return self._between.is_measured

    def steps(self, comparison: Comparison) -> list[Callable[[], None]]:
        """What draws the changes, in parts that each hold up the UI thread for a moment only."""
        self._links = None
        colours = [partial(self._colour_right, comparison), partial(self._colour_left, comparison)]
        return [*colours, *self.steps_between(comparison)]

    def steps_between(self, comparison: Comparison) -> list[Callable[[], None]]:
        """The same for what stands between the lines."""
        parts = self._between.parts(comparison)
        return [partial(self._draw_between, comparison, part) for part in parts]

    def _colour_right(self, comparison: Comparison) -> None:
        _colour(self._right, comparison.new_regions(), comparison.new.characters, ADDED)

    def _colour_left(self, comparison: Comparison) -> None:
        if self._left.is_valid():
            old = comparison.old
            _colour(self._left, comparison.old_regions(), old.characters, REMOVED)

    def _draw_between(self, comparison: Comparison, part: int) -> None:
        # Where there are two views, nothing that is deleted stands between the lines.
        style = "" if self._left.is_valid() else deleted_style(self._right)
        self._between.draw(comparison, part, style)

    def erase_between(self) -> None:
        """Take away what stands between the lines."""
        self._between.erase()

    def draw_links(self, points: Sequence[tuple[int, str]]) -> None:
        """Show these links, as HTML, at the right edge beside these points of the proposal."""
        if points == self._links:
            return
        self._links = points
        regions = [sublime.Region(point) for point, _text in points]
        self._right.add_regions(
            LINKS,
            regions,
            "region.bluish",
            flags=sublime.HIDDEN,
            annotations=[text for _point, text in points],
            annotation_color="",
        )


def erase(view: sublime.View) -> None:
    """Take away all that is drawn in the view: it is the user's own from now on."""
    for key in (LINES, CHARACTERS, LINKS, CONFLICTS):
        view.erase_regions(key)
    erase_comments(view)
    view.erase_phantoms(between.KEY)
    view.reset_reference_document()


def erase_comments(view: sublime.View) -> None:
    number = 0
    while view.get_regions(comment_key(number)):
        view.erase_regions(comment_key(number))
        number += 1


def comment_key(number: int) -> str:
    """The key of the regions of a comment, counted from 0: each has its own, and moves with its
    lines."""
    return f"gemini_companion_comment_{number}"


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


def deleted_style(view: sublime.View) -> str:
    """The CSS of deleted lines that are shown in a phantom."""
    scope, flags = style(view, REMOVED)
    colours = view.style_for_scope(scope)
    if flags & sublime.DRAW_NO_FILL:
        return f"color: {colours.get('foreground', 'var(--redish)')}"
    return f"background-color: {colours['background']}; color: {colours['foreground']}"
