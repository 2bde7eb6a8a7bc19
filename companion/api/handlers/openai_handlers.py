"""Handlers of /v1, for clients of OpenAI's API.

Such a client sends the whole conversation with each message. The agent uses its own tools; calls
that need a decision are rejected, unless the operator allowed them, and the answer says so.

Source: OpenAI's API reference, Chat Completions and Models.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import Any, AsyncIterator, Iterator, Mapping

from aiohttp import web

from ...agent.wording.failure import AgentError
from ...base.background import in_thread
from ...base.http_server import JSON
from ..contract.refusal import MODEL_NOT_FOUND, OUTPUT_INVALID, Refusal, of_agent
from ..openai import errors
from ..openai.output_shape import OutputShape, Unfit
from ..openai.request import ANY_MODEL, WantedAnswer, read
from ..openai.talk import Talk
from ..operations import audit_log
from . import agent_commands, event_stream
from .handler_types import Inputs, Services, encoded

# The header in which OpenAI's own libraries are told whether to send a request again.
SHOULD_RETRY = "X-Should-Retry"
# How often the model is asked for an answer of the right shape.
ATTEMPTS = 2
# The most characters of an answer of another shape that the client gets to see.
MAX_FAILED = 10_000


async def models(services: Services, inputs: Inputs) -> web.StreamResponse:
    """The names that a request can have as its model: those of the CLIs, which let the CLI choose,
    and those of the models that the first CLI offers."""
    data = [_model(id, owner) for id, owner in (await _models(services)).items()]
    return _answer(inputs, {"object": "list", "data": data})


async def model(services: Services, inputs: Inputs) -> web.StreamResponse:
    """One of these names."""
    id, known = inputs.fields["model"], await _models(services)
    if id not in known:
        raise Refusal(MODEL_NOT_FOUND, field="model", model=id)
    return _answer(inputs, _model(id, known[id]))


async def chat_completions(services: Services, inputs: Inputs) -> web.StreamResponse:
    """An answer to the last message, whole or in chunks. The conversation is kept for a while, for
    a request with the same token, `user` and messages, this answer and a new message; nobody else
    gets its memory. `stop` cuts the answer. `response_format` is told to the model, and the answer
    is checked; if it does not fit twice, the error is 422. Parameters that the CLI offers nothing
    for, such as `max_tokens` and `tools`, are refused with 400; `ignored_parameters` of the answer
    names those that have no effect, such as `temperature`. An error after a call of a tool is 400,
    401, 403 or 404 and has `X-Should-Retry: false`, so that libraries do not send the request
    again."""
    services.check_not_ending()
    wanted = await _wanted(services, inputs)
    held = await services.kept.find(inputs.caller.id, wanted)
    audit_log.note(sessionId=held.id)
    with services.kept.holding(inputs.caller.id, wanted, held):
        message = wanted.message(held.is_known)
        cli = services.agent.conversations.known(held.id).cli
        agent_commands.check(inputs.caller, cli, message)
        talk = Talk(services.agent, wanted, held, services.allows_tools, inputs.language)
        with _runs_tools_once(inputs, talk):
            return await _talked(services, inputs, talk, message)


async def _talked(
    services: Services, inputs: Inputs, talk: Talk, message: str
) -> web.StreamResponse:
    """Raises Refusal, AgentError."""
    if talk.wanted.shape is not None:
        shaped = await _shaped(services, inputs, talk, message)
        return await _answered(services, inputs, talk, _one(shaped))
    turn = await talk.begin(message)
    inputs.has_begun(turn.id)
    with services.listeners.listening(turn, may_return=False):
        return await _answered(services, inputs, talk, talk.pieces(turn))


@contextmanager
def _runs_tools_once(inputs: Inputs, talk: Talk) -> Iterator[None]:
    """Libraries send a request again after most errors, which would run its tools once more."""
    try:
        yield
    except AgentError as error:
        refusal = of_agent(error)
        if talk.has_run_tools:
            refusal.make_final()
        raise refusal from error
    except Refusal as refusal:
        if talk.has_run_tools:
            refusal.make_final()
        raise
    finally:
        if talk.has_run_tools:
            inputs.headers[SHOULD_RETRY] = "false"


async def _wanted(services: Services, inputs: Inputs) -> WantedAnswer:
    """Raises Refusal."""
    agents = [each.id for each in services.agent.backends.infos()]
    reading = partial(read, inputs.fields, agents)
    # To check a schema can take long.
    return await in_thread(reading) if "response_format" in inputs.fields else reading()


async def _models(services: Services) -> dict[str, str]:
    """The owners by the models' names. Raises AgentError."""
    infos = services.agent.backends.infos()
    found = await services.agent.models(services.roots.folder(""))
    names = [ANY_MODEL[0], *(each.id for each in infos), *(each.id for each in found.available)]
    own = {each.id: each.id for each in infos}
    return {name: own.get(name, infos[0].id) for name in names}


def _model(id: str, owner: str) -> dict[str, Any]:
    return {"id": id, "object": "model", "created": 0, "owned_by": owner}


async def _shaped(services: Services, inputs: Inputs, talk: Talk, message: str) -> str:
    """An answer of the right shape, or one that the model could not finish. Raises Refusal."""
    shape = talk.wanted.shape or OutputShape(None)
    problem = ""
    for _attempt in range(ATTEMPTS):
        turn = await talk.begin(message)
        inputs.has_begun(turn.id)
        with services.listeners.listening(turn, may_return=False):
            async for _piece in talk.pieces(turn):
                pass
        if not talk.is_complete:
            return talk.last_run
        try:
            return talk.settled(await in_thread(partial(shape.fitted, talk.last_run)))
        except Unfit as error:
            problem = str(error)
            message = shape.again(problem)
    failed = {"failed_generation": talk.last_run[:MAX_FAILED]}
    raise Refusal(OUTPUT_INVALID, more=failed, field="response_format", problem=problem)


async def _one(text: str) -> AsyncIterator[str]:
    yield text


async def _answered(
    services: Services, inputs: Inputs, talk: Talk, pieces: AsyncIterator[str]
) -> web.StreamResponse:
    """Raises Refusal, as long as nothing of the answer has been sent."""
    if inputs.fields.get("stream", False):
        first = await _next(pieces)
        chunks = _chunks(inputs, talk, first, pieces)
        return await event_stream.send_data(services, inputs, chunks)
    told = "".join([piece async for piece in pieces])
    message = {"role": "assistant", "content": told, "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": talk.reason}
    shared = _shared("chat.completion", inputs, talk)
    return _answer(inputs, {**shared, "choices": [choice], "usage": talk.usage, **talk.more})


async def _next(pieces: AsyncIterator[str]) -> str:
    async for piece in pieces:
        return piece
    return ""


async def _chunks(
    inputs: Inputs, talk: Talk, first: str, pieces: AsyncIterator[str]
) -> AsyncIterator[bytes]:
    def chunk(delta: Mapping[str, str], reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return {**_shared("chat.completion.chunk", inputs, talk), "choices": [choice]}

    yield encoded(chunk({"role": "assistant", "content": first}))
    try:
        async for piece in pieces:
            if piece:
                yield encoded(chunk({"content": piece}))
        yield encoded({**chunk({}, talk.reason), **talk.more})
        if (inputs.fields.get("stream_options") or {}).get("include_usage"):
            shared = _shared("chat.completion.chunk", inputs, talk)
            yield encoded({**shared, "choices": [], "usage": talk.usage})
    except Refusal as refusal:
        yield encoded(errors.refused(refusal, inputs.language))
    yield b"[DONE]"


def _shared(kind: str, inputs: Inputs, talk: Talk) -> dict[str, Any]:
    return {
        "id": "chatcmpl-" + talk.turn_id,
        "object": kind,
        "created": talk.created,
        "model": inputs.fields["model"],
    }


def _answer(inputs: Inputs, value: Mapping[str, Any]) -> web.Response:
    return web.Response(body=encoded(value), headers={**inputs.headers, "Content-Type": JSON})
