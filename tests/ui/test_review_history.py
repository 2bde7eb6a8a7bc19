"""What happens to files beside their diffs: accepted edits undone, conflicts said and settled."""

from __future__ import annotations

import os
import re
import threading
import time
from dataclasses import replace
from typing import Any, Callable
from unittest import mock

import sublime
from GeminiCompanion.companion.base import file_content
from GeminiCompanion.companion.base.answer import Answer
from GeminiCompanion.companion.base.file_content import Original
from GeminiCompanion.companion.edits import edit_store
from GeminiCompanion.companion.edits.edit import Edit
from GeminiCompanion.companion.edits.ledger import EditLedger
from GeminiCompanion.companion.ui import file_reading, texts
from GeminiCompanion.companion.ui.changes.change_list import ACCEPTED, ALL, ChangeList, ListedKind
from GeminiCompanion.companion.ui.review import (
    comments,
    diff_kinds,
    ending,
    history,
    marks,
    open_diffs,
    terminal_decisions,
)
from GeminiCompanion.companion.ui.review.history import EditHistory
from GeminiCompanion.companion.ui.review.record import Comment
from GeminiCompanion.companion.ui.review.sight import caret_row
from GeminiCompanion.companion.ui.stories import Story

from ..tables import rows, word
from .adapter import text_of
from .desk import DeskCase, text, words_of
from .reviewing import ReviewCase, Steps, changed


def content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


BOM, CRLF = ("\ufeffone\r\ntwo\r\n", "\ufeffone\n2\n"), "\ufeffone\r\n2\r\n"


class HistoryCase(DeskCase):
    @word(r"an edit of (\S+) from (\S+) to (\S+) was accepted")
    def accept(self, name: str, old: str, new: str) -> Steps:
        """A proposal is accepted, which nobody writes yet. `none` is a file that is not there."""
        if old == "none":
            yield from self.connects("c")
            self.path = self.at(name)
            yield from self.proposes("c", new, "a new file ", name)
            yield from self.until_computed(self.view("+" + name))
        else:
            yield from self.reviewed(name, old, new)
        yield from self.decide()

    def decide(self) -> Steps:
        self.run_command("accept_diff")
        yield lambda: self.cli.received("ide/diffAccepted")

    @word("the bytes of (.+) were accepted and written")
    def accept_bytes(self, name: str) -> Steps:
        """A file with a byte order mark, and line ends of Windows."""
        right = yield from self.propose(*BOM, name)
        self.by_name["+" + name] = right
        yield from self.decide()
        self.write(name, CRLF)

    @word("the newest edit is to be (undone|shown)")
    def choose(self, action: str) -> Steps:
        self.run_command("show_accepted_edits")
        self.asked.pop()["on_select"](0)
        yield from self.answer("Undo it" if action == "undone" else "Show it")

    def mine(self) -> list[Edit]:
        return [edit for edit in self.running().review.ledger.made.all if edit.path == self.path]

    def saved(self) -> list[Edit]:
        """Those of the file that would outlive a crash at this moment."""
        folder = os.path.join(sublime.cache_path(), "GeminiCompanion", "edits")
        return [edit for edit in edit_store.load_edits(folder) if edit.path == self.path]

    def restart(self, then: Callable[[], object] = lambda: None) -> Steps:
        yield from self.restart_companion(then)
        yield lambda: any(edit.path == self.path for edit in self.running().review.ledger.made.all)

    @word("the companion restarts")
    def restart_saved(self) -> Steps:
        yield self.saved
        yield from self.restart()

    words = {r"(\S+) is a folder": lambda t, name: os.mkdir(t.at(name))}
    seen = {
        "the list has": lambda t: len(t.mine()),
        "saved are": lambda t: len(t.saved()),
        r"the bytes of (\S+) are as before:": lambda t, name: (
            content(t.at(name)) == BOM[0].encode()
        ),
        r"(\S+) is on disk:": lambda t, name: os.path.exists(t.at(name)),
        r"the tab (.+\)) has": lambda t, name: words_of(t.tabs().get(name, "")),
        "it was said that no CLI has written it:": lambda t: any(
            history.NOT_WRITTEN in each for each in t.sentences
        ),
        "the comparison has both lines:": lambda t: (
            "\n same\n-old\n+new\n" in t.tabs()["file.txt (accepted edit)"]
        ),
    }


@rows("""
    a file that was new is removed
        an edit of new.txt from none to text was accepted; new.txt holds text
        | the newest edit is to be undone | new.txt is on disk: no
    a file that somebody changed meanwhile stays and three texts are in tabs
        an edit of file.txt from old to new was accepted; file.txt holds else
        | the newest edit is to be undone
        | what was told is CHANGED; file.txt is on disk as else
        | the tab file.txt (before the edit) has old; the tab file.txt (as accepted) has new
        | the tab file.txt (as it is now) has else
    unsaved changes in a tab stay and nothing is undone
        an edit of file.txt from old to new was accepted; file.txt is open with new
        | mine is typed into file.txt; the newest edit is to be undone
        | what was told is UNSAVED; file.txt reads new/mine; file.txt is on disk as new
        | the tab file.txt (before the edit) has old
    what no CLI has written needs no undoing
        an edit of file.txt from old to new was accepted; file.txt holds old
        | the newest edit is to be undone
        | what was told is NOT_WRITTEN; file.txt is on disk as old
    of a file that cannot be read it is said that nothing was undone
        an edit of new.txt from none to text was accepted; new.txt is a folder
        | the newest edit is to be undone
        | what was told is NOTHING_UNDONE; it was said that no CLI has written it: no
    an undone edit is in the list no more
        an edit of file.txt from old to new was accepted; file.txt holds new | the list has 1
        | the newest edit is to be undone | the list has 0
    after a restart an accepted edit is undone byte for byte
        the bytes of file.txt were accepted and written; the companion restarts
        | the newest edit is to be undone
        | the bytes of file.txt are as before: yes; saved are 0
    after a restart what somebody changed meanwhile is not overwritten
        an edit of file.txt from old to new was accepted; file.txt holds new; the companion
        restarts
        | file.txt holds else; the newest edit is to be undone
        | what was told is CHANGED; file.txt is on disk as else
        | the tab file.txt (before the edit) has old
    before and after are shown as a difference
        an edit of file.txt from same/old to same/new was accepted
        | the newest edit is to be shown | the comparison has both lines: yes
""")
class Accepted(HistoryCase):
    @word("what was told is ([A-Z_]+)")
    def was_told_named(self, name: str) -> Steps:
        yield from self.was_told(getattr(history, name))

    def test_file_and_open_tab_are_as_before_byte_for_byte(self) -> Steps:
        tab = yield from self.open("file.txt", BOM[0])
        before = text_of(tab)
        yield from self.accept_bytes("file.txt")
        yield lambda: text_of(tab) != before
        yield from self.choose("undone")
        yield lambda: content(self.path) == BOM[0].encode() and text_of(tab) == before
        self.assertFalse(tab.is_dirty())

    def test_what_a_stopped_companion_hears_of_late_takes_nothing_from_the_next_one(self) -> Steps:
        yield from self.accept("file.txt", "old", "new")
        yield self.saved
        before = self.running().review.history
        yield from self.restart()
        later = replace(before.edits.made.all[-1], path=self.path + ".later", id="later")
        before.edits.made.add(later)
        edit_store.writer.finish()
        self.assertEqual(len(self.saved()), 1)

    def test_what_was_accepted_last_is_there_though_the_disk_is_slow(self) -> Steps:
        save, may_go_on = edit_store.save_edits, threading.Event()
        self.addCleanup(may_go_on.set)

        def slow(folder: str, edits: Any) -> str:
            may_go_on.wait()
            return save(folder, edits)

        self.replace(edit_store, "save_edits", slow)
        yield from self.accept("file.txt", "old", "new")
        yield self.mine
        yield from self.restart(may_go_on.set)

    def test_the_texts_of_a_file_that_is_excluded_are_not_saved(self) -> Steps:
        yield from self.accept(".env", "old", "new")
        excluded = self.path
        # What is saved after it shows that it was not.
        yield from self.accept("file.txt", "old", "new")
        yield self.saved
        self.path = excluded
        self.assertEqual(self.saved(), [])
        self.assertTrue(self.mine())

    def test_without_any_that_is_said(self) -> None:
        told: list[str] = []
        self.begin(listing(self, history_of(self, told.append), told.append))
        self.assertEqual(told, [history.NOTHING])

    def test_one_whose_bytes_are_not_known_is_listed_and_says_why_it_cannot_be_undone(
        self,
    ) -> Steps:
        told: list[str] = []
        found, panels = history_of(self, told.append), self.panels()
        unknown = Original("", exists=True, note="The file cannot be read.")
        found.edits.made.add(Edit(self.window.id(), "a", unknown, "", "", 0.0))
        self.begin(listing(self, found))
        self.assertIn(unknown.note, panels[0]["items"][0].details)
        panels[0]["on_select"](0)
        yield from self.until_turn()
        yield lambda: told == [unknown.note]

    def test_the_newest_are_listed(self) -> None:
        self.replace(history, "MAX_EDITS", 3)
        found, panels = history_of(self), self.panels()
        for number in range(5):
            before = Original("", exists=True)
            found.edits.made.add(Edit(self.window.id(), str(number), before, "", "", time.time()))
        self.begin(listing(self, found))
        self.assertEqual([item.trigger for item in panels[0]["items"]], ["4", "3", "2"])

    def test_a_list_of_all_kinds_has_those_alone_that_it_was_given(self) -> Steps:
        found, panels = history_of(self), self.panels()
        before = Original("", exists=True)
        found.edits.made.add(Edit(self.window.id(), "a", before, "", "", time.time()))
        self.begin(listing(self, found, kind=""))
        yield lambda: panels
        self.assertEqual([item.trigger for item in panels[0]["items"]], [ALL, "a"])


def history_of(
    case: ReviewCase, tell: Callable[[str], None] = print, folder: str = ""
) -> EditHistory:
    """One that is beside the companion's."""
    ledger = EditLedger(history.open_windows, open_diffs.asked_edits)
    return EditHistory(case.running().companion, ledger, tell, tell, folder)


def listing(
    case: ReviewCase,
    found: EditHistory,
    tell: Callable[[str], None] = print,
    kind: str = "accepted",
) -> Story:
    """The story in which the user chooses one of them."""
    running = case.running()
    kinds = {"accepted": ListedKind(ACCEPTED, found)}
    listed = ChangeList(kinds, running.changes.sheets, running.diffs.reviews, tell)
    return listed.choose_edit(case.window, kind)


class Saving(HistoryCase):
    def history(self) -> EditHistory:
        """One that saves."""
        folder = os.path.join(self.folder, "cache", "edits")
        found = history_of(self, self.told_of.append, folder)
        self.addCleanup(found.stop)
        return found

    def setUp(self) -> None:
        super().setUp()
        self.told_of: list[str] = []

    def test_where_reading_them_fails_that_is_said_and_nothing_of_them_is_taken_away(self) -> Steps:
        found = self.history()
        self.replace(edit_store, "load_edits", lambda folder: 1 / 0)
        self.begin(found.load_edits())
        yield lambda: self.told_of == [edit_store.LOAD_FAILED]
        self.assertFalse(found._may_save)

    def test_where_saving_them_fails_that_is_said_once_and_it_is_tried_again(self) -> Steps:
        found, tries = self.history(), []
        self.begin(found.load_edits())
        yield lambda: found._may_save
        edit_store.writer.finish()

        def fail(folder: str, edits: Any) -> str:
            tries.append(edits)
            raise MemoryError

        self.replace(edit_store, "save_edits", fail)
        for number in range(2):
            found.edits.made.add(
                Edit(1, str(number), Original("", exists=True), "", "", time.time())
            )
            yield lambda number=number: len(tries) > number
        yield lambda: self.told_of
        yield from self.until_turn()
        self.assertEqual(self.told_of, [edit_store.SAVE_FAILED])
        self.assertEqual([len(attempt) for attempt in tries], [1, 2])

    def test_what_is_accepted_while_others_are_saved_is_saved_together(self) -> Steps:
        found, saves, may_go_on = self.history(), [], threading.Event()
        self.addCleanup(may_go_on.set)
        self.begin(found.load_edits())
        yield lambda: found._may_save and not found._is_saving

        def slow(folder: str, edits: Any) -> str:
            saves.append([edit.path for edit in edits])
            may_go_on.wait()
            return ""

        self.replace(edit_store, "save_edits", slow)
        for number in range(5):
            found.edits.made.add(
                Edit(1, str(number), Original("", exists=True), "", "", time.time())
            )
        yield lambda: saves
        may_go_on.set()
        yield lambda: not found._is_saving and not found._is_due
        self.assertEqual(saves, [["0"], ["0", "1", "2", "3", "4"]])

    def test_what_waits_while_the_saving_rests_is_saved_when_the_package_stops(self) -> Steps:
        found = self.history()
        self.begin(found.load_edits())
        yield lambda: found._may_save and not found._is_saving
        self.replace(history, "REST", 1e9)
        self.replace(history, "MOST_REST", 1e6)
        for number in range(2):
            found.edits.made.add(
                Edit(1, str(number), Original("", exists=True), "", "", time.time())
            )
            edit_store.writer.finish()
            yield from self.until_turn()
        saves: list[Any] = []
        self.replace(edit_store, "save_edits", lambda folder, edits: saves.append(edits) or "")
        found.stop()
        edit_store.writer.finish()
        self.assertEqual([len(edits) for edits in saves], [2])

    def test_a_window_that_is_opened_again_has_the_edits_of_the_one_that_was_closed(self) -> None:
        found, panels = self.history(), self.panels()
        folders = tuple(self.window.folders())
        for window_id, path in ((999_999, "closed"), (self.window.id(), "open")):
            found.edits.made.add(
                Edit(window_id, path, Original("", exists=True), "", "", 0.0, folders)
            )
        self.begin(listing(self, found))
        self.assertEqual([item.trigger for item in panels[0]["items"]], ["open", "closed"])


class ConflictCase(DeskCase):
    @word("the change is taken over")
    def take_over(self) -> Steps:
        """Accept, and choose to take the changes over where asked."""
        right = self.view("+file.txt")
        self.focus("+file.txt")
        self.run_command("accept_diff")
        count = right.change_count()
        yield from self.answer("Merge my changes")
        yield lambda: right.change_count() != count
        yield from self.until_computed(right)

    def until_noted(self, note: str, is_so: bool = True) -> Steps:
        yield lambda: (note in self.notes()) == is_so

    def notes(self) -> str:
        return " ".join(self.review(self.view("+file.txt")).notes.values())

    @word("nobody looks at the windows any more")
    def look_no_more(self) -> None:
        self.running().review.conflicts.look_for_changes()
        self.replace(self.running().editor.windows, "check_windows", lambda: None)

    words = {
        r"(\S+) is removed": lambda t, name: os.remove(t.at(name)),
        r"(\S+) becomes a folder": lambda t, name: (os.remove(t.at(name)), os.mkdir(t.at(name))),
        r"row (\d) is commented on": lambda t, row: comments.add_comment(
            t.view("+file.txt"), Comment(int(row), int(row), "here")
        ),
    }
    seen = {
        "the head says CHANGED:": lambda t: diff_kinds.FILE_CHANGED in t.notes(),
        "the head says GONE:": lambda t: diff_kinds.FILE_GONE in t.notes(),
        "the head says UNSAVED:": lambda t: ending.UNSAVED in t.notes(),
        "the head counts": lambda t: "".join(
            re.findall(r"(\d) conflicts? (?:with your changes )?(?:is|are) marked", t.notes())
        ),
        "the first comment is beside": lambda t: t.texts(t.view("+file.txt"), marks.comment_key(0)),
        "the rows commented on are": lambda t: [
            comment.first for comment in comments.comments_of(t.view("+file.txt"))
        ],
        "offered are": lambda t: [item[0] for item in t.asked[0]["items"]],
        "accepting it anyway means": lambda t: t.asked[0]["items"][1][1],
    }


@rows("""
    a file that changes on disk is said at the head until it is as before
        file.txt is reviewed from old to new | file.txt holds else
        | the head says CHANGED: yes; the user was told: diff_kinds.FILE_CHANGED
        | file.txt holds old
        | the head says CHANGED: no
    a file that vanishes is said
        file.txt is reviewed from old to new | file.txt is removed | the head says GONE: yes
    a file that becomes a folder is said
        file.txt is reviewed from old to new | file.txt becomes a folder
        | the head says CHANGED: yes
    unsaved changes in another tab are said without a look at the disk
        file.txt is open with old; file.txt is reviewed from old to new
        | nobody looks at the windows any more; mine is typed into file.txt
        | the head says UNSAVED: yes | file.txt does undo | the head says UNSAVED: no
    changes on disk are merged as one edit and then accepted
        file.txt is reviewed from 1/2/3/4/5 to 1/2/3/4/five; file.txt holds one/2/3/4/5
        | the change is taken over
        | +file.txt reads one/2/3/4/five; -file.txt reads one/2/3/4/5; marked in +file.txt are
        five
        | +file.txt does undo | +file.txt reads 1/2/3/4/five
        | +file.txt does redo; run accept_diff | c heard file.txt accepted one/2/3/4/five
    comments stay with their lines
        file.txt is reviewed from 1/2/3/4/5 to 1/2/3/4/five; row 2 is commented on
        | file.txt holds 0/1/2/3/4/5; the change is taken over
        | the first comment is beside 3; the rows commented on are 3
    unsaved changes of another tab are merged
        file.txt is open with 1/2/3; file.txt is reviewed from 1/2/3 to 1/2/three
        | 0 is put at the caret of file.txt; the change is taken over | +file.txt reads 0/1/2/three
    conflicts of two merges are all counted
        file.txt is reviewed from 1/2/3 to one/2/three
        | file.txt holds mine/2/3; the change is taken over
        | file.txt holds mine/2/mine,_too; the change is taken over | the head counts 2
    of a file that is gone nothing can be taken over
        file.txt is reviewed from 1/2 to 1/two; file.txt is removed | run accept_diff
        | it is asked: diff_kinds.FILE_GONE; offered are See the difference, Accept anyway, Go back
        | accepting it anyway means Gemini CLI creates the file again.
""")
class Conflicts(ConflictCase):
    def test_a_file_that_is_slow_to_read_is_not_said_to_have_changed(self) -> Steps:
        right = yield from self.propose("old\n", "new\n")
        self.by_name["+file.txt"] = right
        read, asked = file_reading.read_content, []

        def spy(path: str) -> Answer[Original]:
            answer = read(path)
            answer.when_there(lambda: asked.append(answer.result()))
            return answer

        self.replace(file_reading, "read_content", spy)
        with mock.patch.object(file_content, "PATIENCE", -1.0):
            self.write("file.txt", "somebody's\n")
            # It is asked again.
            yield lambda: len(asked) > 1
            self.assertEqual({question.note for question in asked}, {file_content.LATE})
            self.assertEqual(self.review(right).notes, {})
            self.run_command("accept_diff")
            yield lambda: self.asked
            self.assertEqual(self.asked[0]["placeholder"], f"file.txt: {file_content.LATE}")
        yield from self.until_noted(diff_kinds.FILE_CHANGED)

    def test_lines_that_both_changed_stand_between_marks_and_are_asked_about(self) -> Steps:
        right = yield from self.propose("1\n2\n3\n", "1\nproposed\n3\n")
        self.by_name["+file.txt"] = right
        self.write("file.txt", "1\nmine\n3\n")
        yield from self.take_over()
        self.assertRegex(text_of(right), r"^1\n<<<<<<<.*\nproposed\n=======\nmine\n>>>>>>>.*\n3\n$")
        (region,) = ending.conflict_marks(right)
        self.assertEqual(right.rowcol(region.a), (1, 0))
        self.run_command("accept_diff")
        yield lambda: self.asked
        self.assertIn("1 conflict with your changes", self.asked[0]["placeholder"])
        self.assertEqual(self.cli.received("ide/diffAccepted"), [])

    def test_conflicts_are_counted_at_the_head_and_the_first_one_is_shown(self) -> Steps:
        old = [f"{row}\n" for row in range(1, 301)]
        right = yield from self.propose(
            "".join(old), changed(old, _2="two\n", _100="proposed\n", _280="proposed\n")
        )
        self.by_name["+file.txt"] = right
        self.write("file.txt", changed(old, _100="mine\n", _200="mine\n", _280="mine\n"))
        yield from self.take_over()
        yield from self.until_noted("2 conflicts are marked")
        yield from self.until_equal(lambda: caret_row(right), 99)
        self.assertTrue(right.visible_region().contains(right.text_point(99, 0)))
        yield lambda: any("2 conflicts" in each for each in self.sentences)
        region = right.line(right.text_point(99, 0))
        self.assertIn("<<<<<<<", right.substr(region))
        texts.replace_parts(right, [(sublime.Region(region.a, region.b + 1), "")])
        yield from self.until_noted("1 conflict with your changes is marked")
        right.run_command("undo")
        yield from self.until_noted("2 conflicts are marked")
        right.run_command("undo")
        yield from self.until_noted("marked in the text", False)

    def test_what_cannot_be_read_is_not_merged(self) -> Steps:
        right = yield from self.propose("1\n2\n", "1\ntwo\n")
        self.by_name["+file.txt"] = right
        with open(self.path, "wb") as file:
            file.write(b"\0\xff\xfe\0")
        present = Original("", exists=True, note="The file is binary; 4 bytes.")
        self.begin(self.running().review.conflicts.take_over(right, present))
        yield lambda: any("binary" in each for each in self.sentences)
        self.assertEqual(text_of(right), "1\ntwo\n")


@rows(
    """
    a text with marks of a conflict is not given to a CLI whose user decides in the terminal
        file.txt is reviewed from 1/2/3 to 1/two/3; file.txt holds 1/mine/3
        | the change is taken over
        | c closes file.txt in its terminal and gets none; file.txt holds 1/two/3
        | the tab file.txt (before the edit) has 1/mine/3
        | the tab file.txt (your edits) has MARKED
        | it was said that the CLI has written its own text: yes; the list has 1
    nor is one of which only the lower mark is left
        file.txt is reviewed from 1/2/3 to 1/two/3; file.txt holds 1/mine/3
        | the change is taken over; the first mark is removed
        | c closes file.txt in its terminal and gets none
        | the tab file.txt (your edits) has 1/two/=======/mine/>>>>>>>_your_changes/3
    one whose conflicts are resolved is
        file.txt is reviewed from 1/2/3 to 1/two/3; file.txt holds 1/mine/3
        | the change is taken over; the text of +file.txt becomes 1/mine_and_two/3
        | c closes file.txt in its terminal and gets 1/mine_and_two/3
        | file.txt holds 1/mine_and_two/3 | the list has 1
    what was accepted in the terminal is among the accepted edits and can be undone
        file.txt is reviewed from old to new | c closes file.txt in its terminal and gets new
        | the list has 0; file.txt holds new | the list has 1
        | the newest edit is to be undone | file.txt is on disk as old; the list has 0
    the last one that was accepted is undone by a command
        an edit of one.txt from old to new was accepted; one.txt holds new;
        file.txt is reviewed from 1 to 2 | c closes file.txt in its terminal and gets 2
        | file.txt holds 2; the list has 1; run undo_last_accepted
        | file.txt is on disk as 1; one.txt is on disk as new
    two that were accepted in the terminal one after the other are two edits
        file.txt is reviewed from 1 to 2 | nobody looks at the file again
        | c closes file.txt in its terminal and gets 2; file.txt holds 2
        | c proposes 3 for file.txt & closes file.txt in its terminal and gets 3
        | the list has 1; the newest edit is to be undone | file.txt is on disk as 1
    the tab whose unsaved changes were merged shows what is written after an acceptance
        file.txt is open with 1/2/3; file.txt is reviewed from 1/2/3 to 1/2/three
        | 0 is put at the caret of file.txt; the change is taken over | +file.txt reads 0/1/2/three
        | the head says TAB_MERGED: yes; run accept_diff | c heard file.txt accepted 0/1/2/three
        | file.txt reads 1/2/3; file.txt holds 0/1/2/three | file.txt reads 0/1/2/three
        | file.txt is unsaved: no
    and after a decision in the terminal
        file.txt is open with 1/2/3; file.txt is reviewed from 1/2/3 to 1/2/three
        | 0 is put at the caret of file.txt; the change is taken over | +file.txt reads 0/1/2/three
        | c closes file.txt in its terminal and gets 0/1/2/three; file.txt holds 0/1/2/three
        | file.txt reads 0/1/2/three; file.txt is unsaved: no
    a tab keeps unsaved changes that the written text lacks
        file.txt is open with 1/2/3; file.txt is reviewed from 1/2/3 to 1/2/three
        | 0 is put at the caret of file.txt
        | c closes file.txt in its terminal and gets 1/2/three; file.txt holds 1/2/three
        | the list has 1; file.txt reads 0/1/2/3; file.txt is unsaved: yes
    unsaved changes that are not in the proposal any more are asked about but not merged again
        file.txt is open with 1/2/3; file.txt is reviewed from 1/2/3 to 1/2/three
        | 0 is put at the caret of file.txt; the change is taken over | +file.txt does undo
        | +file.txt reads 1/2/three; run accept_diff
        | it is asked: diff_kinds.TAB_MERGED; offered are See the difference, Accept anyway, Go back
    what the user types into the tab after that can be merged again
        file.txt is open with 1/2/3; file.txt is reviewed from 1/2/3 to 1/2/three
        | 0 is put at the caret of file.txt; the change is taken over | +file.txt reads 0/1/2/three
        | x is typed into file.txt | the head says UNSAVED: yes; run accept_diff
        | it is asked: ending.UNSAVED
        | offered are See the difference, Accept anyway, Merge my changes, Go back
    unsaved changes of the tab and changes on disk are both merged
        file.txt is open with 1/2/3/4/5; file.txt is reviewed from 1/2/3/4/5 to 1/2/3/4/five
        | 0 is put at the caret of file.txt; file.txt holds 1/2/three/4/5; the change is taken over
        | +file.txt reads 0/1/2/three/4/five; -file.txt reads 1/2/three/4/5
""".replace("MARKED", "1/<<<<<<<_proposal/two/=======/mine/>>>>>>>_your_changes/3")
)
class DecidedInTheTerminal(ConflictCase, HistoryCase):
    @word("the first mark is removed")
    def remove_mark(self) -> None:
        right = self.view("+file.txt")
        (mark,) = ending.conflict_marks(right)
        texts.replace_parts(right, [(right.full_line(mark), "")])

    @word(r"the text of (\S+) becomes (\S+)")
    def rewrite(self, name: str, words: str) -> None:
        texts.replace_view_text(self.view(name), text(words))

    @word("nobody looks at the file again")
    def look_late(self) -> None:
        self.replace(terminal_decisions, "LOOKS", (600_000,))

    seen = {
        "the head says TAB_MERGED:": lambda t: diff_kinds.TAB_MERGED in t.notes(),
        "it was said that the CLI has written its own text:": lambda t: any(
            "has written its own text into file.txt" in each for each in t.sentences
        ),
    }
