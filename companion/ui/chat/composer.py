"""The end of a chat's view, where the user writes: text and undo. UI thread only."""

from __future__ import annotations

from typing import Callable

import sublime

from .composer_carets import ComposerCarets
from .surface import Surface
from .unsent import ComposerChange, Unsent, text_difference


class Composer(ComposerCarets):
    """`begin` says where it begins; `look` looks for changes of which the editor has not told yet;
    `typed` is called when its text has changed."""

    def __init__(
        self,
        surface: Surface,
        text: str,
        begin: Callable[[], int],
        look: Callable[[], None],
        typed: Callable[[], None],
    ) -> None:
        super().__init__()
        self._look = look
        self._surface = surface
        self._unsent = Unsent(text)
        self._begin = begin
        self._typed = typed

    @property
    def text(self) -> str:
        """The unsent text as it is in the view now."""
        self._look()
        return self._unsent.text

    @property
    def known_text(self) -> str:
        """The unsent text as it was when the view was last looked at."""
        return self._unsent.text

    @property
    def start(self) -> int:
        return self._begin()

    def read_view(self) -> None:
        """The user or a plugin may have changed the view's text."""
        self.accept_edit(self._surface.text_between(self.start, self._surface.size))

    def accept_edit(self, text: str) -> None:
        """The user or a plugin has made this of the text."""
        change = text_difference(self._unsent.text, text)
        if change is not None:
            self._unsent.record_edit(text)
            for view in self._surface.views:
                self.remember_place(view, change.at + len(change.inserted))
            self._typed()

    def undo(self, view: sublime.View) -> None:
        self._look()
        self._draw_change(view, self._unsent.undo())

    def redo(self, view: sublime.View) -> None:
        self._look()
        self._draw_change(view, self._unsent.redo())

    def type(self, view: sublime.View, characters: str) -> None:
        """The user types this, wherever the caret is."""
        if self.is_left(view):
            self.return_to(view)
        view.run_command("insert", {"characters": characters})

    def return_to(self, view: sublime.View) -> None:
        """Put the caret where it was here last, else at the end."""
        self._look()
        self.put_caret(view, self.place_of(view))

    def write(self, view: sublime.View, text: str) -> None:
        """Write this instead of what is there, as a step of undo."""
        change = text_difference(self.text, text)
        self._unsent.record_edit(text)
        self._draw_change(view, change)

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
        self.put_caret(view, self.start + len(before + text))

    def remove_sent(self, sent: str) -> None:
        """What was sent goes; what the user has typed behind it meanwhile stays. As a step of
        undo."""
        if sent and self.text.startswith(sent):
            self._unsent.record_edit(self.text[len(sent) :])
            self._surface.replace(self.start, self.start + len(sent), "", self.start)
            self._typed()

    def _draw_change(self, view: sublime.View, change: ComposerChange | None) -> None:
        """Draw a change of the text, with the caret behind it."""
        if change is None:
            return
        at = self.start + change.at
        self._surface.replace(at, at + len(change.removed), change.inserted, self.start)
        self.put_caret(view, at + len(change.inserted))
        self._typed()
