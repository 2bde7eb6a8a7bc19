"""Where a view is scrolled to, kept while the text above or below changes, or the view gets
smaller. UI thread only."""

from __future__ import annotations

from typing import NamedTuple, Sequence

import sublime


class Following:
    """One view before a change: `restore` after it. Who has the end of the transcript in sight goes
    on seeing the end; whoever reads further up has the same lines where they were."""

    def __init__(self, view: sublime.View, end: int) -> None:
        """`end` is where the composer begins."""
        self._view = view
        self._size = view.size()
        visible = view.visible_region()
        self._follows = visible.begin() <= end <= visible.end()
        self._sees_bottom = visible.end() >= self._size
        self._anchor = end if self._follows else visible.begin()
        self._top = view.viewport_position()[1]
        self._offset = view.text_to_layout(self._anchor)[1] - self._top

    def restore(self, changed: int, old: int, new: int) -> None:
        """The text from `changed` on, `old` characters, has become `new` characters."""
        is_below = changed > self._anchor or (changed == self._anchor and old)
        if not self._follows and is_below:
            return
        if self._follows and self._sees_bottom:
            _show_bottom(self._view)
            return
        if self._anchor >= changed + old:
            anchor = self._anchor + new - old
        else:
            anchor = min(self._anchor, changed + new)
        self._scroll_to(self._view.text_to_layout(anchor)[1] - self._offset)

    def _scroll_to(self, top: float) -> None:
        _scroll_view(self._view, top)


class _Room(NamedTuple):
    """Where a view is scrolled to, and whether its bottom is in sight."""

    top: float
    sees_bottom: bool


class Bottoms:
    """Who had the end of a chat in sight goes on seeing it when the view gets smaller, or a phantom
    above the end higher. A review opens below, and the question about it stands at the end; files
    are attached. Sublime has no event for either."""

    def __init__(self) -> None:
        # By the id of the view.
        self._rooms: dict[int, _Room] = {}

    def keep_in_sight(self, views: Sequence[sublime.View]) -> None:
        """Look which views show the end of the text; to be called from time to time, and before and
        after the text is changed."""
        before, self._rooms = self._rooms, {}
        for view in views:
            known, now = before.get(view.id()), _measure_room(view)
            if known is not None and known.sees_bottom and not now.sees_bottom:
                # Else the user has scrolled.
                if known.top == now.top:
                    _show_bottom(view)
                    now = _measure_room(view)
            self._rooms[view.id()] = now


def _measure_room(view: sublime.View) -> _Room:
    sees_bottom = view.visible_region().end() >= view.size()
    return _Room(view.viewport_position()[1], sees_bottom)


def _show_bottom(view: sublime.View) -> None:
    bottom = view.text_to_layout(view.size())[1] + view.line_height()
    lowest = bottom - view.viewport_extent()[1]
    if lowest > view.viewport_position()[1]:
        _scroll_view(view, lowest)


def _scroll_view(view: sublime.View, top: float) -> None:
    left, now = view.viewport_position()
    if abs(top - now) >= 1:
        view.set_viewport_position((left, max(0.0, top)), False)
