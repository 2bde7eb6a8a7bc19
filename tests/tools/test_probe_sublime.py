"""The probe for a real Sublime Text, asked of the headless editor, whose answers are known."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import Any

from headless.switches import Switches

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INSIDE = os.path.join("tests", "tools", "probe_inside.py")
# The other answer than that of the headless editor as it is.
OTHER: dict[str, Any] = {
    "activated_after_load": True,
    "activated_before_close": True,
    "close_events": True,
    "deactivate_on_close": True,
    "disabled_commands_skip": False,
    "hidden_panel_events": False,
    "hidden_panel_window": False,
    "modified_first": False,
    "panel_sheet_zero": False,
    "phantom_heights_late": True,
    "phantoms_of_buffer": True,
    "phantoms_survive_reload": False,
    "pre_close_window": True,
    "replace_selects": True,
}


class Probe(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        user = os.path.join(self.folder, "data", "Packages", "User")
        os.makedirs(user)
        shutil.copy(os.path.join(ROOT, "tools", "probe_sublime.py"), user)
        self.package = user

    def ask(self, switches: dict[str, Any]) -> dict[str, Any]:
        given = os.path.join(self.folder, "switches.json")
        answers = os.path.join(self.folder, "answers.json")
        with open(given, "w", encoding="utf-8") as file:
            json.dump({"switches": switches}, file)
        command = [sys.executable, "-m", "headless", "--package", self.package]
        command += ["--data", os.path.join(self.folder, "data"), "--switches", given]
        done = subprocess.run(
            [*command, "--exec", INSIDE, "--", answers],
            cwd=ROOT,
            env={name: value for name, value in os.environ.items() if name != "HEADLESS_WORST"},
            capture_output=True,
            text=True,
            timeout=300,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(answers, encoding="utf-8") as file:
            found: dict[str, Any] = json.load(file)
        os.remove(answers)
        self.assertEqual(found["failed"], {})
        return dict(found["switches"])

    def test_it_finds_out_what_the_editor_does_and_its_answers_are_switches(self) -> None:
        usual = Switches()
        answers = self.ask({})
        self.assertIsNone(answers.pop("text_event_delay"))
        self.assertEqual(answers, {name: getattr(usual, name) for name in OTHER})
        answers = self.ask({**OTHER, "text_event_delay": [5, 20]})
        delays = answers.pop("text_event_delay")
        self.assertGreaterEqual(delays[0], 5)
        self.assertEqual(answers, OTHER)


class Given(unittest.TestCase):
    def test_a_switch_that_is_none_is_refused_with_those_that_are(self) -> None:
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        path = os.path.join(folder, "switches.json")
        for text, words in (
            ('{"switches": {"phantoms_of_bufer": true}}', "phantoms_of_buffer"),
            ('{"switches": [1]}', "an object"),
            ("{", "no JSON"),
        ):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            command = [sys.executable, "-m", "headless", "--switches", path, "--exec", INSIDE]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
            with self.subTest(text):
                self.assertEqual(done.returncode, 2)
                self.assertIn(words, done.stderr)
