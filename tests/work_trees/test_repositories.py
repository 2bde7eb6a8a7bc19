"""Repositories of all kinds that users have."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import unittest
from unittest import mock

from GeminiCompanion.companion.work_trees.creation import read_beginning
from GeminiCompanion.companion.work_trees.git import GitFailure

from .repositories import NEEDS_GIT, THEN, InRepository

LATER = THEN + 1000
POSIX = unittest.skipIf(os.name == "nt", "other file names and modes there")


@NEEDS_GIT
class Inspection(InRepository):
    def test_it_tells_size_and_what_is_not_committed(self) -> None:
        self.write(".gitignore", b"*.log\n.env\nnode_modules/\n")
        self.commit()
        self.write("a.txt", b"changed\n", LATER)
        self.write("new.txt", b"new\n")
        self.write("deep/er/x.log", b"log\n")
        self.write(".env", b"KEY=1\n")
        self.write("node_modules/p/index.js", b"1\n")
        self.git("rm", "-q", "--cached", "sub/b.txt")
        found = self.inspect(self.at("sub"))
        self.assertEqual(found.root, self.folder)
        self.assertEqual((found.files.count, found.files.size), (2, 8 + 25))
        self.assertEqual((found.changed.count, found.changed.names), (2, ("a.txt", "sub/b.txt")))
        self.assertEqual(found.untracked.names, ("new.txt", "sub/b.txt"))
        self.assertEqual(found.untracked.size, 8)
        self.assertEqual(found.ignored, (".env", "node_modules/", "deep/er/x.log"))
        self.assertEqual(found.head, self.git("rev-parse", "HEAD"))
        self.assertFalse(found.is_shallow or found.is_work_tree or found.is_sparse)

    def test_a_folder_without_a_repository_is_refused(self) -> None:
        with self.assertRaisesRegex(GitFailure, "is in no repository of git, and"):
            self.inspect(self.temp)

    def test_a_bare_repository_is_refused(self) -> None:
        self.git("clone", "-q", "--bare", ".", os.path.join(self.temp, "bare"))
        with self.assertRaisesRegex(GitFailure, "bare repository"):
            self.inspect(os.path.join(self.temp, "bare"))

    def test_the_folder_of_git_itself_is_refused(self) -> None:
        with self.assertRaisesRegex(GitFailure, "git's own folder"):
            self.inspect(self.at(".git"))

    def test_without_git_it_says_so(self) -> None:
        with mock.patch.dict(os.environ, PATH=self.temp):
            with self.assertRaisesRegex(GitFailure, "git is not installed"):
                self.inspect()

    def test_what_the_user_is_in_the_middle_of_is_told(self) -> None:
        self.git("checkout", "-qb", "other")
        self.write("a.txt", b"theirs\n")
        self.commit()
        self.git("checkout", "-q", "main")
        self.write("a.txt", b"mine\n", LATER)
        self.commit()
        with self.assertRaises(subprocess.CalledProcessError):
            self.git("merge", "other")
        found = self.inspect()
        self.assertEqual((found.in_progress, found.unmerged.names), ("a merge", ("a.txt",)))
        with self.assertRaisesRegex(GitFailure, "conflicts"):
            self.make()
        self.assertEqual(self.files_in(self.make(take_changes=False))["a.txt"], b"mine\n")

    def test_a_repository_in_the_folder_is_told_and_not_taken(self) -> None:
        self.write("inner/x.txt", b"x\n")
        self.git("init", "-q", folder=self.at("inner"))
        self.commit(self.at("inner"))
        self.assertEqual(self.inspect().nested.names, ("inner/",))
        path = self.make()
        names = self.git("ls-tree", "-r", "--name-only", "HEAD", folder=path)
        self.assertEqual(names.split(), ["a.txt", "sub/b.txt"])


@NEEDS_GIT
class KindsOfRepositories(InRepository):
    def assert_same_files(self, path: str) -> None:
        self.assertEqual(self.files_in(path), self.files_in(self.folder))
        self.assertEqual(self.git("status", "--porcelain", folder=path), "")

    def test_one_without_a_commit(self) -> None:
        shutil.rmtree(self.at(".git"))
        self.git("init", "-q")
        self.git("add", "a.txt")
        with self.assertRaisesRegex(GitFailure, "no commit yet"):
            self.make(take_changes=False)
        self.assertEqual(self.inspect().changed.names, ("a.txt",))
        self.assert_same_files(self.make())

    def test_a_shallow_one(self) -> None:
        self.commit()
        other = os.path.join(self.temp, "shallow")
        self.git("clone", "-q", "--depth=1", "file://" + self.folder, other)
        self.folder = other
        self.write("a.txt", b"changed\n", LATER)
        self.assertTrue(self.inspect().is_shallow)
        self.assert_same_files(self.make())

    def test_one_in_a_work_tree_already(self) -> None:
        other = os.path.join(self.temp, "second")
        self.git("worktree", "add", "-q", "-b", "second", other)
        self.write("a.txt", b"of the first\n", LATER)
        self.folder = other
        self.write("a.txt", b"of the second\n", LATER)
        self.assertTrue(self.inspect().is_work_tree)
        self.assert_same_files(self.make())

    def test_one_whose_first_repository_is_bare(self) -> None:
        bare = os.path.join(self.temp, "bare")
        self.git("clone", "-q", "--bare", ".", bare)
        self.folder = os.path.join(self.temp, "second")
        self.git("worktree", "add", "-q", self.folder, folder=bare)
        self.write("a.txt", b"changed\n", LATER)
        self.assert_same_files(self.make())

    def test_one_with_submodules_has_empty_folders_for_them(self) -> None:
        other = os.path.join(self.temp, "other")
        self.git("clone", "-q", self.folder, other)
        self.git("submodule", "--quiet", "add", other, "inner")
        self.commit()
        self.assertEqual(self.inspect().submodules.names, ("inner",))
        path = self.make()
        self.assertEqual(os.listdir(os.path.join(path, "inner")), [])
        self.assertEqual(self.git("status", "--porcelain", folder=path), "")

    def test_a_submodule(self) -> None:
        other = os.path.join(self.temp, "other")
        self.git("clone", "-q", self.folder, other)
        self.git("submodule", "--quiet", "add", other, "inner")
        self.folder = self.at("inner")
        self.write("a.txt", b"changed\n", LATER)
        self.assert_same_files(self.make())

    def test_a_sparse_one_stays_sparse(self) -> None:
        self.git("sparse-checkout", "set", "--cone", "elsewhere")
        self.write("a.txt", b"changed\n", LATER)
        found = self.inspect()
        self.assertTrue(found.is_sparse)
        self.assertEqual(found.files.count, 1)
        path = self.make()
        self.assert_same_files(path)
        self.assertEqual(
            self.git("ls-tree", "-r", "--name-only", "HEAD", folder=path).split(),
            ["a.txt", "sub/b.txt"],
        )

    def test_one_with_a_split_index(self) -> None:
        self.git("update-index", "--split-index")
        self.write("c.txt", b"three\n")
        self.git("add", "c.txt")
        self.assert_same_files(self.make())

    def test_one_whose_index_is_locked(self) -> None:
        self.write(".git/index.lock", b"")
        self.write("a.txt", b"changed\n", LATER)
        self.assert_same_files(self.make())

    def test_one_with_objects_named_by_sha256(self) -> None:
        shutil.rmtree(self.at(".git"))
        self.git("init", "-q", "--object-format=sha256")
        self.assertEqual(len(self.commit()), 64)
        self.write("a.txt", b"changed\n", LATER)
        self.assert_same_files(self.make())

    def test_one_that_borrows_its_objects(self) -> None:
        other = os.path.join(self.temp, "other")
        self.git("clone", "-q", "--shared", self.folder, other)
        self.folder = other
        self.write("a.txt", b"changed\n", LATER)
        self.assert_same_files(self.make())

    def test_a_partial_one_that_lacks_objects(self) -> None:
        self.git("config", "uploadpack.allowFilter", "true")
        self.write("gone.txt", b"gone\n")
        self.commit()
        os.remove(self.at("gone.txt"))
        self.commit()
        other = os.path.join(self.temp, "other")
        self.git("clone", "-q", "--filter=blob:none", "file://" + self.folder, other)
        self.folder = other
        self.write("a.txt", b"changed\n", LATER)
        self.assert_same_files(self.make())


@NEEDS_GIT
class KindsOfFiles(InRepository):
    def taken(self) -> None:
        """A work tree has the same files."""
        path = self.make()
        self.assertEqual(self.files_in(path), self.files_in(self.folder))
        self.assertEqual(self.git("status", "--porcelain", folder=path), "")

    @POSIX
    def test_modes_and_links(self) -> None:
        os.chmod(self.at("a.txt"), 0o755)
        os.remove(self.at("sub/b.txt"))
        os.symlink("../a.txt", self.at("sub/b.txt"))
        os.symlink("/nowhere", self.at("link"))
        path = self.make()
        self.assertEqual(self.files_in(path), self.files_in(self.folder))
        self.assertTrue(os.stat(os.path.join(path, "a.txt")).st_mode & stat.S_IXUSR)

    @POSIX
    def test_names_of_any_form(self) -> None:
        for name in (
            b"-x",
            b"--stdin",
            b'a"b',
            b"a\nb",
            b"a\\b",
            b"\xe9\xff",
            b" ",
            b":(top)x",
            b"#",
        ):
            with open(os.path.join(os.fsencode(self.folder), name), "wb") as file:
                file.write(name)
        self.taken()

    def test_a_file_in_the_place_of_a_folder_and_the_other_way_round(self) -> None:
        os.remove(self.at("a.txt"))
        self.write("a.txt/x.txt", b"x\n")
        shutil.rmtree(self.at("sub"))
        self.write("sub", b"file\n")
        self.taken()

    def test_line_ends_as_the_repository_has_them(self) -> None:
        self.write(".gitattributes", b"*.crlf text eol=crlf\r\n")
        self.git("config", "core.autocrlf", "true")
        self.write("d.crlf", b"one\r\ntwo\r\n")
        self.write("e.txt", b"one\r\n")
        self.write("a.txt", b"one\r\n")
        self.write("sub/b.txt", b"two\r\n")
        self.taken()

    def test_an_encoding_that_the_attributes_name(self) -> None:
        self.write(".gitattributes", b"*.u text working-tree-encoding=UTF-16LE\n")
        self.write("d.u", "é\n".encode("utf-16-le"))
        self.taken()

    def test_a_file_of_which_git_knows_only_that_it_will_be_there(self) -> None:
        self.write("new.txt", b"new\n")
        self.git("add", "--intent-to-add", "new.txt")
        self.taken()

    def test_a_file_written_in_the_moment_when_git_looked(self) -> None:
        for _ in range(5):
            self.write("a.txt", b"aaaa\n", LATER)
            self.git("add", "a.txt")
            os.utime(self.at(".git/index"), (LATER, LATER))
            self.write("a.txt", b"bbbb\n", LATER)
            path = self.make()
            with open(os.path.join(path, "a.txt"), "rb") as file:
                self.assertEqual(file.read(), b"bbbb\n")
            self.git("worktree", "remove", "--force", path)

    def test_empty_folders_and_no_files_at_all(self) -> None:
        self.git("rm", "-rq", ".")
        os.mkdir(self.at("empty"))
        self.taken()

    @POSIX
    def test_pipes_and_sockets_are_passed_over(self) -> None:
        os.mkfifo(self.at("pipe"))
        self.assertEqual(set(self.files_in(self.make())), {"a.txt", "sub/b.txt"})

    @POSIX
    @unittest.skipUnless(hasattr(os, "getuid") and os.getuid(), "root reads all")
    def test_one_that_cannot_be_read_is_named(self) -> None:
        self.write("secret", b"x")
        os.chmod(self.at("secret"), 0)
        with self.assertRaisesRegex(GitFailure, "secret"):
            self.make()

    def test_what_is_as_in_the_last_commit_makes_no_new_one(self) -> None:
        self.make()
        self.assertEqual(read_beginning(self.folder, "aaaaa1"), self.git("rev-parse", "HEAD"))
