"""The server: the agent and one loopback port before it, from start to stop; reads no request.

server = Server(settings, folder)
await server.start()            # on the loop that it is to run on
server.url, server.token
await server.stop()
"""

from __future__ import annotations

import asyncio
import os
import socket
from dataclasses import dataclass, field
from typing import Any, Mapping, Sequence

from aiohttp import web

from ..agent.agent import Agent, Options
from ..agent.runner import Launch
from ..base.admission import Gate, Strangers
from . import state, website
from .connection import Connection, as_request
from .dispatch import Dispatcher
from .exchange import Desk
from .files import Roots
from .guard import Guard
from .listeners import Audience
from .refusal import TOO_MANY, Refusal
from .routes import Table
from .texts import CHINESE

HOST = "127.0.0.1"
# Connections at a time that have shown the token; and as many that have not, for all of the former
# may be opened at the same moment.
MAX_CONNECTIONS = 128
# Seconds between two comments of a silent stream, and those in which a client of SSE may come back
# to its turn before that is cancelled.
HEARTBEAT, GRACE = 10.0, 5.0
# Seconds that connections get to finish when the server stops.
SHUTDOWN = 1.0


@dataclass(frozen=True)
class Settings:
    """What the operator decides. `agent` is made by `options`. `roots` are existing folders, the
    first of them the workspace. `port` 0 asks for any. `language` is for who does not say.
    `origins` are those of web pages that may talk to the server. `page` are the files of its own
    page by their names; None for those beside this module, which a packed package has not."""

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
    return Options(launch, os.path.join(folder, state.AGENT_FOLDER), **others)


class Server:
    """Made anywhere; started, used and stopped on one loop, once. `folder` is where the token is
    kept, and made where it is missing."""

    def __init__(self, settings: Settings, folder: str) -> None:
        self.token = ""
        self.token_file = os.path.join(folder, state.TOKEN_FILE)
        self.port = 0
        self._settings = settings
        self._folder = folder

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    async def start(self) -> None:
        """Listen; the agent is started when it is first needed. Raises OSError where the port or
        the folder cannot be had, and NotPrivate."""
        settings = self._settings
        state.check_apart(self._folder, settings.roots)
        state.prepare(self._folder)
        self.token = state.token_of(self._folder)
        self.agent = Agent(settings.agent)
        self._audience = Audience(settings.grace)
        # Made here, for asyncio would pass over the error that kept it from being made.
        listener = socket.create_server((HOST, settings.port))
        self.port = listener.getsockname()[1]
        self._strangers = Strangers(MAX_CONNECTIONS)
        # A client that leaves cancels its handler: so a turn knows at once that it is alone.
        self._server = web.Server(
            self._dispatcher().handle, request_factory=as_request, handler_cancellation=True
        )
        self._runner = web.ServerRunner(self._server, shutdown_timeout=SHUTDOWN)
        await self._runner.setup()
        self._acceptor = await asyncio.get_running_loop().create_server(
            lambda: Gate(self._strangers, Connection(self._server, settings.language)),
            sock=listener,
            backlog=MAX_CONNECTIONS,
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

    def _dispatcher(self) -> Dispatcher:
        settings = self._settings
        page = website.read() if settings.page is None else settings.page
        desk = Desk(
            self.agent,
            Roots(settings.roots),
            self._audience,
            page,
            settings.allows_commands,
            settings.heartbeat,
        )
        guard = Guard(self.token, self.port, settings.origins)
        return Dispatcher(Table(list(page)), guard, desk, settings.language, self._admit)

    def _admit(self, request: web.BaseRequest) -> None:
        """The connection's client has the token: from now on its time is its own."""
        gate = request.transport.get_protocol() if request.transport is not None else None
        if not isinstance(gate, Gate):
            return
        if len(self._server.connections) - len(self._strangers) >= MAX_CONNECTIONS:
            raise Refusal(TOO_MANY)
        gate.open()
