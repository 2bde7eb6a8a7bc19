"""Handlers of attachments: upload, list, download and delete images and documents."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Callable, TypeVar

from aiohttp import web

from ...agent import wire
from ...agent.agent import Conversation
from ...agent.attachments import Attachments
from ...base import http_server
from ...base.background import in_thread
from ..contract.refusal import FILE_ERROR, Refusal
from ..contract.schemas import BYTES
from ..files import uploads
from .handler_types import HandlerAnswer, Inputs, Services

# Seconds for the disk to write or read an attachment.
SECONDS = 30.0

T = TypeVar("T")


async def add_attachment(services: Services, inputs: Inputs) -> HandlerAnswer:
    """Upload an image (PNG, JPEG, GIF, WebP) or a PDF of at most 10 MiB, as the member `file` of a
    form. The server finds the type by the content, not by the name. A message names the upload by
    its id, in `attachments`."""
    attachments = _attachments_of(services, inputs)
    upload = await uploads.read_upload(inputs.request, inputs.memory)
    added = await _run_in_time(partial(attachments.add, upload.name, upload.data))
    return HandlerAnswer("attachment_added", wire.attachment_json(added))


async def list_attachments(services: Services, inputs: Inputs) -> HandlerAnswer:
    """All attachments of the conversation, in the order of names."""
    found = await _run_in_time(_attachments_of(services, inputs).list_all)
    return HandlerAnswer(
        "attachments_told",
        {"attachments": [wire.attachment_json(attachment) for attachment in found]},
    )


async def get_attachment(services: Services, inputs: Inputs) -> web.StreamResponse:
    """The bytes of an attachment, as they were uploaded, or of an image that the agent has
    shown."""
    id, conversation = inputs.fields["attachmentId"], _conversation_of(services, inputs)
    size = await _run_in_time(partial(_size_of, conversation, id))
    await http_server.reserve_memory(inputs.memory, size)
    data = await _run_in_time(partial(_read_bytes, conversation, id))
    headers = {**inputs.headers, "Content-Type": BYTES, "Content-Disposition": "attachment"}
    return await http_server.send_pieces(inputs.request, 200, headers, http_server.in_pieces(data))


async def remove_attachment(services: Services, inputs: Inputs) -> HandlerAnswer:
    """Delete an attachment. Messages that used it keep its name."""
    attachments = _attachments_of(services, inputs)
    await _run_in_time(partial(attachments.remove, inputs.fields["attachmentId"]))
    return HandlerAnswer("attachment_removed")


def _attachments_of(services: Services, inputs: Inputs) -> Attachments:
    """The attachments of the conversation that is asked about. Raises AgentError."""
    return _conversation_of(services, inputs).attachments


def _conversation_of(services: Services, inputs: Inputs) -> Conversation:
    """Raises AgentError."""
    return services.agent.conversations.known_conversation(inputs.fields["sessionId"])


def _size_of(conversation: Conversation, id: str) -> int:
    """The number of bytes. Raises AgentError and OSError."""
    shown = conversation.images.size_of(id)
    return conversation.attachments.get(id).size if shown is None else shown


def _read_bytes(conversation: Conversation, id: str) -> bytes:
    """Raises AgentError and OSError."""
    shown = conversation.images.read_data(id)
    return conversation.attachments.read_data(id) if shown is None else shown


async def _run_in_time(work: Callable[[], T]) -> T:
    try:
        return await in_thread(work, SECONDS)
    except asyncio.TimeoutError:
        reason = f"the disk did not answer within {SECONDS:g} seconds"
        raise Refusal(FILE_ERROR, path="attachments", reason=reason) from None
    except OSError as error:
        raise Refusal(FILE_ERROR, path=error.filename or "?", reason=error.strerror) from None
