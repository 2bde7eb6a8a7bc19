"""The rows of chats, and of other conversations whose agents ask or work: clients of the API have
begun them, or their tabs were closed. UI thread only.

The tabs are known here; what their agents do is asked of the engine, once for all. If that does not
answer soon, the rows say what is known.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Sequence

import sublime

from ...chat.amounts import count_text
from ...chat.chat_update import FAILED
from ...chat.question import PERMISSION, ChatQuestion
from ..chat.chat_actions import ChatActions
from ..chat.chat_view import ChatView
from ..chat.short_questions import PanelOutcome
from ..chat.waiting_questions import WaitingQuestion
from ..chat.work_look import look_at_work
from . import work_words
from .agent_row import AgentRow, RowState
from .chat_progress import ChatProgress
from .conversation_places import open_at_home

if TYPE_CHECKING:
    from ...chat.work_requests import WorkFacts

CHAT, WITHOUT_TAB = "chat", "chat without a tab"
AN_AGENT = "An agent"


class ChatRows:
    """`chats` has the tabs, and the way to the engine; `progress` knows what was not seen."""

    name = "what agents do"

    def __init__(self, chats: ChatActions, progress: ChatProgress) -> None:
        self._chats = chats
        self._progress = progress

    async def agent_rows(self, window: sublime.Window) -> Sequence[AgentRow]:
        facts = await look_at_work(self._chats)
        if facts:
            busy = (each for each in facts.values() if each.info.is_busy)
            self._progress.note_busy({each.info.id: bool(each.asked) for each in busy})
        chats = {chat.conversation: chat for chat in self._chats.tabs.chats}
        self._progress.note_seen()
        rows = [self._chat_row(chat, facts.get(id)) for id, chat in chats.items()]
        own = [
            row
            for row, chat in zip(rows, chats.values())
            if row.state is not RowState.IDLE or _is_listed(chat, window)
        ]
        others = [each for id, each in facts.items() if id not in chats]
        return [*own, *map(self._other_row, others)]

    def _chat_row(self, chat: ChatView, facts: WorkFacts | None) -> AgentRow:
        state, since = self._progress.state_of(chat)
        told, waiting = chat.told, chat.waiting_questions
        doing = facts.doing if facts is not None and state is RowState.WORKS else ""
        if waiting and state is RowState.ASKS:
            doing = _question_words(waiting)
            since = waiting[0].asked.timestamp() if waiting[0].asked is not None else since
        elif told is not None and told.state == FAILED:
            doing = told.problem
        elif facts is not None:
            since = work_words.time_of_state(facts, state) or since
        name = told.agent_name if told is not None else ""
        queued = len(told.queue.messages) if told is not None else 0
        words = (
            name or AN_AGENT,
            CHAT,
            *self._place_words(told.workspace if told is not None else ""),
            *([f"{count_text(queued, 'message')} waiting"] if queued else []),
            *(work_words.fact_words(facts) if facts is not None else ()),
        )
        title = (told.title if told is not None else "") or chat.views[0].name()
        act = partial(self._go_to_chat, chat)
        # After a restart, until its tab is shown.
        is_vague = not name and facts is None
        key = chat.conversation
        return AgentRow(state, title, act, doing, since, words, key=key, is_vague=is_vague)

    def _other_row(self, facts: WorkFacts) -> AgentRow:
        info = facts.info
        state = RowState.ASKS if facts.asked else RowState.WORKS
        where = WITHOUT_TAB if info.in_chat else work_words.OF_API
        return AgentRow(
            state,
            info.title,
            partial(self._open_conversation, info.id, info.workspace),
            facts.asked[0] if facts.asked else facts.doing,
            work_words.time_of_state(facts, state),
            (
                facts.agent_name,
                where,
                *self._place_words(info.workspace),
                *work_words.fact_words(facts),
            ),
            key=info.id,
        )

    def _place_words(self, workspace: str) -> Sequence[str]:
        """The work tree in which the agent works, if it is one."""
        place = self._chats.trees.place_of(workspace)
        return [place] if place else []

    async def _go_to_chat(self, chat: ChatView, window: sublime.Window) -> bool:
        """Answer what it asks, if that fits into a panel; else go there."""
        waiting, short = chat.waiting_questions if chat.views else (), self._chats.short_questions
        asked = WaitingQuestion(chat, waiting[0]) if waiting else None
        if asked is not None and short.fits(asked):
            if await short.ask_user(asked, window) is not PanelOutcome.WANTED:
                return True
        workspace = chat.told.workspace if chat.told is not None else ""
        await self._open_conversation(chat.conversation, workspace, window)
        home = chat.views[0].window() if chat.views else None
        if asked is not None and home is not None:
            await self._chats.show_question(asked, home)
        return False

    async def _open_conversation(
        self, conversation: str, workspace: str, window: sublime.Window
    ) -> bool:
        await open_at_home(self._chats, conversation, workspace, window)
        return False


def _is_listed(chat: ChatView, window: sublime.Window) -> bool:
    """Whether an idle one belongs to the window's list: not where nothing was said in it."""
    is_here = any(view.window() == window for view in chat.views)
    return is_here and chat.told is not None and bool(chat.told.title)


def _names_of_files(question: ChatQuestion) -> str:
    """Of those that it would edit."""
    first, *others = dict.fromkeys(diff.path for diff in question.diffs) or [""]
    more = f" and {count_text(len(others), 'other file')}" if others else ""
    return os.path.basename(first) + more


def _question_words(waiting: Sequence[ChatQuestion]) -> str:
    """What is asked first, and how much there is."""
    first, count = waiting[0], len(waiting)
    subject = (first.text or _names_of_files(first)) if first.kind == PERMISSION else ""
    line, _, rest = subject[: work_words.MAX_SUBJECT].partition("\n")
    words = ": ".join(filter(None, (first.title, f"{line} …" if rest else line)))
    return words if count == 1 else f"{count_text(count, 'question')}, first {words}"
