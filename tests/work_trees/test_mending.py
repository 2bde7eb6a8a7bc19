"""What the next start finds of work trees, and what it does about that."""

from __future__ import annotations

import errno
import os
import unittest
from dataclasses import replace
from unittest import mock

from GeminiCompanion.companion.work_trees.mending import mend_trees
from GeminiCompanion.companion.work_trees.removal import doomed_path
from GeminiCompanion.companion.work_trees.work_tree import TreeState, WorkTree

from .recorded_trees import WithStore
from .repositories import NEEDS_GIT


@NEEDS_GIT
class Mends(WithStore):
    def test_trees_that_are_as_they_were_are_not_spoken_of(self) -> None:
        trees = (self.tree(), self.tree("bbbbbb"))
        self.assertEqual(mend_trees(self.store), [])
        self.assertEqual(self.store.list_trees(), trees)

    def test_without_trees_nothing_is_said(self) -> None:
        self.assertEqual(mend_trees(self.store), [])

    def test_a_tree_that_was_moved_is_known_where_it_is(self) -> None:
        tree, new = self.tree(), os.path.join(self.temp, "elsewhere")
        self.git("worktree", "move", tree.path, new)
        (sentence,) = mend_trees(self.store)
        self.assertIn(f"was moved by somebody else, to {new}.", sentence)
        self.assertEqual(self.store.list_trees(), (replace(tree, path=new),))
        self.assertEqual(mend_trees(self.store), [])

    def test_a_tree_that_was_removed_leaves_the_list(self) -> None:
        tree = self.tree()
        self.git("worktree", "remove", tree.path)
        (sentence,) = mend_trees(self.store)
        self.assertIn("was removed by somebody else", sentence)
        self.assertEqual((self.store.list_trees(), self.known_to_git()), ((), [self.folder]))
        self.assertNotIn("gemini-companion", self.refs())

    def test_a_tree_whose_disk_or_repository_is_away_stays_in_the_list(self) -> None:
        tree = self.tree()
        for path in (tree.path, self.folder):
            os.rename(path, path + " 2")
            self.assertEqual(mend_trees(self.store), [])
            self.assertEqual(self.store.list_trees(), (tree,))
            os.rename(path + " 2", path)
        self.assertTrue(self.loss(tree).is_nothing)

    def test_a_removal_that_had_not_begun_is_not_gone_on_with(self) -> None:
        tree = self.tree()
        self.store.keep_tree(replace(tree, state=TreeState.REMOVING))
        (sentence,) = mend_trees(self.store)
        self.assertIn("was not removed", sentence)
        self.assertEqual(self.store.list_trees(), (tree,))

    def test_a_removal_that_could_not_be_recorded_is_gone_on_with(self) -> None:
        tree = self.tree()
        os.rename(tree.path, doomed_path(tree))
        self.assertEqual(mend_trees(self.store), [])
        self.assertEqual((self.store.list_trees(), self.known_to_git()), ((), [self.folder]))
        self.assertEqual(os.listdir(os.path.dirname(tree.path)), [])

    def test_a_folder_of_that_name_beside_a_whole_tree_removes_nothing(self) -> None:
        tree = self.tree()
        os.mkdir(doomed_path(tree))
        self.assertEqual(mend_trees(self.store), [])
        self.assertEqual(self.store.list_trees(), (tree,))

    def test_a_tree_that_another_editor_makes_is_left_to_it(self) -> None:
        making = replace(self.tree(), state=TreeState.MAKING)
        self.store.keep_tree(making)
        with self.store.hold_tree(making.id):
            self.assertEqual(mend_trees(self.store), [])
        self.assertEqual(self.store.list_trees(), (making,))

    def test_one_that_cannot_be_mended_keeps_no_other_from_it(self) -> None:
        broken, tree = self.tree(), self.tree("bbbbbb")
        self.store.keep_tree(replace(broken, created=0.5, state=TreeState.MAKING))
        self.git("worktree", "remove", tree.path)
        with mock.patch(
            "GeminiCompanion.companion.work_trees.removal.delete_folder",
            side_effect=OSError(errno.EIO, "broken", "x"),
        ):
            first, second = mend_trees(self.store)
        self.assertIn("broken", first)
        self.assertTrue(mend_trees(self.store))
        self.assertEqual(self.store.list_trees(), ())

    def making(self) -> WorkTree:
        """A tree that is being made, of which nothing is there."""
        tree = WorkTree(
            "aaaaa1", os.path.join(self.temp, "trees", "aaaaa1"), self.folder, self.folder, "a",
            "claude-code", 1.0, "", self.at(".git"), state=TreeState.MAKING,
        )  # fmt: skip
        self.store.keep_tree(tree)
        return tree

    def assert_undone(self, tree: WorkTree) -> None:
        (sentence,) = mend_trees(self.store)
        self.assertIn("was not finished", sentence)
        self.assertEqual((self.store.list_trees(), self.known_to_git()), ((), [self.folder]))
        self.assertFalse(os.path.exists(tree.path))
        self.assertFalse(os.path.exists(self.at(".git/worktrees")))
        self.assertNotIn("gemini-companion", self.refs())

    def test_of_a_tree_that_was_not_begun_only_the_record_is_there(self) -> None:
        self.assert_undone(self.making())

    def test_a_tree_that_git_had_only_begun_is_removed(self) -> None:
        """As a git leaves it that is killed after one file more."""
        whole = self.making()
        admin = self.at(".git/worktrees/aaaaa1")
        files = {
            os.path.join(admin, "locked"): "initializing",
            whole.path: "",
            os.path.join(admin, "gitdir"): os.path.join(whole.path, ".git") + "\n",
            os.path.join(whole.path, ".git"): f"gitdir: {admin}\n",
            os.path.join(admin, "HEAD"): "0" * 40 + "\n",
            os.path.join(admin, "commondir"): "../..\n",
        }
        for count in range(len(files) + 1):
            with self.subTest(count):
                tree = self.making()
                self.git("update-ref", "refs/gemini-companion/aaaaa1", "HEAD")
                for path, text in list(files.items())[:count]:
                    if not text:
                        os.makedirs(path)
                        continue
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    with open(path, "w") as file:
                        file.write(text)
                self.assert_undone(tree)

    def test_a_tree_that_was_finished_and_in_which_nobody_was_is_removed(self) -> None:
        path = self.make("aaaaa1")
        tree = self.making()
        self.assertTrue(os.path.exists(os.path.join(path, "a.txt")))
        self.assert_undone(tree)

    def test_what_else_stands_there_stays(self) -> None:
        tree = self.making()
        self.write_in(tree, "mine")
        (sentence,) = mend_trees(self.store)
        self.assertIn("has something else in it, which stays", sentence)
        self.assertEqual(os.listdir(tree.path), ["mine"])
        self.assertEqual(self.store.list_trees(), ())


if __name__ == "__main__":
    unittest.main()
