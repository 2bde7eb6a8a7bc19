"""Both sides of a diff scroll together while they are on top; UI thread only.

Sublime has no event of scrolling (ST#12), so positions are looked at from time to time: only while
there is a pair to be seen.
"""

from __future__ import annotations

from functools import partial

import sublime

from ...base.comparison import Comparison
from .. import queues
from .lookup import is_on_top, partner
from .record import waiting
from .reviews import Reviews

# Milliseconds between two looks, about one frame of a slow screen.
INTERVAL = 33


class Scrolling:
    """One pair of each window at a time, by the id of the window."""

    def __init__(self, reviews: Reviews) -> None:
        self._reviews = reviews
        # The right view that is followed in each window, and the heights at the last look.
        self._followed: dict[int, sublime.View] = {}
        self._heights: dict[int, tuple[float, float]] = {}

    def activated(self, view: sublime.View) -> None:
        """The view has the keyboard now."""
        right = view if waiting(view) is not None else partner(view)
        if waiting(right) is not None:
            self.follow(right)

    def follow(self, right: sublime.View) -> None:
        """Scroll both sides together for as long as they are on top."""
        window = right.window()
        if window is None or not partner(right).is_valid():
            return
        is_polled = window.id() in self._followed
        self._followed[window.id()] = right
        if not is_polled:
            self._look(window)

    def _look(self, window: sublime.Window) -> None:
        right = self._followed.get(window.id())
        if right is None or not self._is_in_sight(window, right):
            self._followed.pop(window.id(), None)
            self._heights.pop(window.id(), None)
            return
        # First the next look, so that one that fails is not the last.
        queues.on_ui_thread(partial(self._look, window), INTERVAL)
        review, left = self._reviews.of(right), partner(right)
        now = left.viewport_position()[1], right.viewport_position()[1]
        before = self._heights.get(window.id(), now)
        if review is not None and review.comparison is not None and now != before:
            if now[1] != before[1]:
                _align(right, left, review.comparison, from_new=True)
            else:
                _align(left, right, review.comparison, from_new=False)
            self._reviews.draw_links(right)
            now = left.viewport_position()[1], right.viewport_position()[1]
        self._heights[window.id()] = now

    def _is_in_sight(self, window: sublime.Window, right: sublime.View) -> bool:
        if not window.is_valid() or waiting(right) is None:
            return False
        left = partner(right)
        return left.is_valid() and is_on_top(window, left) and is_on_top(window, right)


def _align(
    moved: sublime.View, other: sublime.View, comparison: Comparison, from_new: bool
) -> None:
    """Scroll the other view to where the moved one is: lines that are equal stand side by side."""
    top = moved.viewport_position()[1]
    row = moved.rowcol(moved.layout_to_text((0.0, top)))[0]
    into = top - moved.text_to_layout(moved.text_point(row, 0))[1]
    other_row = comparison.opposite_row(row, from_new)
    height = other.text_to_layout(other.text_point(other_row, 0))[1] + into
    other.set_viewport_position((other.viewport_position()[0], max(height, 0.0)), animate=False)
