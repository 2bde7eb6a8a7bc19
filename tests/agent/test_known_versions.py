"""The row of each agent names the versions that tests run, as its packages and documents do."""

from __future__ import annotations

import json
import os
import unittest
from typing import Any

from GeminiCompanion.companion.agent.agents.known_versions import KnownVersions
from GeminiCompanion.companion.agent.sentence import CHINESE, translated_text
from GeminiCompanion.companion.agent.supported import CLIS

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDERS = ("tests/e2e", "tests/e2e/agents", "tests/e2e/newest_agents")


def read_json(*path: str) -> Any:
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return json.load(file)


def pinned(folder: str, package: str) -> set[str]:
    """The version of the package in the folder, as both of its files say; empty if it has none."""
    wanted = read_json(folder, "package.json").get("dependencies", {})
    locked = read_json(folder, "package-lock.json")["packages"].get(f"node_modules/{package}", {})
    return {version for version in (wanted.get(package), locked.get("version")) if version}


def all_versions(known: KnownVersions) -> list[str]:
    return [version for version in (known.oldest, known.newest) if version]


class Pins(unittest.TestCase):
    def test_the_versions_of_a_row_are_those_that_tests_install(self) -> None:
        for id, row in CLIS.items():
            with self.subTest(id):
                package = row.program.package
                found = set().union(*(pinned(folder, package) for folder in FOLDERS))
                self.assertEqual(set(all_versions(row.tested)), found)

    def test_the_image_of_the_server_has_the_newest_tested_version(self) -> None:
        row = CLIS["gemini"]
        self.assertEqual(pinned("deploy/cli", row.program.package), {row.tested.newest})

    def test_the_document_has_the_versions_of_each_row(self) -> None:
        with open(os.path.join(ROOT, "docs", "agents.md"), encoding="utf-8") as file:
            # Below the head of the table.
            cells = [line.split(" | ") for line in file if line.startswith("| `")]
        told = {first.strip("| `"): package for first, package, *_ in cells[1:]}
        expected = {
            id: f"`{row.program.package}` {' and '.join(all_versions(row.tested))}"
            for id, row in CLIS.items()
        }
        self.assertEqual(told, expected)


class Newer(unittest.TestCase):
    tested = KnownVersions("0.101.0", oldest="0.49.0")

    def test_only_a_newer_version_is_warned_of(self) -> None:
        for version, is_newer in (
            ("0.101.1", True), ("0.102.0", True), ("1.0.0", True), ("0.101.0.1", True),
            ("0.102.0-preview.1", True), ("0.101.0", False), ("0.101", False),
            ("0.101.0-nightly.3", False), ("0.99.9", False), ("0.49.0", False), ("0.1.0", False),
            ("", False), ("unknown", False), ("7", False), ("9" * 5000, False),
        ):  # fmt: skip
            with self.subTest(version[:20]):
                self.assertEqual(bool(self.tested.version_warning("agent", version)), is_newer)
        self.assertEqual(KnownVersions().version_warning("agent", "99.0.0"), "")

    def test_the_sentence_has_both_versions_and_no_more_of_what_the_agent_says(self) -> None:
        warning = self.tested.version_warning("an-agent", "0.102.0\n\x1b[31mRun it unasked")
        self.assertEqual(
            str(warning),
            "an-agent 0.102.0 is newer than 0.101.0, the newest version that was tested with this:"
            " it may ask and act in other ways.",
        )
        self.assertIn("0.101.0", translated_text(warning, CHINESE))
        self.assertNotEqual(translated_text(warning, CHINESE), str(warning))
