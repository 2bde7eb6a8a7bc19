"""Where a work tree is taken to be, whatever others have done with it."""

from __future__ import annotations

import os
import shutil
import sys
import unittest
from dataclasses import replace

from GeminiCompanion.companion.work_trees.whereabouts import Place, Whereabouts, find_place
from GeminiCompanion.companion.work_trees.work_tree import WorkTree

from .recorded_trees import WithStore
from .repositories import NEEDS_GIT


@NEEDS_GIT
class Places(WithStore):
    def assert_kind(self, tree: WorkTree, kind: Whereabouts, path: str = "") -> None:
        self.assertEqual(find_place(tree), Place(kind, path or tree.path))

    def point(self, tree: WorkTree, path: str) -> None:
        """Let git take the folder for the tree's."""
        with open(os.path.join(tree.admin_folder, "gitdir"), "w", encoding="utf-8") as file:
            file.write(os.path.join(path, ".git") + "\n")

    def test_a_tree_is_where_it_was_made(self) -> None:
        self.assert_kind(self.tree(), Whereabouts.HERE)

    def test_a_lock_has_a_reason(self) -> None:
        tree = self.tree()
        self.git("worktree", "lock", "--reason", "on a stick", tree.path)
        self.assertEqual(find_place(tree), Place(Whereabouts.HERE, tree.path, "on a stick"))

    def test_a_tree_that_was_moved(self) -> None:
        tree, new = self.tree(), os.path.join(self.temp, "new")
        self.git("worktree", "move", tree.path, new)
        self.assert_kind(tree, Whereabouts.MOVED, new)

    def test_a_tree_that_was_moved_and_repaired(self) -> None:
        tree, new = self.tree(), os.path.join(self.temp, "new")
        os.rename(tree.path, new)
        self.assert_kind(tree, Whereabouts.MISSING)
        self.git("worktree", "repair", new)
        self.assert_kind(tree, Whereabouts.MOVED, new)

    def test_a_repository_that_was_moved(self) -> None:
        tree = self.tree()
        os.rename(self.folder, self.folder + " 2")
        self.assert_kind(tree, Whereabouts.STRANDED)

    def test_a_tree_that_was_removed(self) -> None:
        tree = self.tree()
        self.git("worktree", "remove", tree.path)
        self.assert_kind(tree, Whereabouts.REMOVED)
        self.git("worktree", "add", "-q", "--detach", tree.path)
        self.assert_kind(tree, Whereabouts.REMOVED)

    def test_a_folder_that_was_deleted(self) -> None:
        tree = self.tree()
        shutil.rmtree(tree.path)
        self.assert_kind(tree, Whereabouts.MISSING)
        self.git("worktree", "prune")
        self.assert_kind(tree, Whereabouts.REMOVED)

    def test_a_tree_that_git_has_forgotten(self) -> None:
        tree = self.tree()
        shutil.rmtree(tree.admin_folder)
        self.assert_kind(tree, Whereabouts.CUT_OFF)

    def test_a_tree_whose_link_to_git_is_broken(self) -> None:
        tree = self.tree()
        for text in (b"", b"gitdir: /nowhere\n", b"\0", b"gitdir: \0"):
            self.write_in(tree, ".git", text)
            self.assert_kind(tree, Whereabouts.CUT_OFF)

    def test_another_repository_in_its_place(self) -> None:
        tree, other = self.tree(), self.tree("bbbbbb")
        shutil.copy2(os.path.join(other.path, ".git"), os.path.join(tree.path, ".git"))
        self.assert_kind(tree, Whereabouts.REPLACED)
        os.remove(os.path.join(tree.path, ".git"))
        self.git("init", "-q", folder=tree.path)
        self.assert_kind(tree, Whereabouts.REPLACED)

    @unittest.skipIf(sys.platform == "win32", "links need a privilege")
    def test_a_link_is_no_tree(self) -> None:
        tree, kept = self.tree(), os.path.join(self.temp, "kept")
        os.rename(tree.path, kept)
        os.symlink(kept, tree.path)
        self.assert_kind(tree, Whereabouts.CUT_OFF)

    def test_git_is_not_believed_that_a_tree_is_in_a_folder_with_more(self) -> None:
        tree = self.tree()
        above = os.path.dirname(self.folder)
        shutil.move(os.path.join(tree.path, ".git"), above)
        self.point(tree, above)
        self.assert_kind(tree, Whereabouts.CUT_OFF)

    def test_git_is_not_believed_that_a_tree_is_where_nothing_leads_back(self) -> None:
        tree = self.tree()
        os.rename(tree.path, tree.path + " 2")
        for path in (self.folder, self.temp, os.path.join(self.temp, "nowhere")):
            self.point(tree, path)
            self.assert_kind(tree, Whereabouts.MISSING)

    def test_what_is_no_file_is_not_read(self) -> None:
        tree = self.tree()
        for name in ("gitdir", "gemini-companion"):
            os.remove(os.path.join(tree.admin_folder, name))
            os.mkdir(os.path.join(tree.admin_folder, name))
        self.assert_kind(tree, Whereabouts.REMOVED)

    def test_a_damaged_record(self) -> None:
        tree = self.tree()
        self.assertEqual(find_place(replace(tree, path="")).path, tree.path)
        self.assert_kind(replace(tree, git_folder="", path=""), Whereabouts.STRANDED)
