"""Each agent, unmodified, in a workspace full of baits that nobody trusts: what it cannot be kept
from is refused before it starts, and nothing else springs. An agent that is not set up is skipped.

    make test-agents
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import unittest
from dataclasses import replace
from typing import Any

from agent_case import AgentCase, of, text
from agent_rows import AGENTS, NEWEST_CLAUDE, Proxy
from agent_rows import Agent as Row
from baits import BAITS, Bait, Marks, make_endless, make_workspace
from GeminiCompanion.companion.agent import turn_events as events
from GeminiCompanion.companion.agent.credentials import Credentials
from GeminiCompanion.companion.agent.failure import AgentError
from GeminiCompanion.companion.agent.processes.runner import Launch
from model_server import call
from test_own_login import LOGIN, OF_USER, make_home

from tests.support import until

NO, ONCE = "cancel", "proceed_once"
GROWTH = 50 << 20
# Baits that cannot be laid beside another one with the same key.
APART = ("git-hooks",)
FILTERS = ("git-filter", "git-process")
# What each agent is not opened with; and a bait that it falls for where the folder is trusted.
REFUSED: dict[str, tuple[str, ...]] = {
    "gemini": (),
    "qwen": FILTERS,
    "claude": FILTERS,
    "opencode": ("opencode-plugin", "opencode-plugins", "opencode-plugin-in-settings"),
    "codex": (
        *FILTERS, "codex-notify", "codex-server", "codex-address", "codex-provider",
        "codex-model-address", "codex-telemetry", "codex-rules", "codex-hooks",
        "codex-hooks-in-settings", "codex-agent",
    ),
}  # fmt: skip
FALLS_FOR = {
    "gemini": "gemini-tools",
    "qwen": "qwen-mcp",
    "claude": "claude-hooks",
    "opencode": "opencode-server",
    "codex": "codex-server",
}
# Who reads on by itself in a file without an end.
WAITS = ("opencode",)
# Keys that an agent may look for in a file of the workspace.
KEYS = (
    "GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
)  # fmt: skip
SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tool_server.py")


# Agents that read what has no end take the processors that tests beside them need.
@unittest.skipUnless(os.environ.get("BAITS"), "make test-agents runs it")
class Baited(AgentCase):
    row: Row
    proxy: Proxy
    real = False
    falls_for = ""

    @classmethod
    def setUpClass(cls) -> None:
        try:
            cls.row.command()
        except AgentError:
            raise unittest.SkipTest(f"{cls.row.name} is not installed: {cls.row.setup}") from None
        cls.model_server = cls.row.server
        cls.proxy = Proxy()
        cls.addClassCleanup(cls.proxy.server_close)
        cls.addClassCleanup(cls.proxy.shutdown)
        super().setUpClass()
        cls.run_soon(cls.agent.account.configure_credentials(cls.credentials()))

    @classmethod
    def credentials(cls) -> Credentials:
        return cls.row.key(cls.model.url)

    @classmethod
    def launch(cls, *_given: Any, **more: Any) -> Launch:
        return cls.row.launch(cls.model.url, cls.proxy.variables)

    @classmethod
    async def another_agent(cls, *_given: Any, **more: Any) -> Any:
        return await super().another_agent(credentials=None, **more)

    def setUp(self) -> None:
        super().setUp()
        self.marks = Marks(tempfile.mkdtemp(dir=self.root))
        self.marks.__enter__()
        self.addCleanup(self.marks.__exit__, None, None, None)

    def lay(self, *baits: Bait) -> None:
        self.workspace = tempfile.mkdtemp(prefix="baited-", dir=self.root)
        make_workspace(self.workspace)
        for bait in baits:
            bait.lay(self.workspace, self.marks)

    def baits(self) -> list[Bait]:
        return [bait for bait in BAITS if bait.agent in ("", self.row.id)]

    async def play(self, words: str, *replies: Any, decide: str = NO) -> list[Any]:
        said = f"{words} ({self._testMethodName})"
        self.model.will_play(said, *replies)
        return await self.tell(said, decide)

    async def work(self) -> None:
        """A message, a file that is read, edited and made, and a command that nobody allows."""
        self.assertEqual(text(await self.play("greet", ["Hello."])), "Hello.")
        edits = [[edit] for edit in self.row.edit(self.path("code.ts"), "one", "two")]
        await self.play("edit", *edits, ["Edited."], decide=ONCE)
        made = self.row.write(self.path("made.ts"), "let a = 1;\n")
        await self.play("make", [made], ["Made."], decide=ONCE)
        self.assertTrue(os.path.exists(self.path("made.ts")))
        command = self.row.run(self.marks.command("a command"))
        story = await self.play("run", [command], ["Ran."])
        self.assertEqual(len(of(events.ToolConfirmation, story)), 1, story)

    async def test_nothing_springs_in_a_workspace_that_is_opened(self) -> None:
        laid = [bait for bait in self.baits() if bait.name not in REFUSED[self.row.id]]
        self.lay(*(bait for bait in laid if bait.name not in APART))
        make_endless(self.workspace)
        before = memory()
        await self.work()
        if self.row.id not in WAITS:
            target = self.path("notes.md")
            story = await self.play("endless", [self.row.write(target, "one\n")], ["Wrote."])
            self.assertIsInstance(story[-1], events.Complete)
        self.assertLess(memory() - before, GROWTH)
        self.lay(*(bait for bait in laid if bait.name in APART))
        await self.work()
        self.assertEqual(self.marks.seen(), set())

    async def test_what_it_cannot_be_kept_from_is_refused_before_it_starts(self) -> None:
        for bait in (each for each in self.baits() if each.name in REFUSED[self.row.id]):
            with self.subTest(bait.name):
                self.lay(bait)
                with self.assertRaises(AgentError) as refused:
                    await self.play(f"greet {bait.name}", ["Hello."])
                self.assertIn(self.workspace, str(refused.exception.message))
        self.assertEqual(self.marks.seen(), set())

    async def test_the_baits_spring_where_the_workspace_is_trusted(self) -> None:
        trusting = await self.another_agent(trusts_workspaces=True)
        await trusting.account.configure_credentials(self.credentials())
        wanted = self.falls_for or FALLS_FOR[self.row.id]
        self.lay(*(bait for bait in BAITS if bait.name in (self.row.id, wanted)))
        # Some of them keep the agent from answering.
        asked = asyncio.ensure_future(trusting.send_message(self.workspace, "greet who trusts"))
        try:
            await until(lambda: wanted in self.marks.seen())
        finally:
            await trusting.stop()
            await asyncio.wait([asked])
            asked.exception()


def memory() -> int:
    """The bytes that this process uses now; 0 if the system does not tell."""
    if not sys.platform.startswith("linux"):
        return 0
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class GeminiCli(Baited):
    row = AGENTS["gemini"]


class QwenCode(Baited):
    row = AGENTS["qwen"]


class ClaudeCode(Baited):
    row = AGENTS["claude"]


class NewestClaudeCode(Baited):
    row = NEWEST_CLAUDE


class OpenCode(Baited):
    row = replace(
        AGENTS["opencode"],
        settings={"mcp": {"s": {"type": "local", "command": [sys.executable, SERVER]}}},
    )

    async def test_a_tool_of_a_tool_server_is_asked_about_and_reading_is_not(self) -> None:
        self.lay()
        story = await self.play("add", [call("s_add")], ["Added."])
        self.assertEqual(len(of(events.ToolConfirmation, story)), 1, story)
        path = self.path("code.ts")
        story = await self.play("read", [call("read", filePath=path)], ["Read."])
        self.assertEqual((of(events.ToolConfirmation, story), text(story)), ([], "Read."))


class Codex(Baited):
    row = AGENTS["codex"]


class AtHome(Baited):
    """With the user's own login, and settings of theirs by which nobody is asked."""

    home = ""

    @classmethod
    def credentials(cls) -> Credentials:
        return LOGIN

    @classmethod
    async def another_agent(cls, *given: Any, **more: Any) -> Any:
        if not cls.home:
            cls.home = os.path.join(cls.root, "home")
            patch = make_home(cls.row, cls.home, cls.model.url, cls.proxy)
            patch.start()
            cls.addClassCleanup(patch.stop)
        return await super().another_agent(*given, **more)

    async def test_the_key_is_the_users_whatever_the_workspace_says(self) -> None:
        self.lay(*(bait for bait in self.baits() if bait.name == self.row.id))
        self.write(".env", "".join(f"{name}=evil\n" for name in KEYS))
        del self.model.keys[:]
        self.assertEqual(text(await self.play("greet", ["Hello."])), "Hello.")
        self.assertEqual(set(self.model.keys), {OF_USER})


class GeminiCliAtHome(AtHome):
    row = AGENTS["gemini"]


class QwenCodeAtHome(AtHome):
    row = AGENTS["qwen"]
    # It starts no tool server of a workspace there.
    falls_for = "qwen-hooks"


class ClaudeCodeAtHome(AtHome):
    row = AGENTS["claude"]


class NewestClaudeCodeAtHome(AtHome):
    row = NEWEST_CLAUDE


class OpenCodeAtHome(AtHome):
    row = AGENTS["opencode"]


class CodexAtHome(AtHome):
    row = AGENTS["codex"]


# The others have their tests.
del Baited, AtHome
