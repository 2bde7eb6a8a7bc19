"""Proposals that are too large to be shown whole (`large_texts`), and those that are strange in
another way.
"""

from __future__ import annotations

import os
import re
from typing import Any, Callable, Generator, Sequence

import sublime
from GeminiCompanion.companion.base import file_content
from GeminiCompanion.companion.base.answer import Answer
from GeminiCompanion.companion.base.digest import LARGE
from GeminiCompanion.companion.base.large_json import TRUNCATED_TO
from GeminiCompanion.companion.ide import transport
from GeminiCompanion.companion.ide.companion import Companion
from GeminiCompanion.companion.ide.decisions import UnwrittenText
from GeminiCompanion.companion.ide.events import DiffAccepted, Event
from GeminiCompanion.companion.ide.questions import UnwrittenTexts
from GeminiCompanion.companion.ui.review import (
    accepting,
    comments,
    large,
    marks,
    open_diffs,
    record,
    reviews,
)
from GeminiCompanion.companion.ui.review.sight import caret_row

from ..tables import rows, word
from .adapter import text_of
from .desk import DeskCase
from .large_texts import LINES, OLD, large_text
from .reviewing import Steps

try:
    from headless import html_text, running
except ImportError:
    running = None  # type: ignore[assignment]


class LargeCase(DeskCase):
    right: sublime.View

    def setUp(self) -> None:
        super().setUp()
        self.as_proposed: list[bool] = []
        post_event = Companion.post

        def post(companion: Companion, event: Event) -> None:
            if isinstance(event, DiffAccepted):
                self.as_proposed.append(event.is_as_proposed)
            post_event(companion, event)

        self.replace(Companion, "post", post)

    @word("(OLD|nothing) is to become (.+)")
    def becomes(self, old: str, new: str) -> Steps:
        self.right = yield from self.propose(large_text(old), large_text(new))
        self.by_name.update({"c": self.cli, "+file.txt": self.right})

    @word("(.+) is accepted")
    def accepted(self, expected: str) -> Steps:
        """Of a file, "" is told where the CLI is to write what it proposed itself."""
        if not hasattr(self, "held"):
            self.run_command("accept_diff")
        yield lambda: self.cli.received("ide/diffAccepted")
        content = self.cli.received("ide/diffAccepted")[0]["content"]
        self.assertTrue(content == large_text(expected))
        self.assertEqual(self.as_proposed, [not content])
        self.write("file.txt", content)
        yield from self.until_told()

    def until_told(self) -> Steps:
        """Until the companion knows that the text went out whole."""

        def is_told(unwritten: Sequence[UnwrittenText]) -> bool:
            return self.path not in [edit.path for edit in unwritten]

        yield from self.until_answered(UnwrittenTexts(self.window.id()), is_told, True)

    def until_refused(self, why: str) -> Steps:
        for name in ("keep_change", "drop_change", "next_change", "previous_change"):
            self.sentences.clear()
            self.run_command(name)
            yield lambda: any(why in each and "as a whole" in each for each in self.sentences)

    @word(r"change (\d) is dropped")
    def drop(self, number: str) -> Steps:
        review = self.review(self.right)
        self.drop_now(number)
        yield lambda: review.is_current(self.right)
        yield from self.until_turn()

    @word(r"change (\d) is dropped at once")
    def drop_now(self, number: str) -> None:
        review = self.review(self.right)
        key = review.comparison.keys[int(number)]
        self.run_command("drop_change", id=review.id, change=key)

    @word("comparisons and reading are held")
    def hold(self) -> None:
        present, self.held = file_content.read_original(self.path), (Answer[None](), Answer[None]())

        async def compare(work: Callable[[], Any]) -> Any:
            await self.held[0]
            return work()

        async def read(path: str) -> file_content.Original:
            await self.held[1]
            return present

        self.replace(reviews, "run_in_thread", compare)
        self.replace(accepting.file_reading, "read_content", read)

    @word("both go on")
    def go_on(self) -> None:
        """What waits for the comparison comes after what waits for the file."""
        for answer in self.held:
            answer.give(None)

    def comment_beside(self, words: str) -> None:
        row = self.right.rowcol(text_of(self.right).index(words))[0]
        comments.add_comment(self.right, record.Comment(row, row, "why?"))

    words = {
        "the file becomes (.+)": lambda t, words: t.write("file.txt", large_text(words)),
        "its text is remembered": lambda t: setattr(t, "before_it", text_of(t.right)),
        "(.+) is commented on": lambda t, words: t.comment_beside(words),
    }
    seen = {
        "dropped are": lambda t: t.review(t.right).diff_summary(t.right).dropped,
        "the text is as before:": lambda t: text_of(t.right) == t.before_it,
        "the text has (.+):": lambda t, words: words in text_of(t.right),
        "the left side has (.+):": lambda t, words: words in text_of(t.view("-file.txt")),
        "lines more than before:": lambda t: text_of(t.right).count("\n") - t.before_it.count("\n"),
        "the caret is at change": lambda t: t.review(t.right).comparison.new_starts.index(
            caret_row(t.right)
        ),
        "comment 0 stands beside": lambda t: t.texts(t.right, "gemini_companion_comment_0"),
        "the file is OLD:": lambda t: open(t.path, encoding="utf-8").read() == OLD,
        "the clipboard has": lambda t: (
            sublime.get_clipboard().replace("@" + t.path, "").splitlines()
        ),
        "it is short:": lambda t: t.right.size() < 2000,
        "the caret is in sight:": lambda t: t.right.visible_region().contains(t.right.sel()[0].b),
    }


@rows("""
    a change far down stands on both sides and only with its surroundings
        OLD is to become 23999=changed
        | marked in +file.txt are changed; the text has ... 23,989 lines ...: yes; it is short:
        yes
        | +file.txt can be edited: no; the caret is in sight: yes
        | marked in -file.txt are
        line_24000_of_a_file_that_is_large........................................
    nothing dropped leaves the text to the CLI
        OLD is to become 10=first 23999=changed 29000=again | nothing is accepted
    what is dropped is missing in the whole text that is accepted
        OLD is to become 10=first 23999=changed 29000=again; its text is remembered
        | change 1 is dropped
        | marked in +file.txt are first, again; the text has line 24000 of: yes; dropped are 1
        | the text is as before: no | 10=first 29000=again is accepted
    of lines that a proposal deletes only the dropped ones come back
        OLD is to become 10= 23999= 29999=; its text is remembered | change 1 is dropped
        | lines more than before: 1; the text has line 24000 of: yes
        | change 2 is dropped; change 2 is dropped | 10= 29999= is accepted
    a drop goes on and one that is taken back stays
        OLD is to become 10=first 23999=changed 29000=again | change 0 is dropped
        | the caret is at change 1 | change 1 is dropped | the caret is at change 2
        | change 0 is dropped | the caret is at change 2 | change 0 is dropped
        | the caret is at change 2
    a drop is taken back by a second one
        OLD is to become 10=first 23999=changed 29000=again; its text is remembered
        | change 1 is dropped; change 1 is dropped
        | the text is as before: yes; nothing is accepted
    what is dropped right before accepting is missing too
        OLD is to become 10=first 23999=changed 29000=again
        | change 0 is dropped at once; change 2 is dropped at once; 23999=changed is accepted
    a drop that waits for a comparison is not overtaken by accepting
        OLD is to become 10=first 23999=changed 29000=again; comparisons and reading are held
        | change 0 is dropped at once; change 2 is dropped at once; run accept_diff
        | both go on; 23999=changed is accepted
    a drop after accepting says that it comes too late
        OLD is to become 10=first 23999=changed 29000=again; comparisons and reading are held
        | run accept_diff; change 0 is dropped at once; run reject_diff; run release_diff
        | both go on; the user was told: reviews.OVER of file.txt; nothing is accepted
    a second accepting while the first is under way is answered
        OLD is to become 10=first; comparisons and reading are held
        | run accept_diff; run accept_diff; the user was told: accepting.UNDER_WAY of file.txt
        | both go on; nothing is accepted
    accepted in the terminal it is written without what was dropped
        OLD is to become 10=first 23999=changed 29000=again | change 0 is dropped
        | in its terminal the CLI gets 23999=changed 29000=again
    a drop of everything asks whether that is a rejection
        OLD is to become 10=first 23999=changed 29000=again
        | change 0 is dropped; change 1 is dropped; change 2 is dropped; the answer is none
        | c heard nothing | run accept_diff; the answer is Reject the proposal
        | c heard file.txt rejected
    after a restart a forgotten drop is asked about
        OLD is to become 10=first 23999=changed 29000=again; change 1 is dropped
        | the companion is restarted; run drop_change | +file.txt is a proposal: yes
        | run accept_diff | it is asked: reviews.LOST
    a file that changed is compared anew
        OLD is to become 10=first 23999=changed 29000=again; change 1 is dropped
        | the file becomes 10=first; run accept_diff | it is asked: diff_kinds.FILE_CHANGED
        | the answer is See | marked in +file.txt are again; 10=first 29000=again is accepted
    what changed in the file is taken over into the text behind the parts
        OLD is to become 10=first 23999=changed 29000=again; change 2 is dropped
        | changed is commented on; the file becomes 15000=mine; run accept_diff
        | the answer is Merge my changes
        | the user was told: conflicts.LARGE_MERGED; marked in +file.txt are first, changed
        | comment 0 stands beside changed; 10=first 15000=mine 23999=changed is accepted
    of changes that are alike only the dropped one is missing after a merge
        OLD is to become 10+new 15000+new 23999+new; change 0 is dropped
        | the file becomes 5000=mine; run accept_diff; the answer is Merge my changes
        | the user was told: conflicts.LARGE_MERGED; 5000=mine 15000+new 23999+new is accepted
    of changes that are alike the dropped one is missing beside another file
        OLD is to become 10+new 15000+new 23999+new; change 1 is dropped
        | the file becomes 10+new; run accept_diff; the answer is See
        | marked in +file.txt are new; 10+new 23999+new is accepted
    where both changed the same lines nothing is taken over and that is said
        OLD is to become 10=first 23999=changed 29000=again; its text is remembered
        | the file becomes 23999=mine; run accept_diff; the answer is Merge my changes
        | the user was told: conflicts.LARGE_CONFLICTS of 1; the text is as before: yes
    an accepted one is undone
        OLD is to become 10=first 23999=changed 29000=again; nothing is accepted
        | the file becomes 10=first 23999=changed 29000=again; its edit is known
        | run show_accepted_edits; the newest is chosen; the answer is Undo it
        | the file is OLD: yes
    a comment names the line of the whole proposal
        OLD is to become 10=first 23999=changed 29000=again; change 0 is dropped
        | changed is commented on; line 24005 is commented on; run reject_diff
        | c heard file.txt rejected; the clipboard has #L24000: why?, #L24005: why?
    an empty proposal for a large file is accepted as such
        OLD is to become nothing
        | +file.txt reads nothing; the left side has more lines of this: yes
        | nothing is accepted
""")
class Digests(LargeCase):
    @word("in its terminal the CLI gets (.+)")
    def decide_there(self, expected: str) -> Steps:
        answer = self.cli.call("closeDiff", filePath=self.path, suppressNotification=True)
        yield answer.done
        text = large_text(expected)
        self.write("file.txt", text)
        told = sublime.decode_value(answer.result()["content"][0]["text"])
        self.assertTrue(told == {"content": text})

    @word("the companion is restarted")
    def restart(self) -> Steps:
        sublime.run_command("gemini_companion_restart_companion")
        yield from self.until_computed(self.right)

    @word("its edit is known")
    def edit_known(self) -> Steps:
        yield from self.until_told()
        edits = self.running().review.ledger.made.all
        yield lambda: edits and edits[-1].path == self.path

    words = {"the newest is chosen": lambda t: t.asked.pop(0)["on_select"](0)}

    def numbers(self, view: sublime.View) -> dict[str, str]:
        """By each row's text, what stands before it, in the headless editor."""
        found = running.current().view(view.id()).phantoms
        mine = [phantom for phantom in found if phantom.key == marks.NUMBERS]
        return {
            view.substr(view.line(min(phantom.region))): " ".join(html_text.page(phantom.content))
            for phantom in mine
        }

    def test_the_lines_have_the_numbers_that_they_have_in_the_file(self) -> Steps:
        if running is None:
            self.skipTest("only the headless editor tells what is drawn")
        self.assertGreater(len(OLD), LARGE)
        new = large_text("10=first 23999=x").replace("\nx\n", "\nx\ny\nz\n")
        right = self.right = yield from self.propose(OLD, new)
        left = open_diffs.partner_view(right)
        yield lambda: "z" in self.numbers(right)
        for view in (right, left):
            self.assertIs(view.settings().get("line_numbers"), False)
        ours = self.numbers(right)
        self.assertEqual(
            (ours["x"], ours["z"], ours[LINES[24_000][:-1]]), ("24000", "24002", "24003")
        )
        self.assertEqual(ours["... 23,968 lines ..."], "")
        self.assertEqual(self.numbers(left)[LINES[24_000][:-1]], "24001")
        yield from self.drop("1")
        yield from self.until_equal(lambda: self.numbers(right)[LINES[23_999][:-1]], "")

    def test_numbers_come_into_sight_with_their_lines(self) -> Steps:
        if running is None:
            self.skipTest("only the headless editor tells what is drawn")
        rows = " ".join(f"{row}=changed {row}".replace(" ", "_") for row in range(100, 30_000, 100))
        right = yield from self.propose(OLD, large_text(rows))
        yield lambda: "changed_100" in self.numbers(right)
        self.assertNotIn("changed_29900", self.numbers(right))
        self.assertLess(len(self.numbers(right)), 1000)

        def numbers_at_the_end() -> dict[str, str]:
            # Lines between the rows come meanwhile, and the end is further down then.
            right.set_viewport_position((0.0, right.layout_extent()[1]), animate=False)
            return self.numbers(right)

        yield from self.until_equal(lambda: numbers_at_the_end().get("changed_29900"), "29901")
        self.assertNotIn("changed_100", self.numbers(right))

    def test_numbers_that_were_planned_before_the_view_was_scrolled_are_not_drawn(self) -> Steps:
        if running is None:
            self.skipTest("only the headless editor tells what is drawn")
        rows = " ".join(f"{row}=changed {row}".replace(" ", "_") for row in range(100, 30_000, 100))
        right = yield from self.propose(OLD, large_text(rows))
        yield lambda: "changed_100" in self.numbers(right)
        side = self.review(right).comparison.new
        right.erase_phantoms(marks.NUMBERS)
        numbers = marks.LineNumbers(right)
        planned = numbers.drawing_steps(side)
        right.set_viewport_position((0.0, right.layout_extent()[1]), animate=False)
        for draw in (*planned, *numbers.drawing_steps(side)):
            draw()
        shown = self.numbers(right)
        self.assertEqual(("changed_100" in shown, shown["changed_29900"]), (False, "29901"))

    def test_a_comment_is_asked_for_by_the_numbers_of_the_file(self) -> Steps:
        yield from self.becomes("OLD", "23999=changed")
        captions: list[str] = []
        ask = lambda _window, caption, *_: captions.append(caption)  # noqa: E731
        self.replace(sublime.Window, "show_input_panel", ask)
        self.run_command("comment_on_diff")
        self.assertEqual(captions, ["Comment on file.txt L24000"])

    def test_what_comes_after_several_drops_sees_all_of_them(self) -> Steps:
        yield from self.becomes("OLD", "10=first 23999=changed 29000=again")
        keys, seen = self.review(self.right).comparison.keys, []
        self.drop_now("0")
        self.drop_now("2")

        async def see() -> None:
            await self.running().diffs.reviews.presses.wait_for_all(self.review(self.right).id)
            comparison = await self.running().diffs.reviews.wait_for_comparison(self.right)
            seen.append(comparison.dropped if comparison is not None else None)

        self.begin(see())
        yield lambda: seen
        self.assertEqual(seen, [frozenset((keys[0], keys[2]))])

    def test_one_whose_changes_are_too_large_to_be_shown_is_decided_on_as_a_whole(self) -> Steps:
        self.replace(large, "LARGE", 2000)
        self.cli = yield from self.connect()
        self.path = self.write("file.txt", "".join(LINES[:300]))
        new = "".join(line * (1 + number % 2) for number, line in enumerate(LINES[:300]))
        right = yield from self.diff(self.cli, self.path, new)
        self.assertEqual(text_of(right), new[:TRUNCATED_TO])
        yield from self.until_refused("shown in part only")
        yield from self.accepted("nothing")

    def test_one_against_a_file_that_is_another_now_has_its_changes_however_large(self) -> Steps:
        self.replace(large, "LARGE", 2000)
        old = "".join(LINES[:100])
        right = yield from self.propose(old, old + "new\n")
        self.write("file.txt", old.replace("line", "other line"))
        self.run_command("accept_diff")
        yield from self.answer("See")
        yield lambda: self.texts(right, marks.LINES) == [old + "new\n"]
        yield from self.accepted("nothing")

    def test_a_proposal_too_large_to_be_compared_is_shown_in_its_beginning(self) -> Steps:
        self.replace(transport, "LARGE", 0x15000)
        self.cli = yield from self.connect()
        self.path = self.write("file.txt", "old\n")
        right = yield from self.diff(self.cli, self.path, OLD)
        self.assertTrue(OLD.startswith(text_of(right)))
        self.assertTrue(right.is_read_only())
        yield from self.until_refused(reviews.not_compared(record.waiting_record(right)))
        yield from self.accepted("nothing")


class Strange(LargeCase):
    def propose_beside_binary(self, text: str) -> Generator[Any, Any, sublime.View]:
        self.cli = yield from self.connect()
        self.path = self.at("a.bin")
        with open(self.path, "wb") as file:
            file.write(b"\xff\0" * 80)
        return (yield from self.diff(self.cli, self.path, text))

    def test_of_a_proposal_equal_to_the_file_the_head_says_that_nothing_changes(self) -> Steps:
        for text in ("same\n", OLD):
            right = yield from self.propose(text, text)
            self.assertEqual(self.review(right).diff_summary(right).text(), "nothing changes")
            self.run_command("drop_change")
            self.run_command("reject_diff")
            yield from self.until_rejected()

    def test_of_a_line_of_two_megabytes_the_part_that_differs_is_shown(self) -> Steps:
        row = "x" * 1_200_000
        right = yield from self.propose(f"{row}old{row}\n", f"{row}new{row}\n")
        self.assertIn("new", text_of(right))
        self.assertIn("old", text_of(open_diffs.partner_view(right)))
        self.assertLess(right.size(), 10_000)

    def test_beside_a_binary_file_the_beginning_of_a_large_proposal_is_shown(self) -> Steps:
        right = yield from self.propose_beside_binary(OLD)
        self.assertTrue(OLD.startswith(text_of(right)))
        self.assertIn("binary", text_of(open_diffs.partner_view(right)))
        self.assertTrue(right.is_read_only())
        yield from self.until_refused("shown in part only")

    def test_beside_a_binary_file_a_text_says_why_it_has_no_changes_and_when_that_file_changes(
        self,
    ) -> Steps:
        right = yield from self.propose_beside_binary("text\n")
        yield from self.until_refused("The file is binary; 160 bytes.")
        with open(self.path, "wb") as file:
            file.write(b"\xff\0" * 81)
        yield lambda: "changed on disk" in " ".join(self.review(right).notes.values())

    def accept_after(self, change: Callable[[], None], asked: str) -> Steps:
        """The file becomes something else before Accept, of a small and of a large one."""
        for old, new in (("old\n", "new\n"), (OLD, large_text("10=first 23999=changed"))):
            right = yield from self.propose(old, new)
            before = text_of(right)
            os.remove(self.path)
            change()
            self.run_command("accept_diff")
            yield from self.is_asked(asked)
            yield from self.answer("See")
            if os.path.exists(self.path):
                self.assertEqual(text_of(right), before)
                self.assertTrue(record.is_diff(right))
                os.rmdir(self.path)
            else:
                left = open_diffs.partner_view(right)
                yield lambda: re.match(r"file.txt \(new file[,)]", left.name())  # noqa: B023
                self.assertEqual(text_of(left), "")
            self.run_command("reject_diff")
            yield from self.until_rejected()

    def test_a_file_that_vanishes_is_asked_about_and_compared_as_a_new_one(self) -> Steps:
        yield from self.accept_after(lambda: None, "diff_kinds.FILE_GONE")

    def test_a_file_that_becomes_a_folder_is_asked_about_and_loses_no_proposal(self) -> Steps:
        yield from self.accept_after(lambda: os.mkdir(self.path), "a folder")
