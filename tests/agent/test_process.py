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

# Ends a moment after it was asked to, and writes a file before.
ENDS_SLOWLY = """
import signal, sys, time
def end(*_):
    time.sleep(0.2)
    open(sys.argv[1], "w").close()
    sys.exit()
signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
time.sleep(600)
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

    def test_a_program_behind_a_launcher_has_time_to_end(self) -> None:
        async def run(folder: str) -> None:
            written = os.path.join(folder, "written")
            launcher = os.path.join(folder, "launcher")
            with open(launcher, "w") as file:
                file.write(f'#!/bin/sh\n"{sys.executable}" "$@"\n')
            os.chmod(launcher, 0o700)
            command = (launcher, "-c", ENDS_SLOWLY, written)
            one = await AgentProcess.start(command, dict(os.environ), folder)
            self.assertEqual(await one.read_lines().__anext__(), b"ready")
            with mock.patch.object(process, "CLOSING", 0.0):
                await one.stop()
            self.assertTrue(os.path.exists(written))

        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(asyncio.wait_for(run(folder), PATIENCE))

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

    def test_a_killed_process_has_ended_also_where_the_system_tells_it_late(self) -> None:
        async def run() -> None:
            command = (sys.executable, "-c", STAYS)
            one = await AgentProcess.start(command, dict(os.environ), tempfile.gettempdir())
            await one.read_lines().__anext__()
            # Later than what is left in the pipes is waited for.
            with mock.patch.object(process, "DRAINING", 0.0):
                await one.kill()
            self.assertFalse(one.is_running)
            await until(one._process._transport.is_closing)  # type: ignore[attr-defined]

        asyncio.run(asyncio.wait_for(run(), PATIENCE))
