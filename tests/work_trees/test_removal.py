"""What goes with a work tree that is removed, what stays, and what is left if that fails."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import unittest
from contextlib import suppress
from dataclasses import replace
from typing import Any
from unittest import mock

from GeminiCompanion.companion.base import private_files
from GeminiCompanion.companion.work_trees.loss import Loss
from GeminiCompanion.companion.work_trees.mending import mend_trees
from GeminiCompanion.companion.work_trees.removal import remove_agreed_tree, remove_work_tree
from GeminiCompanion.companion.work_trees.tree_store import TreeInUse
from GeminiCompanion.companion.work_trees.untaken import Untaken, find_untaken
from GeminiCompanion.companion.work_trees.whereabouts import mark_tree
from GeminiCompanion.companion.work_trees.work_tree import TreeFailure, TreeState, WorkTree

from .recorded_trees import Untakes, WithStore
from .repositories import NEEDS_GIT

NOTHING = Loss()


@NEEDS_GIT
class Removals(WithStore):
    def setUp(self) -> None:
        super().setUp()
        self.trees = os.path.join(self.temp, "trees")
        self.before = (self.refs(), self.files_in(self.folder), os.listdir(self.at(".git")))

    def remove(self, tree: WorkTree) -> None:
        with self.store.hold_tree(tree.id):
            remove_work_tree(self.store, tree)

    def remove_agreed(
        self, tree: WorkTree, agreed: Loss = NOTHING, untaken: Untakes = lambda tree: Untaken()
    ) -> Loss:
        return remove_agreed_tree(self.store, tree.id, agreed, untaken, self.scratch)

    def assert_removed(self) -> None:
        """Nothing is left of any work tree, and all of the user's is as before."""
        self.assertEqual(self.store.list_trees(), ())
        self.assertEqual(os.listdir(self.trees), [])
        self.assertEqual(self.known_to_git(), [self.folder])
        now = (self.refs(), self.files_in(self.folder), os.listdir(self.at(".git")))
        self.assertEqual(now, self.before)
        self.git("fsck", "--no-dangling")

    def test_nothing_is_left_of_it(self) -> None:
        tree = self.tree()
        self.write_in(tree, "new/file")
        self.commit(tree.path)
        self.remove(tree)
        self.assert_removed()

    def test_other_trees_stay(self) -> None:
        tree, other = self.tree(), self.tree("bbbbbb")
        self.remove(tree)
        self.assertEqual(self.store.list_trees(), (other,))
        self.assertEqual(self.known_to_git(), [self.folder, other.path])
        self.assertEqual(os.listdir(self.trees), ["bbbbbb"])
        self.remove(other)
        self.assert_removed()

    def test_what_links_lead_to_stays(self) -> None:
        if sys.platform == "win32":
            self.skipTest("links need a privilege")
        tree = self.tree()
        os.symlink(self.folder, os.path.join(tree.path, "link"))
        self.remove(tree)
        self.assert_removed()

    def test_of_a_link_in_its_place_the_link_goes(self) -> None:
        if sys.platform == "win32":
            self.skipTest("links need a privilege")
        tree, kept = self.tree(), os.path.join(self.temp, "kept")
        os.rename(tree.path, kept)
        os.symlink(kept, tree.path)
        self.assertFalse(self.loss(tree).is_nothing)
        self.remove(tree)
        self.assertIn("a.txt", os.listdir(kept))
        self.assert_removed()

    def test_a_tree_that_was_moved_is_removed_where_it_is(self) -> None:
        tree, new = self.tree(), os.path.join(self.temp, "elsewhere")
        self.git("worktree", "move", tree.path, new)
        self.remove(tree)
        self.assertFalse(os.path.exists(new))
        self.assert_removed()

    def test_a_tree_that_was_removed_already(self) -> None:
        tree = self.tree()
        self.git("worktree", "remove", tree.path)
        self.remove(tree)
        os.makedirs(self.trees, exist_ok=True)
        self.assert_removed()
        with self.assertRaises(TreeFailure):
            self.remove_agreed(tree)
        self.assertEqual(os.listdir(self.store.folder), [])

    def test_a_tree_whose_folder_is_gone(self) -> None:
        tree = self.tree()
        shutil.rmtree(tree.path)
        self.remove(tree)
        self.assert_removed()

    def test_a_tree_that_is_locked(self) -> None:
        tree = self.tree()
        self.git("worktree", "lock", tree.path)
        self.remove(tree)
        self.assert_removed()

    def test_a_tree_that_git_does_not_know_any_more(self) -> None:
        tree = self.tree()
        shutil.rmtree(tree.admin_folder)
        self.remove(tree)
        self.assert_removed()

    def test_a_tree_without_its_repository(self) -> None:
        tree = self.tree()
        shutil.rmtree(self.folder)
        self.remove(tree)
        self.assertEqual((self.store.list_trees(), os.listdir(self.trees)), ((), []))

    def test_another_tree_in_its_place_stays(self) -> None:
        tree = self.tree()
        self.git("worktree", "remove", tree.path)
        self.git("worktree", "add", "-q", "--detach", tree.path)
        self.assertTrue(self.loss(tree).is_nothing)
        self.remove(tree)
        self.assertEqual(self.store.list_trees(), ())
        self.store.keep_tree(tree)
        (sentence,) = mend_trees(self.store)
        self.assertIn("was removed by somebody else", sentence)
        self.assertEqual(self.store.list_trees(), ())
        self.assertEqual(self.known_to_git(), [self.folder, tree.path])
        self.assertIn("a.txt", os.listdir(tree.path))
        self.git("status", folder=tree.path)

    def test_another_repository_in_its_place_stays(self) -> None:
        tree = self.tree()
        os.remove(os.path.join(tree.path, ".git"))
        self.git("init", "-q", folder=tree.path)
        self.remove(tree)
        self.assertEqual(self.store.list_trees(), ())
        self.assertIn("a.txt", os.listdir(tree.path))
        shutil.rmtree(tree.path)
        self.assert_removed()

    def test_a_folder_with_something_of_the_users_is_never_removed(self) -> None:
        tree = self.tree()
        for path in (self.folder, self.temp, self.at(".git"), os.path.expanduser("~"), "/"):
            with self.subTest(path):
                wrong = replace(tree, path=path)
                self.store.keep_tree(wrong)
                with mock.patch.object(os, "rename") as rename, suppress(TreeFailure):
                    self.remove(replace(wrong, admin=""))
                rename.assert_not_called()
        self.assertIn("a.txt", os.listdir(self.folder))

    def test_what_git_keeps_leads_to_no_folder_of_the_users(self) -> None:
        tree = self.tree()
        with open(os.path.join(tree.admin_folder, "gitdir"), "w") as file:
            file.write(self.at(".git") + "\n")
        self.remove(tree)
        self.assertIn("a.txt", os.listdir(self.folder))
        self.assertEqual(self.git("rev-parse", "--show-toplevel"), self.folder)

    def test_what_git_keeps_is_removed_nowhere_else(self) -> None:
        if sys.platform == "win32":
            self.skipTest("links need a privilege")
        tree = self.tree()
        mine = os.path.join(self.temp, "mine")
        os.makedirs(os.path.join(mine, tree.admin, "deep"))
        mark_tree(os.path.join(mine, tree.admin), tree.id)
        shutil.rmtree(self.at(".git/worktrees"))
        os.symlink(mine, self.at(".git/worktrees"))
        with self.assertRaises(TreeFailure):
            self.remove(tree)
        self.assertIn("deep", os.listdir(os.path.join(mine, tree.admin)))

    def test_a_tree_that_was_made_of_it_becomes_one_of_its_project(self) -> None:
        tree = self.tree()
        inner = replace(self.tree("bbbbbb"), root=tree.path, folder=os.path.join(tree.path, "sub"))
        self.store.keep_tree(inner)
        self.remove(tree)
        (found,) = self.store.list_trees()
        self.assertEqual(found, replace(inner, root=self.folder, folder=self.at("sub")))
        self.write_in(inner, "new.txt")
        data = self.store.make_data_folder(inner.id)
        self.assertEqual(find_untaken(found, data), Untaken(("new.txt",)))
        self.remove(found)
        self.assert_removed()

    def test_it_is_removed_when_nothing_is_lost(self) -> None:
        self.assertTrue(self.remove_agreed(self.tree()).is_nothing)
        self.assert_removed()

    def test_it_stays_if_other_files_or_other_texts_would_be_lost_than_was_agreed_to(self) -> None:
        tree = self.tree()
        names = [f"{number:02}.txt" for number in range(12)]
        for name in [*names, "99.txt"]:
            self.write_in(tree, name, b"1\n")
        agreed = self.remove_agreed(tree, untaken=lambda tree: Untaken(tuple(names)))
        others = Untaken((*names[:-1], "99.txt"))
        second = self.remove_agreed(tree, agreed, lambda tree: others)
        self.assertEqual(second.sentences, agreed.sentences)
        self.write_in(tree, "03.txt", b"2\n")
        third = self.remove_agreed(tree, second, lambda tree: others)
        self.assertEqual(third.sentences, agreed.sentences)
        self.assertEqual(self.store.list_trees(), (tree,))
        self.assertTrue(self.remove_agreed(tree, third, lambda tree: others).is_nothing)
        self.assert_removed()

    def test_it_stays_if_more_would_be_lost_than_was_agreed_to(self) -> None:
        tree = self.tree()
        first = self.remove_agreed(tree, untaken=lambda tree: Untaken(("a.txt",)))
        self.assertIn("a.txt", first.sentences[0])
        self.write_in(tree, "b.txt")
        self.commit(tree.path)
        second = self.remove_agreed(tree, first, lambda tree: Untaken(("a.txt",)))
        self.assertEqual(len(second.sentences), 2)
        self.assertEqual(self.store.list_trees(), (tree,))
        self.assertTrue(
            self.remove_agreed(tree, second, lambda tree: Untaken(("a.txt",))).is_nothing
        )
        self.assert_removed()

    def test_while_another_editor_is_at_work_on_it_it_stays(self) -> None:
        tree = self.tree()
        with self.store.hold_tree(tree.id), self.assertRaises(TreeInUse):
            self.remove_agreed(tree)
        self.assertEqual(self.store.list_trees(), (tree,))

    def test_a_folder_that_is_in_use_stays_as_it_was(self) -> None:
        tree = self.tree()
        in_use = PermissionError(errno.EACCES, "used by another process")
        with mock.patch.object(os, "rename", side_effect=in_use):
            with self.assertRaises(TreeFailure) as caught:
                self.remove(tree)
        self.assertIn("used by another process", str(caught.exception))
        self.assertEqual(self.store.list_trees(), (tree,))
        self.assertTrue(self.loss(tree).is_nothing)
        self.remove(tree)
        self.assert_removed()

    def test_a_file_that_is_in_use_can_be_removed_later(self) -> None:
        tree = self.tree()
        unlink = os.unlink

        def refuse(path: Any, **named: Any) -> None:
            if os.path.basename(path) == "b.txt":
                raise PermissionError(errno.EACCES, "used by another process", path)
            unlink(path, **named)

        with mock.patch.object(os, "unlink", refuse), self.assertRaises(TreeFailure) as caught:
            self.remove(tree)
        self.assertIn("b.txt (used by another process)", str(caught.exception))
        (left,) = self.store.list_trees()
        self.assertEqual(left.state, TreeState.REMOVING)
        self.remove(left)
        self.assert_removed()

    def test_what_is_left_of_a_removal_goes_at_the_next_start(self) -> None:
        tree = self.tree()
        for step in ("_forget_in_git", "delete_folder"):
            with mock.patch(
                f"GeminiCompanion.companion.work_trees.removal.{step}",
                side_effect=OSError(errno.EIO, "broken", "x"),
            ):
                with self.assertRaises(TreeFailure):
                    self.remove(tree)
        self.assertEqual(mend_trees(self.store), [])
        self.assert_removed()

    def test_on_a_full_disk_it_makes_room(self) -> None:
        full = OSError(errno.ENOSPC, "full")
        for step in ("write_file", "replace_file", "make_parents"):
            tree = self.tree()
            with self.store.hold_tree(tree.id):
                with mock.patch.object(private_files, step, side_effect=full):
                    remove_work_tree(self.store, tree)
            self.assert_removed()

    def test_on_a_full_disk_a_stop_in_between_is_found_all_the_same(self) -> None:
        tree = self.tree()
        full = OSError(errno.ENOSPC, "full")
        broken = OSError(errno.EIO, "broken", "x")
        with self.store.hold_tree(tree.id):
            with mock.patch.object(private_files, "write_file", side_effect=full):
                with mock.patch.object(self.store, "forget_tree", side_effect=broken):
                    with self.assertRaises(TreeFailure):
                        remove_work_tree(self.store, tree)
        self.assertEqual([left.state for left in self.store.list_trees()], [TreeState.READY])
        mend_trees(self.store)
        self.assert_removed()

    def test_without_a_record_nothing_is_removed(self) -> None:
        tree = self.tree()
        refused = OSError(errno.EROFS, "read-only")
        with self.store.hold_tree(tree.id):
            with mock.patch.object(private_files, "write_file", side_effect=refused):
                with self.assertRaises(TreeFailure):
                    remove_work_tree(self.store, tree)
        self.assertEqual(self.store.list_trees(), (tree,))
        self.assertIn("a.txt", os.listdir(tree.path))


if __name__ == "__main__":
    unittest.main()
