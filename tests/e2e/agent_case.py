"""One agent (the engine with a CLI behind it) for all the tests of a class.

class Example(AgentCase):
    async def test_it(self) -> None:
        self.model.will_play("hello", ["Hi."])
        story = await self.tell("hello")            # the bodies of the turn's events
        story = await self.tell("write", decide="proceed_once")

Each test has a workspace of its own, and so a conversation of its own. The CLI is the scripted one,
or the real one for a class whose tests are about that (`real`), and for all with ALL=1.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import shutil
import sys
import tempfile
import types
import unittest
from typing import Any, Awaitable, Callable, Mapping, TypeVar

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
if "GeminiCompanion" not in sys.modules:
    package = types.ModuleType("GeminiCompanion")
    package.__path__ = [ROOT]
    sys.modules["GeminiCompanion"] = package

from GeminiCompanion.companion.agent import turn_events as events  # noqa: E402
from GeminiCompanion.companion.agent.agent import Agent, Options  # noqa: E402
from GeminiCompanion.companion.agent.agents.gemini_cli import GeminiCli  # noqa: E402
from GeminiCompanion.companion.agent.credentials import API_KEY, Credentials  # noqa: E402
from GeminiCompanion.companion.agent.processes.runner import Launch  # noqa: E402
from GeminiCompanion.companion.agent.turn.outcomes import CallDecision  # noqa: E402
from GeminiCompanion.companion.agent.turn.turn import Turn  # noqa: E402
from GeminiCompanion.tests.waiting import is_alive, until  # noqa: E402
from model_server import ModelServer, call  # noqa: E402
from scripted import COMMAND  # noqa: E402

PROGRAM = os.path.join(HERE, "node_modules", "@google", "gemini-cli", "bundle", "gemini.js")
# Seconds for one test, with a start of the CLI on a busy machine in it.
PATIENCE = 400.0
# Why a test is skipped with the real CLI.
NO_CHANGES = "Gemini CLI never changes a question that it has asked"
# One model, so that no request goes out to choose one.
MODEL = "gemini-2.5-flash"
KEY = Credentials(API_KEY, "the-key")
LAUNCH = ("variables", "command", "fallback", "processes", "look")

T = TypeVar("T", bound=events.Body)


def on_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    @functools.wraps(test)
    def run(self: AgentCase) -> None:
        self.loop.run_until_complete(asyncio.wait_for(test(self), PATIENCE))

    return run


def of(kind: type[T], story: list[Any]) -> list[T]:
    return [body for body in story if isinstance(body, kind)]


def text(story: list[Any]) -> str:
    return "".join(body.text for body in of(events.Content, story))


async def start_usual_cli(agent: Agent) -> None:
    async with agent.backends[None].pool.first_client(agent.account.credentials):
        pass


class AgentCase(unittest.TestCase):
    """`options` are those of the agent's `Options` that differ, `settings` the CLI's own. Tests
    that are coroutines run on the loop of their class's agent."""

    options: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    real = bool(os.environ.get("ALL"))
    model_server: Callable[[], Any] = ModelServer
    root: str
    model: Any
    loop: asyncio.AbstractEventLoop
    agent: Agent

    # Of `tests.tables`.
    on_its_loop = staticmethod(on_loop)

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        for name in dir(cls):
            test = getattr(cls, name)
            if name.startswith("test") and inspect.iscoroutinefunction(test):
                setattr(cls, name, on_loop(test))

    @classmethod
    def command(cls) -> tuple[str, ...]:
        """Of the CLI."""
        return GeminiCli.program.find_command(HERE) if cls.real else COMMAND

    @classmethod
    def setUpClass(cls) -> None:
        if cls.real and not os.path.exists(PROGRAM):
            raise unittest.SkipTest("the CLI is not installed: make setup")
        cls.root = os.path.realpath(tempfile.mkdtemp(prefix="agent-"))
        cls.addClassCleanup(shutil.rmtree, cls.root, True)
        cls.model = cls.model_server()
        cls.model.__enter__()
        cls.addClassCleanup(cls.model.__exit__, None, None, None)
        cls.loop = asyncio.new_event_loop()
        cls.addClassCleanup(cls.loop.close)
        cls.agent = cls.run_soon(cls.another_agent())

    @classmethod
    def launch(
        cls,
        variables: Mapping[str, str] | None = None,
        command: tuple[str, ...] = (),
        **more: Any,
    ) -> Launch:
        """`variables` are the CLI's, instead of those that lead to the model."""
        if variables is None:
            variables = {"GOOGLE_GEMINI_BASE_URL": cls.model.url, "NO_PROXY": "127.0.0.1"}
        return Launch(command or cls.command(), variables, cls.settings, MODEL, **more)

    @classmethod
    async def another_agent(
        cls, state: str = "", credentials: Credentials | None = KEY, **options: Any
    ) -> Agent:
        """With a state of its own where none is named, and stopped with the class. `options` are
        the agent's or those of `launch`."""
        launch = cls.launch(**{name: options.pop(name) for name in LAUNCH if name in options})
        state = state or os.path.join(tempfile.mkdtemp(dir=cls.root), "state")
        agent = Agent(Options(launch, state, **{**cls.options, **options}))
        cls.addClassCleanup(lambda: cls.run_soon(agent.stop()))
        if credentials is not None:
            await agent.account.configure_credentials(credentials)
        return agent

    @classmethod
    def run_soon(cls, coroutine: Awaitable[Any]) -> Any:
        return cls.loop.run_until_complete(coroutine)

    def setUp(self) -> None:
        self.workspace = os.path.realpath(tempfile.mkdtemp(prefix="work space-", dir=self.root))

    def path(self, name: str) -> str:
        return os.path.join(self.workspace, name)

    def write(self, name: str, content: str) -> str:
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(content)
        return self.path(name)

    def read(self, name: str) -> str:
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    async def chat(self, message: str, **options: Any) -> Turn:
        return await self.agent.send_message(self.workspace, message, **options)

    async def tell(self, message: str, decide: str = "", **options: Any) -> list[Any]:
        """All that comes of a message; every question is answered with `decide`."""
        turn = await self.chat(message, **options)
        return await self.rest(turn, decide)

    async def run_command(self, agent: Agent) -> tuple[Turn, int]:
        """A turn in the middle of a command that does not end by itself, and the command's
        process."""
        marker = self.path("running")
        line = f"echo $$ > '{marker}.new'; mv '{marker}.new' '{marker}'; sleep 1234.5"
        self.model.will_play("sleep", [call("run_shell_command", command=line)], ["Slept."])
        turn = await agent.send_message(self.workspace, "sleep")
        asked = await self.until(turn, events.ToolConfirmation)
        agent.turns.confirm_call(asked.call_id, CallDecision("proceed_once"))
        await until(lambda: os.path.exists(marker))
        return turn, int(self.read("running"))

    async def rest(self, turn: Turn, decide: str = "", after: int = 0) -> list[Any]:
        story = []
        async for event in turn.read_events(after):
            story.append(event.body)
            if decide and isinstance(event.body, events.ToolConfirmation):
                self.agent.turns.confirm_call(event.body.call_id, CallDecision(decide))
        return story

    async def until(self, turn: Turn, kind: type[T]) -> T:
        """The first body of the kind. Raises AssertionError where none comes."""
        story = []
        async for event in turn.read_events():
            if isinstance(event.body, kind):
                return event.body
            story.append(event.body)
        raise AssertionError(f"the turn had no {kind.__name__}: {story}")

    async def until_gone(self, pid: int) -> None:
        await until(lambda: not is_alive(pid))
