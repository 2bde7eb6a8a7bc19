"""Which tests are skipped because nothing that they look at has changed."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from contextlib import redirect_stdout
from unittest import mock

import pytest

from tests.looks_at import UNCHANGED, PassedBefore

TEST = """
import os
import unittest
import pytest

@pytest.mark.looks_at("looked")
class Base(unittest.TestCase):
    pass

@pytest.mark.looks_at("one.txt"{more})
class Looking(Base):
    def test_it(self):
        self.assertTrue({passes})

class Another(unittest.TestCase):
    def test_it(self):
        pass
"""
# Without looking for what others left in the memory of these tests, which takes most of the time.
QUICK = ("-p", "no:unraisableexception", "-p", "no:threadexception")


class Outcomes:
    """How each test ended, by its class."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.skipped:
            self.found[report.nodeid.split("::")[1]] = report.outcome


class Skipping(unittest.TestCase):
    def setUp(self) -> None:
        self.root = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)
        os.mkdir(os.path.join(self.root, "kept"))
        os.makedirs(os.path.join(self.root, "looked", "below"))
        self.write("one.txt", "1")
        self.write_test()

    def write(self, name: str, text: str) -> None:
        with open(os.path.join(self.root, name), "w", encoding="utf-8") as file:
            file.write(text)

    def write_test(self, passes: object = True, more: str = "") -> None:
        self.write("test_it.py", TEST.format(passes=passes, more=more))

    def run_tests(self, run_all: bool = False) -> dict[str, str]:
        file = os.path.join(self.root, "kept", "passed.json")
        outcomes = Outcomes()
        sys.modules.pop("test_it", None)
        plugins = [PassedBefore(file, self.root, run_all), outcomes]
        options = [
            "-p",
            "no:cacheprovider",
            *QUICK,
            "--rootdir",
            self.root,
            "--import-mode",
            "importlib",
        ]
        alone = mock.patch.dict(os.environ, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
        uncompiled = mock.patch.object(sys, "dont_write_bytecode", True)
        with alone, uncompiled, redirect_stdout(io.StringIO()) as said:
            pytest.main([*options, "-rs", os.path.join(self.root, "test_it.py")], plugins)
        if "skipped" in outcomes.found.values():
            self.assertIn(UNCHANGED, said.getvalue())
        return outcomes.found

    def git(self, *arguments: str) -> None:
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.example", *arguments]
        subprocess.check_call(command, cwd=self.root, stdout=subprocess.DEVNULL)

    def check(self, *outcomes: str) -> None:
        for outcome in outcomes:
            self.assertEqual(self.run_tests(), {"Looking": outcome, "Another": "passed"})

    def test_one_that_passed_is_skipped_until_a_file_that_it_looks_at_changes(self) -> None:
        self.check("passed", "skipped")
        self.write(os.path.join("looked", "below", "new.txt"), "")
        self.check("passed", "skipped")
        self.write("one.txt", "2")
        self.check("passed", "skipped")
        os.remove(os.path.join(self.root, "one.txt"))
        self.check("passed", "skipped")
        self.write("elsewhere.txt", "")
        self.check("skipped")

    def test_one_that_failed_runs_again(self) -> None:
        self.write_test(passes=False)
        self.check("failed", "failed")
        self.write_test()
        self.check("passed")

    def test_what_fails_where_all_run_is_not_skipped_afterwards(self) -> None:
        self.write_test("'STOP' not in os.environ")
        self.check("passed", "skipped")
        with mock.patch.dict(os.environ, STOP="1"):
            self.assertEqual(self.run_tests(run_all=True)["Looking"], "failed")
            self.check("failed")

    def test_all_run_where_that_is_wanted(self) -> None:
        self.check("passed")
        self.assertEqual(self.run_tests(run_all=True)["Looking"], "passed")

    def test_what_is_kept_and_cannot_be_read_skips_nothing(self) -> None:
        for text in ("{", "[]", '{"test_it.py::Looking::test_it": 1}'):
            with self.subTest(text):
                self.write(os.path.join("kept", "passed.json"), text)
                self.check("passed", "skipped")

    @unittest.skipUnless(shutil.which("git"), "git is not installed")
    def test_of_what_is_committed_a_commit_counts_and_nothing_else(self) -> None:
        self.write_test(more=", committed=True")
        # Nobody knows what is committed.
        self.check("passed", "passed")
        self.write("of_the_package.txt", "1")
        self.git("init", "--quiet")
        self.git("add", "of_the_package.txt")
        self.git("commit", "--quiet", "-m", "1")
        self.check("passed", "skipped")
        self.write("of_the_package.txt", "2")
        self.check("skipped")
        self.git("commit", "--quiet", "-am", "2")
        self.check("passed", "skipped")
