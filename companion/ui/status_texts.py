"""Texts in the status bar by their keys, in the views that can be seen. UI thread only."""

from __future__ import annotations

import sublime


def show_status(window: sublime.Window, key: str, text: str) -> None:
    """Show the text in the status bar of all views of the window that can be seen."""
    for group in range(window.num_groups()):
        set_status(window.active_view_in_group(group), key, text)
    set_status(window.active_view(), key, text)


def set_status(view: sublime.View | None, key: str, text: str) -> None:
    """Show the text in the view's status bar, or nothing if it is empty."""
    if view is None or view.get_status(key) == text:
        return
    if text:
        view.set_status(key, text)
    else:
        view.erase_status(key)
