"""The document of a conversation that goes on: its past turns from the disk, then each event as it
happens. Belongs to the engine's loop."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import AsyncGenerator, Callable, Sequence

from ..agent.agent import Conversation, EventFeed, PastTurns
from ..agent.session_state import Commands, SlashCommand
from ..agent.turn_events import Message, PastTurn, ToolResult, TurnEvent
from ..agent.turn_undo import AS_LEFT, UNDONE, FileChange, TurnUndo
from ..base.background import in_thread
from ..base.private_files import NotPrivate
from .chat_update import ChatUpdate, UnaskedChange, UndoneTurn
from .transcript import Transcript

# So many of the last turns that changed files are looked at whether they are undone, for at most so
# many seconds: it reads those files, and the chat waits for it.
LOOKED_AT, LOOKING = 20, 2.0


class LiveDocument:
    """`on_change` is called when `take_update` has something new to give, `on_message` when a
    message begins a turn. Empty until it is loaded; it `is_behind` if that has failed since.
    `commands` are those that the agent offers."""

    def __init__(
        self, feed: EventFeed, on_change: Callable[[], None], on_message: Callable[[], None]
    ) -> None:
        self.is_behind = False
        self.commands: tuple[SlashCommand, ...] = ()
        self._feed, self._on_change, self._on_message = feed, on_change, on_message
        # Not anew before it is loaded: until then, what the tab has shown stays.
        self._transcript, self._is_anew = Transcript(), False
        # For each document that is being loaded, the events since then.
        self._loading: list[list[TurnEvent]] = []
        # The turns on disk that it shows, or is about to.
        self._past: PastTurns | None = None
        # Those that were not taken yet.
        self._unasked: tuple[UnaskedChange, ...] = ()
        self._paths: tuple[str, ...] = ()
        self._newly_undone: tuple[UndoneTurn, ...] = ()
        # Of the turns that were undone or redone while it is open: the files that were put back.
        self._undone: dict[str, frozenset[str]] = {}

    def is_of(self, past: PastTurns) -> bool:
        """Whether it shows these turns. Not if another server has gone on with the conversation."""
        return past is self._past

    async def load_conversation(self, conversation: Conversation) -> None:
        """Show what is on disk, and what happens until that is read. Raises AgentError."""
        past = self._past = conversation.past
        made = Transcript(conversation.workspace, conversation.images.folder)
        undone: dict[str, frozenset[str]] = {}
        missed: list[TurnEvent] = []
        self._loading.append(missed)
        is_read = False
        try:
            if conversation.record.turns:
                turns = (await past.read_history()).turns
                # Nobody else has it yet, and the loop is that of all chats.
                await in_thread(partial(made.load_turns, turns))
                undone = await _undone_files(conversation, turns)
            is_read = True
        finally:
            self._loading.remove(missed)
            if self.is_of(past):
                self.is_behind = not is_read
        if not self.is_of(past):
            # Others are being loaded since.
            return
        for event in missed:
            made.add_event(event)
        for turn, paths in {**undone, **self._undone}.items():
            made.undo_turn(turn, paths)
        self._transcript, self._is_anew = made, True
        self._on_change()

    async def follow_conversation(
        self, conversation: Conversation, coming: AsyncGenerator[TurnEvent, None]
    ) -> None:
        """Add what is `coming` of the conversation, and all that comes later. Raises AgentError."""
        while True:
            async for event in coming:
                self._handle_event(event)
            # So many events have come that some are no longer kept.
            coming = self._feed.follow_events(conversation.id, None, passing=True)
            await self.load_conversation(conversation)

    def undo_turn(self, turn: str, files: Sequence[FileChange]) -> None:
        """The turn was undone or redone, and its files stand as these say."""
        paths = self._undone[turn] = _put_back(files)
        self._newly_undone += (UndoneTurn(turn, paths),) if paths else ()
        self._transcript.undo_turn(turn, paths)
        self._on_change()

    def take_update(self, update: ChatUpdate) -> ChatUpdate:
        """The update with all that it tells of the document: as it is now, and what has changed
        since the call before."""
        taken = replace(
            update,
            patches=self._transcript.take_patches(),
            is_anew=self._is_anew,
            waiting=self._transcript.waiting,
            commands=self.commands,
            unasked=self._unasked,
            changed=self._paths,
            undone=self._newly_undone,
        )
        self._is_anew, self._unasked, self._paths, self._newly_undone = False, (), (), ()
        return taken

    def _handle_event(self, event: TurnEvent) -> None:
        if isinstance(event.body, Commands):
            self.commands = event.body.commands
        elif isinstance(event.body, Message):
            self._on_message()
        elif isinstance(event.body, ToolResult):
            new = (UnaskedChange(event.turn_id, diff) for diff in event.body.unasked)
            self._unasked = (*self._unasked, *new)
            self._paths = (*self._paths, *event.body.changed)
        self._transcript.add_event(event)
        for missed in self._loading:
            missed.append(event)
        self._on_change()


async def _undone_files(
    conversation: Conversation, turns: Sequence[PastTurn]
) -> dict[str, frozenset[str]]:
    """The files that were put back, of each turn that is undone; none if a disk does not tell."""
    with suppress(OSError, NotPrivate, asyncio.TimeoutError):
        return await in_thread(partial(_undone_of, conversation.edits, turns), LOOKING)
    return {}


def _undone_of(edits: TurnUndo, turns: Sequence[PastTurn]) -> dict[str, frozenset[str]]:
    """The files that were put back, of each turn that is undone, the last one first: a turn is
    undone after all later ones. Runs in a thread."""
    found: dict[str, frozenset[str]] = {}
    for turn in islice(
        (past_turn.id for past_turn in reversed(turns) if _has_changed(past_turn)), LOOKED_AT
    ):
        files = edits.changed_files(turn)
        if any(file.state == AS_LEFT for file in files):
            break
        paths = _put_back(files)
        # Without the edit below them, later ones of the same file are not there either.
        found = {**{later: its | paths for later, its in found.items()}, turn: paths}
    return found


def _has_changed(turn: PastTurn) -> bool:
    """Whether it changed files."""
    return any(isinstance(event.body, ToolResult) and event.body.changed for event in turn.events)


def _put_back(files: Sequence[FileChange]) -> frozenset[str]:
    return frozenset(file.path for file in files if file.state == UNDONE)
