"""The turns of a request of /v1, whichever of OpenAI's APIs it uses: from the request's fields to
the pieces of its answer."""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from functools import partial
from typing import Any, AsyncIterator, Awaitable, Callable, Iterator, Mapping

from aiohttp import web

from ...agent.failure import AgentError
from ...base.background import in_thread
from ..contract.answer_texts import language_of
from ..contract.refusal import FILE_ERROR, OUTPUT_INVALID, Refusal, of_agent
from ..openai.kept_conversations import Held
from ..openai.output_shape import OutputShape, Unfit
from ..openai.request import WantedAnswer, read_request
from ..openai.talk import Talk
from ..operations import audit_log
from . import agent_commands
from .handler_types import Inputs, Services

# The header in which OpenAI's own libraries are told whether to send a request again.
SHOULD_RETRY = "X-Should-Retry"
# How often the model is asked for an answer of the right shape.
ATTEMPTS = 2
# The most characters of an answer of another shape that the client gets to see.
MAX_FAILED = 10_000
# Seconds for the disk to write the files of a message.
SECONDS = 30.0
# Writes the pieces of the answer of a talk.
Write = Callable[[Talk, AsyncIterator[str]], Awaitable[web.StreamResponse]]


async def answer_request(
    services: Services, inputs: Inputs, fields: Mapping[str, Any], write: Write
) -> web.StreamResponse:
    """Answer a request with these fields, which are those of Chat Completions. Raises Refusal,
    AgentError."""
    services.check_not_ending()
    wanted = await _read_wanted(services, fields)
    held = await services.kept.find_conversation(inputs.caller.id, wanted)
    audit_log.note_members(sessionId=held.id)
    with services.kept.hold_conversation(inputs.caller.id, wanted, held):
        message = wanted.message_text(held.is_known)
        cli = services.agent.conversations.known_conversation(held.id).cli
        agent_commands.check_command(inputs.caller, cli, message)
        attached = await _attach_files(services, wanted, held)
        # Words of ours within an answer are in the client's language, if it names one.
        language = language_of(inputs.request.headers.get("Accept-Language", ""), "")
        talk = Talk(services.agent, wanted, held, services.allows_tools, language)
        with _runs_tools_once(inputs, talk):
            return await _write_answer(services, inputs, talk, message, attached, write)


async def _read_wanted(services: Services, fields: Mapping[str, Any]) -> WantedAnswer:
    """Raises Refusal."""
    agents = [each.id for each in services.agent.backends.agent_infos()]
    reading = partial(read_request, fields, agents)
    # To check a schema can take long, and so can to read pictures.
    has_parts = any(isinstance(message.get("content"), list) for message in fields["messages"])
    return await in_thread(reading) if has_parts or "response_format" in fields else reading()


async def _attach_files(services: Services, wanted: WantedAnswer, held: Held) -> list[str]:
    """The ids of the message's files, as attachments of the conversation. Raises Refusal,
    AgentError."""
    if not wanted.has_parts:
        return []
    attachments = services.agent.conversations.known_conversation(held.id).attachments

    def add_attachments() -> list[str]:
        files = wanted.message_files(held.is_known)
        return [attachments.add(each.name, each.data).id for each in files]

    try:
        return await in_thread(add_attachments, SECONDS)
    except (OSError, asyncio.TimeoutError) as error:
        reason = error.strerror if isinstance(error, OSError) else "the disk did not answer"
        raise Refusal(FILE_ERROR, path="attachments", reason=reason) from None


async def _write_answer(
    services: Services,
    inputs: Inputs,
    talk: Talk,
    message: str,
    attached: list[str],
    write: Write,
) -> web.StreamResponse:
    """Raises Refusal, AgentError."""
    if talk.wanted.shape is not None:
        shaped = await _shaped_answer(services, inputs, talk, message, attached)
        return await write(talk, _one_piece(shaped))
    turn = await talk.begin_turn(message, attached)
    inputs.has_begun(turn.id)
    with services.listeners.count_listener(turn, may_return=False):
        return await write(talk, talk.answer_pieces(turn))


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


async def _shaped_answer(
    services: Services, inputs: Inputs, talk: Talk, message: str, attached: list[str]
) -> str:
    """An answer of the right shape, or one that the model could not finish. Raises Refusal."""
    shape = talk.wanted.shape or OutputShape(None)
    problem = ""
    for attempt in range(ATTEMPTS):
        turn = await talk.begin_turn(message, [] if attempt else attached)
        inputs.has_begun(turn.id)
        with services.listeners.count_listener(turn, may_return=False):
            async for _piece in talk.answer_pieces(turn):
                pass
        if not talk.is_complete:
            return talk.last_run
        try:
            return talk.settle_answer(await in_thread(partial(shape.fitting_json, talk.last_run)))
        except Unfit as error:
            problem = str(error)
            message = shape.retry_message(problem)
    failed = {"failed_generation": talk.last_run[:MAX_FAILED]}
    raise Refusal(OUTPUT_INVALID, more=failed, field="response_format", problem=problem)


async def _one_piece(text: str) -> AsyncIterator[str]:
    yield text


async def first_of(pieces: AsyncIterator[str]) -> str:
    async for piece in pieces:
        return piece
    return ""
