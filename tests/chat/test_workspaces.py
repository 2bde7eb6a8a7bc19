"""Which conversations belong to the folders of a window."""

from __future__ import annotations

import unittest

from GeminiCompanion.companion.chat.workspaces import Workspaces

PLACES = Workspaces(("/code/a", "/code/b"), ("/code/a.trees",))


class Belonging(unittest.TestCase):
    def test_its_own_folders_and_all_in_those_of_its_work_trees_belong_to_it(self) -> None:
        for workspace in ("/code/a", "/code/b", "/code/a.trees/x", "/code/a.trees/x/inner"):
            with self.subTest(workspace):
                self.assertTrue(PLACES.has(workspace))

    def test_folders_beside_or_below_its_own_and_the_folder_of_trees_itself_do_not(self) -> None:
        for workspace in ("/code", "/code/a/inner", "/code/a.trees", "/code/a.trees2/x", "", "a"):
            with self.subTest(workspace):
                self.assertFalse(PLACES.has(workspace))

    def test_a_work_tree_has_the_name_of_its_folder(self) -> None:
        self.assertEqual(PLACES.tree_name("/code/a.trees/x/inner"), "x")
        self.assertEqual(PLACES.tree_name("/code/a"), "")
