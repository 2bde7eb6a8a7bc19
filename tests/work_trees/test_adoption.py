"""Work trees whose records are gone."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace

from GeminiCompanion.companion.work_trees.adoption import adopt_trees
from GeminiCompanion.companion.work_trees.tree_making import WantedTree, make_tree
from GeminiCompanion.companion.work_trees.tree_places import folder_for_trees
from GeminiCompanion.companion.work_trees.work_tree import WorkTree

from .recorded_trees import WithStore
from .repositories import NEEDS_GIT


@NEEDS_GIT
class Adoptions(WithStore):
    def made(self) -> WorkTree:
        """One that was made an hour ago."""
        wanted = WantedTree(self.inspect(), self.folder, self.place(self.folder), "gemini")
        tree = make_tree(self.store, wanted, lambda *progress: None)
        mark = os.path.join(tree.admin_folder, "gemini-companion")
        os.utime(mark, (tree.created - 3600, tree.created - 3600))
        return tree

    def place(self, root: str) -> str:
        return folder_for_trees(root, "")

    def adopt(self, *folders: str) -> list[str]:
        return adopt_trees(self.store, folders or (self.folder,), self.place)

    def test_what_is_recorded_is_not_spoken_of(self) -> None:
        tree = self.made()
        self.assertEqual(self.adopt(), [])
        self.assertEqual(self.store.list_trees(), (tree,))

    def test_after_the_cache_was_emptied_it_is_in_the_list_again(self) -> None:
        tree = self.made()
        shutil.rmtree(self.store.folder)
        sentences = self.adopt(self.at("sub"), self.temp, self.folder)
        self.assertEqual(len(sentences), 1)
        self.assertIn("gemini-1", sentences[0])
        (found,) = self.store.list_trees()
        self.assertEqual(found, replace(tree, created=found.created))
        self.assertAlmostEqual(found.created, tree.created - 3600)
        self.assertEqual(self.adopt(), [])

    def rename_project(self) -> str:
        """The user gives the folder of the project another name."""
        renamed = os.path.join(self.temp, "renamed")
        os.rename(self.folder, renamed)
        return renamed

    def test_after_the_project_was_renamed_and_git_told_it_is_in_the_list_again(self) -> None:
        tree = self.made()
        tree = replace(tree, folder=self.at("sub"), carried=(".env",), is_free=True)
        self.store.keep_tree(tree)
        renamed = self.rename_project()
        self.assertEqual(self.adopt(renamed), [])
        self.git("worktree", "repair", tree.path, folder=renamed)
        (sentence,) = self.adopt(renamed)
        self.assertIn("gemini-1", sentence)
        folder, git_folder = (os.path.join(renamed, name) for name in ("sub", ".git"))
        wanted = replace(tree, root=renamed, folder=folder, git_folder=git_folder)
        self.assertEqual(self.store.list_trees(), (wanted,))
        self.assertTrue(self.store.list_trees()[0].is_free)
        self.assertEqual(self.adopt(renamed), [])

    def test_trees_that_were_renamed_with_the_project_are_in_the_list_again(self) -> None:
        tree = self.made()
        renamed = self.rename_project()
        path = os.path.join(self.place(renamed), os.path.basename(tree.path))
        os.rename(os.path.dirname(tree.path), os.path.dirname(path))
        self.git("worktree", "repair", path, folder=renamed)
        self.assertEqual(len(self.adopt(renamed)), 1)
        (found,) = self.store.list_trees()
        self.assertEqual((found.path, found.root), (path, renamed))

    def test_a_copy_of_the_project_does_not_take_its_trees(self) -> None:
        tree = self.made()
        copy = os.path.join(self.temp, "copy")
        shutil.copytree(self.folder, copy)
        path = os.path.join(self.place(copy), os.path.basename(tree.path))
        shutil.copytree(tree.path, path)
        # git would lead the tree itself to the copy, too.
        admin = os.path.join(copy, ".git", "worktrees", tree.admin)
        for place, text in (
            (os.path.join(admin, "gitdir"), os.path.join(path, ".git")),
            (os.path.join(path, ".git"), f"gitdir: {admin}"),
        ):
            with open(place, "w", encoding="utf-8") as file:
                file.write(f"{text}\n")
        self.assertEqual(self.adopt(copy), [])
        away = self.rename_project()
        self.assertEqual(self.adopt(copy), [])
        os.rename(away, self.folder)
        self.assertEqual(self.store.list_trees(), (tree,))

    def test_from_another_work_tree_of_the_user_as_well(self) -> None:
        self.made()
        shutil.rmtree(self.store.folder)
        mine = os.path.join(self.temp, "mine")
        self.git("worktree", "add", "-q", mine)
        self.assertEqual(self.adopt(mine), [])
        self.assertEqual(
            len(adopt_trees(self.store, [mine], lambda root: self.place(self.folder))), 1
        )

    def test_what_another_editor_may_be_making_is_left_to_it(self) -> None:
        wanted = WantedTree(self.inspect(), self.folder, self.place(self.folder), "gemini")
        make_tree(self.store, wanted, lambda *progress: None)
        shutil.rmtree(self.store.folder)
        self.assertEqual(self.adopt(), [])

    def test_a_tree_of_the_users_becomes_none_by_a_mark(self) -> None:
        tree = self.made()
        mine = os.path.join(self.temp, "mine")
        self.git("worktree", "add", "-q", mine)
        shutil.copy2(
            os.path.join(tree.admin_folder, "gemini-companion"), self.at(".git/worktrees/mine")
        )
        shutil.rmtree(tree.path)
        shutil.rmtree(self.store.folder)
        self.assertEqual(self.adopt(), [])

    def test_without_a_beginning_there_is_nothing_to_compare_with(self) -> None:
        tree = self.made()
        shutil.rmtree(self.store.folder)
        self.git("update-ref", "-d", f"refs/gemini-companion/{tree.id}")
        self.assertEqual(self.adopt(), [])

    def test_folders_without_a_repository_have_none(self) -> None:
        self.assertEqual(self.adopt(self.temp, os.path.join(self.temp, "nowhere"), "/"), [])
