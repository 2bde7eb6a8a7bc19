"""What is found after an editor was killed while it made, removed or mended a work tree."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unittest
from typing import Iterator

from GeminiCompanion.companion.work_trees.loss import what_would_be_lost
from GeminiCompanion.companion.work_trees.mending import mend_trees
from GeminiCompanion.companion.work_trees.tree_making import WantedTree, make_tree
from GeminiCompanion.companion.work_trees.tree_store import TreeStore
from GeminiCompanion.companion.work_trees.untaken import Untaken
from GeminiCompanion.companion.work_trees.work_tree import TreeState, WorkTree

from ..waiting import wait_for
from .repositories import NEEDS_GIT, InRepository

# Each third change is enough as long as nothing here is changed; `make fuzz` takes all.
STEP = 1 if "FUZZ" in os.environ else 3
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@NEEDS_GIT
@unittest.skipUnless(hasattr(os, "fork"), "this system has no fork")
class Kills(InRepository):
    def setUp(self) -> None:
        super().setUp()
        self.write("changed.txt", b"new\n")
        self.store = TreeStore(os.path.join(self.temp, "cache", "work_trees"))
        self.place = os.path.join(self.temp, "project.trees")
        os.mkdir(self.place)
        os.makedirs(self.store.folder)
        self.before = self.users()
        self.program = subprocess.Popen(
            [sys.executable, "-m", "tests.work_trees.killed"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            universal_newlines=True,
        )
        self.addCleanup(self.program.communicate)

    def users(self) -> object:
        """All that is the user's own."""
        told = [
            self.git(*words)
            for words in (("for-each-ref",), ("status", "--porcelain"), ("stash", "list"))
        ]
        return told, self.files_in(self.folder), os.listdir(self.at(".git"))

    def attempt(self, work: str, number: int) -> str:
        told = {
            "work": work, "number": number, "root": self.folder, "store": self.store.folder,
            "scratch": self.scratch, "place": self.place,
        }  # fmt: skip
        self.program.stdin.write(json.dumps(told) + "\n")
        self.program.stdin.flush()
        return self.program.stdout.readline().strip()

    def attempts(self, work: str) -> Iterator[int]:
        """The number of each attempt after which the editor was killed; at last it is not."""
        number = 1
        while self.attempt(work, number) == "killed":
            yield number
            number += STEP
        self.assertGreater(number, 5)

    def make(self) -> WorkTree:  # type: ignore[override]
        wanted = WantedTree(self.inspect(), self.folder, self.place, "agent", True, True)
        tree = make_tree(self.store, wanted, lambda *progress: None)
        with open(os.path.join(tree.path, "work"), "wb"):
            pass
        return tree

    def loss_of(self, tree: WorkTree) -> tuple[str, ...]:
        lost = Untaken(("work",) * os.path.exists(os.path.join(tree.path, "work")))
        return what_would_be_lost(tree, lambda tree: lost, self.scratch).sentences

    def mend(self) -> None:
        """As the next starts do. A git may have outlived the editor for a moment."""
        wait_for(lambda: mend_trees(self.store) == [] or not self.store.list_trees())

    def assert_nothing_left(self) -> None:
        self.assertEqual(self.store.list_trees(), ())
        mend_trees(self.store)
        kept = os.listdir(self.store.folder)
        self.assertEqual([name for name in kept if not name.startswith(("shared-", "names"))], [])
        self.assertEqual(os.listdir(self.place), [])
        self.assertEqual(self.git("worktree", "list", "--porcelain").count("worktree "), 1)
        self.assertEqual(self.users(), self.before)

    def test_of_a_tree_that_was_being_made_nothing_is_left(self) -> None:
        for _number in self.attempts("make"):
            self.mend()
            self.assert_nothing_left()
        (tree,) = self.store.list_trees()
        self.assertEqual(tree.state, TreeState.READY)
        self.assertEqual(self.loss_of(tree), ())

    def test_a_tree_that_was_being_removed_is_whole_or_gone(self) -> None:
        tree = self.make()
        whole = 0
        for _number in self.attempts("remove"):
            found = self.store.list_trees()
            if os.path.exists(tree.path):
                whole += 1
                self.mend()
                self.assertEqual(self.store.list_trees(), (tree,))
                self.assertIn("work", self.loss_of(tree)[0])
                continue
            # At last even the record is gone.
            self.assertTrue(all(left.state is TreeState.REMOVING for left in found))
            self.mend()
            self.assert_nothing_left()
            tree = self.make()
        self.assertGreater(whole, 0)
        self.assert_nothing_left()

    def test_mending_can_be_killed_as_well(self) -> None:
        self.make()
        self.attempt("remove", 12)
        self.assertTrue(self.store.list_trees())
        for _number in self.attempts("mend"):
            pass
        self.mend()
        self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main()
