"""The commands that start and stop the API's server; no CLI is started here."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
import threading
import unittest
from typing import Any, Generator
from unittest import mock
from urllib.request import urlopen

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.api import state_folder
from GeminiCompanion.companion.ui import api_server
from GeminiCompanion.companion.ui.commands import companion_commands

from ..waiting import PATIENCE
from .adapter import AdapterTestCase, text_of

Steps = Generator[Any, Any, None]
START, STOP = "gemini_companion_start_api_server", "gemini_companion_stop_api_server"


def threads() -> list[str]:
    return [
        thread.name for thread in threading.enumerate() if thread.name == "GeminiCompanion Agent"
    ]


@unittest.skipIf(sys.platform == "win32", "programs have other names there")
class ApiServer(AdapterTestCase):
    """The window has `self.folder` as its only folder. A Node and a CLI are there that nobody can
    run."""

    def setUp(self) -> None:
        super().setUp()
        # Each with the window; a status message is the last one of many.
        self.said: list[str] = []
        tell = plugin._host.tell_user

        def record(sentence: str) -> None:
            self.said.append(sentence)
            tell(sentence)

        self.cache = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.cache, True)
        for patch in (
            mock.patch.object(state_folder, "default_folder", lambda environment: self.cache),
            mock.patch.object(plugin._host.api, "_tell", record),
            mock.patch.object(plugin._host.api, "_warn", record),
            mock.patch.dict(os.environ, PATH=self.folder),
        ):
            patch.start()
            self.addCleanup(patch.stop)
        for name in ("node", "gemini.js"):
            os.chmod(self.write(name, ""), 0o700)
        self.set("api_port", 0)
        self.set("cli_command", [os.path.join(self.folder, "gemini.js")])
        self.addCleanup(self.window.set_project_data, self.window.project_data())
        self.window.set_project_data({"folders": [{"path": self.folder}]})

    def tearDown(self) -> Steps:
        plugin._host.api.unload()
        yield lambda: not threads()
        yield from super().tearDown()

    def set(self, key: str, value: Any) -> None:
        settings = sublime.load_settings("GeminiCompanion.sublime-settings")
        self.addCleanup(settings.set, key, settings.get(key))
        settings.set(key, value)

    def until_said(self, words: str) -> Generator[Any, Any, str]:
        yield lambda: any(words in sentence for sentence in self.said)
        return next(sentence for sentence in self.said if words in sentence)

    def serve(self) -> Generator[Any, Any, str]:
        """`address = yield from self.serve()`"""
        yield lambda: self.window.folders() == [self.folder]
        self.window.run_command(START)
        sentence = yield from self.until_said("listens at")
        return sentence[sentence.index("http") :].rstrip(".")

    def panel(self) -> str:
        panel = self.window.find_output_panel(api_server.PANEL)
        return text_of(panel) if panel is not None else ""

    def commands(self, window: sublime.Window) -> tuple[bool, bool]:
        """Whether the two are enabled."""
        return (
            companion_commands.GeminiCompanionStartApiServerCommand(window).is_enabled(),
            companion_commands.GeminiCompanionStopApiServerCommand(window).is_enabled(),
        )

    def test_it_serves_the_windows_folder_until_it_is_stopped(self) -> Steps:
        self.assertEqual(self.commands(self.window), (True, False))
        url = yield from self.serve()
        self.assertEqual(self.commands(self.window), (False, True))
        with urlopen(url + "/status", timeout=PATIENCE) as response:
            self.assertEqual(response.status, 200)
        self.assertIn(f"Gemini CLI API: {url}, for {self.folder}", plugin._host.api.status_line())
        self.window.run_command(STOP)
        yield from self.until_said("has stopped")
        yield lambda: not threads()
        self.assertEqual(self.commands(self.window), (True, False))
        self.assertEqual(plugin._host.api.status_line(), "")
        with socket.socket() as probe:
            port = int(url.rpartition(":")[2])
            self.assertNotEqual(probe.connect_ex(("127.0.0.1", port)), 0)

    def test_it_can_be_started_again_and_again(self) -> Steps:
        for _ in range(3):
            self.said.clear()
            yield from self.serve()
            self.window.run_command(STOP)
            yield from self.until_said("has stopped")

    def test_the_user_is_told_what_goes_on(self) -> Steps:
        url = yield from self.serve()
        self.window.run_command(STOP)
        yield from self.until_said("has stopped")
        self.assertEqual(
            self.said,
            [
                "The API server is being started ...",
                f"The Gemini CLI API listens at {url}.",
                "The API server is being stopped ...",
                "The API server has stopped.",
            ],
        )

    def test_the_panel_has_the_token_and_neither_log_nor_status_bar_has_it(self) -> Steps:
        url = yield from self.serve()
        with open(os.path.join(self.cache, "token")) as file:
            token = file.read().strip()
        self.assertIn(f"{url}/#token={token}\n", self.panel())
        self.assertEqual(self.window.active_panel(), "output." + api_server.PANEL)
        self.assertNotIn(token, "".join(self.said))
        self.assertNotIn(token, "".join(plugin._host.log.lines()))
        self.window.run_command(STOP)
        yield from self.until_said("has stopped")
        self.assertEqual(self.panel(), "")

    def test_the_page_comes_from_the_packages_resources(self) -> Steps:
        url = yield from self.serve()
        name = "Packages/GeminiCompanion/companion/api/page/index.html"
        with urlopen(url + "/", timeout=PATIENCE) as response:
            self.assertEqual(response.read(), sublime.load_binary_resource(name))

    def test_a_second_window_is_told_where_it_runs_already(self) -> Steps:
        url = yield from self.serve()
        self.window.run_command("new_window")
        yield lambda: len(sublime.windows()) > 1
        other = next(window for window in sublime.windows() if window != self.window)
        try:
            self.assertEqual(self.commands(other), (True, True))
            other.run_command(START)
            sentence = yield from self.until_said("already listens")
            self.assertIn(f"{url}, for {self.folder}", sentence)
            self.assertEqual(threads(), ["GeminiCompanion Agent"])
            other.run_command(STOP)
            yield from self.until_said("has stopped")
        finally:
            other.run_command("close_window")

    def test_without_a_folder_the_user_is_asked_for_one(self) -> Steps:
        self.window.set_project_data({"folders": []})
        yield lambda: not self.window.folders()
        self.window.run_command(START)
        self.assertEqual(self.said, [api_server.NO_FOLDER])
        self.assertEqual(self.commands(self.window), (True, False))

    def test_what_keeps_it_from_starting_is_told_and_it_can_be_tried_again(self) -> Steps:
        yield lambda: self.window.folders() == [self.folder]
        with socket.create_server(("127.0.0.1", 0)) as taken:
            self.set("api_port", taken.getsockname()[1])
            self.window.run_command(START)
            yield from self.until_said("api_port")
        self.assertEqual(self.commands(self.window), (True, False))
        yield from self.serve()

    def test_a_reload_ends_it_and_it_can_be_started_again(self) -> Steps:
        yield from self.serve()
        plugin.plugin_unloaded()
        self.assertEqual(self.panel(), "")
        plugin.plugin_loaded()
        yield lambda: not threads()
        self.assertEqual(self.commands(self.window), (True, False))
        self.said.clear()
        yield from self.serve()
        yield lambda: plugin._host.environment_of(self.window)

    def test_the_restart_of_the_companion_leaves_it_alone(self) -> Steps:
        url = yield from self.serve()
        sublime.run_command("gemini_companion_restart_companion")
        yield lambda: plugin._host.environment_of(self.window)
        with urlopen(url + "/status", timeout=PATIENCE) as response:
            self.assertEqual(response.status, 200)

    def test_the_status_tells_its_address(self) -> Steps:
        url = yield from self.serve()
        self.window.run_command("gemini_companion_show_status")

        def seen() -> bool:
            panel = self.window.find_output_panel(companion_commands.PANEL)
            return panel is not None and f"Gemini CLI API: {url}" in text_of(panel)

        yield seen
