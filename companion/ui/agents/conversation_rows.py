"""The rows of the conversations that the window's folders have had, the last used ones. UI thread
only."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Sequence

import sublime

from ...chat.amounts import count_text
from ..chat.chat_actions import ChatActions
from ..chat.conversation_list import agent_name, window_workspaces
from . import work_words
from .agent_row import AgentRow, RowState
from .conversation_places import open_at_home

if TYPE_CHECKING:
    from ...agent.agent import SessionInfo

# A panel of that many opens at once; older ones are in the list of conversations alone.
MOST = 100
REMOVED = "work tree {}, removed"


class ConversationRows:
    name = "conversations"

    def __init__(self, chats: ChatActions) -> None:
        self._chats = chats

    async def agent_rows(self, window: sublime.Window) -> Sequence[AgentRow]:
        """Those of the window's folders. Raises Unanswered."""
        service = await self._chats.ensure_service()
        if service is None:
            return ()
        from ...chat.requests import ListConversations

        places = await window_workspaces(window, self._chats.trees)
        found = await service.ask(ListConversations(places, limit=MOST))
        return [
            self._conversation_row(info, places.tree_name(info.workspace))
            for info in found.conversations
        ]

    def _conversation_row(self, info: SessionInfo, tree: str) -> AgentRow:
        """`tree` is the name of the folder of a work tree in which the agent works or has worked;
        "" if it is none."""
        trees = self._chats.trees
        is_gone = tree and trees.is_complete
        place = trees.place_of(info.workspace) or (REMOVED.format(tree) if is_gone else "")
        where = filter(None, ("" if info.in_chat else work_words.OF_API, place))
        return AgentRow(
            RowState.WORKS if info.is_busy else RowState.IDLE,
            info.title,
            partial(self._open_conversation, info),
            "",
            info.last_used.timestamp(),
            (
                agent_name(info.agent),
                *where,
                count_text(info.turns, "message"),
                *work_words.token_words(info.usage),
            ),
            key=info.id,
        )

    async def _open_conversation(self, info: SessionInfo, window: sublime.Window) -> bool:
        await open_at_home(self._chats, info.id, info.workspace, window)
        return False
