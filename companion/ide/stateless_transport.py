"""MCP 2026-07-28 over HTTP: each request stands for itself, and the answer to
`subscriptions/listen` is a stream.

Source: MCP 2026-07-28, "Streamable HTTP" and "Subscriptions".
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Awaitable, Callable, Iterable, NamedTuple

from aiohttp.web_request import BaseRequest
from aiohttp.web_response import StreamResponse

from ..base import http_server
from ..base.jsonrpc import INVALID_PARAMS, Request, RpcError, encode_result, kind_of_value
from ..base.large_json import encode_in_pieces
from . import answers, mcp, stateless
from .answers import HttpRefusal
from .clis import Cli
from .mcp_tables import unknown_method
from .session import Notifiable, Session
from .sessions import Sessions, TooManyNames
from .stateless import CheckedRequest, Head, Results
from .subscriptions import Subscription, TooManySubscriptions

LISTEN = "subscriptions/listen"
# The most characters of the id of a stream.
MAX_ID = 1000
# The headers that repeat parts of the body, in the order of Head.
REPEATED = ("MCP-Protocol-Version", "Mcp-Method", "Mcp-Name")


class McpServer(NamedTuple):
    """One server of MCP: its `methods`, what is added to its `results`, whether it `has_news` for
    those who listen, whether a request `needs_session`, and what does the work."""

    methods: Iterable[str]
    results: Results
    has_news: bool
    needs_session: Callable[[Request], bool]
    handle: Callable[[Request, Session | None], Awaitable[bytes | None]]


def request_head(request: BaseRequest) -> Head:
    return Head(*(tuple(request.headers.getall(name, ())) for name in REPEATED))


class StatelessTransport:
    """`on_stream` is called when a session has a new stream. `safely` gives the answer to a request
    whose work fails, too."""

    def __init__(
        self,
        sessions: Sessions,
        on_stream: Callable[[Session], None],
        safely: Callable[[Request, Awaitable[bytes | None]], Awaitable[bytes | None]],
    ) -> None:
        self._sessions = sessions
        self._on_stream = on_stream
        self._safely = safely

    async def answer_request(
        self, request: BaseRequest, cli: Cli, call: CheckedRequest | None, server: McpServer
    ) -> StreamResponse:
        """None is a notification, which needs no answer. Raises RpcError, Refusal."""
        if call is None:
            return await answers.send_answer(request, None)
        asked = call.request
        if asked.method == LISTEN:
            return await self._answer_listen(request, cli, call, server)
        if asked.method not in server.methods:
            error = unknown_method(asked.method, (*server.methods, LISTEN), asked.id)
            return http_server.small_answer(404, answers.JSON, error.encode())
        session = None
        if server.needs_session(asked):
            if call.asker is None:
                raise stateless.missing_extension(asked.id)
            session = self._named_session(call, cli)
        body = await self._safely(asked, server.handle(asked, session))
        return await answers.send_answer(request, body)

    def _named_session(self, call: CheckedRequest, cli: Cli) -> Session | None:
        """The session of a client that gives itself a name. Raises Refusal."""
        if call.asker is None:
            return None
        id, client = call.asker.session_id(cli.id), mcp.client_of(call.client)
        try:
            return self._sessions.named_session(id, stateless.VERSION, client, cli)
        except TooManyNames:
            raise HttpRefusal(503, "Expected fewer clients with names of their own.") from None

    async def _answer_listen(
        self, request: BaseRequest, cli: Cli, call: CheckedRequest, server: McpServer
    ) -> StreamResponse:
        answers.check_events(request)
        id, wanted = call.request.id, call.request.params.get("notifications")
        if isinstance(id, str) and len(id) > MAX_ID:
            # It is kept, and sent with each notification.
            raise RpcError(INVALID_PARAMS, f"Expected an id of at most {MAX_ID} characters.")
        if not isinstance(wanted, dict):
            sentence = f'Expected "notifications" to be an object; got {kind_of_value(wanted)}.'
            raise RpcError(INVALID_PARAMS, sentence, id)
        session = self._named_session(call, cli) if server.has_news else None
        subscriptions = self._sessions.subscriptions
        try:
            known = wanted if server.has_news else {}
            subscription = subscriptions.open_subscription(
                id, known, session.id if session is not None else ""
            )
        except TooManySubscriptions:
            raise HttpRefusal(503, "Expected fewer streams at a time.") from None
        try:
            if not server.has_news:
                subscription.end()
            return await self._send_stream(
                subscription, request, cli, server.results.closing_result(id)
            )
        finally:
            self._announce_stream(subscriptions.close_subscription(subscription))

    async def _send_stream(
        self, subscription: Subscription, request: BaseRequest, cli: Cli, closing: bytes
    ) -> StreamResponse:
        """`closing` is the result that ends the stream in order."""
        http_server.end_with_client(request)
        subscription.peer = answers.peer_port(request)

        def frame_value(value: Notifiable) -> bytes:
            return _tagged_event(subscription, *value.notification(cli))

        response = StreamResponse(headers={**answers.STREAM, "X-Accel-Buffering": "no"})
        # A client that leaves is not a failure; what it did not read stays in its session.
        with suppress(ConnectionError, asyncio.TimeoutError):
            await response.prepare(request)
            params = {"notifications": subscription.honored_filter}
            await response.write(
                _tagged_event(subscription, "notifications/subscriptions/acknowledged", params)
            )
            self._announce_stream(self._sessions.subscriptions.carry_session(subscription))
            await answers.pump_stream(subscription, frame_value, request, response)
            await response.write(_frame_event(encode_result(subscription.id, closing)))
        return response

    def _announce_stream(self, session: Session | None) -> None:
        """A stream has begun to carry the events of that session, if it is one."""
        if session is not None:
            self._on_stream(session)


def _tagged_event(subscription: Subscription, method: str, params: dict[str, Any]) -> bytes:
    """The bytes of a notification that says which subscription it belongs to."""
    told = {**params, "_meta": {stateless.SUBSCRIPTION_ID: subscription.id}}
    return _frame_event(encode_in_pieces({"jsonrpc": "2.0", "method": method, "params": told}))


def _frame_event(message: bytes) -> bytes:
    return b"event: message\ndata: %b\n\n" % message
