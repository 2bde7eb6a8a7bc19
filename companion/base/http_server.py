"""An HTTP server for both front ends, on the loopback address unless they want another: connections
and their limits, access, bodies and answers of any size. Knows no route, and no sentence of an
answer.

Source: RFC 9110 and 9112; MCP's security warning for local servers.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hmac
import itertools
import math
import socket
from typing import (
    TYPE_CHECKING,
    AbstractSet,
    Any,
    Awaitable,
    Callable,
    ContextManager,
    Iterable,
    Iterator,
    Mapping,
    TypeVar,
    cast,
)
from urllib.parse import urlsplit

# Not imported through aiohttp.web, which also imports applications, routes, files and web sockets.
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestPayloadError
from aiohttp.web_request import BaseRequest
from aiohttp.web_response import Response, StreamResponse
from aiohttp.web_server import Server

from . import socket_handover
from .compressed import compress_answer
from .connection import SERVER, Connection, TooManyChunks
from .connection_shares import MAX_CONNECTIONS, ConnectionPlace, ConnectionShares, NoPlace
from .jsonrpc import load_json
from .large_json import PIECE, TRUNCATED_TO, LargeJson, TooManyValues
from .log import logger
from .memory_budget import MemoryShare
from .tls_listener import TlsListener
from .unauthenticated import UnauthenticatedConnections, UnauthenticatedProtocol

if TYPE_CHECKING:
    from ssl import SSLContext

T = TypeVar("T")

HOST = "127.0.0.1"
ALL_FOR_ALL = ConnectionShares()
# Seconds for a whole body to arrive. On this machine even the largest takes one or two, unless its
# sender is busy with something else (docs/protocol.md 3.20).
BODY_TIME = 120.0
JSON = "application/json"
HTTP, HTTPS = "http", "https"
# Ports that clients leave out of Host and Origin.
USUAL_PORTS = {HTTP: 80, HTTPS: 443}
# After these statuses the rest of a body may still be coming, so the next data on the connection
# could be anything.
CLOSING = (408, 413, 503)

# Why a request is refused.
BAD_HOST, BAD_ORIGIN, BAD_TOKEN = "host", "origin", "token"
BAD_ENCODING, BAD_BODY, LATE_BODY = "encoding", "body", "late body"
LARGE_BODY, MANY_VALUES = "large body", "many values"
CROWDED, BUSY, CHUNKS = "connections", "memory", "chunks"
OWN_CROWDED = "connections of one token"
STATUSES = {
    BAD_HOST: 403, BAD_ORIGIN: 403, BAD_TOKEN: 401,
    BAD_ENCODING: 415, BAD_BODY: 400, LATE_BODY: 408,
    LARGE_BODY: 413, MANY_VALUES: 413, CHUNKS: 413,
    CROWDED: 503, OWN_CROWDED: 503, BUSY: 503,
}  # fmt: skip


class Refused(Exception):
    """A request is refused, for one of the reasons above; the front end has the sentences."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = STATUSES[reason]


class Guard:
    """Decides who may talk to the server: clients with one of the `tokens`. They must call it by
    one of its `names` with its port, or by one of the `hosts` exactly as given. Web pages are
    refused, except its own and those of `origins`."""

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
        self._tokens = [token.encode("ascii") for token in tokens]

    def check_place(self, target: str, headers: Mapping[str, str]) -> None:
        """Raises Refused for another host, and for a web page that is not known. `target` is that
        of the request line: a path, or a whole address, which has a host as well."""
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
        """The index of the client's token. Raises Refused if it has none of them."""
        given = bearer_token(headers.get("Authorization", "")).encode("utf-8", "surrogateescape")
        for index, token in enumerate(self._tokens):
            if hmac.compare_digest(given, token):
                return index
        raise Refused(BAD_TOKEN)


def bearer_token(authorization: str) -> str:
    """The token in a header; empty if there is none. HTTP allows the scheme's name in upper and
    lower case."""
    scheme, _blank, token = authorization.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _host_of(address: str) -> str:
    """The host and port in a whole address, as they are written there; empty if there are none."""
    try:
        return urlsplit(address).netloc.lower()
    except ValueError:
        return ""


class HttpServer:
    """Serves from `start` to `stop`. Every request goes to `handle`, which must raise nothing. A
    handler continues if its client leaves, unless `end_with_client` says otherwise.

    At most `unauthenticated` connections may wait at a time for a request with the token. Each
    request is handled in a task of its own, with its own context variables. `shares` says how many
    connections each holder of a token may have. If it `has_web_sockets`, `handle` may turn a
    connection into one."""

    def __init__(
        self,
        handle: Callable[[BaseRequest], Awaitable[StreamResponse]],
        not_http: tuple[bytes, str],
        unauthenticated: int,
        shares: ConnectionShares = ALL_FOR_ALL,
        has_web_sockets: bool = False,
    ) -> None:
        self._handle = handle
        self._not_http = not_http
        self._unauthenticated = UnauthenticatedConnections(unauthenticated)
        self._shares = shares
        self._has_web_sockets = has_web_sockets
        self._listeners: dict[socket_handover.Place, socket.socket] = {}
        self._acceptors: list[asyncio.base_events.Server | TlsListener] = []

    async def start(
        self, port: int, shutdown: float, address: str = HOST, tls: SSLContext | None = None
    ) -> int:
        """Listen, with `tls` if given; gives the port, which the system chooses if `port` is 0. At
        the end requests get `shutdown` seconds to finish. Raises OSError if the port is not
        available."""
        self._server = Server(self._handle_one)
        self._shutdown = shutdown
        listener = self._listening_socket(address, port)
        if tls is None:
            await self._accept_connections(listener)
        else:
            limit = self._unauthenticated.limit
            self._acceptors.append(TlsListener(listener, tls, self._make_connection, limit))
        return int(listener.getsockname()[1])

    async def listen_also(self, address: str, port: int) -> None:
        """Listen on another interface as well. Raises OSError if it is not available."""
        await self._accept_connections(self._listening_socket(address, port))

    async def _handle_one(self, request: BaseRequest) -> StreamResponse:
        connection = cast(Connection, request.protocol)
        connection.begin_request(request)
        try:
            answer = await self._handle(request)
        finally:
            connection.end_request()
        if connection.has_more:
            # Other connections get their turn first.
            await asyncio.sleep(0)
        return answer

    async def _accept_connections(self, listener: socket.socket) -> None:
        acceptor = await asyncio.get_running_loop().create_server(
            self._make_connection, sock=listener, backlog=MAX_CONNECTIONS
        )
        self._acceptors.append(acceptor)

    def hand_over(self) -> None:
        """Call this before `stop`: new connections then go to the next server of this process on
        the same ports."""
        socket_handover.leave_sockets(self._listeners)

    def stop_accepting(self) -> None:
        for acceptor in self._acceptors:
            acceptor.close()

    async def stop(self) -> None:
        """End all connections."""
        self.stop_accepting()
        transports = [connection.transport for connection in self._server.connections]
        # Requests that have just arrived begin, and idle connections close.
        await asyncio.sleep(0)
        self._server.pre_shutdown()
        await self._server.shutdown(self._shutdown)
        # A client that reads nothing would keep its socket open after the end of the loop.
        for transport in filter(None, transports):
            transport.abort()

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._server.connections)

    def admit_request(
        self, request: BaseRequest, holder: str = "", is_urgent: bool = False
    ) -> None:
        """Lift the limits for clients without the token, because this one has sent that of
        `holder`. Raises Refused if too many connections have one. Urgent requests may use the
        places that are kept for them."""
        if request.transport is None:
            return
        connection = cast(Connection, request.protocol)
        if connection.place is None or not connection.place.serves(holder, is_urgent):
            try:
                connection.place = self._shares.find_place(
                    self._other_places(connection), holder, is_urgent
                )
            except NoPlace as error:
                raise Refused(OWN_CROWDED if error.is_own else CROWDED) from None
        protocol = request.transport.get_protocol()
        if isinstance(protocol, UnauthenticatedProtocol):
            protocol.lift_limits()

    @property
    def has_room(self) -> bool:
        """Whether a client that has no connection would get one for what is not urgent."""
        return self._shares.has_room(self._other_places())

    def _other_places(self, but: Connection | None = None) -> list[ConnectionPlace]:
        """The places of all other connections."""
        open_ones = cast("list[Connection]", self._server.connections)
        return [
            connection.place
            for connection in open_ones
            if connection is not but and connection.place is not None
        ]

    def _make_connection(self) -> asyncio.Protocol:
        inner = Connection(self._server, self._not_http, self._has_web_sockets)
        return UnauthenticatedProtocol(self._unauthenticated, inner)

    def _listening_socket(self, address: str, port: int) -> socket.socket:
        """A listener that an earlier server left, or a new one. Raises OSError."""
        listener = socket_handover.take_socket((address, port))
        if listener is None:
            # Created here, because asyncio would ignore the error if that fails.
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            listener = socket.create_server((address, port), family=family, backlog=MAX_CONNECTIONS)
        self._listeners[(address, listener.getsockname()[1])] = listener
        return listener


def end_with_client(request: BaseRequest) -> None:
    """Cancel the handler that calls this if its client leaves: so a stream notices at once that
    nobody reads it."""
    if isinstance(request.protocol, Connection):
        request.protocol.ends_with_client = asyncio.current_task()


def outlive_client(request: BaseRequest) -> None:
    """Let the handler continue to its end from now on, even if its client leaves: for work that
    must not be left half done."""
    if isinstance(request.protocol, Connection):
        request.protocol.ends_with_client = None


def media_type(request: BaseRequest) -> str:
    """The media type of the body. In the releases for Python 3.8 the library's own `content_type`
    makes an e-mail parser for each request, which takes a fifth of its time."""
    return request.headers.get("Content-Type", "").partition(";")[0].strip().lower()


def small_body(request: BaseRequest) -> bytes | None:
    """The body if it is small and has arrived completely, as in nearly every request; else None.
    Raises Refused."""
    _check_encoding(request)
    content = request.content
    if content.is_eof() and content.total_bytes <= PIECE:
        return content.read_nowait()
    return None


async def read_json(
    request: BaseRequest,
    limit: int,
    memory: MemoryShare,
    whole: float = math.inf,
    watch: Callable[[bytes], object] = lambda piece: None,
) -> Any:
    """The value of a body of at most `limit` bytes of JSON in UTF-8.

    If the body has more than `whole` bytes, only the beginning of each long string is kept, as a
    TruncatedString. `watch` gets each piece of the body. Raises Refused, and RpcError if the body
    is not JSON."""
    body = small_body(request)
    if body is not None:
        watch(body)
        return load_json(body)
    reading = functools.partial(_read_value, request.content, limit, whole, watch)
    return await _receive_body(request, limit, memory, whole, reading)


async def read_bytes(request: BaseRequest, limit: int, memory: MemoryShare) -> bytes:
    """A body of at most `limit` bytes of any kind. Raises Refused."""
    _check_encoding(request)
    reading = functools.partial(_read_bytes, request.content, limit)
    return await _receive_body(request, limit, memory, math.inf, reading)


def _check_encoding(request: BaseRequest) -> None:
    if "Content-Encoding" in request.headers:
        if request.headers["Content-Encoding"].lower() != "identity":
            raise Refused(BAD_ENCODING)


async def _receive_body(
    request: BaseRequest,
    limit: int,
    memory: MemoryShare,
    whole: float,
    reading: Callable[[], Awaitable[T]],
) -> T:
    """The result of `reading` for the body, within its limits of size, memory and time."""
    length = request.content_length
    if length is not None and length > limit:
        raise Refused(LARGE_BODY)
    size = limit if length is None else length
    if size > PIECE:
        await reserve_memory(memory, int(min(size, whole)))
    if request.headers.get("Expect", "").lower() == "100-continue" and request.transport:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    try:
        with _limited_chunks(request):
            return await asyncio.wait_for(reading(), BODY_TIME)
    except asyncio.TimeoutError:
        raise Refused(LATE_BODY) from None
    except TooManyChunks:
        raise Refused(CHUNKS) from None
    except TooManyValues:
        raise Refused(MANY_VALUES) from None
    except (ConnectionError, HttpProcessingError, RequestPayloadError):
        # The client left, so nobody reads the answer; or the body did not have the form that its
        # headers announced.
        raise Refused(BAD_BODY) from None


def _limited_chunks(request: BaseRequest) -> ContextManager[None]:
    if request.content_length is None and isinstance(request.protocol, Connection):
        return request.protocol.limits_chunks(request.content)
    return contextlib.nullcontext()


async def _read_bytes(content: StreamReader, limit: int) -> bytes:
    data = bytearray()
    async for piece in content.iter_any():
        data += piece
        if len(data) > limit:
            raise Refused(LARGE_BODY)
    return bytes(data)


async def _read_value(
    content: StreamReader, limit: int, whole: float, watch: Callable[[bytes], object]
) -> Any:
    size, small, large = 0, bytearray(), LargeJson()
    async for data in content.iter_any():
        size += len(data)
        watch(data)
        if size > limit:
            raise Refused(LARGE_BODY)
        small += data
        if size > whole:
            large.truncate_strings(TRUNCATED_TO)
        if size > PIECE:
            await _feed_pieces(large, bytes(small))
            small.clear()
    return load_json(bytes(small)) if size <= PIECE else large.value()


async def _feed_pieces(large: LargeJson, data: bytes) -> None:
    for at in range(0, len(data), PIECE):
        large.feed_data(data[at : at + PIECE])
        # Other clients get their turn between two pieces.
        await asyncio.sleep(0)


async def reserve_memory(memory: MemoryShare, size: int) -> None:
    """Reserve this many bytes until the end of the request. Raises Refused if other requests do not
    release enough in time."""
    try:
        await memory.take_bytes(size)
    except asyncio.TimeoutError:
        raise Refused(BUSY) from None


def small_answer(status: int, headers: Mapping[str, str], body: bytes = b"") -> Response:
    """An answer whose body is one piece."""
    answer = Response(status=status, headers={**SERVER, **headers}, body=body)
    if status in CLOSING:
        answer.force_close()
    return answer


async def send_pieces(
    request: BaseRequest,
    status: int,
    headers: Mapping[str, str],
    body: Iterator[bytes],
    may_compress: bool = False,
) -> StreamResponse:
    """Answer with a body in pieces. The next piece is made when the client has read the last, so an
    answer of any size keeps only one piece in memory. It is compressed only if it may be: if it has
    no secret whose length could tell something."""
    if may_compress:
        headers, body = compress_answer(request.headers.get("Accept-Encoding", ""), headers, body)
    first = next(body, b"")
    second = next(body, b"")
    if not second:
        return small_answer(status, headers, first)
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
        # A reader of an incomplete answer must be able to notice that.
        if not is_whole and request.transport is not None:
            request.transport.abort()
    return response


def in_pieces(data: bytes) -> Iterator[bytes]:
    return (data[at : at + PIECE] for at in range(0, len(data), PIECE))
