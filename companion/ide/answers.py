"""What the companion's servers of MCP answer with: refusals, JSON, and streams of events.

Source: MCP "Streamable HTTP"; docs/protocol.md 3.
"""

from __future__ import annotations

import asyncio
from typing import Callable, TypeVar

from aiohttp.web_request import BaseRequest
from aiohttp.web_response import Response, StreamResponse

from ..base import http_server
from ..base.connection import SERVER
from ..base.http_server import in_pieces, small_answer
from ..base.large_json import PIECE, encode_in_pieces
from .clis import Cli
from .session import OutgoingEvents, StreamEnded, StreamEvent

T = TypeVar("T")

# Seconds of silence after which a comment keeps the stream open; clients give up after 300
# (docs/protocol.md 3.24).
KEEP_ALIVE = 20.0
# Seconds that a reader may take for one event before its stream ends.
STALLED = 60.0

JSON = {"Content-Type": http_server.JSON}
TEXT = {"Content-Type": "text/plain; charset=utf-8"}
EVENTS = "text/event-stream"
STREAM = {**SERVER, "Content-Type": EVENTS, "Cache-Control": "no-cache, no-transform"}
# Clients skip it.
COMMENT = b": keep-alive\n\n"


class HttpRefusal(Exception):
    """A request that is refused: its HTTP status and a sentence for whoever reads it."""

    def __init__(self, status: int, sentence: str, allow: str = "") -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.allow = allow

    def answer(self) -> Response:
        headers = {**TEXT, "Allow": self.allow} if self.allow else TEXT
        return small_answer(self.status, headers, (self.sentence + "\n").encode("utf-8"))


async def send_answer(request: BaseRequest, body: bytes | None) -> StreamResponse:
    """The answer with that body; None needs none."""
    if body is None:
        return small_answer(202, TEXT)
    if len(body) <= PIECE:
        return small_answer(200, JSON, body)
    headers = {**JSON, **SERVER, "Content-Length": str(len(body))}
    return await http_server.send_pieces(request, 200, headers, in_pieces(body))


def check_events(request: BaseRequest) -> None:
    """Raises Refusal for a client that does not take a stream."""
    if not accepts_type(request, EVENTS):
        raise HttpRefusal(406, f"Expected an Accept header that admits {EVENTS}.")


def accepts_type(request: BaseRequest, wanted: str) -> bool:
    accepted = request.headers.get("Accept", "*/*").lower()
    return wanted in accepted or "*/*" in accepted or wanted.split("/")[0] + "/*" in accepted


def peer_port(request: BaseRequest) -> int:
    """The port at the client's end; 0 if the connection has ended."""
    transport = request.transport
    address = transport.get_extra_info("peername") if transport is not None else None
    return int(address[1]) if address else 0


def frame_event(cli: Cli, event: StreamEvent) -> bytes:
    """The bytes of an event of a session."""
    method, params = event.value.notification(cli)
    message = encode_in_pieces({"jsonrpc": "2.0", "method": method, "params": params})
    return b"id: %d\nevent: message\ndata: %b\n\n" % (event.id, message)


async def pump_stream(
    source: OutgoingEvents[T],
    frame: Callable[[T], bytes],
    request: BaseRequest,
    response: StreamResponse,
) -> None:
    """Write the frames of what a stream sends until it ends, and comments while it is silent.
    Raises ConnectionError, asyncio.TimeoutError."""
    while True:
        if request.transport is None:
            # Until Python 3.11 a cancellation is lost that comes when what is waited for ends.
            raise ConnectionResetError("the client has left")
        try:
            value = await source.next(KEEP_ALIVE)
        except StreamEnded:
            return
        told = COMMENT if value is None else frame(value)
        await asyncio.wait_for(response.write(told), STALLED)
