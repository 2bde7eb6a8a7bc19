"""What reviewers of packages look at: what is exported, resources, messages, versions."""

from __future__ import annotations

import ast
import fnmatch
import io
import json
import os
import re
import subprocess
import tarfile
import tempfile
import unittest
from unittest import mock

from GeminiCompanion import companion
from GeminiCompanion.headless.values import parse
from GeminiCompanion.tools import review, setup

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
# All that belongs into a package beside the modules; what else there is must stay out of it.
PACKAGE = (
    ".python-version",
    "CHANGELOG.md",
    "Context.sublime-menu",
    "Default.sublime-commands",
    "Default (OSX).sublime-keymap",
    "Default.sublime-keymap",
    "Gemini Companion Chat.sublime-syntax",
    "GeminiCompanion.sublime-settings",
    "GeminiCompanionChanges.sublime-syntax",
    "LICENSE",
    "Main.sublime-menu",
    "README.md",
    "Symbol List - Answers.tmPreferences",
    "Symbol List.tmPreferences",
    "companion/api/page/*",
    "companion/api/page/vendor/*",
    "dependencies.json",
    "extension/companion.cjs",
    "extension/report.sh",
    "messages.json",
    "messages/*.txt",
    "plugin.py",
    "sublime-package.json",
)
# What unittesting.json cannot run in a real Sublime Text: it has none of these libraries.
DEVELOPMENT = {"hypothesis", "pytest"}


def read(*parts: str) -> str:
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as file:
        return file.read()


def git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return done.stdout.decode().splitlines()


def belongs(path: str) -> bool:
    if path.startswith("companion/") and path.endswith(".py"):
        return True
    fits = [name for name in PACKAGE if fnmatch.fnmatchcase(path, name)]
    return any(path.count("/") == pattern.count("/") for pattern in fits)


def imported(source: str) -> set[str]:
    """The first names of all absolute imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(str(node.module).split(".")[0])
    return names


@unittest.skipUnless(os.path.exists(os.path.join(ROOT, ".git")), "only a checkout can be exported")
class Export(unittest.TestCase):
    def test_it_holds_exactly_what_belongs_into_a_package(self) -> None:
        command = ["git", "archive", "--worktree-attributes", "--format=tar", "HEAD"]
        listing = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
        with tarfile.open(fileobj=io.BytesIO(listing.stdout)) as tar:
            exported = {member.name for member in tar.getmembers() if member.isfile()}
        tracked = set(git("ls-tree", "-r", "--name-only", "HEAD"))
        self.assertEqual(exported, {path for path in tracked if belongs(path)})

    def test_it_carries_nothing_that_only_package_control_writes(self) -> None:
        names = {os.path.basename(path) for path in git("ls-files")}
        self.assertFalse(names & {"package-metadata.json", ".no-sublime-package"})
        self.assertFalse([name for name in names if name.endswith((".pyc", ".sublime-package"))])


class Resources(unittest.TestCase):
    def test_each_one_can_be_read(self) -> None:
        found = [
            name for name in os.listdir(ROOT) if re.search(r"\.(sublime-(?!syntax)\w+|json)$", name)
        ]
        self.assertGreaterEqual(len(found), 6)
        for name in found:
            with self.subTest(name):
                self.assertIsInstance(parse(read(name)), (dict, list))

    def test_each_json_file_is_strict_json(self) -> None:
        for name in ("messages.json", "dependencies.json", "unittesting.json"):
            json.loads(read(name))

    def test_the_root_holds_one_plugin_and_is_no_package_of_python(self) -> None:
        self.assertEqual([name for name in os.listdir(ROOT) if name.endswith(".py")], ["plugin.py"])


class Versions(unittest.TestCase):
    def versions(self) -> list[str]:
        return re.findall(r"(?m)^## (\d+\.\d+\.\d+)\b", read("CHANGELOG.md"))

    def test_the_changelog_begins_with_this_version(self) -> None:
        self.assertEqual(self.versions()[0], companion.__version__)

    def test_the_changelog_goes_from_the_newest_to_the_oldest(self) -> None:
        numbers = [tuple(map(int, version.split("."))) for version in self.versions()]
        self.assertEqual(numbers, sorted(set(numbers), reverse=True))

    def test_each_release_has_its_message_and_each_message_its_file(self) -> None:
        messages = json.loads(read("messages.json"))
        self.assertEqual(set(messages), {"install", *self.versions()})
        for version, path in messages.items():
            text = read(*path.split("/"))
            self.assertIn("GeminiCompanion", text)
            if version != "install":
                self.assertEqual(path, f"messages/{version}.txt")
                self.assertIn(version, text)
        files = {"messages/" + name for name in os.listdir(os.path.join(ROOT, "messages"))}
        self.assertEqual(files, set(messages.values()))


class InARealEditor(unittest.TestCase):
    def test_the_adapters_tests_are_found_and_need_no_other_library(self) -> None:
        settings = json.loads(read("unittesting.json"))
        self.assertEqual((settings["tests_dir"], settings["pattern"]), ("tests/ui", "test_*.py"))
        for name in os.listdir(os.path.join(ROOT, "tests", "ui")):
            if fnmatch.fnmatchcase(name, settings["pattern"]):
                with self.subTest(name):
                    self.assertFalse(imported(read("tests", "ui", name)) & DEVELOPMENT)


class Reviewer(unittest.TestCase):
    def test_only_what_is_known_of_every_syntax_is_passed_over(self) -> None:
        known = "## Report\n" + "".join(
            f"{sentence}, and more\n    File: a\n" for sentence in review.KNOWN
        )
        self.assertTrue(review.is_known(known))
        self.assertFalse(review.is_known(known + "- Another one\n"))
        self.assertFalse(review.is_known("Traceback (most recent call last):\n"))

    def test_a_checkout_that_is_linked_to_another_is_one(self) -> None:
        asked = RuntimeError("asked")
        with tempfile.TemporaryDirectory() as root:
            with open(os.path.join(root, ".git"), "w") as file:
                file.write("gitdir: elsewhere\n")
            with mock.patch.object(review, "ROOT", root):
                with mock.patch.object(setup, "OLDEST_APART", (3, 8)):
                    with mock.patch.object(setup, "set_up_apart", side_effect=asked):
                        self.assertRaisesRegex(RuntimeError, "asked", review.main)
