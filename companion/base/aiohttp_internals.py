"""All code that uses aiohttp's internals to be faster, and a check whether this release has the
internals that the code expects. If it does not, the server uses aiohttp's own way, which is slower.

- A head that a request had before is not parsed again, and not examined again.
- The single task of a connection runs its requests.
- Small answers are written at once.
- Only a few requests of a connection are parsed ahead, without waiting for rounds of the loop.

Clients send the same head with each request, except for the length of the body. Source: RFC 9112,
section 6; aiohttp 3.10.11 to 3.14.5.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import sys
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Awaitable, Callable, Coroutine, Mapping, NamedTuple, TypeVar, cast

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from aiohttp.base_protocol import BaseProtocol
from aiohttp.helpers import rfc822_formatted_time
from aiohttp.http_parser import HttpRequestParser, RawRequestMessage
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader
from aiohttp.web_protocol import RequestHandler
from aiohttp.web_request import BaseRequest
from aiohttp.web_response import Response, StreamResponse
from aiohttp.web_server import Server

from .connection import SERVER, Connection

T = TypeVar("T")

# The first and the last release whose internals were read.
KNOWN = ((3, 10), (3, 14))
# The library's name for a connection's parser: before release 3.14, and from then on.
PARSERS = ("_request_parser", "_parser")
ATTRIBUTES = ("_messages", "_message_tail", "_loop")
# The parameters of the methods that are called, replaced, or used by the library between two
# requests.
PARAMETERS = {
    "handler": {
        "start": "self",
        "data_received": "self data",
        "_handle_request": "self request start_time request_handler",
        "finish_response": "self request resp start_time",
    },
    "reader": {
        "__init__": "self protocol limit timer loop",
        "feed_eof": "self",
        "is_eof": "self",
        "read_nowait": "self n",
    },
    "response": {"prepare": "self request", "write_eof": "self data"},
}  # fmt: skip
# Other names that objects of these kinds must have.
NAMES = {
    "handler": "resume_reading pause_reading close force_close",
    "parser": "feed_data set_upgraded",
    "message": "headers should_close chunked",
    "reader": "feed_data total_bytes",
    "request": "writer protocol transport keep_alive version headers",
}
# When so many requests of one connection wait for their turn, nothing more of it is read. The
# library's newer releases have this limit as well, and then ask for data before they read on.
MAX_WAITING = 32
END = b"\r\n\r\n"
# The most heads that are kept for a connection, and the bytes of the longest one.
MAX_HEADS = 8
MAX_HEAD = 4096
# From this many bytes of a body the library pauses reading: more than the server parses at a time.
LIMIT = 64 * 1024


class Library(NamedTuple):
    """The parts of aiohttp that are checked."""

    version: str
    handler: type
    parser: type
    message: type
    reader: type
    request: type
    response: type


def installed() -> Library:
    return Library(
        aiohttp.__version__,
        RequestHandler,
        HttpRequestParser,
        RawRequestMessage,
        StreamReader,
        BaseRequest,
        StreamResponse,
    )


def difference(library: Library) -> str:
    """How the internals differ from the known ones; empty if they do not."""
    found = re.match(r"(\d+)\.(\d+)", library.version)
    if found is None or not KNOWN[0] <= (int(found[1]), int(found[2])) <= KNOWN[1]:
        return f"release {library.version}"
    handler = library.handler
    slots = {name for kind in handler.__mro__ for name in getattr(kind, "__slots__", ())}
    missing = [name for name in ATTRIBUTES if name not in slots]
    missing += [] if slots.intersection(PARSERS) else [PARSERS[-1]]
    for kind, names in NAMES.items():
        missing += [name for name in names.split() if not hasattr(getattr(library, kind), name)]
    for kind, methods in PARAMETERS.items():
        for name, parameters in methods.items():
            if _parameters(getattr(library, kind), name) != parameters.split():
                missing.append(f"{name}({', '.join(parameters.split())})")
    return "without " + ", ".join(missing) if missing else ""


def _parameters(kind: type, name: str) -> list[str]:
    try:
        return list(inspect.signature(getattr(kind, name)).parameters)
    except (AttributeError, TypeError, ValueError):
        return []


class _LoopOfOneTask:
    """Replaces the running loop in one connection of the library. The library makes a task for the
    connection and one for each request, which it awaits at once. Here the connection's task is the
    only one and runs the requests itself: a task for each begins and ends in other rounds of the
    loop, which costs a tenth of a small request."""

    def __init__(self) -> None:
        self._loop = loop = asyncio.get_running_loop()
        self._has_task = False
        # Each request needs these; as attributes they bypass `__getattr__`.
        self.create_future, self.time, self.call_at = loop.create_future, loop.time, loop.call_at

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)

    # For `asyncio.current_task(loop)`, which finds the loop in a dictionary.
    def __hash__(self) -> int:
        return hash(self._loop)

    def __eq__(self, other: object) -> bool:
        return other is self._loop

    def create_task(self, work: Coroutine[Any, Any, T]) -> Awaitable[T]:
        if self._has_task:
            return work
        self._has_task = True
        return self._loop.create_task(work)


@dataclass(frozen=True)
class _Examined:
    """The headers of a request, which this keeps alive, and the result of examining its head."""

    headers: Mapping[str, str]
    found: object


class FastConnection(Connection):
    """`in_tasks` is as in HttpServer."""

    def __init__(self, server: Server, not_http: tuple[bytes, str], in_tasks: bool) -> None:
        # From Python 3.12 on the library begins tasks at once, without asking the loop for them.
        alone = not in_tasks and sys.version_info < (3, 12)
        super().__init__(server, not_http, _LoopOfOneTask() if alone else None)
        for name in PARSERS:
            parser = getattr(self, name, None)
            if parser is not None:
                setattr(self, name, RepeatedHeads(parser, self, self._loop))
        # Whether the library's parser may hold requests that it has not passed on.
        self._may_keep = False
        # The results for the last heads, newest first.
        self._examined: tuple[_Examined, ...] = ()

    def begin(self, request: BaseRequest) -> None:
        # If this is the last of the parsed requests, more are parsed.
        if self._messages:
            return
        if self._may_keep:
            self._may_keep = False
            self.data_received(b"")
        elif self._unparsed:
            self._parse()

    def end(self) -> None:
        pass

    @property
    def has_more(self) -> bool:
        return bool(self._messages)

    def examined(self, request: BaseRequest, examine: Callable[[BaseRequest], T]) -> T:
        """Most heads of a connection are the same: then their headers are the same object, and they
        are examined only once."""
        headers = request.headers
        for known in self._examined:
            if known.headers is headers:
                return cast(T, known.found)
        found = examine(request)
        self._examined = (_Examined(headers, found), *self._examined[: MAX_HEADS - 1])
        return found

    def resume_reading(self, *args: Any, **options: Any) -> None:
        """Does nothing unless reading was paused. The library calls this for each body and would
        feed its parser with nothing, which costs a tenth of a request."""
        if self._must_resume:
            super().resume_reading(*args, **options)

    def _may_parse(self) -> bool:
        return not self._must_resume and len(self._messages) < MAX_WAITING

    def _feed(self, data: bytes) -> None:
        self._feed_library(data)
        if self._message_tail:
            # The data follows a request for another protocol, which is refused: the library's older
            # releases keep all of it and then lose it.
            self.close()
        # Newer releases stop near this number, and count one too many after a body that came late.
        if len(self._messages) >= MAX_WAITING - 1:
            self._may_keep = True


class _Head(NamedTuple):
    """A parsed head, and the number of bytes of the body that it announces."""

    message: RawRequestMessage
    length: int


class RepeatedHeads:
    """Stands in front of the `parser` of the connection `protocol`. If a request comes alone and
    whole, with a head that was parsed before, it gives the message of that head; anything else goes
    to the parser. Requests with the same head get the same message, with the same headers object.

    This is right only while the parser is between two requests: while all data so far were whole
    requests. Otherwise all data goes to the parser."""

    def __init__(self, parser: Any, protocol: BaseProtocol, loop: Any) -> None:
        self._parser = parser
        self._protocol = protocol
        self._loop = loop
        self._heads: dict[bytes, _Head] = {}
        # The last body of the parser, and the number of bytes that followed its head.
        self._last: StreamReader = EMPTY_PAYLOAD
        self._length = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parser, name)

    def feed_data(self, data: bytes) -> tuple[Any, bool, bytes]:
        """The messages with their bodies, whether another protocol begins, and the data of that.
        Raises what the parser raises."""
        # Before Python 3.12 the loop of Windows gives a bytearray.
        data = bytes(data)
        end = data.find(END) + len(END) if self._is_between() else 0
        head = self._heads.get(data[:end])
        if head is not None and head.length == len(data) - end:
            return ((head.message, self._body(data[end:])),), False, b""
        # This counts too much if the data is not part of the body, or is refused.
        self._length += len(data)
        found: tuple[Any, bool, bytes] = self._parser.feed_data(data)
        messages, is_upgraded, _rest = found
        if end and len(messages) == 1 and not is_upgraded:
            self._begun(data[:end], messages[0], len(data) - end)
        return found

    def _is_between(self) -> bool:
        # In the releases for Python 3.8 an empty body has no count.
        return self._last.is_eof() and getattr(self._last, "total_bytes", 0) == self._length

    def _begun(self, head: bytes, message: tuple[Any, StreamReader], length: int) -> None:
        """The parser has parsed the head into this message; `length` bytes follow the head."""
        parsed, body = message
        if parsed.should_close or parsed.chunked:
            return
        self._last, self._length = body, length
        # If there is no body, the library uses a special object.
        if length and len(head) <= MAX_HEAD and self._is_between():
            if len(self._heads) >= MAX_HEADS:
                self._heads.clear()
            self._heads[head] = _Head(parsed, length)

    def _body(self, data: bytes) -> StreamReader:
        body = StreamReader(self._protocol, LIMIT, loop=self._loop)
        body.feed_data(data)
        body.feed_eof()
        return body


def head_of(status: int, headers: Mapping[str, str]) -> bytes:
    """The first lines of an answer; they can be used many times."""
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if any("\r" in line or "\n" in line for line in lines):
        raise ValueError("Expected header lines without line breaks.")
    return ("\r\n".join(lines) + "\r\n").encode("utf-8")


class QuickAnswer(StreamResponse):
    """A small answer that is written at once, without the work that the library's own Response does
    for features that it does not have. `head` is made by `head_of`."""

    def __init__(self, head: bytes, body: bytes = b"", closes: bool = False) -> None:
        # The attributes of the base class are not set: nothing below uses them.
        self._head = head
        self._content = body
        self._closes = closes
        self._to: BaseRequest | None = None

    def as_response(self) -> Response:
        """The same answer as an object of aiohttp."""
        lines = self._head.decode("utf-8").splitlines()[1:]
        headers = {**SERVER, **dict(line.split(": ", 1) for line in lines)}
        response = Response(status=self.status, headers=headers, body=self._content)
        if self._closes:
            response.force_close()
        return response

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
        """Raises ConnectionError if the client has left."""
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
