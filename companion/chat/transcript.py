"""The document of one conversation: events become blocks, and changes of blocks become patches.
Owned by one thread; what it gives out is frozen."""

from __future__ import annotations

from typing import Sequence

from ..agent.events.turn_events import Content, Message, PastTurn, TurnEvent
from .question import Question
from .rendered import HEADING, MESSAGE, Mark, Patch, Rendered


class Transcript:
    """Any chunking of the same events, with `take` anywhere between them, gives the same text.
    Adding an event costs the same however long the document is."""

    def __init__(self) -> None:
        self._text = ""
        self._patches: list[Patch] = []

    def add(self, event: TurnEvent) -> None:
        """Any event of the conversation, its messages included. Events that were added before are
        ignored."""
        body = event.body
        if isinstance(body, Message):
            text = f"{MESSAGE} {body.text}\n"
            self._append(event.turn_id, Rendered(text, (Mark(HEADING, 0, len(text) - 1),)))
        elif isinstance(body, Content):
            self._append(event.turn_id, Rendered(body.text + "\n"))

    def load(self, turns: Sequence[PastTurn]) -> None:
        """Past turns, the oldest first, after what is there; their messages included."""
        for turn in turns:
            message = Message(turn.said, turn.files, turn.attachments)
            self.add(TurnEvent(0, turn.time, "", turn.id, message))
            for event in turn.events:
                self.add(event)

    def take(self) -> tuple[Patch, ...]:
        """What changed since the last call, in the order in which it has to be done."""
        taken, self._patches = tuple(self._patches), []
        return taken

    @property
    def text(self) -> str:
        """All of it, with what is not taken yet."""
        return self._text

    @property
    def waiting(self) -> tuple[Question, ...]:
        """The questions that wait for the user, the oldest first."""
        return ()

    def _append(self, block: str, rendered: Rendered) -> None:
        at = len(self._text)
        self._patches.append(Patch(block, at, at, rendered))
        self._text += rendered.text
