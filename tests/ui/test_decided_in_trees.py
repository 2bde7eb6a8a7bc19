"""The user decides on what they saw of a work tree, and on nothing that came in its place; and what
they are told of it is so."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import Any, Callable, Generator
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.base.answer import Answer
from GeminiCompanion.companion.ui.changes import deciding, keeping
from GeminiCompanion.companion.ui.changes.sheet import ChangeSheet
from GeminiCompanion.companion.ui.work_trees import closed_files, tree_owner
from GeminiCompanion.companion.ui.work_trees.tree_source import TreeSource
from GeminiCompanion.companion.work_trees.work_tree import WorkTree

from .adapter import text_of
from .in_work_trees import OWN, InWorkTrees, with_line
from .reviewing import Steps
from .test_composed_variants import ONE, SOME_OF_ONE, TWO, Composing

NEW = with_line(OWN, 3, "new")
WORSE = with_line(NEW, 9, "worse")


class Held:
    """Keeps the first call of a function that runs in a thread until it is let go."""

    def __init__(self, work: Callable[..., Any]) -> None:
        self._work = work
        self.begun, self.go_on = threading.Event(), threading.Event()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if not self.begun.is_set():
            self.begun.set()
            self.go_on.wait(30)
        return self._work(*arguments, **named)


class DecidedInTrees(InWorkTrees):
    def changed(self) -> Generator[Any, Any, tuple[sublime.View, WorkTree]]:
        tree = yield from self.grow_tree({"a.txt": OWN})
        self.put("a.txt", NEW, tree)
        return (yield from self.shown(tree)), tree

    def hold(self, owner: Any, name: str) -> Held:
        held = Held(getattr(owner, name))
        self.addCleanup(held.go_on.set)
        self.replace(owner, name, held)
        return held


class Seen(DecidedInTrees):
    def listed_and_not_drawn(
        self, view: sublime.View, tree: WorkTree
    ) -> Generator[Any, Any, Callable[[], None]]:
        """The agent has written more, and that is listed; gives what lets the sheet be drawn."""
        resting = ExitStack()
        resting.enter_context(mock.patch.object(ChangeSheet, "refresh", lambda sheet: Answer()))
        self.addCleanup(resting.close)
        self.put("a.txt", WORSE, tree)
        yield from self.until_listed(tree)
        self.assertNotIn("worse", text_of(view))
        return resting.close

    def test_what_is_listed_and_not_drawn_yet_is_not_accepted(self) -> Steps:
        yield from self.not_decided("accept_file")

    def test_what_is_listed_and_not_drawn_yet_is_not_rejected(self) -> Steps:
        yield from self.not_decided("reject_file")

    def not_decided(self, action: str) -> Steps:
        view, tree = yield from self.changed()
        draw = yield from self.listed_and_not_drawn(view, tree)
        self.decide(view, action, self.id_of(tree, "a.txt"))
        yield from self.until_told(keeping.AGAIN)
        draw()
        self.sheet(view).refresh()
        yield from self.until_shown(view, "worse")
        self.assertEqual(self.read("a.txt"), OWN.encode())

    def test_what_is_written_while_the_user_is_asked_about_all_waits(self) -> Steps:
        view, tree = yield from self.changed()
        self.decide(view, "accept_all")
        yield lambda: self.asked
        self.put("a.txt", WORSE, tree)
        yield from self.until_listed(tree)
        yield from self.until_shown(view, "worse")
        yield from self.answer_first()
        yield from self.until_told("0 of 1 accepted. 1 changed meanwhile")
        self.assertEqual(self.read("a.txt"), OWN.encode())

    def test_a_binary_file_that_is_written_while_the_user_is_asked_is_not_left(self) -> Steps:
        tree = yield from self.grow_tree({"b.bin": b"\0\xff"})
        self.put("b.bin", b"\0\xff1", tree)
        self.put("b.bin", b"\0\xffmine")
        view = yield from self.shown(tree)
        self.decide(view, "accept_file", self.id_of(tree, "b.bin"))
        yield lambda: self.asked
        self.put("b.bin", b"\0\xffother", tree)
        yield from self.until_listed(tree)
        # They keep their own one.
        yield from self.answer_first(0)
        yield from self.until_told(closed_files.NOT_SEEN)
        self.assertIn("b.bin", self.lists.with_id(tree.id).by_path)

    def test_what_is_typed_is_in_what_is_accepted_right_after_that(self) -> Steps:
        view, tree = yield from self.changed()
        waited, accept = [], TreeSource.accept_changes

        async def accept_then(source: TreeSource, *arguments: Any) -> Any:
            waited.append(self.sheet(view).edits.is_waiting)
            return await accept(source, *arguments)

        self.replace(TreeSource, "accept_changes", accept_then)
        self.type(view, "\nnew", " typed")
        self.decide(view, "accept_file", self.id_of(tree, "a.txt"))
        yield from self.until_file("a.txt", NEW.replace("new\n", "new typed\n"))
        self.assertEqual(waited, [False])


class Told(DecidedInTrees):
    def test_all_can_be_pressed_again_as_soon_as_all_are_decided(self) -> Steps:
        view, tree = yield from self.changed()
        self.decide(view, "accept_all")
        yield lambda: self.asked
        # The sheet takes its time.
        with mock.patch.object(ChangeSheet, "refresh", lambda sheet: Answer()):
            yield from self.answer_first()
            yield from self.until_equal(
                lambda: self.sheet(view).marking.undoable, "Undo 1 accepted"
            )
        yield from self.until_turn()
        self.put("a.txt", WORSE, tree)
        yield from self.until_listed(tree)
        self.sheet(view).refresh()
        yield from self.until_shown(view, "worse")
        yield from self.accept_all(view)
        yield from self.until_file("a.txt", WORSE)
        self.assertNotIn(deciding.UNDER_WAY, self.sentences)

    def test_what_was_rejected_in_its_review_can_be_undone_at_once(self) -> Steps:
        view, tree = yield from self.changed()
        id = self.id_of(tree, "a.txt")
        self.type(view, "\nnew", " typed")
        yield lambda: self.running().tree_changes.reviews.find_view(tree.id, "a.txt")
        yield from self.until_drawn(view)
        note = self.hold(tree_owner, "decide_on")
        self.decide(view, "reject_file", id)
        yield lambda: note.begun.is_set()
        self.assertEqual(self.sheet(view).marking.undoable, "")
        note.go_on.set()
        yield from self.until_equal(lambda: self.sheet(view).marking.undoable, "Undo 1 rejected")
        self.decide(view, "undo_last")
        yield from self.answer_first()
        yield from self.until_told("1 of 1 rejected edit undone.")
        yield from self.until_shown(view, "new typed")

    def test_one_whose_tree_is_not_known_any_more_is_not_accepted(self) -> Steps:
        view, tree = yield from self.changed()
        self.replace(type(self.trees), "tree_with", lambda known, id: None)
        self.decide(view, "accept_file", self.id_of(tree, "a.txt"))
        yield from self.until_told("is not known any more")
        yield from self.until_equal(lambda: self.owner._edits, {})
        self.assertEqual(self.sheet(view).marking.undoable, "")
        self.assertEqual(self.accepted(), [])

    @property
    def owner(self) -> tree_owner.TreeOwner:
        return self.running().review.tree_owner

    def accepted(self) -> list[str]:
        """The paths of the edits that can be undone."""
        made = self.running().review.history.edits.made
        return [edit.path for edit in made.all if edit.path == self.at("a.txt")]


class Stopped(DecidedInTrees):
    def restarted(self) -> Steps:
        plugin._host.stop()
        plugin._host.start()
        yield lambda: plugin._host.environment_of(self.window)

    def test_what_was_written_when_the_package_stopped_can_be_undone(self) -> Steps:
        view, tree = yield from self.changed()
        yield lambda: self.running().review.history.edits.made.is_complete
        note = self.hold(tree_owner, "decide_on")
        self.decide(view, "accept_file", self.id_of(tree, "a.txt"))
        yield lambda: note.begun.is_set()
        yield from self.restarted()
        note.go_on.set()
        yield lambda: self.running().review.history.edits.made.is_complete
        self.assertEqual([each for each in self.sentences if "nothing was written" in each], [])
        made = self.running().review.history.edits.made
        self.assertEqual([edit.after for edit in made.all if edit.path == self.at("a.txt")], [NEW])

    def test_an_undo_before_the_trees_are_listed_shows_the_file_again(self) -> Steps:
        view, tree = yield from self.changed()
        yield lambda: self.running().review.history.edits.made.is_complete
        self.decide(view, "accept_file", self.id_of(tree, "a.txt"))
        yield from self.until_equal(lambda: self.sheet(view).marking.undoable, "Undo 1 accepted")
        yield from self.restarted()
        yield lambda: self.running().review.history.edits.made.is_complete
        history = self.running().review.history
        edit = next(each for each in history.edits.made.all if each.path == self.at("a.txt"))
        self.lists._known.clear()
        self.running().stories.begin(history.undo_edit(self.window, edit))
        yield from self.until_file("a.txt", OWN)
        yield from self.until_shown(view, "## a.txt  +1 -1")


class Merged(Composing):
    def test_one_that_has_all_of_another_one_is_accepted_in_the_same_press(self) -> Steps:
        both, second = with_line(SOME_OF_ONE, 18, "more"), with_line(OWN, 15, "second")
        texts = ONE, second, with_line(both, 12, "left out")
        view, (one, _two, three) = yield from self.variants(*texts)
        yield from self.drop(view, one, "of one")
        yield from self.drop(view, three, "left out")
        self.decide(view, "accept_all")
        yield from self.answer_first(1)
        yield from self.until_told("3 of 3 accepted.")
        yield from self.until_file("a.txt", with_line(both, 15, "second"))

    def test_one_in_which_nothing_was_done_is_accepted_also_if_its_review_is_closed(self) -> Steps:
        view, (one, two) = yield from self.variants(ONE, TWO)
        id = self.id_of(two, "a.txt")
        story = self.sheet(view).find_source(id).open_review(self.window, id)
        self.running().stories.begin(story)
        yield lambda: self.review_of(two)
        self.sheet(view).refresh()
        yield from self.until_drawn(view)
        self.decide(view, "accept_all")
        yield lambda: self.asked
        self.running().tree_changes.reviews.close_review(self.review_of(two))
        yield from self.answer_first(1)
        yield from self.until_told("2 of 2 accepted.")

    def test_undone_variants_are_not_shown_without_what_the_user_made_of_them(self) -> Steps:
        view, one, _two = yield from self.composed()
        self.decide(view, "accept_file", self.id_of(one, "a.txt"))
        yield from self.until_equal(lambda: self.sheet(view).marking.undoable, "Undo 1 accepted")
        seen: list[str] = []
        draw = ChangeSheet._draw_sections

        async def draw_noted(sheet: ChangeSheet, *arguments: Any) -> None:
            await draw(sheet, *arguments)
            seen.append(text_of(view))

        self.replace(ChangeSheet, "_draw_sections", draw_noted)
        yield from self.undone(view, "Undo 1 accepted")
        yield from self.until_equal(lambda: self.review_text(one), SOME_OF_ONE)
        yield from self.until_shown(view, f"work tree {one.name}")
        self.assertEqual([each for each in seen if "\nof one\n" in each], [])
