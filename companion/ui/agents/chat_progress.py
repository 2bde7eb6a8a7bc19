"""How far the chats with a tab have come: who asks, who works, whose turn is over and was not seen.
UI thread only."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Callable, Sequence

from ...base.signal import Signal
from ...chat.chat_update import STOPPING, WORKING
from ..chat.chat_view import ChatView
from ..review.open_diffs import is_on_top
from .agent_row import RowState, StateCounts, count_states


@dataclass(frozen=True)
class _Progress:
    """What is known of a chat; `since` is in seconds since the epoch."""

    state: RowState
    since: float


class ChatProgress:
    """`chats` gives those that have a tab, `clock` the seconds since the epoch. `changes` tells
    that one is in another state."""

    def __init__(
        self, chats: Callable[[], Sequence[ChatView]], clock: Callable[[], float] = time.time
    ) -> None:
        self._chats, self._clock = chats, clock
        self.changes = Signal()
        # By the conversations' ids; of chats that are idle as far as is known there is none.
        self._known: dict[str, _Progress] = {}

    def follow_update(self, chat: ChatView) -> None:
        """An update of the chat was drawn."""
        self._note_state(chat.conversation, self._state_after(chat))

    def forget_chat(self, chat: ChatView) -> None:
        """The user closes its last view."""
        if self._known.pop(chat.conversation, None) is not None:
            self.changes.emit()

    def note_seen(self) -> None:
        """What is in sight now was seen; to be called about once a second."""
        if not self._known:
            return
        chats = {chat.conversation: chat for chat in self._chats()}
        # Some closes have no event (docs/sublime.md 4.6).
        open_ones = {id: known for id, known in self._known.items() if id in chats}
        idle = _Progress(RowState.IDLE, self._clock())
        now = {
            id: idle if known.state is RowState.DONE and is_in_sight(chats[id]) else known
            for id, known in open_ones.items()
        }
        before, self._known = self._known, now
        if now != before:
            self.changes.emit()

    def state_of(self, chat: ChatView) -> tuple[RowState, float]:
        """Its state, and since when it has that; 0 if that is not known."""
        known = self._known.get(chat.conversation)
        return (known.state, known.since) if known is not None else (RowState.IDLE, 0.0)

    def count_chats(self) -> StateCounts:
        """Those of all windows."""
        return count_states(known.state for known in self._known.values())

    def _state_after(self, chat: ChatView) -> RowState:
        told, known = chat.told, self._known.get(chat.conversation)
        before = known.state if known is not None else RowState.IDLE
        if told is not None and told.waiting:
            return RowState.ASKS
        if told is not None and told.state in (WORKING, STOPPING):
            return RowState.WORKS
        if before is RowState.IDLE or is_in_sight(chat):
            return RowState.IDLE
        return RowState.DONE

    def _note_state(self, id: str, state: RowState) -> None:
        known = self._known.get(id)
        if known is None or known.state is not state:
            self._known[id] = _Progress(state, self._clock())
            self.changes.emit()


def is_in_sight(chat: ChatView) -> bool:
    """Whether one of its views is in front in its group."""
    shown = ((view, view.window()) for view in chat.views)
    return any(window is not None and is_on_top(window, view) for view, window in shown)
