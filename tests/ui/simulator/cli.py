"""A scripted CLI at the endpoint of a window."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Callable

from GeminiCompanion.companion.base.jsonrpc import Request
from GeminiCompanion.companion.ide import mcp
from GeminiCompanion.companion.ide.session import StreamEnded

from .endpoint import Endpoint
from .hooks import Extension

if TYPE_CHECKING:
    from .world import World

KEEP_ALIVE = 20.0
# Seconds between two attempts to come back.
AGAIN = 0.3
# Seconds until it is noticed that a CLI has died.
NOTICED = (0.0, 1.0, 5.0)


class Cli:
    """Proposes texts, hears of decisions and writes accepted ones. `heard` gets the CLI, and the
    path and the text (None for a rejection) of each."""

    def __init__(
        self,
        world: World,
        number: int,
        port: int,
        heard: Callable[[Cli, str, str | None, str], None],
    ) -> None:
        self.number = number
        self.port = port
        self._world, self._heard = world, heard
        self.is_dead = False
        # When it shows that it is dead.
        self.noticed_at = 0.0
        self.extension = Extension(self, world)
        self._session = ""
        self._last_event: int | None = None
        self._reading: asyncio.Future[None] | None = None
        self._is_noticed = asyncio.Event()

    async def connect(self) -> None:
        endpoint = Endpoint.open[self.port]
        client = mcp.client_of({"name": "sim"})
        self._session = endpoint.sessions.open_session("2025-06-18", client).id
        self._reading = asyncio.ensure_future(self._read())
        await self.extension.begin()

    def __str__(self) -> str:
        return f"CLI {self.number}"

    @property
    def session(self) -> str:
        return self._session

    async def tool(self, name: str, **arguments: Any) -> Any:
        """What it gives, None if the connection fails."""
        await asyncio.sleep(self._world.parts.delay())
        endpoint = Endpoint.open.get(self.port)
        if (
            endpoint is None
            or endpoint.sessions.find_session(self._session) is None
            or self.is_dead
        ):
            return None
        session = endpoint.sessions.get_session(self._session)
        request = Request(1, "tools/call", {"name": name, "arguments": arguments})
        work = endpoint.begin(mcp.handle_message(request, endpoint.desk, session))
        try:
            answer = json.loads(await work)
        except asyncio.CancelledError:
            return None
        if "error" in answer or answer["result"].get("isError"):
            self._world.note("{} of {} failed: {}", name, self, answer)
            return None
        return answer["result"]["content"]

    async def _read(self) -> None:
        while not self.is_dead:
            endpoint = Endpoint.open.get(self.port)
            if endpoint is not None and endpoint.sessions.find_session(self._session) is not None:
                with suppress(asyncio.CancelledError):
                    await endpoint.begin(self._stream(endpoint))
            await asyncio.sleep(AGAIN)

    async def _stream(self, endpoint: Endpoint) -> None:
        session = endpoint.sessions.get_session(self._session)
        stream = session.attach_stream(self._last_event)
        stream.peer = self.extension.peer
        try:
            endpoint.on_stream(session)
            with suppress(StreamEnded):
                while True:
                    event = await stream.next(KEEP_ALIVE)
                    if self.is_dead:
                        # Nobody has noticed yet; or a cancel was lost to an event just now.
                        await self._is_noticed.wait()
                        return
                    if event is not None:
                        self._last_event = event.id
                        self._hear(*event.value.notification())
        finally:
            endpoint.sessions.detach_stream(session, stream)
            if self.is_dead:
                # A step of the loop later than it began to show, or many.
                self.noticed_at = max(self.noticed_at, self._world.parts.loop.now)

    def _hear(self, method: str, params: Any) -> None:
        if method == "ide/diffAccepted":
            self._heard(self, params["filePath"], params["content"], "notified")
        elif method == "ide/diffRejected":
            self._heard(self, params["filePath"], None, "notified")

    def end(self) -> None:
        """It ends without a goodbye, which is noticed at some time."""
        self.is_dead = True
        if self._reading is not None:
            seconds = self._world.random.choice(NOTICED)
            self.noticed_at = self._world.parts.loop.now + seconds
            self._world.parts.loop.call_at(self.noticed_at, self._end_stream, self._reading)

    def _end_stream(self, reading: asyncio.Future[None]) -> None:
        self._is_noticed.set()
        reading.cancel()
