"""What the status bar says, and what is said when a CLI comes, proposes and goes."""

from __future__ import annotations

import os
import re
import unittest
from typing import Any, Generator
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.base.log import logger
from GeminiCompanion.companion.ide.status import Status
from GeminiCompanion.companion.ui import notices, settings
from GeminiCompanion.companion.ui.status_bar import KEY, StatusBar

from .adapter import AdapterTestCase

Steps = Generator[Any, Any, None]


def status(window: sublime.Window, *clients: str, port: int = 5000) -> Status:
    return Status(window.id(), port, (), (), len(clients), 0, 0, clients)


class WhatItSays(AdapterTestCase):
    """The package's own status bar is shown states that the test makes up."""

    def setUp(self) -> None:
        super().setUp()
        self.told: list[str] = []
        self.runs, self.paused = True, False
        self.bar = plugin._host.running.status
        # What is told meanwhile is shown afterwards.
        missed: list[Any] = []
        editor = plugin._host.running.editor
        self.addCleanup(lambda: [editor.on_status(each) for each in missed])
        patch = mock.patch.object(editor, "on_status", missed.append)
        patch.start()
        self.addCleanup(patch.stop)
        self.addCleanup(vars(self.bar).update, vars(self.bar).copy())
        made_up = StatusBar(self.told.append, lambda: self.runs, lambda window: self.paused)
        vars(self.bar).update(vars(made_up))
        self.view = self.window.new_file()
        self.view.set_scratch(True)
        self.addCleanup(self.view.close)
        self.bar.activated(self.view)

    def said(self) -> str:
        return str(self.view.get_status(KEY))

    def test_nothing_before_anything_is_known(self) -> None:
        self.bar.look()
        self.assertEqual(self.said(), "")

    def test_each_state_has_its_words(self) -> None:
        cases = (
            ((status(self.window),), "Gemini: no CLI"),
            ((status(self.window, "Gemini CLI"),), "Gemini"),
            ((status(self.window, "Gemini CLI", "Qwen Code"),), "Gemini 2"),
            ((status(self.window, port=0),), "Gemini: off"),
            ((), "Gemini: off"),
        )
        for statuses, words in cases:
            self.bar.show(statuses)
            with self.subTest(words):
                self.assertEqual(self.said(), words)
        self.paused = True
        self.bar.show((status(self.window, "Gemini CLI"),))
        self.assertEqual(self.said(), "Gemini: paused")
        self.runs = False
        self.bar.look()
        self.assertEqual(self.said(), "Gemini: off")

    def test_a_cli_that_comes_and_goes_is_told_by_name(self) -> None:
        self.bar.show((status(self.window, "Gemini CLI"),))
        self.bar.show((status(self.window, "Gemini CLI", "Gemini CLI"),))
        self.bar.show((status(self.window, "Qwen Code"),))
        self.assertEqual(
            self.told,
            [
                "Gemini CLI is connected.",
                "Gemini CLI is connected.",
                "Qwen Code is connected.",
                "Gemini CLI has left.",
            ],
        )

    def test_whoever_wants_neither_words_nor_a_bar_has_none(self) -> None:
        quiet = settings.Settings(status_bar=False, messages=False)
        with mock.patch.object(settings, "of", lambda window: quiet):
            self.bar.show((status(self.window, "Gemini CLI"),))
        self.assertEqual((self.said(), self.told), ("", []))

    def test_a_view_that_is_looked_at_later_says_it_too(self) -> None:
        self.bar.show((status(self.window),))
        view = self.window.new_file()
        view.set_scratch(True)
        self.addCleanup(view.close)
        self.bar.activated(view)
        self.assertEqual(view.get_status(KEY), "Gemini: no CLI")

    def test_at_the_end_no_view_says_anything(self) -> None:
        self.bar.show((status(self.window),))
        self.bar.stop()
        self.assertEqual(self.said(), "")


class InTheEditor(AdapterTestCase):
    def test_a_cli_that_connects_and_proposes_is_seen(self) -> Steps:
        view = yield from self.open("a.py", "a\n")
        cli = yield from self.connect()
        # A CLI of an earlier test counts until it is sure to stay away.
        yield from self.until_connected(1)
        yield from self.until_equal(lambda: view.get_status(KEY), "Gemini")
        right = yield from self.diff(cli, os.path.join(self.folder, "a.py"), "b\n")
        yield from self.until_equal(lambda: right.get_status(KEY), "Gemini: 1 waiting")


class Notices(AdapterTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.work: list[Any] = []
        self.notices = notices.Notices(self.work.append)
        wanted = settings.Settings(desktop_notices=True)
        patch = mock.patch.object(settings, "of", lambda window: wanted)
        patch.start()
        self.addCleanup(patch.stop)

    def test_none_while_the_editor_is_in_front(self) -> None:
        self.notices.show(self.window, "x")
        self.notices.deactivated()
        self.notices.activated()
        self.notices.show(self.window, "x")
        self.assertEqual(self.work, [])

    def test_one_where_another_program_has_the_keyboard(self) -> None:
        self.notices.deactivated()
        self.notices.show(self.window, "x proposes")
        self.assertEqual(len(self.work), 1)

    def test_none_where_nobody_wants_it(self) -> None:
        self.notices.deactivated()
        with mock.patch.object(settings, "of", lambda window: settings.Settings()):
            self.notices.show(self.window, "x")
        self.assertEqual(self.work, [])

    def test_the_text_is_an_argument_or_a_variable_and_never_a_command(self) -> None:
        text = "a'; rm -rf $(x) <b>"
        linux = notices.command("linux", text)
        self.assertEqual(linux[-1], "a'; rm -rf $(x) &lt;b&gt;")
        self.assertEqual(notices.command("osx", text)[-1], text)
        self.assertNotIn(text, " ".join(notices.command("windows", text)))

    def test_windows_is_told_a_sender_that_it_knows(self) -> None:
        script = notices.command("windows", "x")[-1]
        found = re.findall(r"CreateToastNotifier\('([^']*)'\)", script)
        self.assertEqual(found, [notices.SENDER])
        self.assertTrue(notices.SENDER.endswith("\\v1.0\\powershell.exe"))

    def test_a_program_that_is_missing_costs_the_notice_only(self) -> None:
        self.notices.deactivated()
        self.notices.show(self.window, "x")
        missing = dict.fromkeys(notices.COMMANDS, ("/not/there", "{text}"))
        with mock.patch.object(notices, "COMMANDS", missing):
            with self.assertLogs(logger, "WARNING"):
                self.work[0]()


if __name__ == "__main__":
    unittest.main()
