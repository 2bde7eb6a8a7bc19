"""The web socket between Claude Code and the companion, which can break at any moment, and the lock
file that leads there."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Callable

from companion.ide.claude.claude_connection import ClaudeConnection
from companion.ide.claude.claude_endpoint import DONE, GOING_AWAY, Connect
from companion.ide.claude.lock_file import Lock

from ...virtual_loop import PROCESS
from .network import MOMENT, SHUTDOWN

if TYPE_CHECKING:
    from .network import Network
    from .world import World

# What a client knows of a connection that ended without a close.
LOST = 1006


class Socket:
    """One connection. `is_cut` as soon as nothing goes through any more. `on_message` gets what
    arrives at the CLI, `on_end` the code with which it ends there."""

    def __init__(
        self,
        network: Network,
        client: int,
        endpoint: ClaudeEndpoint,
        on_message: Callable[[Socket, Any], None],
        on_end: Callable[[Socket, int], None],
    ) -> None:
        self.client = client
        self.endpoint = endpoint
        self.is_cut = False
        self._network = network
        self._on_message = on_message
        self._on_end = on_end
        # What has arrived at the companion; None is the end.
        self.received: asyncio.Queue[Any] = asyncio.Queue()
        self._is_closing = self._is_gone = False
        # When the last message arrives at the one that has that process.
        self._arrivals: dict[int, float] = {}

    def post(self, message: Any) -> None:
        """The CLI sends."""
        self._arrive(self.endpoint.process, self.received.put_nowait, message)

    async def send(self, message: bytes) -> None:
        """The companion sends. Raises ConnectionError."""
        self._check()
        self._arrive(self.client, self._on_message, self, json.loads(message))
        faults = self._network.world.faults
        faults.point("a message was sent", self)
        seconds = faults.stall()
        if seconds:
            await asyncio.sleep(seconds)
            self._check()

    def _check(self) -> None:
        if self._is_closing or self._is_gone:
            raise ConnectionError

    def close(self, code: int) -> None:
        """The companion closes, after all that it has sent; the CLI answers that."""
        self._is_closing = True
        self._arrive(self.client, self._closed, code)

    def _closed(self, code: int) -> None:
        self._arrive(self.endpoint.process, self.received.put_nowait, None)
        self.leave(code)

    def leave(self, code: int = LOST) -> None:
        """The connection is over for the CLI."""
        if self in self._network.sockets:
            self._network.sockets.remove(self)
            self._on_end(self, code)

    def cut(self) -> None:
        """Break off: neither side hears more of the other, and each notices in its own time."""
        if self.is_cut or self not in self._network.sockets:
            return
        self.is_cut = True
        world, loop = self._network.world, self._network.loop
        world.count("socket cut")
        loop.later(self.client, world.delay(), self.leave)
        # Without a word of the system it notices by the next ping.
        seconds = world.random.choice((world.delay(), world.delay(), 5.0, 60.0))
        loop.later(self.endpoint.process, seconds, self._lose)

    def _lose(self) -> None:
        self._is_gone = True
        self.received.put_nowait(None)

    def _arrive(self, process: int, what: Callable[..., None], *args: Any) -> None:
        """Let it happen there, in order, unless the connection is cut before."""
        loop = self._network.loop
        arrival = loop.now + self._network.world.latency()
        self._arrivals[process] = max(arrival, self._arrivals.get(process, 0.0) + MOMENT)

        def arrive() -> None:
            if not self.is_cut:
                what(*args)

        loop.later(process, self._arrivals[process] - loop.now, arrive)


class ClaudeEndpoint:
    """Stands in for that of the product: same arguments, same use of the connection, no socket."""

    world: World

    def __init__(self, token: str, connect: Connect) -> None:
        self.token = token
        self.process = PROCESS.get()
        self._connect = connect
        self._port = 0
        self._sockets: dict[Socket, ClaudeConnection] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, port: int) -> int:
        self._port = self.world.network.listen(self, port)
        return self._port

    def connections(self) -> list[ClaudeConnection]:
        return list(self._sockets.values())

    def accept(self, socket: Socket) -> None:
        self.world.network.sockets.append(socket)
        task = self.world.loop.start(self.process, self._serve(socket))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, socket: Socket) -> None:
        connection = self._sockets[socket] = self._connect(socket.send)
        try:
            while True:
                message = await socket.received.get()
                if message is None:
                    break
                await connection.receive(message)
        finally:
            del self._sockets[socket]
            connection.lose()

    async def stop(self, comes_back: bool, hands_over: bool) -> None:
        network = self.world.network
        network.listeners.pop(self._port, None)
        if comes_back and hands_over:
            network.keep(self._port)
        for socket in list(self._sockets):
            socket.close(GOING_AWAY if comes_back else DONE)
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=SHUTDOWN)
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks))


class LockFile:
    """Stands in for the lock file: how a CLI reads it is tested elsewhere."""

    world: World
    paths: tuple[str, ...] = ()
    problem = ""

    def __init__(self, tell: Any, withdraw: Any) -> None:
        pass

    def show(self, lock: Lock) -> None:
        self.world.lock = lock

    def renew(self) -> None:
        pass

    def remove(self) -> None:
        self.world.lock = None
