"""Handlers of /v1, for clients of OpenAI's API.

Such a client sends the whole conversation with each message. The agent uses its own tools; calls
that need a decision are rejected, unless the operator allowed them, and the answer says so.

Source: OpenAI's API reference, Chat Completions, Responses and Models.
"""

from __future__ import annotations

from functools import partial
from typing import Any, AsyncIterator, Mapping

from aiohttp import web

from ...base.http_server import JSON
from ..contract.refusal import MODEL_NOT_FOUND, Refusal
from ..openai import errors
from ..openai.request import ANY_MODEL
from ..openai.responses import ResponseObject, all_messages, as_chat
from ..openai.talk import Talk
from . import event_stream, openai_turns
from .handler_types import Inputs, Services, encode_json


async def list_models(services: Services, inputs: Inputs) -> web.StreamResponse:
    """The names that a request can have as its model: those of the CLIs, which let the CLI choose,
    and those of the models that the first CLI offers."""
    data = [_model_object(id, owner) for id, owner in (await _model_owners(services)).items()]
    return _json_answer(inputs, {"object": "list", "data": data})


async def get_model(services: Services, inputs: Inputs) -> web.StreamResponse:
    """One of these names."""
    id, known = inputs.fields["model"], await _model_owners(services)
    if id not in known:
        raise Refusal(MODEL_NOT_FOUND, field="model", model=id)
    return _json_answer(inputs, _model_object(id, known[id]))


async def chat_completions(services: Services, inputs: Inputs) -> web.StreamResponse:
    """An answer to the last message, whole or in chunks. The conversation is kept for a while, for
    a request with the same token, `user` and messages, this answer and a new message; nobody else
    gets its memory. `stop` cuts the answer. `response_format` is told to the model, and the answer
    is checked; if it does not fit twice, the error is 422. Pictures and documents stand in the
    messages as `data:` addresses. Parameters that the CLI offers nothing for, such as `logprobs`,
    are refused with 400; `ignored_parameters` of the answer names those that have no effect, such
    as `temperature`, `max_tokens` and `tools`. An error after a call of a tool is 400, 401, 403 or
    404 and has `X-Should-Retry: false`, so that libraries do not send the request again."""
    write = partial(_write_completion, services, inputs)
    return await openai_turns.answer_request(services, inputs, inputs.fields, write)


async def create_response(services: Services, inputs: Inputs) -> web.StreamResponse:
    """Answers what `/v1/chat/completions` does, in the form of the Responses API: `input` is a
    text, or a list of messages. Answers are remembered for an hour, for requests of the same token
    that name them by `previous_response_id` or refer to their messages, unless `store` is false."""
    owner, fields = inputs.caller.id, inputs.fields
    chat = as_chat(fields, partial(services.responses.find_messages, owner))
    write = partial(_write_response, services, inputs)
    return await openai_turns.answer_request(services, inputs, chat, write)


async def _model_owners(services: Services) -> dict[str, str]:
    """The owners by the models' names. Raises AgentError."""
    infos = services.agent.backends.agent_infos()
    found = await services.agent.list_models(services.roots.resolve_folder(""))
    names = [ANY_MODEL[0], *(each.id for each in infos), *(each.id for each in found.available)]
    own = {each.id: each.id for each in infos}
    return {name: own.get(name, infos[0].id) for name in names}


def _model_object(id: str, owner: str) -> dict[str, Any]:
    return {"id": id, "object": "model", "created": 0, "owned_by": owner}


async def _write_completion(
    services: Services, inputs: Inputs, talk: Talk, pieces: AsyncIterator[str]
) -> web.StreamResponse:
    """Raises Refusal, as long as nothing of the answer has been sent."""
    if inputs.fields.get("stream", False):
        first = await openai_turns.first_of(pieces)
        chunks = _chat_chunks(inputs, talk, first, pieces)
        return await event_stream.send_data(services, inputs, chunks)
    told = "".join([piece async for piece in pieces])
    message = {"role": "assistant", "content": told, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": talk.reason}
    shared = _shared_members("chat.completion", inputs, talk)
    return _json_answer(
        inputs, {**shared, "choices": [choice], "usage": talk.usage, **talk.extra_members}
    )


async def _chat_chunks(
    inputs: Inputs, talk: Talk, first: str, pieces: AsyncIterator[str]
) -> AsyncIterator[bytes]:
    def make_chunk(delta: Mapping[str, str], reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return {**_shared_members("chat.completion.chunk", inputs, talk), "choices": [choice]}

    yield encode_json(make_chunk({"role": "assistant", "content": first}))
    try:
        async for piece in pieces:
            if piece:
                yield encode_json(make_chunk({"content": piece}))
        yield encode_json({**make_chunk({}, talk.reason), **talk.extra_members})
        if (inputs.fields.get("stream_options") or {}).get("include_usage"):
            shared = _shared_members("chat.completion.chunk", inputs, talk)
            yield encode_json({**shared, "choices": [], "usage": talk.usage})
    except Refusal as refusal:
        yield encode_json(errors.error_answer(refusal, inputs.language))
    yield b"[DONE]"


def _shared_members(kind: str, inputs: Inputs, talk: Talk) -> dict[str, Any]:
    return {
        "id": "chatcmpl-" + talk.turn_id,
        "object": kind,
        "created": talk.created,
        "model": inputs.fields["model"],
    }


async def _write_response(
    services: Services, inputs: Inputs, talk: Talk, pieces: AsyncIterator[str]
) -> web.StreamResponse:
    """Raises Refusal, as long as nothing of the answer has been sent."""
    response = ResponseObject(inputs.fields, talk)
    if inputs.fields.get("stream", False):
        first = await openai_turns.first_of(pieces)
        events = _response_events(services, inputs, talk, response, first, pieces)
        return await event_stream.send_data(services, inputs, events)
    told = "".join([piece async for piece in pieces])
    _keep_answer(services, inputs, response.id, told)
    return _json_answer(inputs, response.whole_response(told))


async def _response_events(
    services: Services,
    inputs: Inputs,
    talk: Talk,
    response: ResponseObject,
    first: str,
    pieces: AsyncIterator[str],
) -> AsyncIterator[bytes]:
    for event in response.first_events():
        yield encode_json(event)
    told = first
    try:
        if first:
            yield encode_json(response.piece_event(first))
        async for piece in pieces:
            told += piece
            if piece:
                yield encode_json(response.piece_event(piece))
        _keep_answer(services, inputs, response.id, told)
        for event in response.last_events(told):
            yield encode_json(event)
    except Refusal as refusal:
        yield encode_json(
            response.failure_event(errors.error_answer(refusal, inputs.language)["error"])
        )


def _keep_answer(services: Services, inputs: Inputs, id: str, told: str) -> None:
    """Remember the answer for requests that name it."""
    if inputs.fields.get("store", True):
        owner = inputs.caller.id
        before = all_messages(inputs.fields, partial(services.responses.find_messages, owner))
        services.responses.keep_response(
            owner, id, [*before, {"role": "assistant", "content": told}]
        )


def _json_answer(inputs: Inputs, value: Mapping[str, Any]) -> web.Response:
    return web.Response(body=encode_json(value), headers={**inputs.headers, "Content-Type": JSON})
