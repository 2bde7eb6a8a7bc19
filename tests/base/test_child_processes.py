"""Processes that end with all that they have started; those of Windows are seen from elsewhere."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import unittest
from unittest import mock

from GeminiCompanion.companion.base import child_processes

from ..support import is_alive, patched, wait_for

# Like a CLI with a command of the model: the command is in a session of its own and has started
# another one in a third.
CLI = """
import subprocess, sys
command = "import subprocess; print(subprocess.Popen(['sleep', '600'], start_new_session=True).pid)"
command += "; import os, signal; print(os.getpid(), flush=True); signal.pause()"
subprocess.Popen([sys.executable, "-c", command], start_new_session=True).wait()
"""


class EndTree(unittest.TestCase):
    """On Windows."""

    def setUp(self) -> None:
        patched(self, mock.patch.object(sys, "platform", "win32"))

    def test_the_process_ends_with_all_that_it_started_and_no_window_flashes_up(self) -> None:
        no_window = 0x08000000
        with mock.patch.object(child_processes, "NO_WINDOW", no_window):
            with mock.patch.object(subprocess, "run") as run:
                child_processes.end_tree(4711)
        self.assertEqual(run.call_args[0][0], ("taskkill", "/PID", "4711", "/T", "/F"))
        self.assertEqual(run.call_args[1]["creationflags"], no_window)

    def test_a_system_without_the_program_is_no_error(self) -> None:
        with mock.patch.object(subprocess, "run", side_effect=FileNotFoundError) as run:
            child_processes.end_tree(4711)
        run.assert_called_once()


@unittest.skipIf(sys.platform == "win32", "groups of processes are not known there")
class EndGroups(unittest.TestCase):
    def start(self) -> tuple[subprocess.Popen[str], list[int]]:
        """A process, and those that it and its command have started."""
        process = subprocess.Popen(
            [sys.executable, "-c", CLI], stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        if process.stdout is None:
            raise AssertionError("it has no output")
        with process.stdout as output:
            commands = [int(output.readline()), int(output.readline())]
        for command in commands:
            self.addCleanup(child_processes.end_group, command)
        return process, commands

    def until_gone(self, *pids: int) -> None:
        wait_for(lambda: not any(map(is_alive, pids)))

    def test_commands_in_sessions_of_their_own_end_with_the_process_that_started_them(self) -> None:
        processes, commands = zip(*(self.start() for _ in range(3)))
        child_processes.end_tree(processes[0].pid, processes[1].pid)
        self.until_gone(processes[0].pid, processes[1].pid, *commands[0], *commands[1])
        self.assertTrue(all(map(is_alive, [processes[2].pid, *commands[2]])))

    @unittest.skipUnless(os.path.isdir("/proc/self"), "there is ps only")
    def test_a_system_that_has_only_ps_is_asked_with_it(self) -> None:
        process, commands = self.start()
        with mock.patch.object(child_processes, "PROC", "/nowhere"):
            with mock.patch.object(child_processes, "output_of_program", self.told_by_ps):
                child_processes.end_tree(process.pid)
        self.until_gone(process.pid, *commands)

    def told_by_ps(self, *command: str, seconds: float) -> str:
        """What that of macOS would write, and a line that nobody expects."""
        self.assertEqual(command[:2], ("ps", "-A"))
        lines = ["  PID what is no number", ""]
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/stat", errors="replace") as file:
                    _, parent, group = file.read().rpartition(")")[2].split()[:3]
            except (FileNotFoundError, ProcessLookupError):
                continue
            lines.append(f"{name:>5} {parent:>5} {group:>5}")
        return "\n".join(lines)

    def test_where_nothing_lists_processes_its_own_group_ends(self) -> None:
        process, commands = self.start()
        with mock.patch.object(child_processes, "PROC", "/nowhere"):
            with mock.patch.dict(os.environ, PATH="/nowhere"):
                child_processes.end_tree(process.pid)
        self.until_gone(process.pid)
        self.assertTrue(all(map(is_alive, commands)))

    def test_where_no_list_can_be_opened_its_own_group_ends(self) -> None:
        process, commands = self.start()
        with mock.patch.object(os, "listdir", side_effect=OSError(24, "too many open files")):
            child_processes.end_tree(process.pid)
        self.until_gone(process.pid)
        self.assertTrue(all(map(is_alive, commands)))

    def test_what_others_have_started_is_not_looked_for(self) -> None:
        """The number of a process that has ended may be another's by now."""
        process, commands = self.start()
        self.assertEqual(child_processes.groups_below(process.pid), set(commands))
        self.assertEqual(child_processes.groups_below(commands[1]), set())
        self.assertEqual(child_processes.groups_below(os.getpid()), set())

    def test_a_table_that_goes_in_circles_comes_to_an_end(self) -> None:
        table = [(4711, os.getpid(), 4711), (4712, 4711, 4712), (4711, 4712, 4711)]
        with mock.patch.object(child_processes, "PROC", "/nowhere"):
            with mock.patch.object(child_processes, "_from_ps", return_value=table):
                self.assertEqual(child_processes.groups_below(4711), {4712})

    def test_a_process_that_is_gone_is_no_error(self) -> None:
        process, _ = self.start()
        process.send_signal(signal.SIGKILL)
        process.wait()
        child_processes.end_tree(process.pid)
