"""The workflows of the continuous integration: they cannot run here, but they can be read."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import Any, Iterator

import yaml
from GeminiCompanion import companion
from GeminiCompanion.tools import setup

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))


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
        self.assertLessEqual({"check", "test", "release-check"}, named)
        self.assertLessEqual(named, targets())

    def test_each_module_that_they_run_exists(self) -> None:
        modules = re.findall(r"python -m (\S+)", "\n".join(self.commands()))
        self.assertTrue(modules)
        for module in modules:
            self.assertTrue(os.path.isfile(os.path.join(ROOT, *module.split(".")) + ".py"), module)

    def test_each_action_is_of_one_commit_and_few_are_strangers(self) -> None:
        used = [step["uses"] for _name, step in self.steps() if "uses" in step]
        known = r"^actions/[\w-]+@[0-9a-f]{40}$"
        for action in used:
            self.assertRegex(action, known)

    def test_no_checkout_leaves_a_token_behind(self) -> None:
        for _name, step in self.steps():
            if step.get("uses", "").startswith("actions/checkout@"):
                self.assertIs(step["with"]["persist-credentials"], False)

    def test_all_three_systems_are_tested_on_the_oldest_and_the_newest_python(self) -> None:
        rows = self.flows["test.yml"]["jobs"]["everywhere"]["strategy"]["matrix"]["include"]
        found = {(row["os"].split("-")[0], row["python"]) for row in rows}
        systems = ("ubuntu", "macos", "windows")
        self.assertEqual(found, {(name, python) for name in systems for python in ("3.8", "3.14")})

    def test_a_real_editor_of_the_oldest_and_the_newest_build_gets_what_users_get(
        self,
    ) -> None:
        rows = self.flows["test.yml"]["jobs"]["sublime"]["strategy"]["matrix"]["include"]
        zipped = {(row["os"].split("-")[0], row["build"]) for row in rows if "unpacked" not in row}
        self.assertLessEqual(
            {("ubuntu", build) for build in ("4107", "4126", "4200", "newest")}, zipped
        )
        self.assertLessEqual({(system, "newest") for system in ("macos", "windows")}, zipped)
        self.assertTrue(any("unpacked" in row for row in rows))

    def test_each_part_of_a_real_editor_gets_the_variables_that_its_program_reads(self) -> None:
        for step in self.flows["test.yml"]["jobs"]["sublime"]["steps"]:
            for module in re.findall(r"python -m tools\.(\w+)", step.get("run", "")):
                text = read("tools", module + ".py")
                for name in step["env"]:
                    with self.subTest(module, variable=name):
                        self.assertRegex(text, rf"\b{name}\b")

    def test_only_a_release_may_write(self) -> None:
        self.assertEqual(self.flows["test.yml"]["permissions"], {"contents": "read"})
        self.assertEqual(self.flows["release.yml"]["permissions"], {})
        # The files, and who made them.
        wanted = dict.fromkeys(("contents", "id-token", "attestations"), "write")
        self.assertEqual(self.flows["release.yml"]["jobs"]["release"]["permissions"], wanted)

    def test_the_notes_of_a_release_are_the_message_that_the_package_shows(self) -> None:
        command = next(line for line in self.commands() if line.startswith("gh release"))
        self.assertIn('--notes-file "messages/$TAG.txt"', command)


@unittest.skipUnless(shutil.which("make"), "nothing to make it with")
class Makefile(unittest.TestCase):
    def test_a_checkout_may_lie_in_a_folder_with_blanks(self) -> None:
        folder = tempfile.mkdtemp(suffix=" Pr\u00f6jekt mit Leerzeichen")
        self.addCleanup(shutil.rmtree, folder)
        shutil.copy(os.path.join(ROOT, "Makefile"), folder)
        os.mkdir(os.path.join(folder, "tools"))
        with open(os.path.join(folder, "tools", "setup.py"), "w") as file:
            file.write("import sys; print(sys.argv[1], sys.executable)")
        python = os.path.join(folder, ".venv", "bin", "python")
        # What this test itself was made with is no concern of that one.
        made = ("MAKE", "MFL", "PYTHON")
        alone = {name: value for name, value in os.environ.items() if not name.startswith(made)}
        for is_made in (False, True):
            if is_made:
                os.makedirs(os.path.dirname(python))
                os.symlink(sys.executable, python)
            with self.subTest(is_made=is_made):
                command = ["make", "-s", "setup-python"]
                done = subprocess.run(
                    command, cwd=folder, env=alone, capture_output=True, timeout=60
                )
                said = done.stdout.decode()
                self.assertTrue(said.startswith("python "), done.stderr.decode())
                self.assertEqual(python in said, is_made)

    def test_each_target_brings_what_it_needs_and_no_more(self) -> None:
        # As where no CLI is installed, which the API then brings.
        brought = {
            "run": ["runtime"],
            "api": ["api", "cli"],
            "check": ["python"],
            # What else it needs, it sets up itself.
            "test": ["python"],
            "bench": ["python", "node", "bench"],
        }
        for target, parts in brought.items():
            with self.subTest(target):
                self.assertEqual(self.brought("CLI=", target), parts)
        self.assertEqual(self.brought("CLI=/bin/gemini", "api"), ["api"])
        for part in setup.PARTS:
            with self.subTest(part):
                self.assertEqual(self.brought("setup-" + part)[-1:], [part])

    def brought(self, *arguments: str) -> list[str]:
        command = ["make", "-n", *arguments]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=60)
        return re.findall(r"tools/setup\.py\"? (\w+)", done.stdout.decode())


@unittest.skipIf(sys.platform == "win32", "releases are made on Linux")
class Release(unittest.TestCase):
    """Its own steps are run as they stand there, in a folder that has what they need."""

    def setUp(self) -> None:
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        for name in ("tools", "companion"):
            shutil.copytree(os.path.join(ROOT, name), os.path.join(self.folder, name))
        os.mkdir(os.path.join(self.folder, "bin"))
        with open(os.path.join(self.folder, "bin", "python"), "w") as file:
            file.write(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        os.chmod(file.name, 0o755)
        flow = yaml.safe_load(read(".github", "workflows", "release.yml"))
        self.steps = flow["jobs"]["release"]["steps"]

    def step(self, words: str) -> dict[str, Any]:
        (found,) = [step for step in self.steps if words in step.get("run", "")]
        return dict(found)

    def run_step(self, step: dict[str, Any], **variables: str) -> tuple[int, str]:
        path = os.path.join(self.folder, "bin") + os.pathsep + os.environ["PATH"]
        command, variables = ["sh", "-e", "-c", step["run"]], {**variables, "PATH": path}
        done = subprocess.run(
            command,
            cwd=self.folder,
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
        )
        return done.returncode, done.stdout.decode()

    def test_only_a_tag_that_is_the_version_and_has_a_date_is_released(self) -> None:
        version = companion.__version__
        unreleased = f"## {version} - Unreleased\n"
        for heading, tag, ends in (
            (f"## {version} - 2030-01-02\n", version, (0, "")),
            (f"## {version} - 2030-01-02\n", "9.9.9", (1, "")),
            (unreleased, version, (1, unreleased)),
        ):
            with open(os.path.join(self.folder, "CHANGELOG.md"), "w") as file:
                file.write("# Changes\n\n" + heading)
            with self.subTest(heading, tag=tag):
                self.assertEqual(self.run_step(self.step("__version__"), TAG=tag), ends)

    def test_what_is_checked_is_what_is_attached(self) -> None:
        attached = self.step("gh release create")["run"].split()
        # A check that finds anything else in that folder fails.
        self.assertIn("dist/*", attached)
        self.assertIn("release-check", self.step("release-check")["run"])

    def test_each_step_has_the_variables_that_it_names(self) -> None:
        for step in self.steps:
            named = set(re.findall(r"\$([A-Z]+)", step.get("run", "")))
            with self.subTest(step.get("name")):
                self.assertLessEqual(named, set(step.get("env", {})))

    def test_the_release_comes_after_all_that_can_fail(self) -> None:
        words = ("__version__", "make check test", "make release-check", "gh release")
        places = [self.steps.index(self.step(word)) for word in words]
        self.assertEqual(places, sorted(places))
