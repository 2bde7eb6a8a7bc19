"""Handlers of /v1, for clients of OpenAI's API.

Such a client sends the whole conversation with each message, so each request gets a conversation of
its own, which is deleted afterwards. The agent uses its own tools; calls that need a decision are
rejected, unless the operator allowed them.

Source: OpenAI's API reference, Chat Completions and Models.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any, AsyncIterator, Mapping, Sequence

from aiohttp import web

from ...agent.acp.elicitation import CANCEL
from ...agent.events import turn_events as events
from ...agent.events.turn_events import ONCE
from ...agent.turn.turn import Turn
from ...agent.wording.failure import VALIDATION_ERROR, AgentError
from ...agent.wording.sentence import said
from ...base.http_server import JSON, outlive_client
from ..contract.refusal import MODEL_NOT_FOUND, Refusal, of_agent
from ..operations import audit_log
from . import event_stream
from .handler_types import Inputs, Services, encoded

# Names that let the server choose the model.
ANY_MODEL = ("gemini", "auto", "default")
REASONS = {
    events.END_TURN: "stop",
    events.CANCELLED: "stop",
    events.MAX_TOKENS: "length",
    events.MAX_TURN_REQUESTS: "length",
    events.EMPTY: "content_filter",
}
ROLES = {"system": "Instructions", "developer": "Instructions", "user": "User"}


async def models(services: Services, inputs: Inputs) -> web.StreamResponse:
    """The models that the agent offers."""
    found = await services.agent.models(services.roots.folder(""))
    data = [
        {"id": each.id, "object": "model", "created": 0, "owned_by": "google"}
        for each in found.available
    ]
    return _answer(inputs, {"object": "list", "data": data})


async def chat_completions(services: Services, inputs: Inputs) -> web.StreamResponse:
    """An answer to the last message, whole or in chunks. Parameters for the model, such as
    `temperature`, are ignored: the agent takes none."""
    services.admission.check()
    fields = inputs.fields
    if fields.get("tools") or fields.get("functions"):
        raise Refusal(VALIDATION_ERROR, "openai_tools")
    if fields.get("n", 1) != 1:
        raise Refusal(VALIDATION_ERROR, "openai_choices")
    text = _text(fields["messages"])
    # The name of a CLI counts as a model, and lets that CLI choose.
    agents = [each.id for each in services.agent.backends.infos()]
    agent = fields["model"] if fields["model"] in agents else None
    folder = services.roots.folder("")
    info = await services.agent.new_session(folder, agent, is_temporary=True)
    audit_log.note(sessionId=info.id)
    try:
        if agent is None and fields["model"] not in ANY_MODEL:
            await _choose(services, info.id, fields["model"])
        turn = await services.agent.chat(
            info.workspace, text, session_id=info.id, asks=services.allows_tools
        )
        with services.listeners.listening(turn, may_return=False):
            if fields.get("stream", False):
                return await _chunks(services, inputs, turn)
            return await _whole(services, inputs, turn)
    finally:
        # Many clients disconnect as soon as they have the last piece.
        outlive_client(inputs.request)
        with suppress(AgentError):
            services.agent.turns.cancel(info.id)
            await services.agent.remove_when_over(info.id)


async def _choose(services: Services, id: str, model: str) -> None:
    try:
        await services.agent.change(id, None, model, None)
    except AgentError as error:
        if error.code != VALIDATION_ERROR:
            raise
        raise Refusal(MODEL_NOT_FOUND, model=model) from None


def _text(messages: Sequence[Mapping[str, Any]]) -> str:
    """All messages as one text. Raises Refusal."""
    if messages[-1]["role"] != "user":
        raise Refusal(VALIDATION_ERROR, "openai_last")
    told = [(ROLES.get(it["role"], "You"), _content(it.get("content"))) for it in messages]
    if len(told) == 1:
        return told[0][1]
    return "\n\n".join(f"{role}: {text}" for role, text in told)


def _content(content: Any) -> str:
    """Raises Refusal if the content is not text."""
    if content is None or isinstance(content, str):
        return content or ""
    parts = [part.get("text") for part in content if part.get("type") == "text"]
    if len(parts) != len(content) or not all(isinstance(part, str) for part in parts):
        raise Refusal(VALIDATION_ERROR, "openai_parts")
    return "\n".join(parts)


async def _pieces(services: Services, turn: Turn) -> AsyncIterator[events.Body]:
    """The events of the turn. A call that waits for a decision gets one, a question no answer."""
    async for event in turn.events():
        if isinstance(event.body, events.ToolConfirmation):
            # Somebody else may have decided, or the turn may have ended.
            with suppress(AgentError):
                services.agent.turns.confirm(event.body.call_id, ONCE, turn.session_id)
        elif isinstance(event.body, events.Elicitation):
            with suppress(AgentError):
                turn.elicitations.answer(event.body.id, CANCEL)
        yield event.body


async def _whole(services: Services, inputs: Inputs, turn: Turn) -> web.StreamResponse:
    said = ""
    async for body in _pieces(services, turn):
        if isinstance(body, events.Content):
            said += body.text
        elif isinstance(body, events.Error):
            raise of_agent(AgentError(body.code, body.message, body.details))
        elif isinstance(body, events.Complete):
            message = {"role": "assistant", "content": said}
            choice = {"index": 0, "message": message, "finish_reason": REASONS[body.reason]}
            shared = _shared("chat.completion", inputs, turn)
            return _answer(inputs, {**shared, "choices": [choice], "usage": _usage(body)})
    raise RuntimeError("a turn ended without its last event")


async def _chunks(services: Services, inputs: Inputs, turn: Turn) -> web.StreamResponse:
    async def told() -> AsyncIterator[bytes]:
        yield _chunk(inputs, turn, {"role": "assistant", "content": ""})
        async for body in _pieces(services, turn):
            if isinstance(body, events.Content):
                yield _chunk(inputs, turn, {"content": body.text})
            elif isinstance(body, events.Error):
                message = said(body.message, inputs.language)
                yield encoded({"error": {"message": message, "code": body.code}})
            elif isinstance(body, events.Complete):
                yield _chunk(inputs, turn, {}, REASONS[body.reason])
                if (inputs.fields.get("stream_options") or {}).get("include_usage"):
                    shared = _shared("chat.completion.chunk", inputs, turn)
                    yield encoded({**shared, "choices": [], "usage": _usage(body)})
        yield b"[DONE]"

    return await event_stream.send_data(services, inputs, told())


def _chunk(
    inputs: Inputs, turn: Turn, delta: Mapping[str, str], reason: str | None = None
) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return encoded({**_shared("chat.completion.chunk", inputs, turn), "choices": [choice]})


def _shared(kind: str, inputs: Inputs, turn: Turn) -> dict[str, Any]:
    return {
        "id": "chatcmpl-" + turn.id,
        "object": kind,
        "created": int(time.time()),
        "model": inputs.fields["model"],
    }


def _usage(body: events.Complete) -> dict[str, int]:
    given, taken = body.usage.input_tokens, body.usage.output_tokens
    return {"prompt_tokens": given, "completion_tokens": taken, "total_tokens": given + taken}


def _answer(inputs: Inputs, value: Mapping[str, Any]) -> web.Response:
    return web.Response(body=encoded(value), headers={**inputs.headers, "Content-Type": JSON})
