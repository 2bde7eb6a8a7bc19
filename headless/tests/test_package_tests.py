"""`--test`: the tests of a package from elsewhere, in an editor from elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from .engine import PATIENCE, ROOT

SOURCE = os.path.join(ROOT, "headless")
OWN_TESTS = shutil.ignore_patterns("tests", "__pycache__")
WITH_REGISTRIES = bool(os.environ.get("WITH_REGISTRIES"))

PLUGIN = """
import sublime
import sublime_plugin


class UpperToyCommand(sublime_plugin.TextCommand):
    def run(self, edit):
        region = sublime.Region(0, self.view.size())
        self.view.replace(edit, region, self.view.substr(region).upper())
"""
TESTS = """
import sublime
from unittesting import DeferrableViewTestCase


class Upper(DeferrableViewTestCase):
    def test_a_text_in_capitals(self):
        self.view.run_command("append", {"characters": "a word"})
        yield lambda: self.view.size() == 6
        self.view.run_command("upper_toy")
        text = self.view.substr(sublime.Region(0, self.view.size()))
        self.assertEqual(text, "A WORD")

    def test_that_fails(self):
        self.assertEqual(1, 2)
"""
FILES = {
    "plugin.py": PLUGIN,
    "tests/test_upper.py": TESTS,
    "tests/test_broken.py": "import nowhere_to_be_found\n",
    "tests/test_raises.py": "raise LookupError('on purpose')\n",
    "tests/test_skipped.py": "import unittest; raise unittest.SkipTest('not here')\n",
    "tests/helper.py": "raise AssertionError('it is no test')\n",
    "tests/apart/test_more.py": "raise AssertionError('its folder is no package')\n",
}


class Toy(unittest.TestCase):
    """A package from elsewhere, for each test anew."""

    folder = ""

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = os.path.realpath(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)

    def setUp(self) -> None:
        self.package = os.path.join(self.folder, self.id().rpartition(".")[2], "Toy")
        for path, text in FILES.items():
            self.write(path, text)

    def write(self, path: str, text: str) -> None:
        full = os.path.join(self.package, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def run_program(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """In the package's folder."""
        return subprocess.run(
            command,
            cwd=self.package,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=5 * PATIENCE,
            text=True,
        )


class PackageTests(Toy):
    """The editor is a copy without its tests, beside nothing else of its checkout."""

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        shutil.copytree(SOURCE, os.path.join(cls.folder, "site", "headless"), ignore=OWN_TESTS)

    def run_tests(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "headless", "--test", *arguments]
        return self.run_program(*command, PYTHONPATH=os.path.join(self.folder, "site"))

    def test_each_file_with_tests_is_run_and_one_that_fails_gives_the_status(self) -> None:
        done = self.run_tests("--package", self.package)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("test_a_text_in_capitals (Toy.tests.test_upper.Upper", done.stdout)
        self.assertIn("AssertionError: 1 != 2", done.stdout)
        self.assertIn("No module named 'nowhere_to_be_found'", done.stdout)
        self.assertIn("LookupError: on purpose", done.stdout)
        self.assertIn("Toy.tests.test_skipped ... skipped 'not here'", done.stdout)
        self.assertIn("Ran 5 tests", done.stdout)

    def test_some_are_chosen_by_the_names_of_their_files(self) -> None:
        self.write("tests/test_upper.py", TESTS.replace("assertEqual(1, 2)", "assertEqual(1, 1)"))
        done = self.run_tests("--package", self.package, "--", "test_up*.py")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("Ran 2 tests", done.stdout)

    def test_a_checkout_says_its_packages_name_and_where_the_tests_are(self) -> None:
        self.write("headless.json", '{"package": "Other"}')
        self.write("unittesting.json", '{"tests_dir": "tests/apart", "pattern": "more*.py"}')
        self.write(
            "tests/apart/more_tests.py",
            "import unittest\n\n"
            "class More(unittest.TestCase):\n"
            "    def test_it(self):\n"
            "        from Other import plugin\n",
        )
        done = self.run_tests()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("(Other.tests.apart.more_tests.More", done.stdout)

    def test_where_there_are_none_that_is_said(self) -> None:
        done = self.run_tests("--package", self.package, "--", "no_such.py")
        self.assertEqual(done.returncode, 5)
        self.assertIn("No tests were found in " + self.package, done.stderr)
        done = self.run_tests()
        self.assertEqual(done.returncode, 2)
        self.assertIn("expected a --package", done.stderr)


@unittest.skipUnless(WITH_REGISTRIES, "what builds a wheel comes from a registry")
class Wheel(Toy):
    def test_it_is_built_and_runs_the_tests_of_a_package_where_it_alone_is_installed(self) -> None:
        source, wheels = (os.path.join(self.folder, name) for name in ("headless", "wheels"))
        shutil.copytree(SOURCE, source, ignore=OWN_TESTS)
        venv = os.path.join(self.folder, "venv")
        programs = os.path.join(venv, "Scripts" if os.name == "nt" else "bin")
        pip = ("-m", "pip", "--disable-pip-version-check", "-q")
        wanted = (
            (sys.executable, *pip, "wheel", "--no-deps", "-w", wheels, source),
            (sys.executable, "-m", "venv", venv),
            (
                *(os.path.join(programs, "python"), *pip, "install", "--no-index"),
                *("--find-links", wheels, "headless-sublime"),
            ),
        )
        for command in wanted:
            done = self.run_program(*command)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        program = os.path.join(programs, "headless-sublime")
        done = self.run_program(program, "--test", "--package", self.package)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("Ran 5 tests", done.stdout)
        self.assertIn("AssertionError: 1 != 2", done.stdout)
