"""What the user typed into a proposal: whatever becomes of its diff, the text stays somewhere."""

from __future__ import annotations

from typing import Any, Generator

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion import sublime_diff

from .adapter import AdapterTestCase, saved_state, text_of
from .fake_cli import FakeCli

Steps = Generator[Any, Any, None]

OLDER = "a.py (your edits of an older proposal)"


class Edits(AdapterTestCase):
    def edited(self, cli: FakeCli) -> Generator[Any, Any, sublime.View]:
        """`right = ...`: a diff of a.py that has "theirs" and "mine" in it."""
        right = yield from self.diff(cli, self.write("a.py", "old\n"), "theirs\n")
        right.run_command("append", {"characters": "mine\n"})
        return right

    def crash(self) -> None:
        """The editor goes down, and no tab of a diff comes back with it."""
        plugin.plugin_unloaded()
        for view in list(sublime_diff.diffs(self.window)):
            view.settings().erase(sublime_diff.STAMP)
            for side in (sublime_diff.partner(view), view):
                side.close()
        self.window.settings().erase(sublime_diff.DIFFS)
        plugin.plugin_loaded()


class MakingWay(Edits):
    """A diff that makes way for the next proposal."""

    def test_what_was_typed_before_a_crash_stays_when_another_cli_proposes(self) -> Steps:
        cli = yield from self.connect()
        right = yield from self.edited(cli)
        path = sublime_diff.path_of(right)
        yield lambda: "mine" in saved_state()
        self.crash()
        yield lambda: list(sublime_diff.diffs(self.window))
        cli.close()
        other = yield from self.connect()
        yield from self.diff(other, path, "next\n")
        yield lambda: len(list(sublime_diff.diffs(self.window))) == 1
        self.assertEqual(self.tabs().get(OLDER), "theirs\nmine\n")

    def test_what_was_typed_stays_when_the_same_cli_proposes_again(self) -> Steps:
        cli = yield from self.connect()
        old = yield from self.edited(cli)
        new = yield from self.diff(cli, sublime_diff.path_of(old), "next\n")
        yield lambda: not sublime_diff.is_diff(old)
        self.assertEqual(self.tabs().get(OLDER), "theirs\nmine\n")
        self.assertFalse(old.is_scratch())
        self.assertEqual(list(sublime_diff.diffs(self.window)), [new])

    def test_a_proposal_that_is_as_the_cli_sent_it_leaves_no_tab(self) -> Steps:
        cli = yield from self.connect()
        old = yield from self.edited(cli)
        self.window.focus_view(old)
        old.run_command("undo")
        self.assertEqual(text_of(old), "theirs\n")
        yield from self.diff(cli, sublime_diff.path_of(old), "next\n")
        yield lambda: not old.is_valid()
