"""The list of all agents, with what fills it. Each kind of rows in it stands here once."""

from __future__ import annotations

from functools import partial

from ..agents.agent_list import AgentList
from ..agents.agent_row import StateCounts, count_states
from ..agents.chat_progress import ChatProgress
from ..agents.chat_rows import ChatRows
from ..agents.cli_progress import CliProgress
from ..agents.cli_rows import CliRows
from ..agents.conversation_rows import ConversationRows
from ..agents.tree_rows import TreeRows
from ..chat.conversation_list import ConversationList
from ..chat.taking_over import TakingOver
from .chat_parts import ChatParts
from .diff_parts import DiffParts
from .foundation import Foundation
from .tree_parts import TreeParts


class AgentParts:
    def __init__(
        self, base: Foundation, diffs: DiffParts, chat: ChatParts, trees: TreeParts
    ) -> None:
        chats, tell = chat.actions, base.messages.tell_user
        progress = self.progress = ChatProgress(
            lambda: chats.tabs.chats, chats.short_questions.are_answered
        )
        clis = self.clis = CliProgress()
        chats.updates_drawn.subscribe(progress.follow_update)
        chats.tabs.closings.subscribe(progress.forget_chat)
        self.conversations = ConversationList(chats, tell)
        # Of several rows about one agent the first counts.
        providers = (
            ChatRows(chats, progress),
            CliRows(base.companion, diffs.tabs.show, tell, clis),
            TreeRows(
                base.trees,
                trees.show_changes,
                trees.show_left,
                trees.removal.remove_tree,
                trees.list_changes,
                trees.count_changes,
            ),
            ConversationRows(chats),
        )
        taking_over = TakingOver(chats, tell)
        self.list = AgentList(providers, self.conversations, taking_over, base.stories, tell)
        self.polls = (
            progress.note_seen,
            partial(chats.engines.look_at_work, progress.note_busy),
            clis.look_at_terminals,
        )

    def count_agents(self) -> StateCounts:
        """Those that the list has, of all windows."""
        return count_states([*self.progress.all_states(), *self.clis.all_states()])
