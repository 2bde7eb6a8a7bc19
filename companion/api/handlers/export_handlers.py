"""The handler that gives a whole conversation as a file."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from typing import Iterator

from aiohttp import web

from ...agent import document
from ...agent.agent import Conversation, on_disk
from ...base import http_server
from ...base.large_json import PIECE
from ..contract.schemas import MARKDOWN
from .handler_types import HandlerAnswer, Inputs, Services
from .session_handlers import as_json, past_turn


async def export_conversation(
    services: Services, inputs: Inputs
) -> HandlerAnswer | web.StreamResponse:
    """Everything that was said, as a document in Markdown, or as JSON with all events. In Markdown
    thoughts are left out."""
    conversation = services.agent.conversations.known_conversation(inputs.fields["sessionId"])
    # All of it is in memory while it is sent.
    await http_server.reserve_memory(
        inputs.memory, await on_disk(partial(_transcript_size, conversation))
    )
    turns = (await conversation.past.read_history()).turns
    if inputs.fields.get("format") == "json":
        told = [past_turn(turn, inputs.language) for turn in turns]
        session = as_json(conversation.session_info)
        return HandlerAnswer("session_exported", {"session": session, "messages": told})
    info, agent = conversation.session_info, conversation.cli.name
    facts = (agent, info.workspace, info.created.isoformat(timespec="seconds"), info.id)
    pieces = document.document_pieces(info.title, facts, agent, turns, inputs.language)
    headers = {
        **inputs.headers,
        "Content-Type": f"{MARKDOWN}; charset=utf-8",
        "Content-Disposition": f'attachment; filename="conversation-{info.id[:8]}.md"',
    }
    body = _joined_pieces(pieces)
    return await http_server.send_pieces(inputs.request, 200, headers, body, may_compress=True)


def _joined_pieces(texts: Iterator[str]) -> Iterator[bytes]:
    """Joins the texts to pieces that are worth sending."""
    batch, size = [], 0
    for text in texts:
        batch.append(text)
        size += len(text)
        if size >= PIECE:
            yield "".join(batch).encode("utf-8", "replace")
            batch, size = [], 0
    yield "".join(batch).encode("utf-8", "replace")


def _transcript_size(conversation: Conversation) -> int:
    with suppress(FileNotFoundError):
        return os.path.getsize(conversation.record.transcript.path)
    return 0
