"""Whoever proposed an edit, as the review knows it: a session of a CLI, or the agent of a chat. UI
thread only."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ...ide.events import DiffAccepted, DiffEdited, DiffRejected
from ...ide.service import Companion
from .ending import ClaimedDiff
from .record import DiffRecord
from .words import Words


class Owner(ABC):
    """It hears of each decision once, from whoever has claimed that. `words` are the user's own
    about the edit, or empty."""

    @abstractmethod
    def accepted(self, claimed: ClaimedDiff, words: str, before: str | None) -> None:
        """The user wants the text of the diff; None is the one that was proposed. `before` is as in
        DiffAccepted."""

    @abstractmethod
    def rejected(self, claimed: ClaimedDiff, words: str) -> None:
        """They do not want the edit."""

    @abstractmethod
    def typed(self, record: DiffRecord, text: str) -> None:
        """They have typed, and may do so again: this is the text as it is now."""


class CliSessions(Owner):
    """The sessions of CLIs, which the companion knows."""

    def __init__(self, companion: Companion, words: Words) -> None:
        self._companion = companion
        self._words = words

    def accepted(self, claimed: ClaimedDiff, words: str, before: str | None) -> None:
        # The words first: the CLI may go on at once.
        self._words.give(claimed.record, words, is_accepted=True)
        # Without a text the CLI writes its own proposal (docs/protocol.md 1.4).
        text = claimed.text or ""
        self._companion.post(DiffAccepted(*_where(claimed.record), text, before))

    def rejected(self, claimed: ClaimedDiff, words: str) -> None:
        self._words.give(claimed.record, words, is_accepted=False)
        self._companion.post(DiffRejected(*_where(claimed.record)))

    def typed(self, record: DiffRecord, text: str) -> None:
        if self._companion.is_running:
            self._companion.post(DiffEdited(*_where(record), text))


class Owners:
    """Finds the owner of a diff."""

    def __init__(self, sessions: CliSessions, chats: Owner, returned: Owner) -> None:
        self._sessions = sessions
        self._chats = chats
        self._returned = returned

    def of(self, record: DiffRecord) -> Owner:
        if record.is_returned:
            return self._returned
        return self._chats if record.chat else self._sessions


def _where(record: DiffRecord) -> tuple[int, str, str]:
    return record.window_id, record.session_id, record.path
