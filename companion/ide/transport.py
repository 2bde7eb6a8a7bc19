"""Streamable HTTP on one loopback port: routes, guards and streams; the only importer of aiohttp.

Source: MCP "Streamable HTTP" with its security warning, and contract B3. POST is answered with
JSON, the GET stream carries all notifications (docs/adr/0004).
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import socket
from contextlib import asynccontextmanager, suppress
from typing import AsyncIterator, Callable

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from ..base.admission import Gate, Strangers
from ..base.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    Id,
    Message,
    Request,
    RpcError,
    encode,
    encode_result,
    parse,
)
from ..base.log import logger
from ..base.truncated_json import Cutter, TooMuch
from . import mcp
from .sessions import Event, Session, Sessions, Stream, StreamEnded, UnknownSession

PATH = "/mcp"
METHODS = ("POST", "GET", "DELETE")
# Bytes of a request body: an openDiff of any file passes; a refusal would end the CLI's connection
# for good (contract B3.30).
MAX_BODY = 256 * 1024 * 1024
# Bytes from which a body is not held whole: to parse one would hold up the editor's threads for
# longer than a frame takes.
LARGE = 2 * 1024 * 1024
# Seconds for a body to come in whole; on this machine, even the largest takes one or two.
BODY_TIME = 30.0
# Seconds that a connection may idle between requests, and connections at a time that have shown the
# token; a CLI keeps two or three.
IDLE = 75.0
MAX_CONNECTIONS = 128
# Names under which a client on this machine, or in a container on it, knows a loopback server.
HOST_NAMES = ("127.0.0.1", "localhost", "[::1]", "host.docker.internal")
# Seconds of silence before a comment keeps the stream open; clients give up after 300 (B3.24).
KEEP_ALIVE = 20.0
# Seconds for a reader to take one event before its stream is given up.
STALLED = 30.0
# Milliseconds after which a client comes back to a stream that ended.
RETRY = 500
# Seconds that connections get to finish when the server stops.
SHUTDOWN = 0.2


def _is_worth_a_line(record: logging.LogRecord) -> bool:
    """What is no HTTP is its sender's fault; the library would quote it, with any token in it."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError)


_http_logger = logger.getChild("http")
_http_logger.addFilter(_is_worth_a_line)


class _Connection(web.RequestHandler):
    """Answers what is no HTTP without quoting it, for the same reason."""

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        return super().handle_error(request, status, exc, "Expected a request of HTTP/1.1.\n")


def _connection(server: web.Server) -> _Connection:
    return _Connection(
        server,
        loop=asyncio.get_running_loop(),
        auto_decompress=False,
        access_log=None,  # type: ignore[arg-type]
        keepalive_timeout=IDLE,
        logger=_http_logger,
    )


class _Refused(Exception):
    """A request that gets no further: its HTTP status and a sentence for whoever reads it."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence

    def response(self) -> web.Response:
        response = web.Response(status=self.status, text=self.sentence + "\n")
        if self.status == 405:
            response.headers["Allow"] = ", ".join(METHODS)
        if self.status in (408, 413, 503):
            # What comes next on this connection could be anything.
            response.force_close()
        return response


class Endpoint:
    """One MCP server: its token, its sessions, and the desk where the tools' work is done.

    `on_stream` is called when a session has a new stream, to put the present context on it.
    """

    def __init__(
        self, token: str, sessions: Sessions, desk: mcp.Desk, on_stream: Callable[[Session], None]
    ) -> None:
        self._authorization = ("Bearer " + token).encode("ascii")
        self._sessions = sessions
        self._desk = desk
        self._on_stream = on_stream
        self._strangers = Strangers()
        self._hosts: frozenset[str] = frozenset()
        self._origins: frozenset[str] = frozenset()

    @asynccontextmanager
    async def listening(self, port: int = 0) -> AsyncIterator[int]:
        """Serve on 127.0.0.1 for as long as the block runs; gives the port (0 asks for any).

        Raises OSError where the port cannot be had.
        """
        # A client that leaves cancels its handler: so a stream knows at once that it is alone.
        server = web.Server(
            self._handle,
            request_factory=_request,
            handler_cancellation=True,
        )
        self._server = server
        runner = web.ServerRunner(server, shutdown_timeout=SHUTDOWN)
        await runner.setup()
        # Made here, for asyncio would pass over the error that kept it from being made.
        listener = socket.create_server(("127.0.0.1", port))
        acceptor = await asyncio.get_running_loop().create_server(
            lambda: Gate(self._strangers, _connection(server)), sock=listener
        )
        try:
            port = listener.getsockname()[1]
            self._hosts = frozenset(f"{name}:{port}" for name in HOST_NAMES)
            self._origins = frozenset(f"http://{host}" for host in self._hosts)
            yield port
        finally:
            acceptor.close()
            self._sessions.end_all()
            transports = [connection.transport for connection in server.connections]
            await runner.cleanup()
            # A client that reads nothing would keep its socket open beyond the end of the loop.
            for transport in filter(None, transports):
                transport.abort()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """The boundary of every request: nothing that happens inside reaches the server."""
        try:
            self._guard(request)
            if request.method == "POST":
                return await self._post(request)
            if request.method == "GET":
                return await self._get(request)
            return self._delete(request)
        except _Refused as refused:
            return refused.response()
        except RpcError as error:
            return _json(error.encode(), status=400)
        except web.HTTPRequestEntityTooLarge:
            return _too_large()
        except Exception:
            logger.exception("a request failed")
            return _json(_sorry().encode(), status=500)

    def _guard(self, request: web.BaseRequest) -> None:
        """Everything that is decided before a byte of the body is read."""
        if request.headers.get("Host", "").lower() not in self._hosts:
            raise _Refused(
                403, "Expected a Host header that names this server by its loopback name."
            )
        origin = request.headers.get("Origin")
        if origin is not None and origin.lower() not in self._origins:
            raise _Refused(403, "Expected no Origin header: web pages may not talk to this server.")
        given = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
        if not hmac.compare_digest(given, self._authorization):
            raise _Refused(401, "Expected the bearer token of the discovery file.")
        self._admit(request)
        if request.path != PATH:
            raise _Refused(404, f"Expected the path {PATH}.")
        if request.method not in METHODS:
            raise _Refused(405, "Expected one of the methods POST, GET and DELETE.")
        version = request.headers.get("MCP-Protocol-Version", mcp.HEADERLESS_VERSION)
        if version not in mcp.VERSIONS:
            raise _Refused(
                400,
                "Expected MCP-Protocol-Version to be one of {}.".format(", ".join(mcp.VERSIONS)),
            )

    def _admit(self, request: web.BaseRequest) -> None:
        """The connection's client has the token: from now on its time is its own."""
        gate = request.transport.get_protocol() if request.transport is not None else None
        if not isinstance(gate, Gate):
            return
        if len(self._server.connections) - len(self._strangers) >= MAX_CONNECTIONS:
            raise _Refused(503, f"Expected at most {MAX_CONNECTIONS} connections at a time.")
        gate.open()

    async def _post(self, request: web.BaseRequest) -> web.StreamResponse:
        if _media_type(request) != "application/json":
            raise _Refused(415, "Expected Content-Type: application/json.")
        if request.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise _Refused(415, "Expected a body without Content-Encoding.")
        if not _accepts(request, "application/json"):
            raise _Refused(406, "Expected an Accept header that admits application/json.")
        if request.content_length is not None and request.content_length > MAX_BODY:
            return _too_large()
        if request.headers.get("Expect", "").lower() == "100-continue" and request.transport:
            request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        message = await _read(request)
        if isinstance(message, Request) and message.method == "initialize":
            return self._initialize(message)
        session = self._session(request)
        if isinstance(message, list):
            return await self._batch(message, session)
        return _reply(await self._answer(message, session))

    async def _answer(self, message: Message, session: Session) -> bytes | None:
        """The boundary of every message: a bug of ours costs one answer and not the connection,
        which any status but 2xx would end for good (contract B3.20)."""
        try:
            return await mcp.handle(message, self._desk, session)
        except Exception:
            logger.exception("a message failed")
            return _sorry(message.id).encode() if isinstance(message, Request) else None

    def _initialize(self, request: Request) -> web.Response:
        version, result = mcp.negotiate(request)
        session = self._sessions.open(version)
        client = request.params.get("clientInfo")
        logger.info(
            "a CLI connected: %s", client.get("version") if isinstance(client, dict) else "?"
        )
        response = _json(encode_result(request.id, encode(result)))
        response.headers["Mcp-Session-Id"] = session.id
        return response

    async def _batch(
        self, messages: list[Message | RpcError], session: Session
    ) -> web.StreamResponse:
        if session.protocol_version != mcp.BATCH_VERSION:
            raise RpcError(
                INVALID_REQUEST,
                f"Expected one message; MCP {session.protocol_version} has no batches.",
            )
        replies = []
        for message in messages:
            if isinstance(message, RpcError):
                replies.append(message.encode())
            else:
                reply = await self._answer(message, session)
                replies.extend([] if reply is None else [reply])
        return _reply(b"[" + b",".join(replies) + b"]" if replies else None)

    async def _get(self, request: web.BaseRequest) -> web.StreamResponse:
        if not _accepts(request, "text/event-stream"):
            raise _Refused(406, "Expected an Accept header that admits text/event-stream.")
        session = self._session(request)
        response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-transform"}
        )
        await response.prepare(request)
        stream = session.attach(_event_id(request))
        try:
            self._on_stream(session)
            await response.write(b"retry: %d\n\n" % RETRY)
            # A client that leaves is no failure; what it did not read stays in the session.
            with suppress(ConnectionError, asyncio.TimeoutError):
                await _pump(stream, response)
        finally:
            self._sessions.detach(session, stream)
        return response

    def _delete(self, request: web.BaseRequest) -> web.Response:
        self._sessions.end(self._session(request).id)
        return web.Response(status=204)

    def _session(self, request: web.BaseRequest) -> Session:
        id = request.headers.get("Mcp-Session-Id")
        if id is None:
            raise _Refused(
                400, "Expected an Mcp-Session-Id header, or an initialize request first."
            )
        try:
            return self._sessions.get(id)
        except UnknownSession:
            raise _Refused(
                404, "Expected the id of a live session; initialize a new one."
            ) from None


async def _read(request: web.BaseRequest) -> Message | list[Message | RpcError]:
    """The message of a body. Raises RpcError, _Refused and HTTPRequestEntityTooLarge."""
    if request.content.is_eof():
        return parse(await request.read())
    try:
        return await asyncio.wait_for(_read_slowly(request), BODY_TIME)
    except asyncio.TimeoutError:
        raise _Refused(408, f"Expected the whole body within {BODY_TIME:.0f} seconds.") from None
    except ConnectionResetError:
        # The client has left, which is no failure of ours; nobody reads this.
        raise _Refused(400, "Expected the whole body.") from None
    except TooMuch:
        raise _Refused(413, "Expected fewer values beside the text of a file.") from None
    except ConnectionError:
        # Its client left, which cancels the handler, too, but not always first. Nobody reads this.
        raise _Refused(400, "Expected the whole body.") from None


async def _read_slowly(request: web.BaseRequest) -> Message | list[Message | RpcError]:
    """Take a body as it comes in; of one that is LARGE, long strings are cut (see Cutter)."""
    pieces, size, cutter = [], 0, Cutter()
    async for piece in request.content.iter_any():
        size += len(piece)
        if size > MAX_BODY:
            raise web.HTTPRequestEntityTooLarge(MAX_BODY, size)
        pieces.append(piece)
        if size > LARGE:
            for each in pieces:
                cutter.feed(each)
            pieces.clear()
    if size <= LARGE:
        return parse(b"".join(pieces))
    return parse(cutter.rest(), cutter.marked)


async def _pump(stream: Stream, response: web.StreamResponse) -> None:
    """Write the stream's events until it ends. Raises ConnectionError, asyncio.TimeoutError."""
    while True:
        try:
            event = await stream.next(KEEP_ALIVE)
        except StreamEnded:
            return
        await asyncio.wait_for(response.write(_frame(event)), STALLED)


def _frame(event: Event | None) -> bytes:
    """The bytes of one event; a comment, which clients skip, where there is none."""
    if event is None:
        return b": keep-alive\n\n"
    return b"id: %d\nevent: message\ndata: %b\n\n" % (event.id, event.message)


def _event_id(request: web.BaseRequest) -> int | None:
    value = request.headers.get("Last-Event-ID", "")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else None


def _media_type(request: web.BaseRequest) -> str:
    """What the body is. The library's own `content_type` makes an e-mail parser for each request
    in the releases for Python 3.8, at a fifth of the request's time."""
    return request.headers.get("Content-Type", "").partition(";")[0].strip().lower()


def _accepts(request: web.BaseRequest, wanted: str) -> bool:
    accepted = request.headers.get("Accept", "*/*").lower()
    return wanted in accepted or "*/*" in accepted or wanted.split("/")[0] + "/*" in accepted


def _json(body: bytes, status: int = 200) -> web.Response:
    return web.Response(status=status, body=body, content_type="application/json")


def _sorry(id: Id | None = None) -> RpcError:
    return RpcError(INTERNAL_ERROR, "The companion failed; its log tells more.", id)


def _reply(body: bytes | None) -> web.Response:
    return web.Response(status=202) if body is None else _json(body)


def _too_large() -> web.Response:
    response = web.Response(status=413, text=f"Expected at most {MAX_BODY} bytes.\n")
    # The rest of the body is not read, so the connection has no further use.
    response.force_close()
    return response


def _request(message, payload, protocol, writer, task):  # type: ignore[no-untyped-def]
    return web.BaseRequest(
        message,
        payload,
        protocol,
        writer,
        task,
        asyncio.get_running_loop(),
        # Older versions of aiohttp refuse a body of exactly this size, newer ones do not.
        client_max_size=MAX_BODY + 1,
    )
