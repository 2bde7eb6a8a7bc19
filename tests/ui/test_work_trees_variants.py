"""What several agents have changed in their work trees, in one sheet."""

from __future__ import annotations

import shutil
import threading
from typing import Any

from GeminiCompanion.companion.ui.work_trees import tree_owner

from ..waiting import PATIENCE
from .adapter import text_of
from .in_work_trees import OWN, VariantCase, with_line
from .reviewing import Steps


class Variants(VariantCase):
    def test_a_file_stands_once_with_its_variants_below_each_other(self) -> Steps:
        one, two = yield from self.grow(2)
        for tree, line in ((one, "one"), (two, "two")):
            for name in ("b.txt", "a.txt"):
                self.put(name, with_line(OWN, 3, line), tree)
        view = yield from self.shown(one, two)
        told = [(row.split("  ")[0], row.rpartition(" ")[2]) for row in self.headings(view)]
        expected = [(name, tree.name) for name in ("a.txt", "b.txt") for tree in (one, two)]
        self.assertEqual(told, expected)

    def test_who_made_a_variant_is_told_with_its_cost(self) -> Steps:
        one, _two = yield from self.grow(2)
        self.put("a.txt", with_line(OWN, 3, "one"), one)
        self.trees.note_agent(one.id, "c", "Gemini CLI, 0.12 USD")
        view = yield from self.shown(one)
        [heading] = self.headings(view)
        self.assertIn(f"changed in work tree {one.name} (Gemini CLI, 0.12 USD)", heading)

    def test_what_was_changed_in_one_is_shown_with_the_caret_there(self) -> Steps:
        one, two, three = yield from self.grow(3)
        self.put("a.txt", with_line(OWN, 3, "one"), one)
        for tree in (one, two):
            self.put("b.txt", with_line(OWN, 3, "same"), tree)
        view = yield from self.shown(one, two, three)
        show = self.running().work_trees.show_changes
        for tree, name in ((two, "b.txt"), (one, "a.txt")):
            other = self.window.new_file()
            self.running().stories.begin(show(self.window, tree))
            yield from self.until_in(f"## {name}  ", lambda: self.row_at_caret(view))
            self.assertEqual(self.window.active_view(), view)
            other.close()
        before = self.row_at_caret(view)
        self.running().stories.begin(show(self.window, three))
        yield from self.until_told(f"Nothing waits for you in the work tree {three.name}.")
        self.assertEqual(self.row_at_caret(view), before)

    def test_one_that_was_removed_by_hand_leads_to_why_it_cannot_be_shown(self) -> Steps:
        one, two = yield from self.grow(2)
        self.put("a.txt", with_line(OWN, 3, "one"), one)
        shutil.rmtree(two.path)
        view = yield from self.shown(one, two)
        self.running().stories.begin(self.running().work_trees.show_changes(self.window, two))
        yield from self.until_in(f"## {two.name}  ", lambda: self.row_at_caret(view))
        self.assertIn("is not there any more", text_of(view))

    def test_equal_variants_are_shown_once_and_decided_once(self) -> Steps:
        one, two, three = yield from self.grow(3)
        for tree in (one, three):
            self.put("a.txt", with_line(OWN, 3, "same"), tree)
        self.put("a.txt", with_line(OWN, 18, "else"), two)
        view = yield from self.shown(one, two, three)
        first, second = self.headings(view)
        self.assertIn(f"work tree {one.name} and in work tree {three.name}", first)
        self.assertIn(two.name, second)
        self.decide(view, "accept_file", self.id_of(one, "a.txt"))
        yield from self.until_file("a.txt", with_line(OWN, 3, "same"))
        yield lambda: len(self.headings(view)) == 1
        for tree in (one, three):
            self.assertEqual((yield from self.until_listed(tree)).changes, ())
        self.assertEqual(len(self.headings(view)), 1)

    def test_changes_of_any_variant_come_into_the_users_file(self) -> Steps:
        one, two = yield from self.grow(2)
        self.put("a.txt", with_line(OWN, 3, "one"), one)
        self.put("a.txt", with_line(OWN, 18, "two"), two)
        view = yield from self.shown(one, two)
        for number, tree in enumerate((one, two)):
            yield lambda left=2 - number: len(self.headings(view)) == left
            self.decide(view, "accept_file", self.id_of(tree, "a.txt"))
        yield from self.until_file("a.txt", with_line(with_line(OWN, 3, "one"), 18, "two"))
        self.run_command("undo_last_accepted")
        yield from self.until_file("a.txt", with_line(OWN, 3, "one"))

    def test_what_is_undone_waits_in_each_tree_again(self) -> Steps:
        one, two = yield from self.grow(2)
        for tree in (one, two):
            self.put("a.txt", with_line(OWN, 3, "same"), tree)
        view = yield from self.shown(one, two)
        self.decide(view, "accept_file", self.id_of(one, "a.txt"))
        yield from self.until_file("a.txt", with_line(OWN, 3, "same"))
        self.run_command("undo_last_accepted")
        yield from self.until_file("a.txt", OWN)
        for tree in (one, two):
            yield lambda tree=tree: bool(self.lists.with_id(tree.id).changes)

    def test_what_is_undone_before_it_is_noted_waits_in_each_tree_again(self) -> Steps:
        one, two = yield from self.grow(2)
        for tree in (one, two):
            self.put("a.txt", with_line(OWN, 3, "same"), tree)
        may_note, decide_on = threading.Event(), tree_owner.decide_on
        self.addCleanup(may_note.set)

        def decide_late(*arguments: Any, **more: Any) -> Any:
            may_note.wait(PATIENCE)
            return decide_on(*arguments, **more)

        self.replace(tree_owner, "decide_on", decide_late)
        view = yield from self.shown(one, two)
        self.decide(view, "accept_file", self.id_of(one, "a.txt"))
        yield from self.until_file("a.txt", with_line(OWN, 3, "same"))
        self.run_command("undo_last_accepted")
        yield from self.until_told("a.txt is as it was before the edit.")
        yield from self.until_turn()
        may_note.set()
        for tree in (one, two):
            yield lambda tree=tree: bool(self.lists.with_id(tree.id).changes)
        yield from self.until_equal(lambda: len(self.headings(view)), 1)

    def test_one_that_is_refused_stays_in_both_trees_until_that_is_undone(self) -> Steps:
        one, two = yield from self.grow(2)
        for tree in (one, two):
            self.put("a.txt", with_line(OWN, 3, "same"), tree)
        view = yield from self.shown(one, two)
        self.decide(view, "reject_file", self.id_of(one, "a.txt"))
        yield lambda: not self.headings(view)
        yield from self.until_equal(lambda: self.sheet(view).marking.undoable, "Undo 1 rejected")
        self.decide(view, "undo_last")
        yield from self.answer_first()
        yield lambda: len(self.headings(view)) == 1
        for tree in (one, two):
            self.assertEqual(len((yield from self.until_listed(tree)).changes), 1)
