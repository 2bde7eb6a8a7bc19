"""What the agents of all conversations do now, as their engine says it. UI thread only."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Mapping

from ...base.answer import Unanswered
from .. import queues
from .chat_actions import ChatActions

if TYPE_CHECKING:
    # Imported with the first engine, because many editors never have one.
    from ...chat.work_requests import WorkFacts

# Milliseconds that the engine gets.
PATIENCE = 300


async def look_at_work(chats: ChatActions) -> Mapping[str, WorkFacts]:
    """What is known of the conversations whose agents ask or work, and of those of chats, by their
    ids; nothing if there is no engine, or if it does not answer soon."""
    service = await chats.ensure_service() if chats.engines.is_there else None
    if service is None:
        return {}
    from ...chat.work_requests import LookAtWork

    named = tuple(chat.conversation for chat in chats.tabs.chats)
    answer = service.ask(LookAtWork(named))
    # Only the first answer counts.
    queues.on_ui_thread(partial(answer.give, ()), PATIENCE)
    try:
        return {each.info.id: each for each in await answer}
    except Unanswered:
        # Its chats say why.
        return {}
