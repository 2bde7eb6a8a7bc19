"""The API's server as an editor holds it: from start to stop, and what a user is told where it
cannot be. No CLI is started here."""

from __future__ import annotations

import http.client
import os
import shutil
import socket
import stat
import sys
import tempfile
import threading
import time
import unittest
from typing import Any, Sequence
from unittest import mock

from GeminiCompanion.companion.agent import engine
from GeminiCompanion.companion.agent.agent import Limits
from GeminiCompanion.companion.agent.engine import Engine
from GeminiCompanion.companion.agent.launches import Chosen
from GeminiCompanion.companion.api import editor_server, server
from GeminiCompanion.companion.api.editor_server import Service, ServiceOptions
from GeminiCompanion.companion.base import log

from ..support import PATIENCE, wait_for

NAME = engine.NAME
PAGE = {"index.html": b"<p>of the package</p>", "page.js": b"1", "notes.txt": b"of nobody"}


@unittest.skipIf(sys.platform == "win32", "programs have other names there")
class ServiceTest(unittest.TestCase):
    """`self.bin` is all of PATH, with a Node and a CLI that nobody can run."""

    def setUp(self) -> None:
        self.root = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root, True)
        self.bin, self.workspace = (os.path.join(self.root, name) for name in ("bin", "work space"))
        for folder in (self.bin, self.workspace):
            os.mkdir(folder)
        for name in ("node", "gemini.js"):
            self.program(os.path.join(self.bin, name))
        os.symlink("gemini.js", os.path.join(self.bin, "gemini"))
        patch = mock.patch.dict(os.environ, PATH=self.bin)
        patch.start()
        self.addCleanup(patch.stop)
        self.log = log.start_log("debug")
        self.state = os.path.join(self.root, "cache", "state")
        # What was seen each time that somebody was told.
        self.told: list[tuple[bool, bool]] = []

    def program(self, path: str) -> str:
        with open(path, "w"):
            os.chmod(path, 0o700)
        return path

    def make(self, agents: Sequence[Chosen] = (Chosen("gemini"),), **more: Any) -> Service:
        options = {
            "folder": self.state,
            "roots": (self.workspace,),
            "port": 0,
            "page": lambda: PAGE,
            **more,
        }

        def told() -> None:
            self.told.append((made.serving is not None, made.is_running))

        self.engine = Engine(
            lambda: editor_server.engine_options(self.state, [each.launch for each in agents])
        )
        made = Service(self.engine, ServiceOptions(**options), told)
        self.addCleanup(self.end, made)
        return made

    def end(self, made: Service) -> None:
        made.stop()
        wait_for(lambda: not self.threads())

    def serve(self, **more: Any) -> Service:
        made = self.make(**more)
        made.start()
        wait_for(lambda: made.serving or made.problem)
        self.assertEqual(made.problem, "")
        return made

    def problem(self, **more: Any) -> str:
        """Why it ended by itself: a sentence that is logged once, without a traceback."""
        made = self.make(**more)
        made.start()
        wait_for(lambda: not made.is_running)
        self.assertIsNone(made.serving)
        self.assertEqual(self.told[-1:], [(False, False)])
        lines = "\n".join(self.log.lines())
        self.assertEqual(lines.count(made.problem), 1, lines)
        self.assertNotIn("Traceback", lines)
        return made.problem

    def threads(self) -> list[str]:
        return [thread.name for thread in threading.enumerate() if thread.name == NAME]

    def get(self, made: Service, path: str) -> tuple[int, bytes]:
        if made.serving is None:
            raise AssertionError("nothing is served")
        connection = http.client.HTTPConnection(made.serving.url[7:], timeout=PATIENCE)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


class StartAndStop(ServiceTest):
    def test_it_listens_until_it_is_stopped_and_leaves_no_thread_and_no_socket(self) -> None:
        before = set(threading.enumerate())
        made = self.serve()
        self.assertEqual(self.get(made, "/status")[0], 200)
        port = int(made.serving.url.rpartition(":")[2]) if made.serving else 0
        made.stop()
        # It may have ended by now.
        self.assertTrue(made.is_stopping or not made.is_running)
        wait_for(lambda: not made.is_running)
        wait_for(lambda: set(threading.enumerate()) <= before)
        with socket.socket() as probe:
            self.assertNotEqual(probe.connect_ex(("127.0.0.1", port)), 0)
        self.assertEqual((made.serving, made.problem), (None, ""))

    @unittest.skipUnless(sys.platform == "linux", "elsewhere open files cannot be listed")
    def test_stop_leaves_no_open_file(self) -> None:
        counts = []
        # A first round, for what libraries open once and keep.
        for _ in range(3):
            made = self.serve()
            made.stop()
            wait_for(lambda: not self.threads())
            counts.append(len(os.listdir("/proc/self/fd")))
        self.assertEqual(counts[1], counts[2])

    def test_who_started_it_is_told_when_it_listens_and_when_it_has_ended(self) -> None:
        made = self.serve()
        wait_for(lambda: self.told)
        self.assertEqual(self.told, [(True, True)])
        made.stop()
        wait_for(lambda: len(self.told) == 2)
        self.assertEqual(self.told[1], (False, False))

    def test_neither_start_nor_stop_waits(self) -> None:
        reached, goes_on = threading.Event(), threading.Event()

        def page() -> dict[str, bytes]:
            reached.set()
            goes_on.wait(PATIENCE)
            return PAGE

        made = self.make(page=page)
        self.addCleanup(goes_on.set)
        made.start()
        self.assertTrue(reached.wait(PATIENCE))
        made.stop()
        self.assertTrue(made.is_running)
        goes_on.set()
        wait_for(lambda: not made.is_running)
        self.assertEqual(made.problem, "")

    def test_a_stop_right_after_the_start_ends_it_all_the_same(self) -> None:
        for _ in range(10):
            made = self.make()
            made.start()
            made.stop()
            wait_for(lambda: not self.threads())
            self.assertEqual((made.serving, made.problem), (None, ""))

    def test_one_that_was_never_started_can_be_stopped(self) -> None:
        made = self.make()
        made.stop()
        made.stop()
        self.engine.quit()
        self.assertFalse(made.is_running)

    def test_an_editor_that_quits_waits_for_a_moment_only_and_is_told_nothing(self) -> None:
        self.serve()
        wait_for(lambda: self.told)
        began = time.monotonic()
        self.engine.quit()
        self.assertLess(time.monotonic() - began, PATIENCE)
        wait_for(lambda: not self.threads())
        self.assertEqual(len(self.told), 1)


class Serving(ServiceTest):
    def test_it_tells_where_it_is_and_the_log_has_no_token(self) -> None:
        made = self.serve()
        serving = made.serving
        if serving is None:
            raise AssertionError("nothing is served")
        self.assertEqual(serving.workspace, self.workspace)
        self.assertEqual(serving.token_file, os.path.join(self.state, "token"))
        self.assertEqual(stat.S_IMODE(os.stat(serving.token_file).st_mode), 0o600)
        with open(serving.token_file) as file:
            self.assertEqual(file.read().strip(), serving.token)
        # It is logged once it serves, on another thread.
        wait_for(lambda: serving.url in "\n".join(self.log.lines()))
        self.assertNotIn(serving.token, "\n".join(self.log.lines()))

    def test_the_page_is_the_one_that_it_is_given(self) -> None:
        made = self.serve()
        for path, name in (
            ("/", "index.html"),
            ("/index.html", "index.html"),
            ("/page.js", "page.js"),
        ):
            with self.subTest(path):
                self.assertEqual(self.get(made, path), (200, PAGE[name]))
        self.assertEqual(self.get(made, "/notes.txt")[0], 401)

    def test_folders_of_the_window_that_are_gone_do_not_count(self) -> None:
        made = self.serve(roots=(self.workspace, os.path.join(self.root, "gone")))
        self.assertIsNotNone(made.serving)

    def test_a_turn_of_a_client_that_no_tab_shows_does_not_wait_without_end(self) -> None:
        launches = [Chosen("gemini").launch]
        options = editor_server.engine_options(os.path.join(self.state, "engine"), launches)
        self.assertEqual(options.limits, Limits())


class Refusing(ServiceTest):
    def test_an_agent_that_is_not_found_names_the_setting(self) -> None:
        for chosen in (Chosen("opencode"), Chosen("no-such-agent", ("no-such-agent", "acp"))):
            problem = self.problem(agents=[chosen])
            for part in (chosen.id, "was not found", '"agents" in the settings'):
                self.assertIn(part, problem)

    def test_a_port_that_is_taken_names_the_setting(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            problem = self.problem(port=port)
        self.assertRegex(problem, f'^Port {port} cannot be used: .*"api_port"')

    def test_without_node_the_user_is_told_to_install_it(self) -> None:
        os.unlink(os.path.join(self.bin, "node"))
        self.assertIn("Node.js 20 or newer", self.problem())

    def test_without_the_cli_the_user_is_told_how_to_get_it_and_where_to_name_it(self) -> None:
        os.unlink(os.path.join(self.bin, "gemini"))
        problem = self.problem()
        for part in ('"gemini"', "npm install -g @google/gemini-cli", '"agents"'):
            self.assertIn(part, problem)

    def test_a_folder_that_is_gone_is_told(self) -> None:
        gone = os.path.join(self.root, "gone")
        self.assertEqual(self.problem(roots=(gone,)), editor_server.NO_FOLDER.format(gone))

    def test_a_state_that_others_could_change_is_told(self) -> None:
        os.makedirs(os.path.dirname(self.state))
        with open(self.state, "w"):
            pass
        self.assertIn(self.state, self.problem())

    def test_a_state_that_cannot_be_written_is_told_by_its_name(self) -> None:
        os.makedirs(os.path.dirname(self.state))
        with mock.patch("os.mkdir", side_effect=PermissionError(13, "No", self.state)):
            self.assertEqual(self.problem(), engine.NO_STATE.format(self.state, "No"))

    def test_a_library_that_is_missing_is_told_as_that_of_the_companion(self) -> None:
        error = ModuleNotFoundError("no aiohttp", name="aiohttp")
        with mock.patch.object(Service, "_start_server", side_effect=error):
            self.assertIn('The library "aiohttp" is missing.', self.problem())

    def test_a_fault_of_ours_is_told_and_logged_with_its_traceback(self) -> None:
        with mock.patch.object(server.Server, "start", side_effect=ZeroDivisionError("played")):
            made = self.make()
            made.start()
            wait_for(lambda: not made.is_running)
        self.assertEqual(made.problem, editor_server.STOPPED)
        self.assertIn("ZeroDivisionError: played", "\n".join(self.log.lines()))
