"""The companion as the editor holds it: from start to stop, called from any thread."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import time
import unittest
from dataclasses import dataclass
from typing import Any, Callable
from unittest import mock

from GeminiCompanion.companion.base import log
from GeminiCompanion.companion.ide import answers, discovery
from GeminiCompanion.companion.ide.companion import Companion
from GeminiCompanion.companion.ide.context import OpenFile
from GeminiCompanion.companion.ide.editor import Proposal
from GeminiCompanion.companion.ide.events import (
    DiffAccepted,
    Event,
    WindowsChanged,
    WindowSettingsChanged,
)
from GeminiCompanion.companion.ide.questions import WindowServed, WindowStatuses
from GeminiCompanion.companion.ide.status import Status
from GeminiCompanion.companion.ide.transport import Endpoint
from GeminiCompanion.companion.ide.window_settings import WindowSettings
from GeminiCompanion.companion.ide.windows import Windows

from ..support import PATIENCE, Client, FakeEditor, discovery_files, temp_folder, wait_for

# Above what any system gives out, so that no process has it.
PID = 2**30
PATH = os.path.abspath(os.path.join(os.sep, "project", "a.py"))
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
# Makes the package importable in another interpreter, as conftest.py does it here.
PACKAGE = """
import sys, threading, types
package = types.ModuleType("GeminiCompanion")
package.__path__ = [sys.argv[1]]
sys.modules["GeminiCompanion"] = package
"""


@dataclass(frozen=True)
class Done(Event):
    """Something that the test does on the companion's loop."""

    work: Callable[[], object]

    def apply(self, windows: Windows) -> None:
        self.work()


class ServiceTestCase(unittest.TestCase):
    """`self.companion` is made and not started; it is stopped when the test ends."""

    def setUp(self) -> None:
        self.temp = temp_folder(self)
        self.folder = os.path.join(self.temp, "gemini", "ide")
        self.editor = FakeEditor()
        self.companion = self.make()

    def make(self, state_path: str | None = None) -> Companion:
        companion = Companion(PID, state_path)
        self.addCleanup(companion.stop)
        return companion

    def start(self, *windows: int) -> None:
        self.companion.start(self.editor)
        self.companion.post(WindowsChanged({window: (f"/{window}",) for window in windows}))
        wait_for(lambda: set(self.companion.environments) == set(windows))

    def files(self) -> list[str]:
        return list(discovery_files(self.folder))

    def client(self, window_id: int) -> Client:
        environment = self.companion.environments[window_id]
        port = int(environment["GEMINI_CLI_IDE_SERVER_PORT"])
        client = Client(port, environment["GEMINI_CLI_IDE_AUTH_TOKEN"])
        client.initialize()
        return client

    def threads(self) -> list[str]:
        return [thread.name for thread in threading.enumerate() if thread.name == "GeminiCompanion"]

    def file(self, view_id: int, name: str) -> OpenFile:
        path = os.path.join(self.temp, name)
        open(path, "w").close()
        return OpenFile(view_id, path)


class StopAtADecision(ServiceTestCase):
    """The companion stops right after the user has decided, and starts again."""

    def setUp(self) -> None:
        super().setUp()
        self.state_path = os.path.join(self.temp, "cache", "GeminiCompanion", "state.json")

    def decide(self, text: str) -> None:
        """`first` and `told` are the events of the CLI's stream, which ended in good order."""
        self.companion = self.make(self.state_path)
        self.start(1)
        self.cli = self.client(1)
        with self.cli.stream() as stream:
            self.first = stream.next()
            self.cli.tool("openDiff", filePath=PATH, newContent="theirs\n")
            self.companion.post(DiffAccepted(1, self.cli.session_id, PATH, text))
            self.companion.stop(PATIENCE)
            self.told = stream.next()
            self.assertTrue(stream.ended())
        self.companion = self.make(self.state_path)
        self.start(1)

    def methods_after(self, event: Any) -> list[str]:
        """What the CLI is told that comes back to its stream having seen the event."""
        last_event_id = {"Last_Event_ID": event.fields["id"]} if event is not None else {}
        with self.cli.stream(**last_event_id) as stream:
            methods = [stream.next().message["method"]]
            while methods[-1] != "ide/contextUpdate":
                methods.append(stream.next().message["method"])
        return methods[:-1]

    def test_a_cli_that_has_read_it_is_not_told_again(self) -> None:
        self.decide("mine\n")
        self.assertEqual(self.methods_after(self.told), [])
        self.assertEqual(self.methods_after(self.told), [])

    def test_a_cli_that_lost_it_is_told_when_it_comes_back(self) -> None:
        self.decide("mine\n")
        self.assertEqual(self.told.message["method"], "ide/diffAccepted")
        self.assertEqual(self.methods_after(self.first), ["ide/diffAccepted"])


class StartAndStop(ServiceTestCase):
    def test_stop_leaves_no_thread_no_socket_no_file_and_no_environment(self) -> None:
        before = set(threading.enumerate())
        self.start(1, 2)
        clients = [self.client(1), self.client(2)]
        with clients[0].stream() as stream:
            stream.next()
            self.companion.stop(PATIENCE)
            self.assertTrue(stream.ended())
        self.assertEqual(self.threads(), [])
        wait_for(lambda: set(threading.enumerate()) <= before)
        self.assertEqual(self.files(), [])
        self.assertEqual(self.companion.environments, {})
        for client in clients:
            with socket.socket() as probe:
                probe.settimeout(5)
                self.assertNotEqual(probe.connect_ex(("127.0.0.1", client.port)), 0)

    @unittest.skipUnless(sys.platform == "linux", "elsewhere open files cannot be listed")
    def test_stop_leaves_no_open_file(self) -> None:
        # A first round, for what libraries open once and keep.
        self.start(1)
        self.companion.stop(PATIENCE)
        before = len(os.listdir("/proc/self/fd"))
        self.companion = self.make()
        self.start(1, 2)
        with self.client(1).stream() as stream:
            stream.next()
            self.companion.stop(PATIENCE)
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)

    def test_it_can_be_made_and_stopped_any_number_of_times(self) -> None:
        for number in range(10):
            self.companion = self.make()
            self.start(number)
            self.companion.stop(PATIENCE)
        self.assertEqual((self.threads(), self.files(), self.editor.told), ([], [], []))

    def test_a_companion_that_was_never_started_can_be_stopped(self) -> None:
        self.companion.stop(PATIENCE)
        self.companion.start(self.editor)
        wait_for(lambda: not self.threads())
        self.assertEqual(self.files(), [])

    def test_a_stop_right_after_the_start_ends_it_all_the_same(self) -> None:
        self.companion.start(self.editor)
        self.companion.post(WindowsChanged({1: ()}))
        self.companion.stop(10)
        self.assertEqual((self.threads(), self.files()), ([], []))

    def test_a_stop_waits_no_longer_than_it_is_told(self) -> None:
        self.start(1)
        blocked = threading.Event()

        self.companion.post(Done(lambda: blocked.wait(PATIENCE)))
        began = time.monotonic()
        self.companion.stop(0.05)
        self.assertLess(time.monotonic() - began, PATIENCE)
        self.assertEqual(self.threads(), ["GeminiCompanion"])
        blocked.set()
        wait_for(lambda: not self.threads())

    def test_an_editor_that_never_answers_does_not_hold_up_the_stop(self) -> None:
        class DeafEditor(FakeEditor):
            async def open_diff(self, window_id: int, proposal: Proposal) -> None:
                asked.set()
                await asyncio.Event().wait()

        asked = threading.Event()
        self.editor = DeafEditor()
        self.companion = self.make()
        self.start(1)
        client = self.client(1)
        arguments = {"filePath": PATH, "newContent": ""}
        params = {"name": "openDiff", "arguments": arguments}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        head = client.head(Content_Length=str(len(body)))
        with client.send_raw(head + body.encode()):
            self.assertTrue(asked.wait(PATIENCE))
            began = time.monotonic()
            self.companion.stop(PATIENCE)
            self.assertLess(time.monotonic() - began, PATIENCE)
        self.assertEqual((self.threads(), self.files()), ([], []))

    def test_a_cli_that_reads_nothing_does_not_hold_up_the_stop(self) -> None:
        self.start(1)
        client = self.client(1)
        with client.stream() as stream:
            stream.next()
            text = "x" * 10_000_000
            self.companion.post(DiffAccepted(1, client.session_id, PATH, text))
            # That it takes nothing would be noticed later.
            with mock.patch.object(answers, "STALLED", 10 * PATIENCE):
                self.companion.stop(PATIENCE)
        self.assertEqual((self.threads(), self.files()), ([], []))


class Calls(ServiceTestCase):
    def status(self) -> tuple[Status, ...]:
        answer = self.companion.ask(WindowStatuses())
        wait_for(lambda: answer.is_there)
        return answer.result()

    def test_who_waits_for_the_endpoint_of_a_window_is_told_once_it_is_there(self) -> None:
        self.companion.post(WindowsChanged({1: ("/1",)}))
        answers = [self.companion.ask(WindowServed(window)) for window in (1, 2)]
        self.companion.start(self.editor)
        wait_for(lambda: all(answer.is_there for answer in answers))
        self.assertEqual(list(self.companion.environments), [1])

    def test_who_waits_for_an_endpoint_that_cannot_be_is_told_as_well(self) -> None:
        refused = mock.patch.object(Endpoint, "listen_on", side_effect=OSError("no port"))
        with refused, self.assertLogs(log.logger, "ERROR"):
            self.companion.post(WindowsChanged({1: ("/1",)}))
            answer = self.companion.ask(WindowServed(1))
            self.companion.start(self.editor)
            wait_for(lambda: answer.is_there)
            wait_for(lambda: self.editor.told)
        self.assertEqual(dict(self.companion.environments), {})

    def test_calls_of_many_threads_all_arrive(self) -> None:
        answers: list[Any] = []

        def call() -> None:
            for _ in range(200):
                self.companion.post(Done(lambda: answers.append(None)))

        threads = [threading.Thread(target=call) for _ in range(5)]
        for thread in threads[:3]:
            thread.start()
        self.start(1)
        for thread in threads[3:]:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        wait_for(lambda: len(answers) == 1000)

    def test_calls_while_it_stops_raise_nothing(self) -> None:
        self.start(1)
        together = threading.Barrier(4)
        failures: list[BaseException] = []

        def call() -> None:
            together.wait(PATIENCE)
            try:
                for _ in range(2000):
                    self.companion.post(WindowSettingsChanged(1, WindowSettings(None)))
            except BaseException as error:
                failures.append(error)
                raise

        threads = [threading.Thread(target=call) for _ in range(3)]
        for thread in threads:
            thread.start()
        together.wait(PATIENCE)
        self.companion.stop(PATIENCE)
        for thread in threads:
            thread.join(PATIENCE)
        self.assertEqual((failures, self.threads()), ([], []))

    def test_an_event_that_posts_another_each_time_leaves_the_others_their_turn(self) -> None:
        def again() -> None:
            self.companion.post(Done(again))

        self.companion.post(Done(again))
        self.start(1)
        self.assertEqual(len(self.status()), 1)
        self.companion.stop(PATIENCE)
        self.assertEqual(self.threads(), [])


class Failures(ServiceTestCase):
    def output(self, program: str, *arguments: str) -> str:
        """What the program prints in an interpreter of its own that has the package."""
        if "python" not in os.path.basename(sys.executable):
            self.skipTest("an editor's host is no interpreter that could be started")
        command = [sys.executable, "-c", PACKAGE + program, ROOT, *arguments]
        return subprocess.run(command, stdout=subprocess.PIPE, timeout=60).stdout.decode()

    def test_a_failure_of_the_thread_is_logged_and_told_with_what_to_do(self) -> None:
        broken = mock.patch.object(
            discovery, "sweep_files", side_effect=ZeroDivisionError("the reason")
        )
        with self.assertLogs(log.logger, "ERROR") as logs, broken:
            self.companion.start(self.editor)
            # From 3.13 on a thread counts as alive for a moment after it is listed no longer.
            wait_for(lambda: not self.companion.is_running)
        self.assertRegex(logs.output[0], "(?s)Traceback.*ZeroDivisionError: the reason")
        (sentence,) = self.editor.told
        self.assertIn("Gemini Companion: Show Log", sentence)
        self.assertIn("Gemini Companion: Restart Companion", sentence)
        self.companion.post(WindowsChanged({1: ()}))
        self.companion.stop(PATIENCE)
        self.assertEqual(self.files(), [])

    def end(self, module: str) -> str:
        """What is told and logged where the module cannot be imported."""
        program = """
sys.modules[sys.argv[2]] = None
from GeminiCompanion.companion.base import log
from GeminiCompanion.companion.ide.editor import Editor
from GeminiCompanion.companion.ide.events import WindowsChanged
from GeminiCompanion.companion.ide.questions import WindowStatuses
from GeminiCompanion.companion.ide.companion import Companion
class Teller(Editor):
    async def open_diff(self, window_id, proposal): pass
    async def close_diff(self, window_id, session_id, path, decided=True): pass
    async def restore_text(self, window_id, session_id, path, saved): pass
    def set_orphaned(self, window_id, session_id, orphaned): pass
    async def return_text(self, window_id, path, text, remark=""): pass
    def show_status(self, statuses): pass
    def gather_edit(self, window_id, edit): pass
    def show_message(self, sentence, about=""): print("told:", sentence)
    def withdraw_message(self, about): pass
recent = log.start_log("info")
companion = Companion(1)
companion.post(WindowsChanged({1: ()}))
companion.start(Teller())
for thread in threading.enumerate():
    if thread.name == "GeminiCompanion":
        thread.join(60)
print("problem:", companion.problem)
print("log:", *recent.lines())
"""
        return self.output(program, module)

    def test_a_library_that_is_missing_is_told_by_name_with_what_to_do(self) -> None:
        # The last is one that only aiohttp asks for.
        for name in ("aiohttp", "multidict"):
            with self.subTest(name):
                said = self.end(name)
                for start in ("told: ", "problem: "):
                    self.assertIn(f'{start}The library "{name}" is missing.', said)
                self.assertIn("Satisfy Libraries", said)
                self.assertRegex(said, f"log: .* ERROR The library .*{name}")
                self.assertNotIn("Traceback", said)

    def test_a_module_of_our_own_that_is_missing_is_our_bug_and_no_library(self) -> None:
        said = self.end("GeminiCompanion.companion.ide.sessions")
        self.assertIn("told: It stopped working", said)
        self.assertIn("problem: It stopped working", said)
        self.assertRegex(said, "(?s)log: .*Traceback.*GeminiCompanion.companion.ide.sessions")

    def test_importing_the_service_brings_in_no_library(self) -> None:
        program = """
import GeminiCompanion.companion.ide.events, GeminiCompanion.companion.ide.companion
print(sorted({"aiohttp", "jsonschema"} & set(sys.modules)))
"""
        self.assertEqual(self.output(program).strip(), "[]")
