"""Messages that are passed into the turn that runs: of agents that ask for them, and of agents that
are given them."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from ..acp.acp_client import AcpSession
from ..acp.messages import text_block
from ..failure import AgentError
from ..turn_events import MessageAdded, QueuedMessage
from .conversation import Conversation
from .transcripts import on_disk

# Seconds for the agent to say whether it takes a message.
ANSWERING = 30.0
# What became of a message that the agent was given: it was taken or waits; the agent did not do
# what it offers; the end of the turn has decided about all that waits.
DECIDED, FAILED, OVER = "decided", "failed", "over"


def may_pass(conversation: Conversation, message: QueuedMessage) -> bool:
    """Whether the message can be passed into a turn: the agent takes texts alone."""
    turn = conversation.turn
    runs = turn is not None and not turn.is_over
    is_text = not (message.files or message.attachments)
    takes = bool(conversation.cli.asks_for_messages) or steered_session(conversation) is not None
    return takes and runs and is_text


def steered_session(conversation: Conversation) -> AcpSession | None:
    """The session of an agent that is given messages within its turn; None if it is not."""
    agent = conversation.session.agent
    if agent is None or not agent.session.client.capabilities.steers:
        return None
    return agent.session


async def steer_turn(
    conversation: Conversation, session: AcpSession, message: QueuedMessage
) -> str:
    """Give the message, which is being passed, to the agent within the turn that runs; DECIDED,
    FAILED or OVER. If it is too late for that, the message waits for the end of the turn."""
    queue, log = conversation.queue, conversation.log
    if log is None or log.is_over:
        return OVER
    try:
        blocks = [text_block(conversation.cli.text_for(message.text))]
    except AgentError as error:
        queue.hold_back(error.message)
        return DECIDED
    outcome = DECIDED
    try:
        is_taken = await asyncio.wait_for(session.steer(blocks), ANSWERING)
    except (AgentError, asyncio.TimeoutError):
        is_taken, outcome = False, FAILED
    if log.is_over or conversation.log is not log:
        return OVER
    if is_taken:
        await _say_message(conversation, message)
    else:
        queue.stop_passing(message.id)
    return outcome


async def pass_messages(conversation: Conversation) -> list[str]:
    """The texts that the agent gets now, as it asks; they are said with that, and wait no more."""
    queue, log = conversation.queue, conversation.log
    message = next((each for each in queue.messages if each.id == queue.passing), None)
    if message is None or log is None or log.is_over:
        return []
    try:
        text = conversation.cli.text_for(message.text)
    except AgentError as error:
        queue.hold_back(error.message)
        return []
    await _say_message(conversation, message)
    return [text]


async def _say_message(conversation: Conversation, message: QueuedMessage) -> None:
    """It is a message of the turn that runs."""
    log = conversation.log
    if log is not None:
        log.add_event(MessageAdded(message.id, message.text, message.additions))
    conversation.queue.remove_sent(message.id)
    # If the server is killed, the message is either in the queue or was said, never both.
    with suppress(AgentError):
        await on_disk(conversation.record.transcript.write_now)
