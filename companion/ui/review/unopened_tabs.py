"""Gives tabs to the proposals that wait without: when the user goes to one, and to the next one
when the last one with tabs is decided. UI thread only."""

from __future__ import annotations

from functools import partial
from typing import Callable

import sublime

from .. import queues
from ..keyboard import Keyboard
from ..stories import Stories
from . import opening
from .diff_kinds import kind_of
from .open_diffs import home_of, is_unopened, undecided_diffs
from .queue import show_diff
from .record import waiting_record
from .reviews import Reviews
from .scrolling import Scrolling

# Milliseconds after a CLI has closed the last one with tabs: it may close them all.
MOMENT = 200
# Milliseconds after the start: those that had tabs come back first.
AT_START = 2000
# In the settings of a sheet's views. As long as one is in sight, what waits is seen there.
SHEET = "gemini_companion_changes"


class UnopenedTabs:
    """The tabs of one companion. `changed` is called when a diff has got some."""

    def __init__(
        self,
        stories: Stories,
        reviews: Reviews,
        scrolling: Scrolling,
        keyboard: Keyboard,
        changed: Callable[[], None],
    ) -> None:
        self._stories = stories
        self._reviews = reviews
        self._scrolling = scrolling
        self._keyboard = keyboard
        self._changed = changed
        # The last call for the next one, by the ids of the windows.
        self._calls: dict[int, object] = {}

    def show(self, right: sublime.View) -> None:
        """Go to the diff, with the keyboard; a hidden one gets tabs for that."""
        if is_unopened(right):
            self._stories.begin(self._open_and_show(right))
        else:
            show_diff(right)

    async def _open_and_show(self, right: sublime.View) -> None:
        tab = await self.open_tabs(right)
        if tab is not None:
            show_diff(tab)

    async def open_tabs(self, right: sublime.View) -> sublime.View | None:
        """The right view of the diff in its tabs, which open after what was pressed before; the
        keyboard stays where it is. None if it is decided by then."""
        record = waiting_record(right)
        if record is None or not record.is_unopened:
            return right if record is not None else None
        async with self._reviews.presses.take_place(record.id):
            return await self.open_now(right)

    async def open_now(self, right: sublime.View, take_focus: bool = False) -> sublime.View | None:
        """Do as `open_tabs`, for whoever has the place in the line."""
        record = waiting_record(right)
        if record is None or not record.is_unopened:
            return right if record is not None else None
        if self._reviews.review_of(right) is None:
            await self._reviews.read_again(right, record.path)
        window, review = home_of(right), self._reviews.review_of(right)
        if window is None or review is None:
            return None
        keyboard = self._keyboard.in_window(window)
        tab = opening.give_tabs(window, right, review.original, keyboard, take_focus)
        if not take_focus:
            self._keyboard.move_to(keyboard)
        self._reviews.begin_review(tab, review.original)
        self._scrolling.follow_pair(tab)
        self._changed()
        return tab

    def open_next(
        self, window: sublime.Window, take_focus: bool = False, delay_ms: int = 0
    ) -> None:
        """A diff with tabs is decided. If no other proposal has tabs, the one that has waited
        longest gets some, unless the user sees it in the sheet."""
        call = self._calls[window.id()] = object()
        queues.on_ui_thread(partial(self._open_if_due, window, call, take_focus), delay_ms)

    def _open_if_due(self, window: sublime.Window, call: object, take_focus: bool) -> None:
        if self._calls.get(window.id()) is not call:
            return
        del self._calls[window.id()]
        if not window.is_valid() or _is_sheet_in_sight(window):
            return
        waiting = [
            (view, record)
            for view, record in undecided_diffs(window)
            if kind_of(record).is_proposal
        ]
        if waiting and all(record.is_unopened for _view, record in waiting):
            self._stories.begin(self._open_first(waiting[0][0], take_focus))

    async def _open_first(self, right: sublime.View, take_focus: bool) -> None:
        record = waiting_record(right)
        if record is not None:
            async with self._reviews.presses.take_place(record.id):
                await self.open_now(right, take_focus)


def _is_sheet_in_sight(window: sublime.Window) -> bool:
    views = (window.active_view_in_group(group) for group in range(window.num_groups()))
    return any(view is not None and view.settings().get(SHEET) is True for view in views)
