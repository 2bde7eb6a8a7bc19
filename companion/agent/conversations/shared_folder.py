"""What other servers with the same folder have made of the conversations."""

from __future__ import annotations

from ..wording.failure import SESSION_NOT_FOUND, AgentError
from .registry import Conversations


async def look(conversations: Conversations, session_id: str) -> None:
    """Learn what has become of this conversation, as far as it is on disk. Raises AgentError."""
    await conversations.index.ready(session_id)
    if session_id in conversations:
        try:
            await conversations.known(session_id).hold.look()
        except AgentError as error:
            if error.code != SESSION_NOT_FOUND:
                raise
            conversations.drop(session_id)


async def look_at_all(conversations: Conversations) -> None:
    """Learn which conversations were made, changed and deleted."""
    await conversations.index.look({it.id for it in conversations})
