"""Which conversations the clients may know of: those of an editor's chat only if its user wants
that."""

from __future__ import annotations

from ...agent import failure
from ...agent.agent import Agent, ConversationSummary
from ...agent.failure import AgentError


class Visible:
    """`shows_chats` says whether clients may know of the conversations that were begun in an
    editor's chat. To them, those that are hidden do not exist."""

    def __init__(self, agent: Agent, shows_chats: bool) -> None:
        self._agent = agent
        self._shows_chats = shows_chats

    def is_listed(self, summary: ConversationSummary) -> bool:
        return self._shows_chats or not summary.state.in_chat

    def is_visible(self, session_id: str) -> bool:
        """Whether it is not hidden, and was not before it was deleted; also of one that never
        existed."""
        if self._shows_chats:
            return True
        conversations = self._agent.conversations
        try:
            conversation = conversations.known_conversation(session_id)
        except AgentError:
            return session_id not in conversations.removed_chats
        return not conversation.record.state.in_chat

    def check_visible(self, session_id: str) -> None:
        """Raises AgentError, code SESSION_NOT_FOUND, if it is hidden."""
        if not self.is_visible(session_id):
            raise failure.no_session(session_id)
