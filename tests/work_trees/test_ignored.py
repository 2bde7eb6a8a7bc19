from __future__ import annotations

import os
import shutil
import unittest

from GeminiCompanion.companion.work_trees.ignored import (
    copy_ignored,
    link_ignored,
    measure_ignored,
)
from GeminiCompanion.companion.work_trees.taken import Taken
from GeminiCompanion.companion.work_trees.tree_making import WantedTree, make_tree
from GeminiCompanion.companion.work_trees.tree_store import TreeStore
from GeminiCompanion.companion.work_trees.work_tree import TreeFailure

from .in_tree import list_changes
from .repositories import NEEDS_GIT, InRepository

NAMES = (".env", "node_modules/", "sub/x.log")


@NEEDS_GIT
@unittest.skipIf(os.name == "nt", "links need rights there")
class Ignored(InRepository):
    def setUp(self) -> None:
        super().setUp()
        self.write(".gitignore", b"*.log\n.env\nnode_modules/\n")
        self.commit()
        self.write(".env", b"KEY=1\n")
        self.write("node_modules/p/index.js", b"1\n")
        os.chmod(self.at("node_modules/p/index.js"), 0o755)
        os.symlink("p/index.js", self.at("node_modules/bin"))
        os.mkfifo(self.at("node_modules/pipe"))
        self.write("sub/x.log", b"log\n")
        self.assertEqual(self.inspect().ignored, NAMES)
        self.tree = self.make()

    def test_copies_are_the_trees_own(self) -> None:
        counts: list[int] = []
        done = copy_ignored(self.folder, self.tree, NAMES, counts.append)
        self.assertEqual(done, (".env", "node_modules", "sub/x.log"))
        self.assertEqual(counts, [1, 2, 3, 4])
        os.remove(self.at("node_modules/pipe"))
        self.assertEqual(self.files_in(self.tree), self.files_in(self.folder))
        copy = os.path.join(self.tree, "node_modules/p/index.js")
        self.assertTrue(os.access(copy, os.X_OK))
        with open(copy, "w") as file:
            file.write("2\n")
        self.assertEqual(self.files_in(self.folder)["node_modules/p/index.js"], b"1\n")

    def test_links_lead_to_the_users_own(self) -> None:
        done = link_ignored(self.folder, self.tree, ["node_modules/"])
        self.assertEqual(done, ("node_modules",))
        link = os.path.join(self.tree, "node_modules")
        self.assertEqual(os.readlink(link), self.at("node_modules"))

    def test_a_link_is_no_change_though_git_ignores_only_the_folder(self) -> None:
        store = TreeStore(os.path.join(self.temp, "kept"))
        place = os.path.join(self.temp, "made")
        wanted = WantedTree(self.inspect(), self.folder, place, "agent", links=("node_modules/",))
        tree = make_tree(store, wanted, lambda *progress: None)
        self.assertIn("?? node_modules", self.git("status", "--porcelain", folder=tree.path))
        self.assertEqual(list_changes(tree, self.scratch, Taken(self.scratch)), ())

    def test_how_large_copies_would_be_is_known_before(self) -> None:
        found = measure_ignored(self.folder, ["node_modules/"])
        self.assertEqual((found.count, found.size), (2, 2 + len("p/index.js")))

    def test_what_the_tree_has_already_stays(self) -> None:
        self.assertEqual(copy_ignored(self.folder, self.tree, ["a.txt", "gone"], print), ())

    def test_nothing_is_left_of_a_copy_that_was_ended(self) -> None:
        def end(count: int) -> None:
            if count == 2:
                raise InterruptedError

        with self.assertRaises(TreeFailure):
            copy_ignored(self.folder, self.tree, ["node_modules/"], end)
        self.assertFalse(os.path.lexists(os.path.join(self.tree, "node_modules")))

    def test_no_link_on_the_way_leads_them_out_of_the_tree(self) -> None:
        outside = os.path.join(self.temp, "outside")
        os.mkdir(outside)
        shutil.rmtree(os.path.join(self.tree, "sub"))
        os.symlink(outside, os.path.join(self.tree, "sub"))
        for carry in (
            lambda: copy_ignored(self.folder, self.tree, ["sub/x.log"], print),
            lambda: link_ignored(self.folder, self.tree, ["sub/x.log"]),
        ):
            with self.assertRaises(TreeFailure):
                carry()
        self.assertEqual(os.listdir(outside), [])
