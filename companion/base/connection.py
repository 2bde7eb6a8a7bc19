"""One connection of the HTTP server: limits on what is read of it and when, on chunks that are too
small, and its end if the client does not read the answer. Uses nothing private of aiohttp.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from typing import Any, Iterator

from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader
from aiohttp.web_protocol import RequestHandler, RequestPayloadError
from aiohttp.web_request import BaseRequest
from aiohttp.web_response import Response, StreamResponse
from aiohttp.web_server import Server

from .connection_shares import ConnectionPlace
from .log import logger

# Seconds that a connection may idle between requests.
IDLE = 75.0
# Seconds in which the rest of a body is read and dropped after an answer to its beginning. Without
# this the answer could be lost when the connection closes.
LINGERING = 10.0
# For answers of the library: otherwise it sends its own name and Python's, with their versions.
SERVER = {"Server": "GeminiCompanion"}
# Bytes that the HTTP parser gets at a time: the one in Python copies the rest for each chunk.
PARSED_AT_ONCE = 16 * 1024
# The most bytes of a chunked body beside its data: sizes of chunks, their extensions, trailers.
# With chunks of 64 bytes they are less than a fifth.
CHUNKS_BESIDE, CHUNKS_SHARE = 64 * 1024, 0.2
# Seconds within which a client must read some of an answer that waits for it. The kernel holds a
# few megabytes and reports them only in large steps.
STALLED = 60.0
# Rounds of the loop after which no parsed request can still be waiting if none has begun and no
# answer waits for its reader: from one request to the next the library needs three.
ROUNDS = 8


class TooManyChunks(RequestPayloadError):
    """The chunks of a body are uselessly small, or its trailers do not end."""


class ChunkLimit:
    """How much of a chunked body may be something other than its data."""

    def __init__(self, body: StreamReader) -> None:
        self._body = body
        self._parsed = body.total_bytes

    def is_exceeded_by(self, size: int) -> bool:
        """Whether it is too much with the bytes that were parsed now; then the reader of the body
        gets TooManyChunks."""
        self._parsed += size
        beside = self._parsed - self._body.total_bytes
        allowed = CHUNKS_BESIDE + CHUNKS_SHARE * self._body.total_bytes
        if self._body.is_eof() or beside <= allowed:
            return False
        self._body.set_exception(TooManyChunks())
        return True


class StallWatch:
    """Watches whether the client of one connection reads its answer, from each `begin` to the
    `end`."""

    def __init__(self) -> None:
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, transport: asyncio.WriteTransport, before: float = math.inf) -> None:
        """An answer waits. Check now and every STALLED seconds whether fewer bytes wait than
        `before`; otherwise abort the transport."""
        waiting = transport.get_write_buffer_size()
        if waiting >= before:
            transport.abort()
            return
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(STALLED, self.begin, transport, waiting)

    def end(self) -> None:
        """No data waits any more, or the connection is lost."""
        if self._timer is not None:
            self._timer.cancel()


def _is_our_failure(record: logging.LogRecord) -> bool:
    """False for data that is not HTTP: that is its sender's fault, and the library would quote it,
    with any token in it."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, (HttpProcessingError, RequestPayloadError))


_http_logger = logger.getChild("http")
_http_logger.addFilter(_is_our_failure)


class Connection(RequestHandler):
    """Answers data that is not HTTP with `not_http`, a body and its media type, and does not quote
    the data. Ends if its client does not read an answer. Only if it `may_upgrade`, the answer to a
    request may turn it into a web socket.

    While parsed requests wait for their turn, nothing more is parsed: the rest stays with the
    sender. `begin_request` and `end_request` say when each request is handled. The library does not
    say how many wait: each empty line that was parsed may have been the end of a head."""

    def __init__(
        self, server: Server, not_http: tuple[bytes, str], may_upgrade: bool = False
    ) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            auto_decompress=False,
            access_log=None,  # type: ignore[arg-type]
            keepalive_timeout=IDLE,
            lingering_time=LINGERING,
            logger=_http_logger,
        )
        self._not_http = not_http
        self._may_upgrade = may_upgrade
        # From then on the data is no HTTP any more.
        self._is_web_socket = False
        self._stall_watch = StallWatch()
        self._must_resume = False
        self._unparsed = b""
        self._is_held = False
        self._is_closing = False
        # Whether the library's parser is running: from inside it, it reports the end of a body.
        self._is_parsing = False
        # The most parsed requests that may be waiting, and the last bytes that were parsed.
        self._waiting = 0
        self._last_bytes = b""
        # The next check whether really none waits.
        self._next_round: asyncio.Handle | None = None
        # The body of the request that began last, and whether its handling has not ended.
        self._last_body: StreamReader = EMPTY_PAYLOAD
        self._is_handling = False
        # Whether that request asks for another protocol.
        self._is_upgrade = False
        # Whether an answer waits for its reader: then the library begins no other request.
        self._is_answer_waiting = False
        # Of the chunked body that is being read.
        self._chunk_limit: ChunkLimit | None = None
        # The handler that is cancelled if the client leaves; None for other handlers.
        self.ends_with_client: asyncio.Task[Any] | None = None
        # None until a request with a token was admitted.
        self.place: ConnectionPlace | None = None

    def begin_request(self, request: BaseRequest) -> None:
        """The handling of a request begins."""
        self._stop_looking()
        if self._waiting:
            self._waiting -= 1
        self._last_body, self._is_handling = request.content, True
        self._is_upgrade = "Upgrade" in request.headers
        if self._is_upgrade and request.content.is_eof() and not self._may_upgrade:
            # What follows belongs to another protocol, which is refused: the library's older
            # releases keep all of it and then lose it.
            self.close()
        elif self._unparsed:
            # The rest of the body, or the next requests.
            self._parse_received()

    def end_request(self) -> None:
        """The request was handled."""
        self._is_handling = False
        self.ends_with_client = None
        if self._is_upgrade:
            self.close()
        elif self._waiting:
            self._check_again()

    @property
    def has_more(self) -> bool:
        """Whether another request may wait for the end of the one that is being handled."""
        return bool(self._waiting or self._unparsed)

    def data_received(self, data: bytes) -> None:
        is_usual = len(data) <= PARSED_AT_ONCE and self._chunk_limit is None and not self._unparsed
        if self._is_closing:
            return
        if self._is_web_socket:
            super().data_received(data)
            return
        if not data:
            # The library's own call, to continue with the data that it has.
            self._feed_library(data)
            self._parse_received()
        elif is_usual and self._may_parse():
            self._feed_piece(data)
        else:
            self._unparsed += data
            self._parse_received()

    def set_parser(self, *args: Any, **options: Any) -> None:
        """The library's call, where an answer turns the connection into a web socket."""
        self._is_web_socket = True
        super().set_parser(*args, **options)
        rest, self._unparsed = self._unparsed, b""
        self._hold_reading(False)
        if rest:
            super().data_received(rest)

    def _may_parse(self) -> bool:
        """The rest of a body may always be parsed, unless its reader has enough for now."""
        return not self._must_resume and (not self._waiting or not self._last_body.is_eof())

    def _feed_piece(self, data: bytes) -> None:
        seen = self._last_bytes + data
        self._waiting += seen.count(b"\n\r\n") + seen.count(b"\n\n")
        self._last_bytes = seen[-2:]
        self._feed_library(data)

    def _feed_library(self, data: bytes) -> None:
        was_parsing, self._is_parsing = self._is_parsing, True
        try:
            super().data_received(data)
        except ValueError:
            # For example an invalid address, with older releases of the library.
            logger.debug("the data received is not HTTP")
            self.force_close()
        finally:
            self._is_parsing = was_parsing

    def _check_again(self, rounds: int = 2 * ROUNDS) -> None:
        """Continue to parse after some rounds of the loop, unless a request begins before."""
        self._stop_looking()
        if self._is_answer_waiting:
            return
        if not rounds:
            self._waiting = 0
            self._parse_received()
            return
        loop = asyncio.get_running_loop()
        self._next_round = loop.call_soon(self._check_again, rounds - 1)
        if rounds == ROUNDS:
            # Newer releases stop after some requests, and some of them forget to continue.
            self._feed_library(b"")

    def _stop_looking(self) -> None:
        if self._next_round is not None:
            self._next_round.cancel()
            self._next_round = None

    def _parse_received(self) -> None:
        """Parse as much of the received data as the reader of the body wants now, and until enough
        requests wait. While some data is left, no more is received."""
        if self._is_parsing:
            # The parser is running and will continue; within its data it takes no other.
            return
        while self._unparsed and self._may_parse():
            piece = self._unparsed[:PARSED_AT_ONCE]
            self._unparsed = self._unparsed[PARSED_AT_ONCE:]
            limit = self._chunk_limit
            self._feed_piece(piece)
            if limit is not None and limit.is_exceeded_by(len(piece)):
                # Data after this is not read.
                self.close()
        self._hold_reading(bool(self._unparsed))
        if self._unparsed and self._waiting and not self._is_handling and not self._next_round:
            self._check_again()

    def _hold_reading(self, is_held: bool) -> None:
        """Set whether the rest stays with the sender. Must be repeated while it does, because the
        library resumes for its own reasons."""
        was_held, self._is_held = self._is_held, is_held
        # Before Python 3.11 a TLS connection that has just ended has nothing to pause.
        with contextlib.suppress(AttributeError):
            if is_held and self.transport is not None:
                self.transport.pause_reading()
            elif was_held and self.transport is not None and not self._must_resume:
                self.transport.resume_reading()

    @contextlib.contextmanager
    def limits_chunks(self, body: StreamReader) -> Iterator[None]:
        """Use this while a chunked body is read: the connection ends if the bytes beside the data
        exceed the limit."""
        self._chunk_limit = ChunkLimit(body)
        try:
            yield
        finally:
            self._chunk_limit = None

    def close(self) -> None:
        """The library reads nothing more after this. The data is dropped and does not stay with the
        sender: otherwise the end of the connection could take the last answer with it."""
        super().close()
        self._is_closing, self._unparsed = True, b""
        self._hold_reading(False)

    def pause_reading(self) -> None:
        self._must_resume = True
        super().pause_reading()

    def resume_reading(self, *args: Any, **options: Any) -> None:
        """Does nothing unless reading was paused. The library calls this for each body and would
        feed its parser with nothing, which costs a tenth of a request."""
        if self._must_resume:
            self._must_resume = False
            super().resume_reading(*args, **options)
            self._parse_received()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._is_answer_waiting = True
        if self.transport is not None:
            self._stall_watch.begin(self.transport)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._is_answer_waiting = False
        self._stall_watch.end()
        if self._waiting and not self._is_handling:
            self._check_again()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._stall_watch.end()
        self._stop_looking()
        super().connection_lost(exc)
        if self.ends_with_client is not None:
            self.ends_with_client.cancel()

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
