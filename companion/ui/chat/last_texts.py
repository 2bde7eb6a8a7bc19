"""The text that the user worked on last, while a chat has the keyboard. UI thread only."""

from __future__ import annotations

import sublime

from ..prompt.sending import is_text, text_view
from .chat_view import CONVERSATION

# The most views that are remembered.
MOST = 50


class LastTexts:
    """The views that were activated, the last one at the end. What they are is looked at when it is
    asked for: a new tab becomes a chat only after it was activated."""

    def __init__(self) -> None:
        self._activated: dict[int, sublime.View] = {}

    def add_view(self, view: sublime.View) -> None:
        if view.element() is None:
            self._activated.pop(view.id(), None)
            self._activated[view.id()] = view
            if len(self._activated) > MOST:
                del self._activated[next(iter(self._activated))]

    def last_text_in(self, window: sublime.Window) -> sublime.View | None:
        """The text in front, or if that is a chat or a terminal the one before it."""
        front = text_view(window)
        groups = (window.active_view_in_group(group) for group in range(window.num_groups()))
        views = [front, *reversed(list(self._activated.values())), *groups]
        return next((view for view in views if view is not None and _is_in(view, window)), None)


def _is_in(view: sublime.View, window: sublime.Window) -> bool:
    return view.is_valid() and view.window() == window and _is_ordinary(view)


def _is_ordinary(view: sublime.View) -> bool:
    is_chat = isinstance(view.settings().get(CONVERSATION), str)
    return view.element() is None and is_text(view) and not is_chat
