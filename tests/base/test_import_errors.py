"""A plugin host that lacks libraries: one sentence for the user, and no traceback."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import Any

PATIENCE = 200.0  # seconds
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
# Runs inside the editor, once the companion's thread has ended: what the user sees.
LOOK = """
import json, sys, threading, time
import sublime
from headless.running import current
import GeminiCompanion.plugin as plugin

while plugin._host.running is None or not plugin._host.running.companion.problem:
    time.sleep(0.01)
for thread in threading.enumerate():
    if thread.name == "GeminiCompanion":
        thread.join()

window, seen = sublime.active_window(), threading.Event()
window.run_command("gemini_companion_show_status")
sublime.set_timeout(seen.set, 0)
seen.wait()
panel = window.find_output_panel("gemini_companion")
json.dump(
    {
        "running": plugin._host.is_running,
        "bar": current().status_message,
        "panel": panel.substr(sublime.Region(0, panel.size())) if panel else "",
        "log": plugin._host.log.lines(),
    },
    open(sys.argv[1], "w"),
)
"""
# The same of the API's server, once its thread has ended, too.
SERVE = """
window = sublime.active_window()
window.run_command("gemini_companion_start_api_server")
# Its modules are imported on the worker, and then the editor's thread starts it.
for cross in (sublime.set_timeout_async, sublime.set_timeout):
    crossed = threading.Event()
    cross(crossed.set, 0)
    crossed.wait()
for thread in threading.enumerate():
    if thread.name == "GeminiCompanion Agent":
        thread.join()

# Who tells something crosses to the editor's thread twice.
for _ in range(2):
    crossed = threading.Event()
    sublime.set_timeout(crossed.set, 0)
    crossed.wait()
"""
NEEDED = ("Package Control: Satisfy Libraries", "contains its libraries", "docs/install.md")


class Missing(unittest.TestCase):
    folder: str
    python: str

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = os.path.realpath(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        bare = os.path.join(cls.folder, "bare")
        base = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
        subprocess.check_call([base, "-m", "venv", "--without-pip", bare])
        parts = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
        cls.python = os.path.join(bare, *parts)

    def see(self, look: str = LOOK, **modules: str) -> tuple[dict[str, Any], str]:
        """What the user sees of an editor that has these modules only, and its console."""
        folder = tempfile.mkdtemp(dir=self.folder)
        for name, text in {**modules, "look": look}.items():
            path = os.path.join(folder, name + ".py")
            with open(path, "w") as file:
                file.write(text)
        answer = os.path.join(folder, "answer.json")
        command = [self.python, "-m", "headless", folder, "--data", os.path.join(folder, "data")]
        command += ["--package", ROOT, "--exec", os.path.join(folder, "look.py"), "--", answer]
        environment = {**os.environ, "PYTHONPATH": folder, "TMPDIR": folder}
        options: dict[str, Any] = {"cwd": ROOT, "env": environment, "timeout": PATIENCE}
        done = subprocess.run(command, capture_output=True, **options)
        console = (done.stdout + done.stderr).decode()
        self.assertEqual(done.returncode, 0, console)
        with open(answer, encoding="utf-8") as file:
            return json.load(file), console

    def check(self, start: str, seen: dict[str, Any], console: str) -> None:
        self.assertFalse(seen["running"])
        self.assertTrue(seen["bar"].startswith("Gemini Companion: " + start), seen["bar"])
        for words in NEEDED:
            self.assertIn(words, seen["bar"])
        self.assertEqual("Gemini Companion: " + seen["panel"], seen["bar"] + "\n")
        self.assertNotIn("Traceback", console + "".join(seen["log"]))
        self.assertEqual(console.count(start), 1, console)
        self.assertEqual("".join(seen["log"]).count(start), 1)

    def test_without_any_library_one_sentence_says_what_to_do(self) -> None:
        seen, console = self.see()
        self.assertRegex(seen["bar"], 'The library "(aiohttp|jsonschema)" is missing')
        self.check('The library "', seen, console)

    def test_the_apis_server_tells_the_same(self) -> None:
        begin, mark, end = LOOK.partition("window, seen =")
        seen, _console = self.see(begin + SERVE + mark + end)
        self.assertIn('Gemini Companion: The library "aiohttp" is missing.', seen["bar"])
        for words in NEEDED:
            self.assertIn(words, seen["bar"])
        self.assertTrue(any('"aiohttp" is missing' in line for line in seen["log"]))

    def test_a_library_that_another_one_lacks_is_told_by_its_own_name(self) -> None:
        self.check(
            'The library "attr" is missing.',
            *self.see(aiohttp="import attr.validators", jsonschema=""),
        )

    def test_a_library_that_is_too_old_or_for_another_python_is_told_however_it_fails(self) -> None:
        old = "class Draft4Validator: pass\nclass ValidationError(Exception): pass\n"
        for text in (old, "from abc import ABCMeta\nABCMeta['other']\n"):
            with self.subTest(text):
                seen, console = self.see(aiohttp=text, jsonschema="")
                self.check('The library "aiohttp" does not fit.', seen, console)
