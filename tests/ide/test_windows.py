"""The endpoints of all windows: each on its own, together from first to last."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import shutil
import socket
import sys
import unittest
from typing import Any, AsyncIterator, Iterator, Mapping
from unittest import mock

from GeminiCompanion.companion.base import log
from GeminiCompanion.companion.ide.context import Cursor, OpenFile
from GeminiCompanion.companion.ide.events import (
    DiffAccepted,
    DiffRejected,
    Event,
    FileAdded,
    FileClosed,
    FileFocused,
    SelectionChanged,
    WindowsChanged,
    WindowSettingsChanged,
)
from GeminiCompanion.companion.ide.live_clis import LiveCli
from GeminiCompanion.companion.ide.questions import WindowStatuses
from GeminiCompanion.companion.ide.sharing import Sharing
from GeminiCompanion.companion.ide.status import Status
from GeminiCompanion.companion.ide.window_settings import WindowSettings
from GeminiCompanion.companion.ide.windows import Windows
from GeminiCompanion.companion.ide.workspace import Workspace

from ..extension_client import ExtensionClient, key_of
from ..support import (
    PATIENCE,
    Background,
    Client,
    EventStream,
    FakeEditor,
    discovery_files,
    patched,
    temp_folder,
    until,
    wait_for,
)

# Above what any system gives out, so that no process has it.
PID = 2**30
WINDOWS = "GeminiCompanion.companion.ide.windows"
PATH = os.path.abspath(os.path.join(os.sep, "project", "a.py"))


class WindowsTestCase(unittest.TestCase):
    """`self.windows` runs; `self.told` has every set of environments that was given."""

    def setUp(self) -> None:
        self.temp = temp_folder(self)
        self.folder = os.path.join(self.temp, "gemini", "ide")
        self.editor = FakeEditor()
        self.told: list[Mapping[int, Mapping[str, str]]] = []
        self.background = Background(self.running)
        self.addCleanup(self.background.stop)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        self.windows = Windows(self.editor, PID, self.told.append)
        ready = asyncio.Event()
        running = asyncio.ensure_future(self.windows.run(ready.set))
        await asyncio.wait_for(ready.wait(), PATIENCE)
        try:
            yield
        finally:
            self.windows.stop()
            await running

    def set_windows(self, *windows: int, **more: Any) -> None:
        """These windows, each with one folder, once all of them can be found."""
        self.tell(WindowsChanged({window: (f"/{window}",) for window in windows}))
        wait_for(lambda: set(self.told[-1]) == set(windows))
        wait_for(lambda: len(self.workspaces()) == len(windows))

    def tell(self, event: Event) -> None:
        self.background.call(event.apply, self.windows)

    def statuses(self) -> tuple[Status, ...]:
        found: list[tuple[Status, ...]] = []
        self.background.call(lambda: found.append(WindowStatuses().find_answer(self.windows)))
        return found[0]

    def workspaces(self) -> list[str]:
        """What the discovery files say."""
        return sorted(file["workspacePath"] for file in discovery_files(self.folder).values())

    def client(self, window_id: int) -> Client:
        environment = self.told[-1][window_id]
        port = int(environment["GEMINI_CLI_IDE_SERVER_PORT"])
        client = Client(port, environment["GEMINI_CLI_IDE_AUTH_TOKEN"])
        client.initialize()
        return client

    def file(self, view_id: int, name: str, **more: Any) -> OpenFile:
        path = os.path.join(self.temp, name)
        open(path, "w").close()
        return OpenFile(view_id, path, **more)


class Lifetime(WindowsTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.background.start()

    def test_the_editor_is_told_of_each_cli_that_comes(self) -> None:
        self.set_windows(1, 2)

        def connected() -> dict[int, tuple[str, ...]]:
            newest = self.editor.statuses[-1] if self.editor.statuses else ()
            return {
                each.window_id: tuple(client.label for client in each.clients) for each in newest
            }

        wait_for(lambda: connected() == {1: (), 2: ()})
        with self.client(1).stream():
            wait_for(lambda: connected() == {1: ("Gemini CLI",), 2: ()})
        self.assertNotIn(self.editor.statuses[-1], self.editor.statuses[-2:-1])

    def test_a_turn_of_50_hooks_is_shown_and_saves_nothing(self) -> None:
        self.set_windows(1)
        client = self.client(1)
        key = key_of(client.port)
        more: dict[str, Any] = {"tool_name": "run_shell_command", "tool_input": {"command": "ls"}}
        more["prompt"] = "do it"
        with mock.patch.object(self.windows.saving, "save_soon") as saves:
            for event in ("BeforeAgent", *("BeforeTool", "AfterTool") * 24, "AfterAgent"):
                told = {"hook_event_name": event, "session_id": "s", "cwd": "/1", **more}
                body = {"pid": os.getpid(), "version": "1", "input": told}
                answer = ExtensionClient(client.port, key).post("/hooks", body)
                self.assertEqual((answer.status, answer.is_signed), (200, True))
            wait_for(lambda: [session.activity.value for session in self.live()] == ["done"])
        saves.assert_not_called()

    def live(self) -> tuple[LiveCli, ...]:
        """Those that the editor was told last."""
        newest = self.editor.statuses[-1] if self.editor.statuses else ()
        return tuple(live for each in newest for live in each.live)

    def test_each_window_has_its_own_port_token_and_file(self) -> None:
        self.set_windows(1, 2)
        environments = self.told[-1]
        for name in ("GEMINI_CLI_IDE_SERVER_PORT", "GEMINI_CLI_IDE_AUTH_TOKEN"):
            self.assertEqual(len({environment[name] for environment in environments.values()}), 2)
        self.assertEqual(self.workspaces(), ["/1", "/2"])
        self.assertEqual(environments[2]["GEMINI_CLI_IDE_WORKSPACE_PATH"], "/2")

    def test_the_token_of_one_window_opens_no_other(self) -> None:
        self.set_windows(1, 2)
        other = Client(self.client(2).port, self.told[-1][1]["GEMINI_CLI_IDE_AUTH_TOKEN"])
        self.assertEqual(other.request("GET").status, 401)

    def test_a_window_that_is_gone_takes_its_server_and_file_and_no_others(self) -> None:
        self.set_windows(1, 2)
        first, second = self.client(1), self.client(2)
        self.set_windows(2)
        self.assertEqual(self.workspaces(), ["/2"])
        self.assertEqual(second.call("ping")["result"], {})
        wait_for(lambda: self.refuses(first.port))

    def refuses(self, port: int) -> bool:
        with socket.socket() as probe:
            probe.settimeout(5)
            return probe.connect_ex(("127.0.0.1", port)) != 0

    def test_known_windows_keep_their_port_and_token(self) -> None:
        self.set_windows(1)
        before = self.told[-1][1]
        self.set_windows(1, 2)
        self.assertEqual(self.told[-1][1], before)

    def test_environments_once_given_never_change(self) -> None:
        self.set_windows(1)
        given = self.told[-1]
        before = json.dumps(given)
        self.tell(WindowsChanged({1: ("/other",), 2: ()}))
        self.set_windows(3)
        self.assertEqual(json.dumps(given), before)

    def test_a_window_that_comes_and_goes_at_once_leaves_nothing(self) -> None:
        def hurry() -> None:
            for windows in ({1: ()}, {}, {1: ("/again",)}, {}):
                self.windows.set_windows(windows)

        self.background.call(hurry)
        self.set_windows(2)
        wait_for(lambda: self.workspaces() == ["/2"])

    def test_a_window_that_comes_back_at_once_is_served(self) -> None:
        def hurry() -> None:
            for windows in ({1: ()}, {}, {1: ("/1",)}):
                self.windows.set_windows(windows)

        self.background.call(hurry)
        wait_for(lambda: set(self.told[-1]) == {1} and self.workspaces() == ["/1"])
        self.assertEqual(self.client(1).call("ping")["result"], {})

    def test_at_the_end_all_files_are_gone_and_no_environment_is_left(self) -> None:
        self.set_windows(1, 2)
        self.background.stop()
        self.assertEqual(os.listdir(self.folder), [])
        self.assertEqual(self.told[-1], {})


class Events(WindowsTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.background.start()
        self.set_windows(1, 2)

    def names(self, stream: EventStream) -> list[str]:
        """The open files of the next context."""
        files = stream.next().message["params"]["workspaceState"]["openFiles"]
        return [os.path.basename(file["path"]) for file in files]

    def test_files_are_told_to_their_own_window_alone(self) -> None:
        with self.client(1).stream() as one, self.client(2).stream() as two:
            self.assertEqual((self.names(one), self.names(two)), ([], []))
            self.tell(FileFocused(1, self.file(1, "a")))
            self.assertEqual(self.names(one), ["a"])
            self.tell(FileFocused(2, self.file(2, "b")))
            self.assertEqual(self.names(two), ["b"])

    def test_files_selections_and_closings_reach_the_context(self) -> None:
        with self.client(1).stream() as stream:
            self.names(stream)
            self.tell(FileFocused(1, self.file(1, "a")))
            self.tell(FileAdded(1, self.file(2, "b")))
            self.assertEqual(self.names(stream), ["a", "b"])
            selected = self.file(1, "a", cursor=Cursor(2, 3), selected_text="x")
            self.tell(SelectionChanged(1, selected))
            event = stream.next()
            active = event.message["params"]["workspaceState"]["openFiles"][0]
            self.assertEqual(active["cursor"], {"line": 2, "character": 3})
            self.assertEqual(active["selectedText"], "x")
            self.tell(FileClosed(1))
            self.assertEqual(self.names(stream), ["b"])

    def test_trust_is_told_to_the_clis_of_its_window_only(self) -> None:
        with self.client(1).stream() as one, self.client(2).stream() as two:
            self.names(one)
            self.names(two)
            self.tell(WindowSettingsChanged(1, WindowSettings(True)))
            state = one.next().message["params"]["workspaceState"]
            self.assertIs(state["isTrusted"], True)
            self.tell(WindowSettingsChanged(2, WindowSettings(False)))
            state = two.next().message["params"]["workspaceState"]
            self.assertIs(state["isTrusted"], False)

    def test_a_window_has_its_settings_before_anything_is_told_of_it(self) -> None:
        paused = WindowSettings(diffs=False, sharing=Sharing(paused=True))
        self.tell(WindowsChanged({3: ()}, {3: paused}))
        self.tell(FileFocused(3, self.file(1, "a")))
        wait_for(lambda: 3 in self.told[-1])
        client = self.client(3)
        with client.stream() as stream:
            self.assertEqual(self.names(stream), [])
            self.assertEqual(client.call("tools/list")["result"]["tools"], [])

    def test_decisions_reach_the_session_in_their_window(self) -> None:
        client = self.client(2)
        with client.stream() as stream:
            self.names(stream)
            id = client.session_id
            self.tell(DiffAccepted(2, id, PATH, "text"))
            self.tell(DiffRejected(2, id, PATH))
            methods = [stream.next().message["method"] for _ in range(2)]
        self.assertEqual(methods, ["ide/diffAccepted", "ide/diffRejected"])

    def test_word_of_windows_that_are_gone_is_ignored(self) -> None:
        file = self.file(1, "a")
        self.tell(FileFocused(99, file))
        self.tell(FileAdded(99, file))
        self.tell(SelectionChanged(99, file))
        self.tell(FileClosed(99))
        self.tell(DiffAccepted(99, "s", PATH, "text"))
        self.tell(DiffRejected(99, "s", PATH))
        with self.client(1).stream() as stream:
            self.assertEqual(self.names(stream), [])
        self.assertEqual(self.editor.told, [])

    def test_the_status_has_every_window(self) -> None:
        statuses = self.statuses()
        self.assertEqual([status.window_id for status in statuses], [1, 2])
        self.assertEqual([status.folders for status in statuses], [("/1",), ("/2",)])


class StartAndFailure(WindowsTestCase):
    def test_files_of_dead_editors_are_swept_before_windows_are_told(self) -> None:
        os.makedirs(self.folder)
        dead = os.path.join(self.folder, f"gemini-ide-server-{PID - 1}-1.json")
        open(dead, "w").close()
        self.background.start()
        self.assertFalse(os.path.exists(dead))

    @contextlib.contextmanager
    def no_more_sockets(self) -> Iterator[None]:
        """The process may open nothing more, as when another plugin leaks files."""
        import resource

        next_one = os.open(os.devnull, os.O_RDONLY)
        os.close(next_one)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (next_one, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    @unittest.skipIf(sys.platform == "win32", "Windows has no such limit")
    def test_a_window_without_a_server_is_told_with_what_to_do_and_the_others_go_on(self) -> None:
        self.background.start()
        self.set_windows(1)
        client = self.client(1)
        with self.assertLogs(log.logger, "ERROR") as logs:
            with self.no_more_sockets():
                self.tell(WindowsChanged({1: ("/1",), 2: ("/2",)}))
                wait_for(lambda: self.editor.told)
        (sentence,) = self.editor.told
        for part in (
            "no server could be started",
            "open files",
            "Gemini Companion: Restart Companion",
        ):
            self.assertIn(part, sentence)
        self.assertIn("Traceback", logs.output[0])
        self.assertEqual(client.call("ping")["result"], {})
        first, second = self.statuses()
        self.assertNotIn("none", first.text())
        self.assertIn("Server: none", second.text())

    def test_of_a_window_that_closes_while_its_server_fails_nothing_is_told(self) -> None:
        async def fail(workspace: Workspace, pid: int) -> None:
            await workspace.server._closed.wait()
            raise OSError("no more")

        self.background.start()
        with mock.patch.object(Workspace, "run", fail):
            self.tell(WindowsChanged({1: ("/1",)}))
            with self.assertLogs(log.logger, "ERROR") as logs:
                self.tell(WindowsChanged({}))
                wait_for(lambda: logs.output)
        self.statuses()
        self.assertEqual(self.editor.told, [])

    @unittest.skipIf(sys.platform == "win32", "Windows has no such limit")
    def test_a_window_without_a_server_is_tried_again_when_windows_are_next_told(self) -> None:
        self.background.start()
        with self.assertLogs(log.logger, "ERROR"), self.no_more_sockets():
            self.tell(WindowsChanged({1: ("/1",)}))
            wait_for(lambda: self.editor.told)
        self.assertEqual(self.editor.withdrawn, [])
        self.set_windows(1)
        self.assertEqual(self.client(1).call("ping")["result"], {})
        # That it has no server is not true any more.
        self.assertEqual(self.editor.withdrawn, ["server 1"])


class TheWatch(WindowsTestCase):
    """What happens without a word to the companion."""

    def setUp(self) -> None:
        super().setUp()
        patched(self, mock.patch(WINDOWS + ".TICK", 0.02))

    def test_a_discovery_file_that_somebody_swept_away_comes_back(self) -> None:
        self.background.start()
        self.set_windows(1)
        shutil.rmtree(self.folder)
        wait_for(lambda: self.workspaces() == ["/1"])

    def test_after_the_computer_slept_every_stream_says_something_at_once(self) -> None:
        self.background.start()
        self.set_windows(1)
        hours = itertools.count(0, 3600)
        with mock.patch(WINDOWS + ".time.time", lambda: next(hours)):
            with self.client(1).stream() as stream:
                stream.next()
                self.assertIn("keep-alive", stream.comment())


class ADiskThatRefuses(unittest.TestCase):
    def test_the_user_is_told_once_that_nothing_outlives_a_restart(self) -> None:
        temp = temp_folder(self)
        editor = FakeEditor()
        obstacle = os.path.join(temp, "obstacle")
        open(obstacle, "w").close()
        path = os.path.join(obstacle, "GeminiCompanion", "state.json")

        async def run() -> None:
            windows = Windows(editor, PID, lambda environments: None, path)
            running = asyncio.ensure_future(windows.run(lambda: windows.set_windows({1: ("/1",)})))
            await until(lambda: editor.told)
            windows.set_windows({1: ("/2",)})
            windows._note_change()
            saving = windows.saving
            await until(lambda: not saving._timer and saving._writing and saving._writing.done())
            windows.stop()
            await running

        with mock.patch("GeminiCompanion.companion.ide.saving.SAVE_DELAY", 0.01):
            asyncio.run(asyncio.wait_for(run(), PATIENCE))
        self.assertEqual(len(editor.told), 1)
        self.assertIn("could not be saved", editor.told[0])

    def test_what_it_refused_is_saved_once_it_takes_something_again(self) -> None:
        temp = temp_folder(self)
        editor = FakeEditor()
        obstacle = os.path.join(temp, "obstacle")
        open(obstacle, "w").close()
        path = os.path.join(obstacle, "state.json")

        async def run() -> None:
            windows = Windows(editor, PID, lambda environments: None, path)
            running = asyncio.ensure_future(windows.run(lambda: windows.set_windows({1: ("/1",)})))
            await until(lambda: editor.told)
            os.remove(obstacle)
            # Nothing changes meanwhile that would be saved for its own sake.
            await until(lambda: os.path.exists(path))
            windows.stop()
            await running

        with mock.patch("GeminiCompanion.companion.ide.saving.SAVE_DELAY", 0.01):
            with mock.patch(WINDOWS + ".TICK", 0.01):
                asyncio.run(run())
        self.assertEqual(len(editor.told), 1)
