"""A process with pipes that is stopped: with programs that are no CLI."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import unittest
from unittest import mock

from GeminiCompanion.companion.agent.acp import process
from GeminiCompanion.companion.agent.acp.process import AgentProcess

from ..support import PATIENCE, is_alive, until

# Does not care about the end of its input, and leaves behind what it has started.
STAYS = """
import subprocess, threading
command = subprocess.Popen(["sleep", "600"], start_new_session=True)
print(command.pid, flush=True)
threading.Event().wait()
"""


@unittest.skipIf(sys.platform == "win32", "taskkill is asked there")
class Stopping(unittest.TestCase):
    def test_a_gentle_end_leaves_no_command_behind(self) -> None:
        async def run() -> None:
            command = (sys.executable, "-c", STAYS)
            one = await AgentProcess.start(command, dict(os.environ), tempfile.gettempdir())
            background = int(await one.read_lines().__anext__())
            with mock.patch.multiple(process, CLOSING=0.0, TERMINATING=0.2):
                await one.stop()
            self.assertFalse(one.is_running)
            await until(lambda: not is_alive(background))

        asyncio.run(asyncio.wait_for(run(), PATIENCE))

    def test_lines_that_nobody_has_read_hold_no_pipe_open(self) -> None:
        async def run() -> None:
            command = (sys.executable, "-c", "print('x' * 3_000_000)")
            one = await AgentProcess.start(command, dict(os.environ), tempfile.gettempdir())
            stdout = one._process.stdout
            # Its buffer is full.
            await until(lambda: stdout._paused)  # type: ignore[attr-defined]
            await one.kill_unread()
            self.assertTrue(stdout.at_eof())

        asyncio.run(asyncio.wait_for(run(), PATIENCE))
