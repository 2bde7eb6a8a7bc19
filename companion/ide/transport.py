"""MCP's Streamable HTTP: routes, sessions and event streams on one loopback port.

Source: MCP "Streamable HTTP", and docs/protocol.md 3. POST is answered with JSON, the GET stream
carries all notifications (docs/adr/0004). In MCP 2026-07-28 each request stands for itself, and the
answer to `subscriptions/listen` is a stream.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, AsyncIterator, Awaitable, Callable, NamedTuple

from aiohttp.web_request import BaseRequest
from aiohttp.web_response import Response, StreamResponse

from ..base import connection_shares, http_server
from ..base.connection import SERVER
from ..base.http_server import Guard, HttpServer, Refused, small_answer
from ..base.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    Id,
    Message,
    Request,
    RpcError,
    encode_json,
    encode_result,
    load_json,
    messages_in,
)
from ..base.log import logger
from ..base.memory_budget import MemoryBudget, MemoryShare
from . import answers, editor_tools, mcp, stateless, stateless_transport
from .answers import HttpRefusal
from .clis import CLIS, Cli
from .editor_tools import EditorTools
from .hooks import extension_transport
from .hooks.extension_transport import BodyLimits, ExtensionTransport
from .hooks.hook_desk import HookDesk
from .session import Session
from .sessions import Sessions, UnknownSession
from .stateless import Head
from .stateless_transport import McpServer, StatelessTransport

# At HOOKS asked the extension of earlier versions.
PATH, HOOKS, TOOLS = "/mcp", "/hooks", "/tools"
# By path, what may be asked there.
METHODS = {PATH: ("POST", "GET", "DELETE"), HOOKS: ("POST",), TOOLS: ("POST",)}
# The most bytes of a request body: an openDiff of any file passes, because a refusal would end the
# CLI's connection for good (docs/protocol.md 3.30). The API allows less, because it writes bodies.
MAX_BODY = 256 * 1024 * 1024
# From this many bytes of a body, long strings are truncated: no larger text is compared.
LARGE = 64 * 1024 * 1024
# The most bytes of large bodies that are in memory at a time.
MAX_MEMORY = 64 * 1024 * 1024
# The names by which a client on this machine, or in a container on it, reaches a loopback server.
HOST_NAMES = ("127.0.0.1", "localhost", "[::1]", "host.docker.internal")
# The most connections without the token at a time: a CLI sends it with its first request. The API
# allows more, for programs that open all their connections at the same time.
MAX_UNAUTHENTICATED = 32
# Milliseconds after which a client comes back to a stream that ended; it tries at most twice
# (docs/protocol.md 3.22). If nobody keeps the port meanwhile (base/socket_handover.py), as on
# Windows or while the editor restarts, the package has to serve again by then.
RETRY = 1500
# Seconds that connections get to finish when the server stops; the editor's exit waits for them.
SHUTDOWN = 0.2
NO_SESSION = "Expected an Mcp-Session-Id header, or an initialize request first."
ENDED_SESSION = "Expected the id of a live session; initialize a new one."

_NOT_HTTP = (b"Expected a request of HTTP/1.1.\n", "text/plain")


def _refusal_sentence(reason: str) -> str:
    """The sentences for the server's refusals."""
    return {
        http_server.BAD_HOST: "Expected a Host header that names this server by its loopback name.",
        http_server.BAD_ORIGIN: "Expected no Origin header: web pages may not talk to this server.",
        http_server.BAD_TOKEN: "Expected the bearer token of the discovery file.",
        http_server.BAD_ENCODING: "Expected a body without Content-Encoding.",
        http_server.BAD_BODY: "Expected the whole body.",
        http_server.LATE_BODY: "Expected the whole body within"
        f" {http_server.BODY_TIME:.0f} seconds.",
        http_server.LARGE_BODY: f"Expected at most {MAX_BODY} bytes.",
        http_server.MANY_VALUES: "Expected fewer values beside the text of a file.",
        http_server.CHUNKS: "Expected a body in larger chunks, with few trailers.",
        http_server.CROWDED: f"Expected at most {connection_shares.MAX_CONNECTIONS} connections"
        " at a time.",
        http_server.BUSY: "Expected fewer large requests at a time.",
    }[reason]


class Examined(NamedTuple):
    """What the head of a request says: the kind of CLI that asks, and what it repeats of the body
    in MCP 2026-07-28, or in a version that is not known; None in the older ones."""

    cli: Cli
    head: Head | None


class MessageAnswers:
    """Answers the messages to the server of the companion, whose tools `desk` has, and to the
    server `editor`, which has `tools`."""

    def __init__(self, desk: mcp.Desk, tools: EditorTools) -> None:
        self._desk = desk
        self._tools = tools

    async def answer_for_tools(self, value: Any) -> bytes | None:
        """The answer of the server `editor`. Raises RpcError."""
        message = messages_in(value)
        if isinstance(message, list):
            raise RpcError(INVALID_REQUEST, f"Expected one message; {TOOLS} takes no batches.")
        if isinstance(message, Request):
            stateless.refuse_disguised(message)
        return await self.answer_safely(message, editor_tools.handle_message(message, self._tools))

    async def answer_for_companion(
        self, message: Message | list[Message | RpcError], session: Session
    ) -> bytes | None:
        """The answer of the companion. Raises RpcError."""
        if isinstance(message, list):
            return await self._answer_batch(message, session)
        return await self.answer_safely(message, mcp.handle_message(message, self._desk, session))

    async def answer_safely(self, message: Message, work: Awaitable[bytes | None]) -> bytes | None:
        """The boundary of every message: a bug here costs one answer and not the connection, which
        any status except 2xx would end for good (docs/protocol.md 3.20)."""
        try:
            return await work
        except Exception:
            logger.exception("a message failed")
            return _internal_error(message.id).encode() if isinstance(message, Request) else None

    async def _answer_batch(
        self, messages: list[Message | RpcError], session: Session
    ) -> bytes | None:
        if session.protocol_version != mcp.BATCH_VERSION:
            raise RpcError(
                INVALID_REQUEST,
                f"Expected one message; MCP {session.protocol_version} has no batches.",
            )
        replies = []
        for message in messages:
            if isinstance(message, RpcError):
                replies.append(message.encode())
            else:
                reply = await self.answer_for_companion(message, session)
                replies.extend([] if reply is None else [reply])
        return b"[" + b",".join(replies) + b"]" if replies else None


class Endpoint:
    """The MCP servers of one window: the token, from which each CLI gets its own; the companion's
    sessions, and the desk that does the work of its tools; the tools of the server `editor`, which
    has no sessions; and the hooks.

    `on_stream` is called when a session has a new stream, to put the present context on it.
    `address` is that of another interface to listen on; if that fails, `tell` gets a sentence for
    the user.
    """

    def __init__(
        self,
        token: str,
        sessions: Sessions,
        desk: mcp.Desk,
        hooks: HookDesk,
        tools: EditorTools,
        on_stream: Callable[[Session], None],
        address: str = "",
        tell: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        self._token = token
        self._sessions = sessions
        self._hooks = hooks
        self._answers = MessageAnswers(desk, tools)
        self._on_stream = on_stream
        self._address = address
        self._tell = tell
        self._memory = MemoryBudget(MAX_MEMORY)
        limits = BodyLimits(MAX_BODY, LARGE, self._memory)
        self._extension = ExtensionTransport(hooks, self._answers.answer_for_tools, limits)
        self._stateless = StatelessTransport(sessions, on_stream, self._answers.answer_safely)
        self._servers = {
            PATH: McpServer(
                mcp.STATELESS_METHODS,
                mcp.RESULTS,
                True,
                mcp.needs_session,
                lambda request, session: mcp.handle_stateless(request, desk, session),
            ),
            # Its tools never change.
            TOOLS: McpServer(
                editor_tools.STATELESS_METHODS,
                editor_tools.RESULTS,
                False,
                lambda request: False,
                lambda request, session: editor_tools.handle_stateless(request, tools),
            ),
        }

    @property
    def key(self) -> str:
        """The key of the CLIs' extension."""
        return self._extension.key

    @asynccontextmanager
    async def listen_on(self, port: int = 0) -> AsyncIterator[int]:
        """Serve on 127.0.0.1 for as long as the block runs; gives the port (0 asks for any).

        Raises OSError if the port is not available.
        """
        self._server = HttpServer(self._handle_request, _NOT_HTTP, MAX_UNAUTHENTICATED)
        port = await self._server.start(port, SHUTDOWN)
        try:
            tokens = [cli.token(self._token) for cli in CLIS]
            self._guard = Guard(tokens, port, [*HOST_NAMES, *await self._listen_also(port)])
            self._port = port
            yield port
        finally:
            self._server.stop_accepting()
            self._sessions.end_all()
            await self._server.stop()

    def hand_over(self) -> None:
        """Call this before the end: new connections then go to the next endpoint of this process on
        the same port."""
        self._server.hand_over()

    async def _listen_also(self, port: int) -> list[str]:
        """The name by which a client may call the other interface, if there is one."""
        if not self._address:
            return []
        try:
            await self._server.listen_also(self._address, port)
        except OSError as error:
            sentence = (
                f'"extra_bind_address": nothing listens on {self._address}, port {port}'
                f" ({error.strerror})."
            )
            logger.error("%s", sentence)
            self._tell(sentence)
        return [f"[{self._address}]" if ":" in self._address else self._address]

    async def _handle_request(self, request: BaseRequest) -> StreamResponse:
        """The boundary of every request: no exception from inside reaches the library."""
        try:
            if request.path.startswith(extension_transport.PATH):
                self._guard.check_place(request.raw_path, request.headers)
                return await self._extension.answer_request(request, self._server, self._port)
            found = self._examine_head(request)
            if request.method == "POST":
                return await self._answer_post(request, found)
            if request.method == "GET":
                return await self._answer_get(request)
            return self._answer_delete(request)
        except Refused as refused:
            return HttpRefusal(refused.status, _refusal_sentence(refused.reason)).answer()
        except HttpRefusal as refusal:
            return refusal.answer()
        except RpcError as error:
            return small_answer(400, answers.JSON, error.encode())
        except Exception:
            logger.exception("a request failed")
            return small_answer(500, answers.JSON, _internal_error().encode())

    def _examine_head(self, request: BaseRequest) -> Examined:
        """Make all decisions that come before the body is read."""
        headers = request.headers
        self._guard.check_place(request.raw_path, headers)
        cli = CLIS[self._guard.check_token(headers)]
        self._server.admit_request(request)
        methods = METHODS.get(request.path)
        if methods is None:
            raise HttpRefusal(404, "Expected one of the paths {}.".format(", ".join(METHODS)))
        if request.method not in methods:
            allow = ", ".join(methods)
            raise HttpRefusal(405, f"Expected one of the methods {allow}.", allow)
        if request.method == "POST":
            if http_server.media_type(request) != http_server.JSON:
                raise HttpRefusal(415, "Expected Content-Type: application/json.")
            if not answers.accepts_type(request, http_server.JSON):
                raise HttpRefusal(406, "Expected an Accept header that admits application/json.")
        version = headers.get("MCP-Protocol-Version", mcp.HEADERLESS_VERSION)
        if version in mcp.VERSIONS:
            return Examined(cli, None)
        if request.method == "POST" and request.path != HOOKS:
            # The answer has the id of the request, which is in the body.
            return Examined(cli, stateless_transport.request_head(request))
        if version == stateless.VERSION and request.path != HOOKS:
            raise HttpRefusal(405, f"Expected a POST; MCP {version} has no other method.", "POST")
        raise stateless.unsupported_version(version, mcp.SUPPORTED)

    async def _answer_post(self, request: BaseRequest, found: Examined) -> StreamResponse:
        if request.path == HOOKS:
            self._hooks.note_outdated(found.cli)
            raise HttpRefusal(410, "Expected the extension of this version; install it again.")
        small = http_server.small_body(request)
        if small is not None:
            return await self._answer_body(request, found, load_json(small))
        with MemoryShare(self._memory) as memory:
            value = await http_server.read_json(request, MAX_BODY, memory, LARGE)
            return await self._answer_body(request, found, value)

    async def _answer_body(
        self, request: BaseRequest, found: Examined, value: Any
    ) -> StreamResponse:
        """`value` is the parsed body."""
        if request.path == TOOLS and found.head is None:
            return await answers.send_answer(request, await self._answers.answer_for_tools(value))
        if found.head is not None:
            call = stateless.check_request(value, found.head, mcp.SUPPORTED)
            server = self._servers[request.path]
            return await self._stateless.answer_request(request, found.cli, call, server)
        message = messages_in(value)
        if isinstance(message, Request):
            stateless.refuse_disguised(message)
        if isinstance(message, Request) and message.method == "initialize":
            return self._initialize_session(message, found.cli)
        return await answers.send_answer(
            request,
            await self._answers.answer_for_companion(message, self._requested_session(request)),
        )

    def _initialize_session(self, request: Request, cli: Cli) -> Response:
        version, result = mcp.negotiate_version(request)
        session = self._sessions.open_session(
            version, mcp.client_of(request.params.get("clientInfo")), cli
        )
        logger.info("%s connected (%s)", cli.name, session.client or "?")
        headers = {**answers.JSON, "Mcp-Session-Id": session.id}
        return small_answer(200, headers, encode_result(request.id, encode_json(result)))

    async def _answer_get(self, request: BaseRequest) -> StreamResponse:
        answers.check_events(request)
        session = self._requested_session(request)
        http_server.end_with_client(request)
        response = StreamResponse(headers=answers.STREAM)
        # A client that leaves is not a failure; what it did not read stays in the session.
        with suppress(ConnectionError, asyncio.TimeoutError):
            await response.prepare(request)
            stream = session.attach_stream(_event_id(request))
            stream.peer = answers.peer_port(request)
            try:
                self._on_stream(session)
                await response.write(b"retry: %d\n\n" % RETRY)
                framed = partial(answers.frame_event, session.cli)
                await answers.pump_stream(stream, framed, request, response)
            finally:
                self._sessions.detach_stream(session, stream)
        return response

    def _answer_delete(self, request: BaseRequest) -> Response:
        self._sessions.end_session(self._requested_session(request).id)
        return Response(status=204, headers=SERVER)

    def _requested_session(self, request: BaseRequest) -> Session:
        id = request.headers.get("Mcp-Session-Id")
        if id is None:
            raise HttpRefusal(400, NO_SESSION)
        try:
            return self._sessions.get_session(id)
        except UnknownSession:
            raise HttpRefusal(404, ENDED_SESSION) from None


def _event_id(request: BaseRequest) -> int | None:
    value = request.headers.get("Last-Event-ID", "")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else None


def _internal_error(id: Id | None = None) -> RpcError:
    return RpcError(INTERNAL_ERROR, "The companion failed; its log says why.", id)
