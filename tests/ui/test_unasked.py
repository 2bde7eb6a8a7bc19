"""Edits that a CLI made without asking: gathered, looked at, kept and undone by the user."""

from __future__ import annotations

import os
import threading
from typing import Any, Generator

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.base.file_content import put_back
from GeminiCompanion.companion.edits import edit_store, made_edits
from GeminiCompanion.companion.edits.edit import Edit, EditState
from GeminiCompanion.companion.ide.events import EditTakenBack
from GeminiCompanion.companion.ide.questions import FileStamps, FileUndoing
from GeminiCompanion.companion.ui import texts
from GeminiCompanion.companion.ui.review import comments, diff_kinds, record, unasked, written_files
from GeminiCompanion.companion.ui.status_bar import KEY

from ..tables import rows, word
from .desk import DeskCase, decisions, text, words_of
from .large_texts import OLD, large_text
from .reviewing import Steps


class UnaskedCase(DeskCase):
    """A CLI that asks nobody."""

    def tearDown(self) -> Steps:
        kept = self.running().review.ledger.made
        for edit in self.edits():
            kept.replace(edit, None)
        if not self.cli.is_closed:
            yield self.cli.hook("SessionEnd").done
        yield from super().tearDown()

    def hook(self, event: str, **told: Any) -> Steps:
        answer = self.cli.hook(event, cwd=self.folder, **told)
        yield answer.done
        self.heard = answer.result()

    @word("c is told to (.+)")
    def prompted(self, prompt: str) -> Steps:
        yield from self.hook("BeforeAgent", prompt=prompt)

    @word(r"c writes (\S+) from (\S+) to (\S+)")
    def writes(self, name: str, old: str, new: str) -> Steps:
        if old != "none":
            self.write(name, text(old))
        told = {"tool_name": "write_file", "tool_input": {"file_path": name}}
        yield from self.hook("BeforeTool", **told)
        self.write(name, text(new))
        yield from self.hook("AfterTool", **told, tool_response={"llmContent": ""})
        yield from self.until_turn()

    @word(r"c goes on with (\S+) to (\S+)")
    def goes_on(self, name: str, new: str) -> Steps:
        with open(self.at(name), encoding="utf-8") as file:
            old = words_of(file.read())
        yield from self.writes(name, old, new)

    @word(r"the review of (\S+) is opened")
    def open_review(self, name: str) -> Steps:
        self.run_command("show_unasked_edits")
        yield lambda: self.asked
        panel = self.asked.pop()
        names = [item.trigger for item in panel["items"]]
        panel["on_select"](names.index(name))
        yield lambda: any(self.is_review(view, name) for view in self.window.views())
        (right,) = (view for view in self.window.views() if self.is_review(view, name))
        self.by_name["+" + name] = right
        yield from self.until_computed(right)

    def is_review(self, view: sublime.View, name: str) -> bool:
        found = record.waiting_record(view)
        return found is not None and bool(found.edit_id) and found.path == self.at(name)

    @word(r"the review of (\S+) is opened twice at once")
    def open_twice(self, name: str) -> Steps:
        for _ in range(2):
            self.run_command("show_unasked_edits")
        yield lambda: len(self.asked) == 2
        for panel in (self.asked.pop(), self.asked.pop()):
            panel["on_select"]([item.trigger for item in panel["items"]].index(name))
        yield lambda: any(self.is_review(view, name) for view in self.window.views())
        yield from self.until_turn()

    @word(r"the review is (accepted|undone|closed|released)")
    def decide(self, how: str) -> Steps:
        view = next(each for each in self.window.views() if diff_kinds.is_made(each))
        if how == "closed":
            view.close()
        else:
            name = {"accepted": "accept", "undone": "reject", "released": "release"}[how]
            self.run_command(name + "_diff", id=record.waiting_record(view).id)  # type: ignore[union-attr]
        yield from self.until_turn()

    @word(r"the review is undone with the note (.+)")
    def undo_with_note(self, note: str) -> Steps:
        view = next(each for each in self.window.views() if diff_kinds.is_made(each))
        id = record.waiting_record(view).id  # type: ignore[union-attr]
        self.run_command("reject_diff_with_note", id=id)
        yield from self.answer_words(note)

    @word(r"the review is commented on: (.+)")
    def comment(self, words: str) -> None:
        view = next(each for each in self.window.views() if diff_kinds.is_made(each))
        comments.add_comment(view, record.Comment(0, 0, words))

    @word("a change of the review is dropped")
    def drop(self) -> Steps:
        yield lambda: any(diff_kinds.is_made(each) for each in self.window.views())
        view = next(each for each in self.window.views() if diff_kinds.is_made(each))
        yield from self.until_computed(view)
        before = view.change_count()
        self.run_command("drop_change", id=record.waiting_record(view).id)  # type: ignore[union-attr]
        yield lambda: view.change_count() != before
        yield from self.until_computed(view)

    @word("the review is undone twice")
    def undo_twice(self) -> Steps:
        view = next(each for each in self.window.views() if diff_kinds.is_made(each))
        posted: list[object] = []
        self.replace(self.running().companion, "post", posted.append)
        for _ in range(2):
            self.run_command("reject_diff", id=record.waiting_record(view).id)  # type: ignore[union-attr]
        yield lambda: not self.edits()
        yield from self.until_turn()
        self.assertEqual(sum(isinstance(event, EditTakenBack) for event in posted), 1)

    @word(r"the review reads (\S+)")
    def type_review(self, words: str) -> Steps:
        view = next(each for each in self.window.views() if diff_kinds.is_made(each))
        texts.replace_view_text(view, text(words))
        yield from self.until_computed(view)

    @word("c ends")
    def ends(self) -> Steps:
        yield from self.hook("SessionEnd")
        yield from self.leaves("c")

    @word("the package restarts")
    def restart(self) -> Steps:
        edit_store.writer.finish()
        yield from self.restart_companion()
        yield self.edits

    @word(r"the newest (\d+) edits are kept")
    def limit(self, count: str) -> None:
        self.replace(made_edits, "MAX_UNASKED", int(count))

    @word("the edits of the turn are undone")
    def undo_turn(self) -> Steps:
        self.run_command("undo_edits_of_turn")
        yield lambda: self.asked
        panel = self.asked.pop()
        self.said = " ".join(panel["items"][0])
        panel["on_select"](0)
        yield from self.until_turn()

    @word(r"with its next prompt the model hears (.+)")
    def hears(self, words: str) -> Steps:
        yield from self.until_heard(self.cli)
        yield from self.hook("BeforeAgent", prompt="again")
        told = self.heard.get("hookSpecificOutput", {}).get("additionalContext", "nothing")
        self.assertIn(words, told)

    def edits(self) -> list[Edit]:
        found = plugin._host.running.review.ledger.made.all
        return [edit for edit in found if edit.turn and edit.path.startswith(self.folder)]

    def listed(self) -> list[str]:
        return [
            f"{os.path.basename(edit.path)}"
            f" {words_of(edit.before.text) if edit.before.exists else 'none'}"
            f" to {words_of(edit.after or '')}"
            for edit in self.edits()
        ]

    def status(self) -> str:
        self.running().status.bar.refresh_texts()
        view = self.window.active_view()
        return view.get_status(KEY) if view is not None else ""

    seen = {
        "the edits are": lambda t: t.listed(),
        "the status bar says": lambda t: t.status(),
        "open reviews are": lambda t: sum(map(diff_kinds.is_made, t.window.views())),
        r"the review of (\S+) is called": lambda t, name: t.view("+" + name).name(),
        "looked at are": lambda t: sum(edit.state is EditState.KEPT for edit in t.edits()),
        r"(\S+) exists:": lambda t, name: os.path.exists(t.at(name)),
        "it was asked": lambda t: t.said,
        "decisions sent are": lambda t: len(decisions(t.cli)),
    }


@rows("""
    an edit is counted and no view opens
        typing.py is open; c connects | c is told to do; c writes a.py from old to new
        | the edits are a.py old to new; the status bar says Gemini: working, 1 edit to look at;
        open reviews are 0
    edits of one file in one turn are one
        c connects; c is told to do | c writes a.py from one to two; c goes on with a.py to three
        | the edits are a.py one to three
    in another turn they are two
        c connects; c is told to do; c writes a.py from one to two | c is told to again;
        c goes on with a.py to three | the edits are a.py one to two, a.py two to three
    what was taken back in the same turn is no edit
        c connects; c is told to do | c writes a.py from one to two; c goes on with a.py to one
        | the edits are nothing
    what somebody wrote in between makes two of them
        c connects; c is told to do | c writes a.py from one to two; c writes a.py from x to three
        | the edits are a.py one to two, a.py x to three
""")
class Gathered(UnaskedCase):
    def test_a_file_that_comes_back_with_other_line_ends_is_an_edit(self) -> Steps:
        yield from self.connects("c")
        yield from self.prompted("do")
        told = {"tool_name": "write_file", "tool_input": {"file_path": "a.py"}}
        self.write("a.py", "a\r\n")
        for written in ("b\n", "a\n"):
            yield from self.hook("BeforeTool", **told)
            self.write("a.py", written)
            yield from self.hook("AfterTool", **told, tool_response={})
            yield from self.until_turn()
        self.assertEqual(self.listed(), ["a.py a to a"])


@rows("""
    accepting an unchanged review only counts it as looked at
        c connects; c is told to do; c writes a.py from old to new; the review of a.py is opened
        | the review is accepted
        | looked at are 1; open reviews are 0; a.py is on disk as new; decisions sent are 0
    what the user drops in a review is written into the file
        c connects; c is told to do; c writes a.py from a/b to c/d; the review of a.py is opened
        | the review reads c/b; the review is accepted
        | a.py is on disk as c/b; the edits are a.py a/b to c/b; open reviews are 0
        | with its next prompt the model hears taken back a part | decisions sent are 0
    a review that is undone makes the file what it was
        c connects; c is told to do; c writes a.py from old to new; the review of a.py is opened
        | the review is undone | a.py is on disk as old; the edits are nothing; open reviews are 0
        | with its next prompt the model hears has undone your edit | decisions sent are 0
    a new file is removed by undoing its edit
        c connects; c is told to do; c writes a.py from none to new; the review of a.py is opened
        | the review is undone | a.py exists: no; open reviews are 0
    the user types on where they are while a review is written into its file
        typing.py is open; c connects; c is told to do; c writes a.py from a/b to c/d;
        the review of a.py is opened; the review reads c/b; typing.py has the keyboard
        | the review is accepted | a.py is on disk as c/b; the keyboard is in typing.py
    a new file with an open tab is removed by undoing its edit
        c connects; c is told to do; c writes a.py from none to new; a.py is open with new
        | the edits of the turn are undone
        | a.py exists: no; the edits are nothing; a.py reads new
    undoing an edit opens no tab
        c connects; c is told to do; c writes a.py from old to new
        | the edits of the turn are undone | a.py is on disk as old; the tabs are nothing
    an edit that is undone on disk already is none any more
        c connects; c is told to do; c writes a.py from old to new; the review of a.py is opened
        | a.py holds old; the review is undone
        | a.py is on disk as old; the edits are nothing; open reviews are 0
    what is on disk already as the user wants it is not written again
        c connects; c is told to do; c writes a.py from a/b to c/d; the review of a.py is opened
        | a.py holds c/b; the review reads c/b; the review is accepted
        | a.py is on disk as c/b; the edits are a.py a/b to c/b; open reviews are 0
    a new file that somebody changed is not removed
        c connects; c is told to do; c writes a.py from none to new; the review of a.py is opened
        | a.py holds else; the review is undone
        | what was told is CHANGED; a.py is on disk as else; open reviews are 1
    a file that somebody changed is not written
        c connects; c is told to do; c writes a.py from a/b to c/d; the review of a.py is opened
        | a.py holds else; the review reads c/b; the review is accepted
        | what was told is CHANGED; a.py is on disk as else; open reviews are 1
    unsaved changes of the file are not overwritten
        c connects; c is told to do; c writes a.py from a/b to c/d; a.py is open with c/d
        | mine is typed into a.py; the review of a.py is opened; the review reads c/b;
        the review is accepted; what was told is UNSAVED; the review is undone
        | what was told is UNSAVED; a.py is on disk as c/d; open reviews are 1
    a review that is opened twice at once is one
        c connects; c is told to do; c writes a.py from old to new
        | the review of a.py is opened twice at once | open reviews are 1
    closing the tab decides nothing
        c connects; c is told to do; c writes a.py from old to new; the review of a.py is opened
        | the review is closed
        | looked at are 0; open reviews are 0; a.py is on disk as new; decisions sent are 0
    the text from before that is typed into a review stays when its tab is closed
        c connects; c is told to do; c writes a.py from old to new; the review of a.py is opened
        | the review reads old; the review is closed
        | the tabs are a.py (your edits): old; a.py is on disk as new
    a review in which all is taken back leaves no tab when it is undone
        c connects; c is told to do; c writes a.py from old to new; the review of a.py is opened
        | the review reads old; the review is undone
        | a.py is on disk as old; open reviews are 0; the tabs are nothing
    a released review stays to be looked at
        c connects; c is told to do; c writes a.py from old to new; the review of a.py is opened
        | the review is released | looked at are 0; open reviews are 0; decisions sent are 0
    a review outlives a restart and is decided after it
        c connects; c is told to do; c writes a.py from a/b to c/d; the review of a.py is opened
        | the review reads c/b; the package restarts; the review is accepted
        | a.py is on disk as c/b; open reviews are 0; decisions sent are 0
    a review in one view outlives a restart
        diff_layout is set to "inline"; c connects; c is told to do; c writes a.py from a/b to c/d;
        the review of a.py is opened
        | the package restarts; the review is undone | a.py is on disk as a/b; open reviews are 0
    after a restart a change is dropped in one view as before
        diff_layout is set to "inline"; c connects; c is told to do;
        c writes a.py from a/x/b to c/x/d; the review of a.py is opened
        | the package restarts; a change of the review is dropped; the review is accepted
        | a.py is on disk as a/x/d; open reviews are 0
    the user's note on an edit that they undo goes to the model
        c connects; c is told to do; c writes a.py from old to new; the review of a.py is opened
        | the review is undone with the note Not this.
        | the user was told: go along with what the CLI does next
        | with its next prompt the model hears Not this.
    the user's comments on an edit that they keep go to the model
        c connects; c is told to do; c writes a.py from old to new; the review of a.py is opened
        | the review is commented on: why?; the review is accepted
        | the user was told: go along with what the CLI does next
        | with its next prompt the model hears why?
    after a restart a note on an edit goes to the CLI of its name
        c connects; c is told to do; c writes a.py from old to new; the review of a.py is opened
        | the package restarts; c is told to go on; the review is undone with the note Not this.
        | the user was told: go along with what the CLI does next
        | with its next prompt the model hears Not this.
    after a restart a change is dropped beside the file as before
        c connects; c is told to do; c writes a.py from a/x/b to c/x/d;
        the review of a.py is opened
        | the package restarts; a change of the review is dropped; the review is accepted
        | a.py is on disk as a/x/d; open reviews are 0
    what the CLI writes during a review is an edit of its own
        c connects; c is told to do; c writes a.py from one to two; the review of a.py is opened
        | c goes on with a.py to three | the edits are a.py one to two, a.py two to three
    a proposal for the file leaves a review alone
        c connects; c is told to do; c writes a.py from old to new; the review of a.py is opened
        | c proposes newer for a.py; +a.py has the keyboard; run accept_diff
        | open reviews are 1; c heard a.py accepted newer
    a CLI that leaves leaves a review alone
        c connects; c is told to do; c writes a.py from old to new; the review of a.py is opened
        | c ends | the review of a.py is called a.py (written by Gemini CLI)
    undoing an edit twice tells the model once
        c connects; c is told to do; c writes a.py from old to new; the review of a.py is opened
        | the review is undone twice | a.py is on disk as old; the edits are nothing
    edits are there after a restart
        c connects; c is told to do; c writes a.py from old to new | the package restarts
        | the edits are a.py old to new; looked at are 0
    all edits of a turn are undone together
        c connects; c is told to do; c writes a.py from old to new; c writes b.py from none to x
        | the edits of the turn are undone
        | it was asked Undo 2 edits 2 files: a.py, b.py; a.py is on disk as old; b.py exists: no
        | the edits are nothing
    of a turn what was changed since stays and is told
        c connects; c is told to do; c writes a.py from old to new; c writes b.py from none to x
        | a.py holds else; the edits of the turn are undone
        | a.py is on disk as else; b.py exists: no; the edits are a.py old to new
    of two edits of a file in one turn the newer is undone first
        c connects; c is told to do; c writes a.py from one to two; c writes a.py from x to two
        | the edits of the turn are undone
        | a.py is on disk as x; the edits are a.py one to two
    of a turn what is not kept any more is said before and after
        the newest 1 edits are kept; c connects; c is told to do; c writes a.py from old to new;
        c writes b.py from none to x | the edits of the turn are undone
        | it was asked Undo 1 edit 1 file: b.py. 1 edit cannot be undone: a.py
        | the user was told: 1 edit undone. 1 edit cannot be undone: a.py; b.py exists: no
        | a.py is on disk as new
    a turn of which nothing is kept is not offered
        the newest 0 edits are kept; c connects; c is told to do; c writes a.py from old to new
        | run undo_edits_of_turn; what was told is NOTHING_LEFT
        | looked at are 1
    an open tab is undone in its own undo
        c connects; c is told to do; c writes a.py from old to new; a.py is open with new
        | the edits of the turn are undone | a.py reads old; a.py is on disk as old
""")
class Reviewed(UnaskedCase):
    @word("what was told is ([A-Z_]+)")
    def was_told_named(self, name: str) -> Steps:
        home = written_files if hasattr(written_files, name) else unasked
        yield from self.was_told(getattr(home, name).format("a.py"))

    def written_as_no_tab_would(self) -> Generator[Any, Any, sublime.View]:
        """What was before has such line ends that undoing it happens on disk."""
        return (yield from self.written("one\r\ntwo\n", "new\n"))

    def test_a_byte_order_mark_is_no_change_of_the_user(self) -> Steps:
        yield from self.connects("c")
        yield from self.prompted("do")
        yield from self.writes("a.py", "\ufeffold", "\ufeffnew")
        yield from self.open_review("a.py")
        yield from self.decide("accepted")
        yield lambda: [edit.state for edit in self.edits()] == [EditState.KEPT]
        yield from self.until_heard(self.cli)
        yield from self.hook("BeforeAgent", prompt="again")
        self.assertEqual(self.heard, {})
        with open(self.at("a.py"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "\ufeffnew\n")

    def reverted(self) -> list[str]:
        """The names of the tabs that are made to show their files, from now on."""
        found: list[str] = []
        run = sublime.View.run_command

        def run_command(view: sublime.View, name: str, arguments: Any = None) -> None:
            if name == "revert":
                found.append(os.path.basename(view.file_name() or ""))
            run(view, name, arguments)

        self.replace(sublime.View, "run_command", run_command)
        return found

    def test_what_is_undone_on_disk_is_shown_in_an_open_tab(self) -> Steps:
        view, reverted = (yield from self.written_as_no_tab_would()), self.reverted()
        yield from self.undo_turn()
        yield lambda: not self.edits()
        self.assertEqual(reverted, ["a.py"])
        yield lambda: texts.text_of(view) == "one\ntwo\n"

    def test_a_tab_that_is_read_only_is_not_written(self) -> Steps:
        yield from self.connects("c")
        yield from self.prompted("do")
        yield from self.writes("a.py", "old", "new")
        view = yield from self.open("a.py", "new\n")
        view.set_read_only(True)
        yield from self.undo_turn()
        yield from self.was_told(written_files.READ_ONLY.format("a.py"))
        with open(self.at("a.py"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "new\n")

    def written(self, before: str, after: str) -> Generator[Any, Any, sublime.View]:
        """A CLI writes a.py, which is open."""
        yield from self.connects("c")
        yield from self.prompted("do")
        told = {"tool_name": "write_file", "tool_input": {"file_path": "a.py"}}
        self.write("a.py", before)
        yield from self.hook("BeforeTool", **told)
        view = yield from self.open("a.py", after)
        yield from self.hook("AfterTool", **told, tool_response={})
        yield from self.until_turn()
        return view

    def test_mixed_line_ends_are_undone_byte_for_byte(self) -> Steps:
        yield from self.written("one\r\ntwo\n", "1\r\ntwo\n")
        yield from self.undo_turn()
        yield lambda: not self.edits()
        with open(self.at("a.py"), "rb") as file:
            self.assertEqual(file.read(), b"one\r\ntwo\n")

    def test_the_tab_can_undo_what_was_undone_though_the_end_of_the_text_differs(self) -> Steps:
        view = yield from self.written("old", "new\n")
        yield from self.undo_turn()
        yield lambda: not self.edits()
        self.assertEqual(texts.text_of(view), "old")
        view.run_command("undo")
        self.assertEqual(texts.text_of(view), "new\n")

    def test_a_tab_that_cannot_be_saved_is_told_and_the_edit_stays(self) -> Steps:
        yield from self.written("old\n", "new\n")
        run = sublime.View.run_command

        def refuse(view: sublime.View, name: str, arguments: Any = None) -> None:
            if name != "save":
                run(view, name, arguments)

        self.replace(sublime.View, "run_command", refuse)
        yield from self.undo_turn()
        yield from self.was_told(written_files.NOT_SAVED.format("a.py"))
        self.assertEqual(len(self.edits()), 1)

    def test_a_review_in_one_view_waits_for_the_saved_edits_after_a_restart(self) -> Steps:
        self.set("diff_layout", "inline")
        yield from self.connects("c")
        yield from self.prompted("do")
        yield from self.writes("a.py", "a/x/b", "c/x/d")
        yield from self.open_review("a.py")
        load, may_load = edit_store.load_edits, threading.Event()
        self.addCleanup(may_load.set)

        def late(folder: str) -> list[Edit]:
            may_load.wait(60)
            return load(folder)

        self.replace(edit_store, "load_edits", late)
        edit_store.writer.finish()
        yield from self.restart_companion()
        # All that does not wait for the edits has gone on.
        answer = self.running().companion.ask(FileStamps((self.at("a.py"),)))
        yield lambda: answer.is_there
        yield from self.until_turn()
        may_load.set()
        yield self.edits
        yield from self.drop()
        yield from self.decide("accepted")
        yield lambda: self.listed() == ["a.py a/x/b to a/x/d"]

    def test_a_byte_order_mark_is_there_once_after_undoing_in_a_tab(self) -> Steps:
        yield from self.connects("c")
        yield from self.prompted("do")
        yield from self.writes("a.py", "\ufeffold", "\ufeffnew")
        view = yield from self.open("a.py", "\ufeffnew\n")
        yield from self.undo_turn()
        yield lambda: not self.edits()
        with open(self.at("a.py"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "\ufeffold\n")
        self.assertEqual(texts.text_of(view), "old\n")

    def test_the_tab_of_a_new_file_that_is_removed_keeps_its_text(self) -> Steps:
        yield from self.connects("c")
        yield from self.prompted("do")
        yield from self.writes("a.py", "none", "new")
        view = yield from self.open("a.py", "new\n")
        reverted = self.reverted()
        yield from self.undo_turn()
        yield lambda: not self.edits()
        self.assertEqual((reverted, texts.text_of(view)), ([], "new\n"))

    def test_what_is_typed_while_the_disk_is_written_stays_in_the_tab(self) -> Steps:
        view = yield from self.written_as_no_tab_would()
        ask = self.running().companion.ask

        def typed(question: Any) -> Any:
            if isinstance(question, FileUndoing):
                texts.replace_view_text(view, "mine\n")
            return ask(question)

        self.replace(self.running().companion, "ask", typed)
        yield from self.undo_turn()
        yield lambda: not self.edits()
        yield from self.until_turn()
        self.assertEqual(texts.text_of(view), "mine\n")
        with open(self.at("a.py"), "rb") as file:
            self.assertEqual(file.read(), b"one\r\ntwo\n")

    def test_a_second_undo_while_one_that_was_cut_still_writes_ends_the_edit(self) -> Steps:
        yield from self.written_as_no_tab_would()
        ask = self.running().companion.ask

        def written_meanwhile(question: Any) -> Any:
            if isinstance(question, FileUndoing):
                put_back(question.path, question.before, question.after)
            return ask(question)

        self.replace(self.running().companion, "ask", written_meanwhile)
        yield from self.undo_turn()
        yield lambda: not self.edits()
        with open(self.at("a.py"), "rb") as file:
            self.assertEqual(file.read(), b"one\r\ntwo\n")


@rows("""
    a large edit is reviewed in its parts and kept as it is
        c connects; c is told to do; c makes of a large a.py 10=first 20000=second;
        the review of a.py is opened
        | the review is accepted
        | looked at are 1; open reviews are 0; a.py differs in 10=first 20000=second
    a change that is dropped of a large edit is taken out of the file
        c connects; c is told to do; c makes of a large a.py 10=first 20000=second;
        the review of a.py is opened
        | a change of the review is dropped; the review is accepted
        | a.py differs in 20000=second; open reviews are 0
        | with its next prompt the model hears taken back a part
    a large edit is undone
        c connects; c is told to do; c makes of a large a.py 10=first 20000=second;
        the review of a.py is opened
        | the review is undone | a.py differs in nothing; the edits are nothing; open reviews are 0
    a large file that somebody changed is not written
        c connects; c is told to do; c makes of a large a.py 10=first 20000=second;
        the review of a.py is opened
        | a.py holds else; a change of the review is dropped; the review is accepted
        | the user was told: has changed since this edit; a.py is on disk as else
        | open reviews are 1
    an edit that is too large to be saved cannot be decided on after a restart
        c connects; c is told to do; c makes of a large a.py 10=first;
        the review of a.py is opened
        | the package restarts; the review is accepted
        | the user was told: is not known any more; a.py differs in 10=first; open reviews are 1
""")
class Large(UnaskedCase):
    @word(r"c makes of a large (\S+) (.+)")
    def makes(self, name: str, changes: str) -> Steps:
        self.write(name, OLD)
        told = {"tool_name": "write_file", "tool_input": {"file_path": name}}
        yield from self.hook("BeforeTool", **told)
        self.write(name, large_text(changes))
        yield from self.hook("AfterTool", **told, tool_response={"llmContent": ""})
        yield lambda: self.edits()

    def differences(self, name: str) -> str:
        with open(self.at(name), encoding="utf-8") as file:
            rows = list(enumerate(zip(file, OLD.splitlines(True))))
        return " ".join(f"{at}={new.strip()}" for at, (new, old) in rows if new != old)

    seen = {r"(\S+) differs in": lambda t, name: t.differences(name)}
