"""Pipes in the place of files that git opens: nobody waits for them for good."""

from __future__ import annotations

import os
import sys
import time
import unittest
from contextlib import ExitStack
from functools import partial
from unittest import mock

from GeminiCompanion.companion.work_trees import git, waiting
from GeminiCompanion.companion.work_trees.git import GitStuck, run_git
from GeminiCompanion.companion.work_trees.loss import what_would_be_lost
from GeminiCompanion.companion.work_trees.untaken import Untaken

from ..support import patched
from .in_tree import InTree
from .repositories import NEEDS_GIT


@NEEDS_GIT
@unittest.skipIf(sys.platform == "win32", "needs pipes")
class Waiting(InTree):
    def setUp(self) -> None:
        super().setUp()
        self.begin_tree({"c.txt": b"x\n", "d/e.txt": b"y\n"})
        patched(self, mock.patch.object(waiting, "PATIENCE", 0.5))

    def assert_named(self, name: str) -> None:
        """The list ends with a sentence that names the pipe, and goes on without it."""
        os.mkfifo(self.in_tree(name))
        self.write_there("c.txt", b"changed\n")
        for _ in range(2):
            with self.assertRaisesRegex(GitStuck, f"waits for {name},"):
                self.changes()
        os.remove(self.in_tree(name))
        self.assertEqual(self.kinds(), {"c.txt": "changed"})

    def test_of_a_pipe_for_what_git_ignores_the_list_says_so(self) -> None:
        self.assert_named("d/.gitignore")

    def test_of_a_pipe_for_attributes_the_list_says_so(self) -> None:
        self.assert_named(".gitattributes")

    def test_of_a_pipe_in_a_repository_of_the_agents_the_list_says_so(self) -> None:
        for name in ("objects", "refs"):
            os.makedirs(self.in_tree(f"own/.git/{name}"))
        self.assert_named("own/.git/HEAD")

    def test_of_a_pipe_for_the_agents_index_nothing_is_read(self) -> None:
        index = os.path.join(self.tree.admin_folder, "index")
        os.remove(index)
        os.mkfifo(index)
        self.write_there("c.txt", b"changed\n")
        self.assertEqual(self.kinds(), {"c.txt": "changed"})

    def test_of_a_pipe_for_more_objects_the_list_says_so(self) -> None:
        path = os.path.join(self.tree.git_folder, "objects", "info", "alternates")
        self.assertEqual(self.kinds(), {})
        os.mkfifo(path)
        with self.assertRaisesRegex(GitStuck, "alternates, which is a pipe"):
            self.changes()
        os.remove(path)
        self.assertEqual(self.kinds(), {})

    def test_a_pipe_for_names_of_people_is_not_opened(self) -> None:
        for folder in (self.tree.admin_folder, self.tree.git_folder, self.tree.path):
            os.mkfifo(os.path.join(folder, ".mailmap"))
        for folder in (self.tree.admin_folder, self.tree.git_folder, self.tree.path):
            run_git(folder, "log", "--format=%s", "HEAD", seconds=10.0)

    def test_a_git_that_is_stuck_is_not_one_that_refuses(self) -> None:
        with mock.patch.object(git, "run_git", side_effect=GitStuck("stuck")):
            with self.assertRaises(GitStuck):
                git.git_or_nothing(self.folder, "rev-parse", "HEAD")

    def test_that_it_is_not_known_what_would_be_lost_is_said(self) -> None:
        os.mkfifo(self.in_tree(".gitignore"))

        def look(_tree: object) -> Untaken:
            return Untaken(tuple(self.changes()))

        loss = what_would_be_lost(self.tree, look, self.scratch)
        self.assertIn("git waits for .gitignore", " ".join(loss.sentences))

    def test_other_pipes_keep_nothing_from_it(self) -> None:
        os.mkfifo(self.in_tree("pipe"))
        os.mkfifo(os.path.join(self.folder, ".git", "pipe"))
        with mock.patch.object(waiting, "PATIENCE", 0.0):
            for root in (self.folder, self.tree.path):
                self.assertEqual(self.reason(root), "")
            os.mkfifo(self.in_tree("d/.GitIgnore"))
            self.assertIn("d/.GitIgnore", self.reason(self.tree.path))

    def reason(self, root: str) -> str:
        return waiting.PipeSearch(root, partial(waiting.pipes_of_files, root)).reason()

    def test_of_a_pipe_in_what_git_keeps_of_the_repository_its_name_is_said(self) -> None:
        self.git("config", "extensions.worktreeConfig", "true")
        shared, own = self.tree.git_folder, self.tree.admin_folder
        words = ("config", "--list"), ("update-ref", "refs/heads/new", self.tree.beginning)
        for place, name, command in (
            (shared, "config.worktree", words[0]),
            (own, "config.worktree", words[0]),
            (shared, "config.worktree", words[1]),
            (shared, "objects/info/alternates", words[1]),
            (shared, "packed-refs", ("for-each-ref",)),
            (own, "commondir", words[0]),
        ):
            folder = self.tree.path if place == own else self.folder
            path, began = os.path.join(place, name), time.monotonic()
            aside = path + ".aside"
            with self.subTest(name, command=command), ExitStack() as after:
                if os.path.exists(path):
                    os.rename(path, aside)
                    after.callback(os.rename, aside, path)
                else:
                    after.callback(os.remove, path)
                os.mkfifo(path)
                with self.assertRaisesRegex(GitStuck, f"waits for .*{name}, which is a pipe"):
                    run_git(folder, *command)
                self.assertLess(time.monotonic() - began, git.READING / 2)

    def test_of_a_link_to_a_pipe_its_name_is_said(self) -> None:
        os.mkfifo(os.path.join(self.temp, "pipe"))
        path = os.path.join(self.tree.git_folder, "objects", "info", "alternates")
        os.symlink(os.path.join(self.temp, "pipe"), path)
        with self.assertRaisesRegex(GitStuck, "alternates, which is a pipe"):
            run_git(self.folder, "cat-file", "-t", self.tree.beginning)
