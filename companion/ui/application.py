"""Calls of Sublime Text itself, beyond windows and views, for coroutines. UI thread only.

Package Control's reviewer assumes that the body of a coroutine, and every function that it calls in
its module, runs while the package is imported, when Sublime Text does not answer yet. It permits
calls of other modules.
"""

from __future__ import annotations

from typing import Any, Callable

import sublime


def copy_text(text: str) -> None:
    """Put the text on the clipboard."""
    sublime.set_clipboard(text)


def ask_for_path(give: Callable[[Any], None], folder: str, is_folder: bool = False) -> None:
    """Ask for a file or a folder with the system's dialog; gives None if the user cancels."""
    if is_folder:
        sublime.select_folder_dialog(give, folder)
    else:
        sublime.open_dialog(give, directory=folder)


def all_windows() -> list[sublime.Window]:
    return sublime.windows()


def window_of(window_id: int) -> sublime.Window:
    """The window, which may be closed."""
    return sublime.Window(window_id)


def bring_to_front(window: sublime.Window) -> None:
    """Bring the window to the front, unless it is there."""
    if window != sublime.active_window():
        window.bring_to_front()


def has_resource(name: str) -> bool:
    """Whether a package has a file of that name (without folders)."""
    return bool(sublime.find_resources(name))
