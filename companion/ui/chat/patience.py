"""How long the user of a chat has been waiting for its agent. UI thread only."""

from __future__ import annotations

from time import monotonic
from typing import Callable

from ...chat.chat_update import STARTING, WORKING, ChatUpdate

# Seconds from which on they are told: of a start, of a turn in which the model has not answered,
# and of another silence in a turn.
STARTING_LONG, UNANSWERED_LONG, SILENT_LONG = 5, 10, 60


class Patience:
    """The patience of the user of one chat. `now` gives seconds."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._state, self._turn = STARTING, ""
        self._since = now()
        self._is_unanswered = False

    def follow_update(self, update: ChatUpdate) -> None:
        """Something has come."""
        self._is_unanswered = update.is_unanswered
        is_other = (update.state, update.turn) != (self._state, self._turn)
        # What is told of a silence does not end it.
        if is_other or (update.patches and not update.is_unanswered):
            self._state, self._turn, self._since = update.state, update.turn, self._now()

    @property
    def waiting_words(self) -> str:
        """Empty as long as the wait is not long. Changes every five seconds at most."""
        seconds = int(self._now() - self._since)
        if self._state == STARTING and seconds >= STARTING_LONG:
            return f"It has been starting for {_duration_text(seconds)}."
        long = UNANSWERED_LONG if self._is_unanswered else SILENT_LONG
        if self._state == WORKING and seconds >= long:
            return f"It has said nothing for {_duration_text(seconds)}."
        return ""


def _duration_text(seconds: int) -> str:
    return f"{seconds // 5 * 5} seconds" if seconds < 120 else f"{seconds // 60} minutes"
