"""The carets of the views of a chat: in the composer, where the user can write, or above it. UI
thread only."""

from __future__ import annotations

import sys

import sublime

from .. import texts

KEY = "gemini_companion_chat_read_only"
ABOVE = "What you type is written at the end of the chat. {} takes you there."
END = "Cmd+Down" if sys.platform == "darwin" else "Ctrl+End"


class ComposerCarets:
    """The composer is from `start` to the end of the view."""

    def __init__(self) -> None:
        # By the ids of views, the offset of the caret that was here last.
        self._places: dict[int, int] = {}

    @property
    def start(self) -> int:
        raise NotImplementedError

    def follow_carets(self, view: sublime.View) -> None:
        """The carets of the view may have moved."""
        if self.is_left(view):
            view.set_status(KEY, ABOVE.format(END))
            return
        view.erase_status(KEY)
        self.remember_place(view)

    def remember_place(self, view: sublime.View, typed: int | None = None) -> None:
        """Where the caret is, else the offset at which something was `typed`."""
        if len(view.sel()) and not self.is_left(view):
            self._places[view.id()] = view.sel()[0].b - self.start
        elif typed is not None:
            self._places[view.id()] = typed

    def is_left(self, view: sublime.View) -> bool:
        """Whether a caret or a selection reaches into the transcript."""
        return any(region.begin() < self.start for region in view.sel())

    def is_at_start(self, view: sublime.View) -> bool:
        """Whether there is nothing before a caret that could be deleted."""
        return any(region.empty() and region.b == self.start for region in view.sel())

    def has_caret(self, view: sublime.View) -> bool:
        """Whether there is one caret, nothing is selected, and it is here."""
        selection = view.sel()
        return len(selection) == 1 and selection[0].empty() and selection[0].b >= self.start

    def go_to_end(self, view: sublime.View) -> None:
        self.put_caret(view, view.size())

    def place_of(self, view: sublime.View) -> int:
        """Where the caret was here last, else the end."""
        offset = self._places.get(view.id(), view.size())
        return min(self.start + offset, view.size())

    def select_all(self, view: sublime.View) -> None:
        """Select all of the text."""
        texts.select_ranges(view, [(self.start, view.size())])

    def is_selected(self, view: sublime.View) -> bool:
        """Whether all of the text is, so that more than that can only be the transcript."""
        selected = [(region.begin(), region.end()) for region in view.sel()]
        return selected == [(self.start, view.size())]

    def put_caret(self, view: sublime.View, point: int) -> None:
        texts.select_ranges(view, [(point, point)])
        self.follow_carets(view)
        view.show(point, show_surrounds=False)
