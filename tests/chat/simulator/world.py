"""One run: everything that happens in it, in the order that one seed decides."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import tempfile
from contextlib import ExitStack
from random import Random
from typing import Any
from unittest import mock

from GeminiCompanion.companion.agent.acp import process
from GeminiCompanion.companion.agent.agent import Options
from GeminiCompanion.companion.agent.credentials import OWN, Credentials
from GeminiCompanion.companion.agent.engine import Engine
from GeminiCompanion.companion.agent.processes.runner import Launch
from GeminiCompanion.companion.agent.turn_events import CANCEL, ONCE
from GeminiCompanion.companion.base.answer import Answer, Unanswered
from GeminiCompanion.companion.base.log import logger
from GeminiCompanion.companion.chat.chat_service import ENDED, ChatService
from GeminiCompanion.companion.chat.chat_update import WORKING, ChatUpdate
from GeminiCompanion.companion.chat.requests import (
    Decide,
    SaidBefore,
    Send,
    SendNow,
    Stop,
    TakeBack,
)

from ...virtual_loop import Endless
from ...virtual_parts import VirtualParts
from .agent import AgentProcess
from .checks import Ledger, Message

# Seconds in which all comes to rest, with answers to all questions.
REST = 40.0
# What can happen, and how often compared with the rest.
ACTIONS = {
    "send": 6,
    "decide": 6,
    "stop": 2,
    "take_back": 2,
    "send_now": 1,
    "close": 1,
    "open": 1,
    "die": 1,
    "reload": 1,
    "hold_up": 2,
}


class _Log(logging.Handler):
    """An error with a traceback is a bug."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(logging.ERROR)
        self._ledger = ledger

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self._ledger.violate(f"{record.getMessage()}: {record.exc_info[1]!r}")


class World:
    def __init__(self, seed: int, trace: bool = False) -> None:
        self.random = Random(seed)
        self.parts = VirtualParts(seed)
        self.ledger = Ledger(self)
        self.trace: list[str] | None = [] if trace else None
        self.is_acting = self.is_asking = True
        # Those that the agents remember.
        self.sessions: list[str] = []
        self._processes: list[AgentProcess] = []
        self._updates: dict[str, ChatUpdate] = {}
        self._chats: list[str] = []
        self._numbers = 0
        self._tasks: list[asyncio.Task[None]] = []

    def next(self) -> int:
        self._numbers += 1
        return self._numbers

    def note(self, text: str, *values: Any) -> None:
        if self.trace is not None:
            self.trace.append(f"{self.parts.loop.now - 1000:9.4f}  {text.format(*values)}")

    # ----- the run

    def run(self) -> None:
        AgentProcess.count = 0
        self._folder = os.path.realpath(tempfile.mkdtemp())
        self._workspace = os.path.join(self._folder, "workspace")
        os.mkdir(self._workspace)
        log = _Log(self.ledger)
        with ExitStack() as stack:
            stack.enter_context(self.parts.installed())
            stack.enter_context(mock.patch.object(process.AgentProcess, "start", self._start))
            handlers, logger.handlers = logger.handlers, [log]
            propagates, logger.propagate = logger.propagate, False
            try:
                self.parts.loop.run_until_complete(self._main())
            except Endless as error:
                self.ledger.violate(f"no end: {error}")
            finally:
                logger.handlers, logger.propagate = handlers, propagates
        for failure in self.parts.loop.errors:
            self.ledger.violate(f"failed: {failure}")
        shutil.rmtree(self._folder, True)

    async def _start(self, *_: Any) -> AgentProcess:
        await asyncio.sleep(self.parts.delay())
        self._processes.append(AgentProcess(self))
        self.note("agent {} starts", AgentProcess.count)
        return self._processes[-1]

    def _begin(self) -> None:
        launch = Launch(("/agent",), agent="sim", fallback=Credentials(OWN))
        options = Options(launch, os.path.join(self._folder, "state"))
        self._engine = Engine(lambda: options)
        self._service = ChatService(self._engine, self._heard)
        self._is_down = False
        for chat in self._chats:
            self._service.open_chat(self._workspace, "sim", chat)

    async def _main(self) -> None:
        self._begin()
        for _ in range(self.random.choice((1, 1, 2))):
            self._chats.append(self._service.open_chat(self._workspace, "sim").conversation_id)
        actions = [name for name, count in ACTIONS.items() for _ in range(count)]
        for _ in range(self.random.choice((5, 15, 40))):
            await asyncio.sleep(self.random.choice((0.0, 0.0, 0.005, 0.1, 0.5)))
            await getattr(self, "_" + self.random.choice(actions))()
        self.is_acting = False
        self.note("at rest")
        await self._come_to_rest()
        await self._look()

    async def _come_to_rest(self) -> None:
        """All questions are answered, and all turns end."""
        for chat in self._chats:
            self._service.open_chat(self._workspace, "sim", chat)
        end = self.parts.loop.now + REST
        while self.parts.loop.now < end:
            await asyncio.sleep(0.5)
            for chat in self._chats:
                for question in self._waiting(chat):
                    self._answer(chat, question)
        await asyncio.wait(self._tasks) if self._tasks else None
        for chat in self._chats:
            if self._updates[chat].state == WORKING:
                self.ledger.violate(f"a turn has no end: {self._updates[chat]}")

    async def _look(self) -> None:
        """After a restart, so that what is seen is what the disk has."""
        await self._restart()
        await asyncio.sleep(1)
        history: list[str] = []
        for chat in self._chats:
            history += await self._asked(SaidBefore(chat))
        queued = [message.text for chat in self._chats for message in self._queued(chat)]
        self.ledger.check(queued, history)
        await self._stop_all()

    def _heard(self, update: ChatUpdate) -> None:
        if update.state != getattr(self._updates.get(update.conversation_id), "state", ""):
            self.note("chat {}: {} {}", update.conversation_id[:2], update.state, update.problem)
        self._updates[update.conversation_id] = update

    async def _asked(self, request: Any) -> Any:
        """What is answered. Raises Unanswered."""
        answer = self._service.ask(request)
        there = asyncio.Event()
        answer.when_there(there.set)
        await there.wait()
        return answer.result()

    def _do(self, work: Any) -> None:
        self._tasks.append(asyncio.ensure_future(work))

    # ----- what can happen

    def _chat(self) -> str:
        return self.random.choice(self._chats)

    def _waiting(self, chat: str) -> list[Any]:
        return list(self._updates[chat].waiting) if chat in self._updates else []

    async def _send(self) -> None:
        message = Message(f"message {self.next()}.")
        self.ledger.messages.append(message)
        self.note("send {!r}", message.words)
        self.ledger.counts["send"] += 1
        self._do(self._sent(message, self._service.ask(Send(self._chat(), message.words))))

    async def _sent(self, message: Message, answer: Answer[Any]) -> None:
        there = asyncio.Event()
        answer.when_there(there.set)
        await there.wait()
        try:
            sent = answer.result()
            message.became = sent.turn or sent.queued
        except Unanswered as error:
            message.failed = str(error) != ENDED
            message.is_unsure = not message.failed
            self.ledger.counts["not sent"] += 1
            self.note("{!r} is not sent: {}", message.words, error)

    async def _decide(self) -> None:
        chat = self._chat()
        for question in self._waiting(chat)[:1]:
            self._answer(chat, question)

    def _answer(self, chat: str, question: Any) -> None:
        outcome = self.random.choice((ONCE, CANCEL))
        self.note("decides {}: {}", question.id, outcome)
        self.ledger.counts["decide"] += 1
        decision = Decide(chat, question.id, outcome, revision=question.revision)
        self._do(self._decided(int(question.id.rpartition(" ")[2]), decision))

    async def _decided(self, number: int, decision: Decide) -> None:
        """Only what was not refused is a decision."""
        try:
            await self._asked(decision)
            self.ledger.decided(number, decision.outcome)
        except Unanswered as error:
            self.note("no decision on {}: {}", number, error)

    async def _stop(self) -> None:
        self.note("stop")
        self.ledger.counts["stop"] += 1
        self._do(self._tried(Stop(self._chat())))

    async def _tried(self, request: Any) -> None:
        try:
            await self._asked(request)
        except Unanswered as error:
            self.note("refused: {}", error)

    def _queued(self, chat: str) -> list[Any]:
        return list(self._updates[chat].queue.messages) if chat in self._updates else []

    async def _take_back(self) -> None:
        chat = self._chat()
        for each in self._queued(chat)[:1]:
            self.note("take back {!r}", each.text)
            self._do(self._taken_back(chat, each.id))

    async def _taken_back(self, chat: str, id: str) -> None:
        try:
            back = await self._asked(TakeBack(chat, id))
        except Unanswered as error:
            self.note("refused: {}", error)
            return
        self.ledger.counts["taken back"] += 1
        next(
            message for message in self.ledger.messages if message.words == back.text
        ).is_back = True

    async def _send_now(self) -> None:
        chat = self._chat()
        for each in self._queued(chat)[-1:]:
            self.note("send now {!r}", each.text)
            self.ledger.counts["sent now"] += 1
            self._do(self._tried(SendNow(chat, each.id)))

    async def _close(self) -> None:
        chat = self._chat()
        self.note("close {}", chat[:2])
        self._service.close_chat(chat)

    async def _open(self) -> None:
        chat = self._chat()
        self.note("open {}", chat[:2])
        self._service.open_chat(self._workspace, "sim", chat)

    async def _die(self) -> None:
        for each in self._processes[-1:]:
            self.ledger.counts["died"] += 1
            each.die()

    async def _hold_up(self) -> None:
        self.parts.loop.hold_up(self.random.choice((0.003, 0.03, 0.3)))

    async def _reload(self) -> None:
        if self.random.random() < 0.5:
            self.ledger.counts["reload"] += 1
            await self._restart()

    async def _restart(self) -> None:
        """The package is unloaded and loaded again, once its engine has ended."""
        self.note("restart")
        await self._stop_all()
        self._begin()

    async def _stop_all(self) -> None:
        self._service.stop()
        run = self._engine._run
        while run is not None and run.thread.is_alive:
            await asyncio.sleep(0.05)
