"""What was decided in a sheet of changes is taken back."""

from __future__ import annotations

import os
from typing import Any
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.base.answer import Answer
from GeminiCompanion.companion.ui.changes import undoing
from GeminiCompanion.companion.ui.changes.sheet_files import NOTHING
from GeminiCompanion.companion.ui.review import large, open_diffs
from GeminiCompanion.companion.ui.review.record import is_diff, waiting_record
from GeminiCompanion.companion.ui.stories import FAILED, sleep

from .adapter import text_of
from .reviewing import Steps
from .test_show_changes import OLD, SheetCase, UnaskedCase

NEW = OLD.replace("line 3\n", "LINE 3\n").replace("line 20\n", "LINE 20\n")


class UndoingCase(SheetCase):
    def setUp(self) -> None:
        super().setUp()
        self.asked = self.panels()
        self.sentences = self.told()

    def confirmed(self, view: sublime.View, action: str, question: str) -> Steps:
        self.decide(view, action)
        yield lambda: self.asked
        panel = self.asked.pop()
        self.assertEqual(panel["placeholder"], question)
        panel["on_select"](0)

    def until_told(self, sentence: str) -> Steps:
        yield lambda: any(sentence in each for each in self.sentences)

    def until_shown(self, view: sublime.View, *ids: str) -> Steps:
        """Until the sheet shows them: before that there is no link to press."""

        def is_shown() -> bool:
            sheet = self.running().changes.sheets.sheet_of(view)
            return sheet is not None and all(sheet.find_source(id) is not None for id in ids)

        yield is_shown

    def files(self) -> list[tuple[str | None, bool]]:
        """Those of this test in tabs of the window, and whether they are unsaved."""
        opened = [(view.file_name(), view.is_dirty()) for view in self.window.views()]
        return [(name, is_dirty) for name, is_dirty in opened if self.folder in (name or "")]

    def on_disk(self, name: str) -> str:
        with open(os.path.join(self.folder, name), encoding="utf-8", newline="") as file:
            return file.read()


class Proposals(UndoingCase):
    def rejected(self, *pairs: tuple[str, str]) -> Steps:
        """All are rejected, and that is undone."""
        rights = yield from self.propose_files(*pairs)
        self.view = yield from self.show()
        count = len(pairs)
        self.decide(self.view, "reject_all")
        yield lambda: self.asked
        self.asked.pop()["on_select"](0)
        yield from self.until_equal(lambda: text_of(self.view), f"{NOTHING}\n\n")
        yield from self.until_rejected(count)
        self.assertFalse(any(map(is_diff, rights)))
        edits = f"{count} rejected edit{'s' if count > 1 else ''}"
        yield from self.confirmed(self.view, "undo_all", f"Undo {edits}?")
        yield from self.until_told(f"{count} of {edits} undone.")
        yield from self.until_shown(
            self.view, *(self.id(diff) for diff, _ in open_diffs.undecided_diffs(self.window))
        )

    def test_however_many_are_decided_together_the_tabs_are_looked_through_once(self) -> Steps:
        yield from self.propose_files(*[(OLD, NEW)] * 30)
        view = yield from self.show()
        looked = mock.Mock(wraps=self.running().diffs.reviews.forget_ended)
        with mock.patch.object(self.running().diffs.reviews, "forget_ended", looked):
            self.decide(view, "reject_all")
            yield lambda: self.asked
            self.asked.pop()["on_select"](0)
            yield from self.until_rejected(30)
        # Once a second as well.
        self.assertLess(looked.call_count, 30)

    def test_rejected_ones_wait_again_and_are_written_here_if_they_are_accepted(self) -> Steps:
        yield from self.rejected((OLD, NEW), (OLD, "a\n" + OLD))
        self.assertIn("2 proposals in 2 files: 3 lines added, 2 removed", text_of(self.view))
        self.assertIn("rejected once", text_of(self.view))
        self.type(self.view, "LINE 3", " typed")
        question = "Accept 2 proposals in 2 files, 3 lines added, 2 removed?"
        yield from self.confirmed(self.view, "accept_all", question)
        yield lambda: self.on_disk("0.py") == NEW.replace("LINE 3\n", "LINE 3 typed\n")
        yield lambda: self.on_disk("1.py") == "a\n" + OLD
        yield from self.until_equal(self.files, [])
        self.assertEqual(self.cli.received("ide/diffAccepted"), [])
        yield lambda: self.sheet(self.view).marking.undoable == "Undo 2 accepted"
        yield from self.confirmed(self.view, "undo_all", "Undo 2 accepted edits?")
        yield lambda: [self.on_disk(path) for path in ("0.py", "1.py")] == [OLD, OLD]

    def test_what_the_user_had_typed_comes_back_too(self) -> Steps:
        (right,) = yield from self.propose_files((OLD, NEW))
        view = yield from self.show()
        self.type(view, "LINE 3", " typed")
        yield from self.until_in("LINE 3 typed", lambda: text_of(right))
        self.decide(view, "reject_file", self.id(right))
        yield from self.until_rejected()
        yield lambda: self.sheet(view).marking.undoable == "Undo 1 rejected"
        yield from self.confirmed(view, "undo_all", "Undo 1 rejected edit?")
        yield from self.until_told("1 of 1 rejected edit undone.")
        ((again, _),) = open_diffs.undecided_diffs(self.window)
        yield from self.until_shown(view, self.id(again))
        self.assertIn("LINE 3 typed\n", text_of(view))

    def test_a_new_file_is_made_with_its_folder(self) -> Steps:
        self.cli = yield from self.connect()
        path = os.path.join(self.folder, "made", "new.py")
        right = yield from self.diff(self.cli, path, "made\n")
        yield from self.until_computed(right)
        view = yield from self.show()
        self.decide(view, "reject_file", self.id(right))
        yield from self.until_rejected()
        yield lambda: self.sheet(view).marking.undoable
        yield from self.confirmed(view, "undo_all", "Undo 1 rejected edit?")
        yield lambda: list(open_diffs.undecided_diffs(self.window))
        ((again, _),) = open_diffs.undecided_diffs(self.window)
        yield from self.until_shown(view, self.id(again))
        self.decide(view, "accept_file", self.id(again))
        yield lambda: os.path.exists(path)
        yield lambda: self.on_disk(path) == "made\n"

    def test_a_file_that_becomes_another_while_it_is_accepted_stays_and_the_text_is_in_a_tab(
        self,
    ) -> Steps:
        yield from self.rejected((OLD, NEW))
        ((again, _),) = open_diffs.undecided_diffs(self.window)
        path = waiting_record(again).path  # type: ignore[union-attr]
        owner = self.running().review.returned
        accepted = owner.hear_acceptance

        def late(claimed: object, words: str, before: object) -> None:
            self.write("0.py", "another\n")
            accepted(claimed, words, before)  # type: ignore[arg-type]

        self.replace(owner, "hear_acceptance", late)
        self.decide(self.view, "accept_file", self.id(again))
        yield from self.until_told("0.py has changed since this edit")
        self.assertEqual(self.on_disk(path), "another\n")
        names = [view.name() for view in self.window.views() if text_of(view) == NEW]
        self.assertEqual(names, ["0.py (accepted, not written)"])

    def test_what_is_saved_is_told_as_written_though_the_story_ends_right_after(self) -> Steps:
        yield from self.rejected((OLD, NEW))
        ((again, _),) = open_diffs.undecided_diffs(self.window)
        path = waiting_record(again).path  # type: ignore[union-attr]
        close = sublime.View.close

        def fail(view: sublime.View, *more: Any) -> bool:
            if view.file_name() == path:
                raise ValueError("of the test")
            return close(view, *more)

        self.replace(sublime.View, "close", fail)
        with self.assertLogs("GeminiCompanion", "ERROR"):
            self.decide(self.view, "accept_file", self.id(again))
            yield from self.until_told(FAILED)
        self.replace(sublime.View, "close", close)
        yield from self.until_told("0.py has the accepted text.")
        self.assertEqual(self.on_disk(path), NEW)
        self.assertEqual(
            [view.name() for view in self.window.views() if "not written" in view.name()], []
        )

    def test_a_large_one_comes_back_without_what_was_dropped(self) -> Steps:
        self.replace(large, "LARGE", 1500)
        old = "".join(f"line {number}\n" for number in range(1, 301))
        new = old.replace("line 50\n", "LINE 50\n").replace("line 250\n", "LINE 250\n")
        (right,) = yield from self.propose_files((old, new))
        view = yield from self.show()
        key = self.review(right).comparison.keys[0]  # type: ignore[union-attr]
        self.decide(view, "drop_change", self.id(right), key)
        yield lambda: "LINE 50" not in text_of(view)
        self.decide(view, "reject_file", self.id(right))
        yield from self.until_rejected()
        yield lambda: self.sheet(view).marking.undoable
        yield from self.confirmed(view, "undo_all", "Undo 1 rejected edit?")
        yield lambda: list(open_diffs.undecided_diffs(self.window))
        ((again, _),) = open_diffs.undecided_diffs(self.window)
        yield from self.until_shown(view, self.id(again))
        self.decide(view, "accept_file", self.id(again))
        expected = old.replace("line 250\n", "LINE 250\n")
        yield from self.until_equal(lambda: self.on_disk("0.py"), expected)

    def test_it_is_there_after_a_restart_and_no_cli_is_told_of_it(self) -> Steps:
        yield from self.rejected((OLD, NEW))
        sublime.run_command("gemini_companion_restart_companion")
        yield lambda: plugin._host.is_running
        ((again, _),) = open_diffs.undecided_diffs(self.window)
        yield from self.until_shown(self.view, self.id(again))
        self.assertIn("LINE 3\n", text_of(self.view))
        self.decide(self.view, "accept_file", self.id(again))
        yield from self.until_equal(lambda: self.on_disk("0.py"), NEW)

    def test_the_last_decision_is_undone_first(self) -> Steps:
        first, second = yield from self.propose_files((OLD, NEW), (OLD, "a\n" + OLD))
        view = yield from self.show()
        self.decide(view, "reject_file", self.id(first))
        yield from self.until_rejected()
        self.decide(view, "accept_file", self.id(second))
        yield lambda: self.sheet(view).marking.undoable == "Undo 1 accepted"
        self.write("1.py", "a\n" + OLD)
        yield from self.confirmed(view, "undo_all", "Undo 1 accepted edit?")
        yield lambda: self.sheet(view).marking.undoable == "Undo 1 rejected"
        yield from self.confirmed(view, "undo_all", "Undo 1 rejected edit?")
        yield from self.until_told("1 of 1 rejected edit undone.")
        yield from self.until_in("LINE 3\n", lambda: text_of(view))
        self.decide(view, "undo_all")
        yield from self.until_told(undoing.NOTHING_TO_UNDO)

    def test_of_very_many_decisions_the_last_ones_can_be_undone(self) -> Steps:
        self.replace(undoing, "MOST", 1)
        first, second = yield from self.propose_files((OLD, NEW), (OLD, "a\n" + OLD))
        view = yield from self.show()
        self.decide(view, "accept_file", self.id(first))
        yield lambda: self.sheet(view).marking.undoable == "Undo 1 accepted"
        self.decide(view, "reject_file", self.id(second))
        yield lambda: self.sheet(view).marking.undoable == "Undo 1 rejected"

    def test_what_is_decided_while_something_is_undone_can_be_undone_after_it(self) -> Steps:
        first, second = yield from self.propose_files((OLD, NEW), (OLD, "a\n" + OLD))
        view = yield from self.show()
        self.decide(view, "reject_file", self.id(first))
        yield from self.until_rejected()
        yield from self.confirmed(view, "undo_all", "Undo 1 rejected edit?")
        self.decide(view, "reject_file", self.id(second))
        yield from self.until_told("1 of 1 rejected edit undone.")
        self.assertEqual(self.sheet(view).marking.undoable, "Undo 1 rejected")
        yield from self.confirmed(view, "undo_all", "Undo 1 rejected edit?")
        yield lambda: len(list(open_diffs.undecided_diffs(self.window))) == 2

    def test_what_is_pressed_after_the_answer_is_not_told_to_wait_for_it(self) -> Steps:
        (right,) = yield from self.propose_files((OLD, NEW))
        view = yield from self.show()
        self.decide(view, "reject_file", self.id(right))
        yield from self.until_rejected()
        pressed: list[str] = []

        def press() -> Answer[None]:
            pressed.append("undo_all")
            self.decide(view, "undo_all")
            return sleep()

        self.replace(undoing, "sleep", press)
        yield from self.confirmed(view, "undo_all", "Undo 1 rejected edit?")
        yield from self.until_told(undoing.NOTHING_TO_UNDO)
        self.assertEqual(pressed, ["undo_all"])
        self.assertFalse([sentence for sentence in self.sentences if "First answer" in sentence])

    def test_what_is_being_undone_is_not_undone_twice(self) -> Steps:
        (right,) = yield from self.propose_files((OLD, NEW))
        view = yield from self.show()
        self.decide(view, "reject_file", self.id(right))
        yield from self.until_rejected()
        yield from self.confirmed(view, "undo_all", "Undo 1 rejected edit?")
        self.decide(view, "undo_all")
        self.assertEqual(self.asked, [])
        yield from self.until_told("1 of 1 rejected edit undone.")
        self.assertEqual(len(list(open_diffs.undecided_diffs(self.window))), 1)
        self.decide(view, "undo_all")
        yield from self.until_told(undoing.NOTHING_TO_UNDO)


class Unasked(UndoingCase, UnaskedCase):
    def test_pressed_twice_it_is_one_decision(self) -> Steps:
        id = self.made("a.py", OLD, "a\n" + OLD)
        view = yield from self.show()
        marking = self.sheet(view).marking
        for action, done in (("reject_file", "rejected"), ("accept_file", "accepted")):
            yield from self.until_shown(view, id)
            self.decide(view, action, id)
            self.decide(view, action, id)
            yield from self.until_in(f"Undo 1 {done}", lambda: marking.undoable)
            yield from self.confirmed(view, "undo_all", f"Undo 1 {done} edit?")
            yield from self.until_told(f"1 of 1 {done} edit undone.")
            self.assertEqual(marking.undoable, "")

    def test_undone_edits_are_made_again_to_the_byte_and_wait(self) -> Steps:
        self.made("a.py", OLD, "a\nb\n\nc")
        self.write("a.py", "a\r\nb\n\nc")
        self.made("b.py", OLD, "")
        view = yield from self.show()
        drawn = text_of(view)
        self.decide(view, "reject_all")
        yield lambda: self.asked
        self.asked.pop()["on_select"](0)
        yield from self.until_equal(lambda: text_of(view), f"{NOTHING}\n\n")
        self.assertEqual(self.on_disk("a.py"), OLD)
        yield from self.confirmed(view, "undo_all", "Undo 2 rejected edits?")
        yield from self.until_equal(lambda: self.on_disk("a.py"), "a\r\nb\n\nc")
        yield from self.until_equal(lambda: self.on_disk("b.py"), "")
        yield from self.until_equal(lambda: text_of(view), drawn)

    def test_a_new_file_that_was_removed_is_made_again(self) -> Steps:
        path = os.path.join(self.folder, "new.py")
        self.made_new("new.py", "made\n")
        view = yield from self.show()
        self.decide(view, "reject_all")
        yield lambda: self.asked
        self.asked.pop()["on_select"](0)
        yield from self.until_equal(lambda: text_of(view), f"{NOTHING}\n\n")
        self.assertFalse(os.path.exists(path))
        yield from self.confirmed(view, "undo_all", "Undo 1 rejected edit?")
        yield from self.until_in("\nmade\n", lambda: text_of(view))
        self.assertEqual(self.on_disk("new.py"), "made\n")

    def test_a_file_that_has_changed_since_stays_and_the_user_is_told(self) -> Steps:
        id = self.made("a.py", OLD, "a\n" + OLD)
        view = yield from self.show()
        self.decide(view, "reject_file", id)
        yield lambda: self.sheet(view).marking.undoable
        self.write("a.py", "by the user\n")
        yield from self.confirmed(view, "undo_all", "Undo 1 rejected edit?")
        yield from self.until_told("0 of 1 rejected edit undone. a.py has changed")
        self.assertEqual(self.on_disk("a.py"), "by the user\n")

    def test_accepted_ones_wait_again_with_what_the_user_made_of_them(self) -> Steps:
        self.made("a.py", OLD, "a\n" + OLD)
        self.made("b.py", OLD, "b\n" + OLD)
        view = yield from self.show()
        self.type(view, "\nb", " typed")
        yield lambda: list(open_diffs.undecided_diffs(self.window))
        ((right, _),) = open_diffs.undecided_diffs(self.window)
        yield from self.until_in("b typed\n", lambda: text_of(right))
        self.decide(view, "accept_all")
        yield lambda: self.asked
        self.asked.pop()["on_select"](0)
        yield from self.until_equal(lambda: text_of(view), f"{NOTHING}\n\n")
        self.assertEqual(self.on_disk("b.py"), "b typed\n" + OLD)
        yield from self.confirmed(view, "undo_all", "Undo 2 accepted edits?")
        yield from self.until_in("b typed\n", lambda: text_of(view))
        yield from self.until_in("\na\n", lambda: text_of(view))
        self.assertEqual(self.on_disk("b.py"), "b typed\n" + OLD)
