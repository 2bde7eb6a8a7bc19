"""The network between CLIs and the companion: requests and streams that can break at any moment."""

from __future__ import annotations

import asyncio
import itertools
import json
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, AsyncIterator, Callable

from companion.base.jsonrpc import Request
from companion.base.socket_handover import PATIENCE
from companion.ide import mcp
from companion.ide.clis import GEMINI_CLI
from companion.ide.decisions import Decision
from companion.ide.session import Session, StreamEnded, StreamEvent
from companion.ide.sessions import UnknownSession
from companion.ide.stateless import VERSION as STATELESS
from companion.ide.stateless import is_asker

from ...virtual_loop import PROCESS, VirtualLoop
from .hook_checks import Begin, limit

if TYPE_CHECKING:
    from .claude_network import ClaudeEndpoint, Socket
    from .world import World

VERSION = "2025-06-18"
KEEP_ALIVE = 20.0
SHUTDOWN = 0.2
# Seconds between two arrivals, more than a step of the loop.
MOMENT = 2e-6


class Broken(Exception):
    """What a client sees of a connection that failed."""


class Endpoint:
    """Stands in for the endpoint of the transport: same arguments, same use of sessions and desk,
    no socket."""

    world: World

    def __init__(
        self,
        token: str,
        sessions: Any,
        desk: Any,
        hooks: Any,
        tools: Any,
        on_stream: Callable[[Session], None],
        address: str,
        tell: Callable[[str], None],
    ) -> None:
        self.token = token
        self.key = ""
        self.sessions = sessions
        self.process = PROCESS.get()
        self.port = 0
        self.handlers: set[asyncio.Task[Any]] = set()
        self._desk = desk
        self._hooks = hooks
        self._on_stream = on_stream

    @asynccontextmanager
    async def listen_on(self, port: int = 0) -> AsyncIterator[int]:
        network = self.world.network
        self.port = port = network.listen(self, port)
        try:
            yield port
        finally:
            network.listeners.pop(port, None)
            self.sessions.end_all()
            if self.handlers:
                await asyncio.wait(list(self.handlers), timeout=SHUTDOWN)
            for task in list(self.handlers):
                task.cancel()
            if self.handlers:
                await asyncio.wait(list(self.handlers))

    def hand_over(self) -> None:
        self.world.network.keep(self.port)

    async def answer(self, session_id: str | None, message: Any) -> Any:
        """What the body of a POST answers: bytes, or the id of a new session."""
        if isinstance(message, Request) and message.method == "initialize":
            version, _ = mcp.negotiate_version(message)
            return self.sessions.open_session(
                version, mcp.client_of(message.params.get("clientInfo"))
            ).id
        if session_id is not None and is_asker(session_id):
            if not mcp.needs_session(message):
                return await mcp.handle_stateless(message, self._desk, None)
            self.world.ledger.arrived(message.params)
            return await mcp.handle_stateless(message, self._desk, self._named(session_id))
        try:
            session = self.sessions.get_session(session_id)
        except UnknownSession:
            raise Broken("404") from None
        self.world.ledger.arrived(message.params)
        return await mcp.handle_message(message, self._desk, session)

    def _named(self, id: str) -> Session:
        session: Session = self.sessions.named_session(id, STATELESS, "sim", GEMINI_CLI)
        return session

    async def hook(self, wire: Wire, body: Any) -> Any:
        """What a POST of the extension answers."""
        world: World = self.world
        is_connected = self.has_stream_of(body["pid"])
        world.ledger.hooks.arrived(self, body["pid"])
        begin = Begin(world.loop.now, world.ledger.counts["disk is slow"], is_connected)
        event = body["input"]["hook_event_name"]
        late = world.loop.call_later(limit(event), world.ledger.hooks.late, event)
        try:
            answer = await self._hooks.answer_hook(GEMINI_CLI, body, lambda: not wire.is_cut)
        finally:
            late.cancel()
            world.ledger.hooks.ended(self, body["pid"])
        world.ledger.hooks.answered(wire, body, answer, begin)
        return answer

    def has_stream_of(self, process: int) -> bool:
        wires = self.world.network.wires
        return any(
            wire.is_stream and (wire.client, wire.endpoint) == (process, self) for wire in wires
        )

    async def stream(self, wire: Wire, session_id: str, last_event_id: int | None) -> None:
        try:
            session = self.sessions.get_session(session_id)
        except UnknownSession:
            raise Broken("404") from None
        stream = session.attach_stream(last_event_id)
        stream.peer = wire.port
        try:
            self._on_stream(session)
            with suppress(ConnectionError, StreamEnded):
                while True:
                    event = await stream.next(KEEP_ALIVE)
                    await wire.write(event)
        finally:
            self.sessions.detach_stream(session, stream)

    async def listen(self, wire: Wire, session_id: str) -> None:
        """The same for a client with a name. No event has an id; here they are counted."""
        subscriptions = self.sessions.subscriptions
        subscription = subscriptions.open_subscription("l", {}, self._named(session_id).id)
        subscription.peer = wire.port
        try:
            self._carries(subscriptions.carry_session(subscription))
            with suppress(ConnectionError, StreamEnded):
                while True:
                    value = await subscription.next(KEEP_ALIVE)
                    id = next(self.world.network.events)
                    await wire.write(None if value is None else StreamEvent(id, value))
        finally:
            self._carries(subscriptions.close_subscription(subscription))

    def _carries(self, session: Session | None) -> None:
        if session is not None:
            self._on_stream(session)


class Wire:
    """One connection. `is_cut` as soon as nothing goes through any more, in either direction;
    `ended` once the client knows."""

    def __init__(
        self, network: Network, client: int, endpoint: Endpoint, session_id: str = ""
    ) -> None:
        self.network = network
        self.client = client
        self.session_id = session_id
        self.endpoint = endpoint
        self.is_cut = False
        # Whether the last event went out: nobody knows while it is being written.
        self.is_unsure = False
        self.is_ended = False
        # When nothing went through it any more.
        self.over_at: float | None = None
        self.done: asyncio.Future[Any] = network.loop.create_future()
        self.task: asyncio.Task[Any] | None = None
        # The handler of a stream ends with its client; what a message asks for is done.
        self.is_stream: bool = False
        # That of the client's end.
        self.port: int = next(network.ports)
        # When each event was handed to it, by the event's id.
        self.sent: dict[int, float] = {}
        # The decisions among them, by the session that asked and the path.
        self.carried: set[tuple[str, str]] = set()
        self.on_event: Callable[[StreamEvent], None] = lambda event: None
        self._last_arrival = 0.0

    def begin(self, work: Any) -> None:
        """Let the server do the work; what comes of it goes to the client."""
        self.network.wires.append(self)
        self.task = self.network.loop.start(self.endpoint.process, work)
        self.endpoint.handlers.add(self.task)
        self.task.add_done_callback(self._answered)

    def _answered(self, task: asyncio.Task[Any]) -> None:
        self.endpoint.handlers.discard(task)
        if task.cancelled():
            self._arrive(self._settle, Broken("cut"), None)
        else:
            error = task.exception()
            if error is not None and not isinstance(error, Broken):
                self.network.world.ledger.violate("a request failed", repr(error))
            self._arrive(self._settle, error, None if error else task.result())

    def _settle(self, error: BaseException | None, result: Any) -> None:
        self.is_ended = True
        self.over_at = self.over_at or self.network.loop.now
        with suppress(ValueError):
            self.network.wires.remove(self)
        if not self.done.done():
            if error is not None:
                self.done.set_exception(error)
            else:
                self.done.set_result(result)

    async def write(self, event: StreamEvent | None) -> None:
        if self.is_cut:
            raise ConnectionResetError
        if event is not None:
            self.sent[event.id] = self.network.loop.now
            if isinstance(event.value, Decision):
                self.carried.add((event.value.session_id, event.value.path))
            self._arrive(self._event, event)
        # A reader that is slow makes the writer wait.
        self.is_unsure = True
        await asyncio.sleep(self.network.world.faults.stall())
        self.is_unsure = False
        if event is not None:
            self.network.world.faults.point("an event was handed out", self)

    def _event(self, event: StreamEvent) -> None:
        if not self.is_ended:
            self.on_event(event)

    def _arrive(self, what: Callable[..., None], *args: Any) -> None:
        """Let it happen at the client's, in order, unless the connection is cut before."""
        loop = self.network.loop
        # In the order in which it was sent: of two timers for one moment, any may come first.
        arrival = loop.now + self.network.world.latency()
        self._last_arrival = max(arrival, self._last_arrival + MOMENT)

        def arrive() -> None:
            if not self.is_cut:
                what(*args)

        loop.later(self.client, self._last_arrival - loop.now, arrive)

    def cut(self) -> None:
        """Break off: neither side hears more of the other, and each notices in its own time."""
        if self.is_cut or self.is_ended:
            return
        self.is_cut = True
        self.over_at = self.network.loop.now
        self.network.world.count("cut")
        delay = self.network.world.delay
        loop = self.network.loop
        loop.later(self.client, delay(), self._settle, Broken("cut"), None)
        if self.task is not None and self.is_stream:
            loop.later(self.endpoint.process, delay(), self.task.cancel)


class Network:
    def __init__(self, world: World, loop: VirtualLoop) -> None:
        self.world = world
        self.loop = loop
        self.listeners: dict[int, Endpoint | ClaudeEndpoint] = {}
        # The ports that nobody serves and that go on listening; done as soon as that is over.
        self.kept: dict[int, asyncio.Future[None]] = {}
        self.wires: list[Wire] = []
        # The connections of Claude Code that it has.
        self.sockets: list[Socket] = []
        self.ports = itertools.count(50000)
        # The ids of events that have none of their own.
        self.events = itertools.count(1)
        self._next_port = 40000

    def listen(self, endpoint: Endpoint | ClaudeEndpoint, port: int) -> int:
        if port and port not in self.kept:
            if port in self.listeners or self.world.faults.happens("port taken"):
                raise OSError(98, "Address already in use")
        if not port:
            self._next_port += 1
            port = self._next_port
        self.listeners[port] = endpoint
        self._let_go(self.kept.pop(port, None))
        return port

    def keep(self, port: int) -> None:
        """Whoever connects waits for the next companion."""
        kept = self.kept[port] = self.loop.create_future()

        def close() -> None:
            if self.kept.get(port) is kept:
                self._let_go(self.kept.pop(port))

        self.loop.later(0, PATIENCE, close)

    def _let_go(self, kept: asyncio.Future[None] | None) -> None:
        if kept is not None:
            kept.set_result(None)

    def process_died(self, process: int) -> None:
        """Whoever was connected with it notices. The whole editor has gone with it."""
        for port in list(self.kept):
            self._let_go(self.kept.pop(port))
        for port in [number for number, each in self.listeners.items() if each.process == process]:
            del self.listeners[port]
        for link in [*self.wires, *self.sockets]:
            if process in (link.client, link.endpoint.process):
                link.cut()

    async def post(
        self, client: int, port: int, token: str, session_id: str | None, message: Any
    ) -> Any:
        """Send a message and wait for the answer. Raises Broken."""
        await asyncio.sleep(self.world.latency())
        wire = Wire(self, client, await self._endpoint(port, token))
        if self.world.faults.happens("request lost"):
            raise Broken("lost")
        wire.begin(wire.endpoint.answer(session_id, message))
        if self.world.faults.happens("answer lost"):
            wire.task.add_done_callback(lambda _: wire.cut())  # type: ignore[union-attr]
        try:
            return await wire.done
        finally:
            if not wire.is_ended:
                wire.cut()

    async def hook(self, client: int, port: int, token: str, body: Any) -> Any:
        """Send a hook's event and wait for the answer, or for as long as somebody reads it. Raises
        Broken."""
        await asyncio.sleep(self.world.latency())
        wire = Wire(self, client, await self._endpoint(port, token))
        if self.world.faults.happens("request lost"):
            raise Broken("lost")
        wire.begin(wire.endpoint.hook(wire, body))
        # Above all where there are words to carry.
        chances = 5 if self.world.ledger.hooks.has_words_for(client) else 1
        if any(self.world.faults.happens("nobody reads a hook") for _ in range(chances)):
            self.loop.later(client, self.world.random.choice((0.0, self.world.delay())), wire.cut)
        try:
            return await wire.done
        finally:
            if not wire.is_ended:
                wire.cut()

    def ports_to(self, process: int, port: int) -> frozenset[int]:
        """What the system says of a process's connections."""
        wires = [wire for wire in self.wires if wire.is_stream and wire.client == process]
        return frozenset(wire.port for wire in wires if wire.endpoint.port == port)

    async def open_stream(
        self, client: int, port: int, token: str, session_id: str, last_event_id: int | None
    ) -> Wire:
        """A GET, or `subscriptions/listen`; events come to the wire's `on_event`, its end to
        `done`. Raises Broken."""
        await asyncio.sleep(self.world.latency())
        endpoint = await self._endpoint(port, token)
        is_named = is_asker(session_id)
        if not is_named and endpoint.sessions.find_session(session_id) is None:
            raise Broken("404")
        wire = Wire(self, client, endpoint, session_id)
        wire.is_stream = True
        if is_named:
            wire.begin(endpoint.listen(wire, session_id))
        else:
            wire.begin(endpoint.stream(wire, session_id, last_event_id))
        return wire

    async def _endpoint(self, port: int, token: str) -> Endpoint:
        found = await self.listener(port, token)
        if not isinstance(found, Endpoint):
            raise Broken("refused")
        return found

    async def listener(self, port: int, token: str) -> Any:
        """Who serves there, for one that has the token. Raises Broken."""
        if port in self.kept:
            # Whoever gives up waiting does so alone.
            await asyncio.shield(self.kept[port])
        endpoint = self.listeners.get(port)
        if endpoint is None or endpoint.token != token:
            raise Broken("refused")
        return endpoint


def decode(message: bytes) -> Any:
    return json.loads(message)
