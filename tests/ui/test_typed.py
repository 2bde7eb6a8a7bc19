"""What the user typed into a proposal: whatever becomes of its diff, the text stays somewhere."""

from __future__ import annotations

from typing import Any
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.ide import disk_check
from GeminiCompanion.companion.ide.questions import WindowStatuses
from GeminiCompanion.companion.ui import texts
from GeminiCompanion.companion.ui.review import open_diffs, record, restoring, typed_text_saver
from GeminiCompanion.companion.ui.sublime_editor import SublimeEditor

from ..tables import rows, word
from ..waiting import PATIENCE
from .adapter import saved_state, text_of
from .desk import DeskCase, text, words_of
from .reviewing import ReviewCase, Steps

MARKS = (record.STAMP, record.PATH, record.RECORD, record.ORIGINAL)


@rows("""
    what was typed before a crash stays when another CLI proposes
        a CLI is gone as soon as it leaves; c connects & was edited | all typed is kept: yes
        | the editor crashes; c is cut off; d connects & proposes next for a.py
        | what waits is +a.py
        | the tab a.py (your edits of an older proposal) has theirs/penned
    what was typed stays when the same CLI proposes again
        c connects & was edited; +a.py is the older | c proposes next for a.py
        | older is a proposal: no; the tab a.py (your edits of an older proposal) has theirs/penned
        | older goes without a word: no; what waits is +a.py
    a proposal that is as the CLI sent it leaves no tab
        c connects & was edited; +a.py is the older; older has the keyboard; older does undo
        | older reads theirs | c proposes next for a.py | older is there: no
    a restart leaves alone what was released
        it was released while another diff is open | the companion restarts and closes nothing
        | +a.py reads theirs/penned
    a restart leaves it alone once it was saved
        it was released while another diff is open; it is saved | the companion restarts
        | +a.py is there: yes
    a tab that an older release of the package left marked is not closed
        it was released while another diff is open; it is marked as the left side of a diff
        | the diffs are adopted and nothing is closed
    releasing what was dragged out of a window that is closed makes it an ordinary tab
        it was dragged here from a window that is closed | run release_diff
        | the user was told: window of its CLI is closed; +a.py goes without a word: no
        | its marks are nothing; +a.py is called a.py (released proposal)
    deciding makes it one too
        it was dragged here from a window that is closed | run accept_diff
        | +a.py is called a.py (released proposal); +a.py reads theirs/penned
        | +a.py goes without a word: no
    closing the tab opens what was typed as a new one
        typing.py is open; c connects & was edited; +a.py has the keyboard | do close
        | c heard a.py rejected; the tab a.py (rejected, your edits) has theirs/penned
        | it is unsaved and does not go: yes; +a.py is there: no; groups: 1
        | the keyboard is in typing.py
    rejecting leaves what was typed as a tab
        typing.py is open; c connects & was edited | run reject_diff
        | c heard a.py rejected; groups: 1; +a.py is called a.py (rejected, your edits)
        | +a.py reads theirs/penned; +a.py goes without a word: no; the keyboard is in typing.py
    of a proposal as the CLI sent it nothing stays
        c connects & proposes theirs for a.py; +a.py has the keyboard
        | do close | groups: 1; the tabs are nothing
        | c proposes theirs for a.py; +a.py has the keyboard; run reject_diff
        | groups: 1; the tabs are nothing
    what was in the file and was typed again stays where the file has changed
        a.py is open with old; c connects; c proposes theirs for a.py; a.py holds other
        | old is what +a.py is made | +a.py has the keyboard; do close
        | the tab a.py (rejected, your edits) has old
    of what was dropped as a whole nothing stays
        c connects & proposes theirs for a.py; +a.py has the keyboard | run drop_change
        | +a.py reads old
        | +a.py is shut | c heard a.py rejected; +a.py is there: no; the tabs are nothing
    closing the window leaves what was typed in another one
        a window of its own has it edited; all typed is kept: yes | that window is closed
        | c heard a.py rejected; the tab a.py (your edits) has theirs/penned
    closing the tab while the server is down leaves it too
        c connects & was edited; the server is down | +a.py is shut
        | the tab a.py (your edits) has theirs/penned | the server is up again
    what was typed stays as a tab where the CLI quits
        c connects & was edited | c closes a.py and gets theirs/penned
        | the tabs are a.py (your edits of a closed proposal): theirs/penned
        | +a.py goes without a word: no; -a.py is there: no; groups: 1
    of one that quits nothing stays of a proposal as it sent it
        c connects & proposes theirs for a.py | c closes a.py and gets theirs
        | the tabs are nothing
    nothing stays of what the CLI takes with a decision in the terminal
        a CLI may write late; c connects & was edited
        | c closes a.py in its terminal and gets theirs/penned
        | the tabs are nothing | a.py holds theirs/penned | the tabs are nothing
    it waits again where the package is unloaded before the CLI has got it
        a CLI may write late; c connects & was edited
        | the package is unloaded and loaded again as c closes a.py in its terminal
        | +a.py reads theirs/penned | c closes a.py in its terminal and gets theirs/penned
        | the tabs are nothing | a.py holds theirs/penned | the tabs are nothing
    once it has come to rest all of it is kept
        c connects & was edited | 0 is typed into +a.py; 1 is typed into +a.py | kept is 0\\n1: yes
    one that the user emptied is asked about after a crash that took the tabs
        c connects & proposes theirs for a.py; it is emptied; the editor crashes; +a.py is back
        | run accept_diff | it is asked: emptied
    one that the CLI sent empty is accepted without a question
        c connects & proposes nothing for a.py; the editor crashes; +a.py is back
        | run accept_diff | what waits is nothing; questions: 0
    what was kept after the editors session is put in and can be undone
        c connects & proposes theirs for a.py
        | penned is typed and the editor comes back with what was before
        | +a.py reads theirs/penned; +a.py is a proposal: yes; all typed is kept: yes
        | +a.py does undo | +a.py reads theirs; all typed is kept: no
    what was typed while nobody kept it stands
        c connects & was edited; all typed is kept: yes
        | nobody is typed in while the companion is away | kept is nobody: yes
        | +a.py reads theirs/penned/nobody
    what is typed before the companion is up is not lost
        edits are kept at once; c connects & proposes theirs for a.py
        | penned is typed and the editor comes back with what was before;
        once is typed into +a.py | +a.py reads theirs/penned | +a.py does undo
        | +a.py reads theirs/once
""")
class Typed(DeskCase):
    @word("c was edited")
    def was_edited(self) -> Steps:
        """A diff of a.py that has "theirs" and "penned" in it."""
        yield from self.proposes("c", "theirs", None, "a.py")
        self.pen("penned")

    def pen(self, words: str) -> None:
        self.view("+a.py").run_command("append", {"characters": text(words)})

    def until_back(self) -> Steps:
        def found() -> list[sublime.View]:
            views = [diff for diff, _ in open_diffs.undecided_diffs(self.window)]
            return [view for view in views if open_diffs.path_of(view) == self.at("a.py")]

        yield found
        (self.by_name["+a.py"],) = found()

    @word("the editor crashes")
    def crash(self) -> Steps:
        """It goes down, and no tab of a diff comes back with it."""
        plugin.plugin_unloaded()
        for view, _ in list(open_diffs.undecided_diffs(self.window)):
            view.settings().erase(record.STAMP)
            for side in (open_diffs.partner_view(view), view):
                side.close()
        self.window.settings().erase(open_diffs.DIFFS)
        plugin.plugin_loaded()
        yield from self.until_back()

    @word("it was released while another diff is open")
    def released(self) -> Steps:
        yield from self.connects("c")
        yield from self.was_edited()
        yield from self.proposes("c", "theirs", None, "b.py")
        self.focus("+a.py")
        self.run_command("release_diff")
        yield lambda: not self.view("+a.py").is_scratch()

    @word("it is saved")
    def save(self) -> None:
        self.view("+a.py").retarget(self.write("penned.py", ""))
        self.view("+a.py").run_command("save", {"async": False})

    @word("the companion restarts( and closes nothing)?")
    def restarts(self, closes_nothing: str | None) -> Steps:
        plugin.plugin_unloaded()
        with mock.patch.object(sublime.View, "close") as close:
            plugin.plugin_loaded()
        self.assertTrue(not closes_nothing or close.mock_calls == [])
        yield lambda: plugin._host.environment_of(self.window)

    @word("the diffs are adopted and nothing is closed")
    def adopt(self) -> None:
        with mock.patch.object(sublime.View, "close") as close:
            restoring.adopt_diffs(self.window)
        self.assertEqual(close.mock_calls, [])

    @word("the package is unloaded and loaded again as c closes a.py in its terminal")
    def unload_during_a_close(self) -> Steps:
        """The companion hears of its end before it hears what the editor has closed."""
        close = SublimeEditor._close_diff

        def close_and_unload(*arguments: Any) -> Any:
            closed = close(*arguments)
            plugin.plugin_unloaded()
            return closed

        with mock.patch.object(SublimeEditor, "_close_diff", close_and_unload):
            answer = self.by_name["c"].call(
                "closeDiff", filePath=self.at("a.py"), suppressNotification=True
            )
            yield answer.done
        self.assertTrue(answer.result()["isError"])
        plugin.plugin_loaded()
        yield from self.until_back()

    @word("a window of its own has it edited")
    def in_a_window_of_its_own(self) -> Steps:
        here = self.window
        here.run_command("new_window")
        yield lambda: len(sublime.windows()) > 1
        self.other = self.window = next(
            window for window in sublime.windows() if window.id() != here.id()
        )
        try:
            yield from self.connects("c")
            yield from self.was_edited()
        finally:
            self.window = here

    @word("that window is closed")
    def close_window(self) -> Steps:
        self.other.run_command("close_window")
        yield lambda: len(sublime.windows()) == 1
        # The companion has heard of it: else it would keep what waits there over a reload.
        yield from self.until_answered(WindowStatuses(), len, 1)

    @word("it was dragged here from a window that is closed")
    def dragged(self) -> Steps:
        yield from self.in_a_window_of_its_own()
        self.window.set_view_index(self.view("+a.py"), 0, 0)
        yield lambda: self.view("+a.py").window() == self.window
        yield from self.close_window()
        self.focus("+a.py")

    @word("the server is up again")
    def server_up(self) -> Steps:
        sublime.run_command("gemini_companion_restart_companion")
        yield from self.until_back()

    @word("it is emptied")
    def empty(self) -> Steps:
        self.view("+a.py").run_command("select_all")
        self.view("+a.py").run_command("left_delete")
        yield lambda: saved_state() and "theirs" not in saved_state()

    @word("penned is typed and the editor comes back with what was before")
    def older_session(self) -> Steps:
        """Tabs that the editor brings back with its own session."""
        right = self.view("+a.py")
        marks = {name: right.settings().get(name) for name in MARKS}
        before = text_of(right)
        self.pen("penned")
        yield lambda: "penned" in saved_state()
        plugin.plugin_unloaded()
        texts.replace_theirs(right, before)
        for name, value in marks.items():
            right.settings().set(name, value)
        plugin.plugin_loaded()

    @word("nobody is typed in while the companion is away")
    def type_unkept(self) -> None:
        plugin.plugin_unloaded()
        self.pen("nobody")
        plugin.plugin_loaded()

    words = {
        r"\+a.py is the older": lambda t: t.by_name.update({"older": t.by_name["+a.py"]}),
        r"\+a.py is back": lambda t: t.until_back(),
        r"(\S+) is what \+a.py is made": lambda t, words: texts.replace_view_text(
            t.view("+a.py"), text(words)
        ),
        "c is cut off": lambda t: t.by_name["c"].close(),
        "the server is down": lambda t: plugin._host.companion.stop(),
        # On a busy machine seconds pass until it has: else the text comes back to a tab.
        "a CLI may write late": lambda t: t.replace(
            disk_check, "CHECKED_AFTER", (*disk_check.CHECKED_AFTER, PATIENCE)
        ),
        "edits are kept at once": lambda t: t.replace(typed_text_saver, "AT_REST", 0),
        "it is marked as the left side of a diff": lambda t: record.write_original(
            t.view("+a.py"), record.OriginalRecord("a diff of its own", t.view("+a.py").id())
        ),
    }
    seen = {
        "all typed is kept:": lambda t: "penned" in saved_state(),
        r"kept is (\S+):": lambda t, words: words in saved_state(),
        r"the tab (a.py \(.+\)) has": lambda t, name: words_of(t.tabs().get(name, "")),
        "it is unsaved and does not go:": lambda t: all(
            view.is_dirty() and not view.is_scratch()
            for view in t.window.views()
            if view.name() == "a.py (rejected, your edits)"
        ),
        "its marks are": lambda t: [mark for mark in MARKS if mark in t.view("+a.py").settings()],
    }

    def test_typing_is_kept_now_and_then_however_long_it_goes_on(self) -> Steps:
        yield from self.connects("c")
        yield from self.proposes("c", "theirs", None, "a.py")

        def is_kept() -> bool:
            self.pen("typed")
            return "typed" in saved_state()

        yield is_kept


class TypedAtTheStart(ReviewCase):
    def come_back(self, right: sublime.View, saved: str) -> list[str]:
        """The editor has brought an older text back, and something may have been typed into it; the
        names of the tabs that are new."""
        before = set(self.tabs())
        restoring.catch_up(right, saved)
        self.assertEqual(text_of(right), saved)
        return sorted(set(self.tabs()) - before)

    def test_beside_a_newer_text_it_is_in_a_tab(self) -> Steps:
        right = yield from self.propose("old\n", "new\n")
        right.run_command("append", {"characters": "early\n"})
        (name,) = self.come_back(right, "new\nof before the crash\n")
        self.assertEqual(self.tabs()[name], "new\nearly\n")

    def test_without_it_the_newer_text_opens_no_tab(self) -> Steps:
        right = yield from self.propose("old\n", "new\n")
        self.assertEqual(self.come_back(right, "new\nof before the crash\n"), [])
