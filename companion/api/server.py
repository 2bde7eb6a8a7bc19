"""The server: an agent and the port in front of it, from start to stop. It reads no request itself.

server = Server(settings, folder)
await server.start()            # on the loop on which the server will run
server.url, server.token
await server.stop()
"""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Mapping, Sequence

from aiohttp import web

from ..agent.agent import Agent, Options
from ..agent.sentence import CHINESE
from ..base.connection_shares import MAX_CONNECTIONS, ConnectionShares
from ..base.http_server import JSON, HttpServer, end_with_client
from . import routes, state_folder
from .contract.refusal import NOT_HTTP
from .files import page_files
from .files.served_files import Roots
from .handlers.handler_types import Services, encode_json, refusal_envelope
from .handlers.listeners import Listeners
from .openai.kept_conversations import KeptConversations
from .openai.responses import KeptResponses
from .operations import metrics
from .operations.audit_log import AuditLog
from .operations.callers import Callers
from .operations.metrics import Metrics
from .operations.tickets import Tickets
from .operations.tokens import Tokens
from .operations.visible import Visible
from .serving.access import FULL, LOCAL, READ_ONLY, Access
from .serving.dispatch import Dispatcher
from .serving.guard import CALLERS, ApiGuard
from .serving.routing import Table

# Connections at a time that have not shown the token. As many as with it, because a program may
# open all of its connections at the same moment.
MAX_UNAUTHENTICATED = MAX_CONNECTIONS
# Connections that are kept for urgent requests, such as to cancel or to withdraw a token, and how
# many of them one token may have beside its others.
KEPT_URGENT, MORE_URGENT = 16, 4
# Seconds between two comments in a silent stream, and seconds that a client of SSE has to come back
# before its turn is cancelled.
HEARTBEAT, GRACE = 10.0, 5.0
# Seconds that connections get to finish when the server stops, so that clients hear how their turns
# end.
SHUTDOWN = 1.0


@dataclass(frozen=True)
class ServerSettings:
    """What the operator decides. `agent` are the options of the server's own agent, made by
    `state_folder.agent_options`, or an agent that is there already and outlives the server. `roots`
    are existing folders; the first one is the workspace. `port` 0 means any free port. `language`
    is for clients that ask for none. `origins` are those of web pages that may use the API. `page`
    has the files of the server's own page by name; None reads them from the checkout, which a
    packed package lacks. It `shows_chats` if its clients may know of the conversations that were
    begun in an editor's chat. `new_tokens` replaces the saved tokens."""

    agent: Options | Agent
    roots: Sequence[str]
    port: int = 8080
    language: str = CHINESE
    origins: frozenset[str] = field(default_factory=frozenset)
    allows_commands: bool = False
    allows_tools: bool = False
    heartbeat: float = HEARTBEAT
    grace: float = GRACE
    page: Mapping[str, bytes] | None = None
    shows_chats: bool = False
    access: Access = LOCAL
    new_tokens: bool = False


class PortRefused(OSError):
    """The system does not let the server listen at its port."""


class Server:
    """Can be created on any thread; is started, used and stopped on one loop, once. `folder` is
    created if it is missing, and keeps the token."""

    def __init__(self, settings: ServerSettings, folder: str) -> None:
        self.token = ""
        self.token_file = os.path.join(folder, state_folder.TOKEN_FILE)
        self.read_only_file = os.path.join(folder, state_folder.READ_ONLY_FILE)
        self.port = 0
        self._settings = settings
        self._folder = folder

    @property
    def url(self) -> str:
        """The server's URL for clients on this machine."""
        access = self._settings.access
        return f"{access.scheme}://{access.own_name()}:{self.port}"

    async def start(self) -> None:
        """Listen. The agent starts when it is first needed. Raises OSError if the port
        (PortRefused) or the folder cannot be used, and NotPrivate."""
        settings, access = self._settings, self._settings.access
        state_folder.check_apart(self._folder, settings.roots)
        state_folder.prepare_folder(self._folder)
        self._audit = AuditLog(access.audit_log) if access.audit_log else None
        lent = settings.agent
        self.agent = lent if isinstance(lent, Agent) else Agent(lent)
        listeners = self._listeners = Listeners(settings.grace)
        self._metrics = Metrics(self.agent, lambda: listeners.streams) if metrics.IS_THERE else None
        not_http = encode_json(refusal_envelope(NOT_HTTP, settings.language)), JSON
        shares = ConnectionShares(access.connections, MORE_URGENT, KEPT_URGENT)
        self._http = HttpServer(self._handle_request, not_http, MAX_UNAUTHENTICATED, shares=shares)
        async with AsyncExitStack() as failing:
            if self.agent is not lent:
                await self.agent.load_conversations()
                failing.push_async_callback(self.agent.stop)
            failing.callback(self._http.stop_accepting)
            self._tokens = self._kept_tokens()
            self._named = Tokens(os.path.join(self._folder, state_folder.NAMED_FILE), CALLERS)
            self._named.load(forget=self._settings.new_tokens)
            self.token = self._tokens[FULL]
            await self._start_listening()
            failing.pop_all()
        if self._metrics is not None:
            self._counting = asyncio.ensure_future(self._metrics.follow_turns())

    def _kept_tokens(self) -> dict[str, str]:
        """The tokens by name. Raises OSError."""
        files = {FULL: state_folder.TOKEN_FILE}
        if self._settings.access.has_read_only_token:
            files[READ_ONLY] = state_folder.READ_ONLY_FILE
        is_new = self._settings.new_tokens
        return {
            name: state_folder.token_of(self._folder, file, is_new) for name, file in files.items()
        }

    async def _start_listening(self) -> None:
        """Raises PortRefused."""
        access, port = self._settings.access, self._settings.port
        tls = access.certificate.context if access.certificate is not None else None
        try:
            self.port = await self._http.start(port, SHUTDOWN, access.address, tls)
        except OSError as error:
            raise PortRefused(error.errno, error.strerror) from error
        self._dispatcher = self._make_dispatcher()

    async def _handle_request(self, request: web.BaseRequest) -> web.StreamResponse:
        # A client that has gone needs no answer, and its request may take long.
        end_with_client(request)
        return await self._dispatcher.handle_request(request)

    async def drain(self, seconds: float) -> None:
        """Refuse new turns from now on, and wait at most that many seconds until the running ones
        have ended. Everything else continues until `stop`."""
        self.agent.outbox.is_closed = True
        await self.agent.turns.wait_until_idle(seconds)

    async def stop(self) -> None:
        """Refuse new connections, and end the turns, the server's own agent and all other requests
        within about eight seconds. Of an agent that was there already, the turns are ended that
        need a listener."""
        self._http.stop_accepting()
        self._listeners.close()
        try:
            await self._dispatcher.close()
            await self._kept.close()
            if self.agent is self._settings.agent:
                await self.agent.turns.end_attended()
            else:
                await self.agent.stop()
        finally:
            if self._metrics is not None:
                self._counting.cancel()
            await self._http.stop()
        if self._audit is not None:
            await self._audit.write_all()

    def _make_dispatcher(self) -> Dispatcher:
        settings, access = self._settings, self._settings.access
        page = page_files.read_page_files() if settings.page is None else settings.page
        roots = Roots(settings.roots)
        self._kept = KeptConversations(self.agent, roots.resolve_folder(""))
        services = Services(
            self.agent,
            Visible(self.agent, settings.shows_chats),
            roots,
            self._kept,
            KeptResponses(),
            self._named,
            Tickets(),
            self._listeners,
            self._metrics,
            page,
            settings.allows_commands,
            settings.allows_tools,
            settings.heartbeat,
            lambda: self._http.has_room,
        )
        guard = ApiGuard(self._tokens, self._named, self.port, settings.origins, access)
        must_know = access.rate_limit or access.audit_log
        callers = Callers(access.proxies, access.rate_limit) if must_know else None
        table = Table((*routes.API, *routes.page_routes(list(page))))
        return Dispatcher(
            table, guard, callers, self._audit, services, settings.language, self._http
        )
