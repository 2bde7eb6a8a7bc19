"""Claude Code's way to the editor: who may connect, what it may ask, what becomes of its diffs."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import stat
import sys
import threading
import unittest
import zlib
from typing import Any, AsyncIterator, Iterator
from unittest import mock

from GeminiCompanion.companion.base.path_maps import PathMap, PathMaps
from GeminiCompanion.companion.ide import state_file
from GeminiCompanion.companion.ide.claude import (
    claude_endpoint,
    claude_server,
    lock_file,
    saved_address,
    waiting_diffs,
)
from GeminiCompanion.companion.ide.claude.waiting_diffs import DiffCall, WaitingDiffs
from GeminiCompanion.companion.ide.claude.window_seats import WindowSeats
from GeminiCompanion.companion.ide.clis import GEMINI_CLI
from GeminiCompanion.companion.ide.code_queries import Findings, FoundCode, Query
from GeminiCompanion.companion.ide.context import Cursor, OpenFile
from GeminiCompanion.companion.ide.decisions import TOLD
from GeminiCompanion.companion.ide.doctor import gathering
from GeminiCompanion.companion.ide.doctor.claude_facts import ClaudeServing
from GeminiCompanion.companion.ide.editor import CodeKnowledge
from GeminiCompanion.companion.ide.events import (
    DiffAccepted,
    DiffEdited,
    DiffRejected,
    DiffsRestored,
    FileFocused,
    SelectionChanged,
    WindowsChanged,
    WindowSettingsChanged,
)
from GeminiCompanion.companion.ide.questions import Examinations, MentionInClaude, WindowStatuses
from GeminiCompanion.companion.ide.sharing import Sharing
from GeminiCompanion.companion.ide.window_settings import WindowSettings
from GeminiCompanion.companion.ide.window_trees import TreeFolders
from GeminiCompanion.companion.ide.windows import Windows

from ..support import PATIENCE, patched, wait_for
from .claude_client import PING, PONG, TEXT, ClaudeClient, texts
from .test_windows import PID, WindowsTestCase


class Knowledge(CodeKnowledge):
    """Finds the same in every file that is asked about."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, tuple[str, ...]]] = []

    async def look_up(self, window_id: int, query: Query) -> Findings:
        paths: tuple[str, ...] = getattr(query, "paths", ())
        self.asked.append((window_id, paths))
        return Findings(tuple(FoundCode(path, 2, 3, "odd", "warning") for path in paths), "us")


class ClaudeCase(WindowsTestCase):
    """Windows of an editor; `project` is the folder of window 1, `other` that of window 2."""

    def setUp(self) -> None:
        super().setUp()
        self.locks = os.path.join(self.temp, ".claude", "ide")
        os.mkdir(os.path.dirname(self.locks))
        self.state = os.path.join(self.temp, "state", "state.json")
        self.editor.code = self.code = Knowledge()
        for name in ("project", "other"):
            os.mkdir(os.path.join(self.temp, name))
        self.background.start()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        self.windows = Windows(self.editor, PID, self.told.append, self.state)
        ready = asyncio.Event()
        running = asyncio.ensure_future(self.windows.run(ready.set))
        await asyncio.wait_for(ready.wait(), PATIENCE)
        try:
            yield
        finally:
            self.windows.stop()
            await running

    def restart(self) -> None:
        self.background.stop()
        self.background = type(self.background)(self.running)
        self.addCleanup(self.background.stop)
        self.background.start()

    def path(self, name: str, folder: str = "project") -> str:
        return os.path.join(self.temp, folder, name)

    def open_windows(self, **folders: str) -> None:
        """Windows by `w1`, `w2`, each with its folder."""
        found = {
            int(name[1:]): (os.path.join(self.temp, folder),) for name, folder in folders.items()
        }
        self.tell(WindowsChanged(found))
        wait_for(lambda: len(self.lock().get("workspaceFolders", ())) == len(set(folders.values())))

    def lock_names(self) -> list[str]:
        return sorted(name for name in os.listdir(self.locks) if name.endswith(".lock"))

    def lock(self) -> dict[str, Any]:
        """What the lock file says, with the port in its name; empty if there is none."""
        names = os.listdir(self.locks) if os.path.isdir(self.locks) else []
        for name in names:
            if name.endswith(".lock"):
                with contextlib.suppress(FileNotFoundError):
                    with open(os.path.join(self.locks, name), encoding="utf-8") as file:
                        return {**json.load(file), "port": int(name[: -len(".lock")])}
        return {}

    def connect(self, folder: str = "project", **headers: str | None) -> ClaudeClient:
        lock = self.lock()
        client = ClaudeClient(lock["port"], lock["authToken"], **headers)
        self.addCleanup(client.close)
        if client.status == 101:
            client.initialize(os.path.join(self.temp, folder))
        return client

    def shown(self) -> list[tuple[int, str, str]]:
        """Window, name and text of each diff."""
        return [
            (diff[0], os.path.basename(diff[2]), text) for diff, text in self.editor.diffs.items()
        ]

    def decide(self, name: str, text: str | None, window_id: int = 1) -> None:
        """The user decides on the one diff of that file in the window."""
        [(_, session, path)] = [
            diff for diff in self.editor.diffs if diff[0] == window_id and diff[2].endswith(name)
        ]
        del self.editor.diffs[window_id, session, path]
        event = (
            DiffRejected(window_id, session, path)
            if text is None
            else DiffAccepted(window_id, session, path, text, "")
        )
        self.tell(event)

    def accept_as_proposed(self) -> None:
        """The user accepts the one diff, of which the editor shows a part."""
        [(window_id, session, path)] = self.editor.diffs
        del self.editor.diffs[window_id, session, path]
        self.tell(DiffAccepted(window_id, session, path, "", "", is_as_proposed=True))

    def proposed(self, client: ClaudeClient, name: str, text: str = "new\n", tab: str = "") -> int:
        """The id of an openDiff that is shown."""
        count = len(self.editor.diffs)
        id = client.open_diff(self.path(name), text, tab or name)
        wait_for(lambda: len(self.editor.diffs) == count + 1)
        return id

    def unwritten(self) -> list[str]:
        found: list[str] = []
        self.background.call(
            lambda: found.extend(
                unwritten.text
                for each in self.windows
                for unwritten in each.accepted.unwritten_texts()
            )
        )
        return found

    def labels(self) -> list[str]:
        return [client.label for each in self.statuses() for client in each.clients]


class Access(ClaudeCase):
    def setUp(self) -> None:
        super().setUp()
        self.open_windows(w1="project")

    def test_only_who_has_the_token_and_is_no_page_gets_a_web_socket(self) -> None:
        port = self.lock()["port"]
        rows: tuple[tuple[int, dict[str, str | None]], ...] = (
            (401, {"X-Claude-Code-Ide-Authorization": "wrong"}),
            (401, {"X-Claude-Code-Ide-Authorization": None}),
            (401, {"X-Claude-Code-Ide-Authorization": "\xff"}),
            (403, {"Origin": "https://example.com"}),
            (403, {"Origin": f"http://127.0.0.1:{port}"}),
            (403, {"Host": "example.com"}),
            (404, {"Sec-WebSocket-Protocol": "chat"}),
            (404, {"Sec-WebSocket-Protocol": None}),
            (404, {"Upgrade": None}),
            (404, {"Sec-WebSocket-Key": "short"}),
            (404, {"Sec-WebSocket-Key": "\xff"}),
            (404, {"Upgrade": "\udcff"}),
            (101, {"Host": f"localhost:{port}"}),
        )
        for status, headers in rows:
            with self.subTest(headers):
                self.assertEqual(self.connect(**headers).status, status)

    def test_the_answer_chooses_the_protocol_and_no_compression(self) -> None:
        head = self.connect().head.lower()
        self.assertIn("sec-websocket-protocol: mcp", head)
        self.assertNotIn("deflate", head)

    def test_compressed_frames_end_the_connection_before_they_grow(self) -> None:
        client = self.connect()
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        bomb = packer.compress(b"x" * (1 << 20)) + packer.flush(zlib.Z_SYNC_FLUSH)
        client.send_frame(TEXT, bomb[:-4], 0x80 | 0x40)
        self.assertEqual(client.close_code(), 1002)

    def test_a_message_beyond_the_limit_ends_the_connection_and_others_live_on(self) -> None:
        patched(self, mock.patch.object(claude_endpoint, "MAX_MESSAGE", 1000))
        client, other = self.connect(), self.connect()
        client.send_frame(TEXT, b"x" * 600, 0)
        client.send_frame(0, b"x" * 600, 0x80)
        self.assertIn(client.close_code(), (0, 1009))
        self.assertEqual(texts(other.call("closeAllDiffTabs")), ["CLOSED_0_DIFF_TABS"])

    def test_what_is_no_json_ends_the_connection(self) -> None:
        client = self.connect()
        client.send_frame(TEXT, b"{")
        self.assertEqual(client.close_code(), 1007)

    def test_bad_messages_and_calls_are_answered_with_errors(self) -> None:
        client = self.connect()
        for name, arguments in (
            ("openDiff", {}),
            ("openDiff", {"new_file_path": 1, "new_file_contents": "", "tab_name": ""}),
            ("openDiff", {"new_file_path": "a.py", "new_file_contents": "", "tab_name": "t"}),
            ("close_tab", {"tab_name": 5}),
            ("getDiagnostics", {"uri": []}),
        ):
            with self.subTest(name):
                self.assertEqual(texts(client.call(name, **arguments)), ["error"])
        self.assertEqual(client.answer(client.begin_call("openFile"))["error"]["code"], -32602)
        self.assertEqual(client.answer(client.begin("nonsense"))["error"]["code"], -32601)
        client.send_frame(TEXT, b"[]")
        self.assertEqual(client.read()["error"]["code"], -32600)
        self.assertEqual(client.answer(client.begin("ping"))["result"], {})

    def test_a_ping_is_answered_and_ours_are_sent(self) -> None:
        patched(self, mock.patch.object(claude_endpoint, "PING", 0.01))
        client = self.connect()
        client.send_frame(PING, b"x")
        seen: set[int] = set()
        # Ours are many where what the client sends comes late.
        while not seen >= {PING, PONG}:
            kind, _data = client.read_frame()
            self.assertTrue(kind, "the connection has ended")
            seen.add(kind)

    def test_a_large_proposal_is_read_and_shown(self) -> None:
        client, text = self.connect(), "line of text\n" * 100_000
        self.proposed(client, "a.py", text)
        self.assertEqual(self.shown(), [(1, "a.py", text)])


class Lock(ClaudeCase):
    def test_one_file_has_the_folders_of_all_windows_and_follows_them(self) -> None:
        self.open_windows(w1="project")
        first = self.lock()
        self.assertEqual(first["workspaceFolders"], [self.path("")[:-1]])
        known = (first["transport"], first["ideName"], first["pid"])
        self.assertEqual(known, ("ws", "Sublime Text", PID))
        self.open_windows(w1="project", w2="other")
        self.assertEqual(len(self.lock_names()), 1)
        self.assertEqual(self.lock()["port"], first["port"])
        self.open_windows(w2="other")
        self.assertEqual(self.lock()["workspaceFolders"], [os.path.join(self.temp, "other")])

    def test_nobody_else_can_read_it_and_it_goes_with_the_companion(self) -> None:
        self.open_windows(w1="project")
        [name] = self.lock_names()
        if sys.platform != "win32":
            mode = stat.S_IMODE(os.stat(os.path.join(self.locks, name)).st_mode)
            self.assertEqual(mode, 0o600)
        self.background.stop()
        self.assertEqual(os.listdir(self.locks), [])

    def test_without_a_home_of_the_cli_there_is_no_server(self) -> None:
        os.rmdir(os.path.dirname(self.locks))
        self.tell(WindowsChanged({1: (self.path(""),)}))
        wait_for(lambda: self.told and 1 in self.told[-1])
        self.assertEqual(self.windows.claude.port, 0)
        self.assertFalse(os.path.exists(os.path.dirname(self.locks)))
        # Once the CLI has been there, it finds the editor.
        os.mkdir(os.path.dirname(self.locks))
        self.background.call(self.windows.claude.look_after)
        wait_for(lambda: self.lock().get("workspaceFolders") == [self.path("")])

    def test_port_and_token_last_over_a_restart_and_are_private(self) -> None:
        self.open_windows(w1="project")
        first = self.lock()
        self.restart()
        self.open_windows(w1="project")
        self.assertEqual(
            (self.lock()["port"], self.lock()["authToken"]), (first["port"], first["authToken"])
        )
        kept = os.path.join(os.path.dirname(self.state), saved_address.NAME)
        if sys.platform != "win32":
            self.assertEqual(stat.S_IMODE(os.stat(kept).st_mode), 0o600)

    def test_the_address_is_as_old_as_the_time_since_the_server_ran(self) -> None:
        self.open_windows(w1="project")
        kept = os.path.join(os.path.dirname(self.state), saved_address.NAME)
        os.utime(kept, (1, 1))
        with mock.patch.object(claude_server, "SAVE_AGAIN", -1):
            self.background.call(self.windows.claude.look_after)
        wait_for(lambda: os.stat(kept).st_mtime > 1)
        os.utime(kept, (1, 1))
        self.background.stop()
        self.assertGreater(os.stat(kept).st_mtime, 1)

    def test_bad_and_old_addresses_are_not_used_again(self) -> None:
        os.makedirs(os.path.dirname(self.state), exist_ok=True)
        kept = os.path.join(os.path.dirname(self.state), saved_address.NAME)
        good = json.dumps({"port": 5, "token": "t" * 30})
        for text in (
            "",
            "[]",
            "{",
            '{"port": 5}',
            good.replace("5", "70000"),
            good.replace("t", "é"),
        ):
            with self.subTest(text):
                with open(kept, "w", encoding="utf-8") as file:
                    file.write(text)
                self.assertIsNone(saved_address.load_address(self.state))
        with open(kept, "w", encoding="utf-8") as file:
            file.write(good)
        self.assertEqual(saved_address.load_address(self.state), saved_address.Address(5, "t" * 30))
        os.utime(kept, (1, 1))
        self.assertIsNone(saved_address.load_address(self.state))

    def test_a_port_that_somebody_else_has_voids_the_token(self) -> None:
        self.open_windows(w1="project")
        first = self.lock()
        self.background.stop()
        thief = self.taken(first["port"])
        self.background = type(self.background)(self.running)
        self.addCleanup(self.background.stop)
        with mock.patch(
            "GeminiCompanion.companion.base.socket_handover.take_socket", lambda _: None
        ):
            self.background.start()
            self.open_windows(w1="project")
        thief.close()
        self.assertNotEqual(self.lock()["port"], first["port"])
        self.assertNotEqual(self.lock()["authToken"], first["authToken"])

    def taken(self, port: int) -> Any:
        import socket

        for keeper in _keepers():
            for place in list(keeper.listeners):
                keeper.listeners.pop(place).close()
        thief = socket.create_server(("127.0.0.1", port))
        self.addCleanup(thief.close)
        return thief

    def test_stale_files_of_ours_are_removed_and_no_others(self) -> None:
        self.open_windows(w1="project")
        [name] = self.lock_names()
        with open(os.path.join(self.locks, name), encoding="utf-8") as file:
            ours = json.load(file)
        dead = {**ours[lock_file.OWNER], "pid": PID}
        others: dict[str, Any] = {
            "1.lock": {**ours, lock_file.OWNER: dead},
            "2.lock": {**ours, lock_file.OWNER: None},
            "3.lock": {"pid": PID, "transport": "ws"},
            "4.lock": [],
            "x.lock": {**ours, lock_file.OWNER: dead},
        }
        for other, value in others.items():
            with open(os.path.join(self.locks, other), "w", encoding="utf-8") as file:
                json.dump(value, file)
        gone = [os.path.basename(path) for path in lock_file.sweep_locks()]
        self.assertEqual(gone, ["1.lock"])
        lock_file.remove_locks()
        self.assertEqual(self.lock_names(), ["2.lock", "3.lock", "4.lock", "x.lock"])

    def test_a_file_that_was_removed_is_written_again(self) -> None:
        self.open_windows(w1="project")
        [name] = self.lock_names()
        os.unlink(os.path.join(self.locks, name))
        self.background.call(self.windows.claude.look_after)
        self.assertEqual(self.lock_names(), [name])

    def test_a_file_that_cannot_be_written_is_told_until_it_can(self) -> None:
        with mock.patch.object(lock_file.private_files, "write_file", _refuse):
            self.tell(WindowsChanged({1: (self.path(""),)}))
            wait_for(lambda: any("Claude Code" in sentence for sentence in self.editor.told))
        self.background.call(self.windows.claude.look_after)
        self.assertEqual(len(self.lock_names()), 1)
        self.assertIn("claude code", self.editor.withdrawn)

    def test_the_setting_ends_server_file_and_variables_and_brings_them_back(self) -> None:
        self.open_windows(w1="project")
        client = self.connect()
        port = str(self.lock()["port"])
        self.assertEqual(self.told[-1][1]["CLAUDE_CODE_SSE_PORT"], port)
        self.tell(WindowSettingsChanged(1, WindowSettings(claude_code=False)))
        self.assertEqual(client.close_code(), 1000)
        wait_for(lambda: not self.lock() and "CLAUDE_CODE_SSE_PORT" not in self.told[-1][1])
        self.tell(WindowSettingsChanged(1, WindowSettings()))
        wait_for(lambda: self.told[-1][1].get("CLAUDE_CODE_SSE_PORT") == port)

    def test_doctor_is_told_of_the_server_the_lock_the_setting_and_who_is_connected(self) -> None:
        self.open_windows(w1="project", w2="other")
        self.connect()
        self.tell(WindowSettingsChanged(2, WindowSettings(claude_code=False)))
        wait_for(lambda: self.connected_to(1))
        port = self.lock()["port"]
        paths = (os.path.join(self.locks, f"{port}.lock"),)
        for window_id, expected in (
            (1, ClaudeServing(True, port, paths, connected=1)),
            (2, ClaudeServing(False, port, paths)),
        ):
            question = Examinations(window_id, GEMINI_CLI, ("gemini",), {}, self.temp)
            with mock.patch.object(gathering, "examine_clis", lambda scope: scope):
                found = self.background.call(self.begin_answer, question)
                wait_for(found.done)
            self.assertEqual(found.result().window.claude, expected)

    def test_show_status_names_the_lock_where_the_cli_may_connect(self) -> None:
        self.open_windows(w1="project", w2="other")
        self.tell(WindowSettingsChanged(2, WindowSettings(claude_code=False)))
        wait_for(
            lambda: self.lock().get("workspaceFolders") == [os.path.join(self.temp, "project")]
        )
        found = self.background.call(WindowStatuses().find_answer, self.windows)
        path = os.path.join(self.locks, f"{self.lock()['port']}.lock")
        self.assertEqual({each.window_id: each.claude_locks for each in found}, {1: (path,), 2: ()})

    def begin_answer(self, question: Examinations) -> asyncio.Future[Any]:
        answer: Any = question.find_answer(self.windows)
        return asyncio.ensure_future(answer)

    def connected_to(self, window_id: int) -> bool:
        workspace = self.windows.workspaces[window_id]
        return bool(self.background.call(self.windows.claude.connections_in, workspace))

    def test_one_window_without_it_is_not_advertised(self) -> None:
        self.open_windows(w1="project", w2="other")
        self.tell(WindowSettingsChanged(1, WindowSettings(claude_code=False)))
        wait_for(lambda: self.lock()["workspaceFolders"] == [os.path.join(self.temp, "other")])

    def test_the_end_asks_the_cli_to_come_again(self) -> None:
        self.open_windows(w1="project")
        client = self.connect()
        self.background.stop()
        self.assertEqual(client.close_code(), 1001)


def _refuse(*args: object) -> None:
    raise OSError(28, "No space left on device")


def _keepers() -> list[Any]:
    from GeminiCompanion.companion.base import socket_handover

    return socket_handover._keeper_threads()


class Diffs(ClaudeCase):
    def setUp(self) -> None:
        super().setUp()
        self.open_windows(w1="project", w2="other")
        self.cli = self.connect()

    def test_what_the_user_decides_answers_the_call(self) -> None:
        for name, text, told in (
            ("a.py", "mine\n", ["FILE_SAVED", "mine\n"]),
            ("b.py", "", ["FILE_SAVED", ""]),
            ("c.py", None, ["DIFF_REJECTED"]),
        ):
            with self.subTest(name):
                id = self.proposed(self.cli, name)
                self.decide(name, text)
                self.assertEqual(texts(self.cli.answer(id)["result"]), told)
                # The CLI closes it nevertheless, twice.
                for _ in range(2):
                    self.assertEqual(
                        texts(self.cli.call("close_tab", tab_name=name)), ["TAB_CLOSED"]
                    )

    def test_a_large_proposal_that_is_accepted_as_it_is_comes_back_whole(self) -> None:
        # The second is small, but its file may be so large that the editor shows a part.
        for limit in (3, 1000):
            with self.subTest(limit):
                patched(self, mock.patch("GeminiCompanion.companion.ide.diffs.LARGE", limit))
                id = self.proposed(self.cli, "a.py", "large\n")
                self.accept_as_proposed()
                self.assertEqual(texts(self.cli.answer(id)["result"]), ["FILE_SAVED", "large\n"])

    def test_a_decision_in_the_terminal_closes_the_diff_and_what_was_typed_stays(self) -> None:
        id = self.proposed(self.cli, "a.py")
        [(_, session, path)] = self.editor.diffs
        self.editor.diffs[1, session, path] = "mine\n"
        self.editor.edited.add((1, path))
        self.tell(DiffEdited(1, session, path, "mine\n"))
        self.cli.call("close_tab", tab_name="a.py")
        # Never one that the CLI would take for a decision.
        self.assertEqual(texts(self.cli.answer(id)["result"]), ["error"])
        self.assertEqual((self.shown(), self.editor.left), ([], []))
        wait_for(lambda: self.editor.returned == [(1, path, "mine\n")])
        self.assertEqual(self.unwritten(), [])

    def test_a_prompt_leaves_diffs_that_still_wait(self) -> None:
        id = self.proposed(self.cli, "a.py")
        self.assertEqual(texts(self.cli.call("closeAllDiffTabs")), ["CLOSED_0_DIFF_TABS"])
        self.assertEqual(len(self.shown()), 1)
        self.decide("a.py", "new\n")
        self.assertEqual(texts(self.cli.answer(id)["result"]), ["FILE_SAVED", "new\n"])

    def test_a_cli_closes_no_diff_of_another(self) -> None:
        other = self.connect()
        self.proposed(self.cli, "a.py", tab="same")
        other.call("close_tab", tab_name="same")
        other.call("closeAllDiffTabs")
        self.assertEqual(len(self.shown()), 1)

    def test_a_second_diff_of_a_file_waits_for_the_first(self) -> None:
        first = self.proposed(self.cli, "a.py", "one\n", "t1")
        second = self.cli.open_diff(self.path("a.py"), "two\n", "t2")
        self.cli.call("closeAllDiffTabs")
        self.assertEqual(self.shown(), [(1, "a.py", "one\n")])
        self.decide("a.py", "one\n")
        self.assertEqual(texts(self.cli.answer(first)["result"]), ["FILE_SAVED", "one\n"])
        wait_for(lambda: self.shown() == [(1, "a.py", "two\n")])
        self.decide("a.py", None)
        self.assertEqual(texts(self.cli.answer(second)["result"]), ["DIFF_REJECTED"])

    def test_one_that_waits_for_its_turn_can_be_closed(self) -> None:
        first = self.proposed(self.cli, "a.py", "one\n", "t1")
        second = self.cli.open_diff(self.path("a.py"), "two\n", "t2")
        self.cli.call("close_tab", tab_name="t2")
        self.assertEqual(texts(self.cli.answer(second)["result"]), ["error"])
        self.decide("a.py", "one\n")
        self.assertEqual(texts(self.cli.answer(first)["result"]), ["FILE_SAVED", "one\n"])

    def test_a_cancelled_call_closes_its_diff(self) -> None:
        id = self.proposed(self.cli, "a.py")
        self.cli.send({"method": "notifications/cancelled", "params": {"requestId": id}})
        wait_for(lambda: self.shown() == [])
        self.assertEqual(self.editor.left, [self.path("a.py")])

    def test_a_file_is_shown_in_the_window_that_has_it(self) -> None:
        self.cli.open_diff(self.path("a.py", "other"), "new\n", "t")
        self.cli.open_diff(os.path.join(self.temp, "elsewhere.py"), "new\n", "u")
        shown = [(1, "elsewhere.py", "new\n"), (2, "a.py", "new\n")]
        wait_for(lambda: sorted(self.shown()) == shown)
        self.decide("a.py", "new\n", 2)

    def test_the_innermost_folder_counts_and_then_the_window_looked_at_last(self) -> None:
        inner = os.path.join("project", "inner")
        os.mkdir(os.path.join(self.temp, inner))
        self.open_windows(w1="project", w2=inner, w3="other")
        self.cli.open_diff(self.path("a.py", inner), "new\n", "t")
        wait_for(lambda: self.shown() == [(2, "a.py", "new\n")])
        self.tell(WindowsChanged({number: (self.path("", "project"),) for number in (1, 2, 3)}))
        self.tell(FileFocused(3, self.file(9, "x.py")))
        self.cli.open_diff(self.path("b.py"), "new\n", "u")
        wait_for(lambda: (3, "b.py", "new\n") in self.shown())

    def test_a_work_tree_belongs_to_the_window_of_its_project(self) -> None:
        tree = os.path.join("other", "trees", "one")
        os.makedirs(os.path.join(self.temp, tree))
        windows = {
            number: (self.path("", name),) for number, name in ((1, "project"), (2, "other"))
        }
        self.tell(
            WindowsChanged(windows, trees={1: (TreeFolders((os.path.join(self.temp, tree),)),)})
        )
        wait_for(lambda: os.path.join(self.temp, tree) in self.lock()["workspaceFolders"])
        self.cli.open_diff(self.path("a.py", tree), "new\n", "t")
        wait_for(lambda: self.shown() == [(1, "a.py", "new\n")])

    def test_what_is_not_shared_is_an_error_and_no_diff(self) -> None:
        rows = (
            (".env", WindowSettings()),
            ("a.py", WindowSettings(sharing=Sharing(paused=True))),
            ("a.py", WindowSettings(diffs=False)),
            ("a.py", WindowSettings(sharing=Sharing(exclude=("a.*",)))),
        )
        for name, settings in rows:
            with self.subTest(settings):
                self.tell(WindowSettingsChanged(1, settings))
                id = self.cli.open_diff(self.path(name), "new\n", name)
                self.assertEqual(texts(self.cli.answer(id)["result"]), ["error"])
                self.assertEqual(self.shown(), [])

    def test_what_the_user_changes_while_the_disk_is_asked_counts(self) -> None:
        in_thread = waiting_diffs.in_thread
        rows = (
            WindowSettings(diffs=False),
            WindowSettings(sharing=Sharing(paused=True)),
            WindowSettings(sharing=Sharing(exclude=("a.*",))),
        )
        for settings in rows:

            async def change(work: Any, settings: WindowSettings = settings) -> Any:
                found = await in_thread(work)
                WindowSettingsChanged(1, settings).apply(self.windows)
                return found

            with self.subTest(settings):
                self.tell(WindowSettingsChanged(1, WindowSettings()))
                with mock.patch.object(waiting_diffs, "in_thread", change):
                    id = self.cli.open_diff(self.path("a.py"), "new\n", "t")
                    self.assertEqual(texts(self.cli.answer(id)["result"]), ["error"])
                self.assertEqual(self.shown(), [])

    def test_more_than_a_number_that_wait_are_refused_until_one_is_decided(self) -> None:
        patched(self, mock.patch.object(waiting_diffs, "MAX_DIFFS", 2))
        self.assert_third_is_refused("Expected a decision on the 2 diffs that wait")

    def test_more_texts_than_fit_are_refused_until_one_is_decided(self) -> None:
        patched(self, mock.patch.object(waiting_diffs, "MAX_TEXTS", 10))
        self.assert_third_is_refused("Expected texts of at most 10 characters in all")

    def assert_third_is_refused(self, why: str) -> None:
        first = self.proposed(self.cli, "a.py", "one\n", "t1")
        second = self.cli.open_diff(self.path("a.py"), "two\n", "t2")
        refused = self.cli.open_diff(self.path("b.py", "other"), "three\n", "t3")
        result = self.cli.answer(refused)["result"]
        self.assertTrue(result["isError"])
        self.assertIn(why, result["content"][0]["text"])
        # Nothing of it is left.
        self.assertEqual(self.shown(), [(1, "a.py", "one\n")])
        self.assertEqual(self.labels(), ["Claude Code"])
        # One of the same name takes the place of the other.
        again = self.cli.open_diff(self.path("a.py"), "2\n", "t2")
        self.assertEqual(texts(self.cli.answer(second)["result"]), ["error"])
        self.decide("a.py", "one\n")
        self.assertEqual(texts(self.cli.answer(first)["result"]), ["FILE_SAVED", "one\n"])
        wait_for(lambda: self.shown() == [(1, "a.py", "2\n")])
        self.proposed(self.cli, "b.py", "three\n", "t3")
        self.decide("a.py", None)
        self.assertEqual(texts(self.cli.answer(again)["result"]), ["DIFF_REJECTED"])

    def test_an_editor_that_refuses_is_an_error(self) -> None:
        self.editor.refusal = "No."
        id = self.cli.open_diff(self.path("a.py"), "new\n", "t")
        self.assertEqual(texts(self.cli.answer(id)["result"]), ["error"])
        self.editor.refusal = ""
        self.proposed(self.cli, "a.py")

    def test_a_closed_window_rejects_and_the_cli_moves_to_another(self) -> None:
        id = self.proposed(self.cli, "a.py")
        self.open_windows(w2="other")
        self.assertEqual(texts(self.cli.answer(id)["result"]), ["DIFF_REJECTED"])
        wait_for(lambda: self.labels() == ["Claude Code"])

    def test_a_window_without_the_setting_leaves_the_question_in_the_terminal(self) -> None:
        id = self.proposed(self.cli, "a.py")
        self.tell(WindowSettingsChanged(1, WindowSettings(claude_code=False)))
        self.assertEqual(texts(self.cli.answer(id)["result"]), ["error"])
        self.assertEqual(len(self.shown()), 1)


class Homes(ClaudeCase):
    def setUp(self) -> None:
        super().setUp()
        self.open_windows(w1="project", w2="other")

    def look_at(self, name: str, folder: str, window_id: int) -> None:
        path = self.path(name, folder)
        with open(path, "w", encoding="utf-8"):
            pass
        place = Cursor(1, 1), Cursor(1, 2)
        self.tell(FileFocused(window_id, OpenFile(window_id, path, Cursor(1, 2), "x", place)))

    def places(self) -> list[int]:
        """The windows in which a CLI has a session."""
        return [each.window_id for each in self.statuses() for _ in each.clients]

    def test_a_window_that_keeps_it_out_gives_no_variables_and_no_other_takes_its_files(
        self,
    ) -> None:
        self.look_at("b.py", "other", 2)
        self.tell(WindowSettingsChanged(1, WindowSettings(claude_code=False)))
        wait_for(
            lambda: (
                [number for number in (1, 2) if "CLAUDE_CODE_SSE_PORT" in self.told[-1][number]]
                == [2]
            )
        )
        cli = self.connect()
        id = cli.open_diff(self.path("a.py"), "new\n", "t")
        self.assertEqual(texts(cli.answer(id)["result"]), ["error"])
        id = cli.open_diff(os.path.join(self.temp, "elsewhere.py"), "new\n", "t")
        self.assertEqual(texts(cli.answer(id)["result"]), ["error"])
        self.assertEqual(texts(cli.call("getDiagnostics")), ["[]"])
        self.assertEqual((self.shown(), self.places(), cli._waiting), ([], [], []))

    def test_a_window_that_keeps_it_out_later_takes_back_what_was_told(self) -> None:
        cli = self.connect()
        self.look_at("a.py", "project", 1)
        self.assertEqual(cli.notification("selection_changed")["text"], "x")
        self.tell(WindowSettingsChanged(1, WindowSettings(claude_code=False)))
        self.assertEqual(cli.notification("selection_changed")["text"], "")
        wait_for(lambda: self.places() == [])

    def test_a_cli_of_no_window_is_told_of_no_file(self) -> None:
        self.look_at("a.py", "project", 1)
        os.mkdir(os.path.join(self.temp, "nowhere"))
        cli = self.connect("nowhere")
        wait_for(lambda: len(self.places()) == 1)
        self.assertEqual(texts(cli.call("getDiagnostics")), ["[]"])
        self.proposed(cli, "a.py")
        self.assertEqual(cli._waiting, [])

    def test_a_cli_above_the_windows_is_told_of_one_of_them(self) -> None:
        self.look_at("a.py", "project", 1)
        cli = self.connect("")
        self.assertEqual(cli.notification("selection_changed")["text"], "x")

    def test_it_moves_to_a_window_in_which_it_has_shown_a_diff(self) -> None:
        cli = self.connect()
        id = cli.open_diff(self.path("b.py", "other"), "new\n", "t")
        wait_for(lambda: len(self.shown()) == 1)
        self.decide("b.py", "new\n", 2)
        cli.answer(id)
        self.open_windows(w2="other")
        cli.call("closeAllDiffTabs")
        self.assertEqual(self.places(), [2])

    def test_a_question_about_problems_brings_no_session_to_a_window(self) -> None:
        cli = self.connect()
        self.look_at("b.py", "other", 2)
        cli.call("getDiagnostics", uri=f"file://{self.path('b.py', 'other')}")
        self.assertEqual([window for window, _ in self.code.asked], [2])
        self.assertEqual(self.places(), [1])

    def test_a_call_that_is_read_after_the_end_brings_no_session(self) -> None:
        nothing: Any = mock.MagicMock()
        seats = WindowSeats(lambda: self.windows, str, nothing, nothing, nothing)
        seats.lose()
        self.background.call(lambda: seats.seat_for(self.path("a.py")))
        self.assertEqual(self.places(), [])

    def test_one_that_says_often_that_its_folder_changed_is_asked_once_at_a_time(self) -> None:
        cli = self.connect()

        def questions() -> list[Any]:
            cli.answer(cli.begin("ping"))
            asked = [
                request["id"] for request in cli._waiting if request.get("method") == "roots/list"
            ]
            cli._waiting.clear()
            return asked

        wait_for(lambda: self.places() == [1])
        for _ in range(20):
            cli.send({"method": "notifications/roots/list_changed"})
        [asked] = questions()
        root = {"uri": f"file://{os.path.join(self.temp, 'other')}"}
        for expected in (1, 0):
            cli.send({"id": asked, "result": {"roots": [root]}})
            self.assertEqual(len(questions()), expected)
        wait_for(lambda: self.places() == [2])


class Turns(unittest.IsolatedAsyncioTestCase):
    """The diffs of one file, with an editor that does all at once."""

    def setUp(self) -> None:
        self.answers: list[tuple[Any, list[str]]] = []
        self.begun: list[Any] = []
        self.diffs = WaitingDiffs(self.answer, self.begun.append)
        self.workspace: Any = mock.MagicMock()
        self.workspace.diffs.open_diff = mock.AsyncMock()
        self.workspace.diffs.close_diff = mock.AsyncMock(return_value=None)
        self.session: Any = mock.MagicMock(id="session")
        patched(self, mock.patch.object(waiting_diffs, "check_sharing", mock.AsyncMock()))

    async def answer(self, id: Any, result: bytes) -> None:
        self.answers.append((id, texts(json.loads(result))))

    async def open(self, id: int, tab: str, path: str = "a.py") -> None:
        call = DiffCall(id, tab, self.workspace, self.session, path, f"{id}\n", path)
        await self.diffs.open_diff(call)

    def shown(self) -> list[str]:
        return [call.args[2] for call in self.workspace.diffs.open_diff.call_args_list]

    async def begin_next(self) -> None:
        while self.begun:
            await self.begun.pop(0)()

    async def test_one_that_comes_while_the_next_is_about_to_be_shown_waits(self) -> None:
        await self.open(1, "t1")
        await self.open(2, "t2")
        await self.diffs.pass_decision("session", "a.py", "1\n")
        await self.open(3, "t3")
        await self.begin_next()
        self.assertEqual(self.shown(), ["1\n", "2\n"])
        await self.diffs.pass_decision("session", "a.py", "2\n")
        self.assertEqual(self.answers, [(1, ["FILE_SAVED", "1\n"]), (2, ["FILE_SAVED", "2\n"])])

    async def test_one_with_a_name_that_is_taken_waits_behind_those_of_its_file(self) -> None:
        await self.open(1, "t1")
        await self.open(2, "t2")
        await self.open(3, "t1")
        await self.begin_next()
        self.assertEqual((self.answers, self.shown()), ([(1, ["error"])], ["1\n", "2\n"]))
        self.workspace.diffs.close_diff.assert_awaited_once()

    async def test_a_close_while_all_are_given_up_costs_no_answer(self) -> None:
        async def answer(id: Any, result: bytes) -> None:
            self.answers.append((id, texts(json.loads(result))))
            await self.diffs.close_diff("t2")

        self.diffs = WaitingDiffs(answer, self.begun.append)
        await self.open(1, "t1")
        await self.open(2, "t2", "b.py")
        await self.diffs.give_up(self.session)
        self.assertEqual(self.answers, [(1, ["error"]), (2, ["error"])])

    async def test_one_that_is_cancelled_often_is_closed_once(self) -> None:
        await self.open(1, "t1")
        for _ in range(3):
            self.diffs.cancel_call(1)
        self.assertEqual(len(self.begun), 1)
        await self.begin_next()
        self.assertEqual(self.answers, [(1, ["error"])])

    async def test_a_bug_while_one_is_shown_costs_one_answer(self) -> None:
        await self.open(1, "t1")
        await self.open(2, "t2")
        self.workspace.diffs.open_diff.side_effect = RuntimeError
        await self.diffs.pass_decision("session", "a.py", None)
        with self.assertLogs("GeminiCompanion", "ERROR"):
            await self.begin_next()
        self.assertEqual(self.answers, [(1, ["DIFF_REJECTED"]), (2, ["error"])])

    async def test_a_name_for_another_file_closes_the_diff_and_shows_what_waited(self) -> None:
        await self.open(1, "t1")
        await self.open(2, "t2")
        await self.open(3, "t1", "b.py")
        await self.begin_next()
        self.assertEqual(self.answers, [(1, ["error"])])
        self.assertEqual(sorted(self.shown()), ["1\n", "2\n", "3\n"])
        self.workspace.diffs.close_diff.assert_awaited_once()


class Losses(ClaudeCase):
    def setUp(self) -> None:
        super().setUp()
        self.open_windows(w1="project")
        self.cli = self.connect()

    def lose(self) -> None:
        [(_, session, _)] = self.editor.diffs
        self.cli.close()
        wait_for(lambda: self.editor.orphaned.get((1, session)) is True)

    def test_a_lost_connection_leaves_the_diff_and_what_is_accepted_is_kept(self) -> None:
        self.proposed(self.cli, "a.py")
        self.lose()
        again = self.connect()
        again.call("closeAllDiffTabs")
        self.assertEqual(len(self.shown()), 1)
        with mock.patch("GeminiCompanion.companion.ide.accepted_texts.PATIENCE", -1):
            self.decide("a.py", "mine\n")
            wait_for(lambda: self.unwritten() == ["mine\n"])
        # The CLI that is here now waits for nothing, and is told nothing.
        self.assertEqual(again.answer(again.begin("ping"))["result"], {})
        self.assertEqual(again._waiting, [])

    def test_a_close_of_a_diff_that_is_not_shown_yet_leaves_the_one_that_was_lost(self) -> None:
        self.proposed(self.cli, "a.py")
        self.lose()
        again = self.connect()
        with self.slow_disk():
            id = again.open_diff(self.path("a.py"), "other\n", "t")
            again.call("close_tab", tab_name="t")
            self.assertEqual(texts(again.answer(id)["result"]), ["error"])
        self.assertEqual(self.shown(), [(1, "a.py", "new\n")])

    def test_a_decision_on_a_diff_of_an_unknown_cli_answers_no_call(self) -> None:
        wait_for(lambda: self.labels() == ["Claude Code"])
        with self.slow_disk():
            id = self.cli.open_diff(self.path("a.py"), "new\n", "t")
            self.cli.call("closeAllDiffTabs")
            # One from before a restart, of which nothing was saved.
            self.tell(DiffAccepted(1, "gone", self.path("a.py"), "other\n", ""))
        wait_for(lambda: self.shown() == [(1, "a.py", "new\n")])
        self.decide("a.py", None)
        self.assertEqual(texts(self.cli.answer(id)["result"]), ["DIFF_REJECTED"])

    @contextlib.contextmanager
    def slow_disk(self) -> Iterator[None]:
        """It says whether a file may be shown once the block has ended."""
        in_thread, is_over = waiting_diffs.in_thread, threading.Event()

        async def ask_disk(work: Any) -> Any:
            await in_thread(is_over.wait)
            return await in_thread(work)

        with mock.patch.object(waiting_diffs, "in_thread", ask_disk):
            try:
                yield
            finally:
                is_over.set()

    def test_a_large_proposal_that_is_accepted_after_a_loss_is_kept(self) -> None:
        patched(self, mock.patch("GeminiCompanion.companion.ide.diffs.LARGE", 3))
        self.proposed(self.cli, "a.py", "large\n")
        self.lose()
        with mock.patch("GeminiCompanion.companion.ide.accepted_texts.PATIENCE", -1):
            self.accept_as_proposed()
            wait_for(lambda: self.unwritten() == ["large\n"])

    def come_back(self, *shown: tuple[str, str]) -> None:
        """After a restart of the editor, which has these diffs still, as session and path, with
        parts of their texts."""
        none = mock.AsyncMock(return_value=None)
        patched(self, mock.patch.object(self.editor, "restore_text", none))
        self.restart()
        self.open_windows(w1="project")
        self.tell(DiffsRestored(1, shown))

    def test_a_large_proposal_outlives_the_editor_and_what_is_accepted_is_kept(self) -> None:
        patched(self, mock.patch("GeminiCompanion.companion.ide.diffs.LARGE", 3))
        patched(self, mock.patch.object(state_file, "MAX_PROPOSAL", 3))
        for name, is_lost in (("a.py", False), ("b.py", True)):
            with self.subTest(name):
                self.proposed(self.cli, name, "large\n")
                [key] = self.editor.diffs
                if is_lost:
                    self.editor.diffs.clear()
                self.come_back(*([] if is_lost else [key[1:]]))
                wait_for(lambda: self.editor.orphaned.get((1, key[1])) is True)  # noqa: B023
                self.assertEqual(self.editor.diffs, {key: "large\n"})
                with mock.patch("GeminiCompanion.companion.ide.accepted_texts.PATIENCE", -1):
                    self.accept_as_proposed()
                    wait_for(lambda: "large\n" in self.unwritten())
                self.cli = self.connect()

    def test_one_that_is_too_large_for_that_is_said_to_be_lost_here(self) -> None:
        patched(self, mock.patch.object(state_file, "MAX_GIVEN_BACK", 3))
        self.proposed(self.cli, "a.py", "large\n")
        [key] = self.editor.diffs
        self.come_back(key[1:])
        wait_for(lambda: self.editor.orphaned.get((1, key[1])) is True)
        self.accept_as_proposed()
        wait_for(lambda: any("accept it there" in told for told in self.editor.told))
        self.assertEqual(self.unwritten(), [])

    def test_a_rejection_after_a_loss_leaves_nothing(self) -> None:
        self.proposed(self.cli, "a.py")
        self.lose()
        self.decide("a.py", None)
        self.assertEqual(self.unwritten(), [])
        self.assertEqual([list(each.book) for each in self.windows], [[]])

    def test_a_text_that_is_on_disk_is_not_listed(self) -> None:
        self.proposed(self.cli, "a.py")
        self.lose()
        with open(self.path("a.py"), "w", encoding="utf-8") as file:
            file.write("mine\n")
        self.decide("a.py", "mine\n")
        wait_for(lambda: [list(each.book) for each in self.windows] == [[]])

    def test_a_restart_leaves_the_diff_without_its_cli(self) -> None:
        self.proposed(self.cli, "a.py")
        [(_, session, path)] = self.editor.diffs
        self.restart()
        self.open_windows(w1="project")
        self.tell(DiffsRestored(1, [(session, path)]))
        wait_for(lambda: self.editor.orphaned.get((1, session)) is True)
        self.decide("a.py", "mine\n")
        states = [entry.state for each in self.windows for _, entry in each.book]
        self.assertEqual(states, [TOLD])

    def test_the_status_names_those_that_are_connected(self) -> None:
        wait_for(lambda: self.labels() == ["Claude Code"])
        other = self.connect()
        wait_for(lambda: self.labels() == ["Claude Code 1", "Claude Code 2"])
        other.close()
        wait_for(lambda: self.labels() == ["Claude Code"])
        self.assertEqual([each.away for each in self.statuses()], [()])


class Telling(ClaudeCase):
    def setUp(self) -> None:
        super().setUp()
        self.open_windows(w1="project", w2="other")
        self.cli = self.connect()
        wait_for(lambda: self.labels() == ["Claude Code"])

    def look_at(self, name: str, text: str = "", window_id: int = 1) -> OpenFile:
        path = self.path(name)
        with open(path, "w", encoding="utf-8"):
            pass
        place = (Cursor(2, 1), Cursor(3, 4))
        file = OpenFile(5, path, Cursor(3, 4), text, place)
        self.tell(FileFocused(window_id, file))
        return file

    def heard(self) -> dict[str, Any]:
        return self.cli.notification("selection_changed")

    def test_selections_have_lines_from_0(self) -> None:
        self.look_at("a b.py", "two\nthr")
        place = {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 3}}
        path = self.path("a b.py")
        told = {"text": "two\nthr", "filePath": path, "fileUrl": f"file://{path}"}
        self.assertEqual(
            self.heard(),
            {**told, "fileUrl": told["fileUrl"].replace(" ", "%20"), "selection": place},
        )

    def test_one_that_works_in_a_work_tree_is_told_of_its_own_file(self) -> None:
        tree = self.path("", "tree")
        os.mkdir(tree)
        with open(self.path("a.py", "tree"), "w", encoding="utf-8"):
            pass
        trees = TreeFolders((tree,), PathMaps((PathMap(self.path(""), tree),)))
        self.tell(WindowsChanged({1: (self.path(""),)}, trees={1: (trees,)}))
        self.look_at("a.py", "word")
        self.assertEqual(self.heard()["filePath"], self.path("a.py"))
        other = self.connect("tree")
        heard = other.notification("selection_changed")
        self.assertEqual((heard["filePath"], heard["text"]), (self.path("a.py", "tree"), "word"))
        # It goes to another folder.
        other.send({"method": "notifications/roots/list_changed"})
        asked = other._take(lambda message: message.get("method") == "roots/list")
        roots = [{"uri": f"file://{self.path('')}"}]
        other.send({"id": asked["id"], "result": {"roots": roots}})
        heard = other.notification("selection_changed")
        self.assertEqual(heard["filePath"], self.path("a.py"))

    def test_a_file_that_may_not_be_told_takes_back_what_was(self) -> None:
        self.look_at("a.py", "secret")
        self.assertEqual(self.heard()["text"], "secret")
        self.look_at(".env", "password")
        self.assertEqual((self.heard().get("filePath"), self.cli._waiting), (None, []))

    def test_steps_of_the_caret_are_told_once(self) -> None:
        file = self.look_at("a.py")
        self.heard()
        for line in range(4, 9):
            self.tell(SelectionChanged(1, OpenFile(5, file.path, Cursor(line, 1))))
        self.tell(SelectionChanged(1, OpenFile(5, file.path, Cursor(9, 1), "now")))
        self.assertEqual(self.heard()["text"], "now")

    def test_references_are_typed_where_they_attach_something(self) -> None:
        def mention(window_id: int, path: str, *rows: tuple[int, int]) -> bool:
            question = MentionInClaude(window_id, path, rows)
            return self.background.call(question.find_answer, self.windows)

        path = self.path("a.py")
        self.assertTrue(mention(1, path, (1, 2), (4, 4)))
        heard = [self.cli.notification("at_mentioned") for _ in range(2)]
        self.assertEqual(
            heard,
            [
                {"filePath": path, "lineStart": 1, "lineEnd": 2},
                {"filePath": path, "lineStart": 4, "lineEnd": 4},
            ],
        )
        self.assertTrue(mention(1, path))
        self.assertEqual(self.cli.notification("at_mentioned"), {"filePath": path})
        self.assertFalse(mention(1, self.path("a b.py")))
        self.assertFalse(mention(2, path))

    def test_another_window_tells_nothing(self) -> None:
        self.look_at("b.py", "of two", 2)
        self.look_at("a.py", "of one", 1)
        self.assertEqual(self.heard()["text"], "of one")

    def test_problems_are_told_of_files_that_are_shared(self) -> None:
        self.look_at("a.py")
        place = {"line": 1, "character": 2}
        problem = {
            "message": "odd",
            "severity": "Warning",
            "range": {"start": place, "end": place},
        }
        path = self.path("a.py")
        expected = [{"uri": f"file://{path}", "diagnostics": [problem]}]
        for arguments in ({"uri": f"file://{path}"}, {}):
            [found] = texts(self.cli.call("getDiagnostics", **arguments))
            self.assertEqual(json.loads(found), expected)
        hidden = self.path(".env")
        with open(hidden, "w", encoding="utf-8"):
            pass
        self.assertEqual(texts(self.cli.call("getDiagnostics", uri=f"file://{hidden}")), ["[]"])
        self.tell(WindowSettingsChanged(1, WindowSettings(sharing=Sharing(paused=True))))
        self.assertEqual(texts(self.cli.call("getDiagnostics", uri=f"file://{path}")), ["[]"])

    def test_problems_have_the_address_by_which_the_cli_knows_the_file(self) -> None:
        self.look_at("a b%20#é.py")
        uri = f"file://{self.path('a b%20#é.py')}"
        for arguments in ({"uri": uri}, {}):
            [found] = texts(self.cli.call("getDiagnostics", **arguments))
            self.assertEqual([problem["uri"] for problem in json.loads(found)], [uri])

    def test_a_bad_folder_does_not_end_the_connection(self) -> None:
        self.cli.send({"id": "roots", "result": {"roots": [{"uri": "file://["}]}})
        self.assertEqual(self.cli.answer(self.cli.begin("ping"))["result"], {})

    def test_an_editor_that_takes_too_long_reports_no_problem(self) -> None:
        self.look_at("a.py")
        patched(self, mock.patch.object(Knowledge, "look_up", _never))
        self.assertEqual(texts(self.cli.call("getDiagnostics")), ["[]"])


async def _never(*args: object) -> Findings:
    await asyncio.sleep(PATIENCE)
    return Findings()
