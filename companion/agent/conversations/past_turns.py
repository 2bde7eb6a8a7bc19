"""The turns of one conversation as its transcript has them: all of them, or a page."""

from __future__ import annotations

from functools import partial
from typing import Sequence

from .. import turn_events as events
from ..sentence import sentence
from ..turn_events import BROKEN_OFF, PastTurn
from .transcript_reader import ConversationSummary, History, TranscriptReader, TurnPage
from .transcripts import on_disk

DAMAGED = events.Thought(
    events.WARNING, sentence("Some of this turn could not be read from the disk.")
)


class PastTurns:
    """`summary` is the summary of the transcript when the server started. All methods raise
    AgentError if the disk cannot be read."""

    def __init__(self, reader: TranscriptReader, summary: ConversationSummary) -> None:
        self._reader = reader
        self._summary = summary

    async def read_history(self) -> History:
        """Everything that was said."""
        history = await on_disk(self._reader.read_history)
        if history is None:
            return History(self._summary.id, self._summary.workspace, self._summary.created)
        self._mark_ends(history.turns)
        return history

    async def read_page(self, limit: int, before: str | None) -> TurnPage | None:
        """The last `limit` turns; with `before`, the last ones before that turn. None if there is
        no such turn."""
        page = await on_disk(partial(self._reader.read_page, limit, before))
        self._mark_ends(page.turns if page is not None else ())
        return page

    async def read_since(self, turn: str) -> tuple[PastTurn, ...] | None:
        """The turn and those after it; None if there is no such turn."""
        turns = await on_disk(partial(self._reader.read_since, turn))
        self._mark_ends(turns or ())
        return turns

    def _mark_ends(self, turns: Sequence[PastTurn]) -> None:
        """Mark turns that the end of a server cut off, and turns of which something is lost."""
        for turn in turns:
            if turn.id in self._summary.unfinished and not turn.is_over:
                number = turn.events[-1].number + 1 if turn.events else 1
                event = events.TurnEvent(
                    number, turn.last_time, self._summary.id, turn.id, BROKEN_OFF
                )
                turn.events.append(event)
            if not turn.is_whole:
                event = events.TurnEvent(0, turn.time, self._summary.id, turn.id, DAMAGED)
                turn.events.insert(0, event)
