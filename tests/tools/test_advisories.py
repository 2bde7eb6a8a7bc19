"""What is known against the carried libraries, and that the threat model says what it means."""

from __future__ import annotations

import io
import os
import re
import unittest
from contextlib import redirect_stdout

from GeminiCompanion.tools import advisories, closure, package

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))


class Advisories(unittest.TestCase):
    def known(self, host: str) -> set[str]:
        return {
            hit.identifier for hits in advisories.find_advisories(host).values() for hit in hits
        }

    def test_nothing_is_known_against_what_newer_hosts_run_on(self) -> None:
        self.assertEqual(self.known("3.13"), set())

    def test_each_one_that_concerns_a_carried_library_has_its_meaning_in_the_threat_model(
        self,
    ) -> None:
        with open(os.path.join(ROOT, "docs", "threat-model.md"), encoding="utf-8") as file:
            text = file.read().partition("\n## What is known against the carried libraries")[2]
        rows = re.findall(r"^\|.*$", text.partition("\n## ")[0], re.MULTILINE)
        told = re.findall(r"CVE-\d+-\d+", "\n".join(rows))
        self.assertEqual(sorted(told), sorted(self.known("3.8")))

    def test_the_table_names_each_once_and_only_carried_libraries(self) -> None:
        day, rows = advisories.read_advisories()
        self.assertRegex(day, r"^\d{4}-\d\d-\d\d$")
        self.assertEqual(len({row.identifier for row in rows}), len(rows))
        names = {library.name for library in closure.TABLE if library.modules}
        self.assertLessEqual({row.library for row in rows}, names)

    def test_versions_are_compared_by_their_numbers(self) -> None:
        self.assertLess(advisories._version_numbers("3.9.1"), advisories._version_numbers("3.10"))

    def test_the_command_lists_them_by_host(self) -> None:
        with redirect_stdout(io.StringIO()) as said:
            self.assertEqual(advisories.main(), 0)
        for host in package.SETS:
            self.assertIn(f"For the plugin host {host}", said.getvalue())
        self.assertIn("CVE-2025-69229", said.getvalue())
        self.assertTrue(said.getvalue().endswith("  none\n"))
