"""What the palette offers, and its lists."""

from __future__ import annotations

from typing import Any
from unittest import mock

import sublime
import sublime_plugin
from GeminiCompanion import plugin
from GeminiCompanion.companion.ui.commands import table
from GeminiCompanion.companion.ui.commands.list_command import (
    NOTHING,
    GeminiCompanionListCommand,
    is_offered,
)
from GeminiCompanion.companion.ui.host import host

from .reviewing import ReviewCase, Steps

FILE = "Packages/GeminiCompanion/Default.sublime-commands"
PREFIX = "Gemini Companion: "
# More than that hides what a newcomer looks for.
MOST = 25


class Palette(ReviewCase):
    def offered(self) -> list[str]:
        """The captions that the palette shows now."""
        found = []
        entries: Any = sublime.decode_value(sublime.load_resource(FILE))
        for entry in entries:
            if self.is_offered(entry["command"], entry.get("args", {})):
                found.append(entry["caption"][len(PREFIX) :])
        return found

    def is_offered(self, name: str, arguments: dict[str, object]) -> bool:
        known: dict[str, Any] = {
            table.name_of(kind): kind for kind in (*table.COMMANDS, GeminiCompanionListCommand)
        }
        kind = known.get(name)
        if kind is None:
            # One of the editor's.
            return True
        is_of_window = issubclass(kind, sublime_plugin.WindowCommand)
        return is_offered(kind(self.window) if is_of_window else kind(), arguments)

    def test_where_nothing_is_open_and_nothing_waits_it_is_short(self) -> Steps:
        yield from self.until_connected(0)
        found = self.offered()
        self.assertLessEqual(len(found), MOST, found)
        for caption in ("Chat", "Run CLI", "Welcome", "Doctor", "Show Log"):
            self.assertIn(caption, found)

    def test_what_acts_on_a_proposal_is_offered_while_one_waits(self) -> Steps:
        captions = {"Accept Diff", "Keep Change", "Next Diff", "Previous Diff"}
        self.assertFalse(captions & set(self.offered()))
        yield from self.propose("old\n", "new\n")
        self.assertLessEqual(captions, set(self.offered()))

    def test_unseen_messages_are_offered_until_they_are_seen(self) -> Steps:
        messages = self.running().messages.unseen
        messages.add_message("The disk is full.", "the disk")
        self.addCleanup(messages.withdraw_messages, "the disk")
        self.assertIn("Show Messages", self.offered())
        panels = self.panels()
        self.run_command("show_messages")
        yield lambda: panels
        panels[0]["on_select"](-1)
        yield lambda: "Show Messages" not in self.offered()

    def test_of_an_answer_nothing_is_offered_while_no_agent_asks(self) -> None:
        self.assertNotIn(table.LISTS["answer"], self.offered())
        self.assertFalse(self.is_offered("gemini_companion_allow", {}))

    def test_undoing_the_edits_of_a_turn_is_offered_where_there_are_some(self) -> None:
        self.assertNotIn("Undo Edits of Turn", self.offered())

    def test_a_text_can_be_sent_where_no_chat_is_open(self) -> None:
        self.assertFalse(self.is_offered("gemini_companion_send", {}))
        self.assertTrue(self.is_offered("gemini_companion_send", {"text": "Explain this."}))


class Lists(ReviewCase):
    def test_a_list_of_which_nothing_can_be_done_says_so(self) -> None:
        told: list[str] = []
        with mock.patch.object(host, "tell_user", told.append):
            GeminiCompanionListCommand(self.window).run("answer")
        self.assertEqual(told, [NOTHING.format(table.LISTS["answer"])])

    def test_a_list_has_what_can_be_done_and_does_what_is_chosen(self) -> Steps:
        panels = self.panels()
        self.run_command("list", list="send")
        yield lambda: panels
        captions = [row.caption for row in table.ROWS if row.list == "send"]
        self.assertEqual(panels[0]["items"], captions)
        yield from self.open("a.py", "one\n")
        ran = self.commands_that_run()
        panels[0]["on_select"](captions.index("Send File"))
        yield lambda: ("gemini_companion_send_file", {}) in ran

    def test_a_list_that_is_left_does_nothing(self) -> Steps:
        panels = self.panels()
        self.run_command("list", list="prompt")
        yield lambda: panels
        ran = self.commands_that_run()
        panels[0]["on_select"](-1)
        yield from self.until_turn()
        self.assertEqual(ran, [])

    def test_a_command_that_is_the_only_possible_one_is_done_at_once(self) -> Steps:
        panels = self.panels()
        for is_paused in (True, False):
            self.run_command("list", list="sharing")
            yield from self.until_turn()
            self.assertEqual(self.is_paused(), is_paused)
        self.assertEqual(panels, [])

    def test_each_list_of_the_table_has_commands_of_windows_alone(self) -> None:
        for row in table.ROWS:
            if row.list:
                with self.subTest(row.caption):
                    self.assertIn(row.list, table.LISTS)
                    self.assertTrue(issubclass(row.command, sublime_plugin.WindowCommand))

    def test_the_editor_finds_each_command_once_in_the_plugin(self) -> None:
        for command in table.COMMANDS:
            self.assertIs(getattr(plugin, command.__name__), command)
            self.assertEqual(plugin.__all__.count(command.__name__), 1)

    def is_paused(self) -> bool:
        return self.window.settings().get("gemini_companion_sharing_paused") is True

    def commands_that_run(self) -> list[tuple[str, object]]:
        """The commands of the window from now on, none of which is done."""
        ran: list[tuple[str, object]] = []
        self.replace(
            sublime.Window,
            "run_command",
            lambda _window, name, arguments=None: ran.append((name, arguments)),
        )
        return ran
