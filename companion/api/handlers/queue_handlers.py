"""Handlers of the messages that wait until what is said before them is over."""

from __future__ import annotations

from functools import partial
from typing import Sequence

from ...agent import wire
from ...agent.agent import Conversation, on_disk
from ...agent.attachments import Attachments
from ...agent.turn_events import Attachment
from ..operations import audit_log
from . import agent_commands
from .chat_handlers import read_along
from .handler_types import HandlerAnswer, Inputs, Services


async def list_queue(services: Services, inputs: Inputs) -> HandlerAnswer:
    """All messages that wait, the next one first. While they are held, because a turn failed or was
    cancelled or the server was restarted, nothing is sent by itself."""
    return _queue_answer(_conversation_of(services, inputs), inputs)


async def add_message(services: Services, inputs: Inputs) -> HandlerAnswer:
    """Send a message once what runs and what waits is over; at once if there is neither. Its turn
    is followed in the events of the conversation."""
    services.check_not_ending()
    conversation, fields = _usable_conversation(services, inputs), inputs.fields
    agent_commands.check_command(inputs.caller, conversation.cli, fields["message"])
    attached: Sequence[Attachment] = ()
    if fields.get("attachments"):
        attached = await on_disk(
            partial(_attachments_of, conversation.attachments, fields["attachments"])
        )
    given = fields.get("filePaths", [])
    paths = await _message_files(services, conversation, "", given)
    files = await _message_files(services, conversation, fields["message"], given)
    async with conversation.hold.exclusive_use():
        # Also where the chat of an editor was closed: this client can answer.
        conversation.set_attended(True)
        added = conversation.queue.add_message(fields["message"], paths, files, attached)
        audit_log.note_members(sessionId=conversation.id)
        services.agent.outbox.go_on(conversation)
        # Whoever gets the answer need not send it again, also if the server is killed.
        await conversation.record.write_to_disk()
    return _queue_answer(conversation, inputs, queueId=added.id)


async def change_message(services: Services, inputs: Inputs) -> HandlerAnswer:
    """Change the text of a message that waits, or its place: 0 is the next one."""
    conversation, fields = _usable_conversation(services, inputs), inputs.fields
    id = fields["queueId"]
    async with conversation.hold.exclusive_use():
        queue = conversation.queue
        if "message" in fields:
            agent_commands.check_command(inputs.caller, conversation.cli, fields["message"])
            text, given = fields["message"], queue.get_message(id).given
            queue.change_message(
                id, text, await _message_files(services, conversation, text, given)
            )
        if "position" in fields:
            queue.move_message(id, fields["position"])
        await conversation.record.write_to_disk()
    return _queue_answer(conversation, inputs, queueId=id)


async def take_back(services: Services, inputs: Inputs) -> HandlerAnswer:
    """Take back a message that waits."""
    conversation = _conversation_of(services, inputs)
    async with conversation.hold.exclusive_use():
        conversation.queue.remove_message(inputs.fields["queueId"])
    return _queue_answer(conversation, inputs)


async def send_now(services: Services, inputs: Inputs) -> HandlerAnswer:
    """Send a message that waits before all others: within the turn that runs if the agent asks for
    messages, otherwise after that is cancelled. What else waits comes after it."""
    services.check_not_ending()
    conversation, id = _usable_conversation(services, inputs), inputs.fields["queueId"]
    async with conversation.hold.exclusive_use():
        services.agent.outbox.send_next(conversation, id)
    audit_log.note_members(sessionId=conversation.id)
    return _queue_answer(conversation, inputs, queueId=id)


def _conversation_of(services: Services, inputs: Inputs) -> Conversation:
    return services.agent.conversations.known_conversation(inputs.fields["sessionId"])


def _usable_conversation(services: Services, inputs: Inputs) -> Conversation:
    """The conversation, if a client may use its agent. Raises AgentError."""
    conversation = _conversation_of(services, inputs)
    account = services.agent.backends[conversation.cli.id].account
    account.check_for_clients(conversation.record.state.chat_home)
    return conversation


async def _message_files(
    services: Services, conversation: Conversation, text: str, given: Sequence[str]
) -> list[str]:
    fields = {"message": text, "filePaths": given, "sessionId": conversation.id}
    return await read_along(services, fields, conversation.workspace)


def _attachments_of(attachments: Attachments, ids: Sequence[str]) -> list[Attachment]:
    """Blocks. Raises AgentError."""
    return [attachments.get(id) for id in ids]


def _queue_answer(conversation: Conversation, inputs: Inputs, **more: str) -> HandlerAnswer:
    return HandlerAnswer(
        "queue_told", {**wire.queue_json(conversation.queue.body, inputs.language), **more}
    )
