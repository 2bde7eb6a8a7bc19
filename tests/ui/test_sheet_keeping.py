"""Keep and Drop in a sheet of changes: of a change, of a file, of all."""

from __future__ import annotations

from typing import Any, Generator

import sublime
from GeminiCompanion.companion.base.answer import Answer
from GeminiCompanion.companion.ui.changes import together
from GeminiCompanion.companion.ui.changes.keeping import AGAIN, DECIDED, NOTHING
from GeminiCompanion.companion.ui.changes.sheet_files import NOTHING as NO_CHANGES
from GeminiCompanion.companion.ui.review import diff_kinds, large, open_diffs
from GeminiCompanion.companion.ui.review.record import is_diff, seen_changes

from .adapter import text_of
from .reviewing import Steps
from .test_show_changes import OLD, SheetCase, UnaskedCase

NEW = OLD.replace("line 3\n", "LINE 3\n").replace("line 20\n", "LINE 20\n")


class KeepingCase(SheetCase):
    def setUp(self) -> None:
        super().setUp()
        self.asked = self.panels()
        self.sentences = self.told()

    def until_told(self, sentence: str) -> Steps:
        yield lambda: any(sentence in each for each in self.sentences)

    def head(self, view: sublime.View) -> str:
        return text_of(view).splitlines()[0]

    def confirmed(self, question: str) -> Steps:
        yield lambda: self.asked
        panel = self.asked.pop()
        self.assertEqual(panel["placeholder"], question)
        panel["on_select"](0)


class Files(KeepingCase):
    def two(self) -> Generator[Any, Any, list[sublime.View]]:
        rights = yield from self.propose_files((OLD, NEW), (OLD, "a\n" + OLD))
        self.view = yield from self.show()
        return rights

    def test_all_changes_of_a_file_are_kept_and_the_caret_goes_to_the_next_file(self) -> Steps:
        first, second = yield from self.two()
        self.decide(self.view, "keep_file", self.id(first))
        yield from self.until_in("2 of 3 changes kept", lambda: self.head(self.view))
        self.assertEqual((len(seen_changes(first)), len(seen_changes(second))), (2, 0))
        self.assertTrue(is_diff(first))
        # The caret goes on once that is drawn.
        yield from self.until_equal(
            lambda: self.view.substr(self.view.line(self.view.sel()[0].b)), "a"
        )
        self.view.run_command("undo")
        yield lambda: not seen_changes(first)
        yield lambda: "kept" not in self.head(self.view)
        self.view.run_command("redo")
        yield lambda: len(seen_changes(first)) == 2

    def test_all_changes_of_a_file_are_dropped_in_one_step(self) -> Steps:
        first, _second = yield from self.two()
        drawn = text_of(self.view)
        self.decide(self.view, "drop_file", self.id(first))
        yield from self.until_equal(lambda: text_of(first), OLD)
        yield from self.until_in(diff_kinds.SESSION.all_dropped, lambda: text_of(self.view))
        self.assertEqual(self.asked, [])
        self.view.run_command("undo")
        yield from self.until_equal(lambda: text_of(first), NEW)
        yield from self.until_equal(lambda: text_of(self.view), drawn)

    def test_a_file_whose_changes_are_dropped_is_rejected_when_all_are_accepted(self) -> Steps:
        first, second = yield from self.two()
        self.decide(self.view, "drop_file", self.id(first))
        yield from self.until_in(diff_kinds.SESSION.all_dropped, lambda: text_of(self.view))
        self.decide(self.view, "accept_all")
        yield lambda: self.asked
        self.assertIn(together.DROPPED.format(1), str(self.asked[0]["items"][0]))
        yield from self.confirmed("Accept 1 proposal in 1 file, 1 line added, 0 removed?")
        yield lambda: not (is_diff(first) or is_diff(second))
        yield from self.until_rejected()
        yield from self.until_equal(lambda: len(self.cli.received("ide/diffAccepted")), 1)
        told = "1 of 1 accepted. 1 rejected, because all was dropped."
        yield lambda: any(sentence.endswith(told) for sentence in self.sentences)
        self.assertEqual(self.sheet(self.view).marking.undoable, "Undo 1 accepted and 1 rejected")
        # What is the file's own text is in no tab.
        yield from self.until_equal(
            lambda: [view.name() for view in self.window.views() if "your edits" in view.name()], []
        )
        self.assertFalse(first.is_valid())

    def test_if_nothing_is_left_of_any_accepting_all_asks_whether_to_reject(self) -> Steps:
        (right,) = yield from self.propose_files((OLD, NEW))
        self.view = yield from self.show()
        self.decide(self.view, "drop_file", self.id(right))
        yield from self.until_in(diff_kinds.SESSION.all_dropped, lambda: text_of(self.view))
        self.decide(self.view, "accept_all")
        yield from self.confirmed("Reject 1 proposal in 1 file, 0 lines added, 0 removed?")
        yield from self.until_rejected()

    def test_what_was_typed_a_moment_ago_is_kept_too(self) -> Steps:
        first, _second = yield from self.two()
        self.type(self.view, "LINE 3", " typed")
        self.decide(self.view, "keep_file", self.id(first))
        yield from self.until_in("2 of 3 changes kept", lambda: self.head(self.view))
        self.assertIn("LINE 3 typed\n", text_of(first))

    def test_a_change_is_not_kept_in_a_file_that_was_shown_anew_meanwhile(self) -> Steps:
        first, _second = yield from self.two()
        sheet, may_go_on = self.sheet(self.view), Answer[None]()

        async def press_before() -> None:
            async with self.running().diffs.reviews.presses.take_place(sheet.line):
                await may_go_on

        self.begin(press_before())
        id = self.id(first)
        key = sheet.find_section(id).file.comparison.keys[0]  # type: ignore[union-attr]
        self.decide(self.view, "keep_change", id, key)
        first.run_command("append", {"characters": "more\n"})
        yield from self.until_in("more\n", lambda: text_of(self.view))
        may_go_on.give(None)
        yield from self.until_told(AGAIN)
        self.assertEqual(len(seen_changes(first)), 0)

    def test_a_file_that_is_decided_is_told_to_be(self) -> Steps:
        first, _second = yield from self.two()
        id = self.id(first)
        self.run_command("reject_diff", id=id)
        yield from self.until_rejected()
        yield from self.until_drawn(self.view)
        self.decide(self.view, "keep_file", id)
        yield from self.until_told(DECIDED)

    def test_the_changes_of_a_large_file_are_dropped_and_brought_back_by_undo(self) -> Steps:
        self.replace(large, "LARGE", 1500)
        old = "".join(f"line {number}\n" for number in range(1, 301))
        new = old.replace("line 50\n", "LINE 50\n").replace("line 250\n", "LINE 250\n")
        (right,) = yield from self.propose_files((old, new))
        view = yield from self.show()
        drawn = text_of(view)
        self.decide(view, "drop_file", self.id(right))
        yield lambda: "LINE" not in text_of(view)
        self.assertIn(diff_kinds.SESSION.all_dropped, text_of(view))
        view.run_command("undo")
        yield from self.until_equal(lambda: text_of(view), drawn)


class Listed(KeepingCase):
    def words(self) -> list[str]:
        return [item[0] for item in self.asked[0]["items"]]

    def test_what_the_links_do_is_chosen_from_a_list(self) -> Steps:
        first, _second = yield from self.propose_files((OLD, NEW), (OLD, "a\n" + OLD))
        view = yield from self.show()
        view.sel().clear()
        view.sel().add(sublime.Region(text_of(view).index("LINE 3")))
        self.run_command("decide_on_changes")
        yield lambda: self.asked
        title = self.sheet(view).find_section(self.id(first)).file.title  # type: ignore[union-attr]
        of_all = [f"{name} all" for name in ("Keep", "Drop", "Accept", "Reject")]
        of_file = [f"{name} {title}" for name in ("Keep", "Drop", "Accept", "Reject")]
        self.assertEqual(self.words(), [*of_file, *of_all])
        self.asked.pop()["on_select"](3)
        yield from self.until_rejected()
        yield lambda: self.sheet(view).marking.undoable
        self.run_command("decide_on_changes")
        yield lambda: self.asked
        self.assertEqual(self.words()[-1], "Undo 1 rejected")
        self.asked.pop()["on_select"](-1)

    def test_the_sheet_is_shown_first(self) -> Steps:
        yield from self.propose_files((OLD, NEW))
        self.run_command("decide_on_changes")
        yield lambda: self.asked
        self.assertIn("Accept all", self.words())
        active = self.window.active_view()
        self.assertIs(active.settings().get("gemini_companion_changes"), True)
        self.asked.pop()["on_select"](-1)


class All(KeepingCase):
    def test_all_are_kept_and_nothing_is_decided(self) -> Steps:
        rights = yield from self.propose_files((OLD, NEW), (OLD, "a\n" + OLD))
        view = yield from self.show()
        self.decide(view, "keep_all")
        yield from self.until_told("3 changes kept; nothing is decided yet.")
        self.assertEqual([len(seen_changes(right)) for right in rights], [2, 1])
        self.assertTrue(all(map(is_diff, rights)))
        view.run_command("undo")
        yield lambda: not any(map(seen_changes, rights))

    def test_all_are_dropped_after_they_are_counted_and_one_undo_brings_them_back(self) -> Steps:
        news = [NEW, "a\n" + OLD]
        rights = yield from self.propose_files(*((OLD, new) for new in news))
        view = yield from self.show()
        self.decide(view, "drop_all")
        yield from self.confirmed("Drop 3 changes in 2 files?")
        yield from self.until_equal(lambda: [text_of(right) for right in rights], [OLD, OLD])
        yield from self.until_told("3 changes dropped")
        view.run_command("undo")
        yield from self.until_equal(lambda: [text_of(right) for right in rights], news)

    def test_without_changes_it_says_so(self) -> Steps:
        view = yield from self.show()
        for action in ("keep_all", "drop_all"):
            self.sentences.clear()
            self.decide(view, action)
            yield from self.until_told(NOTHING)


class Unasked(KeepingCase, UnaskedCase):
    def test_keeping_opens_no_review(self) -> Steps:
        first = self.made("a.py", OLD, NEW)
        self.made("b.py", OLD, "b\n" + OLD)
        view = yield from self.show()
        key = self.sheet(view).find_section(first).file.comparison.keys[0]  # type: ignore[union-attr]
        self.decide(view, "keep_change", first, key)
        yield from self.until_in("1 of 3 changes kept", lambda: self.head(view))
        self.decide(view, "keep_all")
        yield from self.until_in("3 of 3 changes kept", lambda: self.head(view))
        yield from self.until_told("2 changes kept; nothing is decided yet.")
        self.assertEqual(list(open_diffs.undecided_diffs(self.window)), [])
        view.run_command("undo")
        yield from self.until_in("1 of 3 changes kept", lambda: self.head(view))

    def test_dropping_all_of_one_opens_its_review_and_accepting_it_undoes_it(self) -> Steps:
        id = self.made("a.py", OLD, NEW)
        view = yield from self.show()
        self.decide(view, "drop_file", id)
        yield from self.until_in(diff_kinds.MADE.all_dropped, lambda: text_of(view))
        self.assertEqual(self.on_disk("a.py"), NEW)
        self.decide(view, "accept_file", id)
        yield from self.until_equal(lambda: text_of(view), f"{NO_CHANGES}\n\n")
        self.assertEqual(self.on_disk("a.py"), OLD)

    def test_the_user_is_told_which_reviews_dropping_all_opens(self) -> Steps:
        self.made("a.py", OLD, NEW)
        view = yield from self.show()
        self.decide(view, "drop_all")
        yield lambda: self.asked
        self.assertIn("1 edit made already will open in tabs", str(self.asked[0]["items"][0]))
        self.asked.pop()["on_select"](1)
        yield from self.until_turn()
        self.assertEqual(list(open_diffs.undecided_diffs(self.window)), [])
