"""A conversation in which nothing was said yet: it is temporary, and gone with its chat."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from ..agent.agent import Agent, Conversation
from ..agent.failure import AgentError


class Unsaid:
    """What is unsaid in one conversation, which may also be one that was begun long ago. Belongs to
    the engine's loop."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._is_kept = False
        # Another program may have begun one for itself.
        self._is_ours = not conversation.record.has_begun
        if self._is_ours:
            record = conversation.record
            record.change_state(
                replace(record.state, is_owned=True, is_temporary=True, in_chat=True)
            )

    async def keep_conversation(self) -> None:
        """Once it has a session: a server that finds a temporary conversation free deletes it.
        Raises AgentError."""
        hold = self._conversation.hold
        if self._conversation.record.state.is_temporary and not self._is_kept:
            async with hold.exclusive_use():
                hold.keep_held()
                self._is_kept = True

    async def end_temporary(self) -> None:
        """Something is about to be said in it: it is temporary no longer. Raises AgentError."""
        record, hold = self._conversation.record, self._conversation.hold
        if record.state.is_temporary:
            async with hold.exclusive_use():
                record.change_state(replace(record.state, is_temporary=False))
            if self._is_kept:
                self._is_kept = False
                hold.give_soon()

    async def remove_conversation(self, agent: Agent) -> None:
        """Delete the conversation of a closed chat, unless something was said or is about to be."""
        conversation = self._conversation
        is_used = conversation.record.turns or conversation.is_busy or conversation.queue.messages
        if self._is_ours and not is_used:
            with suppress(AgentError):
                await agent.delete_session(conversation.id)
