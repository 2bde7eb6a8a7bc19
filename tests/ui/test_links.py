"""Links and commands that name their diff: a click never acts on another one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Generator
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.ui.commands import diff_commands
from GeminiCompanion.companion.ui.review import diff_kinds, open_diffs, record

from ..fake_cli import FakeCli
from .adapter import AdapterTestCase

try:
    from headless import clicks, running
except ImportError:
    clicks = running = None  # type: ignore[assignment]

Steps = Generator[Any, Any, None]


def click(view: sublime.View, caption: str) -> None:
    """As the user does, which moves no keyboard."""
    if running is None:
        raise AssertionError("no way to click in this editor")
    editor = running.current()
    clicks.click(editor, editor.view(view.id()), caption)


class Links(AdapterTestCase):
    def setUp(self) -> None:
        if running is None:
            self.skipTest("only the headless editor can be clicked in")
        super().setUp()

    def two(self) -> Generator[Any, Any, tuple[FakeCli, sublime.View, sublime.View]]:
        """`cli, a, b = ...`: b is on top, the left side of a has the keyboard."""
        yield from self.open("typing.py", "x\n")
        cli = yield from self.connect()
        a = yield from self.diff(cli, self.write("a.py", "old\n"), "new a\n")
        b = yield from self.diff(cli, self.write("b.py", "old\n"), "new b\n")
        self.window.focus_view(b)
        self.window.focus_view(open_diffs.partner_view(a))
        self.assertEqual(open_diffs.current_diff(self.window), a)
        self.assertTrue(open_diffs.is_on_top(self.window, b))
        return cli, a, b

    def test_accept_in_one_diff_accepts_that_one_whatever_has_the_keyboard(self) -> Steps:
        cli, a, b = yield from self.two()
        path = open_diffs.path_of(b)
        click(b, "Accept")
        yield lambda: cli.received("ide/diffAccepted")
        self.assertEqual(
            cli.received("ide/diffAccepted"), [{"filePath": path, "content": "new b\n"}]
        )
        yield lambda: not b.is_valid()
        self.assertTrue(record.is_diff(a))

    def test_a_click_acts_in_its_own_window_while_another_is_active(self) -> Steps:
        cli, a, b = yield from self.two()
        self.window.run_command("new_window")
        yield lambda: len(sublime.windows()) > 1
        other = next(window for window in sublime.windows() if window.id() != self.window.id())
        path = open_diffs.path_of(b)
        click(b, "Accept")
        yield lambda: cli.received("ide/diffAccepted")
        self.assertEqual(cli.received("ide/diffAccepted")[0]["filePath"], path)
        self.assertTrue(record.is_diff(a))
        other.run_command("close_window")
        yield lambda: len(sublime.windows()) == 1


class Names(AdapterTestCase):
    def test_every_diff_has_an_id_of_its_own(self) -> Steps:
        cli = yield from self.connect()
        path = self.write("a.py", "old\n")
        ids = set()
        for _ in range(2):
            right = yield from self.diff(cli, path, "new\n")
            found = record.waiting_record(right)
            ids.add(found.id if found is not None else "")
        self.assertEqual(len(ids - {""}), 2)

    def test_an_id_that_nobody_knows_is_told_and_nothing_happens(self) -> Steps:
        cli = yield from self.connect()
        right = yield from self.diff(cli, self.write("a.py", "old\n"), "new\n")
        with mock.patch.object(plugin._host.running.messages, "tell_user") as answer:
            for id in ("0" * 32, "", 7):
                for action in ("accept", "reject", "release"):
                    answer.reset_mock()
                    self.window.run_command(f"gemini_companion_{action}_diff", {"id": id})
                    answer.assert_called_once_with(diff_commands.NO_DIFF)
        self.assertTrue(record.is_diff(right))
        self.assertEqual(cli.received("ide/diffRejected") + cli.received("ide/diffAccepted"), [])

    def test_one_in_a_tab_that_was_dragged_to_another_window_is_found_there(self) -> Steps:
        here = self.window
        cli = yield from self.connect()
        right = yield from self.diff(cli, self.write("a.py", "old\n"), "new\n")
        found = record.waiting_record(right)
        here.run_command("new_window")
        yield lambda: len(sublime.windows()) > 1
        other = next(window for window in sublime.windows() if window.id() != here.id())
        other.set_view_index(right, 0, 0)
        here.settings().erase(open_diffs.DIFFS)
        self.assertEqual(open_diffs.with_id(found.id if found is not None else ""), right)
        right.close()
        other.run_command("close_window")
        yield lambda: len(sublime.windows()) == 1


class Records(AdapterTestCase):
    def test_a_damaged_record_is_no_diff(self) -> Steps:
        cli = yield from self.connect()
        path = self.write("a.py", "old\n")
        right = yield from self.diff(cli, path, "new\n")
        whole: Any = right.settings().get(record.RECORD)
        damaged: list[Any] = [None, [], "x", {}, {**whole, "view_id": "7"}]
        damaged += [{**whole, "is_whole": 1}, {k: v for k, v in whole.items() if k != "id"}]
        for value in damaged:
            right.settings().set(record.RECORD, value)
            self.assertFalse(record.is_diff(right))
            self.assertEqual(list(open_diffs.undecided_diffs(self.window)), [])
        right.settings().set(record.RECORD, whole)
        self.assertTrue(record.is_diff(right))

    def test_a_diff_of_an_unknown_origin_is_not_taken_for_the_proposal_of_a_session(self) -> Steps:
        cli = yield from self.connect()
        right = yield from self.diff(cli, self.write("a.py", "old\n"), "new\n")
        found = record.waiting_record(right)
        assert found is not None
        self.assertIs(diff_kinds.kind_of(found), diff_kinds.SESSION)
        with self.assertRaisesRegex(LookupError, "no kind of diff"):
            diff_kinds.kind_of(replace(found, call="of nobody"))

    def test_the_record_of_another_version_is_one_with_what_both_know(self) -> Steps:
        cli = yield from self.connect()
        right = yield from self.diff(cli, self.write("a.py", "old\n"), "new\n")
        whole: Any = right.settings().get(record.RECORD)
        less = {name: value for name, value in whole.items() if name != "opened_at"}
        # Sublime may give a number without a fraction as a whole one.
        for value in ({**whole, "more": 1}, less, {**whole, "opened_at": 7}):
            right.settings().set(record.RECORD, value)
            self.assertTrue(record.is_diff(right))

    def test_the_text_of_a_diff_with_a_damaged_record_stays_as_a_tab_after_a_restart(self) -> Steps:
        cli = yield from self.connect()
        path = self.write("a.py", "old\n")
        right = yield from self.diff(cli, path, "new\n")
        plugin.plugin_unloaded()
        right.settings().set(record.RECORD, {})
        plugin.plugin_loaded()
        yield lambda: not right.is_scratch()
        self.assertFalse(record.STAMP in right.settings())
        yield lambda: plugin._host.environment_of(self.window)
        cli.resume()
        yield cli.connected
        yield cli.call("closeDiff", filePath=path).done
