"""What happens to files beside their diffs: accepted edits undone, conflicts said and settled."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import replace
from typing import Any, Callable, Generator
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.base.answer import Answer
from GeminiCompanion.companion.ide import accepted_edits, file_content
from GeminiCompanion.companion.ide.accepted_edits import Edit
from GeminiCompanion.companion.ide.file_content import Original
from GeminiCompanion.companion.ide.questions import FileContent, Question
from GeminiCompanion.companion.ui import texts
from GeminiCompanion.companion.ui.review import comments, ending, history, marks, open_diffs
from GeminiCompanion.companion.ui.review.history import History
from GeminiCompanion.companion.ui.review.record import Comment
from GeminiCompanion.companion.ui.review.sight import caret_row

from .adapter import text_of
from .reviewing import ReviewCase, Steps, changed


def content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


class HistoryCase(ReviewCase):
    def accept(self, old: str, new: str, written: str | None = None) -> Steps:
        """A proposal is accepted, and its CLI writes the file."""
        yield from self.propose(old, new)
        self.run_command("accept_diff")
        yield lambda: self.cli.received("ide/diffAccepted")
        self.write("file.txt", new if written is None else written)

    def choose(self, action: int) -> Steps:
        """Of the newest edit: show it (0) or undo it (1)."""
        panels = self.panels()
        self.run_command("show_accepted_edits")
        panels[0]["on_select"](0)
        yield from self.until_turn()
        yield lambda: len(panels) == 2
        panels[1]["on_select"](action)
        yield from self.until_turn()


class Undoing(HistoryCase):
    def test_file_and_open_tab_are_as_before_byte_for_byte(self) -> Steps:
        old = "\ufeffone\r\ntwo\r\n"
        tab = yield from self.open("file.txt", old)
        before = text_of(tab)
        yield from self.accept(old, "\ufeffone\n2\n", "\ufeffone\r\n2\r\n")
        yield lambda: text_of(tab) != before
        yield from self.choose(1)
        yield lambda: content(self.path) == old.encode()
        yield lambda: text_of(tab) == before
        self.assertFalse(tab.is_dirty())

    def test_a_file_that_was_new_is_removed(self) -> Steps:
        self.cli = yield from self.connect()
        self.path = os.path.join(self.folder, "new.txt")
        right = yield from self.diff(self.cli, self.path, "text\n")
        yield from self.until_computed(right)
        self.run_command("accept_diff")
        yield lambda: self.cli.received("ide/diffAccepted")
        self.write("new.txt", "text\n")
        yield from self.choose(1)
        yield lambda: not os.path.exists(self.path)

    def test_a_file_that_somebody_changed_meanwhile_stays_and_three_texts_are_in_tabs(
        self,
    ) -> Steps:
        told = self.told()
        yield from self.accept("old\n", "new\n", "somebody's\n")
        yield from self.choose(1)
        yield lambda: any(history.CHANGED in each for each in told)
        self.assertEqual(content(self.path), b"somebody's\n")
        found = {
            f"file.txt ({name})": text
            for name, text in (
                ("before the edit", "old\n"),
                ("as accepted", "new\n"),
                ("as it is now", "somebody's\n"),
            )
        }
        self.assertEqual({name: self.tabs().get(name) for name in found}, found)

    def test_unsaved_changes_in_a_tab_stay_and_nothing_is_undone(self) -> Steps:
        told = self.told()
        yield from self.accept("old\n", "new\n")
        tab = yield from self.open("file.txt", "new\n")
        tab.run_command("append", {"characters": "mine\n"})
        yield from self.choose(1)
        yield lambda: any(history.UNSAVED in each for each in told)
        self.assertEqual(text_of(tab), "new\nmine\n")
        self.assertEqual(content(self.path), b"new\n")
        self.assertEqual(self.tabs()["file.txt (before the edit)"], "old\n")

    def test_what_no_cli_has_written_needs_no_undoing(self) -> Steps:
        told = self.told()
        yield from self.accept("old\n", "new\n", "old\n")
        yield from self.choose(1)
        yield lambda: any(history.NOT_WRITTEN in each for each in told)
        self.assertEqual(content(self.path), b"old\n")

    def test_of_a_file_that_cannot_be_read_it_is_said_that_nothing_was_undone(self) -> Steps:
        told = self.told()
        self.cli = yield from self.connect()
        self.path = os.path.join(self.folder, "new.txt")
        right = yield from self.diff(self.cli, self.path, "text\n")
        yield from self.until_computed(right)
        self.run_command("accept_diff")
        yield lambda: self.cli.received("ide/diffAccepted")
        os.mkdir(self.path)
        yield from self.choose(1)
        yield lambda: any(history.NOTHING_UNDONE in each for each in told)
        self.assertFalse(any(history.NOT_WRITTEN in each for each in told))

    def test_an_undone_edit_is_in_the_list_no_more(self) -> Steps:
        yield from self.accept("old\n", "new\n")
        count = len(self.mine())
        yield from self.choose(1)
        yield lambda: len(self.mine()) == count - 1

    def mine(self) -> list[Edit]:
        return [it for it in self.running().history._edits if it.path == self.path]


class AfterARestart(HistoryCase):
    def saved(self) -> list[Edit]:
        """Those of the file that would outlive a crash at this moment."""
        folder = os.path.join(sublime.cache_path(), "GeminiCompanion", "edits")
        return [it for it in accepted_edits.load(folder) if it.path == self.path]

    def restart(self, then: Callable[[], object] = lambda: None) -> Steps:
        plugin._host.stop()
        yield lambda: self.cli.stream_ended.is_set()
        plugin._host.start()
        yield lambda: plugin._host.environment(self.window)
        then()
        self.cli.resume()
        yield self.cli.connected
        yield lambda: any(it.path == self.path for it in self.running().history._edits)

    def test_an_accepted_edit_is_undone_byte_for_byte(self) -> Steps:
        old = "\ufeffone\r\ntwo\r\n"
        yield from self.accept(old, "\ufeffone\n2\n", "\ufeffone\r\n2\r\n")
        yield self.saved
        yield from self.restart()
        yield from self.choose(1)
        yield lambda: content(self.path) == old.encode()
        yield lambda: not self.saved()

    def test_what_somebody_changed_meanwhile_is_not_overwritten(self) -> Steps:
        yield from self.accept("old\n", "new\n")
        yield self.saved
        yield from self.restart()
        self.write("file.txt", "somebody's\n")
        told = self.told()
        yield from self.choose(1)
        yield lambda: any(history.CHANGED in each for each in told)
        self.assertEqual(content(self.path), b"somebody's\n")
        self.assertEqual(self.tabs()["file.txt (before the edit)"], "old\n")

    def test_what_a_stopped_companion_hears_of_late_takes_nothing_from_the_next_one(self) -> Steps:
        yield from self.accept("old\n", "new\n")
        yield self.saved
        before = self.running().history
        yield from self.restart()
        later = replace(before._edits[-1], path=self.path + ".later", id="later")
        before.add(later)
        accepted_edits.writer.finish()
        self.assertEqual(len(self.saved()), 1)

    def test_what_was_accepted_last_is_there_though_the_disk_is_slow(self) -> Steps:
        save, may_go_on = accepted_edits.save, threading.Event()
        self.addCleanup(may_go_on.set)

        def slow(folder: str, edits: Any) -> str:
            may_go_on.wait()
            return save(folder, edits)

        self.replace(accepted_edits, "save", slow)
        yield from self.accept("old\n", "new\n")
        edits = self.running().history._edits
        yield lambda: any(it.path == self.path for it in edits)
        yield from self.restart(may_go_on.set)

    def test_the_texts_of_a_file_that_is_excluded_are_not_saved(self) -> Steps:
        yield from self.propose("old\n", "new\n", ".env")
        self.run_command("accept_diff")
        yield lambda: self.cli.received("ide/diffAccepted")
        excluded = self.path
        # What is saved after it shows that it was not.
        yield from self.accept("old\n", "new\n")
        yield self.saved
        self.path = excluded
        self.assertEqual(self.saved(), [])
        self.assertIn(excluded, [it.path for it in self.running().history._edits])


class Showing(HistoryCase):
    def test_before_and_after_are_shown_as_a_difference(self) -> Steps:
        yield from self.accept("same\nold\n", "same\nnew\n")
        yield from self.choose(0)
        yield lambda: "file.txt (accepted edit)" in self.tabs()
        text = self.tabs()["file.txt (accepted edit)"]
        self.assertIn("\n same\n-old\n+new\n", text)

    def test_without_any_that_is_said(self) -> None:
        told: list[str] = []
        self.begin(History(self.running().companion, told.append, "").choose(self.window))
        self.assertEqual(told, [history.NOTHING])


class Saving(HistoryCase):
    def history(self) -> History:
        """One that is beside the companion's."""
        folder = os.path.join(self.folder, "cache", "edits")
        found = History(self.running().companion, self.told_of.append, folder)
        self.addCleanup(found.stop)
        return found

    def setUp(self) -> None:
        super().setUp()
        self.told_of: list[str] = []

    def test_where_reading_them_fails_that_is_said_and_nothing_of_them_is_taken_away(self) -> Steps:
        found = self.history()
        self.replace(accepted_edits, "load", lambda folder: 1 / 0)
        self.begin(found.load())
        yield lambda: self.told_of == [accepted_edits.LOAD_FAILED]
        self.assertFalse(found._may_save)

    def test_where_saving_them_fails_that_is_said_once_and_it_is_tried_again(self) -> Steps:
        found, tries = self.history(), []
        self.begin(found.load())
        yield lambda: found._may_save
        accepted_edits.writer.finish()

        def fail(folder: str, edits: Any) -> str:
            tries.append(edits)
            raise MemoryError

        self.replace(accepted_edits, "save", fail)
        for number in range(2):
            found.add(Edit(1, str(number), Original("", exists=True), "", "", time.time()))
            accepted_edits.writer.finish()
        yield lambda: self.told_of
        yield from self.until_turn()
        self.assertEqual(self.told_of, [accepted_edits.SAVE_FAILED])
        self.assertEqual([len(it) for it in tries], [1, 2])

    def test_a_window_that_is_opened_again_has_the_edits_of_the_one_that_was_closed(self) -> None:
        found, panels = self.history(), self.panels()
        folders = tuple(self.window.folders())
        for window_id, path in ((999_999, "closed"), (self.window.id(), "open")):
            found.add(Edit(window_id, path, Original("", exists=True), "", "", 0.0, folders))
        self.begin(found.choose(self.window))
        self.assertEqual([it.trigger for it in panels[0]["items"]], ["open", "closed"])


class Limits(ReviewCase):
    def edit(self, window_id: int, name: str, size: int = 0) -> Edit:
        before = Original("", exists=True, data=b"x" * size)
        return Edit(window_id, name, before, "", "", time.time())

    def test_each_window_has_its_last_fifty(self) -> None:
        found = History(self.running().companion, lambda sentence: None, "")
        found.add(self.edit(2, "other"))
        for number in range(history.MAX_EDITS + 5):
            found.add(self.edit(1, str(number)))
        self.assertEqual([it.path for it in found._edits][:2], ["other", "5"])
        self.assertEqual(len(found._edits), history.MAX_EDITS + 1)

    def test_the_oldest_make_way_for_large_ones(self) -> None:
        self.replace(history, "MAX_BYTES", 100)
        found = History(self.running().companion, lambda sentence: None, "")
        for name in ("a", "b", "c"):
            found.add(self.edit(1, name, 40))
        self.assertEqual([it.path for it in found._edits], ["b", "c"])

    def test_one_whose_bytes_are_not_known_is_listed_and_says_why_it_cannot_be_undone(
        self,
    ) -> Steps:
        told: list[str] = []
        found = History(self.running().companion, told.append, "")
        unknown = Original("", exists=True, note="The file cannot be read.")
        found.add(Edit(self.window.id(), "a", unknown, "", "", 0.0))
        panels = self.panels()
        self.begin(found.choose(self.window))
        self.assertIn(unknown.note, panels[0]["items"][0].details)
        panels[0]["on_select"](0)
        yield from self.until_turn()
        yield lambda: told == [unknown.note]

    def test_one_that_is_too_large_to_be_remembered_is_listed_and_says_so(self) -> None:
        self.replace(history, "MAX_BYTES", 100)
        found = History(self.running().companion, lambda sentence: None, "")
        found.add(self.edit(1, "small", 40))
        found.add(self.edit(1, "large", 101))
        self.assertEqual([it.problem for it in found._edits], ["", accepted_edits.TOO_LARGE])
        self.assertLess(found._edits[1].size, 40)


class ConflictCase(ReviewCase):
    def until_noted(self, right: sublime.View, note: str, is_so: bool = True) -> Steps:
        yield lambda: any(note in each for each in self.review(right).notes.values()) == is_so

    def take_over(self, right: sublime.View) -> Generator[Any, Any, None]:
        """Accept, and choose to take the changes over where asked."""
        panels = self.panels()
        self.window.focus_view(right)
        self.run_command("accept_diff")
        yield lambda: panels
        items = [item[0] for item in panels[0]["items"]]
        count = right.change_count()
        panels[0]["on_select"](items.index("Merge my changes"))
        yield from self.until_turn()
        yield lambda: right.change_count() != count
        yield from self.until_computed(right)


class Noticing(ConflictCase):
    def test_a_file_that_changes_on_disk_is_said_at_the_head_until_it_is_as_before(self) -> Steps:
        told = self.told()
        right = yield from self.propose("old\n", "new\n")
        self.write("file.txt", "somebody's\n")
        yield from self.until_noted(right, ending.CHANGED)
        yield lambda: any(ending.CHANGED in each for each in told)
        self.write("file.txt", "old\n")
        yield from self.until_noted(right, ending.CHANGED, False)

    def test_a_file_that_vanishes_is_said(self) -> Steps:
        right = yield from self.propose("old\n", "new\n")
        os.remove(self.path)
        yield from self.until_noted(right, ending.GONE)

    def test_a_file_that_becomes_a_folder_is_said(self) -> Steps:
        right = yield from self.propose("old\n", "new\n")
        os.remove(self.path)
        os.mkdir(self.path)
        yield from self.until_noted(right, ending.CHANGED)

    def test_a_file_that_is_slow_to_read_is_not_said_to_have_changed(self) -> Steps:
        right = yield from self.propose("old\n", "new\n")
        companion, asked = self.running().companion, []
        ask = companion.ask

        def spy(question: Question[Any]) -> Answer[Any]:
            answer = ask(question)
            if isinstance(question, FileContent):
                answer.when_there(lambda: asked.append(answer.result()))
            return answer

        self.replace(companion, "ask", spy)
        with mock.patch.object(file_content, "PATIENCE", -1.0):
            self.write("file.txt", "somebody's\n")
            # It is asked again.
            yield lambda: len(asked) > 1
            self.assertEqual({it.note for it in asked}, {file_content.LATE})
            self.assertEqual(self.review(right).notes, {})
            panels = self.panels()
            self.run_command("accept_diff")
            yield lambda: panels
            self.assertEqual(panels[0]["placeholder"], f"file.txt: {file_content.LATE}")
        yield from self.until_noted(right, ending.CHANGED)

    def test_unsaved_changes_in_another_tab_are_said_without_a_look_at_the_disk(self) -> Steps:
        tab = yield from self.open("file.txt", "old\n")
        right = yield from self.propose("old\n", "new\n")
        self.running().conflicts.look()
        self.replace(self.running().windows, "look", lambda: None)
        tab.run_command("append", {"characters": "mine\n"})
        yield from self.until_noted(right, ending.UNSAVED)
        tab.run_command("undo")
        yield from self.until_noted(right, ending.UNSAVED, False)


class TakingOver(ConflictCase):
    def test_changes_on_disk_are_merged_as_one_edit_and_then_accepted(self) -> Steps:
        old, new = "1\n2\n3\n4\n5\n", "1\n2\n3\n4\nfive\n"
        right = yield from self.propose(old, new)
        self.write("file.txt", "one\n2\n3\n4\n5\n")
        yield from self.take_over(right)
        merged = "one\n2\n3\n4\nfive\n"
        self.assertEqual(text_of(right), merged)
        self.assertEqual(text_of(open_diffs.partner(right)), "one\n2\n3\n4\n5\n")
        self.assertEqual(self.texts(right, marks.LINES), ["five\n"])
        right.run_command("undo")
        self.assertEqual(text_of(right), new)
        right.run_command("redo")
        self.run_command("accept_diff")
        yield lambda: self.cli.received("ide/diffAccepted")
        self.assertEqual(self.cli.received("ide/diffAccepted")[0]["content"], merged)

    def test_comments_stay_with_their_lines(self) -> Steps:
        right = yield from self.propose("1\n2\n3\n4\n5\n", "1\n2\n3\n4\nfive\n")
        comments.add(right, Comment(2, 2, "here"))
        self.write("file.txt", "0\n1\n2\n3\n4\n5\n")
        yield from self.take_over(right)
        self.assertEqual(self.texts(right, marks.comment_key(0)), ["3"])
        self.assertEqual(comments.of(right), [Comment(3, 3, "here")])

    def test_unsaved_changes_of_another_tab_are_merged(self) -> Steps:
        tab = yield from self.open("file.txt", "1\n2\n3\n")
        right = yield from self.propose("1\n2\n3\n", "1\n2\nthree\n")
        tab.run_command("insert", {"characters": "0\n"})
        yield from self.take_over(right)
        self.assertEqual(text_of(right), "0\n1\n2\nthree\n")

    def test_lines_that_both_changed_stand_between_marks_and_are_asked_about(self) -> Steps:
        right = yield from self.propose("1\n2\n3\n", "1\nproposed\n3\n")
        self.write("file.txt", "1\nmine\n3\n")
        yield from self.take_over(right)
        self.assertRegex(text_of(right), r"^1\n<<<<<<<.*\nproposed\n=======\nmine\n>>>>>>>.*\n3\n$")
        (region,) = ending.conflicts(right)
        self.assertEqual(right.rowcol(region.a), (1, 0))
        panels = self.panels()
        self.run_command("accept_diff")
        yield lambda: panels
        self.assertIn("1 conflict with your changes", panels[0]["placeholder"])
        self.assertEqual(self.cli.received("ide/diffAccepted"), [])

    def test_conflicts_are_counted_at_the_head_and_the_first_one_is_shown(self) -> Steps:
        old = [f"{row}\n" for row in range(1, 301)]
        right = yield from self.propose(
            "".join(old), changed(old, _2="two\n", _100="proposed\n", _280="proposed\n")
        )
        self.write("file.txt", changed(old, _100="mine\n", _200="mine\n", _280="mine\n"))
        told = self.told()
        yield from self.take_over(right)
        yield from self.until_noted(right, "2 conflicts stand between marks")
        yield from self.until_equal(lambda: caret_row(right), 99)
        self.assertTrue(right.visible_region().contains(right.text_point(99, 0)))
        yield lambda: any("2 conflicts" in each for each in told)
        region = right.line(right.text_point(99, 0))
        self.assertIn("<<<<<<<", right.substr(region))
        texts.replace_parts(right, [(sublime.Region(region.a, region.b + 1), "")])
        yield from self.until_noted(right, "1 conflict with your changes stands between marks")
        right.run_command("undo")
        yield from self.until_noted(right, "2 conflicts stand between marks")
        right.run_command("undo")
        yield from self.until_noted(right, "between marks", False)

    def test_conflicts_of_two_merges_are_all_counted(self) -> Steps:
        right = yield from self.propose("1\n2\n3\n", "one\n2\nthree\n")
        self.write("file.txt", "mine\n2\n3\n")
        yield from self.take_over(right)
        self.write("file.txt", "mine\n2\nmine, too\n")
        yield from self.take_over(right)
        yield from self.until_noted(right, "2 conflicts stand between marks")

    def test_of_a_file_that_is_gone_nothing_can_be_taken_over(self) -> Steps:
        right = yield from self.propose("1\n2\n", "1\ntwo\n")
        self.window.focus_view(right)
        os.remove(self.path)
        panels = self.panels()
        self.run_command("accept_diff")
        yield lambda: panels
        self.assertIn(ending.GONE, panels[0]["placeholder"])
        names = [item[0] for item in panels[0]["items"]]
        self.assertEqual(names, ["See the difference", "Accept anyway", "Go back"])
        self.assertEqual(panels[0]["items"][1][1], "Gemini CLI creates the file again.")

    def test_what_cannot_be_read_is_not_merged(self) -> Steps:
        right = yield from self.propose("1\n2\n", "1\ntwo\n")
        with open(self.path, "wb") as file:
            file.write(b"\0\xff\xfe\0")
        told = self.told()
        present = Original("", exists=True, note="The file is binary; 4 bytes.")
        self.begin(self.running().conflicts.take_over(right, present))
        yield lambda: any("binary" in each for each in told)
        self.assertEqual(text_of(right), "1\ntwo\n")
