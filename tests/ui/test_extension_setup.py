"""The extension of the CLIs: installed and removed by a user, and what its hooks let them see."""

from __future__ import annotations

import json
import os
import re
from typing import Any, Generator
from unittest import mock

from GeminiCompanion.companion.ide import system_processes
from GeminiCompanion.companion.ide.clis import GEMINI_CLI, QWEN_CODE
from GeminiCompanion.companion.ide.hooks import extension, hook_desk
from GeminiCompanion.companion.ui import notices
from GeminiCompanion.companion.ui.agents import agent_list
from GeminiCompanion.companion.ui.status_bar import KEY

from ..waiting import PATIENCE
from .reviewing import ReviewCase, Steps

NPM_TEST = {"type": "exec", "command": "npm test"}


class Setup(ReviewCase):
    def setUp(self) -> None:
        super().setUp()
        self.home = os.path.join(self.folder, "home")
        os.mkdir(self.home)
        patch = mock.patch.dict(os.environ, {"HOME": self.home, "USERPROFILE": self.home})
        patch.start()
        self.addCleanup(patch.stop)

    def place(self, cli: Any = GEMINI_CLI) -> str:
        return extension.extension_folder(cli, {}, self.home)

    def test_it_is_installed_and_removed_by_commands_alone(self) -> Steps:
        told = self.told()
        self.run_command("remove_cli_extension")
        yield lambda: any("No CLI has the extension" in sentence for sentence in told)
        os.mkdir(os.path.join(self.home, ".gemini"))
        self.run_command("install_cli_extension")
        yield lambda: extension.installed_at(GEMINI_CLI, self.place()).version
        yield lambda: any("Gemini CLI has the extension now" in sentence for sentence in told)
        self.run_command("remove_cli_extension")
        yield lambda: not os.path.exists(self.place())

    def test_before_any_cli_has_run_it_is_said_that_none_has(self) -> Steps:
        told = self.told()
        self.run_command("install_cli_extension")
        yield lambda: any(
            "No Gemini CLI has run here yet" in sentence and "0.26" in sentence for sentence in told
        )
        self.assertTrue(extension.installed_at(GEMINI_CLI, self.place()).version)

    def test_one_that_is_switched_off_in_the_cli_is_said_to_be(self) -> Steps:
        told = self.told()
        os.makedirs(os.path.dirname(self.place()))
        rules = os.path.join(os.path.dirname(self.place()), extension.ENABLEMENT)
        with open(rules, "w") as file:
            json.dump({extension.NAME: {"overrides": ["!/*"]}}, file)
        self.run_command("install_cli_extension")
        yield lambda: any(
            "gemini extensions enable gemini-companion" in sentence for sentence in told
        )

    def test_what_is_there_and_is_not_ours_is_not_said_to_be_missing(self) -> Steps:
        told = self.told()
        os.makedirs(self.place())
        with open(os.path.join(self.place(), ".gemini-extension-install.json"), "w") as file:
            json.dump({"source": "/elsewhere", "type": "link"}, file)
        for command, words in (("install", "contains something else"), ("remove", "yourself")):
            told.clear()
            self.run_command(command + "_cli_extension")
            yield lambda words=words: any(words in sentence for sentence in told)
        self.assertEqual(len(os.listdir(self.place())), 1)

    def test_a_home_that_cannot_be_written_is_said(self) -> Steps:
        told = self.told()
        with open(os.path.join(self.home, ".gemini"), "w"):
            self.run_command("install_cli_extension")
        yield lambda: any("cannot be written" in sentence for sentence in told)

    def test_of_several_clis_the_user_chooses_one(self) -> Steps:
        for cli in (GEMINI_CLI, QWEN_CODE):
            os.makedirs(os.path.dirname(os.path.dirname(self.place(cli))))
        panels = self.panels()
        self.run_command("install_cli_extension")
        yield lambda: panels
        self.assertEqual([item[0] for item in panels[0]["items"]], ["Gemini CLI", "Qwen Code"])
        panels[0]["on_select"](1)
        yield lambda: extension.installed_at(QWEN_CODE, self.place(QWEN_CODE)).version
        self.assertFalse(os.path.exists(self.place()))


class Live(ReviewCase):
    def setUp(self) -> None:
        super().setUp()
        # A busy machine needs long to say whose connection it is, and to answer for all rows.
        self.replace(hook_desk, "PATIENCE", PATIENCE)
        self.replace(agent_list, "SOON", 100_000)
        # The status bar is that of a view, and tests before this one may have closed all.
        self.window.new_file()

    def status(self) -> str:
        view = self.window.active_view()
        # A CLI of an earlier test still counts for a while, so that this one has a number.
        said = view.get_status(KEY) if view is not None else ""
        return re.sub(r"^Gemini \d+", "Gemini", said)

    def tearDown(self) -> Steps:
        yield self.cli.hook("SessionEnd").done
        yield from super().tearDown()

    def ask(self) -> Steps:
        told = {"notification_type": "ToolPermission", "details": NPM_TEST}
        yield self.cli.hook("Notification", **told).done

    def test_the_status_bar_follows_a_turn_with_questions_first(self) -> Steps:
        self.cli = yield from self.connect()
        self.cli.hook("BeforeAgent", prompt="run the tests")
        yield lambda: self.status() == "Gemini: working"
        yield from self.diff(self.cli, self.write("file.txt", "old\n"), "new\n")
        yield lambda: self.status() == "Gemini: 1 waiting"
        yield from self.ask()
        yield lambda: self.status() == "Gemini: 1 waiting"
        self.run_command("reject_diff")
        yield lambda: self.status() == "Gemini: done"
        yield from self.ask()
        yield lambda: self.status() == "Gemini: asks"
        self.cli.hook("SessionEnd")
        yield lambda: self.status() in ("Gemini", "Gemini ×2")

    def test_the_list_of_agents_says_what_each_does(self) -> Steps:
        self.cli = yield from self.connect()
        self.cli.hook("BeforeAgent", prompt="run the tests")
        yield from self.ask()
        yield lambda: self.status() == "Gemini: asks"
        (item,) = yield from self.listed()
        self.assertRegex(item.details[0], r"^since \d\d:\d\d: npm test$")
        self.assertEqual(item.details[2], "run the tests")

    def test_one_that_is_not_connected_is_followed_and_listed_too(self) -> Steps:
        self.cli = yield from self.connect()
        with mock.patch.object(system_processes, "ports_to", lambda pid, port: frozenset()):
            yield self.cli.hook("BeforeAgent", session_id="other").done
        yield lambda: self.status() == "Gemini: working"
        found = yield from self.listed()
        # It works, and the connected one rests.
        self.assertEqual(found[0].trigger, "Gemini CLI, not connected")
        yield self.cli.hook("SessionEnd", session_id="other").done

    def listed(self) -> Generator[Any, Any, list[Any]]:
        """The rows of *Agents*, without chats."""

        async def have_no_service() -> None:
            return None

        self.replace(self.running().chat.actions, "ensure_service", have_no_service)
        panels = self.panels()
        self.run_command("agents")
        yield lambda: panels
        panels[0]["on_select"](-1)
        found: list[Any] = panels[0]["items"][2:]
        return found

    def test_a_question_is_a_notice_once_where_nobody_sees_it(self) -> Steps:
        self.cli = yield from self.connect()
        shown: list[str] = []
        self.replace(notices.Notices, "show_notice", lambda _, window, text: shown.append(text))
        yield from self.ask()
        yield from self.ask()
        yield lambda: shown
        yield lambda: self.status() == "Gemini: asks"
        self.assertEqual(shown, ["Gemini CLI asks you: npm test."])
