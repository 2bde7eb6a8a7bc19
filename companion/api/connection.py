"""Connections of the library's HTTP server, and the bodies that come over them, within limits;
knows no route."""

from __future__ import annotations

import asyncio
import logging
import math

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from ..agent.failure import VALIDATION_ERROR
from ..base.log import logger
from .exchange import encoded, refused
from .refusal import REQUEST_TIMEOUT, TOO_LARGE, UNSUPPORTED_MEDIA_TYPE, Refusal
from .schemas import MAX_FILE

# Bytes of a body: the largest file that may be written, every letter of it escaped.
MAX_BODY = 6 * MAX_FILE + (1 << 20)
# Seconds for a body to come in whole.
BODY_TIME = 30.0
# Seconds that a connection may idle between requests.
IDLE = 75.0
# Seconds in which a client has to take something of an answer that waits for it; what the kernel
# holds for it, a few megabytes, is told of in large pieces only.
STALLED = 60.0
JSON = "application/json"
# What libraries call a body that is none.
UNNAMED = ("", "application/octet-stream")


def _is_worth_a_line(record: logging.LogRecord) -> bool:
    """What is no HTTP is its sender's fault; the library would quote it, with any token in it."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, HttpProcessingError)


_http_logger = logger.getChild("api.http")
_http_logger.addFilter(_is_worth_a_line)


class Connection(web.RequestHandler):
    """Answers what is no HTTP in the envelope of all answers, and does not quote it. Ends where its
    client takes nothing of an answer."""

    def __init__(self, server: web.Server, language: str) -> None:
        super().__init__(
            server,
            loop=asyncio.get_running_loop(),
            auto_decompress=False,
            access_log=None,  # type: ignore[arg-type]
            keepalive_timeout=IDLE,
            logger=_http_logger,
        )
        self._language = language
        self._watch: asyncio.TimerHandle | None = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._look_no_more()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._look_no_more()
        super().connection_lost(exc)

    def _look(self, before: float = math.inf) -> None:
        """Look from time to time whether less waits than `before`, in bytes."""
        transport = self.transport
        if transport is None:
            return
        waiting = transport.get_write_buffer_size()
        if waiting >= before:
            transport.abort()
            return
        self._watch = asyncio.get_running_loop().call_later(STALLED, self._look, waiting)

    def _look_no_more(self) -> None:
        if self._watch is not None:
            self._watch.cancel()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        response = super().handle_error(request, status, exc, "")
        if isinstance(response, web.Response) and status < 500:
            envelope = refused(Refusal(VALIDATION_ERROR, "no_http"), self._language)
            response.body = encoded(envelope)
            response.content_type = JSON
        return response


def as_request(message, payload, protocol, writer, task):  # type: ignore[no-untyped-def]
    return web.BaseRequest(
        message,
        payload,
        protocol,
        writer,
        task,
        asyncio.get_running_loop(),
        # Older versions of the library refuse a body of exactly this size, newer ones do not.
        client_max_size=MAX_BODY + 1,
    )


async def body_of(request: web.BaseRequest) -> bytes:
    """The whole body, which has to be JSON where there is one. Raises Refusal."""
    is_empty = request.content_length in (None, 0) and request.content.is_eof()
    kind = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    # A page of another origin can send texts and forms without asking first, and empty ones, too.
    if kind != JSON and not (is_empty and kind in UNNAMED):
        raise Refusal(UNSUPPORTED_MEDIA_TYPE)
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise Refusal(UNSUPPORTED_MEDIA_TYPE)
    if request.content_length is not None and request.content_length > MAX_BODY:
        raise Refusal(TOO_LARGE, limit=MAX_BODY)
    if request.headers.get("Expect", "").lower() == "100-continue" and request.transport:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    try:
        return await asyncio.wait_for(request.read(), BODY_TIME)
    except web.HTTPRequestEntityTooLarge:
        raise Refusal(TOO_LARGE, limit=MAX_BODY) from None
    except (ConnectionError, HttpProcessingError):
        # The client left, which is no failure of ours, and nobody reads this; or its body was not
        # in the form that its headers said.
        raise Refusal(VALIDATION_ERROR, "no_http") from None
    except asyncio.TimeoutError:
        raise Refusal(REQUEST_TIMEOUT, seconds=f"{BODY_TIME:g}") from None
