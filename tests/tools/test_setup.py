"""What is set up for the Makefile's targets, and what a person is told before that."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stdout
from unittest import mock

from GeminiCompanion.tools import setup

RUNTIME = "runtime-hashes.txt"


class WithoutNetwork(unittest.TestCase):
    def test_it_says_what_to_look_at(self) -> None:
        said = io.StringIO()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(said):
            program = os.path.join(folder, "python")
            with open(program, "w", encoding="ascii") as file:
                file.write("#!/bin/sh\nexit 3\n")
            os.chmod(program, 0o700)
            with mock.patch.object(setup, "python_of", lambda venv: program):
                with self.assertRaises(SystemExit) as left:
                    setup.install_list(setup.VENV, "list.txt")
        self.assertEqual(left.exception.code, 3)
        self.assertRegex(said.getvalue(), "network.*proxy.*HTTPS_PROXY")


class VirtualEnvironment(unittest.TestCase):
    """With nothing installed: what would be is kept."""

    def setUp(self) -> None:
        self.root = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        self.venv = os.path.join(self.root, ".venv")
        self.calls: list[str] = []
        os.mkdir(os.path.join(self.root, "requirements"))
        for name in {name for names, _ in setup.LAYERS.values() for name in names}:
            self.write(name, "of " + name)
        for name, value in {
            "ROOT": self.root,
            "VENV": self.venv,
            "run_command": lambda command: self.made(),
            "install_layer": lambda venv, *lists: self.calls.append(os.path.basename(lists[-1])),
        }.items():
            patch = mock.patch.object(setup, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def write(self, name: str, text: str) -> None:
        with open(os.path.join(self.root, "requirements", name), "w", encoding="ascii") as file:
            file.write(text)

    def made(self) -> None:
        self.calls.append("made")
        os.mkdir(self.venv)

    def set_up(self, layer: str) -> list[str]:
        self.calls.clear()
        with redirect_stdout(io.StringIO()):
            setup.set_up_python(layer)
        return list(self.calls)

    def test_a_layer_is_installed_once_and_on_top_of_the_one_below(self) -> None:
        self.assertEqual(self.set_up("runtime"), ["made", RUNTIME])
        self.assertEqual(self.set_up("runtime"), [])
        self.assertEqual(self.set_up("python"), ["dev.txt"])
        for layer in setup.LAYERS:
            self.assertEqual(self.set_up(layer), [])

    def test_one_with_all_has_what_running_needs(self) -> None:
        self.assertEqual(self.set_up("python"), ["made", "dev.txt"])
        self.assertEqual([self.set_up(layer) for layer in ("runtime", "api")], [[], []])

    def test_what_is_outdated_is_made_anew_where_it_counts(self) -> None:
        self.set_up("runtime")
        self.set_up("python")
        self.write("dev.txt", "another")
        self.assertEqual(self.set_up("runtime"), [])
        self.assertEqual(self.set_up("python"), ["made", "dev.txt"])
        self.write(RUNTIME, "another")
        self.assertEqual(self.set_up("runtime"), ["made", RUNTIME])

    def test_another_python_makes_it_anew(self) -> None:
        self.set_up("runtime")
        with mock.patch.object(sys, "version", "another"):
            self.assertEqual(self.set_up("python"), ["made", "dev.txt"])
            self.assertEqual(self.set_up("runtime"), [])
        self.assertEqual(self.set_up("runtime"), ["made", RUNTIME])

    def test_one_that_was_left_unfinished_is_made_anew(self) -> None:
        os.mkdir(self.venv)
        self.assertEqual(self.set_up("runtime"), ["made", RUNTIME])
        with mock.patch.object(setup, "install_layer", side_effect=SystemExit(1)):
            self.assertRaises(SystemExit, self.set_up, "python")
        self.assertEqual(self.set_up("runtime"), [])
        self.assertEqual(self.set_up("python"), ["dev.txt"])


class Installing(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def install(self, source: str) -> str:
        """With a pip that is this source."""
        with open(os.path.join(self.folder, "pip.py"), "w", encoding="ascii") as file:
            file.write(source)
        with redirect_stdout(io.StringIO()) as said, mock.patch.dict(
            os.environ, PYTHONPATH=self.folder
        ), mock.patch.object(setup, "python_of", return_value=sys.executable):
            setup.install_layer("venv", os.path.join(setup.ROOT, "requirements", "runtime.txt"))
        return said.getvalue()

    def test_each_library_is_said_as_pip_takes_it(self) -> None:
        said = self.install("print('Collecting a==1 (from -r x)\\n  Downloading a\\nCollecting b')")
        self.assertEqual(said.splitlines()[1:], ["  a==1", "  b"])

    def test_its_failure_is_the_programs_own(self) -> None:
        with self.assertRaises(SystemExit) as left:
            self.install("import sys; sys.exit(7)")
        self.assertEqual(left.exception.code, 7)


class Digests(unittest.TestCase):
    """What `make run` and `make api` install is compared with known digests."""

    def pins(self, name: str) -> list[str]:
        path = os.path.join(setup.ROOT, "requirements", name)
        with open(path, encoding="ascii") as file:
            lines = [line for line in file if line[0] not in "# \n"]
        pins = (re.split(r"[ ;\\]", line.strip())[0] for line in lines)
        return sorted(pin.replace("_", "-").lower() for pin in pins)

    def test_each_pinned_library_has_them(self) -> None:
        for name in ("runtime", "api"):
            with self.subTest(name):
                self.assertEqual(self.pins(f"{name}-hashes.txt"), self.pins(f"{name}.txt"))
                path = os.path.join(setup.ROOT, "requirements", f"{name}-hashes.txt")
                with open(path, encoding="ascii") as file:
                    blocks = re.split(r"\n(?=\S)", file.read().split("\n", 2)[2])
                for block in blocks:
                    self.assertRegex(block, r"--hash=sha256:[0-9a-f]{64}")

    def test_what_users_run_is_installed_from_such_lists_alone(self) -> None:
        for layer in ("runtime", "api"):
            for name in setup.LAYERS[layer][0]:
                self.assertTrue(name.endswith("-hashes.txt"), name)

    def test_the_cli_is_installed_with_the_lock_of_the_image(self) -> None:
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            calls: list[str] = []
            for name, value in {
                "NODE_FOLDERS": [folder],
                "CLI": os.path.join(folder, "cli"),
                "has_node": lambda: True,
                "npm_install": calls.append,
            }.items():
                stack.enter_context(mock.patch.object(setup, name, value))
            stack.enter_context(redirect_stdout(io.StringIO()))
            setup.set_up_cli()
            setup.set_up_cli()
            self.assertEqual(calls, [setup.CLI])
            with open(os.path.join(setup.CLI, "package-lock.json"), "rb") as file:
                self.assertIn(b'"integrity"', file.read())


class Missing(unittest.TestCase):
    def setUp(self) -> None:
        self.home = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.home)

    def said(self, **variables: str) -> str:
        """With a PATH that has this folder only."""
        command = [sys.executable, "-m", "tools.missing", self.home]
        known = {name: value for name, value in os.environ.items() if not name.startswith("G")}
        places = {"PATH": self.home, "HOME": self.home, "USERPROFILE": self.home}
        environment = {**known, **places, **variables}
        done = subprocess.run(
            command, cwd=setup.ROOT, env=environment, stdout=subprocess.PIPE, timeout=60, check=True
        )
        return done.stdout.decode()

    def test_a_person_without_cli_and_key_is_told_where_to_get_them(self) -> None:
        said = self.said()
        # Where npm puts its programs one may be that no PATH leads to.
        self.assertRegex(said, "npm install -g @google/gemini-cli|PATH does not lead to it")
        self.assertIn("https://aistudio.google.com/apikey", said)

    def test_nothing_is_said_where_both_are(self) -> None:
        program = os.path.join(self.home, "gemini.cmd" if os.name == "nt" else "gemini")
        with open(program, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\n")
        os.chmod(program, 0o700)
        self.assertEqual(self.said(GEMINI_API_KEY="x"), "")
