from __future__ import annotations

import os
import shutil
import unittest
from unittest import mock

from GeminiCompanion.companion.work_trees.creation import (
    create_work_tree,
    read_beginning,
)
from GeminiCompanion.companion.work_trees.git import GitFailure

from .repositories import NEEDS_GIT, InRepository


@NEEDS_GIT
class Creation(InRepository):
    def change_files(self) -> None:
        """One file is changed, one is gone, one is staged, one is new, one is ignored."""
        self.write("c.txt", b"three\n")
        self.write(".gitignore", b"*.log\n")
        self.commit()
        self.write("a.txt", b"changed\n", 1_700_000_000)
        os.remove(self.at("sub/b.txt"))
        self.write("staged.txt", b"staged\n")
        self.git("add", "staged.txt")
        self.write("new.txt", b"new\n")
        self.write("x.log", b"log\n")

    def test_it_has_the_files_of_the_last_commit(self) -> None:
        self.change_files()
        path = self.make(take_changes=False)
        self.assertEqual(
            self.files_in(path),
            {
                ".gitignore": b"*.log\n",
                "a.txt": b"one\n",
                "c.txt": b"three\n",
                "sub/b.txt": b"two\n",
            },
        )
        self.assertEqual(self.git("status", "--porcelain", folder=path), "")
        self.assertEqual(self.git("rev-parse", "HEAD", folder=path), self.git("rev-parse", "HEAD"))
        self.assertEqual(self.git("branch", "--show-current", folder=path), "")

    def test_with_what_is_not_committed_it_has_the_files_as_they_are(self) -> None:
        self.change_files()
        expected = {
            ".gitignore": b"*.log\n",
            "a.txt": b"changed\n",
            "c.txt": b"three\n",
            "staged.txt": b"staged\n",
        }
        self.assertEqual(self.files_in(self.make("aaaaa1", take_untracked=False)), expected)
        self.assertEqual(self.files_in(self.make("aaaaa2")), {**expected, "new.txt": b"new\n"})

    def test_the_users_own_index_branches_stash_and_files_are_untouched(self) -> None:
        self.change_files()
        with open(self.at(".git/index"), "rb") as file:
            index = file.read()
        files = self.files_in(self.folder)
        refs, status = self.git("for-each-ref"), self.git("status", "--porcelain")
        self.make()
        with open(self.at(".git/index"), "rb") as file:
            self.assertEqual(file.read(), index)
        self.assertEqual(self.files_in(self.folder), files)
        self.assertEqual(self.git("status", "--porcelain"), status)
        self.assertEqual(self.git("for-each-ref", "refs/heads", "refs/stash"), refs)

    def test_its_beginning_outlasts_a_thorough_gc(self) -> None:
        self.change_files()
        path = self.make()
        beginning = read_beginning(self.folder, "aaaaa1")
        self.git("reset", "-q", "--hard", "HEAD~2", folder=path)
        self.git("reflog", "expire", "--expire=now", "--all")
        for folder in (self.folder, path):
            self.git("gc", "-q", "--prune=now", folder=folder)
        self.assertEqual(self.git("show", f"{beginning}:new.txt"), "new")

    def test_its_progress_is_told_and_ends_with_all_files(self) -> None:
        self.change_files()
        told: list[tuple[str, int, int]] = []
        path = os.path.join(self.temp, "tree")
        create_work_tree(self.inspect(), path, "aaaaa1", True, True, lambda *row: told.append(row))
        self.assertEqual(told[-1], ("Writing the files", 5, 5))

    def test_nothing_is_left_of_one_that_was_ended(self) -> None:
        class Ended(Exception):
            pass

        def end(*progress: object) -> None:
            raise Ended

        path = os.path.join(self.temp, "tree")
        with self.assertRaises(Ended):
            create_work_tree(self.inspect(), path, "aaaaa1", True, True, end)
        self.assertFalse(os.path.exists(path))
        self.assertEqual(self.git("worktree", "list").count("\n"), 0)
        self.assertEqual(read_beginning(self.folder, "aaaaa1"), "")
        self.assertEqual(os.listdir(self.scratch), [])

    def test_none_takes_the_place_of_what_stands_there(self) -> None:
        with self.assertRaisesRegex(GitFailure, "exists already"):
            self.make()
            self.make()

    def test_a_disk_without_room_is_told_before_anything_is_made(self) -> None:
        self.patch_free(1000)
        with self.assertRaisesRegex(GitFailure, "needs 0 MiB, and the disk of .* has 0 MiB left"):
            self.make()
        self.assertEqual(read_beginning(self.folder, "aaaaa1"), "")

    @unittest.skipIf(os.name == "nt", "the filter is for another shell")
    def test_a_disk_that_is_full_meanwhile_is_told_and_nothing_is_left(self) -> None:
        # As git fails on a full disk: it does not say why.
        self.git("config", "--global", "filter.f.smudge", "false")
        self.git("config", "--global", "filter.f.required", "true")
        self.write(".gitattributes", b"*.txt filter=f\n")
        self.commit()
        for free, words in ((1000, "The disk of .* is full"), (1 << 40, "smudge filter f failed")):
            self.patch_free(1 << 40, free)
            with self.assertRaisesRegex(GitFailure, words):
                self.make()
        self.assertEqual(os.listdir(os.path.join(self.temp, "trees")), [])

    def patch_free(self, *sizes: int) -> None:
        """The bytes that are free on the disk at each look."""
        looks = [mock.Mock(free=size) for size in sizes]
        patch = mock.patch.object(shutil, "disk_usage", side_effect=looks)
        patch.start()
        self.addCleanup(patch.stop)
