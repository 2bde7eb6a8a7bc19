"""The end of a chat's view, where the user writes: text, undo, carets. UI thread only."""

from __future__ import annotations

import sys
from typing import Callable

import sublime

from .surface import Surface
from .unsent import Change, Unsent, difference

KEY = "gemini_companion_chat_read_only"
READ_ONLY = "To write a message, go to the end of the chat: {}"
END = "Cmd+Down" if sys.platform == "darwin" else "Ctrl+End"


class Composer:
    """`begin` says where it begins; `typed` is called when its text has changed."""

    def __init__(
        self, surface: Surface, text: str, begin: Callable[[], int], typed: Callable[[], None]
    ) -> None:
        self._surface = surface
        self._unsent = Unsent(text)
        self._begin = begin
        self._typed = typed

    @property
    def text(self) -> str:
        return self._unsent.text

    @property
    def start(self) -> int:
        return self._begin()

    @property
    def is_read(self) -> bool:
        """Whether the text is as long as the view's."""
        return self._surface.size == self.start + len(self.text)

    def read(self) -> None:
        """The user or a plugin has changed the view's text."""
        self._edited(self._surface.part(self.start, self._surface.size))

    def keep(self, text: str) -> None:
        """The user has typed this at a place that nobody knows any more."""
        self._edited(self.text + text)

    def _edited(self, text: str) -> None:
        if text != self.text:
            self._unsent.edited(text)
            self._typed()

    def protect(self, view: sublime.View) -> None:
        """Let the user type here only."""
        is_outside = any(it.begin() < self.start for it in view.sel())
        if view.is_read_only() != is_outside:
            view.set_read_only(is_outside)
            # Sublime drops characters that are typed here without a word.
            if is_outside:
                view.set_status(KEY, READ_ONLY.format(END))
            else:
                view.erase_status(KEY)

    def is_at_start(self, view: sublime.View) -> bool:
        """Whether there is nothing before a caret that could be deleted."""
        return any(it.empty() and it.b == self.start for it in view.sel())

    def has_caret(self, view: sublime.View) -> bool:
        """Whether there is one caret, nothing is selected, and it is here."""
        selection = view.sel()
        return len(selection) == 1 and selection[0].empty() and selection[0].b >= self.start

    def go_to_end(self, view: sublime.View) -> None:
        self._put_caret(view, view.size())

    def select(self, view: sublime.View) -> None:
        """Select all of the text."""
        view.sel().clear()
        view.sel().add(sublime.Region(self.start, view.size()))

    def is_selected(self, view: sublime.View) -> bool:
        """Whether all of the text is, so that more than that can only be the transcript."""
        return [(it.begin(), it.end()) for it in view.sel()] == [(self.start, view.size())]

    def undo(self, view: sublime.View) -> None:
        self._show(view, self._unsent.undo())

    def redo(self, view: sublime.View) -> None:
        self._show(view, self._unsent.redo())

    def write(self, view: sublime.View, text: str) -> None:
        """Write this instead of what is there, as a step of undo."""
        change = difference(self.text, text)
        self._unsent.edited(text)
        self._show(view, change)

    def insert(self, view: sublime.View, text: str) -> None:
        """Put this at the caret, else at the end, as a step of undo; what is beside it on the line
        is set apart."""
        at = view.sel()[0].b - self.start if self.has_caret(view) else len(self.text)
        before, behind = self.text[:at], self.text[at:]
        is_block = "\n" in text.strip()
        if before and not before.endswith("\n") and (is_block or not before[-1].isspace()):
            before += "\n" if is_block else " "
        if behind and not (text[-1:].isspace() or behind[0].isspace()):
            text += "\n" if is_block else " "
        self.write(view, before + text + behind)
        self._put_caret(view, self.start + len(before + text))

    def take(self, sent: str) -> None:
        """What was sent goes; what the user has typed behind it meanwhile stays. As a step of
        undo."""
        if sent and self.text.startswith(sent):
            self._unsent.edited(self.text[len(sent) :])
            self._surface.replace(self.start, self.start + len(sent), "", self.start)
            self._typed()

    def _show(self, view: sublime.View, change: Change | None) -> None:
        """Draw a change of the text, with the caret behind it."""
        if change is None:
            return
        at = self.start + change.at
        self._surface.replace(at, at + len(change.removed), change.inserted, self.start)
        self._put_caret(view, at + len(change.inserted))
        self._typed()

    def _put_caret(self, view: sublime.View, point: int) -> None:
        view.sel().clear()
        view.sel().add(sublime.Region(point))
        self.protect(view)
        view.show(point, show_surrounds=False)
