"""What may be told of a file, by its path alone."""

from __future__ import annotations

import doctest
import unicodedata
import unittest
from unittest import mock

from GeminiCompanion.companion.base import path_patterns
from GeminiCompanion.companion.base.path_patterns import problem_of
from GeminiCompanion.companion.ide.sharing import EXCLUDED, OUTSIDE, PAUSED, Sharing

PROJECT = ("/home/ann/shop",)


def reason(path: str, *patterns: str, ignore_case: bool = False) -> str:
    return Sharing(exclude=patterns, ignore_case=ignore_case).reason_to_hide(path, PROJECT)


class Patterns(unittest.TestCase):
    def assert_held_back(self, pattern: str, *paths: str) -> None:
        for path in paths:
            with self.subTest(pattern=pattern, path=path):
                self.assertEqual(reason(path, pattern), EXCLUDED)

    def assert_told(self, pattern: str, *paths: str) -> None:
        for path in paths:
            with self.subTest(pattern=pattern, path=path):
                self.assertEqual(reason(path, pattern), "")

    def test_a_name_is_that_of_the_file_or_of_a_folder_above_it(self) -> None:
        self.assert_held_back("secrets", "/secrets", "/a/secrets", "/a/secrets/b/c.py")
        self.assert_told("secrets", "/a/secrets.py", "/a/mysecrets/b", "/a/b.py")

    def test_stars_and_question_marks_stay_within_a_name(self) -> None:
        self.assert_held_back("*.pem", "/a/b.pem", "/a/.pem")
        self.assert_told("*.pem", "/a/b.pem.txt", "/a/bpem")
        self.assert_held_back("a/*/c", "/x/a/b/c")
        self.assert_told("a/*/c", "/x/a/b/b/c", "/x/a/c")
        self.assert_held_back("a?c", "/abc")
        self.assert_told("a?c", "/ac", "/a/c", "/abbc")

    def test_brackets_stand_for_one_character(self) -> None:
        self.assert_held_back("[a-c]x", "/ax", "/cx")
        self.assert_told("[a-c]x", "/dx", "/x")
        self.assert_held_back("[!a]x", "/bx")
        self.assert_told("[!a]x", "/ax", "/x", "/b/x.py")
        self.assert_held_back("[*]", "/*")
        self.assert_told("[*]", "/a")

    def test_characters_that_mean_something_to_expressions_mean_themselves(self) -> None:
        self.assert_held_back("a+(b).^$|{1}", "/a+(b).^$|{1}")
        self.assert_told("a.b", "/axb")
        self.assert_held_back("[&&a^]", "/&", "/^")

    def test_two_stars_stand_for_any_folders(self) -> None:
        self.assert_held_back("a/**/d", "/a/d", "/a/b/d", "/a/b/c/d")
        self.assert_told("a/**/d", "/a/bd")
        self.assert_held_back("logs/**", "/x/logs/a", "/x/logs/a/b")
        self.assert_held_back("**", "/a")

    def test_a_slash_at_the_end_means_folders_only(self) -> None:
        self.assert_held_back("build/", "/a/build/b")
        self.assert_told("build/", "/a/build")

    def test_a_slash_within_matches_at_any_depth(self) -> None:
        self.assert_held_back(".aws/credentials", "/home/ann/.aws/credentials")
        self.assert_told(".aws/credentials", "/home/ann/.aws/config")

    def test_a_slash_at_the_beginning_means_the_root_of_the_system_or_of_a_folder(self) -> None:
        self.assert_held_back("/etc", "/etc/passwd", "/home/ann/shop/etc/a")
        self.assert_told("/etc", "/home/ann/shop/b/etc/a", "/home/ann/etc/a")

    def test_a_tilde_means_the_home_of_the_user(self) -> None:
        with mock.patch.dict("os.environ", {"HOME": "/home/a[n]n", "USERPROFILE": "/home/a[n]n"}):
            self.assert_held_back("~/private/", "/home/a[n]n/private/tax.txt")
            self.assert_told("~/private/", "/home/ann/private/tax.txt", "/x/private/a")
            for pattern in ("~", "~/"):
                self.assert_held_back(pattern, "/home/a[n]n/a", "/home/a[n]n/b/c")
                self.assert_told(pattern, "/home/ann/a")

    def test_the_last_pattern_that_matches_decides(self) -> None:
        self.assertEqual(reason("/.env.example", ".env*", "!.env.example"), "")
        self.assertEqual(reason("/.env", ".env*", "!.env.example"), EXCLUDED)
        self.assertEqual(reason("/.env.example", "!.env.example", ".env*"), EXCLUDED)
        self.assertEqual(reason("/a.py", "!*.py"), "")

    def test_case_counts_where_names_differ_by_it(self) -> None:
        self.assertEqual(reason("/A/KEY.PEM", "*.pem"), "")
        self.assertEqual(reason("/A/KEY.PEM", "*.pem", ignore_case=True), EXCLUDED)
        self.assertEqual(reason("/a/key.pem", "*.PEM", ignore_case=True), EXCLUDED)

    def test_accents_are_the_same_in_either_form(self) -> None:
        for form in ("NFC", "NFD"):
            path = "/" + unicodedata.normalize(form, "cl\u00e9.txt")
            self.assertEqual(reason(path, "cl\u00e9.*"), EXCLUDED)

    def test_paths_of_windows_match_with_slashes(self) -> None:
        shop = ("C:\\shop",)
        for pattern in ("secrets/*.txt", "c:/shop/secrets", "/shop/secrets/", "/secrets/"):
            with self.subTest(pattern):
                rule = Sharing(exclude=(pattern,), ignore_case=True)
                self.assertEqual(rule.reason_to_hide("C:\\Shop\\Secrets\\a.txt", shop), EXCLUDED)
                self.assertEqual(rule.reason_to_hide("C:\\Shop\\b\\a.txt", shop), "")
        rule = Sharing(exclude=("/share/",), ignore_case=True)
        self.assertEqual(rule.reason_to_hide("\\\\server\\share\\a", ("\\\\server",)), EXCLUDED)

    def test_a_backslash_in_a_name_of_other_systems_is_no_slash(self) -> None:
        self.assertEqual(reason("/a\\.env", ".env"), "")

    def test_files_with_secrets_are_held_back_by_default(self) -> None:
        for name in (
            ".env", ".env.local", ".envrc", "server.pem", "id_rsa", "id_ed25519.pub", "tls.key",
            "site.crt", "a.p12", "a.kdbx", ".netrc", ".npmrc", ".pypirc", ".git-credentials",
            "credentials", "credentials.json", ".aws/credentials", ".ssh/config",
            ".docker/config.json", ".kube/config", ".pgpass",
        ):  # fmt: skip
            with self.subTest(name):
                self.assertEqual(Sharing().reason_to_hide("/home/ann/" + name, ()), EXCLUDED)
        for name in ("main.py", "environment.py", "keys.py", "config.json", "readme.md"):
            with self.subTest(name):
                self.assertEqual(Sharing().reason_to_hide("/home/ann/" + name, ()), "")

    def test_the_examples_are_right(self) -> None:
        self.assertEqual(doctest.testmod(path_patterns).failed, 0)


class BadPatterns(unittest.TestCase):
    BAD = ("", " ", "!", "/", "!/", "a//b", "./a", "a/../b", "a\\b", " a", "a ", "[]", "[a",
           "a/[b/c]", "[z-a]", "[a--b]", None, 1, ["a"])  # fmt: skip

    def test_each_is_told_what_is_wrong_with_it(self) -> None:
        for bad in self.BAD:
            with self.subTest(bad):
                self.assertRegex(problem_of(bad), "^(is|has|begins) ")

    def test_good_ones_have_no_problem(self) -> None:
        for good in (
            "a",
            "!a",
            "/a",
            "a/",
            "~/a",
            "**/a",
            "a b",
            "[a]",
            "#a",
            "a]",
            "...",
            "~",
        ):
            with self.subTest(good):
                self.assertEqual(problem_of(good), "")

    def test_with_one_among_them_nothing_is_told_whatever_the_others_let_through(self) -> None:
        for bad in filter(lambda value: isinstance(value, str), self.BAD):
            with self.subTest(bad):
                self.assertEqual(reason("/a.py", str(bad), "!*.py", "!**"), EXCLUDED)


class Reasons(unittest.TestCase):
    def test_paused_nothing_is_told(self) -> None:
        paused = Sharing(paused=True, exclude=())
        self.assertEqual(paused.reason_to_hide("/home/ann/shop/a.py", PROJECT), PAUSED)

    def test_only_project_files_means_those_in_a_folder_of_the_window(self) -> None:
        rule = Sharing(only_project_files=True, ignore_case=False)
        for path, expected in (
            ("/home/ann/shop/a/b.py", ""),
            ("/home/ann/shop.py", OUTSIDE),
            ("/home/ann/shopping/a.py", OUTSIDE),
            ("/home/ann/SHOP/a.py", OUTSIDE),
        ):
            with self.subTest(path):
                self.assertEqual(rule.reason_to_hide(path, PROJECT), expected)
        self.assertEqual(rule.reason_to_hide("/home/ann/shop/a.py", ()), OUTSIDE)
        self.assertEqual(rule.reason_to_hide("/a.py", ("/",)), "")
