"""The accepted texts of one window that no CLI has written, as far as its book knows."""

from __future__ import annotations

import time
from typing import Callable, Container

from .decisions import OPEN, TOLD, Book, UnwrittenText
from .sessions import Sessions

# Seconds that a CLI has to write the file before the text counts as unwritten. They count in both
# directions, because the clock may be set back meanwhile.
PATIENCE = 5.0


class AcceptedTexts:
    """`on_change` is called when a text was withdrawn."""

    def __init__(self, book: Book, sessions: Sessions, on_change: Callable[[], None]) -> None:
        self._book, self._sessions = book, sessions
        self._on_change = on_change

    def withdraw_text(self, path: str, text: str) -> bool:
        """Turn an accepted text into a rejection if no CLI was told of it, or none may have read
        it; forget a text that its CLI did not write. False if there is no such text."""
        unwritten = [
            number
            for number, entry in self._book
            if (entry.path, entry.text) == (path, text) and self._is_unwritten(number)
        ]
        for number in unwritten:
            entry = self._book[number]
            if entry.state == TOLD and not entry.event_id:
                self._book.forget(number)
                continue
            self._book.decide(number, None)
            session = self._sessions.find_session(self._book[number].session_id)
            if session is not None:
                session.replace_decision(number, self._book[number].decision)
        if unwritten:
            self._on_change()
        return bool(unwritten)

    def unwritten_texts(self, missing: Container[int] = ()) -> tuple[UnwrittenText, ...]:
        """The accepted proposals that no CLI could be told of yet, or that none has written. Of
        texts that a CLI was told, `missing` are those whose files nobody has touched."""
        found: dict[tuple[str, str], bool] = {}
        for number, entry in self._book:
            if entry.text and self._is_unwritten(number):
                key = entry.path, entry.text
                is_missing = entry.state != TOLD or number in missing
                found[key] = found.get(key, False) or is_missing
        return tuple(UnwrittenText(*key, is_missing) for key, is_missing in found.items())

    def _is_unwritten(self, number: int) -> bool:
        entry = self._book[number]
        is_due = abs(time.time() - entry.decided_at) > PATIENCE
        if entry.state == TOLD:
            return is_due and not entry.comes_back
        if entry.state == OPEN or not entry.text:
            return False
        session = self._sessions.find_session(entry.session_id)
        if session is None or session.stream is None:
            return True
        return is_due and not session.is_told_of(number)
