"""Diffs as the user meets them: opened by a CLI, decided in the editor."""

from __future__ import annotations

import hashlib
import os
import threading
from typing import Any, Sequence
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.base import file_content
from GeminiCompanion.companion.base.answer import Answer
from GeminiCompanion.companion.ide.decisions import UnwrittenText
from GeminiCompanion.companion.ide.questions import Question, TextWithdrawal, UnwrittenTexts
from GeminiCompanion.companion.ui.review import head, open_diffs, opening, record, restoring

from ..tables import rows, told, word
from .adapter import saved_state, text_of
from .desk import DeskCase, text
from .reviewing import Steps


@rows("""
    the file is left and read only the proposal right and editable and both can be seen
        c connects | c proposes new for a.py
        | -a.py reads old; +a.py reads new; -a.py can be edited: no; +a.py can be edited: yes
        | +a.py is unsaved: no; -a.py is in sight: yes; +a.py is in sight: yes
        | the groups of -a.py and +a.py are 1, 2; the key bindings of +a.py find a.py: yes
    the keyboard stays where the user types
        typing.py is open; c connects | c proposes new for a.py | the keyboard is in typing.py
    the keyboard goes to the proposal where the setting says so
        focus_diff is set to true; typing.py is open; c connects | c proposes new for a.py
        | the keyboard is in +a.py
    a new file has an empty left side
        c connects | c proposes text for a new file new.py | -new.py reads nothing
    a second diff for the same path replaces the first silently
        c connects & proposes one for a.py; +a.py is the first
        | c proposes two for a.py | the first is there: no; what waits is +a.py; +a.py reads two
        | +a.py has the keyboard; run accept_diff | c heard a.py accepted two
    accepting sends the text as edited and closes both sides
        c connects & proposes new for a.py
        | mine is typed into +a.py; +a.py has the keyboard; run accept_diff
        | c heard a.py accepted new/mine; +a.py is there: no; -a.py is there: no
        | a.py is on disk as old
    rejecting says so and closes both sides
        c connects & proposes new for a.py | +a.py has the keyboard; run reject_diff
        | c heard a.py rejected; +a.py is there: no; -a.py is there: no
    closing the tab rejects once
        c connects & proposes new for a.py | +a.py is shut | -a.py is there: no
        | c has heard all | c heard a.py rejected
    saving the proposal accepts it
        c connects & proposes new for a.py | +a.py has the keyboard; do save
        | c heard a.py accepted new
    close diff gives the edited text and no decision follows
        c connects & proposes new for a.py; mine is typed into +a.py
        | c closes a.py in its terminal and gets new/mine | +a.py is there: no
        | c closes a.py and gets none; c has heard all
        | c heard nothing; the tabs are a.py (your edits): new/mine
    a diff opened again right after it was closed stays open
        c connects & proposes one for a.py | c closes a.py and proposes two at once; c has heard all
        | the proposals read two; c heard nothing
    two CLIs get their own decisions
        c connects; d connects; c proposes one for a.py; +a.py is the first; d proposes two for a.py
        | the first has the keyboard; run accept_diff
        | c heard a.py accepted one; d heard nothing
    layout and focus come back after the last diff
        typing.py is open; the layout is remembered; c connects & proposes 1 for a.py
        | c proposes 2 for b.py | the layout is as before: no
        | +a.py has the keyboard; run accept_diff | +a.py is there: no; the layout is as before: no
        | run reject_diff | what waits is nothing; the layout is as before: yes
        | the keyboard is in typing.py; the group of typing.py is 0
    what the file was when the user accepted is remembered until it is written
        a.py holds was; c connects & proposes new for a.py; +a.py has the keyboard
        | run accept_diff | the digest of was is kept: yes | a.py holds new
        | the digest of was is kept: no
    while others wait the next diff gets the keyboard of a decided one
        typing.py is open; c connects & proposes 1 for a.py & proposes 2 for b.py
        | +b.py has the keyboard; the companion knows that +b.py has it; run accept_diff
        | +b.py is there: no; the keyboard is in +a.py
    dividers that the user moved meanwhile do no harm
        the layout is remembered; c connects & proposes 1 for a.py
        | the user moves the dividers; +a.py has the keyboard; run reject_diff
        | +a.py is there: no; the layout is as before: yes
        | c proposes 1 for a.py; the user moves the dividers; +a.py has the keyboard
        | what waits is +a.py | run reject_diff | +a.py is there: no; the layout is as before: yes
    groups that the user made meanwhile are left alone
        the layout comes back at the end; c connects & proposes 1 for a.py; the user makes a group
        | run reject_diff | +a.py is there: no; groups: 4
    a clone of the proposal decides nothing
        c connects & proposes 1 for a.py; +a.py has the keyboard | do clone_file
        | the views of +a.py are 2 | its clone is closed; c has heard all
        | c heard nothing; +a.py is a proposal: yes
    a diff whose CLI is gone makes way and what was typed stays
        a CLI is gone as soon as it leaves; c connects & proposes older for a.py
        | mine is typed into +a.py; +a.py is the first; c leaves; d connects
        | connected CLIs: 1 | d proposes newer for a.py
        | the first is a proposal: no; the first reads older/mine
        | the first goes without a word: no
        | +a.py has the keyboard; run accept_diff | d heard a.py accepted newer
    a left side that comes back alone is closed
        c connects & proposes 1 for a.py; +a.py is no proposal any more
        | the diffs of before are adopted | -a.py is there: no | c closes a.py and gets 1
    a diff closed while it opens does not stay
        c connects | c opens and closes a.py together; c proposes 2 for b.py | what waits is +b.py
    one of a CLI that is gone is marked until the CLI is back
        a CLI is gone as soon as it leaves; no CLI is there; c connects & proposes 1 for a.py
        | c leaves | the name of +a.py tells that its CLI is gone: yes
        | c comes back | +a.py is called a.py (proposed)
    one can be released and its text stays as a tab
        a CLI is gone as soon as it leaves; no CLI is there; c connects & proposes 1 for a.py
        | c leaves | the name of +a.py tells that its CLI is gone: yes
        | mine is typed into +a.py; +a.py has the keyboard; run release_diff
        | what waits is nothing; groups: 1; the tabs are a.py (released proposal): 1/mine
        | +a.py is unsaved: yes; +a.py goes without a word: no; the keyboard is in +a.py
    releasing one lets an interrupted CLI go on
        c connects & proposes 1 for a.py; +a.py has the keyboard | run release_diff
        | c heard a.py rejected; groups: 1; +a.py is there: yes
    a file that changed on disk is asked about and can be seen
        c connects & proposes new for a.py; mine is typed into +a.py; a.py holds else
        | +a.py has the keyboard; run accept_diff
        | it is asked: diff_kinds.FILE_CHANGED; c heard nothing
        | the answer is See | -a.py reads else; +a.py reads new/mine
        | run accept_diff | c heard a.py accepted new/mine; questions: 0
    unsaved changes in another tab are asked about
        a.py is open with old; c connects & proposes new for a.py; unsaved is typed into a.py
        | +a.py has the keyboard; run accept_diff | it is asked: ending.UNSAVED
        | the answer is none; c has heard all | +a.py is a proposal: yes; c heard nothing
    an emptied proposal is asked about and can be rejected but not accepted
        c connects & proposes new for a.py; +a.py has the keyboard; do select_all; do left_delete
        | run accept_diff | it is asked: emptied; offered is Accept anyway: no
        | the answer is Reject the proposal | c heard a.py rejected
    a proposal that was empty is accepted without a question
        c connects & proposes nothing for a.py; +a.py has the keyboard | run accept_diff
        | c heard a.py accepted nothing; questions: 0
    accept and reject are enabled only where a diff waits
        c connects | the window offers no, no | c proposes 1 for a.py | the window offers yes, yes
""")
class Diffs(DeskCase):
    def layout_comes_back(self) -> None:
        self.before_it = self.window.layout()
        self.addCleanup(self.window.set_layout, self.before_it)

    def move_dividers(self) -> None:
        layout = self.window.layout()
        layout["rows"] = [row * 0.5 for row in layout["rows"][:-1]] + [1.0]
        self.window.set_layout(layout)

    def make_group(self) -> None:
        layout = self.window.layout()
        layout["rows"] = [0.0, 0.2, 0.4, 1.0]
        layout["cells"] = [[0, 0, 2, 1], [0, 1, 2, 2], [0, 2, 1, 3], [1, 2, 2, 3]]
        self.window.set_layout(layout)

    @word("c closes a.py and proposes two at once")
    def close_and_propose(self) -> Steps:
        closed = self.cli.call("closeDiff", filePath=self.at("a.py"))
        opened = self.cli.call("openDiff", filePath=self.at("a.py"), newContent="two\n")
        yield lambda: closed.done() and opened.done()

    @word("c opens and closes a.py together")
    def open_and_close(self) -> Steps:
        path = self.write("a.py", "a\n")
        opened = ("openDiff", {"filePath": path, "newContent": "1\n"})
        yield self.cli.post_together(opened, ("closeDiff", {"filePath": path})).done

    def offers(self) -> list[bool]:
        names = ("GeminiCompanionAcceptDiffCommand", "GeminiCompanionRejectDiffCommand")
        return [getattr(plugin, name)(self.window).is_enabled() for name in names]

    words = {
        r"\+a.py is the first": lambda t: t.by_name.update({"first": t.by_name["+a.py"]}),
        "the first has the keyboard": lambda t: t.focus("first"),
        "the layout is remembered": lambda t: setattr(t, "before_it", t.window.layout()),
        "the layout comes back at the end": layout_comes_back,
        "the companion knows that (.+) has it": lambda t, name: t.until_equal(
            lambda: plugin._host.running.keyboard.view, t.view(name)
        ),
        "the user moves the dividers": move_dividers,
        "the user makes a group": make_group,
        "its clone is closed": lambda t: next(
            view for view in t.view("+a.py").buffer().views() if view != t.view("+a.py")
        ).close(),
        "(.+) is no proposal any more": lambda t, name: [
            t.view(name).settings().erase(key) for key in (record.STAMP, record.RECORD)
        ],
        "the diffs of before are adopted": lambda t: t.assertEqual(
            restoring.adopt_diffs(t.window), []
        ),
    }
    seen = {
        r"the groups of (\S+) and (\S+) are": lambda t, *names: [
            t.window.get_view_index(t.view(name))[0] for name in names
        ],
        r"the group of (\S+) is": lambda t, name: t.window.get_view_index(t.view(name))[0],
        r"the key bindings of \+a.py find a.py:": lambda t: (
            t.view("+a.py").settings().get("gemini_companion_diff") is True
            and t.view("+a.py").settings().get("gemini_companion_diff_path") == t.at("a.py")
        ),
        "the first is there:": lambda t: t.view("first").is_valid(),
        "the first is a proposal:": lambda t: record.is_diff(t.view("first")),
        "the first reads": lambda t: text_of(t.view("first"))[:-1].replace("\n", "/"),
        "the first goes without a word:": lambda t: t.view("first").is_scratch(),
        "the proposals read": lambda t: [
            text_of(diff).strip() for diff, _ in open_diffs.undecided_diffs(t.window)
        ],
        "the layout is as before:": lambda t: t.window.layout() == t.before_it,
        r"the digest of (\S+) is kept:": lambda t, words: (
            hashlib.sha256(text(words).encode()).hexdigest() in saved_state()
        ),
        r"the views of (\S+) are": lambda t, name: len(t.view(name).buffer().views()),
        r"the name of (\S+) tells that its CLI is gone:": lambda t, name: (
            "CLI gone" in t.view(name).name()
        ),
        "offered is (.+):": lambda t, row: row in [item[0] for item in t.asked[0]["items"]],
        "the window offers": offers,
    }

    @word("connected CLIs: 1")
    def one_connected(self) -> Steps:
        yield from self.until_connected(1)

    def test_the_user_is_told_which_of_several_clis_has_left(self) -> Steps:
        self.absent_at_once()
        yield from self.connect()
        cli = yield from self.connect()
        right = yield from self.diff(cli, self.write("a.py", "old\n"), "new\n")
        name = record.waiting_record(right).client  # type: ignore[union-attr]
        self.assertRegex(name, r"^Gemini CLI \d+$")
        cli.close()
        yield from self.was_told(f"{name} has left")

    def test_a_file_that_cannot_be_read_holds_up_neither_its_diff_nor_others(self) -> Steps:
        cli = yield from self.connect()
        path = self.write("a.py", "old\n")
        with mock.patch.object(file_content, "_read_file", side_effect=ZeroDivisionError):
            first = yield from self.diff(cli, path, "new\n")
        self.assertIn("cannot be read", text_of(open_diffs.partner_view(first)))
        second = yield from self.diff(cli, self.write("b.py", "old\n"), "new\n")
        self.assertEqual(text_of(open_diffs.partner_view(second)), "old\n")
        with mock.patch.object(file_content, "_read_file", side_effect=ZeroDivisionError):
            self.window.focus_view(second)
            self.run_command("accept_diff")
            yield from self.answer("Accept anyway")
        yield lambda: cli.received("ide/diffAccepted")

    def test_a_file_that_never_answers_is_shown_as_one_that_cannot_be_read(self) -> Steps:
        cli = yield from self.connect()
        path = self.write("a.py", "old\n")
        answered = threading.Event()
        self.addCleanup(answered.set)
        with mock.patch.object(file_content, "PATIENCE", 0.01):
            with mock.patch.object(file_content, "_read_file", lambda file: answered.wait()):
                right = yield from self.diff(cli, path, "new\n")
        self.assertEqual(text_of(open_diffs.partner_view(right)), file_content.LATE)
        self.assertEqual(text_of(right), "new\n")

    def test_tabs_and_missing_final_newline_of_a_proposal_survive(self) -> Steps:
        cli = yield from self.connect()
        text = "if x:\n\ty = '\u00e9\U0001f600'\n\n  \tz"
        right = yield from self.diff(cli, self.write("a.py", ""), text)
        self.assertEqual(text_of(right), text)

    def test_a_file_in_another_encoding_is_asked_about_and_can_be_accepted_all_the_same(
        self,
    ) -> Steps:
        cli = yield from self.connect()
        with open(self.at("latin.txt"), "wb") as file:
            file.write(b"gr\xfc\xdfe\n")
        right = yield from self.diff(cli, self.at("latin.txt"), "new\n")
        self.window.focus_view(right)
        self.run_command("accept_diff")
        yield from self.is_asked("UTF-8")
        yield from self.answer("Accept anyway")
        yield lambda: cli.received("ide/diffAccepted")

    def test_a_folder_as_path_is_an_error_and_leaves_no_view(self) -> Steps:
        cli = yield from self.connect()
        before = self.window.views()
        answer = cli.call("openDiff", filePath=self.folder, newContent="x")
        yield answer.done
        self.assertTrue(answer.result()["isError"])
        self.assertIn("is a folder", answer.result()["content"][0]["text"])
        self.assertEqual(self.window.views(), before)

    def test_a_tab_dragged_to_another_window_still_answers_its_cli(self) -> Steps:
        cli = yield from self.connect()
        path = self.write("a.py", "a\n")
        right = yield from self.diff(cli, path, "1\n")
        groups = self.window.num_groups()
        self.window.run_command("new_window")
        yield lambda: len(sublime.windows()) > 1
        other = next(window for window in sublime.windows() if window.id() != self.window.id())
        other.set_view_index(right, 0, 0)
        yield lambda: right.window() == other
        other.focus_view(right)
        other.run_command("gemini_companion_accept_diff")
        yield lambda: cli.received("ide/diffAccepted")
        yield lambda: self.window.num_groups() == groups - 2
        other.run_command("close_window")
        yield lambda: len(sublime.windows()) == 1

    def test_diffs_restored_with_other_ids_are_taken_up_and_nobody_elses_tab_is(self) -> Steps:
        mine = yield from self.open("mine.py", "mine\n")
        cli = yield from self.connect()
        path = self.write("a.py", "a\n")
        right = yield from self.diff(cli, path, "1\n")
        left = open_diffs.partner_view(right)
        # As after a restart: the settings are those of before, the ids are others.
        its = record.read_record(right)
        record.write_original(left, record.OriginalRecord(its.id, mine.id()))
        record.update_record(right, its, view_id=99999, original_id=mine.id())
        self.window.settings().set(open_diffs.DIFFS, [99999])
        right.erase_phantoms(head.PHANTOM)
        self.assertFalse(record.is_diff(right))
        self.assertFalse(open_diffs.partner_view(right).is_valid())
        found = restoring.adopt_diffs(self.window)
        self.assertEqual(found, [(cli.headers["Mcp-Session-Id"], path)])
        self.assertEqual([diff for diff, _ in open_diffs.undecided_diffs(self.window)], [right])
        self.assertEqual(open_diffs.partner_view(right), left)
        self.window.run_command("gemini_companion_accept_diff")
        yield lambda: cli.received("ide/diffAccepted")
        yield lambda: not left.is_valid()
        self.assertTrue(mine.is_valid())


@rows("""
    it can be opened as a new tab and goes on waiting
        accepted alone is 1 for a.py | its text is chosen; the answer is Open
        | the text in front is 1 of no file; unwritten are a.py: 1
        | d connects | d heard a.py accepted 1; unwritten are nothing
    it can be applied to the file which the user then saves
        a.py holds old; accepted alone is 1 for a.py | its text is chosen; the answer is Apply
        | the file's tab a.py reads 1; a.py is unsaved: yes; unwritten are nothing
        | a.py does undo | a.py reads old
    it can be applied to a file that is not there yet
        accepted alone is 1 for new.py | its text is chosen; the answer is Apply
        | the file's tab new.py reads 1; the files are nothing
    it is put beside a tab with unsaved changes and the user is told
        a.py is open with old; accepted alone is 1 for a.py; unsaved is typed into a.py
        | its text is chosen; the answer is Apply | the user was told: unsaved changes
        | a.py reads old/unsaved; the tab a.py reads 1; unwritten are nothing
    it is put beside a tab that is read only
        a.py is open with old; a.py cannot be edited; accepted alone is 1 for a.py
        | its text is chosen; the answer is Apply | the tab a.py reads 1; a.py reads old
    once discarded no CLI is told to write it
        accepted alone is 1 for a.py | its text is chosen; the answer is Discard
        | unwritten are nothing | d connects | d heard a.py rejected
    one that a CLI got meanwhile is not applied
        accepted alone is 1 for a.py; its text is chosen; d connects
        | d heard a.py accepted 1 | the answer is Apply
        | the user was told: unwritten_edits.TOO_LATE; a.py has a tab: no
    one that a CLI got meanwhile leaves an open tab as it was
        a.py is open with old; accepted alone is 1 for a.py; its text is chosen; d connects
        | d heard a.py accepted 1 | the answer is Apply
        | the user was told: unwritten_edits.TOO_LATE; a.py reads old; a.py is unsaved: no
""")
class Kept(DeskCase):
    """What was accepted while no CLI was there."""

    @word(r"accepted alone is (\S+) for (\S+)")
    def accept_alone(self, words: str, name: str) -> Steps:
        """Accept a proposal after its CLI has left."""
        self.absent_at_once()
        yield from self.connects("c")
        yield from self.proposes("c", words, "a new file ", name)
        yield from self.leaves("c")
        yield from self.until_connected(0)
        self.focus("+" + name)
        self.run_command("accept_diff")
        yield lambda: not self.view("+" + name).is_valid()

    @word("its text is chosen")
    def choose_text(self) -> Steps:
        self.run_command("show_unwritten_edits")
        yield lambda: self.asked
        panel = self.asked.pop()
        chosen = [item.details[0] == self.folder for item in panel["items"]].index(True)
        panel["on_select"](chosen)
        yield from self.until_turn()

    @word("unwritten are (.+)")
    def until_unwritten(self, expected: str) -> Steps:
        """Until these are the texts, with their names, that no CLI has got."""

        def look(unwritten: Sequence[UnwrittenText]) -> str:
            ours = [entry for entry in unwritten if entry.path.startswith(self.folder)]
            return told(
                [f"{os.path.basename(path)}: {own_text.strip()}" for path, own_text, _ in ours]
            )

        yield from self.until_answered(UnwrittenTexts(self.window.id()), look, expected)

    def tab_of(self, name: str) -> str:
        found = self.window.find_open_file(self.at(name))
        if found is None:
            return "no tab"
        self.by_name[name] = found
        return text_of(found).strip()

    words = {r"(\S+) cannot be edited": lambda t, name: t.view(name).set_read_only(True)}
    seen = {
        "the text in front is": lambda t: (
            f"{text_of(t.window.active_view()).strip()} of "
            f"{t.window.active_view().file_name() or 'no file'}"
        ),
        r"the file's tab (\S+) reads": tab_of,
        r"the tab (\S+) reads": lambda t, name: t.tabs().get(name, "").strip(),
        r"(\S+) has a tab:": lambda t, name: t.tab_of(name) != "no tab",
        "the files are": lambda t: os.listdir(t.folder),
    }

    def test_it_is_withdrawn_only_once_it_stands_in_a_tab(self) -> Steps:
        yield from self.accept_alone("one", "a.py")
        seen: list[Any] = []

        def look(question: Question[Any]) -> Answer[Any]:
            if isinstance(question, TextWithdrawal):
                seen.append(self.tabs())
            return ask(question)

        ask = plugin._host.companion.ask
        with mock.patch.object(plugin._host.companion, "ask", look):
            yield from self.choose_text()
            yield from self.answer("Apply")
            yield lambda: seen
        self.assertEqual(seen, [{self.at("a.py"): "one\n"}])


LARGE = b"0123456\n" * 0x80001
# What a file holds, None for none; what its left side is called, and its text where that is told.
TRAITS = (
    ("an ordinary file has none", b"old\n", "on disk", "old\n"),
    ("a new file is called so", None, "new file", ""),
    (
        "line ends, mark and the lack of a final line end are named",
        b"\xef\xbb\xbfone\r\ntwo",
        "on disk, BOM, CRLF, no final line end",
        None,
    ),
    (
        "another encoding is named and its text shown",
        "\ufeffgr\u00fc\u00df\n".encode("utf-16-le"),
        "on disk, UTF-16",
        "gr\u00fc\u00df\n",
    ),
    ("of a binary file a sentence is shown",
     b"\x7fELF\xff\0\0", "", "The file is binary; 7 bytes."),
    ("of a large one the changed part is shown", LARGE, "on disk, only the changed parts", None),
    ("of one that is too large to be compared the beginning is shown",
     LARGE[: 8 * 0x8001], "on disk, only the beginning", "0123456\n" * 8192),
)  # fmt: skip


class Traits(DeskCase):
    """What the left side says of the file."""

    def test_its_name_tells_the_traits_of_the_file(self) -> Steps:
        cli = yield from self.connect()
        for number, (sentence, data, name, shown) in enumerate(TRAITS):
            with self.subTest(sentence):
                path = self.at(f"{number}.txt")
                if data is not None:
                    with open(path, "wb") as file:
                        file.write(data)
                limit = 0x40000 if "too large" in sentence else file_content.LARGE
                tabs = mock.patch.object(opening, "MOST_WITH_TABS", len(TRAITS))
                with tabs, mock.patch.object(file_content, "LARGE", limit):
                    left = open_diffs.partner_view((yield from self.diff(cli, path, "new\n")))
                self.assertIn(f"{number}.txt ({name}", left.name())
                if shown is not None:
                    self.assertEqual(text_of(left), shown)
                if "changed parts" in name:
                    self.assertIn("more lines of this change", text_of(left))
                    self.assertLess(left.size(), 50_000)


@rows("""
    a part is shown and accepting leaves the text to the CLI
        c connects & proposes a giant | +a.txt is a small part: yes; +a.txt can be edited: no
        | +a.txt has the keyboard; run accept_diff | c heard a.txt accepted nothing
    a decision in the terminal gets no text that is not whole
        c connects & proposes a giant | c closes a.txt in its terminal and gets none
        | +a.txt is there: no
    one that is released leaves no half text behind
        c connects & proposes a giant; +a.txt has the keyboard | run release_diff
        | c heard a.txt rejected; +a.txt is there: no
    a very long line is shown without wrapping and colors
        c connects & proposes a long line
        | the length of +a.txt is 114688; +a.txt is wrapped: no; +a.txt can be edited: yes
""")
class Giants(DeskCase):
    """Proposals that are too large to be edited."""

    @word("c proposes a (giant|long line)")
    def propose_giant(self, what: str) -> Steps:
        path = self.write("a.txt", "old\n")
        proposed = LARGE.decode() if what == "giant" else "x = 1  " * 0x4000
        self.by_name["+a.txt"] = yield from self.diff(self.cli, path, proposed)

    seen = {
        r"\+a.txt is a small part:": lambda t: (
            "more lines of this change" in text_of(t.view("+a.txt"))
            and t.view("+a.txt").size() < 50_000
        ),
        r"the length of \+a.txt is": lambda t: t.view("+a.txt").size(),
        r"\+a.txt is wrapped:": lambda t: t.view("+a.txt").settings().get("word_wrap"),
    }
