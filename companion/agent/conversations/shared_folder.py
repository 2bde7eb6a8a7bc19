"""Finds conversations, with what other servers with the same folder have made of them."""

from __future__ import annotations

from contextlib import suppress
from typing import Mapping

from ..agents.cli import AgentCli
from ..failure import SESSION_NOT_FOUND, VALIDATION_ERROR, AgentError
from ..sentence import sentence
from .conversation import Conversation
from .registry import Conversations
from .transcripts import NO_FILE, Stat

OTHER_AGENT = sentence("This conversation belongs to {cli}; begin another one for another agent.")


async def learn_changes(conversations: Conversations, session_id: str) -> None:
    """Learn what has become of this conversation, as far as it is on disk. Raises AgentError."""
    await conversations.index.wait_for_one(session_id)
    if session_id not in conversations:
        await conversations.index.check_release(session_id)
    else:
        try:
            await conversations.known_conversation(session_id).hold.refresh()
        except AgentError as error:
            if error.code != SESSION_NOT_FOUND:
                raise
            conversations.drop_deleted(session_id)


async def look_at_all(conversations: Conversations) -> None:
    """Learn which conversations were made, changed and deleted, a moment ago at the latest. One
    that cannot be read stays as it was."""
    there: Mapping[str, Stat] | None = None
    with suppress(OSError):
        there = await conversations.index.refresh(
            {conversation.id for conversation in conversations}
        )
    if there is None:
        return
    for each in conversations:
        if not each.hold.knows_state(there.get(each.id, NO_FILE)):
            with suppress(AgentError):
                await learn_changes(conversations, each.id)


async def open_to_all(
    conversations: Conversations, folder: str, cli: AgentCli
) -> Conversation | None:
    """The last used one of the folder with this CLI that nobody has asked for by its id, at no
    server: those belong to somebody. Raises AgentError."""
    await conversations.index.wait_for_all_since()
    await look_at_all(conversations)
    while True:
        found = conversations.open_to_all(folder, cli)
        if found is None or not found.record.has_begun:
            return found
        await learn_changes(conversations, found.id)
        if found.id in conversations and not found.record.state.is_owned:
            return found


async def own_conversation(
    conversations: Conversations, session_id: str, agent: str | None
) -> Conversation:
    """The conversation with this id, which from now on belongs to somebody. Raises AgentError, also
    if it is another one's than the given CLI's."""
    await learn_changes(conversations, session_id)
    found = conversations.known_conversation(session_id)
    if agent not in (None, found.cli.id):
        raise AgentError(VALIDATION_ERROR, OTHER_AGENT.with_values(cli=found.cli.name))
    await found.mark_owned()
    return found
