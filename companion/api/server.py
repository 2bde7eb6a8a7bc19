"""The server: one loopback port, and the way of a request from the guard to its answer; knows no
single route.

    server = Server(settings)
    await server.start()            # on the loop that it is to run on
    server.url, server.token
    await server.stop()
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from dataclasses import dataclass, field
from typing import Any, Mapping, Sequence

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from ..agent.agent import Agent, Options
from ..agent.failure import INTERNAL_ERROR, AgentError
from ..agent.runner import Launch
from ..gate import Gate, Strangers
from ..log import logger
from . import state
from .audience import Audience
from .connection import Connection, as_request, body_of
from .exchange import Asked, Desk, Route, refused
from .files import Roots
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
from .texts import CHINESE, language_of

HOST = "127.0.0.1"
# Connections at a time that have shown the token.
MAX_CONNECTIONS = 128
# Seconds between two comments of a silent stream, and those in which a client of SSE may come back
# to its turn before that is cancelled.
HEARTBEAT, GRACE = 10.0, 5.0
# Seconds that connections get to finish when the server stops.
SHUTDOWN = 1.0
# Bytes from which a body is read as JSON in a thread of its own.
LARGE = 1 << 20
# What all answers have.
PLAIN = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


@dataclass(frozen=True)
class Settings:
    """What the operator decides. `agent` has the folder of the server's own state, too; it is made
    where it is missing. `roots` are existing folders, the first of them the workspace. `port` 0
    asks for any. `language` is for who does not say. `origins` are those of web pages that may talk
    to the server. `page` are the web page's files by name, where no folder has them: in a zip."""

    agent: Options
    roots: Sequence[str]
    port: int = 8080
    language: str = CHINESE
    origins: frozenset[str] = field(default_factory=frozenset)
    allows_commands: bool = False
    heartbeat: float = HEARTBEAT
    grace: float = GRACE
    page: Mapping[str, bytes] | None = None


def options(folder: str, launch: Launch, **others: Any) -> Options:
    """Those of an agent whose state lies in the server's `folder`."""
    return Options(launch, os.path.join(folder, "agent"), **others)


class Server:
    """Made anywhere; started, used and stopped on one loop."""

    def __init__(self, settings: Settings, folder: str) -> None:
        """`folder` is where the token is kept, and made where it is missing."""
        self.token = ""
        self.token_file = os.path.join(folder, state.TOKEN_FILE)
        self.port = 0
        self._settings = settings
        self._folder = folder
        self._table = Table(settings.page)
        self._strangers = Strangers()

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    async def start(self) -> None:
        """Listen; the agent is started when it is first needed. Raises OSError where the port or
        the folder cannot be had, and NotPrivate."""
        settings = self._settings
        state.prepare(self._folder)
        self.token = state.token_of(self._folder)
        # Made here, for asyncio would pass over the error that kept it from being made.
        listener = socket.create_server((HOST, settings.port))
        self.port = listener.getsockname()[1]
        self._guard = Guard(self.token, self.port, settings.origins)
        self.agent = Agent(settings.agent)
        self._audience = Audience(settings.grace)
        self._desk = Desk(
            self.agent,
            Roots(settings.roots),
            self._audience,
            settings.allows_commands,
            settings.heartbeat,
            settings.page,
        )
        # A client that leaves cancels its handler: so a turn knows at once that it is alone.
        self._server = web.Server(
            self._handle, request_factory=as_request, handler_cancellation=True
        )
        self._runner = web.ServerRunner(self._server, shutdown_timeout=SHUTDOWN)
        await self._runner.setup()
        self._acceptor = await asyncio.get_running_loop().create_server(
            lambda: Gate(self._strangers, Connection(self._server, settings.language)),
            sock=listener,
        )

    async def stop(self) -> None:
        """Take nobody any more, end the turns, the agent and what still runs, within about eight
        seconds."""
        self._acceptor.close()
        self._audience.close()
        await self.agent.stop()
        transports = [connection.transport for connection in self._server.connections]
        await self._runner.cleanup()
        # A client that reads nothing would keep its socket open beyond the end of the loop.
        for transport in filter(None, transports):
            transport.abort()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """The boundary of every request: nothing that happens inside reaches the library."""
        headers = {**PLAIN, **self._guard.cors(request.headers)}
        accepted = request.headers.get("Accept-Language", "")
        language = language_of(accepted, self._settings.language)
        try:
            return await self._answer(request, language, headers)
        except Refusal as refusal:
            return self._refuse(request, refusal, language, headers)
        except AgentError as error:
            return self._refuse(request, of_agent(error), language, headers)
        except (ConnectionError, HttpProcessingError):
            # The client left, or spoke no HTTP in the middle of its body: the library's business.
            raise
        except Exception:
            logger.exception("a request failed")
            return self._refuse(request, Refusal(INTERNAL_ERROR), language, headers)

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

    def _admit(self, request: web.BaseRequest) -> None:
        """The connection's client has the token: from now on its time is its own."""
        gate = request.transport.get_protocol() if request.transport is not None else None
        if not isinstance(gate, Gate):
            return
        if len(self._server.connections) - len(self._strangers) >= MAX_CONNECTIONS:
            raise Refusal(TOO_MANY)
        gate.open()

    def _preflight(
        self, request: web.BaseRequest, headers: Mapping[str, str]
    ) -> web.StreamResponse:
        more = {
            **self._guard.preflight(request.headers),
            "Allow": self._table.allowed(request.path),
        }
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
    body = json.dumps(value, ensure_ascii=False).encode("utf-8")
    return web.Response(status=status, body=body, content_type="application/json", headers=headers)
