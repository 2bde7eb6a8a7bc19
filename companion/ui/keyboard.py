"""The view in which the user types, which can be a terminal's panel. UI thread only."""

from __future__ import annotations

import sublime


class Keyboard:
    """`view` was activated last; it may be closed meanwhile. Whoever gives it back the focus calls
    `move_to`: a panel may get no further event when it has the keyboard again."""

    def __init__(self) -> None:
        self.view: sublime.View | None = None

    def move_to(self, view: sublime.View | None) -> None:
        self.view = view

    def in_window(self, window: sublime.Window) -> sublime.View | None:
        """The view of the window in which the user types."""
        view = self.view
        if view is not None and view.is_valid() and view.window() == window:
            return view
        return window.active_view()
