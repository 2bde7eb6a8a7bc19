"""Where a view is scrolled to, kept while the text above or below changes. UI thread only."""

from __future__ import annotations

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
            self._show_bottom()
            return
        if self._anchor >= changed + old:
            anchor = self._anchor + new - old
        else:
            anchor = min(self._anchor, changed + new)
        self._scroll(self._view.text_to_layout(anchor)[1] - self._offset)

    def _show_bottom(self) -> None:
        view = self._view
        bottom = view.text_to_layout(view.size())[1] + view.line_height()
        lowest = bottom - view.viewport_extent()[1]
        if lowest > view.viewport_position()[1]:
            self._scroll(lowest)

    def _scroll(self, top: float) -> None:
        left, now = self._view.viewport_position()
        if abs(top - now) >= 1:
            self._view.set_viewport_position((left, max(0.0, top)), False)
