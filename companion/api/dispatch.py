"""The way of a request from the guard to its answer, whatever happens; knows no single route."""

from __future__ import annotations

import asyncio
from typing import Any, Callable, Mapping

from aiohttp import web

from ..agent.failure import INTERNAL_ERROR, AgentError
from ..base.log import logger
from .connection import body_of
from .exchange import Asked, Desk, Route, encoded, refused
from .guard import Guard
from .refusal import (
    METHOD_NOT_ALLOWED,
    REQUEST_TIMEOUT,
    TOO_LARGE,
    TOO_MANY,
    UNAUTHORIZED,
    Refusal,
    of_agent,
)
from .routes import Table
from .texts import language_of

# Bytes from which a body is read as JSON in a thread of its own.
LARGE = 1 << 20
# What all answers have.
PLAIN = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


class Dispatcher:
    """`admit` is called with each request that has the token, and may raise Refusal. `language` is
    for clients that do not say theirs."""

    def __init__(
        self,
        table: Table,
        guard: Guard,
        desk: Desk,
        language: str,
        admit: Callable[[web.BaseRequest], None],
    ) -> None:
        self._table = table
        self._guard = guard
        self._desk = desk
        self._language = language
        self._admit = admit

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """The boundary of every request: nothing that happens inside reaches the library."""
        headers = {**PLAIN, **self._guard.cors(request.headers)}
        accepted = request.headers.get("Accept-Language", "")
        language = language_of(accepted, self._language)
        try:
            return await self._answer_or_refuse(request, language, headers)
        except Exception:
            logger.exception("a request failed")
            return self._refuse(request, Refusal(INTERNAL_ERROR), language, headers)

    async def _answer_or_refuse(
        self, request: web.BaseRequest, language: str, headers: Mapping[str, str]
    ) -> web.StreamResponse:
        try:
            return await self._answer(request, language, headers)
        except Refusal as refusal:
            return self._refuse(request, refusal, language, headers)
        except AgentError as error:
            return self._refuse(request, of_agent(error), language, headers)

    async def _answer(
        self, request: web.BaseRequest, language: str, headers: Mapping[str, str]
    ) -> web.StreamResponse:
        self._guard.check_place(request.headers)
        if request.method == "OPTIONS":
            return self._preflight(request, headers)
        # Who has no token learns of the open routes only.
        if not self._table.is_open(request.method, request.path):
            self._guard.check_token(request.headers)
            self._admit(request)
        route, in_path = self._table.find(request.method, request.path)
        asked = Asked(await _fields(request, route, in_path), language, headers, request)
        answer = await route.handler(self._desk, asked)
        if isinstance(answer, web.StreamResponse):
            return answer
        return _json(200, answer.envelope(language), headers)

    def _preflight(
        self, request: web.BaseRequest, headers: Mapping[str, str]
    ) -> web.StreamResponse:
        more = self._guard.preflight(request.headers)
        return web.Response(status=204, headers={**headers, **more})

    def _refuse(
        self,
        request: web.BaseRequest,
        refusal: Refusal,
        language: str,
        headers: Mapping[str, str],
    ) -> web.Response:
        more = {}
        if refusal.code == METHOD_NOT_ALLOWED:
            more["Allow"] = self._table.allowed(request.path)
        elif refusal.code == UNAUTHORIZED:
            more["WWW-Authenticate"] = "Bearer"
        response = _json(refusal.status, refused(refusal, language), {**headers, **more})
        if refusal.code in (REQUEST_TIMEOUT, TOO_LARGE, TOO_MANY):
            # What comes next on this connection could be anything.
            response.force_close()
        return response


async def _fields(
    request: web.BaseRequest, route: Route, in_path: Mapping[str, str]
) -> Mapping[str, Any]:
    """What is asked, checked. Raises Refusal."""
    if route.method == "GET":
        return route.form.of_query([*in_path.items(), *request.query.items()])
    body = await body_of(request)
    if len(body) < LARGE:
        return route.form.read(body)
    return await asyncio.get_running_loop().run_in_executor(None, route.form.read, body)


def _json(status: int, value: Mapping[str, Any], headers: Mapping[str, str]) -> web.Response:
    body = encoded(value)
    return web.Response(status=status, body=body, content_type="application/json", headers=headers)
