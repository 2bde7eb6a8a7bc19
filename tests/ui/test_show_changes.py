"""Show Changes: the proposals and unasked edits of a window in one view."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from dataclasses import replace
from typing import Any, Generator
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.base import file_content
from GeminiCompanion.companion.base.file_content import Original
from GeminiCompanion.companion.base.unified import NO_LINE_END
from GeminiCompanion.companion.edits import edit_store
from GeminiCompanion.companion.edits.edit import Edit, EditState
from GeminiCompanion.companion.ide.windows import Windows
from GeminiCompanion.companion.ui.changes import deciding, undoing
from GeminiCompanion.companion.ui.changes.sheet import ASIDE, NOT_HERE, TYPED_BEFORE, ChangeSheet
from GeminiCompanion.companion.ui.changes.sheet_files import NOTHING
from GeminiCompanion.companion.ui.changes.typed_edits import YOURS
from GeminiCompanion.companion.ui.changes.unasked_edit_source import PREFIX
from GeminiCompanion.companion.ui.review import large, open_diffs
from GeminiCompanion.companion.ui.review.record import (
    is_diff,
    seen_changes,
    update_record,
    waiting_record,
)
from GeminiCompanion.companion.ui.texts import select_ranges

from .adapter import text_of
from .reviewing import ReviewCase, Steps

OLD = "".join(f"line {number}\n" for number in range(1, 31))
# Told of a file in which nothing can be typed now.
IN_A_TAB = ASIDE.partition("{}")[2]


class SheetCase(ReviewCase):
    def propose_files(self, *pairs: tuple[str, str]) -> Generator[Any, Any, list[sublime.View]]:
        """Proposals of one CLI for the files 0.py, 1.py and so on."""
        self.cli = yield from self.connect()
        rights = []
        for number, (old, new) in enumerate(pairs):
            path = self.write(f"{number}.py", old)
            right = yield from self.diff(self.cli, path, new)
            yield from self.until_computed(right)
            rights.append(right)
        return rights

    def show(self) -> Generator[Any, Any, sublime.View]:
        self.run_command("show_changes", show="tab")
        view = self.window.active_view()
        self.assertIs(view.settings().get("gemini_companion_changes"), True)
        yield from self.until_drawn(view)
        return view

    def sheet(self, view: sublime.View) -> ChangeSheet:
        found = self.running().changes.sheets.sheet_of(view)
        self.assertIsNotNone(found)
        return found  # type: ignore[return-value]

    def until_drawn(self, view: sublime.View) -> Steps:
        answer = self.sheet(view).refresh()
        yield lambda: answer.is_there
        self.assertEqual(text_of(view), self.sheet(view).model.text)

    def decide(self, view: sublime.View, action: str, file: str = "", key: str = "") -> None:
        arguments = {"sheet": str(view.buffer_id()), "action": action, "file": file, "change": key}
        self.run_command("decide_changes", **arguments)

    def id(self, right: sublime.View) -> str:
        return waiting_record(right).id  # type: ignore[union-attr]

    def type(self, view: sublime.View, before: str, words: str) -> None:
        """Type the words behind this text."""
        point = text_of(view).index(before) + len(before)
        view.sel().clear()
        view.sel().add(sublime.Region(point))
        view.run_command("insert", {"characters": words})


class Showing(SheetCase):
    def test_without_changes_it_says_so(self) -> Steps:
        view = yield from self.show()
        self.assertEqual(text_of(view), f"{NOTHING}\n\n")

    def test_all_proposals_of_the_window_are_below_each_other(self) -> Steps:
        two = OLD.replace("line 2\n", "")
        yield from self.propose_files((OLD, OLD.replace("line 15", "LINE 15")), (OLD, two))
        view = yield from self.show()
        rows = text_of(view).splitlines()
        self.assertEqual(rows[0], "2 proposals in 2 files: 1 line added, 2 removed")
        self.assertEqual(list(view.sel()), [sublime.Region(0)])
        self.assertIn("0.py  +1 -1, proposed by", rows[2])
        self.assertIn("LINE 15", rows)
        self.assertIn("line 2", rows)
        yield lambda: self.texts(view, "gemini_companion_changes_added_0") == ["LINE 15\n"]
        removed = self.texts(view, "gemini_companion_changes_removed_0")
        self.assertEqual(removed, ["line 15\n", "line 2\n"])

    def test_files_are_in_the_order_of_their_paths_whatever_was_proposed_first(self) -> Steps:
        self.cli = yield from self.connect()
        view = yield from self.show()
        for name in ("z.py", "b/new.py", "a.py"):
            right = yield from self.diff(self.cli, os.path.join(self.folder, name), "made\n")
            yield from self.until_computed(right)
            yield from self.until_drawn(view)
        heads = [row.split()[1] for row in text_of(view).splitlines() if row.startswith("## ")]
        self.assertEqual([os.path.basename(head) for head in heads], ["a.py", "new.py", "z.py"])

    def test_characters_that_differ_within_lines_are_marked(self) -> Steps:
        new = OLD.replace("line 3\n", "lime 3\n").replace("line 20\n", "quite other\n")
        (right,) = yield from self.propose_files((OLD, new))
        view = yield from self.show()
        added, removed = (
            f"gemini_companion_changes_{kind}_0_characters" for kind in ("added", "removed")
        )
        yield lambda: self.texts(view, added)
        self.assertEqual(self.texts(view, added), self.texts(right, "gemini_companion_characters"))
        self.assertEqual(self.texts(view, removed), ["n"])
        self.type(view, "lime 3", " 4")
        yield from self.until_in("lime 3 4", lambda: text_of(right))
        yield from self.until_computed(right)
        yield from self.until_drawn(view)
        yield lambda: " 4" in self.texts(view, added)

    def test_it_follows_what_comes_goes_and_is_typed_elsewhere(self) -> Steps:
        view = yield from self.show()
        (right,) = yield from self.propose_files((OLD, OLD.replace("line 3\n", "LINE 3\n")))
        yield from self.until_in("LINE 3", lambda: text_of(view))
        right.run_command("append", {"characters": "more\n"})
        yield from self.until_in("more\n", lambda: text_of(view))
        self.run_command("reject_diff", id=self.id(right))
        yield from self.until_equal(lambda: text_of(view), f"{NOTHING}\n\n")
        yield from self.until_rejected()

    def test_new_files_emptied_ones_and_missing_line_ends_are_shown_as_what_they_are(self) -> Steps:
        yield from self.propose_files((OLD, ""), ("one\ntwo", "one\n2"))
        new = os.path.join(self.folder, "new.py")
        right = yield from self.diff(self.cli, new, "made\n")
        yield from self.until_computed(right)
        view = yield from self.show()
        text = text_of(view)
        self.assertIn("0.py  +0 -30, proposed by", text)
        self.assertIn("two\n" + NO_LINE_END + "2\n" + NO_LINE_END, text)
        self.assertIn("new.py  +1 -0, new file, proposed by", text)
        self.type(view, "\nmade", " here")
        yield from self.until_equal(lambda: text_of(right), "made here\n")

    def test_shown_again_it_is_the_same_view(self) -> Steps:
        view = yield from self.show()
        again = yield from self.show()
        self.assertEqual(view, again)


class Typing(SheetCase):
    def test_what_is_typed_in_an_added_line_is_in_the_proposal(self) -> Steps:
        (right,) = yield from self.propose_files((OLD, OLD.replace("line 3\n", "LINE 3\n")))
        view = yield from self.show()
        self.type(view, "LINE 3", " typed")
        expected = OLD.replace("line 3\n", "LINE 3 typed\n")
        yield from self.until_equal(lambda: text_of(right), expected)
        yield from self.until_computed(right)
        yield from self.until_drawn(view)
        self.assertIn("LINE 3 typed\n", text_of(view))
        view.run_command("undo")
        yield from self.until_equal(lambda: text_of(right), OLD.replace("line 3\n", "LINE 3\n"))

    def test_what_is_typed_where_the_proposal_has_become_another_is_in_a_tab(self) -> Steps:
        (right,) = yield from self.propose_files((OLD, OLD.replace("line 3\n", "LINE 3\n")))
        view = yield from self.show()
        right.run_command("append", {"characters": "elsewhere\n"})
        self.type(view, "LINE 3", " and mine")
        self.sheet(view).take_typed()
        yield from self.until_turn()
        (kept,) = [each for each in self.window.views() if "LINE 3 and mine" in text_of(each)]
        self.assertIn("your edits", kept.name())
        self.assertNotIn("and mine", text_of(view))

    def test_what_is_refused_is_in_a_tab_together_with_what_was_passed_on_before(self) -> Steps:
        new = OLD.replace("line 3\n", "LINE 3\n").replace("line 20\n", "LINE 20\n")
        (right,) = yield from self.propose_files((OLD, new))
        view = yield from self.show()
        self.type(view, "LINE 3", " AAAA")
        self.sheet(view).take_typed()
        right.run_command("append", {"characters": "elsewhere\n"})
        self.type(view, "LINE 20", " B")
        self.sheet(view).take_typed()
        yield from self.until_turn()
        # The tab of the test before may come late.
        (kept,) = [each for each in self.window.views() if "LINE 20 B" in text_of(each)]
        self.assertIn("your edits", kept.name())
        both = new.replace("LINE 3", "LINE 3 AAAA").replace("LINE 20", "LINE 20 B")
        self.assertEqual(text_of(kept), both)

    def test_undo_takes_back_what_was_typed_or_dropped_last(self) -> Steps:
        new = OLD.replace("line 3\n", "LINE 3\n").replace("line 20\n", "LINE 20\n")
        (right,) = yield from self.propose_files((OLD, new))
        view = yield from self.show()
        self.decide(view, "drop_change", self.id(right), self.review(right).comparison.keys[0])  # type: ignore[union-attr]
        yield lambda: "LINE 3" not in text_of(view)
        view.run_command("undo")
        yield from self.until_equal(lambda: text_of(right), new)
        yield from self.until_in("LINE 3\n", lambda: text_of(view))
        self.type(view, "LINE 20", "\nmore")
        yield from self.until_in("LINE 20\nmore\n", lambda: text_of(right))
        yield from self.until_computed(right)
        yield from self.until_drawn(view)
        self.assertIn("+3 -2", text_of(view))
        view.run_command("undo")
        yield from self.until_equal(lambda: text_of(right), new)
        yield from self.until_in("+2 -2", lambda: text_of(view))

    def test_what_is_typed_is_taken_back_where_its_review_is_read_only(self) -> Steps:
        new = OLD.replace("line 3\n", "LINE 3\n")
        (right,) = yield from self.propose_files((OLD, new))
        view, told = (yield from self.show()), self.told()
        right.set_read_only(True)
        self.type(view, "LINE 3", " typed")
        yield lambda: any(IN_A_TAB in sentence for sentence in told)
        self.assertNotIn("typed", text_of(view))
        self.assertEqual(text_of(right), new)

    def test_what_is_typed_elsewhere_is_put_back(self) -> Steps:
        (right,) = yield from self.propose_files((OLD, OLD.replace("line 3\n", "LINE 3\n")))
        view = yield from self.show()
        before = text_of(view)
        for place in ("0.py", "line 2", "line 3", "line 4", "1 proposal"):
            self.type(view, place, "x")
            yield from self.until_equal(lambda: text_of(view), before)
        self.assertEqual(text_of(right), OLD.replace("line 3\n", "LINE 3\n"))


class Deciding(SheetCase):
    def test_a_change_is_kept_and_dropped(self) -> Steps:
        new = OLD.replace("line 3\n", "LINE 3\n").replace("line 20\n", "LINE 20\n")
        (right,) = yield from self.propose_files((OLD, new))
        view = yield from self.show()
        first, second = self.review(right).comparison.keys  # type: ignore[union-attr]
        self.decide(view, "keep_change", self.id(right), first)
        yield lambda: first in seen_changes(right)
        self.decide(view, "drop_change", self.id(right), second)
        yield from self.until_equal(lambda: text_of(right), OLD.replace("line 3\n", "LINE 3\n"))
        yield lambda: "LINE 20" not in text_of(view)

    def test_a_file_is_accepted_with_what_was_typed_in_the_sheet(self) -> Steps:
        (right,) = yield from self.propose_files((OLD, OLD.replace("line 3\n", "LINE 3\n")))
        view = yield from self.show()
        self.type(view, "LINE 3", " typed")
        self.decide(view, "accept_file", self.id(right))
        yield lambda: not is_diff(right)
        yield lambda: self.cli.received("ide/diffAccepted")
        (told,) = self.cli.received("ide/diffAccepted")
        self.assertIn("LINE 3 typed\n", told["content"])

    def test_all_are_accepted_after_the_user_is_told_what_is_counted(self) -> Steps:
        news = [OLD.replace("line 3\n", f"{letter}\n") for letter in "ab"]
        rights = yield from self.propose_files(*((OLD, new) for new in news))
        view = yield from self.show()
        panels = self.panels()
        self.decide(view, "accept_all")
        yield lambda: panels
        asked = "Accept 2 proposals in 2 files, 2 lines added, 2 removed?"
        self.assertEqual(panels[0]["placeholder"], asked)
        panels[0]["on_select"](0)
        yield lambda: not any(is_diff(right) for right in rights)
        yield lambda: len(self.cli.received("ide/diffAccepted")) == 2
        yield from self.until_equal(lambda: text_of(view), f"{NOTHING}\n\n")

    def test_what_comes_or_changes_while_the_user_is_asked_waits(self) -> Steps:
        first, second = yield from self.propose_files((OLD, "a\n" + OLD), (OLD, "b\n" + OLD))
        view = yield from self.show()
        panels, told = self.panels(), self.told()
        self.decide(view, "reject_all")
        yield lambda: panels
        second.run_command("append", {"characters": "more\n"})
        third = yield from self.diff(self.cli, self.write("third.py", OLD), "c\n" + OLD)
        panels[0]["on_select"](0)
        yield lambda: not is_diff(first)
        yield from self.until_rejected()
        self.assertTrue(is_diff(second) and is_diff(third))
        yield lambda: any("1 of 2 rejected. 1 changed meanwhile" in sentence for sentence in told)

    def test_what_cannot_be_compared_is_not_decided_with_the_others(self) -> Steps:
        self.replace(large, "LARGE", 40)
        self.replace(large, "digest_for", _no_digest)
        first = yield from self.shown_in_part()
        self.replace(large, "LARGE", 2**20)
        second = yield from self.diff(self.cli, self.write("b.py", OLD), "b\n" + OLD)
        yield from self.until_computed(second)
        view = yield from self.show()
        self.assertIn(
            "## a.py  not compared, proposed by", text_of(view).replace(self.folder + os.sep, "")
        )
        panels, told = self.panels(), self.told()
        self.decide(view, "reject_all")
        yield lambda: panels
        self.assertIn("Reject 1 proposal in 1 file,", panels[0]["placeholder"])
        self.assertIn(deciding.HIDDEN.format(1), str(panels[0]["items"][0]))
        panels[0]["on_select"](0)
        yield from self.until_rejected()
        self.assertTrue(is_diff(first))
        left = "1 cannot be shown here: decide on each one alone."
        yield lambda: any(left in sentence for sentence in told)

    def shown_in_part(self) -> Generator[Any, Any, sublime.View]:
        self.cli = yield from self.connect()
        right = yield from self.diff(self.cli, self.write("a.py", OLD), "a\n" + OLD)
        return right

    def test_all_that_were_accepted_are_undone_together(self) -> Steps:
        news = [OLD.replace("line 3\n", f"{letter}\n") for letter in "ab"]
        rights = yield from self.propose_files(*((OLD, new) for new in news))
        view = yield from self.show()
        panels, told = self.panels(), self.told()
        self.decide(view, "accept_all")
        yield lambda: panels
        panels.pop()["on_select"](0)
        yield lambda: not any(is_diff(right) for right in rights)
        yield lambda: self.sheet(view).marking.undoable == "Undo 2 accepted"
        for number, new in enumerate(news):
            self.write(f"{number}.py", new)
        self.decide(view, "undo_all")
        yield lambda: panels
        self.assertEqual(panels[0]["placeholder"], "Undo 2 accepted edits?")
        panels.pop()["on_select"](0)
        yield lambda: any("2 of 2 accepted edits undone." in sentence for sentence in told)
        for number in range(2):
            self.assertEqual(self.read(f"{number}.py"), OLD)
        self.decide(view, "undo_all")
        yield lambda: any(undoing.NOTHING_TO_UNDO in sentence for sentence in told)

    def read(self, name: str) -> str:
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()

    def test_a_change_of_a_large_file_is_dropped_and_taken_back_but_not_typed_in(self) -> Steps:
        self.replace(large, "LARGE", 1500)
        old = "".join(f"line {number}\n" for number in range(1, 301))
        new = old.replace("line 50\n", "LINE 50\n").replace("line 250\n", "LINE 250\n")
        (right,) = yield from self.propose_files((old, new))
        self.assertTrue(right.is_read_only())
        view = yield from self.show()
        before = text_of(view)
        self.type(view, "LINE 50", "x")
        yield from self.until_equal(lambda: text_of(view), before)
        key = self.review(right).comparison.keys[0]  # type: ignore[union-attr]
        self.decide(view, "drop_change", self.id(right), key)
        yield lambda: "LINE 50" not in text_of(view)
        self.assertIn("line 50\n", text_of(view))
        self.decide(view, "drop_change", self.id(right), key)
        yield from self.until_equal(lambda: text_of(view), before)

    def test_what_is_decided_elsewhere_while_the_user_is_asked_is_not_decided_again(self) -> Steps:
        first, second = yield from self.propose_files((OLD, "a\n" + OLD), (OLD, "b\n" + OLD))
        view = yield from self.show()
        panels, told = self.panels(), self.told()
        self.decide(view, "accept_all")
        yield lambda: panels
        self.run_command("reject_diff", id=self.id(first))
        yield from self.until_rejected()
        panels[0]["on_select"](0)
        yield lambda: not is_diff(second)
        yield lambda: any("1 of 2 accepted." in sentence for sentence in told)
        # The user may be told before the CLI.
        yield lambda: self.cli.received("ide/diffAccepted")
        self.assertEqual(len(self.cli.received("ide/diffAccepted")), 1)

    def test_doubts_about_one_keep_no_other_one_waiting(self) -> Steps:
        first, second = yield from self.propose_files((OLD, "a\n" + OLD), (OLD, "b\n" + OLD))
        self.write("0.py", "another\n")
        view = yield from self.show()
        panels, told = self.panels(), self.told()
        self.decide(view, "accept_all")
        yield lambda: panels
        panels.pop()["on_select"](0)
        yield lambda: panels
        self.assertIn("0.py: The file has changed on disk", panels[0]["placeholder"])
        yield lambda: self.cli.received("ide/diffAccepted")
        self.assertFalse(is_diff(second))
        panels[0]["on_select"](-1)
        yield lambda: any("1 of 2 accepted. Not decided: 0.py." in sentence for sentence in told)
        self.assertTrue(is_diff(first))

    def test_saving_the_sheet_asks_whether_to_accept_all(self) -> Steps:
        yield from self.propose_files((OLD, "a\n" + OLD))
        view = yield from self.show()
        panels = self.panels()
        view.run_command("save")
        yield lambda: panels
        self.assertTrue(panels[0]["placeholder"].startswith("Accept 1 proposal in 1 file"))
        panels[0]["on_select"](1)


class UnaskedCase(SheetCase):
    """Edits that a CLI made without asking."""

    def tearDown(self) -> Steps:
        kept = self.running().review.ledger.made
        for edit in kept.of_window(self.window.id()):
            kept.replace(edit, None)
        yield from super().tearDown()

    def made(self, name: str, old: str, new: str) -> str:
        """An edit that was made already; gives the id that a sheet has for it."""
        return self._made(name, file_content.read_original(self.write(name, old)), new)

    def made_new(self, name: str, new: str) -> str:
        """The same of a new file."""
        return self._made(name, file_content.read_original(os.path.join(self.folder, name)), new)

    def _made(self, name: str, before: Original, new: str) -> str:
        path = self.write(name, new)
        edit = Edit(
            self.window.id(),
            path,
            before,
            new,
            "Gemini CLI",
            1.0,
            turn="t",
            prompt="do",
            state=EditState.WRITTEN,
        )
        self.running().review.ledger.made.add(edit)
        return PREFIX + edit.id

    def on_disk(self, name: str) -> str:
        with open(os.path.join(self.folder, name), encoding="utf-8") as file:
            return file.read()


class Unasked(UnaskedCase):
    def test_a_restored_sheet_waits_for_texts_of_proposals_and_of_no_edit_that_was_made(
        self,
    ) -> Steps:
        (proposal,) = yield from self.propose_files((OLD, "added\n" + OLD))
        self.made("made.py", OLD, "made\n" + OLD)
        view = yield from self.show()
        self.type(view, "\nmade", " too")
        written = open_diffs.made_edit_views
        yield lambda: any(text_of(each) == "made too\n" + OLD for each in written().values())
        yield from self.until_drawn(view)
        sheet = self.sheet(view)
        (made,) = written().values()
        for right, waits in ((made, False), (proposal, True)):
            found = waiting_record(right)
            assert found is not None
            update_record(right, found, is_restored=True)
            self.assertIs(sheet._files.are_restoring(sheet.model.sections), waits)

    def test_they_are_shown_beside_proposals_without_a_tab_of_their_own(self) -> Steps:
        self.made("b.py", OLD, "b\n" + OLD)
        yield from self.propose_files((OLD, "a\n" + OLD))
        view = yield from self.show()
        first = "1 proposal and 1 edit made without asking in 2 files: 2 lines added, 0 removed"
        self.assertEqual(text_of(view).splitlines()[0], first)
        self.assertEqual(len(list(open_diffs.undecided_diffs(self.window))), 1)

    def test_one_is_kept_and_one_undone(self) -> Steps:
        kept = self.made("a.py", OLD, "a\n" + OLD)
        undone = self.made("b.py", OLD, "b\n" + OLD)
        view = yield from self.show()
        self.decide(view, "accept_file", kept)
        yield lambda: "a.py" not in text_of(view)
        self.assertEqual(self.on_disk("a.py"), "a\n" + OLD)
        self.decide(view, "reject_file", undone)
        yield from self.until_equal(lambda: text_of(view), f"{NOTHING}\n\n")
        self.assertEqual(self.on_disk("b.py"), OLD)

    def test_what_is_typed_opens_the_review_and_is_in_it(self) -> Steps:
        id = self.made("a.py", OLD, "added\n" + OLD)
        view = yield from self.show()
        self.type(view, "\nadded", " first")
        self.type(view, "added first", " second")
        yield lambda: list(open_diffs.undecided_diffs(self.window))
        ((right, _),) = open_diffs.undecided_diffs(self.window)
        expected = "added first second\n" + OLD
        yield from self.until_equal(lambda: text_of(right), expected)
        self.assertEqual(self.window.active_view(), view)
        yield from self.until_computed(right)
        yield from self.until_drawn(view)
        self.assertIn("added first second\n", text_of(view))
        self.decide(view, "accept_file", id)
        yield from self.until_equal(lambda: self.on_disk("a.py"), expected)

    def test_what_is_typed_is_in_a_tab_where_the_review_has_another_text(self) -> Steps:
        id = self.made("a.py", OLD, "added\n" + OLD)
        view, told = (yield from self.show()), self.told()
        source = self.sheet(view).find_source(id)
        assert source is not None
        open_review = source.open_review

        async def open_and_type(window: sublime.Window, id: str) -> sublime.View | None:
            right = await open_review(window, id)
            assert right is not None
            right.sel().clear()
            right.sel().add(sublime.Region(0))
            right.run_command("insert", {"characters": "typed\n"})
            return right

        self.replace(source, "open_review", open_and_type)
        self.type(view, "\nadded", " here")
        yield lambda: any(IN_A_TAB in sentence for sentence in told)
        ((right, _),) = open_diffs.undecided_diffs(self.window)
        self.assertEqual(text_of(right), "typed\nadded\n" + OLD)

    def test_those_of_one_file_are_all_counted_beside_a_proposal_for_it(self) -> Steps:
        yield from self.propose_files((OLD, "a\n" + OLD))
        self.made("0.py", OLD, "b\n" + OLD)
        self.made("0.py", "b\n" + OLD, "c\nb\n" + OLD)
        view = yield from self.show()
        panels = self.panels()
        self.decide(view, "accept_all")
        yield lambda: panels
        what = "Accept 1 proposal and 2 edits made without asking in 1 file,"
        self.assertIn(what, panels[0]["placeholder"])
        panels[0]["on_select"](1)

    def test_all_are_undone_after_the_user_is_told_what_is_counted(self) -> Steps:
        for name in ("a.py", "b.py"):
            self.made(name, OLD, "more\n" + OLD)
        view = yield from self.show()
        panels = self.panels()
        self.decide(view, "reject_all")
        yield lambda: panels
        asked = "Reject 2 edits made without asking in 2 files, 2 lines added, 0 removed?"
        self.assertEqual(panels[0]["placeholder"], asked)
        panels[0]["on_select"](0)
        yield from self.until_equal(lambda: text_of(view), f"{NOTHING}\n\n")
        self.assertEqual([self.on_disk("a.py"), self.on_disk("b.py")], [OLD, OLD])

    def test_what_cannot_be_undone_is_named(self) -> Steps:
        for name in ("a.py", "b.py"):
            self.made(name, OLD, "more\n" + OLD)
        view = yield from self.show()
        panels, told = self.panels(), self.told()
        self.write("a.py", "another\n")
        self.decide(view, "reject_all")
        yield lambda: panels
        panels[0]["on_select"](0)
        yield lambda: any("1 of 2 rejected. Not decided: a.py." in sentence for sentence in told)
        self.assertEqual([self.on_disk("a.py"), self.on_disk("b.py")], ["another\n", OLD])

    def test_a_change_of_one_is_dropped_in_its_review(self) -> Steps:
        id = self.made("a.py", OLD, "a\n" + OLD + "z\n")
        view = yield from self.show()
        section = self.sheet(view).find_section(id)
        self.decide(view, "drop_change", id, section.file.comparison.keys[0])  # type: ignore[union-attr]
        yield lambda: list(open_diffs.undecided_diffs(self.window))
        ((right, _),) = open_diffs.undecided_diffs(self.window)
        yield from self.until_equal(lambda: text_of(right), OLD + "z\n")


class Going(SheetCase):
    def test_enter_on_a_line_of_context_goes_to_it_in_the_review(self) -> Steps:
        (right,) = yield from self.propose_files((OLD, OLD.replace("line 15\n", "LINE 15\n")))
        view = yield from self.show()
        for place, row in (("line 13\n", 12), ("line 15\n", 14), ("0.py", 14), ("line 12 @@", 14)):
            with self.subTest(place):
                self.window.focus_view(view)
                self.enter(view, place)
                yield lambda: self.window.active_view() == right
                yield from self.until_equal(lambda: right.rowcol(right.sel()[0].b)[0], row)
        self.assertEqual(text_of(view), self.sheet(view).model.text)

    def enter(self, view: sublime.View, place: str) -> None:
        view.sel().clear()
        view.sel().add(sublime.Region(text_of(view).index(place)))
        view.run_command("insert", {"characters": "\n"})

    def test_the_commands_on_a_proposal_mean_what_is_at_the_caret(self) -> Steps:
        new = OLD.replace("line 3\n", "LINE 3\n").replace("line 20\n", "LINE 20\n")
        first, second = yield from self.propose_files((OLD, new), (OLD, new))
        view = yield from self.show()
        for _ in range(3):
            self.run_command("next_change")
        rows = [start.caret for start in self.sheet(view).model.change_starts]
        self.assertEqual(view.rowcol(view.sel()[0].b)[0], rows[2])
        self.run_command("drop_change")
        left = OLD.replace("line 20\n", "LINE 20\n")
        yield from self.until_equal(lambda: text_of(second), left)
        self.assertEqual((text_of(first), self.window.active_view()), (new, view))
        self.run_command("reject_diff")
        yield lambda: not is_diff(second)
        yield from self.until_rejected()
        self.assertTrue(is_diff(first))

    def test_enter_in_an_added_line_types(self) -> Steps:
        (right,) = yield from self.propose_files((OLD, OLD.replace("line 15\n", "LINE 15\n")))
        view = yield from self.show()
        self.enter(view, "15\n@@" if "15\n@@" in text_of(view) else " 15\nline 16")
        yield from self.until_equal(lambda: text_of(right), OLD.replace("line 15\n", "LINE\n 15\n"))


class Lasting(UnaskedCase):
    def test_a_clone_shows_and_takes_the_same(self) -> Steps:
        (right,) = yield from self.propose_files((OLD, "added\n" + OLD))
        view = yield from self.show()
        self.window.run_command("clone_file")
        clone = self.window.active_view()
        self.assertNotEqual(clone, view)
        yield lambda: self.texts(clone, "gemini_companion_changes_added_0") == ["added\n"]
        self.type(clone, "\nadded", " too")
        yield from self.until_equal(lambda: text_of(right), "added too\n" + OLD)
        view.close()
        yield from self.until_computed(right)
        self.type(clone, "added too", "!")
        yield from self.until_equal(lambda: text_of(right), "added too!\n" + OLD)

    def test_a_sheet_from_before_a_restart_is_drawn_anew(self) -> Steps:
        yield from self.propose_files((OLD, "added\n" + OLD))
        view = yield from self.show()
        before = text_of(view)
        plugin._host.stop()
        plugin._host.start()
        yield lambda: plugin._host.is_running
        yield lambda: self.running().changes.sheets.sheet_of(view) is not None
        yield from self.until_equal(lambda: text_of(view), before)

    def test_what_a_sheet_showed_before_a_restart_is_not_taken_for_typed(self) -> Steps:
        yield from self.propose_files((OLD, "added\n" + OLD))
        view = yield from self.show()
        before, sentences = text_of(view), self.told()
        plugin._host.stop()
        # As if it had shown other counts then.
        self.type(view, "1 proposal", "s")
        plugin._host.start()
        yield lambda: plugin._host.is_running
        yield from self.until_equal(lambda: text_of(view), before)
        self.assertNotIn(NOT_HERE, " ".join(sentences))

    def test_what_is_typed_early_stays_where_a_heading_says_something_else_by_then(self) -> Steps:
        (right,) = yield from self.propose_files((OLD, "added\n" + OLD))
        view = yield from self.show()
        sentences = self.told()
        plugin._host.stop()
        self.type(view, "\nadded", " early")
        found = waiting_record(right)
        assert found is not None
        update_record(right, found, client="Another CLI")
        plugin._host.start()
        yield lambda: plugin._host.is_running
        yield from self.until_equal(lambda: text_of(right), "added early\n" + OLD)
        yield from self.until_in("proposed by Another CLI\n", lambda: text_of(view))
        yield from self.until_in("\nadded early\n", lambda: text_of(view))
        self.assertNotIn(TYPED_BEFORE, " ".join(sentences))
        self.assertNotIn(NOT_HERE, " ".join(sentences))

    def test_a_line_that_reads_like_a_heading_is_none_after_a_restart(self) -> Steps:
        first, second = yield from self.propose_files((OLD, "added\n" + OLD), (OLD, "new\n" + OLD))
        view = yield from self.show()
        heading = next(row for row in text_of(view).splitlines() if "1.py" in row)
        path = waiting_record(first).path
        first = yield from self.diff(self.cli, path, f"{heading}\n{OLD}")
        # As a heading, and as a line of the first file.
        yield from self.until_equal(lambda: text_of(view).count(f"\n{heading}\n"), 2)
        yield from self.until_drawn(view)
        plugin._host.stop()
        found = waiting_record(second)
        assert found is not None
        update_record(second, found, client="Another CLI")
        plugin._host.start()
        yield lambda: plugin._host.is_running
        yield from self.until_in("proposed by Another CLI\n", lambda: text_of(view))
        yield from self.until_equal(lambda: text_of(view) == self.sheet(view).model.text, True)
        self.assertEqual(text_of(first), f"{heading}\n{OLD}")

    def test_the_caret_stays_while_the_saved_edits_are_loaded(self) -> Steps:
        self.made("made.py", OLD, "made\n" + OLD)
        kept = self.running().review.ledger.made
        (edit,) = kept.of_window(self.window.id())
        # One of old times is not loaded.
        kept.replace(edit, replace(edit, at=time.time()))
        view = yield from self.show()
        before, at = text_of(view), text_of(view).index("\nmade") + 3
        select_ranges(view, [(at, at)])
        edit_store.writer.finish()
        load, may_load = edit_store.load_edits, threading.Event()
        self.addCleanup(may_load.set)

        def late(folder: str) -> list[Edit]:
            may_load.wait(60)
            return load(folder)

        self.replace(edit_store, "load_edits", late)
        plugin._host.stop()
        plugin._host.start()
        yield lambda: plugin._host.is_running
        yield lambda: self.running().changes.sheets.sheet_of(view) is not None
        answer = self.sheet(view).refresh()
        yield lambda: answer.is_there
        self.assertEqual(text_of(view), before)
        may_load.set()
        yield lambda: self.sheet(view).model.sections[1:]
        yield from self.until_drawn(view)
        self.assertEqual((text_of(view), view.sel()[0].b), (before, at))

    def test_what_is_typed_into_a_sheet_before_the_package_is_there_reaches_its_file(self) -> Steps:
        (right,) = yield from self.propose_files((OLD, "added\n" + OLD))
        view = yield from self.show()
        plugin._host.stop()
        self.type(view, "\nadded", " too")
        plugin._host.start()
        yield lambda: plugin._host.is_running
        yield from self.until_equal(lambda: text_of(right), "added too\n" + OLD)
        self.assertIn("added too\n", text_of(view))
        # They go on where they are.
        view.run_command("insert", {"characters": "!"})
        yield from self.until_equal(lambda: text_of(right), "added too!\n" + OLD)
        self.assertEqual([name for name in self.tabs() if YOURS in name], [])

    def test_it_waits_for_the_text_that_the_companion_has_of_the_review(self) -> Steps:
        (right,) = yield from self.propose_files((OLD, "added\n" + OLD))
        view = yield from self.show()
        self.type(view, "\nadded", " too")
        yield from self.until_equal(lambda: text_of(right), "added too\n" + OLD)
        yield from self.until_drawn(view)
        plugin._host.stop()
        self.type(view, "\nadded too", "!")
        may_run, run = threading.Event(), Windows.run

        async def run_late(windows: Windows, **arguments: Any) -> None:
            await asyncio.get_running_loop().run_in_executor(None, may_run.wait)
            await run(windows, **arguments)

        self.addCleanup(may_run.set)
        with mock.patch.object(Windows, "run", run_late):
            plugin._host.start()
            yield lambda: plugin._host.is_running
            yield lambda: self.running().changes.sheets.sheet_of(view) is not None
            answer = self.sheet(view).refresh()
            yield lambda: answer.is_there
            self.assertEqual(text_of(right), "added too\n" + OLD)
            may_run.set()
            yield from self.until_equal(lambda: text_of(right), "added too!\n" + OLD)
        self.assertEqual([name for name in self.tabs() if YOURS in name], [])

    def test_what_is_typed_there_and_belongs_to_no_file_becomes_a_tab_of_the_user(self) -> Steps:
        yield from self.propose_files((OLD, "added\n" + OLD))
        view = yield from self.show()
        before = text_of(view)
        plugin._host.stop()
        view.run_command("append", {"characters": "typed while nobody looked\n"})
        plugin._host.start()
        yield lambda: plugin._host.is_running
        yield from self.until_equal(lambda: text_of(view), before)
        yield lambda: any(
            "typed while nobody looked\n" in text and name.startswith("Changes (")
            for name, text in self.tabs().items()
        )

    def test_a_closed_sheet_is_forgotten_and_decides_nothing(self) -> Steps:
        (right,) = yield from self.propose_files((OLD, "added\n" + OLD))
        view = yield from self.show()
        id = view.buffer_id()
        self.type(view, "\nadded", " at last")
        view.close()
        yield from self.until_equal(lambda: text_of(right), "added at last\n" + OLD)
        self.running().changes.sheets.forget_closed()
        self.assertIsNone(self.running().changes.sheets.with_id(str(id)))
        self.assertTrue(is_diff(right))

    def test_headings_and_line_numbers_have_colours(self) -> Steps:
        yield from self.propose_files(("a = 1\n", "def f():\n"))
        view = yield from self.show()
        point = text_of(view).index("@@ line 1 @@")
        self.assertIn("comment.line", view.scope_name(point))
        self.assertIn("entity.name.section", view.scope_name(text_of(view).index("0.py")))


async def _no_digest(*_: Any) -> None:
    return None
