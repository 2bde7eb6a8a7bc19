"""The check for people who have a Sublime Text; a made-up layer stands for the genuine one."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import unittest
from unittest import mock

from tools import judge_sublime

# As much of sublime_plugin.py as the check looks at: it registers whatever the plugin's names say.
LAYER = """
import sys
application_command_classes, window_command_classes, text_command_classes = [], [], []
all_callbacks = {"on_load": [1], "on_close": []}

def reload_plugin(name):
    for command in COMMANDS:
        cls = type("Some", (), {"name": lambda self, command=command: command})
        window_command_classes.append(cls)
"""


class Judged(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def judge(self, commands: list[str]) -> tuple[int, str]:
        layer = os.path.join(self.folder, "Lib", "python38")
        os.makedirs(layer)
        with open(os.path.join(layer, "sublime_plugin.py"), "w", encoding="utf-8") as file:
            file.write(f"COMMANDS = {commands!r}\n{LAYER}")
        with mock.patch.dict(os.environ, {"SUBLIME": self.folder}), mock.patch(
            "builtins.print"
        ) as said:
            status = judge_sublime.main()
        return status, "\n".join(call[0][0] for call in said.call_args_list)

    def test_a_command_of_the_palette_that_was_not_registered_is_told(self) -> None:
        status, said = self.judge(["gemini_companion_show_status"])
        self.assertEqual(status, 1)
        self.assertIn("loaded, 1 commands, 1 events", said)
        self.assertIn("no command gemini_companion_accept_diff", said)
        self.assertNotIn("no command gemini_companion_show_status", said)

    def test_so_is_one_that_stands_in_a_list_of_the_palette_alone(self) -> None:
        self.assertIn("no command gemini_companion_send_file", self.judge([])[1])

    def test_all_commands_are_enough_and_the_report_names_what_was_not_run(self) -> None:
        commands = []
        for name in ("Default.sublime-commands", "Main.sublime-menu"):
            with open(os.path.join(judge_sublime.ROOT, name)) as file:
                commands += re.findall(r'"(gemini_companion_\w+)"', file.read())
        status, said = self.judge(commands)
        self.assertEqual(status, 0, said)
        self.assertIn("Tests: not run", said)

    def test_a_folder_without_the_files_is_told(self) -> None:
        with mock.patch.dict(os.environ, {"SUBLIME": self.folder}), mock.patch(
            "builtins.print"
        ) as said:
            self.assertEqual(judge_sublime.main(), 2)
        self.assertIn("SUBLIME=path is needed", said.call_args[0][0])
