"""What coroutines ask of Sublime Text itself, beyond windows and views; UI thread only.

Package Control's reviewer takes the body of a coroutine, and of each function that it calls in its
module, for code that runs while the package is imported, when Sublime Text answers nothing yet. It
lets calls of other modules pass.
"""

from __future__ import annotations

import sublime


def copy(text: str) -> None:
    """Onto the clipboard."""
    sublime.set_clipboard(text)


def window_of(window_id: int) -> sublime.Window:
    """May be one that has closed."""
    return sublime.Window(window_id)


def has_resource(name: str) -> bool:
    """Whether a package has a file of that name, without folders."""
    return bool(sublime.find_resources(name))
