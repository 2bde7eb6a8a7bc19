"""The document of one conversation: events become blocks, and changes of blocks become patches.
Owned by one thread; what it gives out is frozen."""

from __future__ import annotations

from typing import Iterable, Sequence

from ..agent.turn_events import LOST, Message, PastTurn, ToolOutput, TurnEvent
from .block import Blocks
from .question import ChatQuestion
from .rendered import Patch
from .said_blocks import ChangesBlock
from .turn_blocks import TurnBlocks
from .waiting_block import WaitingBlocks


class Transcript:
    """Any chunking of the same text, with `take_patches` anywhere between the events, gives the
    same document, and so do past turns that are loaded, as far as they were kept. Adding an event
    costs the same however long the document is. What was taken is not kept here: the view has it.

    `folder` is the one that paths are shown from, `images` that of the images that were kept.
    """

    def __init__(self, folder: str = "", images: str = "") -> None:
        self._waiting = WaitingBlocks(folder)
        self._blocks = Blocks()
        self._folder, self._images = folder, images
        # The lines about changed files, by the ids of the turns.
        self._changes: dict[str, list[ChangesBlock]] = {}
        self._turn = self._new_turn("")
        # The number of the newest event of each turn.
        self._seen: dict[str, int] = {}

    def add_event(self, event: TurnEvent) -> None:
        """Any event of the conversation, its messages included; what is no part of the document is
        ignored, and so are events that were added before."""
        if isinstance(event.body, ToolOutput):
            # It has no number.
            if event.turn_id == self._turn.id:
                self._turn.add_event(event)
            return
        if not event.turn_id or event.number <= self._seen.get(event.turn_id, -1):
            return
        self._seen[event.turn_id] = event.number
        self._handle_event(event)

    def load_turns(self, turns: Sequence[PastTurn]) -> None:
        """Past turns, the oldest first, after what is there; their messages included."""
        for turn in turns:
            text = turn.text or ("" if turn.is_whole else LOST)
            message = Message(text, turn.files, turn.attachments, turn.additions)
            is_new = turn.id not in self._seen
            self.add_event(TurnEvent(0, turn.time, "", turn.id, message))
            for event in turn.events:
                # What is noted about the whole turn has no place among its events.
                if event.number:
                    self.add_event(event)
                elif is_new:
                    self._handle_event(event)

    def undo_turn(self, turn: str, paths: Iterable[str]) -> None:
        """Show that these files of the turn, which is over, are as they were before it, and no
        others."""
        for block in self._changes.get(turn, ()):
            block.show_undone(paths)
            self._blocks.show_block(block)

    def take_patches(self) -> tuple[Patch, ...]:
        """What changed since the last call, in the order in which it has to be done."""
        patches = self._blocks.take_patches()
        return (*patches, *self._waiting.take_patches(self._blocks.length))

    @property
    def waiting(self) -> tuple[ChatQuestion, ...]:
        """The questions that wait for the user, the oldest first."""
        return self._waiting.questions

    def _handle_event(self, event: TurnEvent) -> None:
        if event.turn_id != self._turn.id:
            self._turn.end_turn()
            self._turn = self._new_turn(event.turn_id)
        self._turn.add_event(event)

    def _new_turn(self, id: str) -> TurnBlocks:
        whole = self._blocks, self._waiting, self._folder, self._changes, self._images
        return TurnBlocks(id, *whole)
