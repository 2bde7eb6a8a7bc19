"""Commands over the API: only where the operator allows them, and to their end."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
import unittest
from typing import Any
from unittest import mock

from GeminiCompanion.companion.api import server as server_module
from GeminiCompanion.companion.api.files import shell_command

from ..support import is_alive, until, wait_for
from .support import PATIENCE, ApiTest, Reply


class Off(ApiTest):
    def test_without_the_operators_word_nothing_runs_and_the_way_to_it_is_told(self) -> None:
        made = self.path("made")
        reply = self.ask("POST", "/execute-command", {"command": f"touch {made}"})
        self.refused(reply, 403, "COMMANDS_DISABLED")
        self.assertIn("--allow-commands", reply["message"])
        self.assertFalse(os.path.exists(made))


@unittest.skipUnless(sys.platform.startswith("linux"), "the commands are those of a Linux")
class Commands(ApiTest):
    api = {"allows_commands": True}

    def run_over(self, command: str, **more: Any) -> Reply:
        return self.ask("POST", "/execute-command", {"command": command, **more})

    def until_dead(self, pid: int) -> None:
        wait_for(lambda: not is_alive(pid))

    def until_file(self, name: str) -> str:
        wait_for(lambda: os.path.exists(self.path(name)) and self.read(name).endswith(b"\n"))
        return self.read(name).decode().strip()

    def test_what_a_command_writes_and_how_it_ends_is_told(self) -> None:
        reply = self.run_over("echo out; echo err >&2; exit 3")
        self.assertEqual((reply.status, reply["success"]), (200, True))
        told = [reply[name] for name in ("output", "stderr", "exitCode", "truncated")]
        self.assertEqual(told, ["out\n", "err\n", 3, False])

    def test_silence_on_the_second_output_is_null(self) -> None:
        self.assertIsNone(self.run_over("true")["stderr"])

    def test_it_runs_in_the_workspace_or_a_folder_within_the_roots(self) -> None:
        os.makedirs(self.path("sub"), exist_ok=True)
        self.assertEqual(self.run_over("pwd")["output"].strip(), self.workspace)
        self.assertEqual(self.run_over("pwd", cwd="sub")["output"].strip(), self.path("sub"))
        self.refused(self.run_over("pwd", cwd="/"), 403, "PATH_REFUSED")
        self.refused(self.run_over("pwd", cwd="nowhere"), 404, "FILE_NOT_FOUND")
        self.refused(self.run_over("pwd", cwd=self.write("a", "")), 400, "VALIDATION_ERROR")

    def test_one_that_a_signal_ends_has_no_exit_code_of_its_own(self) -> None:
        self.assertEqual(self.run_over("kill -9 $$")["exitCode"], -1)

    def test_a_command_that_takes_too_long_is_ended_with_its_children(self) -> None:
        command = "sleep 600 & echo $! > late; echo begun; wait"
        # A busy machine needs more until it has begun.
        for seconds in (0.5, 5, 50):
            reply = self.run_over(command, timeout=seconds)
            self.assertEqual((reply.status, reply["exitCode"]), (200, -1))
            self.assertIn(f"{seconds} seconds", reply["message"])
            if reply["output"]:
                break
        self.assertEqual(reply["output"], "begun\n")
        self.until_dead(int(self.read("late")))

    def test_what_it_leaves_behind_ends_with_it_and_holds_nothing_up(self) -> None:
        started = time.monotonic()
        reply = self.run_over("sleep 600 & echo $!")
        self.assertLess(time.monotonic() - started, PATIENCE)
        self.until_dead(int(reply["output"]))

    def test_what_leaves_its_group_lives_on_but_costs_the_server_nothing(self) -> None:
        left = []
        self.run_over("true")
        before = len(os.listdir("/proc/self/fd"))
        for number in range(5):
            started = time.monotonic()
            leaves = f"setsid sh -c 'echo $$; : > has-left-{number}; exec sleep 600' &"
            waits = f"until [ -e has-left-{number} ]; do sleep 0.01; done; echo told >&2"
            with mock.patch.object(shell_command, "DRAINING", 0.05):
                reply = self.run_over(f"{leaves} {waits}")
            self.assertLess(time.monotonic() - started, PATIENCE)
            self.assertEqual((reply["stderr"], reply["exitCode"]), ("told\n", 0))
            left.append(int(reply["output"]))
            self.addCleanup(os.kill, left[-1], signal.SIGKILL)
        self.assertTrue(all(map(is_alive, left)))
        wait_for(lambda: len(os.listdir("/proc/self/fd")) <= before)

    def test_it_ends_when_its_client_leaves(self) -> None:
        client = self.connect()
        body = b'{"command": "echo $$ > left; sleep 600"}'
        head = (
            f"POST /execute-command HTTP/1.1\r\nHost: 127.0.0.1:{self.server.port}\r\n"
            f"Authorization: Bearer {self.server.token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        client.sendall(head.encode() + body)
        pid = int(self.until_file("left"))
        client.shutdown(socket.SHUT_RDWR)
        self.until_dead(pid)

    def test_one_whose_client_leaves_while_it_starts_ends_with_its_children(self) -> None:
        async def run() -> None:
            command = "sleep 600 & echo $! > early; wait"
            with mock.patch.object(subprocess, "Popen", wraps=subprocess.Popen) as started:
                running = asyncio.ensure_future(shell_command.run_command(command, self.workspace))
                await until(lambda: started.called)
            # The loop stands still, the command does not.
            self.until_file("early")
            running.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await running

        self.on_loop(run())
        self.until_dead(int(self.read("early")))

    def test_it_ends_when_the_server_stops(self) -> None:
        with mock.patch.object(server_module, "SHUTDOWN", 0.05):
            server = self.another_server()
        client = self.connect(server)
        body = b'{"command": "echo $$ > stopped; sleep 600"}'
        head = (
            f"POST /execute-command HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            f"Authorization: Bearer {server.token}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        client.sendall(head.encode() + body)
        pid = int(self.until_file("stopped"))
        self.on_loop(server.stop())
        self.until_dead(pid)

    def test_an_output_without_end_is_cut_and_the_command_goes_on(self) -> None:
        with mock.patch.object(shell_command, "MAX_OUTPUT", 1000):
            reply = self.run_over("head -c 3000000 /dev/zero | tr '\\0' x; exit 7")
        self.assertEqual(reply["output"], "x" * 1000)
        self.assertEqual((reply["exitCode"], reply["truncated"]), (7, True))

    def test_bytes_that_are_no_text_are_replaced(self) -> None:
        self.assertEqual(self.run_over("printf 'a\\377b'")["output"], "a\ufffdb")

    def test_nothing_can_be_read_from_the_server(self) -> None:
        self.assertEqual(self.run_over("cat; echo done")["output"], "done\n")

    def test_the_environment_holds_none_of_the_servers_secrets(self) -> None:
        secrets = {
            "GEMINI_API_KEY": "the-key",
            "AWS_SECRET_ACCESS_KEY": "other",
            "https_proxy": "http://user:the-key@127.0.0.1:1",
            "HTTP_PROXY": "http://127.0.0.1:2",
        }
        with mock.patch.dict(os.environ, secrets):
            output = self.run_over("env")["output"]
        self.assertNotIn("the-key", output)
        self.assertNotIn("other", output)
        self.assertIn("PATH=", output)
        self.assertIn("HTTP_PROXY=http://127.0.0.1:2", output)

    def test_what_is_no_command_is_refused(self) -> None:
        for command in ("", "   \n", "echo a\0b"):
            self.refused(self.run_over(command), 400, "VALIDATION_ERROR")
        for seconds in (0, -1, 4000, "5", True):
            self.refused(self.run_over("true", timeout=seconds), 400, "VALIDATION_ERROR")
