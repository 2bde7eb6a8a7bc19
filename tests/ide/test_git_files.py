from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import unittest
from unittest import mock

from GeminiCompanion.companion.ide.hooks import git_files
from GeminiCompanion.companion.ide.hooks.git_files import GitTree

from ..support import temp_folder

# A second in the past, so that git is sure of its files.
THEN = 1_600_000_000


@unittest.skipUnless(shutil.which("git"), "needs git")
class GitFiles(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = temp_folder(self)
        self.git("init", "-q")
        for name, text in (("a.txt", b"one\n"), ("sub/b.txt", b"two\n"), ("c.txt", b"three\n")):
            self.write(name, text)
        self.commit()

    def git(self, *arguments: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(("git", *who, *arguments), cwd=self.folder, check=True, timeout=60)

    def commit(self) -> None:
        self.git("add", ".")
        self.git("commit", "-qm", "x")

    def at(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def write(self, name: str, text: bytes, at: int = THEN) -> None:
        os.makedirs(os.path.dirname(self.at(name)), exist_ok=True)
        with open(self.at(name), "wb") as file:
            file.write(text)
        os.utime(self.at(name), (at, at))

    def look(self, folder: str = "") -> GitTree:
        tree = git_files.work_tree_of(folder or self.folder)
        if tree is None:
            self.fail("there is no work tree")
        return tree

    def texts(self, tree: GitTree) -> dict[str, str | None]:
        """By name; None for a file that was not there."""
        found = git_files.changed_files(tree).items()
        return {
            os.path.relpath(path, self.folder).replace(os.sep, "/"): file.text
            if file.exists
            else None
            for path, file in found
        }

    def test_a_changed_file_is_known_as_it_was_and_a_new_one_as_missing(self) -> None:
        tree = self.look(self.at("sub"))
        self.assertEqual((git_files.dirty_files(tree), self.texts(tree)), ([], {}))
        self.write("a.txt", b"1\n", THEN + 9)
        os.remove(self.at("sub/b.txt"))
        self.write("sub/new.txt", b"new\n")
        expected = {"a.txt": "one\n", "sub/b.txt": "two\n", "sub/new.txt": None}
        self.assertEqual(self.texts(tree), expected)

    @unittest.skipIf(os.name == "nt", "links need rights there")
    def test_links_and_work_trees_in_the_work_tree_are_no_files(self) -> None:
        os.symlink(self.at("sub"), self.at("before"))
        tree = self.look()
        os.symlink(self.at("a.txt"), self.at("link"))
        os.mkdir(self.at("inner"))
        subprocess.run(("git", "init", "-q"), cwd=self.at("inner"), check=True, timeout=60)
        self.assertEqual((git_files.dirty_files(tree), self.texts(tree)), ([], {}))

    @unittest.skipIf(os.name == "nt", "the program is one for another shell")
    def test_no_program_of_the_work_tree_fetches_what_git_lacks(self) -> None:
        for setting in (
            "core.repositoryFormatVersion 1",
            "extensions.partialClone origin",
            "remote.origin.url ssh://host/x",
            "remote.origin.promisor true",
        ):
            self.git("config", *setting.split())
        self.git("config", "core.sshCommand", f"touch '{self.at('ran')}'; false")
        tree = self.look()
        path = tree.objects[self.at("a.txt")]
        os.remove(self.at(f".git/objects/{path[:2]}/{path[2:]}"))
        self.write("a.txt", b"1\n", THEN + 9)
        # As with a git that does not know the variable.
        quiet = {name: git_files.QUIET[name] for name in git_files.QUIET if "LAZY" not in name}
        with mock.patch.object(git_files, "QUIET", quiet):
            self.assertEqual(self.texts(tree), {})
        self.assertFalse(os.path.exists(self.at("ran")))

    @unittest.skipIf(os.name == "nt", "links need rights there")
    def test_an_index_that_leads_out_of_the_work_tree_tells_of_no_file_there(self) -> None:
        self.folder = self.at("work")
        os.mkdir(self.folder)
        self.git("init", "-q")
        # Names of the length of those that take their place; the times are those of the others.
        for name in ("xx/d.txt", "yy/d.txt", "zz/d.txt"):
            self.write(name, b"four\n")
        self.commit()
        outside = os.path.dirname(self.folder)
        with open(os.path.join(outside, "d.txt"), "wb") as file:
            file.write(b"four\n")
        os.utime(os.path.join(outside, "d.txt"), (THEN, THEN))
        shutil.rmtree(self.at("zz"))
        os.symlink(outside, self.at("zz"))
        with open(self.at(".git/index"), "rb") as file:
            index = file.read()[:-20]
        index = index.replace(b"xx/d.txt", b"../d.txt").replace(b"yy/d.txt", b"//tmp/d1")
        with open(self.at(".git/index"), "wb") as file:
            file.write(index + hashlib.sha1(index).digest())
        tree = self.look()
        self.assertEqual((dict(tree.objects), dict(tree.stamps)), ({}, {}))

    def test_what_only_the_disk_knows_is_to_be_read_before(self) -> None:
        self.write("a.txt", b"mine\n", THEN + 1)
        self.write("other.txt", b"mine\n")
        tree = self.look()
        self.assertEqual(git_files.dirty_files(tree), [self.at("a.txt"), self.at("other.txt")])
        self.write("a.txt", b"theirs\n", THEN + 9)
        self.write("other.txt", b"theirs\n", THEN + 9)
        self.assertEqual(self.texts(tree), {})

    def test_what_git_ignores_or_has_in_another_form_is_left_out(self) -> None:
        self.write(".gitattributes", b"*.crlf eol=crlf\n")
        self.write(".gitignore", b"*.log\n")
        self.write("d.crlf", b"one\r\n")
        os.symlink("a.txt", self.at("link"))
        self.commit()
        tree = self.look()
        self.write("d.crlf", b"two\r\n", THEN + 9)
        self.write("e.log", b"log\n")
        os.remove(self.at("link"))
        os.symlink("c.txt", self.at("link"))
        self.assertEqual(self.texts(tree), {})

    def test_no_program_that_the_work_tree_names_is_run(self) -> None:
        marker = self.at("ran")
        for name in ("filter.x.clean", "filter.x.smudge", "core.fsmonitor"):
            self.git("config", name, f"touch '{marker}'; cat")
        with open(self.at(".git/info/attributes"), "w") as file:
            file.write("* filter=x\n")
        tree = self.look()
        self.write("a.txt", b"1\n", THEN + 9)
        self.assertEqual(self.texts(tree), {"a.txt": "one\n"})
        self.assertFalse(os.path.exists(marker))

    def test_another_work_tree_of_the_repository_is_one_too(self) -> None:
        self.git("worktree", "add", "-q", "tree")
        self.write("tree/a.txt", b"one\n", THEN + 5)
        self.git("-C", "tree", "update-index", "--refresh")
        tree = self.look(self.at("tree"))
        self.assertEqual(tree.root, self.at("tree"))
        self.assertIn(self.at("tree/a.txt"), tree.objects)

    def test_there_is_none_without_git_or_in_a_very_large_one(self) -> None:
        self.assertIsNone(git_files.work_tree_of(os.path.dirname(self.folder)))
        with mock.patch.dict(os.environ, PATH=""):
            self.assertIsNone(git_files.work_tree_of(self.folder))
        with mock.patch.object(git_files, "MAX_FILES", 2):
            self.assertIsNone(git_files.work_tree_of(self.folder))

    def test_git_that_fails_later_makes_no_file_a_new_one(self) -> None:
        self.write("other.txt", b"mine\n")
        tree = self.look()
        with mock.patch.dict(os.environ, PATH=""):
            self.assertEqual(self.texts(tree), {})
