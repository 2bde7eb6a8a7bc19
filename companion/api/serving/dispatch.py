"""Takes a request from the guard to its answer, and turns every error into an answer. Knows no
single route."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Mapping

from aiohttp import web

from ...agent.failure import INTERNAL_ERROR, AgentError
from ...base import http_server
from ...base.connection import SERVER
from ...base.http_server import BAD_TOKEN, JSON, HttpServer, Refused
from ...base.jsonrpc import RpcError
from ...base.large_json import json_pieces
from ...base.log import logger
from ...base.memory_budget import MemoryBudget, MemoryShare
from ..contract.answer_texts import language_of
from ..contract.refusal import (
    METHOD_NOT_ALLOWED,
    UNAUTHORIZED,
    UNSUPPORTED_MEDIA_TYPE,
    Refusal,
    no_json,
    of_agent,
    of_server,
)
from ..contract.route import Route
from ..contract.schemas import BYTES, MAX_FILE, MULTIPART
from ..contract.scopes import ANY, OPEN
from ..handlers.event_stream import LAST_SEEN
from ..handlers.handler_types import Handler, Inputs, Services, refusal_envelope
from ..openai import errors
from ..operations import audit_log, json_log, tickets
from ..operations.audit_log import AuditLog
from ..operations.callers import Callers
from ..operations.tokens import NOBODY, Caller
from . import once
from .guard import CALLERS, ApiGuard
from .routing import RouteMatch, Table

# The most bytes of a body: the largest file, with every character escaped.
MAX_BODY = 6 * MAX_FILE + (1 << 20)
# The most bytes of large bodies and answers at a time: two of the largest bodies, or the answers
# with a dozen files.
MAX_MEMORY = 128 << 20
# The paths for clients of OpenAI's API.
OPENAI = "/v1/"
# The Content-Type that libraries set when there is no body.
UNNAMED = ("", BYTES)
# Headers of all answers.
PLAIN = {
    **SERVER,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True)
class Exchange:
    """A request with what it asks for; and the language and the headers of its answer."""

    request: web.BaseRequest
    asked: RouteMatch
    language: str
    headers: dict[str, str]


class Dispatcher:
    """`language` is for clients that ask for none. `audit` is None if no log is kept, `callers` if
    nobody needs to know them."""

    def __init__(
        self,
        table: Table,
        guard: ApiGuard,
        callers: Callers | None,
        audit: AuditLog | None,
        services: Services,
        language: str,
        server: HttpServer,
    ) -> None:
        self._table = table
        self._guard = guard
        self._callers = callers
        self._audit = audit
        self._services = services
        self._language = language
        self._server = server
        self._memory = MemoryBudget(MAX_MEMORY)
        self._once = once.IdempotentRequests()

    async def close(self) -> None:
        """End the requests that outlive their clients."""
        await self._once.close()

    async def handle_request(self, request: web.BaseRequest) -> web.StreamResponse:
        """The boundary of every request: no exception leaves it."""
        id = json_log.begin_request(request.headers.get(json_log.HEADER, ""))
        asked = self._table.match_request(request.method, request.path)
        accepted = request.headers.get("Accept-Language", "")
        headers = {**PLAIN, json_log.HEADER: id, **self._guard.headers_for(request.headers)}
        exchange = Exchange(request, asked, language_of(accepted, self._language), headers)
        # Open routes are asked all the time, and reveal nothing.
        if self._audit is None or asked.is_open or request.method == "OPTIONS":
            return await self._handle_exchange(exchange)
        with self._audit.record_entry(id):
            method, route = asked.name
            audit_log.note_members(method=method, route=route)
            answer = await self._handle_exchange(exchange)
            audit_log.note_members(status=answer.status)
            return answer

    async def _handle_exchange(self, exchange: Exchange) -> web.StreamResponse:
        try:
            with MemoryShare(self._memory) as memory:
                answer = await self._answer_or_refuse(exchange, memory)
        except Exception:
            logger.exception("a request failed")
            answer = await self._refuse_exchange(exchange, Refusal(INTERNAL_ERROR))
        if self._services.metrics is not None:
            self._services.metrics.count_answer(*exchange.asked.name, answer.status)
        return answer

    async def _answer_or_refuse(
        self, exchange: Exchange, memory: MemoryShare
    ) -> web.StreamResponse:
        try:
            return await self._answer_exchange(exchange, memory)
        except Refusal as refusal:
            return await self._refuse_exchange(exchange, refusal)
        except Refused as refused:
            return await self._refuse_exchange(exchange, of_server(refused, MAX_BODY))
        except AgentError as error:
            return await self._refuse_exchange(exchange, of_agent(error))

    async def _answer_exchange(self, exchange: Exchange, memory: MemoryShare) -> web.StreamResponse:
        request, language, headers = exchange.request, exchange.language, exchange.headers
        caller = await self._find_caller(request)
        if request.method == "OPTIONS":
            more = self._guard.preflight_headers(request.headers)
            return web.Response(status=204, headers={**headers, **more})
        route = self._find_route(exchange, caller)
        end = partial(_abort_connection, request)
        # A body may take minutes, in which its token is withdrawn.
        with self._services.tokens.track_request(caller, end):
            fields = await _read_fields(request, route, exchange.asked.fields, memory)
            if "sessionId" in fields:
                audit_log.note_members(sessionId=fields["sessionId"])
                await self._services.agent.refresh_conversation(fields["sessionId"])
                self._services.visible.check_visible(fields["sessionId"])
        caller.check_scopes(*(scope for name, scope in route.narrower.items() if name in fields))
        inputs = Inputs(fields, language, headers, request, memory, caller, end)
        if _is_once(request, route):
            return await self._once.answer_request(route, self._services, inputs)
        with self._services.tokens.track_request(caller, end):
            answer = await route.handler(self._services, inputs)
        if isinstance(answer, web.StreamResponse):
            return answer
        return await _send_json(exchange, 200, answer.envelope(language), {}, route.compresses)

    async def _find_caller(self, request: web.BaseRequest) -> Caller:
        """Who asks. Raises Refused, RateLimited."""
        caller = await self._guard.caller_of(request.headers)
        if caller == NOBODY and request.method == "GET" and tickets.FIELD in request.query:
            caller = self._with_ticket(request)
        if self._callers is not None:
            self._callers.count_request(caller.name, request)
        self._guard.check_place(request.raw_path, request.headers)
        return caller

    def _with_ticket(self, request: web.BaseRequest) -> Caller:
        """Who got the ticket, if their token still works."""
        caller = self._services.tickets.redeem_ticket(request.query[tickets.FIELD], request.path)
        return (
            caller if caller.id in CALLERS or self._services.tokens.has_token_of(caller) else NOBODY
        )

    def _find_route(self, exchange: Exchange, caller: Caller) -> Route[Handler]:
        """The route, if the caller may use it. Raises Refused, Refusal."""
        request, asked = exchange.request, exchange.asked
        # Without a token, a client must not learn which other routes exist.
        if not asked.is_open:
            if caller == NOBODY:
                raise Refused(BAD_TOKEN)
        route = asked.route
        if route is not None and route.scope not in (OPEN, ANY):
            caller.check_scopes(route.scope)
        if not asked.is_open:
            self._server.admit_request(request, caller.id, route is not None and route.is_urgent)
        if route is None:
            raise self._table.route_refusal(request.path)
        return route

    async def _refuse_exchange(self, exchange: Exchange, refusal: Refusal) -> web.StreamResponse:
        path = exchange.request.path
        more: dict[str, str] = {}
        if refusal.code == METHOD_NOT_ALLOWED:
            more["Allow"] = self._table.allowed_methods(path)
        elif refusal.code == UNAUTHORIZED:
            more["WWW-Authenticate"] = "Bearer"
        elif refusal.retry_after:
            more["Retry-After"] = str(refusal.retry_after)
        made = errors.error_answer if path.startswith(OPENAI) else refusal_envelope
        return await _send_json(exchange, refusal.status, made(refusal, exchange.language), more)


async def _read_fields(
    request: web.BaseRequest, route: Route[Handler], in_path: Mapping[str, str], memory: MemoryShare
) -> Mapping[str, Any]:
    """The checked fields of the request. Raises Refusal and Refused."""
    if route.method in ("GET", "DELETE"):
        return route.form.of_query([*in_path.items(), *request.query.items()])
    is_empty = request.content_length in (None, 0) and request.content.is_eof()
    kind = http_server.media_type(request)
    if route.uploads:
        # The handler reads the form.
        if kind != MULTIPART:
            raise Refusal(UNSUPPORTED_MEDIA_TYPE, "no_multipart")
        return route.form.of_query([*in_path.items(), *request.query.items()])
    # A page of another origin can send texts, forms and empty bodies without asking first.
    if kind != JSON and not (is_empty and kind in UNNAMED):
        raise Refusal(UNSUPPORTED_MEDIA_TYPE)
    if is_empty:
        return route.form.check_fields(dict(in_path))
    try:
        body = await http_server.read_json(request, MAX_BODY, memory)
        return route.form.check_fields({**body, **in_path} if isinstance(body, dict) else body)
    except RpcError as error:
        raise no_json(error.message) from None


def _is_once(request: web.BaseRequest, route: Route[Handler]) -> bool:
    """Whether the request is to be done once, however often it is sent. One for a stream that names
    an event goes on with it, and begins nothing."""
    headers = request.headers
    goes_on = route.streams and LAST_SEEN in headers
    return once.HEADER in headers and route.method != "GET" and not goes_on


def _abort_connection(request: web.BaseRequest) -> None:
    """End the connection of a request that is being answered."""
    if request.transport is not None:
        request.transport.abort()


async def _send_json(
    exchange: Exchange,
    status: int,
    value: Mapping[str, Any],
    more: Mapping[str, str],
    may_compress: bool = False,
) -> web.StreamResponse:
    """Answer with the value as JSON; `more` are headers of this answer alone."""
    head = {"Content-Type": JSON, **exchange.headers, **more}
    return await http_server.send_pieces(
        exchange.request, status, head, json_pieces(value), may_compress
    )
