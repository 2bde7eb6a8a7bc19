"""Messages that are passed into the turn that runs, for agents that ask for them."""

from __future__ import annotations

from contextlib import suppress

from ..failure import AgentError
from ..turn_events import MessageAdded, QueuedMessage
from .conversation import Conversation
from .transcripts import on_disk


def may_pass(conversation: Conversation, message: QueuedMessage) -> bool:
    """Whether the message can be passed into a turn: the agent asks for texts alone."""
    turn = conversation.turn
    runs = turn is not None and not turn.is_over
    is_text = not (message.files or message.attachments)
    return bool(conversation.cli.asks_for_messages) and runs and is_text


async def pass_messages(conversation: Conversation) -> list[str]:
    """The texts that the agent gets now; they are said with that, and wait no more."""
    queue, log = conversation.queue, conversation.log
    message = next((each for each in queue.messages if each.id == queue.passing), None)
    if message is None or log is None or log.is_over:
        return []
    try:
        text = conversation.cli.text_for(message.text)
    except AgentError as error:
        queue.hold_back(error.message)
        return []
    log.add_event(MessageAdded(message.id, message.text, message.additions))
    queue.remove_sent(message.id)
    # If the server is killed, the message is either in the queue or was said, never both.
    with suppress(AgentError):
        await on_disk(conversation.record.transcript.write_now)
    return [text]
