"""What a front end asks about edits of files, one frozen class for each request. Knows no
thread."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Sequence

from ..agent.events.turn_events import Diff, ToolResult
from ..agent.turn.edited_file import plain, read_file
from ..agent.turn.turn import Turn
from ..base.background import in_thread
from .chats import Chats
from .requests import Request


@dataclass(frozen=True)
class DecideEdits(Request["tuple[str, ...]"]):
    """Decide on the edits of a call that waits, after the user has looked at each. Only the first
    decision counts. `outcome` is ONCE, CANCEL or MODIFY; with MODIFY, these `edits` are written,
    each with the texts of the whole file, and no others of the call. The model gets the `note` as
    soon as it has done what it does now.

    Given when the call is over: the paths of the edits whose texts are not in their files then.
    """

    chat: str
    call_id: str
    outcome: str
    edits: tuple[Diff, ...] = ()
    note: str = ""

    async def done(self, chats: Chats) -> tuple[str, ...]:
        given = (self.call_id, self.outcome, self.chat, None, self.edits, self.note)
        turn = chats.agent.turns.confirm(*given)
        if not self.edits:
            return ()
        await _end_of_call(turn, self.call_id)
        return await in_thread(lambda: _missing(self.edits))


async def _end_of_call(turn: Turn, call_id: str) -> None:
    """Wait for its result, or for the end of the turn."""
    async for event in turn.events():
        if isinstance(event.body, ToolResult) and event.body.call_id == call_id:
            return


def _missing(edits: Sequence[Diff]) -> tuple[str, ...]:
    """Runs in a thread."""
    return tuple(it.path for it in edits if not _is_there(it))


def _is_there(edit: Diff) -> bool:
    with suppress(OSError, UnicodeDecodeError):
        found = read_file(edit.path)
        return found is not None and plain(found.decode("utf-8")) == plain(edit.new_text)
    return False
