"""The page for new users and the doctor, followed by their links."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
from dataclasses import replace
from functools import partial
from html import unescape
from typing import Any, Generator
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.base.answer import Answer, Unanswered
from GeminiCompanion.companion.ide.cli_settings import parse_settings
from GeminiCompanion.companion.ide.doctor import checks, gathering, report
from GeminiCompanion.companion.ide.surroundings import Surrounding
from GeminiCompanion.companion.ide.system_processes import SystemProcess
from GeminiCompanion.companion.ui import texts
from GeminiCompanion.companion.ui.commands import diff_commands
from GeminiCompanion.companion.ui.pages import doctor, welcome
from GeminiCompanion.companion.ui.pages.page import STYLE
from GeminiCompanion.companion.ui.review import open_diffs

from ..fake_cli import FakeCli
from ..ide.test_doctor import OURS, facts
from ..ide.test_doctor_claude import facts as claude_facts
from .adapter import AdapterTestCase

Steps = Generator[Any, Any, None]
CLASSES = re.compile(r'class="([^"]*)"')
LINK = re.compile(r'<a href="subl:(\w+) ([^"]*)">([^<]*)</a>')


class Pages(AdapterTestCase):
    """The user's home is a folder of the test, and no CLI runs."""

    def setUp(self) -> None:
        super().setUp()
        # Not below the folder of the window's files.
        self.home = os.path.join(self.folder, "home")
        os.mkdir(self.home)
        variables = {"HOME": self.home, "USERPROFILE": self.home, "GEMINI_API_KEY": ""}
        for patch in (
            mock.patch.dict(os.environ, {**variables, "PATH": os.path.join(self.home, "bin")}),
            mock.patch.object(gathering, "PLACES", ()),
            mock.patch("GeminiCompanion.companion.ide.system_processes.running_processes", dict),
        ):
            patch.start()
            self.addCleanup(patch.stop)
        self.running = plugin._host.running
        self.before = {*self.before, *(view.id() for view in self.window.views())}

    def tearDown(self) -> Steps:
        self.running.pages.welcome.stop()
        self.running.pages.doctor.stop()
        # What is still being examined would come into the next test's page, with this one's home.
        for pages in (self.running.pages.welcome, self.running.pages.doctor):
            yield lambda: not pages._examiner._asked  # noqa: B023
        yield from super().tearDown()

    def page(self, pages: Any) -> str:
        """What the window's sheet shows."""
        return str(pages._pages._contents.get(self.window.id(), ""))

    def links(self, pages: Any) -> dict[str, tuple[str, Any]]:
        found = LINK.findall(self.page(pages))
        return {
            label: (command, json.loads(unescape(arguments) or "{}"))
            for command, arguments, label in found
        }

    def click(self, pages: Any, label: str) -> None:
        command, arguments = self.links(pages)[label]
        self.window.run_command(command, arguments)

    def open_page(self, pages: Any, command: str) -> Steps:
        self.window.run_command(command)
        yield lambda: LINK.search(self.page(pages))

    def install(self) -> None:
        os.mkdir(os.path.join(self.home, "bin"))
        path = os.path.join(self.home, "bin", "gemini")
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n")
        os.chmod(path, 0o755)


class Welcome(Pages):
    def test_each_step_has_a_mark_or_one_link(self) -> Steps:
        yield from self.open_page(self.running.pages.welcome, "gemini_companion_welcome")
        # The companion may have to notice first that the window has no folder any more, and agents
        # for a chat are looked for meanwhile.
        yield from self.until_equal(
            lambda: set(self.links(self.running.pages.welcome)) - {"Show agents"},
            {"Copy the command", "Get an API key", "Add folder", "Enable", "Doctor"},
        )
        page = self.page(self.running.pages.welcome)
        for id, title in welcome.STEPS.items():
            self.assertEqual(title.format("Gemini CLI") in page, id not in welcome.SILENT)
        # It comes after those that are still to be done.
        self.assertIn("\u2013 The CLI is connected", page)
        self.assertIn("npm install -g @google/gemini-cli", page)
        self.assertIn("2026-06-18", page)
        self.click(self.running.pages.welcome, "Copy the command")
        self.assertIn("npm install -g", sublime.get_clipboard())

    def test_enable_asks_first_then_writes_and_the_page_says_so(self) -> Steps:
        self.install()
        yield from self.open_page(self.running.pages.welcome, "gemini_companion_welcome")
        path = os.path.join(self.home, ".gemini", "settings.json")
        with mock.patch.object(sublime.Window, "show_quick_panel", autospec=True) as panel:
            self.click(self.running.pages.welcome, "Enable")
            yield lambda: panel.called
            items, answer = panel.call_args[0][1:3]
            self.assertIn('"ide.enabled": true', items[0].details)
            for number in (-1, 1):
                answer(number)
                yield from self.until_turn()
                self.assertFalse(os.path.exists(path))
                panel.reset_mock()
                self.click(self.running.pages.welcome, "Enable")
                yield lambda: panel.called
                answer = panel.call_args[0][2]
            answer(0)
            yield from self.until_equal(lambda: os.path.exists(path), True)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(json.load(file), {"ide": {"enabled": True, "hasSeenNudge": True}})
        enabled = f"{welcome.STEPS['enabled']} <"
        yield from self.until_in(enabled, lambda: self.page(self.running.pages.welcome))
        self.assertNotIn("Enable", self.links(self.running.pages.welcome))

    def test_settings_at_which_the_cli_stops_are_no_step_done(self) -> Steps:
        os.mkdir(os.path.join(self.home, ".gemini"))
        path = os.path.join(self.home, ".gemini", "settings.json")
        with open(path, "w", encoding="ascii") as file:
            file.write('{"ide": {"enabled": true, "hasSeenNudge": true},}')
        yield from self.open_page(self.running.pages.welcome, "gemini_companion_welcome")
        yield lambda: "has commas before closing brackets" in self.page(self.running.pages.welcome)
        self.assertIn("Enable", self.links(self.running.pages.welcome))

    def test_it_turns_into_connected_by_itself(self) -> Steps:
        yield from self.open_page(self.running.pages.welcome, "gemini_companion_welcome")
        self.assertIn(welcome.TO_DO, self.page(self.running.pages.welcome))
        yield from self.connect()
        words = welcome.CONNECTED.format("Gemini CLI")
        yield lambda: words in self.page(self.running.pages.welcome)
        self.assertIn("Install it", self.links(self.running.pages.welcome))
        self.click(self.running.pages.welcome, "Install it")
        yield lambda: "Install it" not in self.links(self.running.pages.welcome)

    def test_the_agents_that_a_chat_could_have_are_named_below_the_steps(self) -> Steps:
        found = tuple(report.examine_cli(cli) for cli in [facts()])
        some = welcome.welcome_page(found, ("Gemini CLI", "opencode"))
        self.assertIn("chat with Gemini CLI, opencode.", some)
        self.assertIn("gemini_companion_chat", [link[0] for link in LINK.findall(some)])
        # None can be found with this PATH.
        yield from self.open_page(self.running.pages.welcome, "gemini_companion_welcome")
        yield lambda: welcome.NO_AGENT in self.page(self.running.pages.welcome)
        asked = self.links(self.running.pages.welcome)["Show agents"]
        self.assertEqual(asked, ("gemini_companion_new_chat", {"ask": True}))

    def test_another_cli_that_is_connected_makes_no_connected_of_this_one(self) -> Steps:
        html = mock.Mock(wraps=welcome.welcome_page)
        with mock.patch.object(self.running.pages.welcome, "_draw", html):
            yield from self.open_page(self.running.pages.welcome, "gemini_companion_welcome")
        (found,) = html.call_args[0]
        for is_connected, words in ((False, welcome.TO_DO), (True, "Connected. Ask Gemini CLI")):
            window = replace(found[0].facts.window, connected=1)
            process = SystemProcess(7, 1, "node", "node /bin/gemini", 1.0, self.folder, {})
            changes = {"window": window, "process": process, "is_connected": is_connected}
            with self.subTest(is_connected):
                one = replace(found[0], facts=replace(found[0].facts, **changes))
                self.assertIn(words, welcome.welcome_page((one,)))

    def pages(self, *changes: dict[str, Any]) -> tuple[str, str]:
        """What both pages say of CLIs that have gone all steps but the last, were it not for the
        changes."""
        almost = facts(window=replace(OURS, connected=0), is_connected=False)
        found = tuple(report.examine_cli(replace(almost, **each)) for each in changes)
        return welcome.welcome_page(found), doctor.doctor_page(found)

    def test_what_the_doctor_finds_in_the_way_is_said_here_as_well(self) -> None:
        fine = "Nothing is in the way, but the CLI is not connected."
        container = frozenset(["/.dockerenv"])
        sandbox = Surrounding("Flatpak", "It hides.", "Do this.")
        cases: dict[str, dict[str, Any]] = {
            fine: {},
            "in a terminal as REMOTE_CONTAINERS=1 gemini": {"exists": container},
            "runs in a network of its own": {"has_own_network": True},
            "Do this.": {"surroundings": (sandbox,)},
            "Logins with a personal Google account": {"logins": ()},
        }
        for words, changes in cases.items():
            for page in self.pages(changes):
                with self.subTest(words, page=page):
                    self.assertIn(words, page)
                    self.assertEqual(fine in page, words == fine)

    def test_a_cli_that_asks_whether_to_connect_is_to_be_told_no(self) -> None:
        unset = parse_settings("/s.json", "{}")
        for page in self.pages({"settings": unset}):
            self.assertIn("and it asks whether to connect Sublime Text.", page)
            self.assertIn("Answer &quot;No (esc)&quot;, because", page)
            self.assertNotIn("Nothing is in the way", page)
        for page in self.pages({"settings": unset, "process": None}):
            self.assertIn("Enable it here before you start the CLI.", page)
        for page in self.pages(
            {"settings": parse_settings("/s.json", '{"ide": {"hasSeenNudge": true}}')}
        ):
            self.assertNotIn("it asks", page)
            self.assertIn("Type /ide enable in the CLI", page)

    def test_claude_code_is_named_to_those_who_have_it_with_what_is_to_be_done(self) -> None:
        gemini = report.examine_cli(facts())
        self.assertNotIn("Claude Code", welcome.welcome_page((gemini,)))
        none: dict[str, Any] = {"process": None}
        for changes, words in (
            ({**none, "serving": {"connected": 0}}, "start claude in a folder"),
            (
                {**none, "serving": {"connected": 0}, "choices": {"auto_connects": None}},
                "type /ide in it, and choose Sublime Text",
            ),
            ({"is_connected": True}, "Claude Code is connected as well."),
        ):
            claude = report.examine_cli(claude_facts(**changes))
            with self.subTest(words):
                page = welcome.welcome_page((gemini, claude))
                self.assertIn(words, page)
                self.assertIn("Ask Gemini CLI to change a file", page)

    def test_only_the_step_to_be_done_next_has_the_link_that_catches_the_eye(self) -> None:
        page = self.pages(
            {"logins": (), "settings": parse_settings("/s.json", "{}"), "process": None}
        )[0]
        first, following, *others = page.split('<div class="step')[2:]
        self.assertIn("There is a way to log in", first)
        self.assertTrue(first.startswith(' next">'))
        self.assertFalse([step for step in (following, *others) if step.startswith(" next")])

    def test_what_the_pages_call_their_parts_the_style_sheet_knows(self) -> None:
        found = self.pages({}) + self.pages({"logins": (), "process": None})
        used = {
            name for page in found for classes in CLASSES.findall(page) for name in classes.split()
        }
        self.assertLessEqual({"step", "title", "words", "row", "box", "alarm"}, used)
        self.assertEqual(used - set(re.findall(r"\.([a-z]+)", STYLE)), set())

    def test_of_several_clis_the_one_that_was_started_last_is_meant(self) -> None:
        unset = parse_settings("/s.json", "{}")
        page = self.pages({"settings": unset}, {"has_own_network": True})[0]
        self.assertIn("it asks whether to connect", page)
        page = self.pages({"folder": "/astray"}, {"process": None})[0]
        self.assertIn("none runs", page)

    def test_what_is_to_be_typed_is_said_before_and_after_the_other_steps_are_done(self) -> None:
        unset = parse_settings("/s.json", "{}")
        container = {"process": None, "exists": frozenset(["/.dockerenv"])}
        line = "cd /work &amp;&amp; REMOTE_CONTAINERS=1 gemini"
        for changes in ({}, {"settings": unset}):
            self.assertIn(line, self.pages({**container, **changes})[0])
        self.assertNotIn("in a terminal", self.pages({})[0])

    def test_who_has_no_key_yet_can_start_the_cli_which_asks_for_it(self) -> None:
        page = self.pages({"logins": (), "process": None})[0]
        self.assertIn("Run Gemini CLI", page)

    def test_a_closed_page_asks_nothing_any_more(self) -> Steps:
        yield from self.open_page(self.running.pages.welcome, "gemini_companion_welcome")
        for sheet in self.window.sheets():
            if sheet.view() is None:
                sheet.close()
        with mock.patch.object(self.running.pages.welcome._examiner, "examine_soon") as ask:
            for _ in range(10):
                self.running.pages.welcome.poll_visible()
        self.assertFalse(ask.called)

    def test_it_is_shown_once_where_the_package_was_installed(self) -> None:
        cache = os.path.join(self.folder, "cache")
        state = os.path.join(cache, "state.json")
        packages = os.path.dirname(os.path.dirname(os.path.abspath(plugin.__file__)))
        self.assertFalse(
            welcome.is_first_start(cache, state) and "Packages" not in welcome.__file__
        )
        with mock.patch.object(sublime, "packages_path", lambda: packages):
            self.assertTrue(welcome.is_first_start(cache, state))
            welcome.remember_shown(cache)
            self.assertFalse(welcome.is_first_start(cache, state))
            shutil.rmtree(cache)
            os.mkdir(cache)
            with open(state, "w", encoding="ascii"):
                pass
            # Of a version that had no such page.
            self.assertFalse(welcome.is_first_start(cache, state))


class BesideDiffs(Pages):
    def tearDown(self) -> Steps:
        self.running.pages.shared_pages.stop()
        yield from super().tearDown()

    def test_a_page_covers_no_diff_and_the_diff_can_be_accepted_from_it(self) -> Steps:
        stored = sublime.load_settings("GeminiCompanion.sublime-settings")
        self.addCleanup(stored.erase, "diff_layout")
        cli = yield from self.connect()
        for number, layout in enumerate(("below", "columns", "inline")):
            stored.set("diff_layout", layout)
            path = self.write(f"file{number}.txt", "old\n")
            right = yield from self.diff(cli, path, "new\n")
            for page in ("doctor", "welcome", "show_shared_context"):
                self.window.focus_view(right)
                self.window.run_command(f"gemini_companion_{page}")
                sheet = self.window.active_sheet()
                self.assertIsNotNone(sheet)
                self.assertIsNone(sheet.view() if sheet is not None else right)
                self.assertTrue(open_diffs.is_on_top(self.window, right))
            accept = diff_commands.GeminiCompanionAcceptDiffCommand(self.window)
            self.assertTrue(accept.is_enabled())
            accept.run()
            yield from self.until_accepted(cli, number + 1)
            for sheets in (
                self.running.pages.doctor,
                self.running.pages.welcome,
                self.running.pages.shared_pages,
            ):
                sheets.stop()

    def test_a_text_in_a_new_tab_covers_no_diff(self) -> Steps:
        cli = yield from self.connect()
        right = yield from self.diff(cli, self.write("file.txt", "old\n"), "new\n")
        tab = texts.open_tab(self.window, "/a/kept.txt", "a text\n")
        self.assertEqual(self.window.active_view(), tab)
        self.assertTrue(open_diffs.is_on_top(self.window, right))
        self.assertTrue(diff_commands.GeminiCompanionAcceptDiffCommand(self.window).is_enabled())
        right.close()
        yield lambda: cli.received("ide/diffRejected")

    def until_accepted(self, cli: FakeCli, count: int) -> Steps:
        yield lambda: len(cli.received("ide/diffAccepted")) == count

    def test_where_every_group_shows_a_diff_a_page_opens_in_the_active_one(self) -> Steps:
        self.addCleanup(self.window.set_layout, self.window.layout())
        cli = yield from self.connect()
        right = yield from self.diff(cli, self.write("file.txt", "old\n"), "new\n")
        partner = open_diffs.partner_view(right)
        self.window.set_layout(
            {"cols": [0.0, 0.5, 1.0], "rows": [0.0, 1.0], "cells": [[0, 0, 1, 1], [1, 0, 2, 1]]}
        )
        self.window.set_view_index(partner, 0, 0)
        self.window.set_view_index(right, 1, 0)
        self.window.focus_view(partner)
        self.window.focus_view(right)
        self.assertEqual(open_diffs.group_without_diff(self.window), 1)
        right.close()
        yield lambda: cli.received("ide/diffRejected")


class Doctor(Pages):
    def test_the_first_step_that_fails_is_named_with_its_link(self) -> Steps:
        yield from self.open_page(self.running.pages.doctor, "gemini_companion_doctor")
        yield lambda: "Gemini CLI was not found." in self.page(self.running.pages.doctor)
        self.assertRegex(
            self.page(self.running.pages.doctor),
            "\u2013 Settings of the CLI, .*, Connected, Extension<",
        )
        self.assertIn("Copy the command", self.links(self.running.pages.doctor))

    def test_it_shows_where_programs_are_looked_for(self) -> Steps:
        yield from self.open_page(self.running.pages.doctor, "gemini_companion_doctor")
        yield lambda: "the PATH" in self.page(self.running.pages.doctor)
        folder = os.path.join("~", "bin")
        self.assertRegex(self.page(self.running.pages.doctor), f"the PATH: .*{re.escape(folder)}")

    def test_a_wrapper_is_called_by_its_own_name(self) -> Steps:
        stored = sublime.load_settings("GeminiCompanion.sublime-settings")
        self.addCleanup(stored.erase, "cli_command")
        stored.set("cli_command", ["/opt/my-wrapper.sh", "--debug"])
        yield from self.open_page(self.running.pages.doctor, "gemini_companion_doctor")
        yield lambda: "my-wrapper was not found." in self.page(self.running.pages.doctor)
        self.assertIn("my-wrapper, if you start it in", self.page(self.running.pages.doctor))
        self.assertNotIn("Gemini CLI", self.page(self.running.pages.doctor))

    def test_a_cli_is_found_by_the_command_of_its_agent(self) -> Steps:
        self.install()
        elsewhere = os.path.join(self.home, "elsewhere")
        os.rename(os.path.join(self.home, "bin"), elsewhere)
        program = os.path.join(elsewhere, "gemini")
        stored = sublime.load_settings("GeminiCompanion.sublime-settings")
        self.addCleanup(stored.erase, "agents")
        stored.set("agents", {"gemini": {"command": [program, "--experimental-acp"]}})
        yield from self.open_page(self.running.pages.welcome, "gemini_companion_welcome")
        yield lambda: "/elsewhere/gemini" in self.page(self.running.pages.welcome)
        self.assertNotIn("was not found", self.page(self.running.pages.welcome))

    def test_of_another_cli_that_the_settings_start_its_own_way_is_examined(self) -> Steps:
        stored = sublime.load_settings("GeminiCompanion.sublime-settings")
        self.addCleanup(stored.erase, "cli_command")
        stored.set("cli_command", ["qwen"])
        yield from self.open_page(self.running.pages.welcome, "gemini_companion_welcome")
        yield lambda: "Qwen Code is installed" in self.page(self.running.pages.welcome)
        self.assertIn("npm install -g @qwen-code/qwen-code", self.page(self.running.pages.welcome))

    def test_where_the_settings_start_claude_code_its_own_way_is_examined(self) -> Steps:
        stored = sublime.load_settings("GeminiCompanion.sublime-settings")
        self.addCleanup(stored.erase, "cli_command")
        stored.set("cli_command", ["claude"])
        for pages, command in (
            (self.running.pages.welcome, "gemini_companion_welcome"),
            (self.running.pages.doctor, "gemini_companion_doctor"),
        ):
            yield from self.open_page(pages, command)
            yield lambda: "claude was not found" in self.page(pages)  # noqa: B023
            self.assertIn("Copy the command", self.links(pages))
            self.assertNotIn("Gemini CLI", self.page(pages))
        steps = welcome.CLAUDE_STEPS
        self.assertIn(
            steps["claude_installed"].format("Claude Code"), self.page(self.running.pages.welcome)
        )

    def test_the_steps_of_claude_code_lead_to_its_connection(self) -> None:
        none: dict[str, Any] = {"process": None, "serving": {"connected": 0}}
        off: dict[str, Any] = {"choices": {"auto_connects": None}}
        here: dict[str, Any] = {"is_connected": True, "serving": {"connected": 1}}
        away: dict[str, Any] = {"is_connected": False, "serving": {"connected": 0}}
        for changes, words, other in (
            (none, "After that, in a terminal: cd /work &amp;&amp; claude", "Connected."),
            ({**none, **off}, "type /ide in it, and choose Sublime Text", "Connected."),
            ({**here, **off}, "Connected. Ask Claude Code to change a file", "autoConnectIde"),
            (away, "Nothing is in the way, but the CLI is not connected", "Connected."),
        ):
            with self.subTest(changes):
                found = report.examine_cli(claude_facts(**changes, is_started=True))
                page = welcome.welcome_page((found,))
                self.assertIn(words, page)
                for word in (other, "Gemini CLI", "Or with Claude Code"):
                    self.assertNotIn(word, page)

    def test_beside_a_cli_that_runs_another_one_is_started_and_the_link_says_so(self) -> Steps:
        self.install()
        early = SystemProcess(7, 1, "node", "node /bin/gemini", 1.0, self.folder, {})
        editor = SystemProcess(os.getppid(), 1, "sublime_text", "", 9.0)
        self.addCleanup(self.window.set_project_data, self.window.project_data())
        self.window.set_project_data({"folders": [{"path": self.folder}]})
        with mock.patch.dict(os.environ, {"GEMINI_API_KEY": "none"}), mock.patch(
            "GeminiCompanion.companion.ide.system_processes.running_processes",
            lambda: {7: early, editor.pid: editor},
        ), mock.patch(
            "GeminiCompanion.companion.ide.doctor.report.CHECKS", (checks.by_id("detected"),)
        ):
            yield from self.open_page(self.running.pages.doctor, "gemini_companion_doctor")
            yield lambda: "was started at" in self.page(self.running.pages.doctor)
        self.assertIn("Run another Gemini CLI", self.links(self.running.pages.doctor))

    def test_it_goes_on_to_the_next_step_once_one_is_done(self) -> Steps:
        yield from self.open_page(self.running.pages.doctor, "gemini_companion_doctor")
        self.install()
        self.click(self.running.pages.doctor, "Look Again")
        yield lambda: "No way to log in was found." in self.page(self.running.pages.doctor)
        self.assertIn("Get an API key", self.links(self.running.pages.doctor))

    def test_its_report_has_neither_token_nor_home(self) -> Steps:
        yield from self.open_page(self.running.pages.doctor, "gemini_companion_doctor")
        yield lambda: plugin._host.environment_of(self.window)
        token = plugin._host.environment_of(self.window)["GEMINI_CLI_IDE_AUTH_TOKEN"]
        sublime.set_clipboard("")
        self.click(self.running.pages.doctor, "Copy Report")
        yield sublime.get_clipboard
        report = sublime.get_clipboard()
        self.assertIn("FAILED  CLI: Gemini CLI was not found.", report)
        self.assertIn(f"Sublime Text {sublime.version()}", report)
        self.assertNotIn(token, report + self.page(self.running.pages.doctor))
        self.assertNotIn(self.home, report)

    def test_a_missing_file_is_written_again_and_a_dead_one_removed(self) -> Steps:
        yield lambda: plugin._host.environment_of(self.window)
        port = plugin._host.environment_of(self.window)["GEMINI_CLI_IDE_SERVER_PORT"]
        place = next(each for each in gathering_places() if port in "".join(os.listdir(each)))
        ours = next(name for name in os.listdir(place) if name.endswith(f"-{port}.json"))
        dead = os.path.join(place, "gemini-ide-server-1-1.json")
        with open(dead, "w", encoding="ascii") as file:
            file.write("{}")
        self.addCleanup(lambda: os.path.exists(dead) and os.unlink(dead))
        os.unlink(os.path.join(place, ours))
        arguments = {"action": "sweep", "argument": dead}
        self.window.run_command("gemini_companion_remedy", arguments)
        yield lambda: not os.path.exists(dead)
        yield lambda: os.path.exists(os.path.join(place, ours))

    def test_a_file_of_somebody_else_that_is_not_removed_is_named(self) -> Steps:
        yield lambda: plugin._host.environment_of(self.window)
        # As old editors wrote it, without the port in its name.
        path = os.path.join(gathering_places()[0], "gemini-ide-server-1.json")
        with open(path, "w", encoding="ascii") as file:
            file.write("{}")
        self.addCleanup(os.unlink, path)
        told: list[str] = []
        with mock.patch.object(self.running.pages.remedies, "_tell", told.append):
            arguments = {"action": "sweep", "argument": path}
            self.window.run_command("gemini_companion_remedy", arguments)
            yield lambda: told
        self.assertIn(path, told[0])
        self.assertTrue(os.path.exists(path))

    def test_a_cli_of_another_kind_is_enabled_in_its_own_settings(self) -> Steps:
        path = os.path.join(self.home, ".qwen", "settings.json")
        command = f"node {self.home}/bin/qwen"
        qwen = SystemProcess(7, 1, "node", command, time.time() + 60, self.folder, dict(os.environ))
        os.mkdir(os.path.dirname(path))
        self.addCleanup(self.window.set_project_data, self.window.project_data())
        self.window.set_project_data({"folders": [{"path": self.folder}]})
        running = "GeminiCompanion.companion.ide.system_processes.running_processes"
        with mock.patch(running, lambda: {7: qwen}):
            yield from self.open_page(self.running.pages.doctor, "gemini_companion_doctor")
            yield lambda: "Qwen Code, process 7" in self.page(self.running.pages.doctor)
            yield lambda: "Enable" in self.links(self.running.pages.doctor)
            with mock.patch.object(sublime.Window, "show_quick_panel", autospec=True) as panel:
                self.click(self.running.pages.doctor, "Enable")
                yield lambda: panel.called
                panel.call_args[0][2](0)
                yield lambda: os.path.exists(path)
        self.assertFalse(os.path.exists(os.path.join(self.home, ".gemini")))

    def test_a_companion_that_ends_while_it_is_asked_is_told_of_with_its_reason(self) -> Steps:
        self.install()
        reason = "A library is missing: x."
        kind = type(self.running.companion)
        pages = {"doctor": self.running.pages.doctor, "welcome": self.running.pages.welcome}
        asked: list[Answer[Any]] = []

        def ask(_companion: Any, _question: Any) -> Answer[Any]:
            asked.append(Answer())
            return asked[-1]

        def is_told(page: Any) -> bool:
            # The other page may ask, too.
            while asked:
                asked.pop().fail(Unanswered(reason))
            return reason in self.page(page)

        with mock.patch.dict(os.environ, {"GEMINI_API_KEY": "none"}):
            with mock.patch.object(kind, "ask", ask), mock.patch.object(kind, "problem", reason):
                for name, page in pages.items():
                    self.window.run_command(f"gemini_companion_{name}")
                    yield partial(is_told, page)
        self.assertIn("\u2717 Server of this window", self.page(self.running.pages.doctor))
        self.assertIn("Restart", self.links(self.running.pages.doctor))

    def test_a_restart_shows_the_page_again_that_the_user_looks_at(self) -> Steps:
        for name in ("doctor", "welcome"):
            command = f"gemini_companion_{name}"
            yield from self.open_page(getattr(self.running.pages, name), command)
            sublime.run_command("gemini_companion_restart_companion")
            self.running = plugin._host.running
            pages = getattr(self.running.pages, name)
            sheet = self.window.active_sheet()
            self.assertIsNotNone(sheet)
            self.assertTrue(pages.is_in_front(self.window))
            yield from self.until_on_page(pages, "is open" if name == "welcome" else "Copy Report")
        self.assertEqual(self.page(self.running.pages.doctor), "")

    def test_where_the_companion_has_ended_a_link_says_why_it_does_nothing(self) -> Steps:
        reason = "A library is missing: x."
        unanswered: Answer[bool] = Answer()
        unanswered.fail(Unanswered(reason))
        ask = mock.Mock(return_value=unanswered)
        with mock.patch.object(sublime, "status_message") as shown:
            with mock.patch.object(self.running.companion, "ask", ask):
                self.window.run_command("gemini_companion_remedy", {"action": checks.WRITE_AGAIN})
                yield lambda: any(reason in str(call) for call in shown.mock_calls)

    def map_paths(self, remote: str, *folders: str) -> None:
        """Give the home that path for CLIs, in a window with these folders."""
        self.addCleanup(self.window.set_project_data, self.window.project_data())
        ours = {"path_maps": [{"local": self.home, "remote": remote}]}
        data: Any = {
            "folders": [{"path": folder} for folder in folders],
            "settings": {"GeminiCompanion": ours},
        }
        self.window.set_project_data(data)

    def test_a_companion_that_has_ended_is_told_of_by_the_paths_of_the_cli(self) -> Steps:
        self.install()
        self.map_paths("/there", self.home)
        with mock.patch.object(type(self.running.companion), "problem", "It ended."):
            self.window.run_command("gemini_companion_doctor")
            yield from self.until_on_page(self.running.pages.doctor, "if you start it in /there")

    def until_on_page(self, page: Any, words: str) -> Steps:
        yield lambda: words in self.page(page)

    def test_an_examination_that_fails_says_so(self) -> Steps:
        told: list[str] = []
        with mock.patch.object(
            gathering, "gather_facts", side_effect=RuntimeError
        ), mock.patch.object(plugin._host, "tell_user", told.append):
            sublime.set_clipboard("as it was")
            self.window.run_command("gemini_companion_doctor")
            yield lambda: "The examination failed" in self.page(self.running.pages.doctor)
            self.window.run_command("gemini_companion_doctor", {"copy": True})
            yield lambda: told
        self.assertIn("The examination failed", told[0])
        self.assertEqual(sublime.get_clipboard(), "as it was")

    def test_a_folder_is_added_to_the_window(self) -> Steps:
        before = self.window.project_data()
        self.addCleanup(self.window.set_project_data, before)
        arguments = {"action": "add_folder", "argument": self.home}
        self.window.run_command("gemini_companion_remedy", arguments)
        yield lambda: self.home in self.window.folders()

    def test_a_folder_that_the_cli_names_is_added_by_the_editors_name(self) -> Steps:
        self.map_paths("/there")
        arguments = {"action": "add_folder", "argument": "/there"}
        self.window.run_command("gemini_companion_remedy", arguments)
        yield lambda: self.home in self.window.folders()

    def test_a_program_that_was_found_elsewhere_becomes_the_command(self) -> Steps:
        stored = sublime.load_settings("GeminiCompanion.sublime-settings")
        self.addCleanup(stored.erase, "cli_command")
        arguments = {"action": "use_program", "argument": sys.executable}
        # What is in the file is read again some time later, in the middle of another test.
        with mock.patch.object(sublime, "save_settings") as save:
            self.window.run_command("gemini_companion_remedy", arguments)
            yield lambda: save.called
        save.assert_called_once_with("GeminiCompanion.sublime-settings")
        self.assertEqual(stored.get("cli_command"), [sys.executable])


def gathering_places() -> list[str]:
    from GeminiCompanion.companion.ide import discovery

    return [place.folder for place in discovery.discovery_folders() if os.path.isdir(place.folder)]
