"""Files of a work tree by their paths, and what must not be reached by one."""

from __future__ import annotations

import os
import stat
import sys
import unittest

from GeminiCompanion.companion.work_trees.inside import (
    ABSENT,
    FILE,
    LINK,
    NOTHING,
    PROGRAM,
    NotInside,
    TreeContent,
    is_safe_path,
    look_at,
    read_content,
    set_mode,
    write_content,
)

from ..support import temp_folder


class Paths(unittest.TestCase):
    def test_only_names_below_the_tree_and_none_of_git_are_safe(self) -> None:
        for path in ("a", "a/b.py", "..a/b", ".github/x", ".gitignore", "two\nlines"):
            self.assertTrue(is_safe_path(path), path)
        for path in (
            "", "/a", "a//b", "a/", "../a", "a/../b", "./a", ".git", "a/.git/hooks/x", ".GIT/x",
            "git~1/x", ".git /x", ".git./x", ".g\u200cit/config", "\udcff", "a\0b",
        ):  # fmt: skip
            self.assertFalse(is_safe_path(path), path)

    def test_what_is_another_file_on_windows_is_safe_elsewhere_alone(self) -> None:
        for path in (
            "con", "NUL.txt", "a/aux/b", "com1", "lpt9.tar.gz", "Con .txt", "com¹", "CONOUT$",
            "a.", "a ", "a./b", "a /b", "...", "a:b", "a\\b", "x?", "two\nlines",
        ):  # fmt: skip
            self.assertTrue(is_safe_path(path, "linux"), path)
            self.assertFalse(is_safe_path(path, "win32"), path)
        for path in (
            "icon",
            "con1",
            "console.txt",
            "com10",
            "a.b",
            ".a",
            " a",
            "a b",
            "com",
            "nul_",
        ):
            for platform in ("linux", "win32"):
                self.assertTrue(is_safe_path(path, platform), path)


class Files(unittest.TestCase):
    def setUp(self) -> None:
        self.temp = temp_folder(self)
        self.root = os.path.join(self.temp, "root")
        os.mkdir(self.root)

    def at(self, path: str) -> str:
        return os.path.join(self.root, *path.split("/"))

    def test_a_file_is_written_with_its_folders_and_read(self) -> None:
        write_content(self.root, "a/b/c.txt", TreeContent(FILE, b"text"))
        self.assertEqual(read_content(self.root, "a/b/c.txt"), TreeContent(FILE, b"text"))
        self.assertEqual(os.listdir(self.at("a/b")), ["c.txt"])

    def test_what_is_not_there_is_nothing(self) -> None:
        write_content(self.root, "a", TreeContent(FILE, b""))
        for path in ("b", "b/c", "a/c"):
            self.assertEqual(read_content(self.root, path), NOTHING)
            self.assertEqual(look_at(self.root, path).mode, ABSENT)

    def test_a_file_that_goes_takes_its_empty_folders_along(self) -> None:
        write_content(self.root, "a/b/c.txt", TreeContent(FILE, b"1"))
        write_content(self.root, "a/d.txt", TreeContent(FILE, b"2"))
        write_content(self.root, "a/b/c.txt", NOTHING)
        self.assertEqual(os.listdir(self.at("a")), ["d.txt"])
        write_content(self.root, "not/there", NOTHING)

    def test_a_folder_is_not_replaced_by_a_file(self) -> None:
        os.makedirs(self.at("a/b"))
        with self.assertRaises(IsADirectoryError):
            write_content(self.root, "a", TreeContent(FILE, b"1"))
        self.assertEqual(os.listdir(self.root), ["a"])


@unittest.skipIf(sys.platform == "win32", "needs links and modes")
class Links(Files):
    def test_a_name_may_be_as_long_as_one_can_be(self) -> None:
        name = "n" * 255
        write_content(self.root, f"a/{name}", TreeContent(FILE, b"text"))
        write_content(self.root, f"a/{name}", TreeContent(FILE, b"other"))
        self.assertEqual(read_content(self.root, f"a/{name}"), TreeContent(FILE, b"other"))
        self.assertEqual(os.listdir(self.at("a")), [name])

    def test_no_folder_on_the_way_may_be_a_link(self) -> None:
        outside = os.path.join(self.temp, "outside")
        os.mkdir(outside)
        os.symlink(outside, self.at("a"))
        with open(os.path.join(outside, "b"), "wb") as file:
            file.write(b"theirs")
        for work in (
            lambda: read_content(self.root, "a/b"),
            lambda: write_content(self.root, "a/b", TreeContent(FILE, b"1")),
            lambda: write_content(self.root, "a/new/b", TreeContent(FILE, b"1")),
            lambda: write_content(self.root, "a/b", NOTHING),
            lambda: set_mode(self.root, "a/b", PROGRAM),
        ):
            with self.assertRaises(NotInside):
                work()
        self.assertEqual(os.listdir(outside), ["b"])

    def test_a_link_is_read_and_replaced_itself(self) -> None:
        target = os.path.join(self.temp, "target")
        with open(target, "wb") as file:
            file.write(b"theirs")
        os.symlink(target, self.at("a"))
        self.assertEqual(read_content(self.root, "a"), TreeContent(LINK, os.fsencode(target)))
        write_content(self.root, "a", TreeContent(FILE, b"1"))
        self.assertFalse(os.path.islink(self.at("a")))
        with open(target, "rb") as file:
            self.assertEqual(file.read(), b"theirs")

    def test_a_link_is_written_as_a_link(self) -> None:
        write_content(self.root, "a", TreeContent(LINK, b"some/where"))
        self.assertEqual(os.readlink(self.at("a")), "some/where")

    def test_the_mode_of_a_file_stays_but_for_whether_it_can_be_run(self) -> None:
        write_content(self.root, "a", TreeContent(FILE, b"1"))
        os.chmod(self.at("a"), 0o640)
        write_content(self.root, "a", TreeContent(PROGRAM, b"2"))
        self.assertEqual(stat.S_IMODE(os.stat(self.at("a")).st_mode), 0o750)
        set_mode(self.root, "a", FILE)
        self.assertEqual(stat.S_IMODE(os.stat(self.at("a")).st_mode), 0o640)
