"""How far the agents of chats and of the API have come: who asks, who works, whose turn is over and
was not seen. UI thread only."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Callable, Mapping, Sequence

from ...base.signal import Signal
from ...chat.chat_update import STOPPING, WORKING
from ..chat.chat_view import ChatView
from ..review.open_diffs import is_on_top
from .agent_row import RowState

# In the settings of each view of a chat, so that a restart leaves it: since when its turn is over,
# in seconds since the epoch, and the user has not seen that.
UNSEEN = "gemini_companion_unseen_since"


@dataclass(frozen=True)
class _Progress:
    """What is known of a chat beside that; `since` is in seconds since the epoch."""

    state: RowState
    since: float


class ChatProgress:
    """`chats` gives those that have a tab, `is_answered` says of one that asks whether its answers
    are on their way, `clock` gives the seconds since the epoch. `changes` tells that one is in
    another state."""

    def __init__(
        self,
        chats: Callable[[], Sequence[ChatView]],
        is_answered: Callable[[ChatView], bool] = lambda chat: False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._chats, self._is_answered, self._clock = chats, is_answered, clock
        self.changes = Signal()
        # By the conversations' ids.
        self._known: dict[str, _Progress] = {}
        # All conversations whose agents ask or work, whether they have a tab or not.
        self._busy: Mapping[str, bool] = {}

    def follow_update(self, chat: ChatView) -> None:
        """An update of the chat was drawn."""
        state, known = _told_state(chat), self._known.get(chat.conversation)
        if known is not None and known.state is state:
            return
        now = self._clock()
        if state is not RowState.IDLE:
            _set_unseen(chat, 0.0)
        elif known is not None and not is_in_sight(chat):
            _set_unseen(chat, now)
        self._known[chat.conversation] = _Progress(state, now)
        self.changes.emit()

    def note_busy(self, busy: Mapping[str, bool]) -> None:
        """The ids of all conversations whose agents ask or work now, whoever talks with them, and
        whether they ask."""
        before, self._busy = self._busy, busy
        if busy != before:
            self.changes.emit()

    def forget_chat(self, chat: ChatView) -> None:
        """The user closes its last view."""
        if self._known.pop(chat.conversation, None) is not None:
            self.changes.emit()

    def note_seen(self) -> None:
        """What is in sight now was seen; to be called about once a second."""
        chats = self._chats()
        # Some closes have no event (docs/sublime.md 4.6).
        gone = self._known.keys() - {chat.conversation for chat in chats}
        for id in gone:
            del self._known[id]
        seen = {each.conversation for each in chats if _unseen_since(each) and is_in_sight(each)}
        for chat in chats:
            if chat.conversation in seen:
                _set_unseen(chat, 0.0)
                self._known[chat.conversation] = _Progress(RowState.IDLE, self._clock())
        if gone or seen:
            self.changes.emit()

    def state_of(self, chat: ChatView) -> tuple[RowState, float]:
        """Its state, and since when it has that; 0 if that is not known."""
        known = self._known.get(chat.conversation, _Progress(RowState.IDLE, 0.0))
        unseen = _unseen_since(chat) if known.state is RowState.IDLE else 0.0
        if unseen:
            return RowState.DONE, unseen
        if known.state is RowState.ASKS and self._is_answered(chat):
            # The agent is about to hear it.
            return RowState.WORKS, known.since
        return known.state, known.since

    def all_states(self) -> Sequence[RowState]:
        """Those of all windows, and of the conversations that have no tab."""
        busy = {id: RowState.ASKS if asks else RowState.WORKS for id, asks in self._busy.items()}
        shown = {chat.conversation: self.state_of(chat)[0] for chat in self._chats()}
        return tuple({**busy, **shown}.values())


def is_in_sight(chat: ChatView) -> bool:
    """Whether one of its views is in front in its group."""
    shown = ((view, view.window()) for view in chat.views)
    return any(window is not None and is_on_top(window, view) for view, window in shown)


def _told_state(chat: ChatView) -> RowState:
    told = chat.told
    if told is not None and told.waiting:
        return RowState.ASKS
    if told is not None and told.state in (WORKING, STOPPING):
        return RowState.WORKS
    return RowState.IDLE


def _unseen_since(chat: ChatView) -> float:
    """0 if the end of its turn was seen."""
    found = next((view.settings().get(UNSEEN) for view in chat.views), None)
    return float(found) if isinstance(found, (int, float)) else 0.0


def _set_unseen(chat: ChatView, since: float) -> None:
    for view in chat.views:
        if since:
            view.settings().set(UNSEEN, since)
        elif view.settings().has(UNSEEN):
            view.settings().erase(UNSEEN)
