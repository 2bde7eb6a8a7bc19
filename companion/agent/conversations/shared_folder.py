"""What other servers with the same folder have made of the conversations."""

from __future__ import annotations

from contextlib import suppress
from typing import Mapping

from ..wording.failure import SESSION_NOT_FOUND, AgentError
from .conversation import Conversation
from .registry import Conversations
from .transcripts import NO_FILE, Stat


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
    """Learn which conversations were made, changed and deleted, a moment ago at the latest. One
    that cannot be read stays as it was."""
    there: Mapping[str, Stat] | None = None
    with suppress(OSError):
        there = await conversations.index.look({it.id for it in conversations})
    if there is None:
        return
    for each in conversations:
        if not each.hold.knows(there.get(each.id, NO_FILE)):
            with suppress(AgentError):
                await look(conversations, each.id)


async def is_open_to_all(conversations: Conversations, found: Conversation) -> bool:
    """Whether it is still there, and nobody has asked for it by its id. Raises AgentError."""
    await look(conversations, found.id)
    return found.id in conversations and not found.record.state.is_owned
