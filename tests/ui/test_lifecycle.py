"""Loading, unloading and everything that has to be gone afterwards."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import stat
import threading
import unittest
from contextlib import suppress
from types import ModuleType
from typing import Any, Generator
from unittest import mock

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.base import socket_handover
from GeminiCompanion.companion.base.loop_thread import LoopThread
from GeminiCompanion.companion.ide import discovery
from GeminiCompanion.companion.ide.companion import Companion
from GeminiCompanion.companion.ide.editor import Proposal
from GeminiCompanion.companion.ui import host, window_watch
from GeminiCompanion.companion.ui.review import open_diffs, record

from .adapter import AdapterTestCase, saved_state

Steps = Generator[Any, Any, None]
PATIENCE = 180.0  # seconds
HANDOVER = "GeminiCompanion.companion.base.socket_handover"


def own_files() -> list[str]:
    prefix = f"gemini-ide-server-{os.getppid()}-"
    folder = discovery.discovery_folders()[0].folder
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return sorted(os.path.join(folder, name) for name in names if name.startswith(prefix))


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "GeminiCompanion"]


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Lifecycle(AdapterTestCase):
    def tearDown(self) -> Steps:
        if plugin._host.companion is None:
            plugin.plugin_loaded()
        yield lambda: plugin._host.environment_of(self.window)
        yield from super().tearDown()

    def test_the_discovery_file_tells_the_window(self) -> Steps:
        yield lambda: plugin._host.environment_of(self.window)
        environment = plugin._host.environment_of(self.window)
        port = environment["GEMINI_CLI_IDE_SERVER_PORT"]
        path = next(path for path in own_files() if path.endswith(f"-{port}.json"))
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        self.assertEqual(content["port"], int(port))
        self.assertEqual(content["authToken"], environment["GEMINI_CLI_IDE_AUTH_TOKEN"])
        self.assertEqual(content["workspacePath"], os.pathsep.join(self.window.folders()))
        self.assertEqual(content["ideInfo"]["name"], "sublimetext")
        if os.name == "posix":
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
            self.assertEqual(stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode), 0o700)

    def test_unloading_leaves_no_file_no_thread_and_soon_no_socket(self) -> Steps:
        yield lambda: plugin._host.environment_of(self.window)
        port = int(plugin._host.environment_of(self.window)["GEMINI_CLI_IDE_SERVER_PORT"])
        self.assertEqual(threads(), ["GeminiCompanion"])
        with mock.patch(HANDOVER + ".PATIENCE", 0.01):
            plugin.plugin_unloaded()
            yield lambda: (own_files(), threads()) == ([], [])
            yield lambda: not answers(port)

    @unittest.skipUnless(socket_handover.IS_POSSIBLE, "no socket can be handed over here")
    def test_a_cli_that_is_back_before_the_package_waits_for_it(self) -> Steps:
        cli = yield from self.connect()
        plugin.plugin_unloaded()
        yield lambda: (cli.stream_ended.is_set(), threads()) == (True, [])
        self.assertTrue(answers(cli.port))
        cli.resume()
        answer = cli.request("ping")
        plugin.plugin_loaded()
        yield cli.connected
        yield answer.done
        self.assertEqual(answer.result(), {})
        self.assertIsNone(cli.stream_error)

    def test_a_reload_just_after_the_folders_changed_keeps_the_port_and_the_token(self) -> Steps:
        yield lambda: plugin._host.environment_of(self.window)
        before = dict(plugin._host.environment_of(self.window))
        self.addCleanup(self.window.set_project_data, self.window.project_data())
        self.window.set_project_data({"folders": [{"path": self.folder}]})
        # No check of the windows comes between.
        plugin.plugin_unloaded()
        plugin.plugin_loaded()
        yield lambda: plugin._host.environment_of(self.window)
        after = plugin._host.environment_of(self.window)
        self.assertEqual(after["GEMINI_CLI_IDE_WORKSPACE_PATH"], self.folder)
        for name in ("GEMINI_CLI_IDE_SERVER_PORT", "GEMINI_CLI_IDE_AUTH_TOKEN"):
            self.assertEqual(after[name], before[name])

    def test_a_stream_ends_gracefully_when_the_package_is_unloaded(self) -> Steps:
        cli = yield from self.connect()
        plugin.plugin_unloaded()
        yield cli.stream_ended.is_set
        self.assertIsNone(cli.stream_error)

    def test_a_cli_comes_back_after_a_reload_and_gets_the_decision_once(self) -> Steps:
        cli = yield from self.connect()
        path = self.write("a.py", "old\n")
        right = yield from self.diff(cli, path, "new\n")
        before = dict(plugin._host.environment_of(self.window))
        plugin.plugin_unloaded()
        yield cli.stream_ended.is_set
        plugin.plugin_loaded()
        yield lambda: plugin._host.environment_of(self.window) == before
        cli.resume()
        yield cli.connected
        right.run_command("append", {"characters": "mine\n"})
        self.window.focus_view(right)
        self.window.run_command("gemini_companion_accept_diff")
        yield lambda: cli.received("ide/diffAccepted")
        self.assertEqual(
            cli.received("ide/diffAccepted"), [{"filePath": path, "content": "new\nmine\n"}]
        )
        self.assertEqual(cli.received("ide/diffRejected"), [])

    def test_a_decision_made_before_the_cli_is_back_waits_for_it(self) -> Steps:
        cli = yield from self.connect()
        path = self.write("a.py", "old\n")
        right = yield from self.diff(cli, path, "new\n")
        for _ in range(2):
            plugin.plugin_unloaded()
            plugin.plugin_loaded()
            yield lambda: plugin._host.environment_of(self.window)
            if right.is_valid():
                self.window.focus_view(right)
                self.window.run_command("gemini_companion_accept_diff")
                yield lambda: not right.is_valid()
        cli.resume()
        yield lambda: cli.received("ide/diffAccepted")
        yield from self.until_heard(cli)
        self.assertEqual(len(cli.received("ide/diffAccepted")), 1)

    def test_what_was_typed_in_the_moment_of_an_unload_outlives_a_crash(self) -> Steps:
        cli = yield from self.connect()
        right = yield from self.diff(cli, self.write("a.py", "old\n"), "new\n")
        right.run_command("append", {"characters": "at the last moment\n"})
        plugin.plugin_unloaded()
        yield lambda: "at the last moment" in saved_state()

    def test_what_was_typed_while_it_was_unloaded_outlives_a_crash(self) -> Steps:
        cli = yield from self.connect()
        right = yield from self.diff(cli, self.write("a.py", "old\n"), "new\n")
        plugin.plugin_unloaded()
        right.run_command("append", {"characters": "to nobody\n"})
        plugin.plugin_loaded()
        yield lambda: "to nobody" in saved_state()

    def test_a_decision_that_nobody_could_take_leaves_the_diff_as_it_is(self) -> Steps:
        cli = yield from self.connect()
        right = yield from self.diff(cli, self.write("a.py", "old\n"), "new\n")
        plugin._host.companion.stop()
        self.window.focus_view(right)
        self.window.run_command("gemini_companion_accept_diff")
        self.window.run_command("gemini_companion_reject_diff")
        yield from self.until_turn()
        self.assertTrue(record.is_diff(right))
        plugin.plugin_unloaded()
        plugin.plugin_loaded()
        yield lambda: plugin._host.environment_of(self.window)
        cli.resume()
        yield cli.connected
        self.window.run_command("gemini_companion_accept_diff")
        yield lambda: cli.received("ide/diffAccepted")

    def test_an_unload_while_a_cli_waits_for_the_editor_does_not_wait_for_the_cli(self) -> Steps:
        cli = yield from self.connect()
        path = self.write("a.py", "old\n")
        asked = threading.Event()
        ask = plugin._host.running.base.calls.run

        def ask_and_say_so(work: Any) -> Any:
            asked.set()
            return ask(work)

        with mock.patch.object(plugin._host.running.base.calls, "run", ask_and_say_so):
            cli.call("openDiff", filePath=path, newContent="new\n")
            # The editor's thread is this one: the request can only wait for it now.
            self.assertTrue(asked.wait(PATIENCE))
        plugin.plugin_unloaded()
        yield lambda: (own_files(), threads()) == ([], [])
        yield from self.until_turn()
        self.assertEqual(list(open_diffs.undecided_diffs(self.window)), [])

    def test_what_a_stopped_companion_still_asks_for_opens_no_view(self) -> Steps:
        yield lambda: plugin._host.environment_of(self.window)
        editor: Any = plugin._host.running.editor.sublime_editor
        plugin.plugin_unloaded()
        proposal = Proposal("session", self.write("a.py", "old\n"), "new\n")

        async def ask() -> None:
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(editor.open_diff(self.window.id(), proposal), 0.5)

        asking = threading.Thread(target=asyncio.run, args=(ask(),))
        asking.start()
        yield lambda: not asking.is_alive()
        self.assertEqual(self.tabs(), {})
        self.assertEqual(self.window.num_groups(), 1)

    def test_a_look_at_the_windows_that_fails_is_not_the_last(self) -> Steps:
        yield lambda: plugin._host.environment_of(self.window)
        looks: list[Any] = []

        def fail() -> None:
            looks.append(None)
            raise ZeroDivisionError("played by a test")

        with mock.patch.object(plugin._host.running.editor.windows, "check_windows", fail):
            yield lambda: len(looks) >= 2

    def test_a_start_that_fails_can_be_stopped(self) -> Steps:
        plugin.plugin_unloaded()
        yield lambda: threads() == []
        failed: list[bool] = []

        def fails(windows: Any) -> None:
            failed.append(True)
            raise RuntimeError("a bug")

        with mock.patch.object(window_watch.WindowWatch, "start", fails):
            with suppress(RuntimeError):
                plugin.plugin_loaded()
            yield lambda: failed
        self.assertEqual(threads(), ["GeminiCompanion"])
        self.window.run_command("gemini_companion_restart_companion")
        yield lambda: plugin._host.environment_of(self.window)
        self.assertEqual(threads(), ["GeminiCompanion"])

    def test_what_an_import_of_the_load_before_brought_in_is_imported_anew(self) -> None:
        names = [*(f"{host.PACKAGE}.{name}" for name in host.FIRST), host.PACKAGE, "sublime"]
        stale = [f"{host.PACKAGE}.ui.running", f"{host.PACKAGE}.ide"]
        modules = {name: ModuleType(name) for name in names + stale}
        host.forget_modules(modules)
        self.assertEqual(sorted(modules), sorted(names))

    def test_it_can_be_loaded_again_and_again(self) -> Steps:
        for _ in range(5):
            plugin.plugin_unloaded()
            plugin.plugin_loaded()
            yield lambda: plugin._host.environment_of(self.window)
        yield from self.until_equal(threads, ["GeminiCompanion"])
        yield from self.until_equal(lambda: len(own_files()), len(sublime.windows()))

    def test_unloading_right_after_loading_leaves_nothing(self) -> Steps:
        plugin.plugin_unloaded()
        plugin.plugin_loaded()
        plugin.plugin_unloaded()
        yield lambda: (own_files(), threads()) == ([], [])

    def test_the_restart_command_serves_again(self) -> Steps:
        yield lambda: plugin._host.environment_of(self.window)
        sublime.run_command("gemini_companion_restart_companion")
        cli = yield from self.connect()
        self.assertTrue(cli.connected())

    def test_a_restart_that_fails_is_not_said_to_have_been_one(self) -> Steps:
        yield lambda: plugin._host.environment_of(self.window)
        told: list[str] = []
        start = LoopThread.start

        def start_and_end(thread: LoopThread[Any]) -> None:
            start(thread)
            thread._thread.join(PATIENCE)

        with mock.patch.object(sublime, "status_message", told.append), mock.patch.object(
            Companion, "_serve_windows", side_effect=ZeroDivisionError("played by a test")
        ), mock.patch.object(LoopThread, "start", start_and_end):
            sublime.run_command("gemini_companion_restart_companion")
            yield lambda: len(told) == 2
        sublime.run_command("gemini_companion_restart_companion")
        self.assertIn("It stopped working", told[-1])

    def test_a_new_window_has_its_own_server_and_a_closed_one_none(self) -> Steps:
        yield from self.until_equal(lambda: len(own_files()), len(sublime.windows()))
        before = len(own_files())
        self.window.run_command("new_window")
        yield lambda: len(own_files()) == before + 1
        new = next(window for window in sublime.windows() if window.id() != self.window.id())
        yield lambda: plugin._host.environment_of(new)
        tokens = {
            plugin._host.environment_of(window)["GEMINI_CLI_IDE_AUTH_TOKEN"]
            for window in (self.window, new)
        }
        self.assertEqual(len(tokens), 2)
        new.run_command("close_window")
        yield lambda: len(own_files()) == before

    def test_folders_added_to_a_window_are_told(self) -> Steps:
        before: Any = self.window.project_data()
        self.addCleanup(self.window.set_project_data, before)
        folders = list((before or {}).get("folders", []))
        self.window.set_project_data({"folders": folders + [{"path": self.folder}]})

        def told() -> bool:
            environment = plugin._host.environment_of(self.window)
            paths = environment.get("GEMINI_CLI_IDE_WORKSPACE_PATH", "").split(os.pathsep)
            return self.folder in paths

        yield told
