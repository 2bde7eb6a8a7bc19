"""Edits that the agents of chats made without asking, gathered with those of CLIs, and forgotten
when their turn is undone. UI thread only."""

from __future__ import annotations

import time
from functools import partial
from typing import Callable, FrozenSet, Sequence

import sublime

from ...agent.edited_file import before_edit
from ...agent.turn_events import Diff
from ...base.file_content import Original, of_bytes
from ...chat.chat_update import ChatUpdate, UnaskedChange
from ...edits.turn_edits import turn_id
from ...ide.editor import UnaskedEdit
from .. import file_reading, settings
from ..ordered_work import OrderedWork
from ..stories import Stories, run_in_thread

Gather = Callable[[int, UnaskedEdit], None]
Forget = Callable[[str, FrozenSet[str]], None]


class ChatUnasked:
    """The unasked edits of chats of one companion; `gather` gets each with the id of its window,
    and `forget` the id of each turn that was undone, with the paths of the files."""

    def __init__(self, stories: Stories, gather: Gather, forget: Forget) -> None:
        self._stories = stories
        self._gather = gather
        self._forget = forget
        # By the ids of the conversations: what is undone was gathered before.
        self._order = OrderedWork()

    def follow_update(self, window: sublime.Window, update: ChatUpdate) -> None:
        """A chat of the window is now like this."""
        is_wanted = update.unasked and settings.current_settings(window).show_unasked_edits
        changes = update.unasked if is_wanted else ()
        if changes or update.undone:
            self._stories.begin(self._follow_changes(window.id(), update, changes))

    async def _follow_changes(
        self, window_id: int, update: ChatUpdate, changes: Sequence[UnaskedChange]
    ) -> None:
        async with self._order.take_place(update.conversation_id):
            for change in changes:
                present = await file_reading.read_content(change.diff.path)
                found = await run_in_thread(partial(_before_and_after, change.diff, present))
                if found is not None:
                    self._gather(window_id, _unasked_edit(update, change, *found))
            for undone in update.undone:
                self._forget(turn_id(update.conversation_id, undone.turn), undone.paths)


def _unasked_edit(
    update: ChatUpdate, change: UnaskedChange, before: Original, after: Original
) -> UnaskedEdit:
    turn = turn_id(update.conversation_id, change.turn)
    name, path = update.agent_name, change.diff.path
    return UnaskedEdit(path, before, after, name, turn, update.title, time.time())


def _before_and_after(diff: Diff, present: Original) -> tuple[Original, Original]:
    """The file before and after the edit; where it is another by now, the edit alone. Runs in a
    thread."""
    if present.data is not None:
        try:
            return of_bytes(before_edit(diff, present.data)), present
        except ValueError:
            pass
    return of_bytes(diff.old_text.encode("utf-8")), of_bytes(diff.new_text.encode("utf-8"))
