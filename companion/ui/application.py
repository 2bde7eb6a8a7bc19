"""Calls of Sublime Text itself, beyond windows and views, for coroutines. UI thread only.

Package Control's reviewer assumes that the body of a coroutine, and every function that it calls in
its module, runs while the package is imported, when Sublime Text does not answer yet. It permits
calls of other modules.
"""

from __future__ import annotations

import sublime


def copy(text: str) -> None:
    """Put the text on the clipboard."""
    sublime.set_clipboard(text)


def windows() -> list[sublime.Window]:
    return sublime.windows()


def window_of(window_id: int) -> sublime.Window:
    """The window, which may be closed."""
    return sublime.Window(window_id)


def has_resource(name: str) -> bool:
    """Whether a package has a file of that name (without folders)."""
    return bool(sublime.find_resources(name))
