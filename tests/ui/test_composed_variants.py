"""A file that the user composes of what several agents made of it in their work trees."""

from __future__ import annotations

from functools import partial
from typing import Any, Generator

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.ui.changes import deciding, together
from GeminiCompanion.companion.ui.texts import replace_view_text
from GeminiCompanion.companion.work_trees.work_tree import WorkTree

from .adapter import text_of
from .in_work_trees import OWN, VariantCase, with_line
from .reviewing import Steps

ONE = with_line(with_line(OWN, 3, "one"), 8, "of one")
TWO = with_line(with_line(OWN, 14, "two"), 18, "of two")
# What the user takes of both.
SOME_OF_ONE, SOME_OF_TWO = with_line(OWN, 3, "one"), with_line(OWN, 18, "of two")
BOTH = with_line(SOME_OF_ONE, 18, "of two")
# What cannot be merged with ONE.
AGAINST = with_line(with_line(OWN, 3, "against"), 18, "of two")
MARKED = "<<<<<<< proposal\nagainst\n=======\none\n>>>>>>> your changes\n"


class Composing(VariantCase):
    def drop(self, view: sublime.View, tree: WorkTree, line: str, name: str = "a.txt") -> Steps:
        """Drop the change that adds the line."""
        id = self.id_of(tree, name)
        comparison = self.sheet(view).find_section(id).file.comparison
        rows = comparison.new.rows
        number = next(
            at
            for at, change in enumerate(comparison.changes)
            if f"{line}\n" in rows[change.new_start : change.new_end]
        )
        self.decide(view, "drop_change", id, comparison.keys[number])
        yield from self.until_not_shown(view, f"\n{line}\n")
        yield from self.until_drawn(view)

    def drop_all_of(self, view: sublime.View, tree: WorkTree, name: str = "a.txt") -> Steps:
        id = self.id_of(tree, name)
        self.decide(view, "drop_file", id)
        yield lambda: self.sheet(view).find_section(id).file.is_dropped

    def review_of(self, tree: WorkTree, name: str = "a.txt") -> sublime.View | None:
        """The right view of the variant's review; None if it is not open."""
        return self.running().tree_changes.reviews.find_view(tree.id, name)

    def review_text(self, tree: WorkTree, name: str = "a.txt") -> str | None:
        view = self.review_of(tree, name)
        return text_of(view) if view is not None else None

    def variants(self, *texts: str) -> Generator[Any, Any, tuple[sublime.View, list[WorkTree]]]:
        """The sheet with these variants of a.txt."""
        trees = yield from self.grow(len(texts))
        for tree, text in zip(trees, texts):
            self.put("a.txt", text, tree)
        return (yield from self.shown(*trees)), trees

    def composed(self) -> Generator[Any, Any, tuple[sublime.View, WorkTree, WorkTree]]:
        """Some changes of both variants are dropped."""
        view, (one, two) = yield from self.variants(ONE, TWO)
        yield from self.drop(view, one, "of one")
        yield from self.drop(view, two, "two")
        return view, one, two

    def rows(self) -> Generator[Any, Any, list[str]]:
        """The names of what is offered, without what it counts."""
        yield lambda: self.asked
        return [item[0].split(": ")[0] for item in self.asked[0]["items"]]

    def undone(self, view: sublime.View, words: str) -> Steps:
        yield from self.until_equal(lambda: self.sheet(view).marking.undoable, words)
        self.decide(view, "undo_last")
        yield from self.answer_first()

    def assert_waiting(self, view: sublime.View, *trees: WorkTree) -> Steps:
        """All variants are in the sheet."""
        for tree in trees:
            yield from self.until_in(f"work tree {tree.name}", lambda: text_of(view))


class TakenOver(Composing):
    def test_what_is_accepted_of_one_variant_is_in_the_review_of_another(self) -> Steps:
        view, one, two = yield from self.composed()
        self.decide(view, "accept_file", self.id_of(one, "a.txt"))
        yield from self.until_file("a.txt", SOME_OF_ONE)
        yield from self.until_equal(lambda: self.review_text(two), BOTH)
        yield from self.until_drawn(view)
        self.assertNotIn("-one", text_of(view))
        self.assertNotIn("\none\n", text_of(view))
        self.decide(view, "accept_file", self.id_of(two, "a.txt"))
        yield from self.until_file("a.txt", BOTH)
        self.assertEqual(self.asked, [])

    def test_undone_variants_wait_as_they_were(self) -> Steps:
        view, one, two = yield from self.composed()
        for tree in (one, two):
            self.decide(view, "accept_file", self.id_of(tree, "a.txt"))
        yield from self.until_file("a.txt", BOTH)
        for text in (SOME_OF_ONE, OWN):
            yield from self.undone(view, "Undo 1 accepted")
            yield from self.until_file("a.txt", text)
        yield from self.until_equal(lambda: self.review_text(one), SOME_OF_ONE)
        yield from self.until_equal(lambda: self.review_text(two), SOME_OF_TWO)

    def test_a_conflict_is_marked_and_goes_with_an_undo(self) -> Steps:
        view, (one, two) = yield from self.variants(ONE, AGAINST)
        yield from self.drop(view, two, "of two")
        self.decide(view, "accept_file", self.id_of(one, "a.txt"))
        yield from self.until_in(MARKED, lambda: self.review_text(two) or "")
        yield from self.until_shown(view, "1 conflict with your changes is marked")
        yield from self.undone(view, "Undo 1 accepted")
        yield from self.until_equal(lambda: self.review_text(two), with_line(OWN, 3, "against"))
        yield from self.until_not_shown(view, "conflict")
        self.decide(view, "accept_file", self.id_of(two, "a.txt"))
        yield from self.until_file("a.txt", with_line(OWN, 3, "against"))

    def test_a_conflict_with_two_others_is_marked_once(self) -> Steps:
        third = with_line(OWN, 15, "third")
        view, (one, two, three) = yield from self.variants(ONE, AGAINST, third)
        yield from self.drop(view, two, "of two")
        for tree in (one, three):
            self.decide(view, "accept_file", self.id_of(tree, "a.txt"))
        yield from self.until_file("a.txt", with_line(ONE, 15, "third"))
        yield from self.until_in("third\n", lambda: self.review_text(two) or "")
        self.assertEqual(self.review_text(two).count("<<<<<<<"), 1)
        self.assertIn(MARKED, self.review_text(two))

    def test_what_resolves_a_conflict_stays_when_more_is_accepted(self) -> Steps:
        third = with_line(OWN, 15, "third")
        view, (one, two, three) = yield from self.variants(ONE, AGAINST, third)
        yield from self.drop(view, two, "of two")
        self.decide(view, "accept_file", self.id_of(one, "a.txt"))
        yield from self.until_in(MARKED, lambda: self.review_text(two) or "")
        right = self.review_of(two)
        replace_view_text(right, text_of(right).replace(MARKED, "resolved\n"))
        self.decide(view, "accept_file", self.id_of(three, "a.txt"))
        wanted = with_line(with_line(ONE, 3, "resolved"), 15, "third")
        yield from self.until_equal(lambda: self.review_text(two), wanted)
        self.decide(view, "accept_file", self.id_of(two, "a.txt"))
        yield from self.until_file("a.txt", wanted)

    def test_what_the_user_has_written_on_the_disk_is_asked_about(self) -> Steps:
        view, one, two = yield from self.composed()
        self.put("a.txt", with_line(OWN, 11, "mine"))
        # The first one is asked about as well.
        self.decide(view, "accept_file", self.id_of(one, "a.txt"))
        yield lambda: self.asked
        self.assertIn("has changed on disk", self.asked[0]["placeholder"])
        merge = [item[0] for item in self.asked[0]["items"]].index("Merge my changes")
        yield from self.answer_first(merge)
        yield from self.until_in("mine\n", lambda: self.review_text(one) or "")
        yield from self.until_drawn(view)
        self.decide(view, "accept_file", self.id_of(one, "a.txt"))
        yield from self.until_file("a.txt", with_line(SOME_OF_ONE, 11, "mine"))
        self.assertEqual(self.review_text(two), SOME_OF_TWO)
        self.decide(view, "accept_file", self.id_of(two, "a.txt"))
        yield lambda: self.asked
        self.assertIn("has changed on disk", self.asked[0]["placeholder"])
        yield from self.answer_first(-1)

    def test_the_unsaved_text_of_a_tab_is_in_both(self) -> Steps:
        trees = yield from self.grow(2)
        for tree, text in zip(trees, (ONE, TWO)):
            self.put("a.txt", text, tree)
        tab = self.window.open_file(self.at("a.txt"))
        yield lambda: not tab.is_loading()
        tab.run_command("append", {"characters": "unsaved\n"})
        view, (one, two) = (yield from self.shown(*trees)), trees
        yield from self.drop(view, one, "of one")
        yield from self.drop(view, two, "two")
        self.decide(view, "accept_all")
        yield from self.answer_first()
        yield from self.until_file("a.txt", BOTH + "unsaved\n")
        yield from self.until_equal(
            lambda: (text_of(tab), tab.is_dirty()), (BOTH + "unsaved\n", False)
        )
        yield from self.undone(view, "Undo 2 accepted")
        yield from self.until_file("a.txt", OWN)
        yield from self.until_equal(
            lambda: (text_of(tab), tab.is_dirty()), (OWN + "unsaved\n", True)
        )
        yield from self.until_equal(lambda: self.review_text(one), SOME_OF_ONE + "unsaved\n")
        yield from self.until_equal(lambda: self.review_text(two), SOME_OF_TWO + "unsaved\n")
        tab.set_scratch(True)

    def test_undo_in_the_sheet_takes_back_what_was_dropped_and_not_what_was_taken_over(
        self,
    ) -> Steps:
        view, one, two = yield from self.composed()
        self.decide(view, "accept_file", self.id_of(one, "a.txt"))
        yield from self.until_equal(lambda: self.review_text(two), BOTH)
        yield from self.until_drawn(view)
        self.window.focus_view(view)
        view.run_command("undo")
        yield from self.until_equal(lambda: self.review_text(two), with_line(BOTH, 14, "two"))

    def test_a_review_with_tabs_takes_over_too(self) -> Steps:
        view, one, two = yield from self.composed()
        self.window.focus_view(view)
        view.sel().clear()
        view.sel().add(sublime.Region(text_of(view).index("\nof two\n") + 1))
        self.run_command("go_to_change")
        yield lambda: self.review_of(two) in self.window.views()
        self.decide(view, "accept_file", self.id_of(one, "a.txt"))
        yield from self.until_equal(lambda: self.review_text(two), BOTH)


class Kinds(Composing):
    def test_a_new_file_that_two_have_made_differently(self) -> Steps:
        one, two = yield from self.grow(2)
        self.put("new.txt", "one\n", one)
        self.put("new.txt", "two\nmore\n", two)
        view = yield from self.shown(one, two)
        yield from self.rows_of_all(view, "Accept all variants")
        yield from self.until_file("new.txt", "one\n")
        yield from self.until_told(deciding.CONFLICT)
        yield from self.until_shown(view, "two\nmore\n=======\none\n")
        yield from self.undone(view, "Undo 1 accepted")
        yield from self.until_file("new.txt", None)
        yield from self.assert_waiting(view, one, two)
        yield from self.until_not_shown(view, "=======")

    def rows_of_all(self, view: sublime.View, name: str) -> Steps:
        """Choose that way of accepting all."""
        self.decide(view, "accept_all")
        rows = yield from self.rows()
        yield from self.answer_first(rows.index(name))

    def test_one_has_removed_the_file_and_the_next_one_has_changed_it(self) -> Steps:
        yield from self.removed_in(0)

    def test_one_has_changed_the_file_and_the_next_one_has_removed_it(self) -> Steps:
        yield from self.removed_in(1)

    def removed_in(self, number: int) -> Steps:
        trees, texts = (yield from self.grow(2)), [ONE, ONE]
        texts[number : number + 1] = [None]
        for tree, text in zip(trees, texts):
            self.put("a.txt", text, tree)
        view = yield from self.shown(*trees)
        yield from self.rows_of_all(view, "Accept all variants")
        yield from self.until_file("a.txt", texts[0])
        yield from self.until_told(deciding.CONFLICT)
        yield from self.until_shown(view, "=======")
        yield from self.undone(view, "Undo 1 accepted")
        yield from self.until_file("a.txt", OWN)
        yield from self.assert_waiting(view, *trees)
        yield from self.until_not_shown(view, "=======")

    def test_one_has_renamed_the_file_and_one_has_changed_it(self) -> Steps:
        one, two = yield from self.grow(2)
        self.put("a.txt", SOME_OF_ONE, one)
        self.put("a.txt", None, two)
        self.put("c.txt", SOME_OF_TWO, two)
        view = yield from self.shown(one, two)
        yield from self.rows_of_all(view, "Accept all variants")
        yield from self.until_file("c.txt", BOTH)
        yield from self.until_file("a.txt", None)
        yield from self.until_told("2 of 2 accepted.")
        yield from self.undone(view, "Undo 2 accepted")
        yield from self.until_file("a.txt", OWN)
        yield from self.until_file("c.txt", None)
        yield from self.assert_waiting(view, one, two)


class AtOnce(Composing):
    def test_what_is_composed_of_two_is_accepted_in_one_press_and_undone_in_one(self) -> Steps:
        view, one, two = yield from self.composed()
        self.decide(view, "accept_all")
        self.assertEqual((yield from self.rows()), ["Accept all", "Go back"])
        self.assertIn(together.MERGED, self.asked[0]["items"][0][1])
        yield from self.answer_first()
        yield from self.until_file("a.txt", BOTH)
        yield from self.until_told("2 of 2 accepted.")
        self.assertEqual(self.asked, [])
        yield from self.undone(view, "Undo 2 accepted")
        yield from self.until_file("a.txt", OWN)
        yield from self.until_equal(lambda: self.review_text(one), SOME_OF_ONE)
        yield from self.until_equal(lambda: self.review_text(two), SOME_OF_TWO)
        # They are accepted again as they were.
        yield from self.until_drawn(view)
        self.decide(view, "accept_all")
        yield from self.answer_first()
        yield from self.until_file("a.txt", BOTH)

    def test_one_variant_has_no_other_way(self) -> Steps:
        view, _trees = yield from self.variants(ONE)
        self.decide(view, "accept_all")
        self.assertEqual((yield from self.rows()), ["Accept all", "Go back"])
        self.assertNotIn(together.MERGED, self.asked[0]["items"][0][1])
        yield from self.answer_first(-1)

    def test_the_first_of_three_is_taken_or_all(self) -> Steps:
        third = with_line(OWN, 11, "third")
        view, trees = yield from self.variants(ONE, TWO, third)
        self.decide(view, "accept_all")
        rows = yield from self.rows()
        self.assertEqual(rows, [together.FIRST, together.EVERY, "Go back"])
        self.assertIn(together.VARIANTS.format(2), self.asked[0]["items"][0][1])
        self.assertIn("3 files changed in work trees in 1 file", self.asked[0]["items"][1][0])
        yield from self.answer_first(0)
        yield from self.until_file("a.txt", ONE)
        yield from self.until_told("1 of 1 accepted.")
        yield from self.undone(view, "Undo 1 accepted")
        yield from self.until_file("a.txt", OWN)
        yield from self.assert_waiting(view, *trees)
        yield from self.until_drawn(view)
        self.decide(view, "accept_all")
        yield from self.answer_first(1)
        wanted = with_line(with_line(with_line(ONE, 14, "two"), 18, "of two"), 11, "third")
        yield from self.until_file("a.txt", wanted)
        yield from self.undone(view, "Undo 3 accepted")
        yield from self.until_file("a.txt", OWN)

    def chosen(self, view: sublime.View, trees: list[WorkTree], text: str) -> Steps:
        """The second one of three is taken, and not the first."""
        yield from self.until_drawn(view)
        self.decide(view, "accept_all")
        rows = yield from self.rows()
        self.assertEqual(rows, [together.CHOSEN, together.EVERY, "Go back"])
        yield from self.answer_first(0)
        yield from self.until_file("a.txt", text)
        yield from self.until_told("1 of 1 accepted.")
        yield from self.assert_waiting(view, trees[0], trees[2])

    def three(self) -> Generator[Any, Any, tuple[sublime.View, list[WorkTree]]]:
        return (yield from self.variants(ONE, TWO, with_line(OWN, 11, "third")))

    def test_one_in_which_the_user_dropped_something_is_taken_before_the_first(self) -> Steps:
        view, trees = yield from self.three()
        yield from self.drop(view, trees[1], "two")
        yield from self.chosen(view, trees, SOME_OF_TWO)

    def test_one_of_which_the_user_kept_something_is_taken_before_the_first(self) -> Steps:
        view, trees = yield from self.three()
        self.decide(view, "keep_file", self.id_of(trees[1], "a.txt"))
        yield from self.until_shown(view, "changes kept")
        yield from self.chosen(view, trees, TWO)

    def test_one_in_which_the_user_typed_is_taken_before_the_first(self) -> Steps:
        view, trees = yield from self.three()
        self.type(view, "\nof two", " typed")
        yield lambda: self.review_of(trees[1])
        yield from self.chosen(view, trees, TWO.replace("of two", "of two typed"))

    def test_one_of_which_all_is_dropped_is_not_that_of_its_file(self) -> Steps:
        view, (one, two) = yield from self.variants(ONE, TWO)
        yield from self.drop_all_of(view, one)
        yield from self.until_drawn(view)
        self.decide(view, "accept_all")
        self.assertEqual((yield from self.rows()), ["Accept all", "Go back"])
        yield from self.answer_first()
        yield from self.until_file("a.txt", TWO)
        yield from self.until_told("1 of 1 accepted. 1 rejected, because all was dropped.")
        yield from self.undone(view, "Undo 1 accepted and 1 rejected")
        yield from self.until_told("2 of 2 decided edits undone.")
        yield from self.until_file("a.txt", OWN)
        yield lambda: self.sheet(view).find_section(self.id_of(one, "a.txt"))
        yield lambda: self.sheet(view).find_section(self.id_of(one, "a.txt")).file.is_dropped
        yield from self.until_shown(view, "\nof two\n")

    def test_if_all_variants_are_dropped_all_are_rejected(self) -> Steps:
        view, trees = yield from self.variants(ONE, TWO)
        for tree in trees:
            yield from self.drop_all_of(view, tree)
        yield from self.until_drawn(view)
        self.decide(view, "accept_all")
        self.assertEqual((yield from self.rows()), ["Reject all", "Go back"])
        yield from self.answer_first()
        yield from self.until_told("2 of 2 rejected.")
        self.assertEqual(self.read("a.txt"), OWN.encode())

    def test_one_that_conflicts_waits_with_the_conflict_marked(self) -> Steps:
        view, (one, two, three) = yield from self.variants(
            ONE, AGAINST, with_line(OWN, 15, "third")
        )
        self.decide(view, "accept_all")
        yield from self.answer_first(1)
        yield from self.until_file("a.txt", with_line(ONE, 15, "third"))
        yield from self.until_told(f"2 of 3 accepted. {deciding.CONFLICT}")
        self.assertEqual(self.asked, [])
        yield from self.until_shown(view, MARKED)
        yield from self.undone(view, "Undo 2 accepted")
        yield from self.until_file("a.txt", OWN)
        yield from self.until_not_shown(view, "<<<<<<<")
        yield from self.assert_waiting(view, one, two, three)

    def test_one_that_is_typed_in_meanwhile_waits(self) -> Steps:
        view, one, two = yield from self.composed()
        self.decide(view, "accept_all")
        yield lambda: self.asked
        right = self.review_of(two)
        right.run_command("append", {"characters": "typed\n"})
        yield from self.answer_first()
        yield from self.until_file("a.txt", SOME_OF_ONE)
        yield from self.until_told("1 of 2 accepted. 1 changed meanwhile")
        yield from self.until_equal(lambda: self.review_text(two), BOTH + "typed\n")

    def test_several_files_are_composed_at_once(self) -> Steps:
        one, two = yield from self.grow(2)
        for name in ("a.txt", "b.txt"):
            self.put(name, ONE, one)
            self.put(name, TWO, two)
        view = yield from self.shown(one, two)
        for name in ("a.txt", "b.txt"):
            yield from self.drop_named(view, one, "of one", name)
            yield from self.drop_named(view, two, "two", name)
        self.decide(view, "accept_all")
        yield from self.answer_first()
        for name in ("a.txt", "b.txt"):
            yield from self.until_file(name, BOTH)
        yield from self.until_told("4 of 4 accepted.")
        yield from self.undone(view, "Undo 4 accepted")
        for name in ("a.txt", "b.txt"):
            yield from self.until_file(name, OWN)
            yield from self.until_equal(partial(self.review_text, two, name), SOME_OF_TWO)

    def drop_named(self, view: sublime.View, tree: WorkTree, line: str, name: str) -> Steps:
        """Both files have the line."""
        id = self.id_of(tree, name)
        comparison = self.sheet(view).find_section(id).file.comparison
        number = 1 if line == "of one" else 0
        self.decide(view, "drop_change", id, comparison.keys[number])
        gone = f"\n{line}\n"
        yield lambda: gone not in (self.review_text(tree, name) or gone)
        yield from self.until_drawn(view)


class Restarted(Composing):
    def test_composed_variants_are_undone_after_a_restart(self) -> Steps:
        view, one, two = yield from self.composed()
        self.decide(view, "accept_all")
        yield from self.answer_first()
        yield from self.until_file("a.txt", BOTH)
        yield from self.until_equal(lambda: self.sheet(view).marking.undoable, "Undo 2 accepted")
        yield lambda: self.running().review.history.edits.made.is_complete
        plugin._host.stop()
        plugin._host.start()
        yield lambda: plugin._host.environment_of(self.window)
        for tree in (one, two):
            self.assertEqual((yield from self.until_listed(tree)).changes, ())
        yield lambda: self.running().review.history.edits.made.is_complete
        yield from self.undone(view, "Undo 2 accepted")
        yield from self.until_file("a.txt", OWN)
        yield from self.until_equal(lambda: self.review_text(one), SOME_OF_ONE)
        yield from self.until_equal(lambda: self.review_text(two), SOME_OF_TWO)


class Rejected(Composing):
    def scene(self) -> Generator[Any, Any, tuple[sublime.View, list[WorkTree]]]:
        """Three variants of two files, and a file that two have made alike."""
        trees = yield from self.grow(3)
        for number, tree in enumerate(trees):
            for name in ("a.txt", "b.txt"):
                self.put(name, with_line(OWN, 3, f"variant {number}"), tree)
        for tree in trees[:2]:
            self.put("alike.txt", "alike\n", tree)
        view = yield from self.shown(*trees)
        self.assertEqual(len(self.headings(view)), 7)
        return view, trees

    def listed(self, view: sublime.View, text: str) -> Generator[Any, Any, list[str]]:
        """What is offered with the caret there."""
        self.window.focus_view(view)
        view.sel().clear()
        view.sel().add(sublime.Region(text_of(view).index(text)))
        self.run_command("decide_on_changes")
        yield lambda: self.asked
        return [item[0] for item in self.asked[0]["items"]]

    def test_the_list_names_whose_variant_is_meant(self) -> Steps:
        view, (one, two, _three) = yield from self.scene()
        rows = yield from self.listed(view, "variant 1")
        for verb in ("Keep", "Drop", "Accept", "Reject"):
            self.assertIn(f"{verb} a.txt of work tree {two.name}", rows)
        self.assertIn("Reject the other variants of a.txt", rows)
        self.assertIn(f"Reject all of work tree {two.name}", rows)
        yield from self.answer_first(-1)
        rows = yield from self.listed(view, "alike")
        self.assertIn("Accept alike.txt", rows)
        self.assertNotIn("Reject the other variants of alike.txt", rows)
        for tree in (one, two):
            self.assertIn(f"Reject all of work tree {tree.name}", rows)
        yield from self.answer_first(-1)

    def test_the_others_of_a_file_are_rejected_in_one_press(self) -> Steps:
        view, (one, two, three) = yield from self.scene()
        rows = yield from self.listed(view, "variant 1")
        yield from self.answer_first(rows.index("Reject the other variants of a.txt"))
        yield lambda: self.asked
        self.assertIn("Reject 2 files changed in work trees in 1 file", str(self.asked[0]))
        yield from self.answer_first()
        yield from self.until_told("2 of 2 rejected.")
        yield from self.until_equal(lambda: len(self.headings(view)), 5)
        self.assertIsNotNone(self.sheet(view).find_section(self.id_of(two, "a.txt")))
        yield from self.undone(view, "Undo 2 rejected")
        yield from self.until_equal(lambda: len(self.headings(view)), 7)

    def test_all_of_a_work_tree_are_rejected_but_what_another_made_alike(self) -> Steps:
        view, (one, *_others) = yield from self.scene()
        rows = yield from self.listed(view, "variant 0")
        yield from self.answer_first(rows.index(f"Reject all of work tree {one.name}"))
        yield from self.answer_first()
        yield from self.until_told("2 of 2 rejected.")
        yield from self.until_equal(lambda: len(self.headings(view)), 5)
        self.assertIn("alike.txt", text_of(view))
        yield from self.undone(view, "Undo 2 rejected")
        yield from self.until_equal(lambda: len(self.headings(view)), 7)

    def test_a_link_rejects_the_others_only_where_there_are_some(self) -> Steps:
        view, (one, *_others) = yield from self.scene()
        marking = self.sheet(view).marking
        sections = {section.file.id: section for section in marking.model.sections}
        links = [
            " ".join(text for _row, text in marking._file_links(sections[self.id_of(one, name)]))
            for name in ("a.txt", "alike.txt")
        ]
        self.assertEqual(["Reject others" in each for each in links], [True, False])
        self.decide(view, "reject_others", self.id_of(one, "a.txt"))
        yield from self.answer_first()
        yield from self.until_told("2 of 2 rejected.")

    def test_what_was_dropped_in_rejected_ones_is_so_after_an_undo(self) -> Steps:
        view, (one, two) = yield from self.variants(ONE, TWO)
        yield from self.drop(view, two, "two")
        self.decide(view, "reject_others", self.id_of(one, "a.txt"))
        yield from self.answer_first()
        yield from self.until_told("1 of 1 rejected.")
        yield from self.undone(view, "Undo 1 rejected")
        yield from self.until_equal(lambda: self.review_text(two), SOME_OF_TWO)

    def test_what_it_means_is_true_of_what_is_there(self) -> Steps:
        view, _trees = yield from self.variants(ONE)
        for action, number in (("accept_all", 0), ("reject_all", 1)):
            self.decide(view, action)
            yield lambda: self.asked
            source = self.sheet(view).find_source(self.sheet(view).model.sections[1].file.id)
            self.assertEqual(self.asked[0]["items"][0][1], source.meanings[number])
            self.assertNotIn("CLI", source.meanings[number])
            yield from self.answer_first(-1)
            yield from self.until_turn()
            yield from self.until_turn()
