"""Changes that several agents have made alike."""

from __future__ import annotations

import os
from unittest import mock

from GeminiCompanion.companion.work_trees import variants
from GeminiCompanion.companion.work_trees.taken import Taken
from GeminiCompanion.companion.work_trees.tree_making import WantedTree, make_tree
from GeminiCompanion.companion.work_trees.tree_store import TreeStore
from GeminiCompanion.companion.work_trees.variants import Variants
from GeminiCompanion.companion.work_trees.work_tree import WorkTree

from .in_tree import list_changes
from .repositories import NEEDS_GIT, InRepository


@NEEDS_GIT
class Alike(InRepository):
    def setUp(self) -> None:
        super().setUp()
        self.store = TreeStore(os.path.join(self.temp, "kept"))
        wanted = WantedTree(self.inspect(), self.folder, os.path.join(self.temp, "trees"), "a")
        self.trees = [make_tree(self.store, wanted, lambda *progress: None) for _ in range(3)]
        self.variants = Variants()

    def change(self, tree: WorkTree, name: str, text: bytes) -> None:
        with open(os.path.join(tree.path, name), "wb") as file:
            file.write(text)

    def equal(self) -> dict[tuple[int, str], int]:
        """By the number of a tree and a path, the number of the first tree with the same."""
        lists = []
        for tree in self.trees:
            folder = self.store.make_data_folder(tree.id)
            lists.append((tree, list_changes(tree, folder, Taken(folder))))
        numbers = {tree.id: number for number, tree in enumerate(self.trees)}
        found = self.variants.find_equal(lists)
        return {(numbers[id], path): numbers[first] for (id, path), (first, _) in found.items()}

    def test_equal_changes_of_later_trees_lead_to_that_of_the_first(self) -> None:
        for tree, text in zip(self.trees, (b"same\n", b"else\n", b"same\n")):
            self.change(tree, "a.txt", text)
            self.change(tree, "new.txt", b"new\n")
        self.assertEqual(self.equal(), {(2, "a.txt"): 0, (1, "new.txt"): 0, (2, "new.txt"): 0})

    def test_files_that_are_gone_are_alike(self) -> None:
        for tree in self.trees[1:]:
            os.remove(os.path.join(tree.path, "a.txt"))
        self.assertEqual(self.equal(), {(2, "a.txt"): 1})

    def test_what_changes_later_is_compared_again_and_nothing_else(self) -> None:
        for tree in self.trees[:2]:
            self.change(tree, "a.txt", b"same\n")
            self.change(tree, "new.txt", b"same\n")
        self.assertEqual(self.equal(), {(1, "a.txt"): 0, (1, "new.txt"): 0})
        self.change(self.trees[1], "a.txt", b"more\n")
        read = mock.Mock(side_effect=variants.read_side)
        with mock.patch.object(variants, "read_side", read):
            self.assertEqual(self.equal(), {(1, "new.txt"): 0})
        self.assertEqual([call.args[1] for call in read.call_args_list], ["a.txt"])
