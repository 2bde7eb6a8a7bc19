"""The chat of the window, whose engine runs as it is, with scripted agents."""

from __future__ import annotations

import asyncio
import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Iterator
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.agent.acp import process
from GeminiCompanion.companion.agent.agent import Options
from GeminiCompanion.companion.agent.credentials import OWN, Credentials
from GeminiCompanion.companion.agent.processes.runner import Launch
from GeminiCompanion.companion.base.answer import Answer
from GeminiCompanion.companion.chat.chat_service import ChatService
from GeminiCompanion.companion.chat.chat_update import STARTING
from GeminiCompanion.companion.chat.requests import Send
from GeminiCompanion.companion.ui import engines
from GeminiCompanion.companion.ui.chat.chat_view import COMPOSER, ChatView

from ...chat.simulator.agent import AgentProcess
from ..adapter import text_of
from .checks import Message

if TYPE_CHECKING:
    from .world import World


class _Process(AgentProcess):
    def die(self) -> None:
        self._world.ledger.interrupt()
        super().die()


class Chat:
    def __init__(self, world: World) -> None:
        self._world = world
        self._view = sublime.View(0)
        self._processes: list[AgentProcess] = []
        AgentProcess.count = 0

    def patches(self) -> Iterator[Any]:
        launch = Launch(("/agent",), agent="sim", fallback=Credentials(OWN))
        options = Options(launch, os.path.join(self._world.folder, "state"))
        ask = ChatService.ask

        def watched(service: ChatService, request: Any) -> Answer[Any]:
            answer = ask(service, request)
            if isinstance(request, Send):
                self._begin(request.words, answer)
            return answer

        yield mock.patch.object(process.AgentProcess, "start", self._start)
        yield mock.patch.object(engines.Engines, "_engine_options", lambda _engines: options)
        yield mock.patch.object(
            engines, "chosen_agents", lambda: (SimpleNamespace(id="sim", launch=launch),)
        )
        yield mock.patch.object(ChatService, "ask", watched)

    async def _start(self, *_: Any) -> AgentProcess:
        await asyncio.sleep(self._world.parts.delay())
        self._processes.append(_Process(self._world))
        self._world.note("agent {} starts", AgentProcess.count)
        return self._processes[-1]

    def _begin(self, words: str, answer: Answer[Any]) -> None:
        """A message is on its way."""
        # The engine hears a moment later that an agent has ended.
        is_dead = bool(self._processes) and not self._processes[-1].is_running
        message = Message(words, may_be_unheard=is_dead)
        self._world.note("sent: {!r}", words)
        self._world.ledger.messages.append(message)

        def settle() -> None:
            try:
                sent = answer.result()
            except Exception as error:
                self._world.note("{!r} is not sent: {}", words, error)
            else:
                message.waited = bool(sent.queued)
                self._world.ledger.counts["queued"] += message.waited

        answer.when_there(settle)

    # ----- what there is to see

    @property
    def view(self) -> sublime.View:
        return self._view

    @property
    def unsent(self) -> str:
        return text_of(self._view).partition(COMPOSER)[2]

    @property
    def transcript(self) -> str:
        return text_of(self._view).partition(COMPOSER)[0]

    @property
    def waiting(self) -> list[str]:
        shown = self._shown
        return [message.text for message in shown.above.queue.messages] if shown is not None else []

    @property
    def is_open(self) -> bool:
        """Whether it shows what its conversation is like."""
        told = self._shown.told if self._shown is not None else None
        return told is not None and told.state != STARTING

    @property
    def _shown(self) -> ChatView | None:
        running = plugin._host.running
        return running.chat.actions.tabs.chat_of(self._view) if running is not None else None

    # ----- what can happen

    def open(self) -> None:
        self._world.window.run_command("gemini_companion_new_chat")
        view = self._world.window.active_view()
        assert view is not None
        self._view = view

    def look(self) -> None:
        """After a load of the package, a chat is opened once the user looks at it."""
        self._world.window.focus_view(self._view)

    def write(self) -> None:
        """Something is typed, whether the package is there or not."""
        word = self._world.mark()
        self._world.ledger.words.append(word)
        self._world.note("written: {}", word)
        for character in word:
            self._view.run_command("insert", {"characters": character})

    def send(self) -> None:
        self._command("send")

    async def talk(self) -> None:
        """Several messages, each as soon as the one before has left the composer."""
        for _ in range(self._world.random.choice((1, 2, 4))):
            self._world.press(self.write)
            self._world.press(self.send)
            for _ in range(50):
                if not self.unsent.strip():
                    break
                await asyncio.sleep(0.01)

    def stop(self) -> None:
        self._world.ledger.interrupt()
        self._command("stop")

    def _command(self, name: str) -> None:
        if plugin._host.running is not None:
            self._world.window.focus_view(self._view)
            self._world.note(name)
            self._world.ledger.counts[name] += 1
            self._world.window.run_command("gemini_companion_" + name)

    def die(self) -> None:
        for each in self._processes[-1:]:
            if each.is_running:
                self._world.ledger.counts["died"] += 1
                each.die()

    def leave(self) -> None:
        """The package is about to be unloaded: of what is in the composer nobody knows then whether
        it has arrived."""
        self._world.ledger.interrupt()
        unsent = self.unsent
        for message in self._world.ledger.messages:
            message.is_unsure |= message.words in unsent
