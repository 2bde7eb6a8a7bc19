"""An HTTP server for both front ends, on the loopback address unless they want another: connections
and their limits, who may talk to it, bodies and answers of any size; knows no route, and no
sentence of an answer.

Source: RFC 9110 and 9112; MCP's security warning for local servers.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hmac
import itertools
import logging
import math
import socket
import sys
from http import HTTPStatus
from typing import (
    TYPE_CHECKING,
    AbstractSet,
    Any,
    Awaitable,
    Callable,
    ContextManager,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    TypeVar,
    cast,
)
from urllib.parse import urlsplit

# Not by way of aiohttp.web, which brings applications, routes, files and web sockets with it.
from aiohttp.abc import AbstractStreamWriter
from aiohttp.helpers import rfc822_formatted_time
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler, RequestPayloadError
from aiohttp.web_request import BaseRequest
from aiohttp.web_response import Response, StreamResponse
from aiohttp.web_server import Server

from . import socket_handover
from .jsonrpc import load
from .large_json import PIECE, TRUNCATED_TO, LargeJson, TooManyValues
from .log import logger
from .memory_budget import MemoryShare
from .repeated_heads import MAX_HEADS, RepeatedHeads
from .socket_handover import Place
from .tls_listener import TlsListener
from .unauthenticated import UnauthenticatedConnections, UnauthenticatedProtocol

if TYPE_CHECKING:
    from ssl import SSLContext

T = TypeVar("T")

HOST = "127.0.0.1"
# Connections with the token at a time; a CLI keeps two or three, a web page six.
MAX_CONNECTIONS = 128
# Seconds for a body to come in whole; on this machine, even the largest takes one or two, unless
# its sender does something else meanwhile (docs/protocol.md 3.20).
BODY_TIME = 120.0
# Seconds that a connection may idle between requests.
IDLE = 75.0
# Seconds in which the rest of a body is read and forgotten after an answer to its beginning: a
# connection that is closed before might take the answer with it.
LINGERING = 10.0
# Seconds in which a client has to take some of an answer that waits for it. What the kernel holds,
# a few megabytes, is reported in large steps only.
STALLED = 60.0
JSON = "application/json"
# Of what the library answers with: else it names itself and Python, with their versions.
SERVER = {"Server": "GeminiCompanion"}
HTTP, HTTPS = "http", "https"
# Ports that clients leave out of Host and Origin.
USUAL_PORTS = {HTTP: 80, HTTPS: 443}
# Bytes that the HTTP parser gets at a time: one in Python copies all that is left for each chunk.
PARSED_AT_ONCE = 16 * 1024
# Requests that wait for their turn on one connection, from which on nothing more of it is read. The
# library's newer releases have this limit, too, and ask for data before they read on.
MAX_WAITING = 32
# What a chunked body may have beside its data: sizes of chunks, their extensions, trailers. Chunks
# of 64 bytes stay below a fifth.
CHUNKS_BESIDE, CHUNKS_SHARE = 64 * 1024, 0.2
# What the library calls a connection's parser: before release 3.14, and from then on.
PARSERS = ("_request_parser", "_parser")
# Statuses after which the rest of a body may still be on its way, so that what comes next on the
# connection could be anything.
CLOSING = (408, 413, 503)

# Why a request gets no further.
BAD_HOST, BAD_ORIGIN, BAD_TOKEN = "host", "origin", "token"
BAD_ENCODING, BAD_BODY, LATE_BODY = "encoding", "body", "late body"
LARGE_BODY, MANY_VALUES = "large body", "many values"
CROWDED, BUSY, CHUNKS = "connections", "memory", "chunks"
STATUSES = {
    BAD_HOST: 403, BAD_ORIGIN: 403, BAD_TOKEN: 401,
    BAD_ENCODING: 415, BAD_BODY: 400, LATE_BODY: 408,
    LARGE_BODY: 413, MANY_VALUES: 413, CHUNKS: 413,
    CROWDED: 503, BUSY: 503,
}  # fmt: skip


class Refused(Exception):
    """A request that gets no further, for one of the reasons above; the front end has the words."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = STATUSES[reason]


class _TooManyChunks(RequestPayloadError):
    """A body whose chunks are small beyond all use, or whose trailers do not end."""


def _is_our_failure(record: logging.LogRecord) -> bool:
    """What is no HTTP is its sender's fault; the library would quote it, with any token in it."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, (HttpProcessingError, RequestPayloadError))


_http_logger = logger.getChild("http")
_http_logger.addFilter(_is_our_failure)


class Guard:
    """Who may talk to the server: clients with one of the `tokens` that call it by one of its
    `names`, with its port, or one of the `hosts`, as they stand there; and no web page but its own
    and those of `origins`."""

    def __init__(
        self,
        tokens: Iterable[str],
        port: int,
        names: Iterable[str],
        origins: Iterable[str] = (),
        hosts: Iterable[str] = (),
        scheme: str = HTTP,
    ) -> None:
        own = {f"{name}:{port}" for name in names}
        own |= set(names) if port == USUAL_PORTS[scheme] else set()
        self._hosts: AbstractSet[str] = own.union(hosts)
        self._origins = {f"{scheme}://{host}" for host in own}
        self._origins.update(origin.lower().rstrip("/") for origin in origins)
        self._authorizations = [("Bearer " + token).encode("ascii") for token in tokens]

    def check_place(self, target: str, headers: Mapping[str, str]) -> None:
        """Raises Refused for another host, and for a web page that is not known. `target` is what
        the request line asks for: a path, or a whole address, which has a host, too."""
        if headers.get("Host", "").lower() not in self._hosts:
            raise Refused(BAD_HOST)
        if target[:1] not in ("/", "*") and _host_of(target) not in self._hosts:
            raise Refused(BAD_HOST)
        origin = headers.get("Origin")
        if origin is not None and not self.knows(origin):
            raise Refused(BAD_ORIGIN)

    def knows(self, origin: str) -> bool:
        return origin.lower() in self._origins

    def check_token(self, headers: Mapping[str, str]) -> int:
        """Which of the tokens the client has, by its index. Raises Refused without one."""
        given = headers.get("Authorization", "")
        index = self._index(given)
        if index is None:
            # The scheme's name is written in either case, says HTTP.
            scheme, _blank, token = given.partition(" ")
            index = self._index("Bearer " + token.strip()) if scheme.lower() == "bearer" else None
        if index is None:
            raise Refused(BAD_TOKEN)
        return index

    def _index(self, given: str) -> int | None:
        data = given.encode("utf-8", "surrogateescape")
        for index, authorization in enumerate(self._authorizations):
            if hmac.compare_digest(data, authorization):
                return index
        return None


def _host_of(address: str) -> str:
    """The host and port of a whole address, as they stand there; "" where there are none."""
    try:
        return urlsplit(address).netloc.lower()
    except ValueError:
        return ""


class _LoopOfOneTask:
    """Stands for the running loop in one connection of the library. That makes a task for the
    connection, then one for each request, which it awaits at once. Here the connection's task is
    the only one, and runs the requests itself: a task for each would begin and end in other rounds
    of the loop, for a tenth of what a small request costs."""

    def __init__(self) -> None:
        self._loop = loop = asyncio.get_running_loop()
        self._has_task = False
        # What each request needs, without the way by `__getattr__`.
        self.create_future, self.time, self.call_at = loop.create_future, loop.time, loop.call_at

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)

    # For `asyncio.current_task(loop)`, which looks the loop up in a dictionary.
    def __hash__(self) -> int:
        return hash(self._loop)

    def __eq__(self, other: object) -> bool:
        return other is self._loop

    def create_task(self, work: Coroutine[Any, Any, T]) -> Awaitable[T]:
        if self._has_task:
            return work
        self._has_task = True
        return self._loop.create_task(work)


def _loop_of_connection(in_tasks: bool) -> Any:
    # From Python 3.12 on, tasks can begin at once, and the library has them do so without asking
    # the loop.
    if in_tasks or sys.version_info >= (3, 12):
        return asyncio.get_running_loop()
    return _LoopOfOneTask()


class Connection(RequestHandler):
    """Answers what is no HTTP with `not_http`, a body and its media type, and does not quote it.
    Ends where its client takes nothing of an answer. `in_tasks` is that of HttpServer."""

    def __init__(self, server: Server, not_http: tuple[bytes, str], in_tasks: bool) -> None:
        super().__init__(
            server,
            loop=_loop_of_connection(in_tasks),
            auto_decompress=False,
            access_log=None,  # type: ignore[arg-type]
            keepalive_timeout=IDLE,
            lingering_time=LINGERING,
            logger=_http_logger,
        )
        for name in PARSERS:
            parser = getattr(self, name, None)
            if parser is not None:
                setattr(self, name, RepeatedHeads(parser, self, self._loop))
        self._not_http = not_http
        self._stall_timer: asyncio.TimerHandle | None = None
        self._must_resume = False
        self._unparsed = b""
        self._is_held = False
        # Whether the library's parser may keep requests that it has not told of.
        self._may_keep = False
        # The chunked body that is being read, and the bytes parsed of it.
        self._body: StreamReader | None = None
        self._parsed = 0
        self.must_drain = False
        self._found: dict[int, tuple[Mapping[str, str], object]] = {}
        # The handler that is cancelled where the client leaves, if it is one of those.
        self.ends_with_client: asyncio.Task[Any] | None = None

    def found_in(self, request: BaseRequest, examine: Callable[[BaseRequest], T]) -> T:
        """What `examine`, the same each time, finds in the head of the request. Most heads of a
        connection are alike: then their headers are the same object, and they are examined once.
        Raises what it raises."""
        headers = request.headers
        known = self._found.get(id(headers))
        if known is None:
            if len(self._found) >= MAX_HEADS:
                self._found.clear()
            # With the headers, for as long as they are held nothing else has their id.
            self._found[id(headers)] = known = headers, examine(request)
        return cast(T, known[1])

    def data_received(self, data: bytes) -> None:
        is_usual = len(data) <= PARSED_AT_ONCE and self._body is None and not self._unparsed
        if is_usual and self._may_parse():
            # Nearly every request; or the library's own call, to go on with what it has.
            self._feed(data)
            return
        if not data:
            self._feed(data)
        self._unparsed += data
        self._parse()

    def _may_parse(self) -> bool:
        return not self._must_resume and len(self._messages) < MAX_WAITING

    def _feed(self, data: bytes) -> None:
        try:
            super().data_received(data)
        except ValueError:
            # An address that is none, with the library's older releases.
            logger.debug("what came is no HTTP")
            self.force_close()
        if self._message_tail:
            # It follows a request for another protocol, which is declined: the library's older
            # releases keep all of it, and then lose it.
            self.close()
        # Newer releases stop near this number, and count one too many after a body that came late.
        if len(self._messages) >= MAX_WAITING - 1:
            self._may_keep = True

    def _parse(self) -> None:
        """As much of what was received as the reader of the body wants now, and until enough
        requests wait. While something is left, nothing more is received."""
        while self._unparsed and self._may_parse():
            piece = self._unparsed[:PARSED_AT_ONCE]
            self._unparsed = self._unparsed[PARSED_AT_ONCE:]
            self._parsed += len(piece)
            self._feed(piece)
            if self._body is not None and self._has_too_many_chunks(self._body):
                self._body.set_exception(_TooManyChunks())
                # What else comes is not read.
                self.close()
        self._hold(bool(self._unparsed))

    def _hold(self, is_held: bool) -> None:
        """Whether the rest stays with the sender. To be said again where it does: the library
        resumes for its own reasons."""
        was_held, self._is_held = self._is_held, is_held
        # Before Python 3.11, a connection with TLS that has just ended has nothing to pause.
        with contextlib.suppress(AttributeError):
            if is_held and self.transport is not None:
                self.transport.pause_reading()
            elif was_held and self.transport is not None and not self._must_resume:
                self.transport.resume_reading()

    def go_on(self) -> None:
        """A request begins. Where it is the last of those that were parsed, more are."""
        if self._messages:
            return
        if self._may_keep:
            self._may_keep = False
            self.data_received(b"")
        elif self._unparsed:
            self._parse()

    @property
    def waiting(self) -> int:
        """Requests that came and wait for the end of the one that is handled."""
        return len(self._messages)

    def _has_too_many_chunks(self, body: StreamReader) -> bool:
        beside = self._parsed - body.total_bytes
        return not body.is_eof() and beside > CHUNKS_BESIDE + CHUNKS_SHARE * body.total_bytes

    @contextlib.contextmanager
    def limits_chunks(self, body: StreamReader) -> Iterator[None]:
        """While a chunked body is read: what is beside its data ends the connection where it is
        beyond the limit."""
        self._body, self._parsed = body, body.total_bytes
        try:
            yield
        finally:
            self._body = None

    def pause_reading(self) -> None:
        self._must_resume = True
        super().pause_reading()

    def resume_reading(self, *args: Any, **options: Any) -> None:
        """Only where reading was paused: else the library, which calls this for each body, would
        feed its parser with nothing, at a tenth of what a request costs."""
        if self._must_resume:
            self._must_resume = False
            super().resume_reading(*args, **options)
            self._parse()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.must_drain = True
        self._check_progress()

    def resume_writing(self) -> None:
        super().resume_writing()
        self.must_drain = False
        self._stop_checking()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._stop_checking()
        super().connection_lost(exc)
        if self.ends_with_client is not None:
            self.ends_with_client.cancel()

    def _check_progress(self, before: float = math.inf) -> None:
        """Check every STALLED seconds whether fewer bytes wait than `before`."""
        transport = self.transport
        if transport is None:
            return
        waiting = transport.get_write_buffer_size()
        if waiting >= before:
            transport.abort()
            return
        loop = asyncio.get_running_loop()
        self._stall_timer = loop.call_later(STALLED, self._check_progress, waiting)

    def _stop_checking(self) -> None:
        if self._stall_timer is not None:
            self._stall_timer.cancel()

    def handle_error(
        self,
        request: BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> StreamResponse:
        response = super().handle_error(request, status, exc, "")
        response.headers.update(SERVER)
        if isinstance(response, Response) and status < 500:
            response.body, response.content_type = self._not_http
        return response


class HttpServer:
    """Serves from `start` to `stop`; every request goes to `handle`, which raises nothing. What it
    does goes on where its client leaves, but for `end_with_client`.

    `unauthenticated` connections may wait for their request with the token at a time. Where a
    request need not be handled `in_tasks`, each in a task of its own with its own context
    variables, that is done faster, in the one task of its connection."""

    def __init__(
        self,
        handle: Callable[[BaseRequest], Awaitable[StreamResponse]],
        not_http: tuple[bytes, str],
        unauthenticated: int,
        in_tasks: bool = True,
    ) -> None:
        self._handle = handle
        self._in_tasks = in_tasks
        self._not_http = not_http
        self._unauthenticated = UnauthenticatedConnections(unauthenticated)
        self._listeners: dict[Place, socket.socket] = {}
        self._acceptors: list[asyncio.base_events.Server | TlsListener] = []

    async def start(
        self, port: int, shutdown: float, address: str = HOST, tls: SSLContext | None = None
    ) -> int:
        """Listen, with `tls` where it is given; the port, where `port` 0 asks for any. At the end,
        requests get `shutdown` seconds to finish. Raises OSError where the port cannot be had."""
        self._server = Server(self._handle_one)
        self._shutdown = shutdown
        listener = self._listener(address, port)
        if tls is None:
            await self._accept(listener)
        else:
            limit = self._unauthenticated.limit
            self._acceptors.append(TlsListener(listener, tls, self._connection, limit))
        return int(listener.getsockname()[1])

    async def listen_also(self, address: str, port: int) -> None:
        """On another interface. Raises OSError where that cannot be had."""
        await self._accept(self._listener(address, port))

    async def _handle_one(self, request: BaseRequest) -> StreamResponse:
        connection = cast(Connection, request.protocol)
        connection.go_on()
        try:
            answer = await self._handle(request)
        finally:
            # The task may go on with the next request, which is another's to end.
            outlive_client(request)
        if connection.waiting:
            # Other connections have their turn first.
            await asyncio.sleep(0)
        return answer

    async def _accept(self, listener: socket.socket) -> None:
        acceptor = await asyncio.get_running_loop().create_server(
            self._connection, sock=listener, backlog=MAX_CONNECTIONS
        )
        self._acceptors.append(acceptor)

    def hand_over(self) -> None:
        """To be called before the stop: the next server of this process on the same ports gets
        whoever connects from now on."""
        socket_handover.leave(self._listeners)

    def stop_accepting(self) -> None:
        for acceptor in self._acceptors:
            acceptor.close()

    async def stop(self) -> None:
        """End all connections."""
        self.stop_accepting()
        transports = [connection.transport for connection in self._server.connections]
        # What has just come in is begun, and what idles is closed.
        await asyncio.sleep(0)
        self._server.pre_shutdown()
        await self._server.shutdown(self._shutdown)
        # A client that reads nothing would keep its socket open beyond the end of the loop.
        for transport in filter(None, transports):
            transport.abort()

    @property
    def connections(self) -> int:
        """Those that are open."""
        return len(self._server.connections)

    def admit(self, request: BaseRequest) -> None:
        """Lift the limits for clients without the token: this one has shown it. Raises Refused
        where too many have."""
        protocol = request.transport.get_protocol() if request.transport is not None else None
        if not isinstance(protocol, UnauthenticatedProtocol):
            return
        if self.connections - len(self._unauthenticated) >= MAX_CONNECTIONS:
            raise Refused(CROWDED)
        protocol.authenticated()

    def _connection(self) -> asyncio.Protocol:
        inner = Connection(self._server, self._not_http, self._in_tasks)
        return UnauthenticatedProtocol(self._unauthenticated, inner)

    def _listener(self, address: str, port: int) -> socket.socket:
        """One that a server before left, or a new one. Raises OSError."""
        listener = socket_handover.take((address, port))
        if listener is None:
            # Made here, for asyncio would pass over the error that kept it from being made.
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            listener = socket.create_server((address, port), family=family, backlog=MAX_CONNECTIONS)
        self._listeners[(address, listener.getsockname()[1])] = listener
        return listener


def end_with_client(request: BaseRequest) -> None:
    """Cancel the handler of the request, which calls this, where its client leaves: so a stream
    knows at once that nobody reads it."""
    if isinstance(request.protocol, Connection):
        request.protocol.ends_with_client = asyncio.current_task()


def outlive_client(request: BaseRequest) -> None:
    """From now on the handler goes on to its end, also where its client leaves: for what must not
    be done by half."""
    if isinstance(request.protocol, Connection):
        request.protocol.ends_with_client = None


def media_type(request: BaseRequest) -> str:
    """What the body is. The library's own `content_type` makes an e-mail parser for each request
    in the releases for Python 3.8, at a fifth of the request's time."""
    return request.headers.get("Content-Type", "").partition(";")[0].strip().lower()


def small_body(request: BaseRequest) -> bytes | None:
    """The body where it is small and all of it is there already, as of nearly every request; else
    None. Raises Refused."""
    _check_encoding(request)
    content = request.content
    if content.is_eof() and content.total_bytes <= PIECE:
        return content.read_nowait()
    return None


async def read_json(
    request: BaseRequest, limit: int, memory: MemoryShare, whole: float = math.inf
) -> Any:
    """The value of a body of at most `limit` bytes of JSON in UTF-8.

    Of a body of more than `whole` bytes, only the beginning of each long string is kept, as a
    TruncatedString. Raises Refused, and RpcError for what is no JSON."""
    body = small_body(request)
    if body is not None:
        return load(body)
    reading = functools.partial(_value, request.content, limit, whole)
    return await _received(request, limit, memory, whole, reading)


async def read_bytes(request: BaseRequest, limit: int, memory: MemoryShare) -> bytes:
    """A body of at most `limit` bytes, whatever it is. Raises Refused."""
    _check_encoding(request)
    reading = functools.partial(_bytes, request.content, limit)
    return await _received(request, limit, memory, math.inf, reading)


def _check_encoding(request: BaseRequest) -> None:
    if "Content-Encoding" in request.headers:
        if request.headers["Content-Encoding"].lower() != "identity":
            raise Refused(BAD_ENCODING)


async def _received(
    request: BaseRequest,
    limit: int,
    memory: MemoryShare,
    whole: float,
    reading: Callable[[], Awaitable[T]],
) -> T:
    """What `reading` makes of the body, within its limits of size, memory and time."""
    length = request.content_length
    if length is not None and length > limit:
        raise Refused(LARGE_BODY)
    size = limit if length is None else length
    if size > PIECE:
        await take(memory, int(min(size, whole)))
    if request.headers.get("Expect", "").lower() == "100-continue" and request.transport:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    try:
        with _limited_chunks(request):
            return await asyncio.wait_for(reading(), BODY_TIME)
    except asyncio.TimeoutError:
        raise Refused(LATE_BODY) from None
    except _TooManyChunks:
        raise Refused(CHUNKS) from None
    except TooManyValues:
        raise Refused(MANY_VALUES) from None
    except (ConnectionError, HttpProcessingError, RequestPayloadError):
        # The client left, which is no failure of ours, and nobody reads this; or its body was not
        # in the form that its headers said.
        raise Refused(BAD_BODY) from None


def _limited_chunks(request: BaseRequest) -> ContextManager[None]:
    if request.content_length is None and isinstance(request.protocol, Connection):
        return request.protocol.limits_chunks(request.content)
    return contextlib.nullcontext()


async def _bytes(content: StreamReader, limit: int) -> bytes:
    data = bytearray()
    async for piece in content.iter_any():
        data += piece
        if len(data) > limit:
            raise Refused(LARGE_BODY)
    return bytes(data)


async def _value(content: StreamReader, limit: int, whole: float) -> Any:
    size, small, large = 0, bytearray(), LargeJson()
    async for data in content.iter_any():
        size += len(data)
        if size > limit:
            raise Refused(LARGE_BODY)
        small += data
        if size > whole:
            large.truncate(TRUNCATED_TO)
        if size > PIECE:
            await _feed(large, bytes(small))
            small.clear()
    return load(bytes(small)) if size <= PIECE else large.value()


async def _feed(large: LargeJson, data: bytes) -> None:
    for at in range(0, len(data), PIECE):
        large.feed(data[at : at + PIECE])
        # Other clients have their turn between two pieces.
        await asyncio.sleep(0)


async def take(memory: MemoryShare, size: int) -> None:
    """Hold so many bytes until the end of the request. Raises Refused where others do not give
    theirs back in time."""
    try:
        await memory.take(size)
    except asyncio.TimeoutError:
        raise Refused(BUSY) from None


def head_of(status: int, headers: Mapping[str, str]) -> bytes:
    """The first lines of an answer, which can be used again and again."""
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if any("\r" in line or "\n" in line for line in lines):
        raise ValueError("Expected header lines without line breaks.")
    return ("\r\n".join(lines) + "\r\n").encode("utf-8")


class Answer(StreamResponse):
    """A whole answer that is small, written at once: without the work that the library's own
    Response does for all that an answer could have. `head` is made by `head_of`."""

    def __init__(self, head: bytes, body: bytes = b"", closes: bool = False) -> None:
        # The library's own attributes are not made: nothing below uses them.
        self._head = head
        self._content = body
        self._closes = closes
        self._to: BaseRequest | None = None

    @property
    def status(self) -> int:
        return int(self._head[len(b"HTTP/1.1 ") :][:3])

    @property
    def keep_alive(self) -> bool:
        return not self._closes

    async def prepare(self, request: BaseRequest) -> AbstractStreamWriter:
        self._to = request
        self._closes = self._closes or not request.keep_alive or request.version < (1, 1)
        return request.writer

    async def write_eof(self, data: bytes = b"") -> None:
        """Raises ConnectionError where the client has left."""
        request, self._to = self._to, None
        if request is None:
            return
        transport = request.transport
        if transport is None or transport.is_closing():
            raise ConnectionResetError("The client has left.")
        transport.write(self._bytes(request.method == "HEAD"))
        protocol = request.protocol
        if isinstance(protocol, Connection) and protocol.must_drain:
            await request.writer.drain()

    def _bytes(self, is_head: bool) -> bytes:
        return b"%bContent-Length: %d\r\nDate: %b\r\n%b\r\n%b" % (
            self._head,
            len(self._content),
            rfc822_formatted_time().encode("ascii"),
            b"Connection: close\r\n" if self._closes else b"",
            b"" if is_head else self._content,
        )


async def send(
    request: BaseRequest, status: int, headers: Mapping[str, str], body: Iterator[bytes]
) -> StreamResponse:
    """Answer with a body in pieces, the next one made when the client has taken the last: so an
    answer of any size waits in memory for one piece only."""
    first = next(body, b"")
    second = next(body, b"")
    if not second:
        return Answer(head_of(status, headers), first, status in CLOSING)
    response = StreamResponse(status=status, headers=headers)
    if status in CLOSING:
        response.force_close()
    is_whole = False
    try:
        await response.prepare(request)
        if request.method != "HEAD":
            for piece in itertools.chain((first, second), body):
                await response.write(piece)
        await response.write_eof()
        is_whole = True
    except ConnectionError:
        logger.debug("a client left its answer")
    finally:
        # Whoever reads a part of an answer must not take it for the whole.
        if not is_whole and request.transport is not None:
            request.transport.abort()
    return response


def in_pieces(data: bytes) -> Iterator[bytes]:
    return (data[at : at + PIECE] for at in range(0, len(data), PIECE))
