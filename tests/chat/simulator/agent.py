"""A scripted agent, as a process that exists only here. It remembers its sessions when it dies."""

from __future__ import annotations

import asyncio
import json
from random import Random
from typing import Any, AsyncIterator, Callable, Mapping, Protocol, Sequence

from ...virtual_loop import STEP
from ...virtual_parts import VirtualParts

# No process of a system has such an id.
NOBODY = 1 << 30
OPTIONS = (
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
)


class World(Protocol):
    """What the agents need of a simulated world."""

    parts: VirtualParts
    random: Random
    ledger: Any
    # The sessions that agents remember.
    sessions: list[str]
    # Whether agents die by themselves, and whether they ask.
    is_acting: bool
    is_asking: bool

    def next(self) -> int: ...

    def note(self, text: str, *values: Any) -> None: ...


class AgentProcess:
    """Stands in for that of the engine: what is written to it, and its lines."""

    count = 0

    def __init__(self, world: World) -> None:
        self.last_errors = ""
        self.is_running = True
        AgentProcess.count += 1
        self.pid = NOBODY + AgentProcess.count
        self._world = world
        self._lines: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._arrival = {"in": 0.0, "out": 0.0}
        self._agent = ScriptedAgent(world, self)

    # ----- as the engine uses it

    def write(self, data: bytes) -> None:
        for line in data.splitlines():
            self._later("in", self._agent.hear, json.loads(line))

    async def read_lines(self) -> AsyncIterator[bytes]:
        while True:
            line = await self._lines.get()
            if line is None:
                return
            yield line

    async def stop(self) -> None:
        await asyncio.sleep(self._world.parts.delay())
        self.die()

    kill = kill_unread = stop

    # ----- as the agent uses it

    def send(self, **message: Any) -> None:
        self._later(
            "out", self._lines.put_nowait, json.dumps({"jsonrpc": "2.0", **message}).encode()
        )

    def die(self) -> None:
        """Its last words may still arrive."""
        if self.is_running:
            self._world.note("agent {} ends", self.pid - NOBODY)
            self.is_running = False
            self._agent.end()
            self._later("out", self._lines.put_nowait, None)

    def _later(self, way: str, call: Callable[[Any], Any], what: Any) -> None:
        """In the order in which it was sent."""
        loop = self._world.parts.loop
        self._arrival[way] = max(loop.now + self._world.parts.delay(), self._arrival[way] + STEP)
        loop.call_at(self._arrival[way], lambda: call(what))


class ScriptedAgent:
    def __init__(self, world: World, process: AgentProcess) -> None:
        self._world, self._process = world, process
        self._turns: dict[str, asyncio.Task[None]] = {}
        self._questions: dict[int, asyncio.Future[Any]] = {}
        self._is_over = False

    def end(self) -> None:
        self._is_over = True
        for turn in self._turns.values():
            turn.cancel()

    def hear(self, message: Mapping[str, Any]) -> None:
        if self._is_over:
            return
        method, params = message.get("method"), message.get("params", {})
        if method is None:
            self._answered(message)
        elif method == "session/cancel":
            self._world.note("agent hears: cancel")
            if params["sessionId"] in self._turns:
                self._turns[params["sessionId"]].cancel()
        elif method == "session/prompt":
            turn = self._turn(message["id"], params["sessionId"], params["prompt"])
            self._turns[params["sessionId"]] = asyncio.ensure_future(turn)
        elif "id" in message:
            self._process.send(id=message["id"], **self._answer(str(method), params))

    def _answer(self, method: str, params: Any) -> dict[str, Any]:
        if method == "initialize":
            can = {"loadSession": False, "sessionCapabilities": {"resume": {}}}
            return {"result": {"protocolVersion": 1, "agentCapabilities": can}}
        if method == "session/new":
            self._world.sessions.append(f"session {len(self._world.sessions)}")
            return {"result": {"sessionId": self._world.sessions[-1]}}
        if method == "session/resume" and params["sessionId"] in self._world.sessions:
            return {"result": {}}
        return {"error": {"code": -32601, "message": "Method not found"}}

    async def _turn(self, id: Any, session: str, prompt: Sequence[Any]) -> None:
        words = "".join(block.get("text", "") for block in prompt)
        self._world.ledger.prompted(words)
        random, reason = self._world.random, "end_turn"
        try:
            for _ in range(random.choice((0, 1, 2, 4))):
                await asyncio.sleep(random.choice((0.0, 0.01, 0.3)))
                what = random.random()
                if what < 0.06 and self._world.is_acting:
                    self._process.die()
                elif what < 0.5 and self._world.is_asking:
                    await self._ask(session)
                else:
                    self._say(session, f"answer {self._world.next()}. ")
        except asyncio.CancelledError:
            if self._is_over:
                return
            reason = "cancelled"
        self._process.send(id=id, result={"stopReason": reason})

    def _say(self, session: str, text: str) -> None:
        content = {"type": "text", "text": text}
        self._update(session, sessionUpdate="agent_message_chunk", content=content)

    def _update(self, session: str, **update: Any) -> None:
        params = {"sessionId": session, "update": update}
        self._process.send(method="session/update", params=params)

    async def _ask(self, session: str) -> None:
        number = self._world.next()
        call = {"toolCallId": f"call {number}", "title": f"ls {number}", "kind": "execute"}
        self._update(session, sessionUpdate="tool_call", status="pending", **call)
        params = {"sessionId": session, "toolCall": call, "options": OPTIONS}
        answer = self._questions[number] = asyncio.get_running_loop().create_future()
        self._world.ledger.asked(number, self._process)
        self._process.send(id=number, method="session/request_permission", params=params)
        chosen = await answer
        status = "completed" if chosen == "yes" else "failed"
        self._update(
            session, sessionUpdate="tool_call_update", toolCallId=f"call {number}", status=status
        )

    def _answered(self, message: Mapping[str, Any]) -> None:
        outcome = message.get("result", {}).get("outcome", {})
        chosen = outcome.get("optionId") or outcome.get("outcome")
        self._world.ledger.told(message["id"], chosen)
        answer = self._questions.get(message["id"])
        if answer is not None and not answer.done():
            answer.set_result(chosen)
