"""Proposals that are too large to be shown whole, and those that are strange in another way."""

from __future__ import annotations

import json
import os
from typing import Any, Generator, Sequence
from unittest import mock

import sublime
from GeminiCompanion.companion.base.digest import LARGE
from GeminiCompanion.companion.base.large_json import TRUNCATED_TO
from GeminiCompanion.companion.ide import transport
from GeminiCompanion.companion.ide.questions import UnwrittenTexts
from GeminiCompanion.companion.ui.review import (
    comments,
    conflicts,
    large,
    line_numbers,
    marks,
    record,
    reviews,
)
from GeminiCompanion.companion.ui.review.open_diffs import partner
from GeminiCompanion.companion.ui.review.record import is_diff
from GeminiCompanion.companion.ui.review.sight import caret_row

from .adapter import text_of
from .reviewing import ReviewCase

try:
    from headless import proposals, running
except ImportError:
    running = None  # type: ignore[assignment]

Steps = Generator[Any, Any, None]
LINES = [f"line {number} of a file that is large\n" for number in range(1, 80_001)]
OLD = "".join(LINES)
# The rows after each of which the same one comes.
ALIKE = (10, 40_000, 73_999)
LAST = {73_999: "changed\n", 79_000: "again\n", 10: "first\n"}


def proposal(rows: dict[int, str]) -> str:
    return "".join(rows.get(row, line) for row, line in enumerate(LINES))


class LargeCase(ReviewCase):
    def setUp(self) -> None:
        super().setUp()
        self.questions: list[tuple[list[Any], Any, str]] = []

        def ask(window: Any, items: Any, on_select: Any, *_: Any, placeholder: str = "") -> None:
            self.questions.append((list(items), on_select, placeholder))

        patch = mock.patch.object(sublime.Window, "show_quick_panel", ask)
        patch.start()
        self.addCleanup(patch.stop)

    def accepted(self) -> Generator[Any, Any, Any]:
        self.run_command("accept_diff")
        yield lambda: self.cli.received("ide/diffAccepted")
        content = self.cli.received("ide/diffAccepted")[0]["content"]
        self.write("file.txt", content)
        yield from self.until_told()
        return content

    def until_told(self) -> Steps:
        """Until the companion knows that the text went out whole."""

        def is_told(unwritten: Sequence[tuple[str, str]]) -> bool:
            return self.path not in dict(unwritten)

        yield from self.until_answered(UnwrittenTexts(self.window.id()), is_told, True)

    def until_refused(self, why: str) -> Steps:
        """Every command on single changes says why there are none."""
        for name in ("keep_change", "drop_change", "next_change", "previous_change"):
            told = self.told()
            self.run_command(name)
            yield lambda: any(why in each and "as a whole" in each for each in told)  # noqa: B023

    def drop(self, right: sublime.View, number: int) -> Steps:
        review = self.review(right)
        self.run_command("drop_change", id=review.id, change=review.comparison.keys[number])
        yield lambda: review.is_current(right)
        yield from self.until_turn()


class Digests(LargeCase):
    def test_a_change_far_down_stands_on_both_sides_and_only_with_its_surroundings(self) -> Steps:
        self.assertGreater(len(OLD), LARGE)
        right = yield from self.propose(OLD, proposal({73_999: "changed\n"}))
        self.assertEqual(self.texts(right, marks.LINES), ["changed\n"])
        self.assertEqual(self.texts(partner(right), marks.LINES), [LINES[73_999]])
        self.assertTrue(text_of(right).startswith("... 73,989 lines ...\nline 73990 "))
        self.assertLess(right.size(), 2000)
        self.assertTrue(right.is_read_only())
        self.assertTrue(right.visible_region().contains(right.sel()[0].b))

    def numbers(self, view: sublime.View) -> dict[str, str]:
        """By each row's text, what stands before it, in the headless editor."""
        found = running.current().view(view.id()).phantoms
        mine = [it for it in found if it.key == line_numbers.KEY]
        return {
            view.substr(view.line(min(it.region))): " ".join(proposals.page(it.content))
            for it in mine
        }

    def test_the_lines_have_the_numbers_that_they_have_in_the_file(self) -> Steps:
        if running is None:
            self.skipTest("only the headless editor tells what is drawn")
        right = yield from self.propose(OLD, proposal({10: "first\n", 73_999: "x\ny\nz\n"}))
        yield lambda: "z" in self.numbers(right)
        for view in (right, partner(right)):
            self.assertIs(view.settings().get("line_numbers"), False)
        ours = self.numbers(right)
        self.assertEqual(
            (ours["x"], ours["z"], ours[LINES[74_000][:-1]]), ("74000", "74002", "74003")
        )
        self.assertEqual(ours["... 73,968 lines ..."], "")
        theirs = self.numbers(partner(right))
        self.assertEqual(theirs[LINES[74_000][:-1]], "74001")
        yield from self.drop(right, 1)
        yield from self.until_equal(lambda: self.numbers(right)[LINES[73_999][:-1]], "")

    def test_numbers_come_into_sight_with_their_lines(self) -> Steps:
        if running is None:
            self.skipTest("only the headless editor tells what is drawn")
        rows = {row: f"changed {row}\n" for row in range(100, 80_000, 100)}
        right = yield from self.propose(OLD, proposal(rows))
        yield lambda: "changed 100" in self.numbers(right)
        self.assertNotIn("changed 79900", self.numbers(right))
        self.assertLess(len(self.numbers(right)), 1000)
        right.set_viewport_position((0.0, right.layout_extent()[1]), animate=False)
        yield from self.until_equal(lambda: self.numbers(right).get("changed 79900"), "79901")
        self.assertNotIn("changed 100", self.numbers(right))

    def test_a_comment_is_asked_for_by_the_numbers_of_the_file(self) -> Steps:
        yield from self.propose(OLD, proposal({73_999: "changed\n"}))
        captions: list[str] = []

        def ask(_window: sublime.Window, caption: str, *_: Any) -> None:
            captions.append(caption)

        self.replace(sublime.Window, "show_input_panel", ask)
        self.run_command("comment_on_diff")
        self.assertEqual(captions, ["Comment on file.txt L74000"])

    def test_nothing_dropped_leaves_the_text_to_the_cli(self) -> Steps:
        yield from self.propose(OLD, proposal(LAST))
        content = yield from self.accepted()
        self.assertEqual(content, "")

    def test_what_is_dropped_is_missing_in_the_whole_text_that_is_accepted(self) -> Steps:
        right = yield from self.propose(OLD, proposal(LAST))
        before = text_of(right)
        yield from self.drop(right, 1)
        self.assertEqual(self.texts(right, marks.LINES), ["first\n", "again\n"])
        self.assertIn(LINES[73_999], text_of(right))
        self.assertNotEqual(text_of(right), before)
        self.assertEqual(self.review(right).summary(right).dropped, 1)
        content = yield from self.accepted()
        self.assertTrue(content == proposal({10: "first\n", 79_000: "again\n"}))

    def test_of_lines_that_a_proposal_deletes_only_the_dropped_ones_come_back(self) -> Steps:
        right = yield from self.propose(OLD, proposal({10: "", 73_999: "", 79_999: ""}))
        before = text_of(right)
        yield from self.drop(right, 1)
        self.assertEqual(text_of(right).count("\n"), before.count("\n") + 1)
        self.assertIn(LINES[73_999], text_of(right))
        for _ in range(2):
            yield from self.drop(right, 2)
        content = yield from self.accepted()
        self.assertTrue(content == proposal({10: "", 79_999: ""}))

    def test_a_drop_goes_on_and_one_that_is_taken_back_stays(self) -> Steps:
        right = yield from self.propose(OLD, proposal(LAST))
        starts = self.review(right).comparison.new_starts
        for number, expected in ((0, 1), (1, 2), (0, 2), (0, 2)):
            yield from self.drop(right, number)
            self.assertEqual(caret_row(right), starts[expected])

    def test_a_drop_is_taken_back_by_a_second_one(self) -> Steps:
        right = yield from self.propose(OLD, proposal(LAST))
        before = text_of(right)
        for _ in range(2):
            yield from self.drop(right, 1)
        self.assertEqual(text_of(right), before)
        content = yield from self.accepted()
        self.assertEqual(content, "")

    def test_what_is_dropped_right_before_accepting_is_missing_too(self) -> Steps:
        right = yield from self.propose(OLD, proposal(LAST))
        review = self.review(right)
        for number in (0, 2):
            self.run_command("drop_change", id=review.id, change=review.comparison.keys[number])
        content = yield from self.accepted()
        self.assertTrue(content == proposal({73_999: "changed\n"}))

    def test_what_comes_after_several_drops_sees_all_of_them(self) -> Steps:
        right = yield from self.propose(OLD, proposal(LAST))
        review = self.review(right)
        keys, seen = review.comparison.keys, []
        for number in (0, 2):
            self.run_command("drop_change", id=review.id, change=keys[number])

        async def see() -> None:
            comparison = await self.running().reviews.comparison(right)
            seen.append(comparison.dropped if comparison is not None else None)

        self.begin(see())
        yield lambda: seen
        self.assertEqual(seen, [frozenset((keys[0], keys[2]))])

    def test_accepted_in_the_terminal_it_is_written_without_what_was_dropped(self) -> Steps:
        right = yield from self.propose(OLD, proposal(LAST))
        yield from self.drop(right, 0)
        answer = self.cli.call("closeDiff", filePath=self.path, suppressNotification=True)
        yield answer.done
        text = proposal({73_999: "changed\n", 79_000: "again\n"})
        self.write("file.txt", text)
        told = json.loads(answer.result()["content"][0]["text"])
        self.assertTrue(told == {"content": text})

    def test_a_drop_of_everything_asks_whether_that_is_a_rejection(self) -> Steps:
        right = yield from self.propose(OLD, proposal(LAST))
        for number in range(3):
            yield from self.drop(right, number)
        items, answer, _ = self.questions.pop()
        self.assertEqual(items[0][0], "Reject the proposal")
        answer(-1)
        yield from self.until_turn()
        self.run_command("accept_diff")
        yield lambda: self.questions
        self.assertEqual(self.cli.received("ide/diffAccepted"), [])
        self.questions.pop()[1](0)
        yield from self.until_turn()
        yield lambda: self.cli.received("ide/diffRejected")

    def test_after_a_restart_a_forgotten_drop_is_asked_about(self) -> Steps:
        right = yield from self.propose(OLD, proposal(LAST))
        yield from self.drop(right, 1)
        sublime.run_command("gemini_companion_restart_companion")
        yield from self.until_computed(right)
        self.run_command("drop_change")
        self.assertTrue(is_diff(right))
        self.run_command("accept_diff")
        yield lambda: self.questions
        self.assertIn("forgotten", self.questions.pop()[2])

    def test_a_file_that_changed_is_compared_anew(self) -> Steps:
        right = yield from self.propose(OLD, proposal(LAST))
        yield from self.drop(right, 1)
        self.write("file.txt", proposal({10: "first\n"}))
        self.run_command("accept_diff")
        yield lambda: self.questions
        _, answer, sentence = self.questions.pop()
        self.assertIn("changed on disk", sentence)
        answer(0)
        yield from self.until_turn()
        yield lambda: self.texts(right, marks.LINES) == ["again\n"]
        content = yield from self.accepted()
        self.assertTrue(content == proposal({10: "first\n", 79_000: "again\n"}))

    def take_over(self, theirs: dict[int, str]) -> Steps:
        """The file changes on disk; accept, and answer that this is to be taken over."""
        self.write("file.txt", proposal(theirs))
        self.run_command("accept_diff")
        yield lambda: self.questions
        items, answer, _ = self.questions.pop()
        answer([item[0] for item in items].index("Take over my changes"))
        yield from self.until_turn()

    def test_what_changed_in_the_file_is_taken_over_into_the_text_behind_the_parts(self) -> Steps:
        told = self.told()
        right = yield from self.propose(OLD, proposal(LAST))
        yield from self.drop(right, 2)
        row = right.rowcol(text_of(right).index("changed"))[0]
        comments.add(right, record.Comment(row, row, "why?"))
        yield from self.take_over({40_000: "mine\n"})
        yield lambda: any(conflicts.LARGE_MERGED in each for each in told)
        yield lambda: self.texts(right, marks.LINES) == ["first\n", "changed\n"]
        self.assertEqual(self.texts(right, marks.comment_key(0)), ["changed"])
        content = yield from self.accepted()
        self.assertTrue(content == proposal({10: "first\n", 40_000: "mine\n", 73_999: "changed\n"}))

    def test_of_changes_that_are_alike_only_the_dropped_one_is_missing_after_a_merge(self) -> Steps:
        told = self.told()
        right = yield from self.propose(OLD, proposal({at: f"{LINES[at]}new\n" for at in ALIKE}))
        yield from self.drop(right, 0)
        yield from self.take_over({20_000: "mine\n"})
        yield lambda: any(conflicts.LARGE_MERGED in each for each in told)
        content = yield from self.accepted()
        rows = {at: f"{LINES[at]}new\n" for at in ALIKE[1:]}
        self.assertTrue(content == proposal({20_000: "mine\n", **rows}))

    def test_of_changes_that_are_alike_the_dropped_one_is_missing_beside_another_file(
        self,
    ) -> Steps:
        right = yield from self.propose(OLD, proposal({at: f"{LINES[at]}new\n" for at in ALIKE}))
        yield from self.drop(right, 1)
        self.write("file.txt", proposal({ALIKE[0]: f"{LINES[ALIKE[0]]}new\n"}))
        self.run_command("accept_diff")
        yield lambda: self.questions
        self.questions.pop()[1](0)
        yield from self.until_turn()
        yield lambda: self.texts(right, marks.LINES) == ["new\n"]
        content = yield from self.accepted()
        self.assertTrue(content == proposal({at: f"{LINES[at]}new\n" for at in ALIKE[::2]}))

    def test_where_both_changed_the_same_lines_nothing_is_taken_over_and_that_is_said(
        self,
    ) -> Steps:
        told = self.told()
        right = yield from self.propose(OLD, proposal(LAST))
        before = text_of(right)
        yield from self.take_over({73_999: "mine\n"})
        yield lambda: any(conflicts.LARGE_CONFLICTS.format(1) in each for each in told)
        self.assertEqual(text_of(right), before)

    def test_an_accepted_one_is_undone(self) -> Steps:
        yield from self.propose(OLD, proposal(LAST))
        self.run_command("accept_diff")
        yield lambda: self.cli.received("ide/diffAccepted")
        self.write("file.txt", proposal(LAST))
        yield from self.until_told()
        edits = self.running().history._edits
        yield lambda: edits and edits[-1].path == self.path
        self.run_command("show_accepted_edits")
        self.questions.pop()[1](0)
        yield from self.until_turn()
        yield lambda: self.questions
        self.questions.pop()[1](1)
        yield from self.until_turn()
        path = self.path
        yield lambda: os.path.getsize(path) == len(OLD)
        with open(path, encoding="utf-8") as file:
            self.assertTrue(file.read() == OLD)

    def test_a_comment_names_the_line_of_the_whole_proposal(self) -> Steps:
        right = yield from self.propose(OLD, proposal(LAST))
        yield from self.drop(right, 0)
        for text in ("changed", "line 74005 "):
            row = right.rowcol(text_of(right).index(text))[0]
            comments.add(right, record.Comment(row, row, "why?"))
        self.run_command("reject_diff")
        yield from self.until_rejected()
        expected = f"@{self.path}#L74000: why?\n@{self.path}#L74005: why?"
        self.assertEqual(sublime.get_clipboard(), expected)

    def test_one_whose_changes_are_too_large_to_be_shown_is_decided_on_as_a_whole(self) -> Steps:
        with mock.patch.object(large, "LARGE", 2000):
            self.cli = yield from self.connect()
            self.path = self.write("file.txt", "".join(LINES[:300]))
            new = "".join(line * (1 + number % 2) for number, line in enumerate(LINES[:300]))
            right = yield from self.diff(self.cli, self.path, new)
            self.assertEqual(text_of(right), new[:TRUNCATED_TO])
            yield from self.until_refused("shown in part only")
            content = yield from self.accepted()
        self.assertEqual(content, "")

    def test_one_against_a_file_that_is_another_now_has_its_changes_however_large(self) -> Steps:
        with mock.patch.object(large, "LARGE", 2000):
            old = "".join(LINES[:100])
            right = yield from self.propose(old, old + "new\n")
            self.write("file.txt", old.replace("line", "other line"))
            self.run_command("accept_diff")
            yield lambda: self.questions
            self.questions.pop()[1](0)
            yield from self.until_turn()
            yield lambda: self.texts(right, marks.LINES) == [old + "new\n"]
            content = yield from self.accepted()
        self.assertEqual(content, "")

    def test_a_proposal_too_large_to_be_compared_is_shown_in_its_beginning(self) -> Steps:
        with mock.patch.object(transport, "LARGE", 0x40000):
            self.cli = yield from self.connect()
            self.path = self.write("file.txt", "old\n")
            right = yield from self.diff(self.cli, self.path, OLD)
        self.assertTrue(OLD.startswith(text_of(right)))
        self.assertTrue(right.is_read_only())
        yield from self.until_refused(reviews.not_compared(record.waiting(right)))
        content = yield from self.accepted()
        self.assertEqual(content, "")


class Strange(LargeCase):
    def test_of_a_proposal_equal_to_the_file_the_head_says_that_nothing_changes(self) -> Steps:
        for text in ("same\n", OLD):
            right = yield from self.propose(text, text)
            self.assertEqual(self.review(right).summary(right).text(), "nothing changes")
            self.run_command("drop_change")
            self.run_command("reject_diff")
            yield from self.until_rejected()

    def test_an_empty_proposal_for_a_large_file_is_accepted_as_such(self) -> Steps:
        right = yield from self.propose(OLD, "")
        self.assertEqual(text_of(right), "")
        self.assertIn("more lines of this change", text_of(partner(right)))
        content = yield from self.accepted()
        self.assertEqual(content, "")

    def test_of_a_line_of_two_megabytes_the_part_that_differs_is_shown(self) -> Steps:
        row = "x" * 1_200_000
        right = yield from self.propose(f"{row}old{row}\n", f"{row}new{row}\n")
        self.assertIn("new", text_of(right))
        self.assertIn("old", text_of(partner(right)))
        self.assertLess(right.size(), 10_000)

    def test_beside_a_binary_file_the_beginning_of_a_large_proposal_is_shown(self) -> Steps:
        self.cli = yield from self.connect()
        path = os.path.join(self.folder, "a.bin")
        with open(path, "wb") as file:
            file.write(b"\xff\0" * 80)
        right = yield from self.diff(self.cli, path, OLD)
        self.assertTrue(OLD.startswith(text_of(right)))
        self.assertIn("binary", text_of(partner(right)))
        self.assertTrue(right.is_read_only())
        yield from self.until_refused("shown in part only")

    def test_beside_a_binary_file_a_text_says_why_it_has_no_changes_to_decide_on(self) -> Steps:
        self.cli = yield from self.connect()
        path = os.path.join(self.folder, "a.bin")
        with open(path, "wb") as file:
            file.write(b"\xff\0" * 80)
        yield from self.diff(self.cli, path, "text\n")
        yield from self.until_refused("The file is binary; 160 bytes.")

    def test_beside_a_binary_file_it_is_said_when_that_changes(self) -> Steps:
        self.cli = yield from self.connect()
        path = os.path.join(self.folder, "a.bin")
        for data in (b"\xff\0" * 80, b"\xff\0" * 81):
            with open(path, "wb") as file:
                file.write(data)
            if len(data) == 160:
                right = yield from self.diff(self.cli, path, "text\n")
        yield lambda: "changed on disk" in " ".join(self.review(right).notes.values())

    def test_a_file_that_vanishes_is_asked_about_and_compared_as_a_new_one(self) -> Steps:
        for old, new in (("old\n", "new\n"), (OLD, proposal(LAST))):
            right = yield from self.propose(old, new)
            os.remove(self.path)
            self.run_command("accept_diff")
            yield lambda: self.questions
            _, answer, sentence = self.questions.pop()
            self.assertIn("gone", sentence)
            answer(0)
            yield from self.until_turn()
            yield (
                lambda right=right: (
                    partner(right).name() == "file.txt (new file)"
                    or (partner(right).name().startswith("file.txt (new file,"))
                )
            )
            self.assertEqual(text_of(partner(right)), "")
            self.run_command("reject_diff")
            yield from self.until_rejected()

    def test_a_file_that_becomes_a_folder_is_asked_about_and_loses_no_proposal(self) -> Steps:
        for old, new in (("old\n", "new\n"), (OLD, proposal(LAST))):
            right = yield from self.propose(old, new)
            before = text_of(right)
            os.remove(self.path)
            os.mkdir(self.path)
            self.run_command("accept_diff")
            yield lambda: self.questions
            _, answer, sentence = self.questions.pop()
            self.assertIn("a folder", sentence)
            answer(0)
            yield from self.until_turn()
            self.assertEqual(text_of(right), before)
            self.assertTrue(is_diff(right))
            self.run_command("reject_diff")
            yield from self.until_rejected()
            os.rmdir(self.path)
