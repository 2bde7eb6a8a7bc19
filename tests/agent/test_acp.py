"""A CLI that writes something else than the protocol: with programs that are none."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import unittest

from GeminiCompanion.companion.agent import failure
from GeminiCompanion.companion.agent.acp import message_lines as acp_lines
from GeminiCompanion.companion.agent.agent import Agent, Options
from GeminiCompanion.companion.agent.credentials import API_KEY, Credentials
from GeminiCompanion.companion.agent.failure import AgentError
from GeminiCompanion.companion.agent.processes.runner import Launch
from GeminiCompanion.companion.agent.sentence import CHINESE, translated_text

from ..support import PATIENCE, is_alive, until

# Tells its process, writes without an end of it, and stays.
GARBAGE = """
import os, threading
print(os.getpid())
for number in range(1000): print("garbage", number)
print("", flush=True)
threading.Event().wait()
"""
# Writes some lines before it speaks the protocol.
TALKATIVE = """
import json, sys
for number in range(%d): print("Loading", number)
for line in sys.stdin:
    answer = {"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": {"protocolVersion": 1}}
    print(json.dumps(answer), flush=True)
"""
USAGE = "print('usage: it --other'); raise SystemExit(2)"


async def start_usual_cli(agent: Agent) -> None:
    async with agent.backends[None].pool.first_client(agent.account.credentials):
        pass


class OtherProtocol(unittest.IsolatedAsyncioTestCase):
    def agent(self, script: str) -> Agent:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        launch = Launch(
            (sys.executable, "-c", script), os.environ, fallback=Credentials(API_KEY, "the-key")
        )
        agent = Agent(Options(launch, os.path.join(folder.name, "state")))
        self.addAsyncCleanup(agent.stop)
        return agent

    async def refused(self, script: str) -> AgentError:
        with self.assertRaises(AgentError) as caught:
            await asyncio.wait_for(start_usual_cli(self.agent(script)), PATIENCE / 2)
        self.assertEqual(caught.exception.code, failure.CLIENT_NOT_INITIALIZED)
        return caught.exception

    async def test_a_program_that_writes_something_else_is_ended_and_told_of_at_once(self) -> None:
        error = await self.refused(GARBAGE)
        self.assertIn("does not speak the Agent Client Protocol: it wrote 51", str(error))
        self.assertIn("51", translated_text(error.message, CHINESE))
        process, *lines = error.details.split("\n")
        self.assertEqual(lines[:2], ["garbage 0", "garbage 1"])
        self.assertLess(len(lines), acp_lines.MAX_STRAYS)
        await until(lambda: not is_alive(int(process)))

    async def test_what_a_program_writes_that_ends_is_told(self) -> None:
        error = await self.refused(USAGE)
        self.assertIn("ended unexpectedly", str(error))
        self.assertEqual(error.details, "usage: it --other")

    async def test_some_lines_before_the_protocol_are_none_of_ours(self) -> None:
        agent = self.agent(TALKATIVE % acp_lines.MAX_STRAYS)
        await asyncio.wait_for(start_usual_cli(agent), PATIENCE)
        self.assertIsNotNone(agent.process_info().pid)
