"""A scripted CLI: one diff at a time, decided in the editor or in the terminal, and many ways to
leave. It does what docs/protocol.md, parts 1 and 3, say of the real one."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

from companion.base.jsonrpc import Request
from companion.ide.clis import GEMINI_CLI
from companion.ide.stateless import Asker

from .checks import Notified, Proposal
from .hooks import Extension
from .network import VERSION, Broken, decode

if TYPE_CHECKING:
    from .world import World

# Tries to come back to a stream that ended in order.
TRIES = 2


@dataclass
class Waiter:
    """A diff whose decision the CLI awaits. Nobody acts on one that was `given_up` (Ctrl+C)."""

    path: str
    proposal: Any
    outcome: asyncio.Future[tuple[str, str | None]]
    hurry: asyncio.Event
    given_up: bool = False
    # That it asks, if the CLI has hooks.
    hook: asyncio.Future[None] | None = None


class Client:
    """One MCP client of a CLI: a session, its requests and its stream. It is never closed but by
    the end of the CLI; `/ide enable` only makes another one."""

    def __init__(self, cli: Cli, port: int, token: str) -> None:
        self.cli = cli
        self.port = port
        self.token = token
        self.session_id = ""
        self.last_event_id: int | None = None
        self.is_streaming = False

    async def post(self, message: Any) -> Any:
        network = self.cli.world.network
        return await network.post(
            self.cli.process, self.port, self.token, self.session_id or None, message
        )

    async def connect(self) -> None:
        params = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": "sim"}}
        self.session_id = await self.post(Request(0, "initialize", params))
        self.cli.world.note("{} has session {}", self.cli, self.session_id[-4:])
        self.cli.world.ledger.known.add((self.cli.number, self.token))
        self.cli.world.loop.create_task(self.read())

    async def tool(self, name: str, **arguments: Any) -> Any:
        """The text of the result, None where it has none. Raises Broken, and ValueError for an
        error of the tool."""
        params = {"name": name, "arguments": arguments}
        answer = decode(await self.post(Request(1, "tools/call", params)))
        result = answer.get("result")
        if result is None or result.get("isError"):
            raise ValueError(str(answer))
        content = result["content"]
        return content[0]["text"] if content else None

    async def read(self) -> None:
        """Read the stream; come back to it where it ended, as far as this client does."""
        world, failures = self.cli.world, 0
        while failures < TRIES:
            try:
                wire = await world.network.open_stream(
                    *(self.cli.process, self.port, self.token),
                    *(self.session_id, self._resumed_from()),
                )
                wire.on_event = partial(self._event, wire)
                self.is_streaming, failures = True, 0
                await wire.done
            except Broken as error:
                failures += 1
                if str(error) == "cut" and not world.random.random() < world.resumes:
                    break
                if str(error) == "404":
                    break
            finally:
                self.is_streaming = False
            await asyncio.sleep(0.5 + world.random.random())
        self.cli.failed(self)

    def _resumed_from(self) -> int | None:
        """An id that is too old has what came after it said once more."""
        world = self.cli.world
        if self.last_event_id and self.last_event_id > 1 and world.faults.happens("events doubled"):
            return self.last_event_id - 1
        return self.last_event_id

    def _event(self, wire: Any, event: Any) -> None:
        is_again = self.last_event_id is not None and event.id <= self.last_event_id
        self.last_event_id = event.id
        message = decode_event(event)
        if message["method"] != "ide/contextUpdate":
            self.cli.notified(self, event, message, wire, is_again)


class NamedClient(Client):
    """One of MCP 2026-07-28: it has no session, but gives its CLI's name with each request."""

    async def connect(self) -> None:
        self.session_id = Asker(f"{self.cli}").session_id(GEMINI_CLI.id)
        await self.post(Request(0, "server/discover", {}))
        self.cli.world.note("{} says its name", self.cli)
        self.cli.world.count("names")
        self.cli.world.ledger.known.add((self.cli.number, self.token))
        self.cli.world.loop.create_task(self.read())

    def _event(self, wire: Any, event: Any) -> None:
        message = decode_event(event)
        if message["method"] != "ide/contextUpdate":
            self.cli.notified(self, event, message, wire, is_again=False)


def decode_event(event: Any) -> Any:
    """Method and params of what a stream tells."""
    method, params = event.value.notification()
    return {"method": method, "params": params}


class Cli:
    """A process. `awaiting` is the map of the real one: from path to who waits for the decision."""

    is_claude = False

    def __init__(self, world: World, number: int, folder: str) -> None:
        self.world = world
        self.number = number
        self.folder = folder
        self.process = world.new_process()
        self.client: Client | None = None
        self.clients: list[Client] = []
        self.awaiting: dict[str, Waiter] = {}
        self.is_dead = False
        self.is_settling = False
        self.comes_back = world.random.random() < 0.75
        self.is_named = Random(f"{world.seed} {number}").random() < world.named
        self._enabling = False
        is_extended = world.random.random() < world.extended
        self.extension = Extension(self) if is_extended else None
        world.loop.start(self.process, self._run())

    def __repr__(self) -> str:
        return f"CLI {self.number}"

    def die(self) -> None:
        """Without a goodbye."""
        if not self.is_dead:
            self.world.note("{} dies", self)
            self.world.count("CLI died")
            self.is_dead = True
            self.world.loop.kill(self.process)
            self.world.network.process_died(self.process)
            if self.extension is not None and self.world.random.random() < 0.3:
                self.world.loop.start(0, self.extension.late())

    @property
    def is_connected(self) -> bool:
        return not self.is_dead and self.client is not None and self.client.is_streaming

    def waiter(self, proposal: Proposal) -> Waiter | None:
        """Who waits for the decision on its path."""
        return self.awaiting.get(proposal.path)

    # ----- the connection

    async def enable(self) -> None:
        """What `/ide enable` does: look for a server again, and begin another session."""
        environment = self.world.environment_for(self.folder)
        if environment is None:
            return
        client = (NamedClient if self.is_named else Client)(
            self,
            int(environment["GEMINI_CLI_IDE_SERVER_PORT"]),
            environment["GEMINI_CLI_IDE_AUTH_TOKEN"],
        )
        try:
            await client.connect()
        except Broken:
            return
        self.client = client
        self.clients.append(client)

    def failed(self, client: Client) -> None:
        """Any error of any client disables the connection, until somebody enables it again."""
        self.world.note("{} is disconnected", self)
        self.client = None
        if not self._enabling:
            self._enabling = True
            self.world.loop.create_task(self._enable_again())

    async def _enable_again(self) -> None:
        if self.comes_back:
            while self.client is None:
                await asyncio.sleep(self.world.random.choice((0.3, 2.0, 7.0, 20.0)))
                await self.enable()
        self._enabling = False

    # ----- decisions

    def notified(self, client: Client, event: Any, message: Any, wire: Any, is_again: bool) -> None:
        path = message["params"]["filePath"]
        content = message["params"].get("content")
        accepted = message["method"] == "ide/diffAccepted"
        self.world.note("{} is notified: {} {!r}", self, message["method"], content or path)
        waiter = self.awaiting.get(path)
        self.world.ledger.notified(
            Notified(
                *(self, client.session_id, event.id, path, accepted, content),
                *(event.value.session_id, waiter, wire, is_again),
            )
        )
        if waiter is not None:
            self._settle(waiter, "accepted" if accepted else "rejected", content)

    def _settle(self, waiter: Waiter, status: str, content: str | None) -> None:
        if self.awaiting.get(waiter.path) is waiter:
            del self.awaiting[waiter.path]
        if not waiter.outcome.done():
            waiter.outcome.set_result((status, content))

    async def _run(self) -> None:
        random = self.world.random
        await asyncio.sleep(random.random())
        await self.enable()
        if self.client is None:
            self.failed(None)  # type: ignore[arg-type]
        if self.extension is not None:
            await self.extension.begin()
        while not self.is_settling:
            await asyncio.sleep(random.random() * 2)
            if self.is_settling:
                break
            if self.extension is not None:
                await self.extension.turn()
            elif self.client is not None:
                await self.edit(self.folder + random.choice(("/a", "/b")))
            chance = random.random()
            if chance < self.world.exits:
                await self._exit()
                return

    async def edit(self, path: str) -> Proposal:
        """Propose a text, and do what is decided on it."""
        world, client = self.world, self.client
        proposal = world.ledger.propose(self, path)
        waiter = Waiter(path, proposal, world.loop.create_future(), asyncio.Event())
        self.awaiting[path] = waiter
        world.note("{} proposes {!r}", self, proposal.text)
        try:
            await client.tool("openDiff", filePath=path, newContent=proposal.text)  # type: ignore[union-attr]
        except (Broken, ValueError) as error:
            world.note("{}: openDiff failed: {}", self, error)
            self.awaiting.pop(path, None)
            if isinstance(error, Broken):
                self.failed(client)  # type: ignore[arg-type]
            return proposal
        if self.extension is not None:
            waiter.hook = world.loop.create_task(self.extension.asks(path, proposal.text))
        status, content = await self._decided(waiter)
        if status == "accepted":
            await self._write(waiter, content)
        return proposal

    async def _decided(self, waiter: Waiter) -> tuple[str, str | None]:
        """The user's decision, in the editor or in the terminal."""
        world = self.world
        patience = world.random.choice((0.2, 1.0, 3.0, 8.0, 1e6))
        hurry = world.loop.create_task(waiter.hurry.wait())
        await asyncio.wait(
            [waiter.outcome, hurry], timeout=patience, return_when=asyncio.FIRST_COMPLETED
        )
        hurry.cancel()
        if waiter.outcome.done():
            return waiter.outcome.result()
        if world.random.random() < world.gives_up:
            world.note("{} gives up (Ctrl+C)", self)
            waiter.given_up = True
            waiter.proposal.given_up = True
            if world.random.random() < 0.5:
                # It goes on to something else, which may be another text for the path.
                return "given up", None
        elif self.client is not None and not await self._is_decided_before_it_asks(waiter):
            await self._decide_here(waiter, world.random.random() < 0.5)
        # Without a connection the terminal's answer waits for the editor's.
        return await waiter.outcome

    async def _is_decided_before_it_asks(self, waiter: Waiter) -> bool:
        """The terminal asks when the hook has ended (docs/protocol.md 9.61)."""
        if waiter.hook is not None:
            either: list[asyncio.Future[Any]] = [waiter.outcome, waiter.hook]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        return waiter.outcome.done() or self.client is None

    async def _decide_here(self, waiter: Waiter, accept: bool) -> None:
        """Accept, or Escape, in the terminal."""
        world, client, content = self.world, self.client, None
        world.note("{} decides in the terminal: {}", self, "accept" if accept else "escape")
        world.count("terminal accept" if accept else "terminal escape")
        waiter.proposal.in_terminal = True
        waiter.proposal.closed.append(world.loop.now)
        try:
            text = await client.tool(  # type: ignore[union-attr]
                "closeDiff", filePath=waiter.path, suppressNotification=True
            )
            content = json.loads(text).get("content")
            world.note("{}: closeDiff gave {!r}", self, content)
            world.ledger.handed_over(self, waiter, content)
            world.faults.point("closeDiff was answered", self)
        except (Broken, ValueError) as error:
            world.note("{}: closeDiff failed: {}", self, error)
            if isinstance(error, Broken):
                self.failed(client)  # type: ignore[arg-type]
        if self.extension is not None and not accept:
            self.extension.refused()
        self._settle(waiter, "accepted" if accept else "rejected", content)

    async def _write(self, waiter: Waiter, content: str | None) -> None:
        """The CLI writes the file, and nobody else."""
        if waiter.given_up:
            return
        world = self.world
        await asyncio.sleep(world.random.choice((0.0, 0.01, 0.3)))
        if world.faults.happens("CLI dies before it writes"):
            self.die()
            await asyncio.sleep(1)
        text = content or waiter.proposal.text
        world.note("{} writes {} {!r}", self, waiter.path, text)
        world.count("written")
        world.disk.write_as_cli(waiter.path, text)
        waiter.proposal.written = text

    async def _exit(self) -> None:
        """Leave as the real one does: close the diffs, without a decision, then just go."""
        self.world.note("{} exits", self)
        for path in list(self.awaiting):
            if self.client is not None:
                try:
                    text = await self.client.tool("closeDiff", filePath=path)
                    self.world.ledger.handed_over(
                        self, self.awaiting.get(path), json.loads(text).get("content")
                    )
                except (Broken, ValueError):
                    pass
        if self.extension is not None:
            await self.extension.end()
        self.die()
