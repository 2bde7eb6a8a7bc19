"""What a front end asks about edits of files, one frozen class for each request. Knows no
thread."""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Sequence

from ..agent import failure
from ..agent.agent import CallDecision, Conversation, Turn, on_disk
from ..agent.attachments import Attachments
from ..agent.edited_file import plain_text, read_file
from ..agent.failure import VALIDATION_ERROR, AgentError
from ..agent.turn_events import Diff, PastTurn, ToolResult
from ..agent.turn_undo import UNDONE, FileChange, FileTexts
from ..base.background import in_thread
from .attached import FILE, Attached, said_with, words_of
from .chats import Chats
from .enclosed import named_files
from .requests import NO_TURN, ChatRequest


@dataclass(frozen=True)
class DecideEdits(ChatRequest["tuple[str, ...]"]):
    """Decide on the edits of a call that waits, after the user has looked at each as `revision` of
    its question has them. Only the first decision counts. `outcome` is ONCE, CANCEL or MODIFY; with
    MODIFY, these `edits` are written, each with the texts of the whole file, and no others of the
    call. The model gets the `note` as soon as it has done what it does now.

    Given when the call is over: the paths of the edits whose texts are not in their files then.
    """

    chat: str
    call_id: str
    outcome: str
    edits: tuple[Diff, ...] = ()
    note: str = ""
    revision: str = ""

    async def carry_out(self, chats: Chats) -> tuple[str, ...]:
        decision = CallDecision(
            self.outcome, edits=self.edits, note=self.note, revision=self.revision
        )
        turn = chats.agent.turns.confirm_call(self.call_id, decision, self.chat)
        if not self.edits:
            return ()
        await _end_of_call(turn, self.call_id)
        return await in_thread(lambda: _missing_edits(self.edits))


# Turns that are asked for at once.
AT_ONCE = 100


@dataclass(frozen=True)
class Checkpoint:
    """A turn, with the user's message and the files that it changed."""

    turn: str
    text: str
    at: datetime
    files: tuple[FileChange, ...]


@dataclass(frozen=True)
class Checkpoints(ChatRequest["tuple[Checkpoint, ...]"]):
    """The turns of a conversation, the last one first; at most `limit` of them, and only those
    before the turn `before`, if that is named. None are left before a turn that is gone."""

    chat: str
    before: str = ""
    limit: int = AT_ONCE

    async def carry_out(self, chats: Chats) -> tuple[Checkpoint, ...]:
        conversation = await chats.find_chat(self.chat).ready_conversation()
        page = await conversation.past.read_page(self.limit, self.before or None)
        turns = list(page.turns) if page is not None else []
        files = conversation.edits.changed_files
        found = await on_disk(lambda: [tuple(files(turn.id)) for turn in turns], None)
        pairs = zip(turns, found)
        made = [Checkpoint(turn.id, words_of(turn), turn.time, changes) for turn, changes in pairs]
        return tuple(reversed(made))


@dataclass(frozen=True)
class TurnTexts(ChatRequest["tuple[FileTexts, ...]"]):
    """What a turn changed, with the texts of its files before and after it; also of a chat that is
    not open."""

    chat: str
    turn: str

    async def carry_out(self, chats: Chats) -> tuple[FileTexts, ...]:
        conversation = await chats.known_conversation(self.chat)
        return tuple(await on_disk(partial(conversation.edits.changed_texts, self.turn)))


@dataclass(frozen=True)
class TellChanged(ChatRequest[None]):
    """The user has changed files after the agent; it is told with the next message, also if the
    chat is not open."""

    chat: str
    paths: tuple[str, ...]

    async def carry_out(self, chats: Chats) -> None:
        conversation = await chats.known_conversation(self.chat)
        async with conversation.hold.exclusive_use():
            conversation.record.tell_changed(self.paths)


@dataclass(frozen=True)
class Rewound:
    """`conversation` is the id of the new one, which may still have to be begun, by that `agent` in
    that `workspace`. `words` are those of the message, with what was attached to them. `left` are
    the files that are still as a turn after it left them, or something else."""

    conversation: str
    agent: str
    workspace: str
    words: str
    attached: tuple[Attached, ...] = ()
    left: tuple[FileChange, ...] = ()


@dataclass(frozen=True)
class Rewind(ChatRequest[Rewound]):
    """Undo this turn and all after it, the last one first, and begin a new conversation with what
    was said before; the old one stays as it is."""

    chat: str
    turn: str

    async def carry_out(self, chats: Chats) -> Rewound:
        conversation = await chats.find_chat(self.chat).ready_conversation()
        if conversation.is_busy:
            raise failure.session_busy()
        turns = (await conversation.past.read_history()).turns
        ids = [turn.id for turn in turns]
        if self.turn not in ids:
            raise AgentError(VALIDATION_ERROR, NO_TURN)
        at, id = ids.index(self.turn), secrets.token_hex(16)
        if at > 0:
            made = await chats.agent.conversations.fork(self.chat, ids[at - 1])
            id = made.id if made is not None else id
        found: dict[str, FileChange] = {}
        for turn in reversed(ids[at:]):
            found.update(
                (change.path, change) for change in await conversation.undo_turn(turn) or ()
            )
        chats.agent.outbox.go_on(conversation)
        left = tuple(change for change in found.values() if change.state != UNDONE)
        words, attached = await in_thread(partial(_taken_back, conversation, turns[at]))
        cli, workspace = conversation.cli, conversation.workspace
        return Rewound(id, cli.id, workspace, words, attached, left)


def _taken_back(conversation: Conversation, said: PastTurn) -> tuple[str, tuple[Attached, ...]]:
    """Looks at the disk: a file that the words name goes along with them."""
    words, attached = (
        words_of(said),
        said_with(said, partial(_attachment_path, conversation.attachments)),
    )
    named = named_files(words, conversation.workspace)
    return words, tuple(
        attachment
        for attachment in attached
        if attachment.kind != FILE or attachment.path not in named
    )


def _attachment_path(attachments: Attachments, id: str) -> str:
    with suppress(AgentError):
        return attachments.path_of(id)
    return ""


async def _end_of_call(turn: Turn, call_id: str) -> None:
    """Wait for its result, or for the end of the turn."""
    # A decision on edits never has its result at once, and there may be many events before.
    async for event in turn.read_events(turn.last_number):
        if isinstance(event.body, ToolResult) and event.body.call_id == call_id:
            return


def _missing_edits(edits: Sequence[Diff]) -> tuple[str, ...]:
    """Runs in a thread."""
    return tuple(edit.path for edit in edits if not _is_there(edit))


def _is_there(edit: Diff) -> bool:
    with suppress(OSError, UnicodeDecodeError):
        found = read_file(edit.path)
        return found is not None and plain_text(found.decode("utf-8")) == plain_text(edit.new_text)
    return False
