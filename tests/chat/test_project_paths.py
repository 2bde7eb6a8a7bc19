"""The names of a project's files: listed within limits, and the best ones for what is typed."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import unittest

from GeminiCompanion.companion.base.mentions import mentioned_files
from GeminiCompanion.companion.chat.project_paths import (
    PathScope,
    escape_name,
    list_paths,
    matching_names,
)


class Listed(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, *names: str) -> None:
        for name in names:
            path = os.path.join(self.folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8"):
                pass

    def test_what_is_near_comes_first_and_a_limit_leaves_out_what_is_deep(self) -> None:
        self.write("z.py", "a/b/c/deep.py", "a/near.py")
        found = list_paths(PathScope((self.folder,)))
        self.assertEqual(
            found.names, ("a/", "z.py", "a/b/", "a/near.py", "a/b/c/", "a/b/c/deep.py")
        )
        self.assertTrue(found.is_whole)
        few = list_paths(PathScope((self.folder,)), most=3)
        self.assertEqual((few.names, few.is_whole), (found.names[:3], False))
        self.assertFalse(list_paths(PathScope((self.folder,)), seconds=-1).is_whole)

    def test_what_sublime_excludes_is_left_out(self) -> None:
        self.write("a.pyc", "a.py", ".git/config", "out/deep/x", "src/out/y", "src/b.log")
        scope = PathScope((self.folder,), ("*.pyc", "src/*.log"), (".git", "//out/deep"))
        self.assertEqual(list_paths(scope).names, ("a.py", "out/", "src/", "src/out/", "src/out/y"))

    def test_a_second_folder_has_whole_paths(self) -> None:
        self.write("one/a", "two/b")
        folders = tuple(os.path.join(self.folder, name) for name in ("one", "two"))
        second = folders[1].replace(os.sep, "/")
        self.assertEqual(list_paths(PathScope(folders)).names, ("a", f"{second}/b"))

    def test_a_folder_that_is_gone_and_a_link_in_a_circle_end_nothing(self) -> None:
        self.write("a/b")
        os.symlink(self.folder, os.path.join(self.folder, "a", "loop"))
        gone = os.path.join(self.folder, "gone")
        self.assertEqual(list_paths(PathScope((self.folder, gone))).names, ("a/", "a/b", "a/loop"))


class Matching(unittest.TestCase):
    NAMES = ("src/", "main.py", "src/main.py", "src/remains/x.py", "doc/my file.md", "secret.key")

    def found(self, fixed: str, typed: str, most: int = 10) -> list[str]:
        return matching_names(self.NAMES, fixed, typed, lambda name: name != "secret.key", most)

    def test_the_best_names_come_first(self) -> None:
        for fixed, typed, expected in (
            ("", "main", ["main.py", "src/main.py", "src/remains/x.py"]),
            ("", "MAIN", ["main.py", "src/main.py", "src/remains/x.py"]),
            ("src/", "", ["src/", "src/main.py", "src/remains/x.py"]),
            ("src/", "mp", ["src/main.py", "src/remains/x.py"]),
            ("doc/my\\ ", "f", ["doc/my file.md"]),
            ("", "zzz", []),
            ("", "secret", []),
        ):
            with self.subTest(fixed=fixed, typed=typed):
                self.assertEqual(self.found(fixed, typed), expected)

    def test_letters_are_found_in_their_order_and_only_so(self) -> None:
        for seed in range(500):
            chance = random.Random(seed)
            name = "".join(chance.choices("abA-[]^\\/.", k=chance.randrange(12)))
            typed = "".join(chance.choices("abB-[]^\\.", k=chance.randrange(4)))
            left = iter(name.lower())
            expected = [name] if all(letter in left for letter in typed.lower()) else []
            with self.subTest(f"{typed} in {name}"):
                self.assertEqual(matching_names([name], "", typed, lambda _: True, 9), expected)

    def test_a_name_that_repeats_itself_is_searched_to_its_end_once(self) -> None:
        """Otherwise this would never end."""
        found = matching_names(["0" * 4000], "", "0" * 200 + "1", lambda _: True, 9)
        self.assertEqual(found, [])

    def test_no_more_are_given_than_asked_for(self) -> None:
        self.assertEqual(self.found("", "", 2), ["src/", "main.py"])

    def test_only_the_best_ones_are_looked_up_among_the_rules(self) -> None:
        asked: list[str] = []
        names = [f"file{number}" for number in range(100_000)]
        matching_names(names, "", "f", lambda name: not asked.append(name), 100)
        self.assertLessEqual(len(asked), 200)

    def test_a_message_reads_the_name_as_it_is(self) -> None:
        for name in ("a b.py", "it's.py", 'a"b', "a\\b", "src/", "ünï.txt", "a.py."):
            with self.subTest(name):
                found = mentioned_files(f"see @{escape_name(name)} now", lambda path: path)
                self.assertEqual(found, [name])
