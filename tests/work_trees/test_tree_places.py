"""Where work trees are made, and which are trusted."""

from __future__ import annotations

import os
import unittest

from GeminiCompanion.companion.work_trees.tree_places import folder_for_trees, trusted_places
from GeminiCompanion.companion.work_trees.work_tree import WorkTree


def tree(root: str, path: str, below: str = "") -> WorkTree:
    return WorkTree("abcdef", path, root, os.path.join(root, below).rstrip("/"), "n", "a", 1.0, "c")


class Places(unittest.TestCase):
    def test_they_are_beside_the_project_or_in_a_folder_of_it_alone(self) -> None:
        self.assertEqual(folder_for_trees("/a/project", ""), "/a/project.trees")
        mine, other = (folder_for_trees(f"/{name}/project", "/trees") for name in "ab")
        self.assertNotEqual(mine, other)
        for path in (mine, other):
            self.assertEqual(os.path.dirname(path), "/trees")
            self.assertTrue(os.path.basename(path).startswith("project-"))

    def test_those_of_a_trusted_project_are_trusted_before_one_is_made(self) -> None:
        self.assertEqual(trusted_places(["/a"], [], ""), ("/a", "/a.trees"))
        [_, made] = trusted_places(["/a"], [], "/trees")
        self.assertEqual(made, folder_for_trees("/a", "/trees"))

    def test_one_is_trusted_where_the_folder_that_it_stands_for_is(self) -> None:
        found = trusted_places(["/a/sub"], [tree("/a", "/x", "sub"), tree("/b", "/y")], "/trees")
        self.assertIn("/x/sub", found)
        self.assertFalse({"/x", "/y"} & set(found))
