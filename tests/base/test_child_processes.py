"""Processes that end with all that they have started; those of Windows are seen from elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest
from unittest import mock

from GeminiCompanion.companion.base import child_processes

from ..support import is_alive, wait_for

# Like a CLI with a command of the model: the command leads a session of its own and has a child.
CLI = """
import subprocess
command = ["sh", "-c", "sleep 600 & echo $$ $!; wait"]
subprocess.Popen(command, start_new_session=True).wait()
"""


class EndTree(unittest.TestCase):
    """On Windows."""

    def setUp(self) -> None:
        patch = mock.patch.object(sys, "platform", "win32")
        patch.start()
        self.addCleanup(patch.stop)

    def test_the_process_ends_with_all_that_it_started_and_no_window_flashes_up(self) -> None:
        no_window = 0x08000000
        with mock.patch.object(child_processes, "NO_WINDOW", no_window):
            with mock.patch.object(subprocess, "call") as call:
                child_processes.end_tree(4711)
        self.assertEqual(call.call_args[0][0], ["taskkill", "/PID", "4711", "/T", "/F"])
        self.assertEqual(call.call_args[1]["creationflags"], no_window)

    def test_a_system_without_the_program_is_no_error(self) -> None:
        with mock.patch.object(subprocess, "call", side_effect=FileNotFoundError) as call:
            child_processes.end_tree(4711)
        call.assert_called_once()


@unittest.skipIf(sys.platform == "win32", "groups of processes are not known there")
class EndGroups(unittest.TestCase):
    def start(self) -> tuple[subprocess.Popen[str], list[int]]:
        """A process, and those that it has started in a session of their own."""
        process = subprocess.Popen(
            [sys.executable, "-c", CLI], stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        if process.stdout is None:
            raise AssertionError("it has no output")
        with process.stdout as output:
            return process, [int(pid) for pid in output.readline().split()]

    def test_commands_in_sessions_of_their_own_end_with_the_process_that_started_them(self) -> None:
        process, commands = self.start()
        other, others = self.start()
        child_processes.end_tree(process.pid)
        wait_for(lambda: not any(map(is_alive, [process.pid, *commands])))
        self.assertTrue(all(map(is_alive, [other.pid, *others])))
        child_processes.end_tree(other.pid)
        wait_for(lambda: not any(map(is_alive, others)))

    def test_a_system_that_has_only_ps_is_asked_with_it(self) -> None:
        process, commands = self.start()
        with mock.patch.object(child_processes, "PROC", "/nowhere"):
            child_processes.end_tree(process.pid)
        wait_for(lambda: not any(map(is_alive, [process.pid, *commands])))

    def test_where_nothing_lists_processes_its_own_group_ends(self) -> None:
        process, commands = self.start()
        for command in commands:
            self.addCleanup(os.kill, command, 9)
        with mock.patch.object(child_processes, "PROC", "/nowhere"):
            with mock.patch.dict(os.environ, PATH="/nowhere"):
                child_processes.end_tree(process.pid)
        wait_for(lambda: not is_alive(process.pid))
        self.assertTrue(all(map(is_alive, commands)))

    def test_a_process_that_is_gone_is_no_error(self) -> None:
        process, commands = self.start()
        child_processes.end_tree(process.pid)
        process.wait()
        child_processes.end_tree(process.pid)


if __name__ == "__main__":
    unittest.main()
