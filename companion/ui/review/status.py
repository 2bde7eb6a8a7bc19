"""How many diffs wait for the user, in the status bar of their window; UI thread only."""

from __future__ import annotations

import sublime

from .lookup import diffs

KEY = "gemini_companion"


class Status:
    """That of all windows. Only views that can be seen have it: one that is activated gets it
    then, so that ten thousand tabs cost nothing."""

    def __init__(self) -> None:
        # How many diffs wait in each window, by its id, as shown.
        self._shown: dict[int, int] = {}

    def look(self) -> None:
        """Show the numbers, where they are others now."""
        for window in sublime.windows():
            count = sum(1 for _ in diffs(window))
            if self._shown.get(window.id(), 0) != count:
                self._shown[window.id()] = count
                for group in range(window.num_groups()):
                    _show(window.active_view_in_group(group), count)
                _show(window.active_view(), count)

    def activated(self, view: sublime.View) -> None:
        """The view has the keyboard now."""
        window = view.window()
        if window is not None:
            _show(view, self._shown.get(window.id(), 0))

    def stop(self) -> None:
        """Show nothing any more."""
        for window in sublime.windows():
            for view in window.views() if window.id() in self._shown else []:
                view.erase_status(KEY)
        self._shown.clear()


def _show(view: sublime.View | None, count: int) -> None:
    if view is None:
        return
    if count:
        view.set_status(KEY, f"Gemini: {count} waiting")
    elif view.get_status(KEY):
        view.erase_status(KEY)
