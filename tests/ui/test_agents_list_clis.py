"""The CLIs in terminals that the list of all agents has."""

from __future__ import annotations

import time
from typing import Any
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.ide.clis import QWEN_CODE
from GeminiCompanion.companion.ide.live_words import DONE_SHOWN
from GeminiCompanion.companion.ui.agents import agent_list, cli_rows
from GeminiCompanion.companion.ui.agents.agent_row import StateCounts
from GeminiCompanion.companion.ui.terminals import cli_terminals

from ..fake_cli import FakeCli
from .reviewing import ReviewCase, Steps

# The rows before those of the agents.
FIRST = 2


async def have_no_service() -> None:
    """The way to an engine that cannot be had."""
    return None


class ConnectedClis(ReviewCase):
    def setUp(self) -> None:
        super().setUp()
        self.replace(self.running().chat.actions, "ensure_service", have_no_service)
        # A busy machine may answer later.
        self.replace(agent_list, "SOON", 100_000)
        self.shown = self.panels()

    def list_them(self) -> Steps:
        """`self.items` are the rows of the CLIs."""
        before = len(self.shown)
        self.run_command("agents")
        yield lambda: len(self.shown) > before
        self.items: list[Any] = self.shown[-1]["items"][FIRST:]

    def choose(self, name: str) -> Steps:
        """Choose the CLI of this name."""
        yield from self.list_them()
        number = [item.trigger for item in self.items].index(name)
        self.shown[-1]["on_select"](number + FIRST)
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

    def terminal(self, name: str) -> sublime.View:
        view = self.window.new_file()
        view.set_name(name)
        view.settings().set(cli_terminals.TERMINUS_VIEW, True)
        return view

    def test_one_whose_proposal_waits_is_before_one_that_rests(self) -> Steps:
        yield from self.propose("old\n", "new\n")
        yield from self.connect_qwen()
        yield from self.list_them()
        self.assertEqual([item.trigger for item in self.items], ["Gemini CLI", "Qwen Code"])
        self.assertEqual([item.annotation for item in self.items], ["asks", ""])
        self.assertRegex(self.items[0].details[0], r"^since \d\d:\d\d$")
        self.assertIn("in a terminal", self.items[0].details[1])
        self.assertIn("1 waiting", self.items[0].details[1])
        self.assertEqual(self.shown[-1]["placeholder"], "Agents (1 asks)")
        yield from self.until_equal(self.running().agents.count_agents, StateCounts(asks=1))
        self.assertEqual(self.shown[-1]["selected_index"], FIRST)

    def test_choosing_one_shows_its_next_diff(self) -> Steps:
        first = yield from self.propose("old\n", "new\n", "a.txt")
        yield from self.connect_qwen()
        second = yield from self.diff(self.qwen, self.write("b.txt", "old\n"), "new\n")
        for name, right in (("Gemini CLI", first), ("Qwen Code", second), ("Gemini CLI", first)):
            yield from self.choose(name)
            yield lambda right=right: self.window.active_view() == right

    def test_without_a_diff_its_terminal_is_shown(self) -> Steps:
        self.cli = yield from self.connect()
        yield from self.connect_qwen()
        views = {
            name: self.terminal(name.split()[0].lower()) for name in ("Gemini CLI", "Qwen Code")
        }
        for name in ("Gemini CLI", "Qwen Code", "Gemini CLI"):
            yield from self.choose(name)
            yield lambda name=name: self.window.active_view() == views[name]

    def test_without_either_that_is_said(self) -> Steps:
        self.cli = yield from self.connect()
        yield from self.until_connected(1)
        told = self.told()
        yield from self.choose("Gemini CLI")
        sentence = cli_rows.NO_TERMINAL.format("Gemini CLI")
        yield lambda: any(sentence in each for each in told)

    def test_one_that_left_while_the_list_was_open_is_named_in_a_sentence(self) -> Steps:
        self.cli = yield from self.connect()
        yield from self.until_connected(1)
        yield from self.list_them()
        self.cli.close()
        yield from self.until_connected(0)
        told = self.told()
        self.shown[-1]["on_select"](FIRST)
        sentence = cli_rows.NO_TERMINAL.format("Gemini CLI")
        yield lambda: any(sentence in each for each in told)

    def test_without_anything_that_is_said(self) -> Steps:
        yield from self.until_connected(0)
        told = self.told()
        self.run_command("agents")
        yield lambda: any(agent_list.NONE in each for each in told)
        self.assertEqual(self.shown, [])

    def test_the_end_of_a_turn_is_news_until_its_terminal_was_in_sight(self) -> Steps:
        self.cli = yield from self.connect()
        yield from self.until_connected(1)
        yield self.cli.hook("BeforeAgent", prompt="run the tests").done
        yield from self.list_them()
        self.assertEqual(self.items[0].annotation, "works")
        self.assertEqual(self.items[0].details[2], "run the tests")
        yield self.cli.hook("AfterAgent").done
        yield from self.list_them()
        self.assertEqual(self.items[0].annotation, "done")
        self.window.focus_view(self.terminal("gemini"))
        yield from self.list_them()
        self.assertEqual(self.items[0].annotation, "")
        # Else it would be known by its hooks.
        yield self.cli.hook("SessionEnd").done

    def test_the_end_of_a_turn_counts_until_it_was_seen_or_for_a_while_if_nobody_can_tell(
        self,
    ) -> Steps:
        self.cli = yield from self.connect()
        yield from self.until_connected(1)
        agents = self.running().agents
        for is_shown in (False, True):
            if is_shown:
                view = self.terminal("gemini")
                other = yield from self.open("a.py", "x\n")
                self.window.focus_view(other)
            yield self.cli.hook("BeforeAgent", prompt="run the tests").done
            yield from self.until_equal(agents.count_agents, StateCounts(works=1))
            yield self.cli.hook("AfterAgent").done
            yield from self.until_equal(agents.count_agents, StateCounts(done=1))
            later = mock.patch.object(agents.clis, "_clock", lambda: time.time() + DONE_SHOWN)
            with later:
                yield from self.list_them()
                self.assertEqual(self.items[0].annotation, "done" if is_shown else "")
                self.assertEqual(agents.count_agents(), StateCounts(done=int(is_shown)))
        self.window.focus_view(view)
        yield from self.until_equal(agents.count_agents, StateCounts())
        yield self.cli.hook("SessionEnd").done

    def test_keys_for_the_lists_of_before_open_this_one(self) -> Steps:
        self.cli = yield from self.connect()
        yield from self.until_connected(1)
        for name in ("chats", "show_clis"):
            before = len(self.shown)
            self.run_command(name)
            yield lambda before=before: len(self.shown) > before
            self.assertEqual(self.shown[-1]["items"][FIRST].trigger, "Gemini CLI")
