"""How a work tree is made and recorded."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from dataclasses import replace
from typing import Any
from unittest import mock

from GeminiCompanion.companion.work_trees.git import GitFailure
from GeminiCompanion.companion.work_trees.loss import what_would_be_lost
from GeminiCompanion.companion.work_trees.mending import mend_trees
from GeminiCompanion.companion.work_trees.named import Named
from GeminiCompanion.companion.work_trees.shared_watch import SharedWatch
from GeminiCompanion.companion.work_trees.tree_making import (
    COPYING,
    WantedTree,
    make_scratch,
    make_tree,
)
from GeminiCompanion.companion.work_trees.tree_store import TreeStore
from GeminiCompanion.companion.work_trees.untaken import Untaken
from GeminiCompanion.companion.work_trees.work_tree import TreeState, WorkTree

from .repositories import NEEDS_GIT, InRepository


class Unwanted(Exception):
    """The user has stopped it."""


@NEEDS_GIT
class Making(InRepository):
    def setUp(self) -> None:
        super().setUp()
        self.store = TreeStore(os.path.join(self.temp, "kept"))
        self.place = os.path.join(self.temp, "project.trees")

    def wanted(self, **more: Any) -> WantedTree:
        values: dict[str, Any] = {"folder": self.folder, "place": self.place, "agent": "gemini"}
        return WantedTree(self.inspect(), **{**values, **more})

    def test_it_is_recorded_with_all_that_finds_it_again(self) -> None:
        sub = os.path.join(self.folder, "sub")
        tree = make_tree(self.store, self.wanted(folder=sub), lambda *progress: None)
        self.assertEqual(self.store.list_trees(), (tree,))
        self.assertEqual(tree.state, TreeState.READY)
        self.assertEqual((tree.name, tree.path), ("gemini-1", os.path.join(self.place, "gemini-1")))
        self.assertEqual(tree.own_folder, os.path.join(tree.path, "sub"))
        self.assertEqual(tree.beginning, self.git("rev-parse", "HEAD"))
        self.assertTrue(os.path.isfile(os.path.join(tree.admin_folder, "gitdir")))
        self.assertEqual(self.files_in(tree.path), self.files_in(self.folder))

    def test_each_has_a_name_that_nothing_there_has(self) -> None:
        os.makedirs(os.path.join(self.place, "gemini-2"))
        names = [
            make_tree(self.store, self.wanted(), lambda *progress: None).name for _ in range(2)
        ]
        self.assertEqual(names, ["gemini-1", "gemini-3"])

    def test_of_several_at_a_time_each_has_its_own(self) -> None:
        wanted, trees = self.wanted(), []

        def make() -> None:
            trees.append(make_tree(TreeStore(self.store.folder), wanted, lambda *progress: None))

        threads = [threading.Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual({tree.name for tree in trees}, {f"gemini-{n}" for n in range(1, 5)})
        self.assertEqual({*self.store.list_trees()}, {*trees})
        for tree in trees:
            self.assertEqual(self.files_in(tree.path), self.files_in(self.folder))

    def test_a_name_is_not_given_again_while_its_tree_is_recorded(self) -> None:
        tree = make_tree(self.store, self.wanted(), lambda *progress: None)
        shutil.rmtree(tree.path)
        shutil.rmtree(tree.admin_folder)
        other = make_tree(self.store, self.wanted(), lambda *progress: None)
        self.assertEqual(other.name, "gemini-2")

    def test_several_that_begin_with_the_same_have_the_same_files(self) -> None:
        self.write("a.txt", b"not committed\n")
        self.write("new.txt", b"new\n")
        wanted = self.wanted(take_changes=True, take_untracked=True)
        first = make_tree(self.store, wanted, lambda *progress: None)
        self.write("a.txt", b"saved meanwhile\n")
        same = replace(wanted, snapshot=first.beginning)
        other = make_tree(self.store, same, lambda *progress: None)
        self.assertEqual(other.beginning, first.beginning)
        self.assertEqual(self.files_in(other.path), self.files_in(first.path))

    def test_a_copy_that_changed_with_its_time_kept_is_seen_as_a_loss(self) -> None:
        self.write(".gitignore", b".env\nout\n")
        self.write(".env", b"one\n")
        self.write("out/a", b"one\n")
        self.commit()
        wanted = self.wanted(copies=(".env", "out/"))
        tree = make_tree(self.store, wanted, lambda *progress: None)

        def ignored() -> tuple[str, ...]:
            loss = what_would_be_lost(tree, lambda tree: Untaken(), make_scratch(self.store))
            self.assertEqual(loss.changes, Named())
            return loss.ignored.first

        self.assertEqual(ignored(), ())
        self.wait_for_clock(tree.created)
        path = os.path.join(tree.path, ".env")
        status = os.stat(path)
        with open(path, "wb") as file:
            file.write(b"two\n")
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        # As a program that unpacks does.
        new = os.path.join(tree.path, "out", "b")
        with open(new, "wb") as file:
            file.write(b"two\n")
        os.utime(new, (1.0, 1.0))
        self.assertEqual(ignored(), (".env", "out/b"))

    def test_it_is_recorded_before_anything_is_done(self) -> None:
        states: list[TreeState] = []

        def look(*progress: object) -> None:
            states.extend(tree.state for tree in self.store.list_trees())

        make_tree(self.store, self.wanted(), look)
        self.assertEqual(set(states), {TreeState.MAKING})

    def test_one_that_is_stopped_leaves_nothing(self) -> None:
        def stop(*progress: object) -> None:
            raise Unwanted

        with self.assertRaises(Unwanted):
            make_tree(self.store, self.wanted(), stop)
        self.assertEqual(self.store.list_trees(), ())
        self.assertEqual(os.listdir(self.place), [])
        self.assertEqual(self.git("worktree", "list", "--porcelain").count("worktree "), 1)

    def test_one_that_cannot_be_recorded_at_the_end_leaves_nothing(self) -> None:
        keep, full = TreeStore.keep_tree, OSError(errno.ENOSPC, "full")

        def fill_disk(store: TreeStore, tree: WorkTree) -> None:
            if tree.state is TreeState.READY:
                raise full
            keep(store, tree)

        with mock.patch.object(TreeStore, "keep_tree", fill_disk):
            with self.assertRaisesRegex(GitFailure, "full"):
                make_tree(self.store, self.wanted(), lambda *progress: None)
        self.assertEqual((self.store.list_trees(), os.listdir(self.place)), ((), []))
        self.assertEqual(self.git("worktree", "list", "--porcelain").count("worktree "), 1)
        self.assertEqual(self.git("for-each-ref", "refs/gemini-companion"), "")

    def test_what_cannot_be_undone_the_next_start_finds(self) -> None:
        def stop(*progress: object) -> None:
            raise Unwanted

        in_use = OSError(errno.EACCES, "in use", "x")
        rooms = "GeminiCompanion.companion.work_trees"
        with mock.patch(f"{rooms}.creation.remove_remains"):
            with mock.patch(f"{rooms}.removal.delete_folder", side_effect=in_use):
                with self.assertRaises(Unwanted):
                    make_tree(self.store, self.wanted(), stop)
        self.assertEqual([tree.state for tree in self.store.list_trees()], [TreeState.MAKING])
        mend_trees(self.store)
        self.assertEqual((self.store.list_trees(), os.listdir(self.place)), ((), []))

    def test_changes_before_an_agent_had_one_are_not_told(self) -> None:
        self.git("branch", "before")
        tree = make_tree(self.store, self.wanted(), lambda *progress: None)
        watch = SharedWatch(self.store)
        self.assertEqual(watch.tell_changes(tree.git_folder).history, ())
        self.git("branch", "after")
        self.assertEqual(len(watch.tell_changes(tree.git_folder).history), 1)

    def test_ignored_files_are_taken_along_by_choice(self) -> None:
        self.write(".gitignore", b".env\nbuild\nother\n")
        self.commit()
        for name in (".env", "build/a", "build/b", "other"):
            self.write(name, b"x")
        steps: list[object] = []
        wanted = self.wanted(links=(".env",), copies=("build/", "gone"))
        tree = make_tree(self.store, wanted, lambda *progress: steps.append(progress))
        self.assertEqual(tree.carried, (".env", "build"))
        self.assertEqual(self.store.list_trees(), (tree,))
        self.assertEqual(os.readlink(os.path.join(tree.path, ".env")), self.at(".env"))
        self.assertEqual(sorted(os.listdir(os.path.join(tree.path, "build"))), ["a", "b"])
        self.assertFalse(os.path.lexists(os.path.join(tree.path, "other")))
        self.assertIn((COPYING, 2, 0), steps)
        loss = what_would_be_lost(tree, lambda tree: Untaken(), make_scratch(self.store))
        self.assertEqual(loss.sentences, ())

    def test_ignored_files_that_cannot_be_taken_along_end_it(self) -> None:
        self.write(".gitignore", b".env\n")
        self.commit()
        self.write(".env", b"x")
        full = OSError(errno.ENOSPC, "full")
        with mock.patch("shutil.copy2", side_effect=full):
            with self.assertRaisesRegex(GitFailure, r"\.env cannot be taken .*full"):
                make_tree(self.store, self.wanted(copies=(".env",)), lambda *progress: None)
        self.assertEqual((self.store.list_trees(), os.listdir(self.place)), ((), []))

    def test_none_is_made_within_the_project(self) -> None:
        with self.assertRaisesRegex(GitFailure, "worktree_folder"):
            make_tree(
                self.store,
                self.wanted(place=os.path.join(self.folder, "trees")),
                lambda *progress: None,
            )

    def test_none_is_made_in_a_trusted_folder_for_a_project_that_is_not(self) -> None:
        wanted = self.wanted(trusted=(self.place,))
        with self.assertRaisesRegex(GitFailure, "trust"):
            make_tree(self.store, wanted, lambda *progress: None)
        both = replace(wanted, trusted=(self.place, self.folder))
        make_tree(self.store, both, lambda *progress: None)

    def test_a_folder_of_ours_for_files_of_the_moment_is_beside_the_records(self) -> None:
        self.assertEqual(os.path.dirname(make_scratch(self.store)), self.store.folder)
        self.assertEqual(self.store.list_trees(), ())
