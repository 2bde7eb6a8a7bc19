"""What is pressed while a question about the same thing is open comes after the answer, in order,
or the user is told that it did not happen."""

from __future__ import annotations

from typing import Any, Generator

import sublime
from GeminiCompanion.companion.base import background
from GeminiCompanion.companion.base.answer import Answer
from GeminiCompanion.companion.ui import presses
from GeminiCompanion.companion.ui.changes import deciding
from GeminiCompanion.companion.ui.changes.unasked_edit_source import PREFIX as PREFIX_OF_EDIT
from GeminiCompanion.companion.ui.review import accepting, open_diffs, reviews
from GeminiCompanion.companion.ui.user_messages import PREFIX

from .adapter import text_of
from .reviewing import ReviewCase, Steps
from .test_show_changes import SheetCase, UnaskedCase

OLD, NEW = "a\nb\nc\nd\ne\n", "A\nb\nc\nd\nE\n"


class Asked(ReviewCase):
    def setUp(self) -> None:
        super().setUp()
        self.asked = self.panels()
        self.sentences = self.told()

    def ask(self) -> Generator[Any, Any, sublime.View]:
        """*Accept* asks, because the file has changed."""
        right = yield from self.propose(OLD, NEW)
        self.write("file.txt", "mine\n")
        self.window.focus_view(right)
        self.run_command("accept_diff")
        yield lambda: self.asked
        return right

    def answer(self, name: str) -> None:
        labels = [item[0] for item in self.asked[0]["items"]]
        self.asked[0]["on_select"](labels.index(name))

    def until_said(self, sentence: str, name: str = "file.txt") -> Steps:
        yield lambda: PREFIX + sentence.format(name) in self.sentences

    def test_it_waits_says_so_and_is_done_when_the_answer_is_to_go_back(self) -> Steps:
        right = yield from self.ask()
        self.run_command("drop_change", id=self.review(right).id)
        yield from self.until_said(presses.WAITS)
        self.assertEqual(text_of(right), NEW)
        self.answer(accepting.GO_BACK[0])
        yield from self.until_equal(lambda: text_of(right), "a\nb\nc\nd\nE\n")
        self.run_command("reject_diff")
        yield from self.until_rejected()

    def test_nothing_of_it_ends_in_silence_when_the_answer_decides(self) -> Steps:
        for command in ("drop_change", "keep_change", "next_change", "reject_diff"):
            with self.subTest(command):
                right = yield from self.ask()
                self.run_command(command, **self.arguments(command, right))
                yield from self.until_said(presses.WAITS)
                self.answer(accepting.ACCEPT[0])
                yield from self.until_said(reviews.OVER)
                yield lambda: not right.is_valid()  # noqa: B023
                del self.asked[:], self.sentences[:]

    def arguments(self, command: str, right: sublime.View) -> dict[str, str]:
        return {} if command == "next_change" else {"id": self.review(right).id}

    def test_the_question_says_it_to_what_was_pressed_just_before(self) -> Steps:
        right = yield from self.propose(OLD, NEW)
        self.write("file.txt", "mine\n")
        self.window.focus_view(right)
        id = self.review(right).id
        self.run_command("accept_diff")
        self.run_command("drop_change", id=id)
        yield lambda: self.asked
        yield from self.until_said(presses.WAITS)
        self.answer(accepting.GO_BACK[0])
        yield from self.until_equal(lambda: text_of(right), "a\nb\nc\nd\nE\n")
        self.run_command("reject_diff")
        yield from self.until_rejected()

    def test_without_a_question_nobody_is_told_to_wait(self) -> Steps:
        right = yield from self.propose(OLD, NEW)
        for _ in range(2):
            self.run_command("drop_change", id=self.review(right).id, key="")
        yield from self.until_turn()
        self.assertFalse([sentence for sentence in self.sentences if "First answer" in sentence])
        self.run_command("reject_diff")
        yield from self.until_rejected()


class InSheets(SheetCase):
    def until_said(self, sentence: str) -> Steps:
        yield lambda: PREFIX + sentence in self.sentences

    def sheet_of_one(self) -> Generator[Any, Any, tuple[sublime.View, sublime.View, str]]:
        """The sheet, the diff in it, and the diff's id."""
        self.asked, self.sentences = self.panels(), self.told()
        (right,) = yield from self.propose_files((OLD, NEW))
        view = yield from self.show()
        return view, right, self.review(right).id

    def test_what_is_pressed_in_a_sheet_while_it_asks_about_all_says_what_comes_first(
        self,
    ) -> Steps:
        view, right, id = yield from self.sheet_of_one()
        self.decide(view, "accept_all")
        yield lambda: self.asked
        self.decide(view, "accept_all")
        yield from self.until_said(deciding.UNDER_WAY)
        self.decide(view, "reject_file", id)
        yield from self.until_said(presses.WAITS.format("all files"))
        self.asked[0]["on_select"](-1)
        yield lambda: not right.is_valid()
        yield from self.until_rejected()

    def test_a_file_that_is_asked_about_in_its_review_is_not_accepted_twice_in_silence(
        self,
    ) -> Steps:
        view, right, id = yield from self.sheet_of_one()
        self.write("0.py", "mine\n")
        self.run_command("accept_diff", id=id)
        yield lambda: self.asked
        self.decide(view, "accept_file", id)
        yield from self.until_said(accepting.UNDER_WAY.format("0.py"))
        self.decide(view, "reject_file", id)
        yield from self.until_said(presses.WAITS.format("0.py"))
        labels = [item[0] for item in self.asked[0]["items"]]
        self.asked[0]["on_select"](labels.index(accepting.ACCEPT[0]))
        yield from self.until_said(deciding.DECIDED)


class OfMadeEdits(UnaskedCase):
    def test_undoing_one_in_a_sheet_or_its_review_waits_for_what_was_pressed_before(self) -> Steps:
        for where in ("sheet", "review"):
            with self.subTest(where):
                id = self.made("made.py", OLD, NEW)
                view = yield from self.show()
                yield from self.until_in("A\n", lambda: text_of(view))  # noqa: B023
                written, ledger = self.running().review.written, self.running().review.ledger
                edit = ledger.find(id[len(PREFIX_OF_EDIT) :])
                assert edit is not None
                self.begin(written.open_review(self.window, edit))
                yield lambda: open_diffs.made_edit_views()
                (right,) = open_diffs.made_edit_views().values()
                may_go_on: Answer[None] = Answer()
                self.begin(self.press_before(self.review(right).id, may_go_on))
                if where == "sheet":
                    self.decide(view, "reject_file", id)
                else:
                    self.running().review.decisions.reject_diff(right)
                yield from self.until_worked()
                self.assertEqual(self.on_disk("made.py"), NEW)
                may_go_on.give(None)
                yield from self.until_equal(lambda: self.on_disk("made.py"), OLD)
                yield lambda: not open_diffs.made_edit_views()

    async def press_before(self, id: str, may_go_on: Answer[None]) -> None:
        async with self.running().diffs.reviews.presses.take_place(id):
            await may_go_on

    def until_worked(self) -> Steps:
        """Until a thread and the UI thread have done what was begun before."""
        for _ in range(3):
            done = background.start_work(lambda: None)
            yield lambda: done.is_there  # noqa: B023
            yield from self.until_turn()
