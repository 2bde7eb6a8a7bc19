"""The web socket by which Claude Code connects: one loopback port for the whole editor.

Source: RFC 6455, and docs/protocol.md 11.
"""

from __future__ import annotations

import asyncio
import hmac
from contextlib import suppress
from typing import Any, Callable

from aiohttp.http import WSMsgType
from aiohttp.web_request import BaseRequest
from aiohttp.web_response import Response, StreamResponse
from aiohttp.web_ws import WebSocketResponse

from ...base import http_server
from ...base.http_server import Guard, HttpServer, Refused, in_pieces, small_answer
from ...base.jsonrpc import RpcError, load_json
from ...base.large_json import PIECE, LargeJson, TooManyValues
from ...base.log import logger
from ..answers import TEXT
from .claude_connection import ClaudeConnection

PATH, PROTOCOL = "/", "mcp"
TOKEN_HEADER = "X-Claude-Code-Ide-Authorization"
HOST_NAMES = ("127.0.0.1", "localhost", "[::1]", "host.docker.internal")
# The most connections without the token: a CLI sends it with its first bytes.
MAX_UNAUTHENTICATED = 32
# The most CLIs at a time.
MAX_CLIS = 64
# The most bytes of a message; a larger one ends the connection, and the question stays in the
# terminal.
MAX_MESSAGE = 64 * 1024 * 1024
# Seconds between two pings. Whether they are answered does not matter: a CLI that the user has
# stopped answers none. But the system notices by them that the other end is gone.
PING = 60.0
# Seconds that a CLI gets for its part of a close, and that connections get at the end.
CLOSING, SHUTDOWN = 0.2, 0.2
# After this close code the CLI connects again, and after this one it does not.
GOING_AWAY, DONE = 1001, 1000
NOT_JSON, TOO_LARGE = 1007, 1009

_NOT_HTTP = (b"Expected a request of HTTP/1.1.\n", "text/plain")
_NOT_HERE = b"Expected a web socket with the subprotocol mcp.\n"
_CROWDED = b"Expected fewer CLIs at a time.\n"

Connect = Callable[[Callable[[bytes], Any]], ClaudeConnection]


class ClaudeEndpoint:
    """`connect` makes the connection of a CLI, given what sends it a message."""

    def __init__(self, token: str, connect: Connect) -> None:
        self._token = token
        self._connect = connect
        self._server = HttpServer(
            self._handle_request, _NOT_HTTP, MAX_UNAUTHENTICATED, has_web_sockets=True
        )
        self._sockets: dict[WebSocketResponse, ClaudeConnection] = {}

    async def start(self, port: int) -> int:
        """Listen on 127.0.0.1; gives the port (0 asks for any). Raises OSError."""
        port = await self._server.start(port, SHUTDOWN)
        # The token is in a header of its own.
        self._guard = Guard((), port, HOST_NAMES)
        return port

    def connections(self) -> list[ClaudeConnection]:
        return list(self._sockets.values())

    async def stop(self, comes_back: bool, hands_over: bool) -> None:
        """End all connections. If it `comes_back`, the CLIs try the same port again; if it
        `hands_over` the port then, the next endpoint of this process takes it."""
        if comes_back and hands_over:
            self._server.hand_over()
        self._server.stop_accepting()
        code = GOING_AWAY if comes_back else DONE
        closing = [asyncio.ensure_future(_close(each, code)) for each in self._sockets]
        if closing:
            await asyncio.wait(closing, timeout=2 * CLOSING)
        await self._server.stop()

    async def _handle_request(self, request: BaseRequest) -> StreamResponse:
        """The boundary of every connection: no exception from inside reaches the library."""
        try:
            self._check_head(request)
            self._server.admit_request(request)
            # Without permessage-deflate no small frame becomes a large message.
            socket = WebSocketResponse(
                protocols=(PROTOCOL,), compress=False, max_msg_size=MAX_MESSAGE, timeout=CLOSING
            )
            if not _may_begin(socket, request):
                return small_answer(404, TEXT, _NOT_HERE)
            if len(self._sockets) >= MAX_CLIS:
                return small_answer(503, TEXT, _CROWDED)
            await self._serve(socket, request)
            return socket
        except Refused as refused:
            return _refusal(refused)
        except ConnectionError:
            # Nobody reads an answer.
            return small_answer(400, TEXT)
        except Exception:
            logger.exception("a connection of Claude Code failed")
            return small_answer(500, TEXT)

    def _check_head(self, request: BaseRequest) -> None:
        """Raises Refused."""
        self._guard.check_place(request.raw_path, request.headers)
        if "Origin" in request.headers:
            # Only web pages send one, those of our own port among them.
            raise Refused(http_server.BAD_ORIGIN)
        given = request.headers.get(TOKEN_HEADER, "").encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(given, self._token.encode("ascii")):
            raise Refused(http_server.BAD_TOKEN)

    async def _serve(self, socket: WebSocketResponse, request: BaseRequest) -> None:
        await socket.prepare(request)

        async def send(message: bytes) -> None:
            await socket.send_str(message.decode("ascii"))

        connection = self._sockets[socket] = self._connect(send)
        pings = asyncio.ensure_future(_send_pings(socket))
        try:
            await _receive_all(socket, connection)
        finally:
            pings.cancel()
            del self._sockets[socket]
            connection.lose()


async def _receive_all(socket: WebSocketResponse, connection: ClaudeConnection) -> None:
    async for message in socket:
        if message.type is not WSMsgType.TEXT:
            continue
        try:
            value = await _json_value(message.data.encode("utf-8", "surrogatepass"))
        except RpcError:
            await _close(socket, NOT_JSON)
            return
        except TooManyValues:
            await _close(socket, TOO_LARGE)
            return
        await connection.receive(value)


async def _json_value(data: bytes) -> Any:
    """Raises RpcError, TooManyValues."""
    if len(data) <= PIECE:
        return load_json(data)
    large = LargeJson()
    for piece in in_pieces(data):
        large.feed_data(piece)
        # Other clients get their turn between two pieces.
        await asyncio.sleep(0)
    return large.value()


async def _send_pings(socket: WebSocketResponse) -> None:
    with suppress(ConnectionError):
        while True:
            await asyncio.sleep(PING)
            await socket.ping()


async def _close(socket: WebSocketResponse, code: int) -> None:
    with suppress(ConnectionError, asyncio.TimeoutError):
        await socket.close(code=code)


def _may_begin(socket: WebSocketResponse, request: BaseRequest) -> bool:
    """Whether the request asks for our web socket, and each header of it is good."""
    offered = request.headers.get("Sec-WebSocket-Protocol", "").split(",")
    return (
        request.method == "GET"
        and request.path == PATH
        and PROTOCOL in map(str.strip, offered)
        and _is_whole(socket, request)
    )


def _is_whole(socket: WebSocketResponse, request: BaseRequest) -> bool:
    """Whether the library finds nothing wrong with the headers of the web socket."""
    try:
        return bool(socket.can_prepare(request).ok)
    except ValueError:
        # It does not expect characters outside of ASCII.
        return False


def _refusal(refused: Refused) -> Response:
    return small_answer(refused.status, TEXT)
