"""The report on other packages' tests: what passed, failed, and what was lacking."""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
import types
import unittest
from unittest import mock

from tools import judges


class Figures(unittest.TestCase):
    def test_each_test_counts_once_and_a_missing_name_is_no_failure(self) -> None:
        found = judges.read_figures(
            {
                "all": ["m.C.one", "m.C.two", "m.C.three", "m.C.four", "m.D.five"],
                "ran": ["m.C.one", "m.C.two", "m.C.three", "m.C.four"],
                "failures": {"m.C.two": "AssertionError: 1 != 2"},
                "errors": {
                    "m.C.three": "NotImplementedError: sublime.View.meta_info is not offered",
                    "setUpClass (m.D)": "ModuleNotFoundError: No module named 'other'",
                },
                "skipped": {"m.C.four": "why not"},
            }
        )
        self.assertEqual(found.passed, ["m.C.one"])
        self.assertEqual(list(found.failed), ["m.C.two"])
        self.assertEqual(sorted(found.lacking), ["m.C.three", "m.D.five"])
        self.assertEqual(found.skipped, ["m.C.four"])
        self.assertEqual(found.all, 5)
        said = judges.report_row("Some", found)
        self.assertIn("1 of    5 passed,   1 failed,   2 lacking,   1 skipped", said)
        self.assertIn("lacking: library other, sublime.View.meta_info", said)

    def test_a_folder_that_is_not_there_is_told(self) -> None:
        for given, expected in (
            ({"LSP": "x"}, "UNITTESTING=path is needed"),
            ({"UNITTESTING": os.path.join(os.sep, "no", "such")}, "is not there"),
        ):
            with mock.patch.dict(os.environ, given, clear=True), mock.patch(
                "builtins.print"
            ) as said:
                self.assertEqual(judges.main(), 2)
            self.assertIn(expected, said.call_args[0][0])


class Inside(unittest.TestCase):
    def test_the_end_is_seen_while_the_tests_replace_what_looks_at_files(self) -> None:
        with mock.patch.dict(sys.modules, sublime=types.ModuleType("sublime")):
            inside = importlib.import_module("tools.judge_inside")
        with tempfile.TemporaryDirectory() as folder:
            output = os.path.join(folder, "output.txt")
            with open(output, "w", encoding="utf-8") as file:
                file.write("UnitTesting: Done.\n")
            replaced = AssertionError("asked a mock")
            with mock.patch("os.path.exists", side_effect=replaced), mock.patch(
                "builtins.open", side_effect=replaced
            ):
                inside._wait_for_end(output)
