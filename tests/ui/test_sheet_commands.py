"""Keys and commands in a sheet of changes: what they undo, decide on, and go to."""

from __future__ import annotations

import os
from typing import Any, Generator, Iterator
from unittest import mock

import sublime
from GeminiCompanion.companion.ui import texts
from GeminiCompanion.companion.ui.changes import (
    keeping,
    sheet_commands,
    sheet_files,
    sources,
    together,
)
from GeminiCompanion.companion.ui.changes.proposal_source import ProposalSource
from GeminiCompanion.companion.ui.changes.sources import SheetEntry
from GeminiCompanion.companion.ui.commands import diff_commands
from GeminiCompanion.companion.ui.review import large, open_diffs, pace, record
from GeminiCompanion.companion.ui.review.record import (
    DiffRecord,
    is_diff,
    read_record,
    seen_changes,
    waiting_record,
)
from GeminiCompanion.companion.ui.running import DIFF_WAITS

from .adapter import text_of
from .reviewing import Steps
from .test_show_changes import OLD, SheetCase, UnaskedCase

NEW = OLD.replace("line 3\n", "LINE 3\n").replace("line 20\n", "LINE 20\n")
OTHER = NEW.replace("LINE", "OTHER")


class CommandCase(SheetCase):
    def caret_at(self, view: sublime.View, text: str) -> None:
        view.sel().clear()
        view.sel().add(sublime.Region(text_of(view).index(text)))

    def caret_line(self, view: sublime.View) -> str:
        return view.substr(view.line(view.sel()[0].b))


class Undoing(CommandCase):
    def test_undo_goes_back_through_all_files_in_which_something_was_typed(self) -> Steps:
        first, second = yield from self.propose_files((OLD, NEW), (OLD, OTHER))
        view = yield from self.show()
        self.type(view, "LINE 3", " a")
        yield from self.until_in("LINE 3 a", lambda: text_of(first))
        self.type(view, "OTHER 3", " b")
        yield from self.until_in("OTHER 3 b", lambda: text_of(second))
        view.run_command("undo")
        yield from self.until_equal(lambda: text_of(second), OTHER)
        view.run_command("undo")
        yield from self.until_equal(lambda: text_of(first), NEW)
        view.run_command("redo")
        yield from self.until_in("LINE 3 a", lambda: text_of(first))
        view.run_command("redo_or_repeat")
        yield from self.until_in("OTHER 3 b", lambda: text_of(second))
        yield from self.until_in("OTHER 3 b", lambda: text_of(view))

    def test_undo_takes_back_what_a_command_has_dropped_and_not_what_was_typed_before(
        self,
    ) -> Steps:
        first, second = yield from self.propose_files((OLD, NEW), (OLD, OTHER))
        view = yield from self.show()
        self.type(view, "LINE 3", " a")
        yield from self.until_in("LINE 3 a", lambda: text_of(first))
        self.caret_at(view, "OTHER 3")
        self.run_command("drop_change")
        yield lambda: "OTHER 3" not in text_of(second) + text_of(view)
        view.run_command("undo")
        yield from self.until_equal(lambda: text_of(second), OTHER)
        self.assertIn("LINE 3 a", text_of(first))

    def test_what_the_sheet_has_drawn_is_never_undone(self) -> Steps:
        (right,) = yield from self.propose_files((OLD, NEW))
        view = yield from self.show()
        before = text_of(view)
        view.run_command("undo")
        yield from self.until_turn()
        self.assertEqual((text_of(view), text_of(right)), (before, NEW))


class Typing(CommandCase):
    def test_what_is_typed_while_other_files_are_looked_at_stays(self) -> Steps:
        self.replace(sheet_files, "AT_ONCE", 1)
        first, _second = yield from self.propose_files((OLD, NEW), (OLD, OTHER))
        view = yield from self.show()
        original, due = ProposalSource.entries, [False]

        def entries(source: ProposalSource, window: sublime.Window) -> Iterator[SheetEntry]:
            for number, entry in enumerate(original(source, window)):
                if number == 1 and due[0]:
                    due[0] = False
                    self.type(view, "LINE 3 a", "b")
                yield entry

        self.replace(ProposalSource, "entries", entries)
        self.type(view, "LINE 3", " a")
        yield from self.until_in("LINE 3 a", lambda: text_of(first))
        yield from self.until_computed(first)
        due[0] = True
        yield from self.until_drawn(view)
        self.type(view, "LINE 3 ab", "c")
        yield from self.until_in("LINE 3 abc", lambda: text_of(first))

    def test_enter_where_nothing_can_be_typed_goes_to_the_review(self) -> Steps:
        self.replace(large, "LARGE", 1500)
        old = "".join(f"line {number}\n" for number in range(1, 301))
        (right,) = yield from self.propose_files((old, old.replace("line 50\n", "LINE 50\n")))
        view = yield from self.show()
        self.caret_at(view, "LINE 50")
        view.run_command("insert", {"characters": "\n"})
        yield lambda: self.window.active_view() == right

    def test_what_is_typed_at_several_carets_is_in_each_proposal(self) -> Steps:
        first, second = yield from self.propose_files((OLD, NEW), (OLD, NEW))
        view = yield from self.show()
        view.sel().clear()
        for region in view.find_all("LINE 3|LINE 20"):
            view.sel().add(sublime.Region(region.end()))
        for letter in "ab":
            view.run_command("insert", {"characters": letter})
        view.run_command("insert", {"characters": "\n"})
        view.run_command("insert", {"characters": "more"})
        want = NEW.replace("LINE 3", "LINE 3ab\nmore").replace("LINE 20", "LINE 20ab\nmore")
        yield from self.until_equal(lambda: text_of(first), want)
        yield from self.until_equal(lambda: text_of(second), want)

    def test_lines_of_two_changes_are_not_deleted_together_and_many_are_pasted(self) -> Steps:
        (first,) = yield from self.propose_files((OLD, NEW))
        view = yield from self.show()
        before = text_of(view)
        start, end = (before.index(name) for name in ("LINE 3", "LINE 20"))
        view.sel().clear()
        view.sel().add(sublime.Region(start, end + 3))
        view.run_command("right_delete")
        yield from self.until_equal(lambda: text_of(view), before)
        self.assertEqual(text_of(first), NEW)
        many = "".join(f"pasted {number}\n" for number in range(200)) + "line 4\nline 5\n"
        point = text_of(view).index("LINE 20")
        texts.replace_parts(view, [(sublime.Region(point), many)])
        yield from self.until_equal(
            lambda: text_of(first), NEW.replace("LINE 20\n", many + "LINE 20\n")
        )

    def test_replacing_everywhere_counts_in_added_lines_and_nowhere_else(self) -> Steps:
        first, second = yield from self.propose_files((OLD, NEW), (OLD, NEW))
        view = yield from self.show()
        parts = [(region, "row") for region in view.find_all("(?i)line ")]
        texts.replace_parts(view, parts)
        want = NEW.replace("LINE ", "row")
        yield from self.until_equal(lambda: text_of(first), want)
        yield from self.until_equal(lambda: text_of(second), want)
        yield from self.until_computed(first)
        yield from self.until_computed(second)
        yield from self.until_drawn(view)
        self.assertIn("line 4", text_of(view))

    def test_an_added_line_is_emptied_and_written_anew(self) -> Steps:
        (first,) = yield from self.propose_files((OLD, NEW))
        view = yield from self.show()
        point = text_of(view).index("LINE 3")
        view.sel().clear()
        view.sel().add(sublime.Region(point, point + 6))
        view.run_command("right_delete")
        view.run_command("insert", {"characters": "x"})
        yield from self.until_equal(lambda: text_of(first), NEW.replace("LINE 3", "x"))
        self.assertIn("line 3\nx\nline 4", text_of(view))


class Closing(UnaskedCase):
    def test_what_was_typed_last_is_there_if_the_sheet_is_closed_before_the_review_is_open(
        self,
    ) -> Steps:
        self.made("a.py", OLD, "added\n" + OLD)
        view = yield from self.show()
        self.type(view, "\nadded", " first")
        view.close()
        yield lambda: list(open_diffs.undecided_diffs(self.window))
        ((right, _),) = open_diffs.undecided_diffs(self.window)
        yield from self.until_equal(lambda: text_of(right), "added first\n" + OLD)

    def test_what_is_refused_at_the_close_is_in_a_tab_that_opens_after_it(self) -> Steps:
        (right,) = yield from self.propose_files((OLD, NEW))
        view = yield from self.show()
        opened: list[bool] = []
        self.replace(texts, "return_text", lambda *_: opened.append(view.is_valid()))
        right.set_read_only(True)
        self.type(view, "LINE 3", " typed")
        view.close()
        yield lambda: opened
        self.assertEqual(opened, [False])

    def test_windows_are_not_searched_for_each_of_many_edits(self) -> Steps:
        for number in range(5):
            self.made(f"{number}.py", OLD, "added\n" + OLD)
        view = yield from self.show()
        searched: list[None] = []

        def views() -> dict[str, sublime.View]:
            searched.append(None)
            return {}

        self.replace(open_diffs, "made_edit_views", views)
        self.assertEqual((len(self.sheet(view).undecided_changes()), searched), (5, []))

    def test_keys_go_through_edits_made_without_asking_though_no_proposal_waits(self) -> Steps:
        self.made("a.py", OLD, NEW)
        command = diff_commands.GeminiCompanionNextChangeCommand(self.window)
        self.assertFalse(command.is_enabled())
        view = yield from self.show()
        asked = self.running().key_context
        self.assertTrue(command.is_enabled())
        self.assertTrue(asked(view, DIFF_WAITS, sublime.OP_EQUAL, True))
        self.run_command("next_change")
        starts = self.sheet(view).model.change_starts
        self.assertEqual(view.rowcol(view.sel()[0].b)[0], starts[0].caret)
        other = yield from self.open("other.py", "x\n")
        self.assertFalse(asked(other, DIFF_WAITS, sublime.OP_EQUAL, True))


class Going(CommandCase):
    def test_the_caret_goes_to_lines_in_which_something_can_be_typed(self) -> Steps:
        removed = OLD.replace("line 12\n", "").replace("line 3\n", "LINE 3\n")
        yield from self.propose_files((OLD, NEW), (OLD, removed))
        view = yield from self.show()
        wanted = ["LINE 3", "LINE 20", "LINE 3", "line 12"]
        found: list[str] = []
        for name in ("next_change", "previous_change"):
            for _change in wanted:
                self.run_command(name)
                found.append(self.caret_line(view))
        self.assertEqual(found, [*wanted, *wanted[-2::-1], wanted[-1]])
        self.caret_at(view, "line 3\nLINE 3")
        self.run_command("next_change")
        self.assertEqual(self.caret_line(view), "LINE 20")


class GoingOn(CommandCase):
    def test_after_each_decision_the_caret_is_on_the_next_change_of_all_files(self) -> Steps:
        first, second = yield from self.propose_files((OLD, NEW), (OLD, OTHER))
        view, told = (yield from self.show()), self.told()
        self.caret_at(view, "line 3\n")
        self.run_command("keep_change")
        yield from self.until_equal(lambda: self.caret_line(view), "LINE 20")
        self.run_command("drop_change")
        yield lambda: "LINE 20" not in text_of(view)
        yield from self.until_equal(lambda: self.caret_line(view), "OTHER 3")
        row = view.rowcol(view.sel()[0].b)[0]
        number = self.sheet(view).model.numbers[self.id(second)]
        self.assertEqual(self.sheet(view).model.section_at(row), number)
        self.decide(view, "keep_change", self.id(second), self.review(second).comparison.keys[1])  # type: ignore[union-attr]
        yield lambda: any("continue with those above" in sentence for sentence in told)
        self.run_command("keep_change")
        yield lambda: any(keeping.ALL_DECIDED in sentence for sentence in told)
        self.assertEqual((len(seen_changes(first)), len(seen_changes(second))), (1, 2))

    def test_after_a_drop_the_caret_is_on_the_change_that_comes_into_its_place(self) -> Steps:
        yield from self.propose_files((OLD, NEW.replace("line 11\n", "LINE 11\n")))
        view = yield from self.show()
        self.caret_at(view, "line 3\n")
        self.run_command("drop_change")
        yield lambda: "LINE 3" not in text_of(view)
        yield from self.until_equal(lambda: self.caret_line(view), "LINE 11")

    def test_the_caret_stays_if_the_user_does_not_want_that(self) -> Steps:
        self.set("keep_goes_on", False)
        (right,) = yield from self.propose_files((OLD, NEW))
        view = yield from self.show()
        self.caret_at(view, "LINE 3\n")
        self.run_command("keep_change")
        yield lambda: seen_changes(right)
        yield from self.until_drawn(view)
        self.assertEqual(self.caret_line(view), "LINE 3")

    def test_a_command_on_a_change_where_none_is_decides_on_no_other_one(self) -> Steps:
        (right,) = yield from self.propose_files((OLD, NEW))
        view, told = (yield from self.show()), self.told()
        self.caret_at(view, "line 5\n")
        self.run_command("drop_change")
        yield lambda: any(sheet_commands.NO_CHANGE in sentence for sentence in told)
        self.assertEqual((text_of(right), self.window.active_view()), (NEW, view))


class OnWhichFile(UnaskedCase, CommandCase):
    """A proposal is on top of another group, beside the sheet."""

    # The commands that decide or ask, and take the file at the caret.
    DECIDING = ("accept_diff", "accept_diff_and_next", "reject_diff", "keep_change", "drop_change")
    ASKING = ("release_diff", "reject_diff_with_note", "comment_on_diff")

    def beside(self) -> Generator[Any, Any, sublime.View]:
        """A sheet, with an edit that was made already and two proposals."""
        self.edit = self.made("z.py", OLD, NEW)
        self.first, self.second = yield from self.propose_files((OLD, NEW), (OLD, OTHER))
        view = yield from self.show()
        self.replace(open_diffs, "is_on_top", lambda _window, diff: diff == self.second)
        self.panels_shown = self.panels()
        asked_for: list[str] = []

        def shown(_window: sublime.Window, caption: str, *_rest: Any) -> None:
            asked_for.append(caption)

        self.replace(sublime.Window, "show_input_panel", shown)
        self.asked_for = asked_for
        self.said = self.told()
        return view

    def until_said(self, sentence: str) -> Steps:
        yield lambda: any(sentence in told for told in self.said)
        self.said.clear()

    def assert_undecided(self) -> None:
        self.assertEqual((text_of(self.first), text_of(self.second)), (NEW, OTHER))
        self.assertTrue(is_diff(self.first) and is_diff(self.second))
        self.assertEqual(
            (seen_changes(self.first), seen_changes(self.second)), (frozenset(), frozenset())
        )
        self.assertEqual((self.asked_for, self.panels_shown), ([], []))

    def test_in_the_first_line_commands_say_so_and_decide_on_no_file(self) -> Steps:
        view = yield from self.beside()
        self.assertEqual(view.rowcol(view.sel()[0].b)[0], 0)
        for name in (*self.DECIDING, *self.ASKING):
            self.run_command(name)
            yield from self.until_said(sheet_commands.NO_FILE)
        self.assert_undecided()
        self.assertEqual(self.window.active_view(), view)

    def test_on_an_edit_without_tabs_commands_on_proposals_say_where_it_has_them(self) -> Steps:
        view = yield from self.beside()
        self.caret_at(view, "z.py")
        for name in self.ASKING:
            self.run_command(name)
            yield from self.until_said(sheet_commands.NOT_OPEN)
        self.assert_undecided()
        self.run_command("accept_diff")
        yield lambda: "z.py" not in text_of(view)
        self.assert_undecided()

    def test_on_a_proposal_they_act_on_that_one(self) -> Steps:
        view = yield from self.beside()
        self.caret_at(view, "0.py")
        self.run_command("comment_on_diff")
        yield from self.until_in("0.py", lambda: " ".join(self.asked_for))
        self.run_command("accept_diff")
        yield lambda: not is_diff(self.first)
        self.assertTrue(is_diff(self.second))
        self.assertIn("z.py", text_of(view))

    def test_what_is_pressed_twice_decides_on_one_file_and_not_on_the_next(self) -> Steps:
        view = yield from self.beside()
        self.replace(pace, "MOMENT", 1000)
        id = self.id(self.second)
        self.caret_at(view, "0.py")
        self.run_command("accept_diff")
        yield lambda: not is_diff(self.first) and "0.py" not in text_of(view)
        for action in ("accept_file", "reject_file", "keep_file", "drop_file"):
            self.decide(view, action, id)
            yield from self.until_said("1.py came just now")
        self.caret_at(view, "1.py")
        for name in (*self.DECIDING[:3], "release_diff"):
            self.run_command(name)
            yield from self.until_said("1.py came just now")
        yield from self.until_turn()
        self.assertTrue(is_diff(self.second))
        self.assertEqual((text_of(self.second), seen_changes(self.second)), (OTHER, frozenset()))
        self.replace(pace, "MOMENT", 0)
        self.decide(view, "reject_file", id)
        yield lambda: not is_diff(self.second)

    def test_where_no_change_is_going_to_one_says_so(self) -> Steps:
        yield from self.show()
        said = self.told()
        self.run_command("next_change")
        yield lambda: any(sheet_commands.NOWHERE in sentence for sentence in said)


class SameFile(CommandCase):
    def test_of_two_proposals_for_one_file_only_the_older_is_accepted_with_the_others(
        self,
    ) -> Steps:
        (first,) = yield from self.propose_files((OLD, NEW))
        other = yield from self.connect()
        second = yield from self.diff(other, os.path.join(self.folder, "0.py"), OLD + "end\n")
        yield from self.until_computed(second)
        view = yield from self.show()
        panels = self.panels()
        self.decide(view, "accept_all")
        yield lambda: panels
        asked = "Accept 1 proposal in 1 file, 2 lines added, 2 removed?"
        self.assertEqual(panels[0]["placeholder"], asked)
        self.assertIn(together.OTHERS.format(1), str(panels[0]["items"][0]))
        panels[0]["on_select"](0)
        yield lambda: not is_diff(first) and self.cli.received("ide/diffAccepted")
        yield from self.until_drawn(view)
        self.assertTrue(is_diff(second))
        self.assertIn("end\n", text_of(view))

    def test_files_of_one_name_in_two_folders_have_two_titles(self) -> Steps:
        folders = [os.path.join(self.folder, name) for name in ("one", "two")]
        self.replace(sublime.Window, "folders", lambda _window: folders)
        paths = [os.path.join(folder, "src", "a.py") for folder in folders]
        titles = [sources.file_title(path, self.window) for path in paths]
        self.assertEqual(titles, [os.path.join(name, "src", "a.py") for name in ("one", "two")])
        folders[:] = [os.path.join(folder, "app") for folder in folders]
        paths = [os.path.join(folder, "a.py") for folder in folders]
        self.assertEqual([sources.file_title(path, self.window) for path in paths], paths)
        yield from self.until_turn()


class Elsewhere(CommandCase):
    def test_what_is_decided_already_is_said_to_be(self) -> Steps:
        (right,) = yield from self.propose_files((OLD, NEW))
        view, told = (yield from self.show()), self.told()
        id = self.id(right)
        self.run_command("reject_diff", id=id)
        self.decide(view, "accept_file", id)
        yield lambda: any(keeping.DECIDED in sentence for sentence in told)
        yield from self.until_rejected()


class Many(CommandCase):
    def test_looking_which_reviews_have_ended_looks_at_each_proposal_once(self) -> Steps:
        count = 12
        yield from self.propose_files(*((OLD, NEW) for _ in range(count)))
        looked = [0]

        def counted(view: sublime.View) -> DiffRecord | None:
            looked[0] += 1
            return waiting_record(view)

        self.replace(open_diffs, "waiting_record", counted)
        self.running().diffs.reviews.forget_ended()
        self.assertLessEqual(looked[0], 2 * count)

    def test_opening_one_more_proposal_looks_at_the_others_a_few_times(self) -> Steps:
        count = 12
        rights = yield from self.propose_files(*((OLD, NEW) for _ in range(count)))
        path = self.write("more.py", OLD)
        looked: list[int] = []
        opener = self.running().diffs.opener
        show = opener.open_review

        def counted(view: sublime.View) -> DiffRecord | None:
            looked.append(view.id())
            return read_record(view)

        def watched(*arguments: Any) -> None:
            with mock.patch.object(record, "read_record", counted):
                show(*arguments)

        self.replace(opener, "open_review", watched)
        yield from self.diff(self.cli, path, NEW)
        # The one that was in front is drawn as well.
        usual = sorted(looked.count(right.id()) for right in rights)[count // 2]
        self.assertEqual(usual, 1)
