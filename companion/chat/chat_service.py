"""The chat of an editor: what a front end may ask of it, from any thread. Knows no editor.

service = ChatService(engine, on_update)
update = service.open_chat(workspace)            # "starting", with the id of the conversation
await service.ask(Send(update.conversation_id, "hello"))
"""

from __future__ import annotations

import asyncio
import secrets
import threading
from dataclasses import dataclass, replace
from typing import Any, Callable, Sequence, TypeVar

from ..agent.agent import Agent
from ..agent.engine import Engine, User
from ..agent.failure import AgentError
from ..agent.tool_servers import ToolServer
from ..base.answer import Answer, Unanswered
from ..base.log import logger
from . import problems
from .chat_update import FAILED, ChatUpdate
from .chats import Chats
from .finding import WantedChat
from .requests import ChatRequest, Close, Open

T = TypeVar("T")

# Seconds between two looks whether the engine is still needed; it ends after one or two of them.
LINGER = 30.0
ENDED = "The chat has ended; try again."


@dataclass(frozen=True)
class _Call:
    """A request, and who waits for its answer."""

    request: ChatRequest[Any]
    answer: Answer[Any]


class ChatService(User):
    """Every method may be called from any thread, and does not block. `on_update` gets the updates
    of all open chats, on the engine's thread, of each at most thirty in a second.

    The engine is used while a chat is open, a turn runs, or a request is being answered. If it
    fails, all open chats are told; the next request tries to start it again, and they are open
    again then.
    """

    def __init__(self, engine: Engine, on_update: Callable[[ChatUpdate], None]) -> None:
        self._engine = engine
        self._on_update = on_update
        # Held for moments: what waits, and whether somebody serves it, is one fact.
        self._door = threading.Lock()
        self._calls: list[_Call] = []
        self._wanted: dict[str, WantedChat] = {}
        self._is_served = self._is_stopped = False
        # Belongs to the engine's loop.
        self._bell: asyncio.Event | None = None

    def open_chat(
        self,
        workspace: str,
        agent: str = "",
        conversation_id: str = "",
        tools: Answer[Sequence[ToolServer]] | None = None,
        folders: Sequence[str] = (),
    ) -> ChatUpdate:
        """Follow a conversation; gives its first update, whose state is STARTING. Without an id it
        is a new one. With the id of one that does not exist (any more) it is a new one with this
        id, in the workspace (an absolute path of a folder) and with the agent (its id; empty is the
        usual one). `tools` gives servers of ours, which its agent may use; it starts meanwhile, and
        its session waits for them. `folders` are those of its window (absolute paths), which its
        agent gets too, if it takes several."""
        id = conversation_id or secrets.token_hex(16)
        wanted = WantedChat(id, agent, workspace, tools, tuple(folders))
        with self._door:
            self._wanted[wanted.id] = wanted
        self.ask(Open(wanted))
        return wanted.first_update

    def close_chat(self, conversation_id: str) -> None:
        """Follow it no longer; see `Close`."""
        with self._door:
            is_open = self._wanted.pop(conversation_id, None) is not None
        if is_open:
            self.ask(Close(conversation_id))

    def ask(self, request: ChatRequest[T]) -> Answer[T]:
        """Answer it soon, in one order with the others. There is always an answer: it is Unanswered
        if the request is not possible, and if the engine fails or ends first."""
        answer: Answer[T] = Answer()
        with self._door:
            if self._is_stopped:
                answer.fail(Unanswered(ENDED))
                return answer
            self._calls.append(_Call(request, answer))
            is_served, self._is_served = self._is_served, True
        if is_served:
            self._engine.post_call(self._ring_bell)
        else:
            self._engine.add_user(self)
        return answer

    def stop(self) -> None:
        """The package is unloaded: open chats are left, and their turns end with the engine."""
        with self._door:
            self._is_stopped = True
        self._engine.post_call(self._ring_bell)

    # On the engine's thread.

    async def use_agent(self, agent: Agent) -> None:
        self._bell = asyncio.Event()
        chats = Chats(agent, self._on_update)
        tasks: set[asyncio.Future[None]] = set()
        with self._door:
            wanted = list(self._wanted.values())
        for each in wanted:
            chats.open_chat(each)
        try:
            is_idle = False
            while True:
                calls = self._next_calls(is_idle)
                if calls is None:
                    return
                tasks |= {asyncio.ensure_future(_do_call(call, chats)) for call in calls}
                is_idle = not await self._wait_for_bell() and not (tasks or chats.are_used)
                tasks = {task for task in tasks if not task.done()}
        finally:
            for task in tasks:
                task.cancel()
            await chats.close_all()

    def report_end(self, problem: str) -> None:
        if not problem:
            # It has left by itself, and may be about to be served again.
            return
        with self._door:
            calls, self._calls = self._calls, []
            wanted = list(self._wanted.values())
            self._is_served = False
        for call in calls:
            call.answer.fail(Unanswered(problem))
        for each in wanted:
            self._on_update(replace(each.first_update, state=FAILED, problem=problem))

    def _ring_bell(self) -> None:
        if self._bell is not None:
            self._bell.set()

    async def _wait_for_bell(self) -> bool:
        """Whether somebody has rung."""
        if self._bell is None:
            return False
        try:
            await asyncio.wait_for(self._bell.wait(), LINGER)
        except asyncio.TimeoutError:
            return False
        self._bell.clear()
        return True

    def _next_calls(self, is_idle: bool) -> Sequence[_Call] | None:
        """What is to be done; None if this is over, and the next request begins anew."""
        with self._door:
            calls, self._calls = self._calls, []
            if self._is_stopped or (is_idle and not calls):
                self._is_served = False
                for call in calls:
                    call.answer.fail(Unanswered(ENDED))
                return None
            return calls


async def _do_call(call: _Call, chats: Chats) -> None:
    """The boundary of requests: one that fails gets a sentence as its answer."""
    try:
        call.answer.give(await call.request.carry_out(chats))
    except AgentError as error:
        call.answer.fail(Unanswered(problems.problem_sentence(error)))
    except asyncio.CancelledError:
        call.answer.fail(Unanswered(ENDED))
        raise
    except Exception:
        logger.exception("%s failed", type(call.request).__name__)
        call.answer.fail(Unanswered(problems.BROKEN))
