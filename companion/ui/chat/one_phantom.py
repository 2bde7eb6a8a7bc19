"""A phantom of a chat. It may belong to the buffer: then it shows in all views, and stays without
reacting when its own one is closed (docs/sublime.md 7.11). So it is drawn in the first view alone.
UI thread only.
"""

from __future__ import annotations

from typing import Callable, Sequence

import sublime

from .. import wrapping


class OnePhantom:
    """`drawing` is called before and after it is drawn, `pressed` with a link of it."""

    def __init__(
        self,
        key: str,
        drawing: Callable[[], object] = lambda: None,
        pressed: Callable[[str], None] = lambda link: None,
    ) -> None:
        self._key = key
        self._drawing = drawing
        self._pressed = pressed
        # The id of the view in which it is, and its HTML.
        self._shown = 0, ""

    def show(self, views: Sequence[sublime.View], point: int, content: str) -> None:
        """Show it below the line of the point, if it is another one or the first view is; none
        without content."""
        view = next((view for view in views if view.is_primary()), None)
        if view is None or self._shown == (view.id(), content):
            return
        self._drawing()
        for each in views:
            each.erase_phantoms(self._key)
        if content:
            place = sublime.Region(point)
            view.add_phantom(self._key, place, content, sublime.LAYOUT_BELOW, self._pressed)
        self._shown = view.id(), content
        self._drawing()

    def leave_view(self, view: sublime.View) -> None:
        """The view is being closed."""
        if self._shown[0] == view.id():
            view.erase_phantoms(self._key)
            self._shown = 0, ""


def narrowest_columns(views: Sequence[sublime.View]) -> int:
    """How many characters fit side by side into the narrowest of the views."""
    return min(map(wrapping.view_columns, views), default=wrapping.COLUMNS)
