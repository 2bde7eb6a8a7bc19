"""What a review of a written edit needs of those who keep the edits. UI thread only."""

from __future__ import annotations

from typing import Protocol, Sequence

import sublime

from ...edits.edit import Edit


class EditBook(Protocol):
    """The edits of one kind."""

    def of_window(self, window: sublime.Window) -> list[Edit]:
        """The window's edits, oldest first."""

    def find(self, id: str) -> Edit | None: ...

    def bring_back(self, edit: Edit) -> None:
        """One that was there before."""

    def replace(self, edit: Edit, by: Edit | None) -> None:
        """Put another edit in place of this one, or none, if it is there."""


class EditBooks:
    """Several of them as one."""

    def __init__(self, books: Sequence[EditBook]) -> None:
        self._books = books

    def of_window(self, window: sublime.Window) -> list[Edit]:
        return [edit for book in self._books for edit in book.of_window(window)]

    def find(self, id: str) -> Edit | None:
        found = (book.find(id) for book in self._books)
        return next((edit for edit in found if edit is not None), None)

    def bring_back(self, edit: Edit) -> None:
        """Into the first of them."""
        self._books[0].bring_back(edit)

    def replace(self, edit: Edit, by: Edit | None) -> None:
        for book in self._books:
            if book.find(edit.id) is not None:
                book.replace(edit, by)
