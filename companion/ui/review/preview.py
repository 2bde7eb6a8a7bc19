"""Shows one diff after another, and then again what the window showed before. UI thread only."""

from __future__ import annotations

import os
from itertools import islice

import sublime

from ...base.unified import unified_rows
from .. import texts
from . import pair
from .open_diffs import current_diff, is_unopened, path_of
from .record import waiting_record
from .reviews import Reviews, not_compared

# The most rows that are shown of a diff in another window.
MAX_ROWS = 1000
MORE = "... and more\n"
NOT_YET = "Its changes are being computed.\n"


class Preview:
    """The preview of one window. A diff in another window is shown as text, in a temporary tab: if
    that window came to the front, it would take the keyboard from the list. So is one without
    tabs."""

    def __init__(self, window: sublime.Window, reviews: Reviews) -> None:
        self._window = window
        self._reviews = reviews
        self._before = current_diff(window), window.active_view()
        self._tab = sublime.View(0)
        self._is_shown = False

    def show_diff(self, right: sublime.View) -> None:
        if waiting_record(right) is None:
            self.show_before()
            return
        self._is_shown = True
        if right.window() == self._window and not is_unopened(right):
            pair.show_pair(self._window, right)
            return
        path = path_of(right)
        if not self._tab.is_valid():
            self._tab = self._window.new_file(sublime.TRANSIENT)
            self._tab.set_scratch(True)
        texts.fill_view(self._tab, self._diff_text(right), "preview.diff")
        where = "proposed" if is_unopened(right) else "proposed in another window"
        texts.name_tab(self._tab, path, where)
        self._window.focus_view(self._tab)

    def _diff_text(self, right: sublime.View) -> str:
        record, review = waiting_record(right), self._reviews.review_of(right)
        if record is None or review is None or not review.is_compared:
            return not_compared(record) + "\n" if record is not None else ""
        if review.comparison is None:
            return NOT_YET
        name = os.path.basename(record.path)
        rows = unified_rows(review.comparison, name, f"{name} proposed")
        shown = "".join(islice(rows, MAX_ROWS))
        return shown + MORE if next(iter(rows), None) is not None else shown

    def show_before(self) -> None:
        """Show what was there before, if a diff is shown."""
        if self._is_shown:
            self.end_preview(is_back=True)

    def end_preview(self, is_back: bool) -> None:
        """Close the temporary tab; with `is_back`, show what was there before."""
        self._is_shown = False
        if self._tab.is_valid():
            self._tab.close()
        for view in self._before if is_back else ():
            if view is None or not view.is_valid():
                continue
            if waiting_record(view) is not None:
                pair.show_pair(self._window, view)
            else:
                self._window.focus_view(view)
