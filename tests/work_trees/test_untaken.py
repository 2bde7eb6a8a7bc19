"""What of a work tree the user has not taken over, and would be lost with it."""

from __future__ import annotations

import os
from unittest import mock

from GeminiCompanion.companion.work_trees import tree_changes
from GeminiCompanion.companion.work_trees.taken import TreeDecision, save_taken, store_text
from GeminiCompanion.companion.work_trees.untaken import Untaken, find_untaken

from .in_tree import InTree
from .repositories import NEEDS_GIT

OLD, NEW, PART = b"1\n2\n3\n", b"one\n2\nthree\n", b"one\n2\n3\n"


@NEEDS_GIT
class Untakens(InTree):
    def setUp(self) -> None:
        super().setUp()
        self.begin_tree({"c.txt": OLD})
        self.write_there("c.txt", NEW)

    def decide(self, data: bytes | None, is_whole: bool, path: str = "c.txt") -> None:
        """The user has decided on the tree's file, which has these bytes."""
        mode, digest = ("", "") if data is None else ("100644", store_text(self.data, data))
        made = TreeDecision(path, mode, digest, is_whole=is_whole)
        self.taken = self.taken.with_decisions([made])
        save_taken(self.taken)

    def untaken(self) -> Untaken:
        return find_untaken(self.tree, self.data)

    def test_what_nobody_has_decided_on_waits(self) -> None:
        self.assertEqual(self.untaken(), Untaken(("c.txt",)))

    def test_all_that_waits_would_be_lost_also_if_the_list_is_bounded(self) -> None:
        self.write_there("d.txt", NEW)
        with mock.patch.object(tree_changes, "MOST", 1):
            self.assertEqual(self.untaken(), Untaken(("c.txt", "d.txt")))

    def test_what_was_taken_over_is_not_lost_whatever_the_user_makes_of_it(self) -> None:
        self.decide(NEW, is_whole=True)
        self.write("c.txt", b"mine\n")
        self.assertEqual(self.untaken(), Untaken())

    def test_what_was_rejected_is_left(self) -> None:
        self.decide(NEW, is_whole=False)
        self.assertEqual(self.untaken(), Untaken((), ("c.txt",)))

    def test_what_was_dropped_is_left_also_when_more_was_taken_over_later(self) -> None:
        self.decide(NEW, is_whole=False)
        self.write("c.txt", PART)
        self.assertEqual(self.untaken(), Untaken((), ("c.txt",)))
        self.write_there("c.txt", NEW + b"4\n")
        self.assertEqual(self.untaken(), Untaken(("c.txt",)))
        self.decide(NEW + b"4\n", is_whole=True)
        self.write("c.txt", PART + b"4\n")
        self.assertEqual(self.untaken(), Untaken((), ("c.txt",)))

    def test_what_the_user_has_by_now_is_not_lost(self) -> None:
        self.decide(NEW, is_whole=False)
        self.write("c.txt", NEW)
        self.assertEqual(self.untaken(), Untaken())

    def test_of_a_file_that_is_gone_in_the_tree_nothing_is_left(self) -> None:
        os.remove(self.in_tree("c.txt"))
        self.decide(None, is_whole=False)
        self.assertEqual(self.untaken(), Untaken())

    def test_a_new_file_and_a_link_that_were_rejected_are_left(self) -> None:
        self.decide(NEW, is_whole=True)
        self.write_there("n.txt", b"new\n")
        self.decide(b"new\n", is_whole=False, path="n.txt")
        os.symlink("n.txt", self.in_tree("link"))
        digest = store_text(self.data, b"n.txt")
        made = TreeDecision("link", "120000", digest, is_whole=False)
        save_taken(self.taken.with_decisions([made]))
        self.assertEqual(self.untaken(), Untaken((), ("link", "n.txt")))
