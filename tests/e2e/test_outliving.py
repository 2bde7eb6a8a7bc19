"""A CLI that outlives Sublime Text, as one in tmux does, and the editor that comes after it."""

from __future__ import annotations

import json
import os
import signal

import session
from cli import GeminiCli
from editor import Editor

ENABLE = "/ide enable"


class NextEditor(session.Session):
    @classmethod
    def new_cli(cls, **variables: str) -> GeminiCli:
        """With the variables of the first editor, as *Copy Exports* gives them."""
        [name] = cls.editor.discovery_files()
        with open(os.path.join(cls.temp, "gemini", "ide", name), encoding="utf-8") as file:
            found = json.load(file)
        return super().new_cli(
            GEMINI_CLI_IDE_SERVER_PORT=str(found["port"]),
            GEMINI_CLI_IDE_WORKSPACE_PATH=found["workspacePath"],
            GEMINI_CLI_IDE_AUTH_TOKEN=found["authToken"],
        )

    def port(self) -> str:
        [name] = self.editor.discovery_files()
        return name.rpartition("-")[2]

    def restart(self, data: str) -> None:
        """The editor quits; the CLI notices; another editor comes."""
        self.assertEqual(self.editor.leave(), 0)
        self.cli.wait_ready()
        self.cli.wait_status("Disconnected")
        self.start(data)

    def start(self, data: str) -> None:
        type(self).editor = Editor(self.folder, os.path.join(self.root, data), self.temp)
        self.addClassCleanup(self.editor.close)
        self.editor.do("wait_until_served")

    def come_back(self) -> None:
        try:
            self.enable()
        except TimeoutError:
            # Its old stream was tried once more meanwhile, and took the new connection with it.
            self.enable()

    def enable(self) -> None:
        self.cli.say(ENABLE)
        # The CLI tries its stream of before again for some seconds, and then has two sessions.
        self.editor.do("wait_for", "is_connected", True)
        self.cli.wait_connected()

    def test_after_a_restart_the_port_is_the_same_and_ide_enable_is_enough(self) -> None:
        before = self.port()
        self.restart("data")
        self.assertEqual(self.port(), before)
        self.come_back()

    def test_a_cli_that_does_not_come_back_is_named_until_it_is_enabled(self) -> None:
        words = "type /ide enable in Gemini CLI"
        # The next editor knows of it only then.
        self.editor.do("wait_until_saved", '"protocol_version"')
        # Else it may try its stream of before again just in time.
        os.killpg(self.cli.pid, signal.SIGSTOP)
        try:
            self.editor.kill()
            self.start("data")
            self.editor.do("wait_for", "status_bar_says", True, words)
        finally:
            os.killpg(self.cli.pid, signal.SIGCONT)
        self.cli.wait_status("Disconnected")
        self.come_back()
        self.editor.do("wait_for", "status_bar_says", False, words)

    def test_an_editor_with_another_port_is_found_too_whatever_the_variables_say(self) -> None:
        before = self.port()
        self.restart("another")
        self.assertNotEqual(self.port(), before)
        self.come_back()
