"""The API's server in the headless editor, as a user starts and stops it."""

from __future__ import annotations

import http.client
import os
import shutil
import signal
import socket
import tempfile
import threading
import unittest
from contextlib import suppress

from editor import Editor
from model_server import ModelServer, call
from served import PATIENCE, START, STOP, Served, is_gone, set_up, until


class InTheEditor(unittest.TestCase):
    def setUp(self) -> None:
        self.root = os.path.realpath(tempfile.mkdtemp(prefix="api editor-"))
        self.addCleanup(shutil.rmtree, self.root, True)
        self.folder, temp, data = (
            os.path.join(self.root, name) for name in ("work", "tmp", "data")
        )
        for folder in (self.folder, temp, data):
            os.mkdir(folder)
        self.model = ModelServer()
        self.model.__enter__()
        self.addCleanup(self.model.__exit__, None, None, None)
        with set_up(self.root, data, self.model.url):
            self.editor = Editor(self.folder, data, temp)
        self.addCleanup(self.editor.close)

    def serve(self) -> Served:
        """A server behind which the CLI runs."""
        served = Served(self.editor)
        self.model.will_play("hello", [call("list_directory", dir_path=".")], ["Hi."])
        self.assertEqual(served.chat("hello"), "Hi.")
        return served

    def closed(self, port: int) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) != 0

    def test_from_the_palette_to_an_answer_of_the_cli_and_back_to_nothing(self) -> None:
        self.assertFalse(self.editor.do("choose_in_palette", STOP))
        served = self.serve()
        self.assertIn(f"http://127.0.0.1:{served.port}, for {self.folder}.", served.told)
        self.assertIn(b"<!doctype html>", served.read("GET", "/").lower())
        self.assertFalse(self.editor.do("choose_in_palette", START))
        pid = served.pid
        self.assertTrue(self.editor.do("choose_in_palette", STOP))
        until(lambda: not self.editor.do("api_runs"))
        until(lambda: is_gone(pid))
        self.assertTrue(self.closed(served.port))
        until(lambda: self.editor.do("api") == "")
        log = self.editor.do("log")
        for secret in (served.token, "the-key"):
            self.assertNotIn(secret, log)
        self.assertNotIn("Traceback", log)

    def test_it_works_in_the_windows_folder(self) -> None:
        served = Served(self.editor)
        reply = served.ask("POST", "/write-file", {"path": "a.txt", "content": "one\n"})
        self.assertTrue(reply["success"], reply)
        with open(os.path.join(self.folder, "a.txt")) as file:
            self.assertEqual(file.read(), "one\n")
        secret = os.path.join(self.root, "programs", "gemini.js")
        outside = served.ask("POST", "/read-file", {"path": secret})
        self.assertFalse(outside["success"])
        command = served.ask("POST", "/execute-command", {"command": "ls"})
        self.assertEqual(command["code"], "COMMANDS_DISABLED")

    def test_an_upgrade_of_the_package_ends_it_and_it_can_be_started_again(self) -> None:
        first = self.serve()
        pid = first.pid
        self.editor.do("reload_package")
        until(lambda: not self.editor.do("api_runs"))
        until(lambda: is_gone(pid))
        self.assertTrue(self.closed(first.port))
        second = self.serve()
        self.assertEqual(second.token, first.token)

    def test_an_editor_that_quits_in_the_middle_of_a_turn_leaves_no_cli_and_no_command_of_it(
        self,
    ) -> None:
        served = Served(self.editor)
        command = self.run_command(served)
        pid = served.pid
        self.assertEqual(self.editor.leave(), 0)
        until(lambda: is_gone(pid))
        until(lambda: is_gone(command))

    def test_an_editor_that_quits_while_the_cli_hangs_leaves_no_command_of_it(self) -> None:
        served = Served(self.editor)
        command = self.run_command(served)
        pid = served.pid
        os.kill(pid, signal.SIGSTOP)
        self.assertEqual(self.editor.leave(), 0)
        until(lambda: is_gone(pid))
        until(lambda: is_gone(command))

    def run_command(self, served: Served) -> int:
        """The process of a command that the model wanted, and that goes on."""
        marker = os.path.join(self.folder, "running")
        line = f"echo $$ > '{marker}.new'; mv '{marker}.new' '{marker}'; sleep 1234.5"
        self.model.will_play("sleep", [call("run_shell_command", command=line)], ["Slept."])
        served.configure()
        chat = threading.Thread(target=self.chat_until_the_end, args=(served,), daemon=True)
        chat.start()
        self.addCleanup(chat.join, PATIENCE)
        asked = until(lambda: served.ask("GET", "/tool-confirmations")["confirmations"])
        decision = {"callId": asked[0]["data"]["callId"], "outcome": "proceed_once"}
        served.ask("POST", "/tool-confirmation", decision)
        until(lambda: os.path.exists(marker))
        with open(marker) as file:
            return int(file.read())

    def chat_until_the_end(self, served: Served) -> None:
        """The end may be that of the server."""
        with suppress(OSError, http.client.HTTPException, ValueError):
            served.ask("POST", "/chat", {"message": "sleep", "confirm": True})

    def test_an_editor_that_is_killed_leaves_no_cli(self) -> None:
        pid = self.serve().pid
        self.editor.kill()
        until(lambda: is_gone(pid))
