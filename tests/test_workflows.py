"""The workflows of the continuous integration: they cannot run here, but they can be read."""

from __future__ import annotations

import glob
import os
import re
import unittest
from typing import Any, Iterator

import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def read(*parts: str) -> str:
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as file:
        return file.read()


def targets() -> set[str]:
    return set(re.findall(r"(?m)^([a-z][a-z-]*):(?!=)", read("Makefile")))


class Workflows(unittest.TestCase):
    def setUp(self) -> None:
        paths = glob.glob(os.path.join(ROOT, ".github", "workflows", "*.yml"))
        self.flows = {os.path.basename(path): yaml.safe_load(read(path)) for path in paths}
        self.assertEqual(set(self.flows), {"test.yml", "release.yml"})

    def steps(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for name, flow in self.flows.items():
            for job in flow["jobs"].values():
                self.assertLessEqual(job["timeout-minutes"], 60)
                for step in job["steps"]:
                    yield name, step

    def commands(self) -> list[str]:
        return [step["run"] for _name, step in self.steps() if "run" in step]

    def test_each_target_of_make_that_they_name_exists(self) -> None:
        named: set[str] = set()
        for command in self.commands():
            for line in re.findall(r"(?m)^make (.*)$", command):
                named.update(re.findall(r"(?<!\S)[a-z][a-z-]*(?!\S)", line))
        self.assertLessEqual({"check", "test", "package"}, named)
        self.assertLessEqual(named, targets())

    def test_each_module_that_they_run_exists(self) -> None:
        modules = re.findall(r"python -m (\S+)", "\n".join(self.commands()))
        self.assertTrue(modules)
        for module in modules:
            self.assertTrue(os.path.isfile(os.path.join(ROOT, *module.split(".")) + ".py"), module)

    def test_each_action_is_of_a_version_and_few_are_strangers(self) -> None:
        used = [step["uses"] for _name, step in self.steps() if "uses" in step]
        for action in used:
            self.assertRegex(
                action, r"^(actions/[\w-]+|SublimeText/UnitTesting/actions/[\w-]+)@v\d+$"
            )

    def test_all_three_systems_are_tested_on_the_oldest_and_the_newest_python(self) -> None:
        rows = self.flows["test.yml"]["jobs"]["everywhere"]["strategy"]["matrix"]["include"]
        found = {(row["os"].split("-")[0], row["python"]) for row in rows}
        systems = ("ubuntu", "macos", "windows")
        self.assertEqual(found, {(name, python) for name in systems for python in ("3.8", "3.14")})

    def test_only_a_release_may_write(self) -> None:
        self.assertEqual(self.flows["test.yml"]["permissions"], {"contents": "read"})

    def test_the_notes_of_a_release_are_the_message_that_the_package_shows(self) -> None:
        command = next(line for line in self.commands() if line.startswith("gh release"))
        self.assertIn('--notes-file "messages/$TAG.txt"', command)
