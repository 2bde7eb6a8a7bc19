"""The list of the CLIs that are connected."""

from __future__ import annotations

from typing import Any

from GeminiCompanion import plugin
from GeminiCompanion.companion.ide.clis import QWEN_CODE
from GeminiCompanion.companion.ui import cli_list
from GeminiCompanion.companion.ui.terminals import cli_terminals

from ..fake_cli import FakeCli
from .reviewing import ReviewCase, Steps


class ConnectedClis(ReviewCase):
    def choose(self, index: int) -> Steps:
        """Choose one of the list; `self.items` are its rows."""
        panels = self.panels()
        self.run_command("show_clis")
        yield lambda: panels
        self.items: list[Any] = panels[0]["items"]
        panels[0]["on_select"](index)
        yield from self.until_turn()

    def connect_qwen(self) -> Steps:
        variables = dict(plugin._host.environment_of(self.window))
        token = QWEN_CODE.token(variables["GEMINI_CLI_IDE_AUTH_TOKEN"])
        variables["GEMINI_CLI_IDE_AUTH_TOKEN"] = token
        self.qwen = FakeCli(variables, folder=self.folder)
        self.clis.append(self.qwen)
        yield self.qwen.connected
        yield lambda: self.qwen.received("ide/contextUpdate")
        # One of the test before may not have left yet.
        yield from self.until_connected(2)

    def test_each_is_named_with_what_waits(self) -> Steps:
        right = yield from self.propose("old\n", "new\n")
        yield from self.connect_qwen()
        yield from self.choose(-1)
        self.assertEqual([item.trigger for item in self.items], ["Gemini CLI", "Qwen Code"])
        self.assertEqual([item.annotation for item in self.items], ["1 waiting", ""])
        self.assertRegex(self.items[0].details[0], r"since \d\d:\d\d$")
        self.assertTrue(right.is_valid())

    def test_choosing_one_shows_its_next_diff(self) -> Steps:
        first = yield from self.propose("old\n", "new\n", "a.txt")
        yield from self.connect_qwen()
        second = yield from self.diff(self.qwen, self.write("b.txt", "old\n"), "new\n")
        for index, right in ((0, first), (1, second), (0, first)):
            yield from self.choose(index)
            yield lambda right=right: self.window.active_view() == right

    def test_without_a_diff_its_terminal_is_shown(self) -> Steps:
        self.cli = yield from self.connect()
        yield from self.connect_qwen()
        views = []
        for name in ("gemini", "qwen"):
            view = self.window.new_file()
            view.set_name(name)
            view.settings().set(cli_terminals.TERMINUS_VIEW, True)
            views.append(view)
        for index in (0, 1, 0):
            yield from self.choose(index)
            yield lambda index=index: self.window.active_view() == views[index]

    def test_without_either_that_is_said(self) -> Steps:
        self.cli = yield from self.connect()
        yield from self.until_connected(1)
        told = self.told()
        yield from self.choose(0)
        sentence = cli_list.NO_TERMINAL.format("Gemini CLI")
        yield lambda: any(sentence in each for each in told)

    def test_without_a_cli_that_is_said(self) -> Steps:
        yield from self.until_connected(0)
        told = self.told()
        self.run_command("show_clis")
        yield lambda: any(cli_list.NONE in each for each in told)
