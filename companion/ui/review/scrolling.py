"""Scrolls both sides of a diff together while they are in front, and shows the links of changes in
sight. UI thread only.

Sublime has no event for scrolling (ST#12), so positions are read from time to time, but only while
a pair is visible.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import sublime

from ...base.comparison import Comparison
from .. import queues
from .open_diffs import is_on_top, partner_view, undecided_diffs
from .record import waiting_record
from .reviews import Reviews

# Milliseconds between two readings, about one frame of a slow screen.
INTERVAL = 33


class Places(NamedTuple):
    """How far each side is scrolled down, how wide the sides are, and how high their texts are, in
    pixels. The heights of phantoms may be known late (docs/sublime.md 7.12); then the side that the
    user has scrolled last stays: the right one, if `is_right_first`."""

    left: float
    right: float
    widths: tuple[float, float]
    heights: tuple[float, float]
    is_right_first: bool = True


class Scrolling:
    """One pair of each window at a time, by window id."""

    def __init__(self, reviews: Reviews) -> None:
        self._reviews = reviews
        # The right view that is followed in each window, and the last positions.
        self._followed: dict[int, sublime.View] = {}
        self._places: dict[int, Places] = {}

    def follow_activated(self, view: sublime.View) -> None:
        """The view has got the keyboard."""
        right = view if waiting_record(view) is not None else partner_view(view)
        if waiting_record(right) is not None:
            self.follow_pair(right)

    def look_for_pairs(self) -> None:
        """Follow the pairs in front; to be called from time to time, because a pair can come to the
        front without being activated."""
        for window in sublime.windows():
            if window.id() not in self._followed:
                for right, _record in list(undecided_diffs(window)):
                    if _left_of_pair(window, right) is not None:
                        self.follow_pair(right)

    def follow_pair(self, right: sublime.View) -> None:
        """Scroll both sides together as long as they are in front."""
        window = right.window()
        if window is None:
            return
        is_polled = window.id() in self._followed
        self._followed[window.id()] = right
        if not is_polled:
            self._look_at_pair(window)

    def stop(self) -> None:
        """Stop following."""
        self._followed.clear()

    def _look_at_pair(self, window: sublime.Window) -> None:
        right = self._followed.get(window.id())
        left = None if right is None else _left_of_pair(window, right)
        if right is None or left is None:
            self._followed.pop(window.id(), None)
            self._places.pop(window.id(), None)
            return
        # The next reading is scheduled first, so that a failed one is not the last.
        queues.on_ui_thread(partial(self._look_at_pair, window), INTERVAL)
        now = _read_places(left, right)
        before = self._places.get(window.id(), now)
        now = now._replace(is_right_first=_is_right_first(before, now))
        if now != before and self._follow_scroll(left, right, before, now):
            now = _read_places(left, right)._replace(is_right_first=now.is_right_first)
        self._places[window.id()] = now

    def _follow_scroll(
        self, left: sublime.View, right: sublime.View, before: Places, now: Places
    ) -> bool:
        """One side was scrolled, or a width or height has changed; gives whether the other side and
        the links could follow."""
        review = self._reviews.review_of(right)
        if review is None or review.comparison is None:
            return False
        if now.widths != before.widths:
            self._reviews.drawing.follow_width(right)
        if left.is_valid() and now.is_right_first:
            _align_other(right, left, review.comparison, from_new=True)
        elif left.is_valid():
            _align_other(left, right, review.comparison, from_new=False)
        self._reviews.drawing.draw_links(right, is_scrolled=True)
        return True


def _left_of_pair(window: sublime.Window, right: sublime.View) -> sublime.View | None:
    """The left side of a diff that is before the user's eyes, not valid if there is only one view;
    None if the diff is not before their eyes."""
    if not window.is_valid() or waiting_record(right) is None or not is_on_top(window, right):
        return None
    left = partner_view(right)
    return left if not left.is_valid() or is_on_top(window, left) else None


def _read_places(left: sublime.View, right: sublime.View) -> Places:
    down, width = right.viewport_position()[1], right.viewport_extent()[0]
    height = right.layout_extent()[1]
    if not left.is_valid():
        return Places(0.0, down, (0.0, width), (0.0, height))
    heights = left.layout_extent()[1], height
    return Places(left.viewport_position()[1], down, (left.viewport_extent()[0], width), heights)


def _is_right_first(before: Places, now: Places) -> bool:
    if now.right != before.right:
        return True
    return before.is_right_first and now.left == before.left


def _align_other(
    moved: sublime.View, other: sublime.View, comparison: Comparison, from_new: bool
) -> None:
    """Scroll the other view so that the equal line above is at the same height. What is below it is
    then level as well, because there is room for the lines that the other side lacks."""
    top = moved.viewport_position()[1]
    row = moved.rowcol(moved.layout_to_text((0.0, top)))[0]
    anchor = comparison.anchor(row, from_new)
    if anchor is not None:
        ours = moved.text_to_layout(moved.text_point(anchor[0], 0))[1]
        top += other.text_to_layout(other.text_point(anchor[1], 0))[1] - ours
    other.set_viewport_position((other.viewport_position()[0], max(top, 0.0)), animate=False)
