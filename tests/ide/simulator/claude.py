"""A scripted Claude Code: several diffs at a time, decided in the editor or in the terminal. It
does what docs/protocol.md, part 11, says of the real one."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

from companion.ide.claude.claude_endpoint import DONE

from .checks import Proposal
from .claude_network import Socket
from .network import Broken

if TYPE_CHECKING:
    from .world import World

# Seconds before each try to come back to a connection that was lost.
AGAIN = (0.0, 1.0, 2.0, 4.0, 8.0)


@dataclass
class Question:
    """A call of `openDiff`, and the question in the terminal beside it. `socket` is the connection
    that has the call, None if there was none. `outcome` is the text to write, None for a no."""

    id: int
    cli: ClaudeCli
    proposal: Proposal
    socket: Socket | None
    outcome: asyncio.Future[str | None]
    hurry: asyncio.Event
    # The answers to the call, as the texts of their results.
    answers: list[list[str]] = field(default_factory=list)
    # When the CLI said that the diff is over.
    closed_at: float = float("inf")

    @property
    def tab(self) -> str:
        return f"tab {self.id}"

    @property
    def is_decided(self) -> bool:
        return self.outcome.done()


class ClaudeCli:
    """A process. `questions` are all that it ever asked, by the id of the call."""

    is_claude = True
    # It has no MCP session, and no stream.
    client = None

    def __init__(self, world: World, number: int, folder: str) -> None:
        self.world = world
        self.number = number
        self.folder = folder
        self.process = world.new_process()
        self.is_dead = self.is_settling = False
        self.socket: Socket | None = None
        self.questions: dict[int, Question] = {}
        self._random = Random(f"{world.seed} claude {number}")
        # The address of the last connection.
        self._port, self._token = 0, ""
        # Done once the companion has answered `initialize`.
        self._greeted: asyncio.Future[None] | None = None
        world.loop.start(self.process, self._run())

    def __repr__(self) -> str:
        return f"Claude Code {self.number}"

    def die(self) -> None:
        """Without a goodbye."""
        if not self.is_dead:
            self.world.note("{} dies", self)
            self.world.count("CLI died")
            self.is_dead = True
            self.world.loop.kill(self.process)
            self.world.network.process_died(self.process)

    def waiter(self, proposal: Proposal) -> Question | None:
        """The question about the proposal, as long as nobody has decided."""
        asked = (each for each in self.questions.values() if each.proposal is proposal)
        return next((each for each in asked if not each.is_decided), None)

    # ----- the connection

    async def _type_ide(self) -> None:
        """Connect with the editor that the lock file names."""
        lock = self.world.lock
        if lock is not None:
            self._port, self._token = lock.port, lock.token
            await self._connect()

    async def _connect(self) -> bool:
        world = self.world
        await asyncio.sleep(world.latency())
        try:
            endpoint = await world.network.listener(self._port, self._token)
        except Broken:
            return False
        if self.socket is not None:
            # It keeps one connection.
            self.socket.cut()
        self.socket = Socket(world.network, self.process, endpoint, self._receive, self._lose)
        endpoint.accept(self.socket)
        world.note("{} connects", self)
        world.count("socket opened")
        greeted = self._greeted = world.loop.create_future()
        capabilities = {"roots": {"listChanged": True}}
        client = {"name": "claude-code", "version": "2.1.330"}
        params = {"protocolVersion": "2025-11-25", "capabilities": capabilities}
        self._request(self.socket, 0, "initialize", {**params, "clientInfo": client})
        await greeted
        return True

    def _lose(self, socket: Socket, code: int) -> None:
        if socket is not self.socket:
            return
        self.world.note("{} has lost its connection: {}", self, code)
        self.socket = None
        if self._greeted is not None and not self._greeted.done():
            self._greeted.set_result(None)
        if code != DONE:
            self.world.loop.create_task(self._come_back())

    async def _come_back(self) -> None:
        for seconds in AGAIN:
            await asyncio.sleep(seconds)
            if self.socket is not None or await self._connect():
                return

    def _request(self, socket: Socket, id: int, method: str, params: Any) -> None:
        socket.post({"jsonrpc": "2.0", "id": id, "method": method, "params": params})

    def _call(self, socket: Socket, id: int, tool: str, **arguments: str) -> None:
        self._request(socket, id, "tools/call", {"name": tool, "arguments": arguments})

    def _receive(self, socket: Socket, message: Any) -> None:
        id = message.get("id")
        if message.get("method") == "roots/list":
            roots = {"roots": [{"uri": f"file://{self.folder}"}]}
            socket.post({"jsonrpc": "2.0", "id": id, "result": roots})
        elif id == 0 and self._greeted is not None and not self._greeted.done():
            self._greeted.set_result(None)
            socket.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        elif id is not None and id in self.questions:
            self._answered(socket, self.questions[id], message)

    def _answered(self, socket: Socket, question: Question, message: Any) -> None:
        """An answer to `openDiff`. Who answers first decides, and an error decides nothing."""
        result = message.get("result", {"isError": True, "content": []})
        texts = [part["text"] for part in result["content"]]
        told = ["error", *texts] if result.get("isError") else texts
        self.world.note("{} is answered: {!r}", question.proposal.text, told)
        self.world.ledger.claude.answered(question, socket, told)
        if not question.is_decided and told[0] != "error":
            question.outcome.set_result(told[1] if told[0] == "FILE_SAVED" else None)
            self.world.count("decided in the editor")

    # ----- what it does

    async def _run(self) -> None:
        random = self._random
        await asyncio.sleep(random.random())
        while not self.is_settling:
            await asyncio.sleep(random.random() * 2)
            if random.random() < (0.8 if self.socket is None else 0.05):
                # The user sees that it is not connected, or types it anyway.
                await self._type_ide()
            if not self.is_settling:
                await self._turn()

    async def _turn(self) -> None:
        """A prompt, and the edits that its model makes: one after the other, until a no, or by
        subagents side by side."""
        self._close_all()
        random, paths = self._random, [self.folder + name for name in ("/a", "/b")]
        edits = random.choice((1, 1, 2, 3))
        if random.random() < 0.4:
            # Also several about one file.
            paths = random.choice((paths, paths[:1]))
            agents = [
                self.world.loop.create_task(self._subagent(random.choice(paths)))
                for _ in range(edits)
            ]
            await asyncio.wait(agents)
        else:
            for _ in range(edits):
                await asyncio.sleep(random.choice((0.01, 0.3)))
                if not await self._edit(random.choice(paths)):
                    return

    async def _subagent(self, path: str) -> None:
        await asyncio.sleep(self._random.choice((0.0, 0.01, 0.3)))
        await self._edit(path)
        self._close_all()

    def _close_all(self) -> None:
        if self.socket is not None:
            self._call(self.socket, -1, "closeAllDiffTabs")

    async def _edit(self, path: str) -> bool:
        """Whether the file is written."""
        world, random, socket = self.world, self._random, self.socket
        proposal = world.ledger.propose(self, path)
        question = Question(
            *(proposal.number, self, proposal, socket, world.loop.create_future(), asyncio.Event())
        )
        self.questions[question.id] = question
        world.ledger.claude.asked(question)
        world.note("{} proposes {!r}", self, proposal.text)
        if socket is not None:
            paths = {"old_file_path": path, "new_file_path": path}
            text, tab = proposal.text, question.tab
            self._call(
                *(socket, question.id, "openDiff"),
                **{**paths, "new_file_contents": text, "tab_name": tab},
            )
            world.count("asked by Claude Code")
        text_to_write = await self._decided(question)
        if socket is not None and socket is self.socket:
            question.closed_at = world.loop.now
            for _ in range(random.choice((1, 1, 2))):
                self._call(socket, -1, "close_tab", tab_name=question.tab)
        if text_to_write is not None:
            await asyncio.sleep(random.choice((0.0, 0.01, 0.3)))
            if world.faults.happens("CLI dies before it writes"):
                self.die()
                await asyncio.sleep(1)
            world.note("{} writes {} {!r}", self, path, text_to_write)
            world.disk.write_as_cli(path, text_to_write)
            proposal.written = text_to_write
        return text_to_write is not None

    async def _decided(self, question: Question) -> str | None:
        """The text to write, as the user decided in the editor or in the terminal."""
        world, random = self.world, self._random
        patience = random.choice((0.2, 1.0, 3.0, 8.0, 1e6))
        hurry = world.loop.create_task(question.hurry.wait())
        await asyncio.wait(
            [question.outcome, hurry], timeout=patience, return_when=asyncio.FIRST_COMPLETED
        )
        hurry.cancel()
        if not question.is_decided:
            is_yes = random.random() < 0.5
            world.note("{} is decided in the terminal: {}", question.proposal.text, is_yes)
            world.count("terminal of Claude Code")
            question.proposal.in_terminal = True
            question.proposal.closed.append(world.loop.now)
            question.outcome.set_result(question.proposal.text if is_yes else None)
        return question.outcome.result()
