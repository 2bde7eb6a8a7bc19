"""What the user typed into a proposal: whatever becomes of its diff, the text stays somewhere."""

from __future__ import annotations

from typing import Any, Generator
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.ide import session, silence
from GeminiCompanion.companion.ui import texts
from GeminiCompanion.companion.ui.review import edits, open_diffs, record, restoring

from ..fake_cli import FakeCli
from .adapter import AdapterTestCase, saved_state, text_of

Steps = Generator[Any, Any, None]

MARKS = (record.STAMP, record.PATH, record.RECORD, record.ORIGINAL)
OLDER = "a.py (your edits of an older proposal)"


class Edits(AdapterTestCase):
    def edited(self, cli: FakeCli) -> Generator[Any, Any, sublime.View]:
        """`right = ...`: a diff of a.py that has "theirs" and "penned" in it."""
        right = yield from self.diff(cli, self.write("a.py", "old\n"), "theirs\n")
        right.run_command("append", {"characters": "penned\n"})
        return right

    def diffs_of(self, path: str) -> list[sublime.View]:
        return [it for it in open_diffs.diffs(self.window) if open_diffs.path_of(it) == path]

    def crash(self) -> None:
        """The editor goes down, and no tab of a diff comes back with it."""
        plugin.plugin_unloaded()
        for view in list(open_diffs.diffs(self.window)):
            view.settings().erase(record.STAMP)
            for side in (open_diffs.partner(view), view):
                side.close()
        self.window.settings().erase(open_diffs.DIFFS)
        plugin.plugin_loaded()


class MakingWay(Edits):
    """A diff that makes way for the next proposal."""

    def setUp(self) -> None:
        super().setUp()
        for module in (session, silence):
            soon = mock.patch.object(module, "ABSENT", 0.0)
            soon.start()
            self.addCleanup(soon.stop)

    def test_what_was_typed_before_a_crash_stays_when_another_cli_proposes(self) -> Steps:
        cli = yield from self.connect()
        right = yield from self.edited(cli)
        path = open_diffs.path_of(right)
        yield lambda: "penned" in saved_state()
        self.crash()
        yield lambda: self.diffs_of(path)
        cli.close()
        other = yield from self.connect()
        new = yield from self.diff(other, path, "next\n")
        yield lambda: self.diffs_of(path) == [new]
        yield from self.until_equal(lambda: self.tabs().get(OLDER), "theirs\npenned\n")

    def test_what_was_typed_stays_when_the_same_cli_proposes_again(self) -> Steps:
        cli = yield from self.connect()
        old = yield from self.edited(cli)
        new = yield from self.diff(cli, open_diffs.path_of(old), "next\n")
        yield lambda: not record.is_diff(old)
        self.assertEqual(self.tabs().get(OLDER), "theirs\npenned\n")
        self.assertFalse(old.is_scratch())
        self.assertEqual(list(open_diffs.diffs(self.window)), [new])

    def test_a_proposal_that_is_as_the_cli_sent_it_leaves_no_tab(self) -> Steps:
        cli = yield from self.connect()
        old = yield from self.edited(cli)
        self.window.focus_view(old)
        old.run_command("undo")
        self.assertEqual(text_of(old), "theirs\n")
        yield from self.diff(cli, open_diffs.path_of(old), "next\n")
        yield lambda: not old.is_valid()


class TabsOfTheUsersOwn(Edits):
    """What was released is no part of a diff any more, whatever comes."""

    def released(self) -> Generator[Any, Any, sublime.View]:
        """`view = ...`: it, while another diff is open."""
        cli = yield from self.connect()
        view = yield from self.edited(cli)
        yield from self.diff(cli, self.write("b.py", "old\n"), "theirs\n")
        self.window.focus_view(view)
        self.window.run_command("gemini_companion_release_diff")
        yield lambda: not view.is_scratch()
        return view

    def test_a_restart_leaves_it_alone(self) -> Steps:
        view = yield from self.released()
        plugin.plugin_unloaded()
        with mock.patch.object(sublime.View, "close") as close:
            plugin.plugin_loaded()
        self.assertEqual(close.mock_calls, [])
        self.assertEqual(text_of(view), "theirs\npenned\n")

    def test_a_restart_leaves_it_alone_once_it_was_saved(self) -> Steps:
        view = yield from self.released()
        view.retarget(self.write("penned.py", ""))
        view.run_command("save", {"async": False})
        plugin.plugin_unloaded()
        plugin.plugin_loaded()
        yield lambda: plugin._host.environment(self.window)
        yield from self.until_turn()
        self.assertTrue(view.is_valid())

    def test_a_tab_that_an_older_release_of_the_package_left_marked_is_not_closed(self) -> Steps:
        view = yield from self.released()
        record.write_original(view, record.OriginalRecord("a diff of its own", view.id()))
        with mock.patch.object(sublime.View, "close") as close:
            restoring.adopt(self.window)
        self.assertEqual(close.mock_calls, [])


class InAnotherWindow(Edits):
    """A proposal that was dragged to another window than that of its CLI, which then is closed."""

    def dragged(self) -> Generator[Any, Any, sublime.View]:
        here = self.window
        here.run_command("new_window")
        yield lambda: len(sublime.windows()) > 1
        self.window = next(it for it in sublime.windows() if it.id() != here.id())
        try:
            cli = yield from self.connect()
            right = yield from self.edited(cli)
            here.set_view_index(right, 0, 0)
            yield lambda: right.window() == here
            self.window.run_command("close_window")
            yield lambda: len(sublime.windows()) == 1
        finally:
            self.window = here
        here.focus_view(right)
        return right

    def test_releasing_it_makes_it_an_ordinary_tab(self) -> Steps:
        right = yield from self.dragged()
        with mock.patch.object(plugin._host.editor, "tell") as tell:
            self.window.run_command("gemini_companion_release_diff")
            yield lambda: not right.is_scratch()
        self.assertIn("window of its CLI is closed", tell.call_args[0][0])
        yield lambda: not any(mark in right.settings() for mark in MARKS)
        self.assertEqual(right.name(), "a.py (released proposal)")

    def test_deciding_makes_it_one_too(self) -> Steps:
        right = yield from self.dragged()
        self.window.run_command("gemini_companion_accept_diff")
        yield lambda: right.name() == "a.py (released proposal)"
        self.assertEqual(text_of(right), "theirs\npenned\n")
        self.assertFalse(right.is_scratch())


class Rejected(Edits):
    """A rejection is meant for the CLI's text; what the user typed stays as a tab."""

    NAME = "a.py (rejected, your edits)"

    def test_closing_the_tab_opens_what_was_typed_as_a_new_one(self) -> Steps:
        typing = yield from self.open("typing.py", "x\n")
        cli = yield from self.connect()
        right = yield from self.edited(cli)
        self.window.focus_view(right)
        self.window.run_command("close")
        yield lambda: cli.received("ide/diffRejected")
        yield lambda: self.tabs().get(self.NAME) == "theirs\npenned\n"
        (tab,) = [view for view in self.window.views() if view.name() == self.NAME]
        self.assertEqual((tab.is_scratch(), tab.is_dirty(), right.is_valid()), (False, True, False))
        self.assertEqual(self.window.num_groups(), 1)
        self.assertEqual(self.window.active_view(), typing)

    def test_rejecting_leaves_what_was_typed_as_a_tab(self) -> Steps:
        typing = yield from self.open("typing.py", "x\n")
        cli = yield from self.connect()
        right = yield from self.edited(cli)
        self.window.run_command("gemini_companion_reject_diff")
        yield lambda: cli.received("ide/diffRejected")
        yield lambda: self.window.num_groups() == 1
        self.assertEqual((right.name(), text_of(right)), (self.NAME, "theirs\npenned\n"))
        self.assertFalse(right.is_scratch())
        self.assertEqual(self.window.active_view(), typing)

    def test_of_a_proposal_as_the_cli_sent_it_nothing_stays(self) -> Steps:
        cli = yield from self.connect()
        for close in ("close", "gemini_companion_reject_diff"):
            right = yield from self.diff(cli, self.write("a.py", "old\n"), "theirs\n")
            self.window.focus_view(right)
            self.window.run_command(close)
            yield lambda: self.window.num_groups() == 1
            yield lambda: self.tabs() == {}

    def test_closing_the_window_leaves_what_was_typed_in_another_one(self) -> Steps:
        here = self.window
        here.run_command("new_window")
        yield lambda: len(sublime.windows()) > 1
        self.window = next(it for it in sublime.windows() if it.id() != here.id())
        try:
            cli = yield from self.connect()
            yield from self.edited(cli)
            yield lambda: "penned" in saved_state()
            self.window.run_command("close_window")
            yield lambda: cli.received("ide/diffRejected")
        finally:
            self.window = here
        yield lambda: self.tabs().get("a.py (your edits)") == "theirs\npenned\n"

    def test_closing_the_tab_while_the_server_is_down_leaves_it_too(self) -> Steps:
        cli = yield from self.connect()
        right = yield from self.edited(cli)
        path = open_diffs.path_of(right)
        plugin._host.companion.stop()
        right.close()
        yield lambda: self.tabs().get("a.py (your edits)") == "theirs\npenned\n"
        sublime.run_command("gemini_companion_restart_companion")
        yield lambda: self.diffs_of(path)


class Leaving(Edits):
    """A CLI that quits closes its diffs, and throws away what it is given."""

    NAME = "a.py (your edits of a closed proposal)"

    def test_what_was_typed_stays_as_a_tab(self) -> Steps:
        cli = yield from self.connect()
        right = yield from self.edited(cli)
        left = open_diffs.partner(right)
        answer = cli.call("closeDiff", filePath=open_diffs.path_of(right))
        yield answer.done
        self.assertEqual(self.tabs(), {self.NAME: "theirs\npenned\n"})
        self.assertEqual((right.is_scratch(), left.is_valid()), (False, False))
        self.assertEqual(self.window.num_groups(), 1)

    def test_of_a_proposal_as_the_cli_sent_it_nothing_stays(self) -> Steps:
        cli = yield from self.connect()
        right = yield from self.diff(cli, self.write("a.py", "old\n"), "theirs\n")
        yield cli.call("closeDiff", filePath=open_diffs.path_of(right)).done
        self.assertEqual(self.tabs(), {})

    def test_nothing_stays_of_what_the_cli_takes_with_a_decision_in_the_terminal(self) -> Steps:
        cli = yield from self.connect()
        path = open_diffs.path_of((yield from self.edited(cli)))
        yield cli.call("closeDiff", filePath=path, suppressNotification=True).done
        self.write("a.py", "theirs\npenned\n")
        self.assertEqual(self.tabs(), {})


class Typing(Edits):
    def test_it_is_kept_now_and_then_however_long_it_goes_on(self) -> Steps:
        cli = yield from self.connect()
        right = yield from self.diff(cli, self.write("a.py", "old\n"), "theirs\n")

        def is_kept() -> bool:
            right.run_command("append", {"characters": "typed "})
            return "typed" in saved_state()

        yield is_kept

    def test_once_it_has_come_to_rest_all_of_it_is_kept(self) -> Steps:
        cli = yield from self.connect()
        right = yield from self.edited(cli)
        for number in range(5):
            right.run_command("append", {"characters": f"{number}\n"})
            yield
        yield lambda: "penned\\n0\\n1\\n2\\n3\\n4\\n" in saved_state()


class ShownAgain(Edits):
    """After a crash that took the tabs: the companion has the texts."""

    def shown_again(self, proposed: str) -> Generator[Any, Any, list[str]]:
        """`questions = ...`: accept the proposal after it was emptied and after the crash, without
        an answer to what is asked."""
        questions: list[str] = []
        cli = yield from self.connect()
        path = self.write("a.py", "old\n")
        right = yield from self.diff(cli, path, proposed)
        right.run_command("select_all")
        right.run_command("left_delete")
        yield lambda: saved_state() and "theirs" not in saved_state()
        self.crash()
        yield lambda: self.diffs_of(path)
        self.assertEqual(text_of(self.diffs_of(path)[0]), "")

        def ask(_window: Any, _items: Any, _select: Any, *_: Any, placeholder: str) -> None:
            questions.append(placeholder)

        with mock.patch.object(sublime.Window, "show_quick_panel", ask):
            self.window.run_command("gemini_companion_accept_diff")
            yield lambda: questions or not self.diffs_of(path)
        return questions

    def test_one_that_the_user_emptied_is_asked_about(self) -> Steps:
        questions = yield from self.shown_again("theirs\n")
        self.assertIn("emptied", " ".join(questions))

    def test_one_that_the_cli_sent_empty_is_accepted_without_a_question(self) -> Steps:
        questions = yield from self.shown_again("")
        self.assertEqual(questions, [])


class BroughtBack(Edits):
    """Diffs in tabs that the editor brings back with its own session."""

    def older_session(self, right: sublime.View) -> Generator[Any, Any, None]:
        """Type into a proposal, and have the editor come back with what it was like before."""
        marks = {name: right.settings().get(name) for name in MARKS}
        text = text_of(right)
        right.run_command("append", {"characters": "penned\n"})
        yield lambda: "penned" in saved_state()
        plugin.plugin_unloaded()
        texts.replace_theirs(right, text)
        for name, value in marks.items():
            right.settings().set(name, value)
        plugin.plugin_loaded()

    def test_what_was_kept_after_the_editors_session_is_put_in_and_can_be_undone(self) -> Steps:
        cli = yield from self.connect()
        right = yield from self.diff(cli, self.write("a.py", "old\n"), "theirs\n")
        yield from self.older_session(right)
        yield lambda: text_of(right) == "theirs\npenned\n"
        self.assertTrue(record.is_diff(right))
        yield lambda: "penned" in saved_state()
        right.run_command("undo")
        self.assertEqual(text_of(right), "theirs\n")
        yield lambda: "penned" not in saved_state()

    def test_what_was_typed_while_nobody_kept_it_stands(self) -> Steps:
        cli = yield from self.connect()
        right = yield from self.edited(cli)
        yield lambda: "penned" in saved_state()
        plugin.plugin_unloaded()
        right.run_command("append", {"characters": "to nobody\n"})
        plugin.plugin_loaded()
        yield lambda: "to nobody" in saved_state()
        self.assertEqual(text_of(right), "theirs\npenned\nto nobody\n")

    def test_what_is_typed_before_the_companion_is_up_is_not_lost(self) -> Steps:
        cli = yield from self.connect()
        right = yield from self.diff(cli, self.write("a.py", "old\n"), "theirs\n")
        with mock.patch.object(edits, "AT_REST", 0):
            yield from self.older_session(right)
            right.run_command("append", {"characters": "at once\n"})
            yield lambda: text_of(right) == "theirs\npenned\n"
        right.run_command("undo")
        self.assertEqual(text_of(right), "theirs\nat once\n")
