"""What did not run is named in one line, by its file and the reason."""

from __future__ import annotations

import io
import os
import sys
import tempfile
import unittest
from contextlib import redirect_stdout

import pytest

from tests.skipped import SkippedTests

TEST = """
import unittest

class Base(unittest.TestCase):
    def test_by_itself(self):
        self.skipTest("it is not there")

    @unittest.skip("never")
    def test_never(self):
        pass

class Another(Base):
    pass
"""


class Skipped(unittest.TestCase):
    def lines_of(self, test: str, **apart: str) -> list[str]:
        with tempfile.TemporaryDirectory() as root, redirect_stdout(io.StringIO()) as said:
            path = os.path.join(root, "test_of_skips.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(test)
            sys.modules.pop("test_of_skips", None)
            options = ["-p", "no:cacheprovider", "-q", "--rootdir", root]
            # What others left in the memory of these tests is looked for elsewhere.
            options += ["-p", "no:unraisableexception", "-p", "no:threadexception"]
            pytest.main([*options, path], [SkippedTests(apart)])
        return [line for line in said.getvalue().splitlines() if line.startswith("skipped: ")]

    def test_each_file_is_named_with_each_reason_and_how_many_there_were(self) -> None:
        expected = [
            "skipped: 2 of test_of_skips.py: it is not there",
            "skipped: 2 of test_of_skips.py: never",
        ]
        self.assertEqual(self.lines_of(TEST), expected)

    def test_a_file_that_skips_itself_is_named(self) -> None:
        test = "import unittest\nraise unittest.SkipTest('no such system')\n"
        self.assertEqual(self.lines_of(test), ["skipped: 1 of test_of_skips.py: no such system"])

    def test_folders_that_this_system_cannot_run_are_named(self) -> None:
        self.assertEqual(
            self.lines_of("", e2e="no terminals"), ["skipped: all of e2e: no terminals"]
        )
