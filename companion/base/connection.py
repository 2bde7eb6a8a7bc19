"""One connection of the HTTP server, by what aiohttp documents alone: how much of it is read and
when, chunks that are too small, and its end where its client takes nothing of an answer.

`aiohttp_internals` has the faster one.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from typing import Any, Callable, Iterator, TypeVar

from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader
from aiohttp.web_protocol import RequestHandler, RequestPayloadError
from aiohttp.web_request import BaseRequest
from aiohttp.web_response import Response, StreamResponse
from aiohttp.web_server import Server

from .log import logger

T = TypeVar("T")

# Seconds that a connection may idle between requests.
IDLE = 75.0
# Seconds in which the rest of a body is read and forgotten after an answer to its beginning: a
# connection that is closed before might take the answer with it.
LINGERING = 10.0
# Seconds in which a client has to take some of an answer that waits for it. What the kernel holds,
# a few megabytes, is reported in large steps only.
STALLED = 60.0
# Of what the library answers with: else it names itself and Python, with their versions.
SERVER = {"Server": "GeminiCompanion"}
# Bytes that the HTTP parser gets at a time: one in Python copies all that is left for each chunk.
PARSED_AT_ONCE = 16 * 1024
# What a chunked body may have beside its data: sizes of chunks, their extensions, trailers. Chunks
# of 64 bytes stay below a fifth.
CHUNKS_BESIDE, CHUNKS_SHARE = 64 * 1024, 0.2
# Rounds of the loop without the begin of a request, after which none of those that were parsed
# waits: from one to the next, the library needs three.
ROUNDS = 8


class TooManyChunks(RequestPayloadError):
    """A body whose chunks are small beyond all use, or whose trailers do not end."""


def _is_our_failure(record: logging.LogRecord) -> bool:
    """What is no HTTP is its sender's fault; the library would quote it, with any token in it."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, (HttpProcessingError, RequestPayloadError))


_http_logger = logger.getChild("http")
_http_logger.addFilter(_is_our_failure)


class Connection(RequestHandler):
    """Answers what is no HTTP with `not_http`, a body and its media type, and does not quote it.
    Ends where its client takes nothing of an answer.

    While requests that were parsed wait for their turn, nothing more is: the rest stays with the
    sender. `begin` and `end` say when each is handled. More than twenty methods, for it is what the
    loop, the library and the server call of one connection."""

    def __init__(self, server: Server, not_http: tuple[bytes, str], loop: Any = None) -> None:
        super().__init__(
            server,
            loop=loop or asyncio.get_running_loop(),
            auto_decompress=False,
            access_log=None,  # type: ignore[arg-type]
            keepalive_timeout=IDLE,
            lingering_time=LINGERING,
            logger=_http_logger,
        )
        self._not_http = not_http
        self._stall_timer: asyncio.TimerHandle | None = None
        self._must_resume = False
        self._unparsed = b""
        self._is_held = False
        # Whether the library's parser is at work: it says from within where a body has ended.
        self._is_parsing = False
        # Whether requests that were parsed may wait, and the next look for that.
        self._may_wait = False
        self._next_round: asyncio.Handle | None = None
        # The body of the request that began last.
        self._last_body: StreamReader = EMPTY_PAYLOAD
        # The chunked body that is being read, and the bytes parsed of it.
        self._chunked: StreamReader | None = None
        self._parsed = 0
        self.must_drain = False
        # The handler that is cancelled where the client leaves, if it is one of those.
        self.ends_with_client: asyncio.Task[Any] | None = None

    def begin(self, request: BaseRequest) -> None:
        """A request begins to be handled."""
        self._stop_looking()
        self._may_wait = True
        self._last_body = request.content
        if "Upgrade" in request.headers:
            # What follows it is another protocol's, which is declined: the library's older releases
            # keep all of it, and then lose it.
            self.close()
        elif self._unparsed:
            # The rest of its body.
            self._parse()

    def end(self) -> None:
        """It was handled."""
        self._look_again()

    @property
    def has_more(self) -> bool:
        """Whether another request may wait for the end of the one that is handled."""
        return True

    def examined(self, request: BaseRequest, examine: Callable[[BaseRequest], T]) -> T:
        """What `examine`, the same each time, finds in the head of the request. Raises what it
        raises."""
        return examine(request)

    def data_received(self, data: bytes) -> None:
        is_usual = len(data) <= PARSED_AT_ONCE and self._chunked is None and not self._unparsed
        if is_usual and self._may_parse():
            # Nearly every request; or the library's own call, to go on with what it has.
            self._feed(data)
            return
        if not data:
            self._feed(data)
        self._unparsed += data
        self._parse()

    def _may_parse(self) -> bool:
        """The rest of a body always, unless its reader has enough for now."""
        return not self._must_resume and (not self._may_wait or not self._last_body.is_eof())

    def _feed(self, data: bytes) -> None:
        if data and self._last_body.is_eof():
            self._may_wait = True
            self._look_again()
        self._feed_library(data)

    def _feed_library(self, data: bytes) -> None:
        was_parsing, self._is_parsing = self._is_parsing, True
        try:
            super().data_received(data)
        except ValueError:
            # An address that is none, with the library's older releases.
            logger.debug("what came is no HTTP")
            self.force_close()
        finally:
            self._is_parsing = was_parsing

    def _look_again(self, rounds: int = 2 * ROUNDS) -> None:
        """Parse on after some rounds of the loop, unless a request begins before."""
        self._stop_looking()
        if rounds == ROUNDS:
            # Newer releases stop after some requests, and some of them forget to go on.
            self._feed_library(b"")
            self._parse()
        if rounds:
            loop = asyncio.get_running_loop()
            self._next_round = loop.call_soon(self._look_again, rounds - 1)
        else:
            self._may_wait = False
            self._parse()

    def _stop_looking(self) -> None:
        if self._next_round is not None:
            self._next_round.cancel()
            self._next_round = None

    def _parse(self) -> None:
        """As much of what was received as the reader of the body wants now, and until enough
        requests wait. While something is left, nothing more is received."""
        if self._is_parsing:
            # Whoever has it at work goes on: in the middle of its data it takes no other.
            return
        while self._unparsed and self._may_parse():
            piece = self._unparsed[:PARSED_AT_ONCE]
            self._unparsed = self._unparsed[PARSED_AT_ONCE:]
            self._parsed += len(piece)
            self._feed(piece)
            if self._chunked is not None and self._has_too_many_chunks(self._chunked):
                self._chunked.set_exception(TooManyChunks())
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

    def _has_too_many_chunks(self, body: StreamReader) -> bool:
        beside = self._parsed - body.total_bytes
        return not body.is_eof() and beside > CHUNKS_BESIDE + CHUNKS_SHARE * body.total_bytes

    @contextlib.contextmanager
    def limits_chunks(self, body: StreamReader) -> Iterator[None]:
        """While a chunked body is read: what is beside its data ends the connection where it is
        beyond the limit."""
        self._chunked, self._parsed = body, body.total_bytes
        try:
            yield
        finally:
            self._chunked = None

    def pause_reading(self) -> None:
        self._must_resume = True
        super().pause_reading()

    def resume_reading(self, *args: Any, **options: Any) -> None:
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
        self._stop_looking()
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
