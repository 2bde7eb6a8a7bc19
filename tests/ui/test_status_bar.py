"""What the status bar says, and what is said when a CLI comes, proposes and goes."""

from __future__ import annotations

import os
import re
import unittest
from dataclasses import replace
from typing import Any, Generator
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.base.answer import Answer
from GeminiCompanion.companion.base.log import logger
from GeminiCompanion.companion.edits.ledger import EditCounts
from GeminiCompanion.companion.ide.cli_settings import parse_settings
from GeminiCompanion.companion.ide.doctor import report
from GeminiCompanion.companion.ide.live_clis import Activity, LiveCli
from GeminiCompanion.companion.ide.questions import TextWithdrawal
from GeminiCompanion.companion.ide.status import ConnectedClient, Status
from GeminiCompanion.companion.ui import examinations, lost_clis, notices, settings
from GeminiCompanion.companion.ui.agents.agent_row import StateCounts
from GeminiCompanion.companion.ui.lost_clis import LostClis
from GeminiCompanion.companion.ui.status_bar import KEY, StatusBar

from ..ide.test_doctor import OURS, facts
from ..support import patched
from .adapter import AdapterTestCase
from .steps_at_once import StepsAtOnce

Steps = Generator[Any, Any, None]


def status(window: sublime.Window, *clients: str, port: int = 5000) -> Status:
    """The clients are names, of which those with a word after a slash are sessions."""
    connected = tuple(client(number, *name.split("/")) for number, name in enumerate(clients))
    return Status(window.id(), port, (), (), len(clients), 0, (), connected)


def client(number: int, name: str, label: str = "") -> ConnectedClient:
    return ConnectedClient(label or f"{name} {number}", name, label or name)


def asking(name: str) -> LiveCli:
    """One that asks in its terminal."""
    return LiveCli("", name, name, 1, activity=Activity.ASKS)


class Lost(unittest.TestCase):
    """Of CLIs that are away, those that the doctor finds with nothing in their way."""

    def setUp(self) -> None:
        self.window = sublime.active_window()
        self.told: list[str] = []
        self.changes: list[tuple[str, ...]] = []
        self.stories = StepsAtOnce()
        self.addCleanup(self.stories.stop)
        self.clis = LostClis(mock.Mock(), self.stories, self.told.append)
        self.clis.changes.subscribe(lambda: self.changes.append(self.names()))
        # Each examination as it was asked for.
        self.asked: list[Answer[Any]] = []
        patched(self, mock.patch.object(examinations, "examine_window", self.examine))

    async def examine(self, companion: Any, window: sublime.Window) -> Any:
        self.asked.append(Answer())
        return await self.asked[-1]

    def names(self) -> tuple[str, ...]:
        return self.clis.lost_names(self.window)

    def away(self, *names: str, clients: tuple[str, ...] = ()) -> None:
        self.clis.update_statuses((replace(status(self.window, *clients), away=names),))

    def found(self, *pids: int, **changes: Any) -> None:
        """An examination ends: of CLIs with these processes, which nothing keeps from connecting
        but for the changes."""
        away = {"window": replace(OURS, connected=0), "is_connected": False}
        almost = facts(**{**away, **changes})
        each = (replace(almost.process, pid=pid) for pid in pids)
        found = tuple(report.examine_cli(replace(almost, process=process)) for process in each)
        self.asked.pop(0).give(found)

    def test_one_that_still_runs_is_named_and_told_of_once(self) -> None:
        self.away()
        self.assertEqual(self.asked, [])
        self.away("Gemini CLI")
        self.found(os.getpid())
        self.assertEqual((self.names(), self.changes), (("Gemini CLI",), [("Gemini CLI",)]))
        self.assertEqual(self.told, [lost_clis.LOST.format("Gemini CLI")])
        self.away()
        self.found(os.getpid())
        self.assertEqual(len(self.told), 1)

    def test_one_that_left_or_that_something_else_keeps_away_is_not(self) -> None:
        self.away("Gemini CLI")
        self.found(os.getpid(), settings=parse_settings("/s.json", '{"ide": {"enabled": false}}'))
        self.away("Gemini CLI", "Gemini CLI")
        self.found(os.getpid(), is_connected=True)
        self.away("Gemini CLI")
        self.asked.pop().give(())
        self.assertEqual((self.names(), self.told), ((), []))

    def test_one_that_is_away_is_looked_for_again_until_it_is_found_or_has_left(self) -> None:
        self.away("Gemini CLI")
        # It failed.
        self.asked.pop().give(())
        self.look()
        self.found()
        self.look()
        self.found(os.getpid())
        self.assertEqual(self.names(), ("Gemini CLI",))
        self.look()
        self.assertEqual(self.asked, [])

    def look(self) -> None:
        for _ in range(lost_clis.POLLS):
            self.clis.check_lost()

    def test_one_that_is_back_or_has_ended_is_forgotten(self) -> None:
        for end in (self.come_back, self.end):
            self.away("Gemini CLI")
            self.found(os.getpid())
            self.assertEqual(self.names(), ("Gemini CLI",))
            end()
            self.assertEqual((self.names(), self.changes[-1]), ((), ()))

    def come_back(self) -> None:
        self.away(clients=("Gemini CLI",))
        self.found(os.getpid(), window=replace(OURS, peers=frozenset([7])), is_connected=True)

    def end(self) -> None:
        with mock.patch.object(lost_clis, "is_running", lambda pid: False):
            self.clis.check_lost()

    def test_what_happens_meanwhile_is_examined_once_more_and_no_end_tells_after_the_stop(
        self,
    ) -> None:
        self.away("Gemini CLI")
        self.away("Gemini CLI", "Gemini CLI")
        self.away("Gemini CLI")
        self.assertEqual(len(self.asked), 1)
        self.found()
        self.assertEqual(len(self.asked), 1)
        self.stories.stop()
        self.found(os.getpid())
        self.assertEqual((self.asked, self.told), ([], []))


class WhatItSays(AdapterTestCase):
    """The package's own status bar is shown states that the test makes up."""

    def setUp(self) -> None:
        super().setUp()
        self.told: list[str] = []
        self.runs, self.paused = True, False
        self.bar = plugin._host.running.status.bar
        # What is told meanwhile is shown afterwards.
        missed: list[Any] = []
        editor = plugin._host.running.editor.sublime_editor
        self.addCleanup(lambda: [editor._show_statuses(each) for each in missed])
        patched(self, mock.patch.object(editor, "_show_statuses", missed.append))
        self.addCleanup(vars(self.bar).update, vars(self.bar).copy())
        self.lost: tuple[str, ...] = ()
        self.unseen, self.unwritten, self.asked = 0, 0, ""
        self.agents = StateCounts()
        made_up = StatusBar(
            self.told.append,
            lambda: self.runs,
            lambda window: self.paused,
            lambda window: self.lost,
            self.counts,
            lambda window: self.asked,
            lambda: self.agents,
        )
        vars(self.bar).update(vars(made_up))
        self.view = self.window.new_file()
        self.view.set_scratch(True)
        self.addCleanup(self.view.close)
        self.bar.refresh_view(self.view)

    def counts(self, window_id: int) -> EditCounts:
        asked = plugin._host.running.review.ledger.counts(window_id).asked
        return EditCounts(asked, self.unseen, self.unwritten)

    def said(self) -> str:
        return str(self.view.get_status(KEY))

    def test_nothing_before_anything_is_known(self) -> None:
        self.bar.refresh_texts()
        self.assertEqual(self.said(), "")

    def test_each_state_has_its_words(self) -> None:
        cases = (
            ((status(self.window),), "Gemini: no CLI"),
            ((status(self.window, "Gemini CLI"),), "Gemini"),
            ((status(self.window, "Gemini CLI", "Qwen Code"),), "Gemini, Qwen"),
            ((status(self.window, "Qwen Code", "Qwen Code"),), "Qwen ×2"),
            ((status(self.window, port=0),), "Gemini: off"),
            ((), "Gemini: off"),
        )
        for statuses, words in cases:
            self.bar.update_statuses(statuses)
            with self.subTest(words):
                self.assertEqual(self.said(), words)
        self.paused = True
        self.bar.update_statuses((status(self.window, "Gemini CLI"),))
        self.assertEqual(self.said(), "Gemini: paused")
        self.runs = False
        self.bar.refresh_texts()
        self.assertEqual(self.said(), "Gemini: off")

    def test_a_state_of_clis_has_their_names_and_those_of_the_package_its_own(self) -> None:
        qwen = status(self.window, "Qwen Code")
        two = ("Gemini CLI/Gemini CLI 1", "Gemini CLI/Gemini CLI 2")
        second = replace(status(self.window, *two), live=(asking("Gemini CLI 2"),))
        for unseen, asked, shown, words in (
            (0, "", replace(qwen, live=(asking("Qwen Code"),)), "Qwen: asks"),
            (0, "", second, "Gemini 2: asks"),
            (1, "", qwen, "Qwen: 1 edit to look at"),
            (0, "Codex: asks in a chat", qwen, "Codex: asks in a chat"),
            (
                0,
                "Codex: asks in a chat",
                replace(qwen, live=(asking("Qwen Code"),)),
                "Codex: asks in a chat, Qwen asks",
            ),
        ):
            self.unseen, self.asked = unseen, asked
            self.bar.update_statuses((shown,))
            with self.subTest(words):
                self.assertEqual(self.said(), words)

    def test_what_is_asked_in_chats_comes_before_each_state(self) -> None:
        self.asked = "Codex: asks in a chat"
        for shown, words in (
            (status(self.window), "Codex: asks in a chat"),
            (status(self.window, "Gemini CLI"), "Codex: asks in a chat"),
            (status(self.window, port=0), "Codex: asks in a chat, Gemini off"),
        ):
            self.bar.update_statuses((shown,))
            with self.subTest(words):
                self.assertEqual(self.said(), words)
        self.unseen = 1
        self.bar.update_statuses((status(self.window),))
        self.assertEqual(self.said(), "Codex: asks in a chat, 1 edit to look at")
        # What an agent of a chat proposes is of no CLI.
        self.unseen = 0
        with mock.patch.object(self.bar, "_counts", lambda window_id: EditCounts(asked=2)):
            self.bar.update_statuses((status(self.window),))
        self.assertEqual(self.said(), "Codex: asks in a chat, 2 waiting")

    def test_several_agents_are_summed_up_and_a_single_one_that_is_named_is_not(self) -> None:
        qwen = replace(status(self.window, "Qwen Code"), live=(asking("Qwen Code"),))
        works = LiveCli("", "Qwen Code", "b", 1, activity=Activity.WORKING)
        both = replace(qwen, live=(asking("Qwen Code"), works))
        idle = status(self.window, "Gemini CLI")
        for agents, asked, statuses, words in (
            (StateCounts(1, 0, 1), "", (both,), "1 asks, 1 works (Agents)"),
            (StateCounts(asks=2), "Codex: asks", (qwen,), "2 ask (Agents)"),
            (StateCounts(asks=1), "Codex: asks", (idle,), "Codex: asks"),
            (StateCounts(1, 1, 2), "Codex: asks", (idle,), "1 asks, 1 done, 2 work (Agents)"),
            (StateCounts(works=1), "", (idle,), "1 works (Agents)"),
            (StateCounts(works=1), "", (), "1 works (Agents), Gemini off"),
            (StateCounts(asks=1), "", (qwen,), "Qwen: asks"),
            (StateCounts(asks=1), "", (idle,), "1 asks (Agents)"),
        ):
            self.agents, self.asked = agents, asked
            self.bar.update_statuses(statuses)
            with self.subTest(words):
                self.assertEqual(self.said(), words)

    def test_what_waits_stands_beside_the_sum(self) -> None:
        self.agents, self.unseen = StateCounts(2, 0, 1), 3
        with mock.patch.object(self.bar, "_counts", lambda window_id: EditCounts(asked=2)):
            self.bar.update_statuses((status(self.window, "Qwen Code"),))
        self.assertEqual(self.said(), "2 ask, 1 works (Agents), Qwen 2 waiting")

    def test_an_edit_of_a_single_agent_that_waits_here_is_not_summed_up(self) -> None:
        for asks, here, words in (
            (1, 1, "Qwen: 1 waiting"),
            (1, 0, "1 asks (Agents)"),
            (2, 1, "2 ask (Agents), Qwen 1 waiting"),
        ):
            self.agents = StateCounts(asks)
            counts = EditCounts(asked=here)
            with mock.patch.object(self.bar, "_counts", lambda window_id, counts=counts: counts):
                self.bar.update_statuses((status(self.window, "Qwen Code"),))
            with self.subTest(words):
                self.assertEqual(self.said(), words)

    def test_edits_to_look_at_stand_beside_each_state(self) -> None:
        for count, clients, words in (
            (1, (), "Gemini: no CLI, 1 edit to look at"),
            (3, ("Gemini CLI",), "Gemini: 3 edits to look at"),
        ):
            self.unseen = count
            self.bar.update_statuses((status(self.window, *clients),))
            with self.subTest(words):
                self.assertEqual(self.said(), words)

    def test_what_is_not_written_stands_beside_each_state(self) -> None:
        for count, shown, words in (
            (1, status(self.window), "Gemini: no CLI, 1 edit not written"),
            (2, status(self.window, "Gemini CLI"), "Gemini: 2 edits not written"),
            (1, status(self.window, port=0), "Gemini: off, 1 edit not written"),
            (0, replace(status(self.window), unsaved="Why."), "Gemini: no CLI, not saved"),
        ):
            self.unwritten = count
            self.bar.update_statuses((shown,))
            with self.subTest(words):
                self.assertEqual(self.said(), words)

    def test_a_cli_that_waits_for_a_command_is_named_beside_each_state(self) -> None:
        self.lost = ("Gemini CLI",)
        for count, shown, words in (
            (0, status(self.window), "Gemini: type /ide enable in Gemini CLI"),
            (0, status(self.window, "Qwen Code"), "Gemini: type /ide enable in Gemini CLI"),
            (1, status(self.window), "Gemini: type /ide enable in Gemini CLI, 1 edit not written"),
        ):
            self.unwritten = count
            self.bar.update_statuses((shown,))
            with self.subTest(words):
                self.assertEqual(self.said(), words)
        self.lost = ("Gemini CLI", "Gemini CLI", "Qwen Code")
        self.bar.refresh_texts()
        self.assertEqual(
            self.said(), "Gemini: type /ide enable in Gemini CLI, Qwen Code, 1 edit not written"
        )

    def test_a_cli_that_comes_and_goes_is_told_by_name(self) -> None:
        self.bar.update_statuses((status(self.window, "Gemini CLI"),))
        self.bar.update_statuses((status(self.window, "Gemini CLI", "Gemini CLI"),))
        self.bar.update_statuses((status(self.window, "Qwen Code"),))
        self.assertEqual(
            self.told,
            [
                "Gemini CLI is connected.",
                "Gemini CLI is connected.",
                "Qwen Code is connected.",
                "Gemini CLI has left.",
                "Gemini CLI has left.",
            ],
        )

    def test_of_several_with_one_name_the_one_that_comes_or_goes_is_told(self) -> None:
        for clients in (
            ("Gemini CLI/Gemini CLI 1", "Gemini CLI/Gemini CLI 4"),
            ("Gemini CLI/Gemini CLI 4",),
        ):
            self.bar.update_statuses((status(self.window, *clients),))
        # It came back as another session.
        self.bar.update_statuses((status(self.window, "Gemini CLI/Gemini CLI 5"),))
        self.assertEqual(
            self.told,
            [
                "Gemini CLI 1 is connected.",
                "Gemini CLI 4 is connected.",
                "Gemini CLI 1 has left.",
            ],
        )

    def test_whoever_wants_neither_words_nor_a_bar_has_none(self) -> None:
        quiet = settings.Settings(status_bar=False, messages=False)
        with mock.patch.object(settings, "current_settings", lambda window: quiet):
            self.bar.update_statuses((status(self.window, "Gemini CLI"),))
        self.assertEqual((self.said(), self.told), ("", []))

    def test_a_view_that_is_looked_at_later_says_it_too(self) -> None:
        self.bar.update_statuses((status(self.window),))
        view = self.window.new_file()
        view.set_scratch(True)
        self.addCleanup(view.close)
        self.bar.refresh_view(view)
        self.assertEqual(view.get_status(KEY), "Gemini: no CLI")

    def test_at_the_end_no_view_says_anything(self) -> None:
        self.bar.update_statuses((status(self.window),))
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

    def test_a_text_whose_cli_is_gone_stays_in_sight_until_it_is_discarded(self) -> Steps:
        view = yield from self.open("a.py", "a\n")
        cli = yield from self.connect()
        yield from self.until_connected(1)
        right = yield from self.diff(cli, os.path.join(self.folder, "a.py"), "b\n")
        cli.close()
        yield from self.until_connected(0)
        self.window.focus_view(right)
        self.window.run_command("gemini_companion_accept_diff")
        yield lambda: not right.is_valid()
        words = "Gemini: no CLI, 1 edit not written"
        yield from self.until_equal(lambda: view.get_status(KEY), words)
        text = TextWithdrawal(self.window.id(), str(view.file_name()), "b\n")
        self.assertTrue((yield from self.answered(text)))
        yield from self.until_equal(lambda: view.get_status(KEY), "Gemini: no CLI")

    def test_a_cli_that_leaves_is_not_said_over_what_was_told_a_moment_ago(self) -> Steps:
        editor = plugin._host.running.messages
        with mock.patch.object(sublime, "status_message") as shown:
            editor.warn_user("Your decision waits.")
            yield lambda: shown.called
            editor.mention_state("Gemini CLI has left.")
            self.assertEqual(shown.call_count, 1)
            with mock.patch.object(editor, "_told_at", float("-inf")):
                editor.mention_state("Gemini CLI has left.")
            self.assertIn("has left", shown.call_args[0][0])


class Notices(AdapterTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.work: list[Any] = []
        self.addCleanup(lambda: [story.close() for story in self.work])
        self.stories = mock.Mock()
        self.stories.begin = self.work.append
        self.notices = notices.Notices(self.stories)
        wanted = settings.Settings(desktop_notices=True)
        patched(self, mock.patch.object(settings, "current_settings", lambda window: wanted))

    def test_none_while_the_editor_is_in_front(self) -> None:
        self.notices.show_notice(self.window, "x")
        self.notices.note_deactivated()
        self.notices.note_activated()
        self.notices.show_notice(self.window, "x")
        self.assertEqual(self.work, [])

    def test_one_where_another_program_has_the_keyboard(self) -> None:
        self.notices.note_deactivated()
        self.notices.show_notice(self.window, "x proposes")
        self.assertEqual(len(self.work), 1)

    def test_none_where_nobody_wants_it(self) -> None:
        self.notices.note_deactivated()
        with mock.patch.object(settings, "current_settings", lambda window: settings.Settings()):
            self.notices.show_notice(self.window, "x")
        self.assertEqual(self.work, [])

    def test_the_text_is_an_argument_or_a_variable_and_never_a_command(self) -> None:
        text = "a'; rm -rf $(x) <b>"
        linux = notices.notice_command("linux", text)
        self.assertEqual(linux[-1], "a'; rm -rf $(x) &lt;b&gt;")
        self.assertEqual(notices.notice_command("osx", text)[-1], text)
        self.assertNotIn(text, " ".join(notices.notice_command("windows", text)))

    def test_windows_is_told_a_sender_that_it_knows(self) -> None:
        script = notices.notice_command("windows", "x")[-1]
        found = re.findall(r"CreateToastNotifier\('([^']*)'\)", script)
        self.assertEqual(found, [notices.SENDER])
        self.assertTrue(notices.SENDER.endswith("\\v1.0\\powershell.exe"))

    def test_a_program_that_is_missing_costs_the_notice_only(self) -> Steps:
        self.notices.note_deactivated()
        self.notices.show_notice(self.window, "x")
        missing = dict.fromkeys(notices.COMMANDS, ("/not/there", "{text}"))
        with mock.patch.object(notices, "COMMANDS", missing):
            with self.assertLogs(logger, "WARNING") as logs:
                self.begin(self.work.pop())
                yield lambda: logs.records
