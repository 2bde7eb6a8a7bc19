"""What the user sees of a diff, and how to bring something else into sight. UI thread only."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import sublime

from ...base.changes import common_start
from ...base.comparison import Comparison
from .. import texts
from .open_diffs import partner_view


def caret_row(view: sublime.View) -> int:
    """The row, from 0, of the first caret."""
    selection = view.sel()
    return view.rowcol(selection[0].b)[0] if len(selection) else 0


def is_head_in_sight(right: sublime.View) -> bool:
    """Whether the first line is visible, and with it the phantom below it."""
    return right.visible_region().begin() <= right.line(0).end()


def rows_in_sight(view: sublime.View) -> range:
    """The visible rows; at least one."""
    visible = view.visible_region()
    return range(view.rowcol(visible.begin())[0], view.rowcol(visible.end())[0] + 1)


def changes_in_sight(right: sublime.View, comparison: Comparison) -> range:
    """The numbers, from 0, of the changes that are partly visible in the proposal's view."""
    rows = rows_in_sight(right)
    start = bisect_left(comparison.new_ends, rows[0])
    end = bisect_right(comparison.new_starts, rows[-1])
    return range(start, max(start, end))


def current_change(right: sublime.View, comparison: Comparison) -> int | None:
    """The number, from 0, of the change before the user's eyes: a visible one at the caret, else
    the first visible one, else the one at the caret."""
    number, in_sight = comparison.change_at(caret_row(right)), changes_in_sight(right, comparison)
    return number if number in in_sight or not in_sight else in_sight[0]


def show_change(right: sublime.View, comparison: Comparison, number: int) -> None:
    """Put the caret of the proposal on the change, and the change into the middle of both sides. A
    change at the end of the text is in the empty row behind all others."""
    change, left = comparison.changes[number], partner_view(right)
    put_caret(right, comparison.new.starts[change.new_start])
    if left.is_valid():
        point = comparison.old.starts[change.old_start]
        left.show_at_center(sublime.Region(point), animate=False)


def show_row(right: sublime.View, comparison: Comparison, row: int) -> None:
    """Put the caret on a row of the proposal, and the change that it is in, if there is one, into
    the middle of both sides."""
    number = comparison.change_at(row)
    if number is not None:
        show_change(right, comparison, number)
    put_caret(right, comparison.new.starts[row])


def show_first_difference(right: sublime.View, old: str, new: str) -> None:
    """Put the caret on the first difference, and that into the middle of both sides, before there
    is a comparison."""
    point = new.rfind("\n", 0, common_start(old, new)) + 1
    put_caret(right, point)
    left = partner_view(right)
    if left.is_valid():
        left.show_at_center(sublime.Region(min(point, len(old))), animate=False)


def put_caret(view: sublime.View, point: int) -> None:
    """Put the only caret there, and the point into the middle of the view."""
    texts.select_ranges(view, [(point, point)])
    view.show_at_center(sublime.Region(point), animate=False)
