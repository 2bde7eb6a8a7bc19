"""What a CLI is told of the user's files, cursor and selection."""

from __future__ import annotations

import os
from typing import Any, Generator
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.ide.events import FileClosed

from .adapter import AdapterTestCase

Steps = Generator[Any, Any, None]


class Context(AdapterTestCase):
    def test_the_focused_file_is_active_with_its_cursor_from_one_in_utf_16(self) -> Steps:
        view = yield from self.open("a.py", "first\n\U0001f600x\n")
        cli = yield from self.connect()
        view.sel().clear()
        view.sel().add(sublime.Region(7))
        yield lambda: cli.context()[0].get("cursor") == {"line": 2, "character": 3}
        self.assertEqual(cli.context()[0]["path"], view.file_name())
        self.assertIs(cli.context()[0]["isActive"], True)

    def test_several_selections_are_joined_by_line_breaks(self) -> Steps:
        view = yield from self.open("a.py", "one two three\n")
        cli = yield from self.connect()
        view.sel().clear()
        view.sel().add_all([sublime.Region(0, 3), sublime.Region(8, 13)])
        yield lambda: cli.context()[0].get("selectedText") == "one\nthree"

    def test_a_selection_is_cut_at_the_limit_without_splitting_a_pair(self) -> Steps:
        view = yield from self.open("a.py", "x" + "\U0001f600" * 9000)
        cli = yield from self.connect()
        view.sel().clear()
        view.sel().add(sublime.Region(0, view.size()))
        expected = "x" + "\U0001f600" * 8191 + "... [TRUNCATED]"
        yield lambda: cli.context()[0].get("selectedText") == expected

    def test_the_newest_focus_is_first_and_only_it_is_active(self) -> Steps:
        first = yield from self.open("a.py", "a\n")
        second = yield from self.open("b.py", "b\n")
        cli = yield from self.connect()
        self.window.focus_view(first)
        yield lambda: cli.context()[0]["path"] == first.file_name()
        newest, older = cli.context()[:2]
        self.assertEqual(older["path"], second.file_name())
        self.assertGreater(newest["timestamp"], older["timestamp"])
        self.assertEqual(set(older), {"path", "timestamp"})

    def test_an_untitled_buffer_in_front_keeps_the_last_file_active(self) -> Steps:
        view = yield from self.open("a.py", "a\n")
        cli = yield from self.connect()
        self.window.new_file()
        yield from self.until_heard(cli)
        self.assertEqual(cli.context()[0]["path"], view.file_name())
        self.assertIs(cli.context()[0]["isActive"], True)

    def test_a_closed_file_is_no_longer_told_and_the_last_leaves_an_empty_list(self) -> Steps:
        view = yield from self.open("a.py", "a\n")
        path = view.file_name()
        cli = yield from self.connect()
        yield lambda: path in [file["path"] for file in cli.context()]
        view.close()
        yield lambda: path not in [file["path"] for file in cli.context()]

    def test_a_tab_moved_within_its_window_keeps_the_moment_of_its_focus(self) -> Steps:
        first = yield from self.open("a.py", "a\n")
        second = yield from self.open("b.py", "b\n")
        cli = yield from self.connect()
        names = [second.file_name(), first.file_name()]
        yield from self.until_equal(lambda: [file["path"] for file in cli.context()][:2], names)
        before = cli.context()
        # Dragging a background tab cannot be played: moving it by the API selects it.
        plugin.GeminiCompanionListener().on_post_move(first)
        yield from self.until_heard(cli)
        self.assertEqual(cli.context(), before)

    def test_a_diff_is_never_told(self) -> Steps:
        cli = yield from self.connect()
        path = os.path.join(self.folder, "new.py")
        yield from self.diff(cli, path, "text\n")
        yield from self.until_heard(cli)
        self.assertNotIn(path, [file["path"] for file in cli.context()])

    def test_a_saved_new_buffer_is_told(self) -> Steps:
        cli = yield from self.connect()
        view = self.window.new_file()
        path = os.path.join(self.folder, "named.py")
        view.retarget(path)
        view.run_command("save", {"async": False})
        yield lambda: path in [file["path"] for file in cli.context()]

    def test_the_palette_has_no_keyboard_of_its_own_and_a_terminals_panel_has(self) -> Steps:
        view = yield from self.open("a.py", "a\n")
        yield lambda: plugin._host.running.keyboard.view == view
        listener = plugin.GeminiCompanionListener()
        for element, keeps in (("command_palette:input", True), ("terminal:output", False)):
            other = mock.Mock(**{"element.return_value": element, "window.return_value": None})
            other.file_name.return_value = None
            other.settings.return_value.get.return_value = None
            listener.on_activated(other)
            self.assertEqual(plugin._host.running.keyboard.view, view if keeps else other)
        listener.on_activated(view)

    def test_a_preview_that_another_one_replaced_is_told_to_be_closed(self) -> Steps:
        view = yield from self.open("a.py", "a\n")
        gone = sublime.View(987654)
        with mock.patch.object(plugin._host.companion, "post") as post:
            plugin._host.running.keyboard.view = gone
            plugin.GeminiCompanionListener().on_activated(view)
        self.assertIn(mock.call(FileClosed(gone.id())), post.mock_calls)
