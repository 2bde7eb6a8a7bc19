"""An agent, unmodified, in a tab of the headless editor, and what its user does there."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import unittest
from contextlib import ExitStack
from typing import Any
from unittest import mock

import scripted
from agent_case import PROGRAM
from agent_rows import Agent, Proxy
from chat_case import LINE
from editor import Editor
from GeminiCompanion.companion.agent.failure import AgentError
from served import Served, is_gone, until, write_settings


class AgentInTab(unittest.TestCase):
    """One agent in one editor, for all the tests of a class, each of which begins with a chat."""

    row: Agent
    root: str
    folder: str
    temp: str
    data: str
    model: Any
    editor: Editor
    served: Served

    @classmethod
    def setUpClass(cls) -> None:
        try:
            command = cls.row.command()
        except AgentError:
            raise unittest.SkipTest(f"{cls.row.name} is not installed: {cls.row.setup}") from None
        with ExitStack() as stack:
            cls.prepare(stack, command)
            cls.addClassCleanup(stack.pop_all().close)

    @classmethod
    def prepare(cls, stack: ExitStack, command: tuple[str, ...]) -> None:
        cls.root = os.path.realpath(tempfile.mkdtemp(prefix="chat matrix-"))
        stack.callback(shutil.rmtree, cls.root, True)
        cls.folder, cls.temp, cls.data, programs = (
            os.path.join(cls.root, name) for name in ("work", "tmp", "data", "programs")
        )
        for folder in (cls.folder, cls.temp, cls.data, programs):
            os.mkdir(folder)
        cls.model = stack.enter_context(cls.row.server())
        proxy = Proxy()
        stack.callback(proxy.server_close)
        stack.callback(proxy.shutdown)
        # Gemini CLI takes no address of a model but from its environment.
        scripted.find(programs, cls.model.url, PROGRAM)
        agents = {cls.row.id: {"command": command, "protocol_version": cls.row.protocol_version}}
        write_settings(cls.data, {"api_port": 0, "usual_agent": cls.row.id, "agents": agents})
        path = os.pathsep.join([programs, os.environ["PATH"]])
        cache = os.path.join(cls.root, "cache")
        variables = {"XDG_CACHE_HOME": cache, "HOME": cls.root, "PATH": path, **proxy.variables}
        stack.enter_context(mock.patch.dict(os.environ, variables))
        cls.start()
        stack.callback(lambda: cls.editor.close())
        cls.served.configure(**cls.row.login(cls.model.url))

    @classmethod
    def start(cls) -> None:
        cls.editor = Editor(cls.folder, cls.data, cls.temp)
        cls.served = Served(cls.editor)

    def setUp(self) -> None:
        self.path = os.path.join(self.folder, f"{self._testMethodName}.txt")
        until(lambda: self.editor.do("choose_in_palette", "Gemini Companion: New Chat"))

    def tearDown(self) -> None:
        self.editor.do("close_chats")

    # What the user does, and what the model.

    def say(self, words: str, *replies: Any) -> None:
        """No other test says the same words."""
        said = f"{words} ({self._testMethodName})"
        self.model.will_play(said, *replies)
        self.editor.do("type_in_chat", said)
        self.editor.do("command", "gemini_companion_send")

    def shown(self) -> str:
        return str(self.editor.do("chat") or "").partition(LINE)[0]

    def until_shown(self, *words: str) -> str:
        """Until the chat has these words, one after the other; gives it."""

        def found() -> str:
            text, at = self.shown(), 0
            for word in words:
                at = text.find(word, at)
                if at < 0:
                    return ""
            return text

        try:
            return str(until(found))
        except AssertionError:
            told = [self.editor.do(name) for name in ("chat_state", "chat", "log")]
            raise AssertionError(f"{words} in {told}") from None

    def until_over(self, *words: str) -> str:
        """Until the last line of the turn is below these words."""
        return self.until_shown(*words, "\n▏ ", " token")

    def decide(self, command: str) -> None:
        """Until the question is gone: at first it only shows it."""

        def is_gone() -> bool:
            self.editor.do("command", command)
            return "▏ ? " not in self.shown()

        until(is_gone)

    def read(self) -> str | None:
        """What the file of this test holds."""
        if not os.path.exists(self.path):
            return None
        with open(self.path, encoding="utf-8") as file:
            return file.read()

    def propose(self, words: str, text: str, closing: str) -> None:
        """Until the agent's file is open in the review."""
        # Some write over a file only after they have read it.
        reads = self.row.edit(self.path, "", "")[:-1] if os.path.exists(self.path) else ()
        calls = [*reads, self.row.write(self.path, text)]
        self.say(words, *([each] for each in calls), [closing])
        until(lambda: self.editor.do("proposal", self.path) == text)

    def kill(self) -> None:
        """The agent's processes, with what they have started."""
        (agent,) = [
            each for each in self.served.ask("GET", "/agents")["agents"] if each["processes"]
        ]
        for process in agent["processes"]:
            os.killpg(process["pid"], signal.SIGKILL)
            until(lambda pid=process["pid"]: is_gone(pid))
