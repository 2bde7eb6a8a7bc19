"""Streams events to a client, as Server-Sent Events or as lines of JSON.

Each event of SSE that belongs to a turn has the id "<turn>.<number>". A client that sends the last
id it saw as Last-Event-ID gets the events after it: within the grace period of its listeners, and
also after the end of the turn, as long as that is the newest of its conversation. Lines have no
ids: a client that reads lines and leaves cancels the turn.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import AsyncIterator

from aiohttp import web

from ...agent import wire
from ...agent.agent import Turn
from ...agent.turn_events import TurnEvent
from ...base.log import logger
from ..contract.refusal import TURN_NOT_FOUND, Refusal
from ..operations.attempts import KeptAnswer
from .handler_types import Inputs, Services, encode_json

LAST_SEEN = "Last-Event-ID"
SSE, LINES, JSON = "text/event-stream", "application/x-ndjson", "application/json"
# Seconds for a client to read one event before it counts as gone.
STALLED = 30.0
# Milliseconds after which a client that lost its stream comes back.
RETRY = 500
# The most digits of an event's number in an id.
MAX_DIGITS = 9


def kind_of(accept: str) -> str:
    """The media type of a stream for an Accept header: lines for clients that name lines, or that
    name JSON and not */*. Many clients name JSON first and then */*."""
    accept = accept.lower()
    if SSE in accept:
        return SSE
    wanted = (LINES,) if "*/*" in accept else (LINES, JSON)
    return next((kind for kind in wanted if kind in accept), SSE)


def last_seen(inputs: Inputs) -> str | None:
    """The id of the last event that the client has. A header counts before the query, because a
    browser that comes back sends it with the query of its first request."""
    return inputs.request.headers.get(LAST_SEEN, inputs.fields.get("lastEventId"))


def place_of(services: Services, id: str) -> tuple[Turn, int]:
    """The turn and the number of an event's id. Raises Refusal."""
    turn_id, number = parts_of(id)
    turn = services.agent.turns.by_id(turn_id)
    if turn is None or not services.visible.is_visible(turn.session_id):
        raise Refusal(TURN_NOT_FOUND, turn=turn_id[:100])
    return turn, number


def parts_of(id: str) -> tuple[str, int]:
    """The turn's id and the event's number. Raises Refusal if it is not an event's id."""
    turn_id, _dot, number = id.partition(".")
    if not (number.isascii() and number.isdigit() and len(number) <= MAX_DIGITS):
        raise Refusal(TURN_NOT_FOUND, turn=turn_id[:100])
    return turn_id, int(number)


async def send_turn_events(
    services: Services, inputs: Inputs, turn: Turn, after: int = 0
) -> web.StreamResponse:
    """Send the events with a number above `after`, until the turn ends or the client leaves. If the
    client has seen the last one, answer 204, which tells an EventSource not to come back."""
    kind = kind_of(inputs.request.headers.get("Accept", ""))
    if kind == SSE and turn.is_over and after >= turn.last_number:
        return web.Response(status=204, headers=inputs.headers)
    with services.listeners.count_listener(turn, may_return=kind == SSE):
        blocks = _framed_events(turn.read_events(after), kind, inputs.language)
        return await _send_blocks(services, inputs, kind, blocks)


async def follow_events(
    services: Services, inputs: Inputs, events: AsyncIterator[TurnEvent]
) -> web.StreamResponse:
    """Send events until the client leaves. No turn is cancelled then."""
    kind = kind_of(inputs.request.headers.get("Accept", ""))
    return await _send_blocks(services, inputs, kind, _framed_events(events, kind, inputs.language))


async def send_data(
    services: Services, inputs: Inputs, data: AsyncIterator[bytes]
) -> web.StreamResponse:
    """Send data that has no place to come back to, each item as a block of SSE. Only a request with
    an Idempotency-Key can be sent again, for all of it."""
    told: list[bytes] = []

    async def data_blocks() -> AsyncIterator[bytes]:
        async for each in data:
            block = b"data: %b\n\n" % each
            if inputs.attempt is not None:
                told.append(block)
            yield block
        if inputs.attempt is not None:
            inputs.attempt.keep_answer(KeptAnswer(200, b"".join(told), SSE + "; charset=utf-8"))

    return await _send_blocks(services, inputs, SSE, data_blocks())


async def _send_blocks(
    services: Services, inputs: Inputs, kind: str, blocks: AsyncIterator[bytes]
) -> web.StreamResponse:
    response = web.StreamResponse(
        headers={
            **inputs.headers,
            "Content-Type": kind + "; charset=utf-8",
            # Proxies must not store, hold back or compress the stream.
            "Cache-Control": "no-store, no-transform",
            "X-Accel-Buffering": "no",
        }
    )
    beating = None
    try:
        with services.listeners.count_stream():
            await response.prepare(inputs.request)
            if kind == SSE:
                beating = asyncio.ensure_future(_send_heartbeats(response, services.heartbeat))
            async for block in blocks:
                await _write_block(inputs.request, response, block)
            await response.write_eof()
    except ConnectionError:
        logger.debug("a client left its stream")
    finally:
        if beating is not None:
            beating.cancel()
    return response


async def _framed_events(
    events: AsyncIterator[TurnEvent], kind: str, language: str
) -> AsyncIterator[bytes]:
    """Each event as a block of SSE, or as a line."""
    # Sent with the first event: many clients take a block without data for an empty event.
    retry = b"retry: %d\n" % RETRY
    async for event in events:
        data = encode_json(wire.as_seed(event, language))
        if kind != SSE:
            yield data + b"\n"
            continue
        # What belongs to no turn has no place to come back to: the id before it stays.
        place = b"id: %b.%d\n" % (event.turn_id.encode("ascii"), event.number)
        yield b"%b%bdata: %b\n\n" % (retry, place if event.turn_id else b"", data)
        retry = b""


async def _send_heartbeats(response: web.StreamResponse, seconds: float) -> None:
    """Send a comment from time to time, so that no proxy takes silence for the end."""
    with suppress(ConnectionError):
        while True:
            await asyncio.sleep(seconds)
            await response.write(b": ping\n\n")


async def _write_block(request: web.BaseRequest, response: web.StreamResponse, data: bytes) -> None:
    """Write, and close the connection of a client that reads nothing. Raises ConnectionError."""
    if request.transport is None:
        raise ConnectionResetError("The client has left.")
    # Not `wait_for`: its task would delay the event.
    timer = asyncio.get_running_loop().call_later(STALLED, request.transport.abort)
    try:
        await response.write(data)
    finally:
        timer.cancel()
