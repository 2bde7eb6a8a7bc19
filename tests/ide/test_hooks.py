from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
import unittest
from functools import partial
from typing import Any, Callable
from unittest import mock

from GeminiCompanion.companion.base import private_files, windows_processes
from GeminiCompanion.companion.base.background import in_thread
from GeminiCompanion.companion.base.path_maps import PathMap, PathMaps
from GeminiCompanion.companion.base.windows_processes import TcpConnection
from GeminiCompanion.companion.ide import hook_events, live_words, system_processes
from GeminiCompanion.companion.ide.clis import GEMINI_CLI, IBM_BOB, QWEN_CODE, Cli
from GeminiCompanion.companion.ide.extension_forms import ToolKind
from GeminiCompanion.companion.ide.hook_events import BadHook
from GeminiCompanion.companion.ide.hooks import hook_desk
from GeminiCompanion.companion.ide.hooks.hook_answers import MAX_CONTEXT, HookAnswer, hook_output
from GeminiCompanion.companion.ide.hooks.hook_desk import SILENT, HookDesk, NotConnected
from GeminiCompanion.companion.ide.live_clis import MAX_CLIS, Activity, LiveClis
from GeminiCompanion.companion.ide.session import ABSENT
from GeminiCompanion.companion.ide.sessions import Sessions
from GeminiCompanion.companion.ide.window_settings import WindowSettings
from GeminiCompanion.companion.ide.workspace import Workspace

from ..support import PATIENCE, Clock, FakeEditor, InLoop

IDLE, WORKING, ASKS, DONE = Activity.IDLE, Activity.WORKING, Activity.ASKS, Activity.DONE
EDIT = {"type": "edit", "filePath": "/w/a.py"}
COMMAND = {"type": "exec", "command": "npm test"}


def body(event: str, session: str = "s", pid: int = 7, **more: Any) -> dict[str, Any]:
    told = {"hook_event_name": event, "session_id": session, "cwd": "/w", **more}
    return {"pid": pid, "version": "1.0", "input": told}


def asked(details: dict[str, str], session: str = "s") -> dict[str, Any]:
    return body("Notification", session, notification_type="ToolPermission", details=details)


def context(name: str) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": "Mind the tests."}}


class Events(unittest.TestCase):
    def test_what_is_no_event_is_refused_with_what_was_expected(self) -> None:
        rows: tuple[tuple[Any, str], ...] = (
            (None, '"input" to be an object'),
            ({"input": {}}, '"pid" to be a number'),
            ({"input": {}, "pid": True}, '"pid" to be a number'),
            ({"input": {}, "pid": 7}, '"hook_event_name" to be a string'),
            ({"input": {"hook_event_name": "SessionStart"}, "pid": 7}, '"session_id" to be'),
        )
        for value, words in rows:
            with self.subTest(value), self.assertRaisesRegex(BadHook, words):
                hook_events.read_hook(GEMINI_CLI, value)
        with self.assertRaisesRegex(BadHook, "IBM Bob has none"):
            hook_events.read_hook(IBM_BOB, body("SessionStart"))

    def test_events_of_no_interest_are_left_alone(self) -> None:
        for value in (body("PreCompress"), body("Notification", notification_type="idle_prompt")):
            self.assertIsNone(hook_events.read_hook(GEMINI_CLI, value))


class Answers(unittest.TestCase):
    def test_a_cli_is_answered_what_it_takes_at_the_event_and_no_more(self) -> None:
        both = HookAnswer(True, "Look at it.", "Mind the tests.")
        ask = {"decision": "ask", "systemMessage": "Look at it."}
        rows: tuple[tuple[Cli, str, Any], ...] = (
            (GEMINI_CLI, "BeforeTool", ask),
            (GEMINI_CLI, "AfterTool", context("AfterTool")),
            (GEMINI_CLI, "BeforeAgent", context("BeforeAgent")),
            (GEMINI_CLI, "AfterAgent", {}),
            (GEMINI_CLI, "SessionStart", {}),
            (QWEN_CODE, "PreToolUse", {}),
            (QWEN_CODE, "PostToolUse", context("PostToolUse")),
        )
        for cli, name, expected in rows:
            event = hook_events.read_hook(cli, body(name))
            with self.subTest(f"{cli.name}, {name}"):
                self.assertEqual(event and hook_output(event, both), expected)
                self.assertEqual(event and hook_output(event, HookAnswer()), {})

    def test_two_answers_make_one(self) -> None:
        found = HookAnswer(context="one").with_more(HookAnswer(True, "Look.", "two"))
        self.assertEqual(found, HookAnswer(True, "Look.", "one\n\ntwo"))

    def test_what_does_not_fit_is_not_told_in_part_and_counts_as_not_told(self) -> None:
        settled: list[tuple[str, bool]] = []

        def answer(text: str) -> HookAnswer:
            return HookAnswer(
                context=text, settle=(lambda is_settled: settled.append((text[0], is_settled)),)
            )

        long = "b" * (MAX_CONTEXT - 10)
        whole = answer("a much longer text").with_more(answer(long)).with_more(answer("c"))
        self.assertEqual(whole.context, "a much longer text\n\nc")
        for settle in whole.settle:
            settle(True)
        self.assertEqual(settled, [("a", True), ("b", False), ("c", True)])
        # What nobody waits for is cut with a mark.
        self.assertIn(
            "bbb", answer("a much longer text").with_more(HookAnswer(context=long)).context
        )


class Desk(InLoop):
    """`settled` says of each answer whether it went out."""

    def setUp(self) -> None:
        self.settled: list[bool] = []
        self.desk = HookDesk(Sessions(mock.Mock()), mock.Mock())
        self.desk.listeners.append(self)

    async def answer_hook(self, event: Any, session: Any) -> HookAnswer:
        return HookAnswer(context="Mind the tests.", settle=(self.settled.append,))

    async def test_an_answer_counts_as_given_where_somebody_waits_for_it(self) -> None:
        for is_there in (True, False):
            told = body("BeforeAgent", prompt="x")
            found = await self.desk.answer_hook(GEMINI_CLI, told, partial(bool, is_there))
            self.assertEqual(found, context("BeforeAgent"))
        self.assertEqual(self.settled, [True, False])

    async def test_a_cli_that_is_killed_right_after_its_first_hook_is_forgotten(self) -> None:
        process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        try:
            await self.desk.answer_hook(GEMINI_CLI, body("BeforeAgent", pid=process.pid))
            await self.desk.forget_ended()
            self.assertEqual(len(self.desk.live.all()), 1)
        finally:
            process.communicate()
        await self.desk.forget_ended()
        self.assertEqual(self.desk.live.all(), ())

    async def test_a_session_that_another_process_goes_on_with_has_not_ended(self) -> None:
        running = {7, 8}

        async def in_thread_slowly(work: Callable[[], Any]) -> Any:
            found = work()
            await self.desk.answer_hook(GEMINI_CLI, body("BeforeAgent", pid=8))
            return found

        with mock.patch.object(private_files, "is_running", running.__contains__):
            for session in ("s", "s2"):
                await self.desk.answer_hook(GEMINI_CLI, body("BeforeAgent", session))
            running.remove(7)
            with mock.patch.object(hook_desk, "in_thread", in_thread_slowly):
                ended = await self.desk.forget_ended()
        self.assertEqual([session.cli_session_id for session in ended], ["s2"])
        self.assertEqual(
            [(session.cli_session_id, session.pid) for session in self.desk.live.all()], [("s", 8)]
        )

    async def test_the_last_hook_of_a_cli_that_is_forgotten_does_not_bring_it_back(self) -> None:
        process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        try:
            await self.desk.answer_hook(GEMINI_CLI, body("BeforeAgent", pid=process.pid))
        finally:
            process.communicate()
        await self.desk.forget_ended()
        await self.desk.answer_hook(GEMINI_CLI, body("BeforeAgent", pid=process.pid))
        await self.desk.forget_ended()
        self.assertEqual(self.desk.live.all(), ())

    async def test_what_the_system_said_before_a_cli_connected_is_not_kept(self) -> None:
        sessions: Any = [mock.Mock(cli=GEMINI_CLI, id="other", ordinal=1)]
        sessions[0].stream.peer = 1
        self.desk._sessions = sessions
        connected: dict[int, frozenset[int]] = {}
        asked: list[int] = []
        began, goes_on = threading.Event(), threading.Event()

        def ports_to(pid: int, port: int) -> frozenset[int]:
            found = connected.get(pid, frozenset())
            asked.append(pid)
            if len(asked) == 1:
                began.set()
                goes_on.wait(PATIENCE)
            return found

        with mock.patch.object(system_processes, "ports_to", ports_to):
            first = asyncio.ensure_future(self.desk.answer_hook(GEMINI_CLI, body("SessionStart")))
            await in_thread(began.wait)
            its = mock.Mock(cli=GEMINI_CLI, id="its", ordinal=2)
            its.stream.peer = 2
            sessions.append(its)
            connected[7] = frozenset({2})
            await self.desk.answer_hook(GEMINI_CLI, body("BeforeAgent", "s2", pid=8))
            goes_on.set()
            await first
            await self.desk.answer_hook(GEMINI_CLI, body("BeforeAgent", prompt="x"))
        found = {session.cli_session_id: session.mcp_session for session in self.desk.live.all()}
        self.assertEqual(found, {"s": "its", "s2": ""})

    async def test_a_hook_for_the_window_of_its_cli_changes_nothing_in_another(self) -> None:
        await self.desk.answer_hook(GEMINI_CLI, body("SessionStart"))
        known, self.settled = self.desk.live.all(), []
        told = {**body("BeforeAgent", prompt="x"), "only_connected": True}
        with self.assertRaises(NotConnected):
            await self.desk.answer_hook(GEMINI_CLI, told)
        self.assertEqual((self.desk.live.all(), self.settled), (known, []))
        # No window had it: then it is heard here after all, and stays.
        await self.desk.answer_hook(GEMINI_CLI, body("BeforeAgent", prompt="x"))
        await self.desk.forget_ended()
        self.assertEqual([session.activity for session in self.desk.live.all()], [WORKING])

    async def test_a_cli_whose_hooks_another_window_gets_is_forgotten(self) -> None:
        await self.desk.answer_hook(GEMINI_CLI, body("BeforeAgent", prompt="x"))
        with self.assertRaises(NotConnected):
            await self.desk.answer_hook(GEMINI_CLI, {**body("AfterAgent"), "only_connected": True})
        await self.desk.forget_ended()
        self.assertEqual(self.desk.live.all(), ())

    async def test_on_windows_the_cli_is_the_process_above_the_shell_of_its_hook(self) -> None:
        self.desk._sessions = Sessions(*[mock.Mock()] * 4)
        its = self.desk._sessions.open_session("2025-06-18")
        its.attach_stream(None).peer = 50_000
        self.desk._port = lambda: 40_000
        # By the process of a hook's shell, that of its CLI; each shell ends with its hook.
        parents = {21: os.getpid(), 22: os.getpid(), 23: 0}
        rows = [TcpConnection(50_000, 40_000, os.getpid()), TcpConnection(50_001, 40_000, 9)]
        with mock.patch.object(sys, "platform", "win32"), mock.patch.object(
            system_processes.os.path, "isdir", lambda path: False
        ), mock.patch.multiple(
            windows_processes, parent_of=parents.__getitem__, tcp_connections=lambda: rows
        ), mock.patch.object(private_files, "is_running", {os.getpid()}.__contains__):
            for shell, session in ((21, "s"), (22, "s"), (23, "unknown")):
                await self.desk.answer_hook(
                    GEMINI_CLI, body("BeforeAgent", session, shell, prompt="x")
                )
                await self.desk.forget_ended()
        found = {
            session.cli_session_id: (session.pid, session.mcp_session)
            for session in self.desk.live.all()
        }
        self.assertEqual(found, {"s": (os.getpid(), its.id), "unknown": (0, "")})

    async def test_a_process_of_another_system_is_none_of_ours(self) -> None:
        ours = system_processes.process_namespace()
        for number, (namespace, pid) in enumerate((("", 7), (ours, 7), ("pid:[1]", 0))):
            told = {**body("SessionStart", str(number)), "pid_namespace": namespace}
            await self.desk.answer_hook(GEMINI_CLI, told)
            self.assertEqual(self.desk.live.all()[-1].pid, pid)

    async def test_a_cli_in_a_container_is_known_by_the_edit_about_which_it_asks(self) -> None:
        its = mock.Mock(cli=GEMINI_CLI, id="its", ordinal=1)
        self.desk._sessions = [its]  # type: ignore[assignment]
        self.desk._proposing = {"/w/a.py": {"its"}, "/w/both.py": {"its", "other"}}.__getitem__
        rows = (
            (body("BeforeAgent", prompt="x"), ""),
            (asked({**EDIT, "filePath": "/w/both.py"}), ""),
            (asked(COMMAND), ""),
            (asked(EDIT), "its"),
            (body("AfterAgent"), "its"),
        )
        for told, expected in rows:
            await self.desk.answer_hook(GEMINI_CLI, {**told, "pid_namespace": "pid:[1]"})
            self.assertEqual(self.desk.live.all()[0].mcp_session, expected)
        its.stream = None
        event = hook_events.read_hook(GEMINI_CLI, {**body("AfterAgent"), "pid": 0})
        self.assertIsNone(event and await self.desk.mcp_session_of(event))
        self.desk.stop()

    async def test_a_proposal_is_found_by_the_path_that_its_cli_knows(self) -> None:
        maps = PathMaps((PathMap(os.path.abspath("/project"), "/w"),))
        settings = WindowSettings(path_maps=maps)
        workspace = Workspace(1, (), FakeEditor(), settings)
        workspace.book.open("its", maps.to_local("/w/a.py"), "new")
        found = [set(workspace.hooks._proposing(path)) for path in ("/w/a.py", "/w/b.py")]
        self.assertEqual(found, [{"its"}, set()])

    async def test_a_killed_cli_in_a_container_ends_with_its_connection(self) -> None:
        self.desk._sessions = sessions = Sessions(*[mock.Mock()] * 4)
        clock = Clock()
        sessions.open_session("2025-06-18").note_activity()
        for name in ("connected", "not connected"):
            told = {**body("BeforeAgent", name, prompt="x"), "pid_namespace": "pid:[1]"}
            await self.desk.answer_hook(GEMINI_CLI, told)
            await self.desk.forget_ended()
            self.assertEqual([session.cli_session_id for session in self.desk.live.all()], [name])
            await clock.advance(ABSENT + 1)
            await self.desk.forget_ended()
            self.assertEqual(len(self.desk.live.all()), name == "not connected")
        later = time.time() + SILENT + 1
        with mock.patch.object(hook_desk.time, "time", lambda: later):
            await self.desk.forget_ended()
        self.assertEqual(self.desk.live.all(), ())

    async def test_an_answer_that_another_listener_breaks_is_not_given(self) -> None:
        broken = mock.Mock(answer_hook=mock.AsyncMock(side_effect=ZeroDivisionError))
        self.desk.listeners.append(broken)
        with self.assertRaises(ZeroDivisionError):
            await self.desk.answer_hook(GEMINI_CLI, body("BeforeAgent", prompt="x"))
        self.assertEqual(self.settled, [False])


class Live(unittest.TestCase):
    def setUp(self) -> None:
        self.now = 1000.0
        self.changes = 0
        self.live = LiveClis(lambda: self.now)
        self.live.changes.subscribe(self.changed)

    def changed(self) -> None:
        self.changes += 1

    def hear(self, value: dict[str, Any], cli: Cli = GEMINI_CLI, mcp_session: str = "m") -> None:
        event = hook_events.read_hook(cli, value)
        if event is not None:
            self.live.apply_hook(event, mcp_session)

    def one(self) -> tuple[Activity, ToolKind | None, str]:
        (only,) = self.live.all()
        return only.activity, only.kind, only.subject

    def test_a_turn_is_followed_from_the_prompt_to_the_answer(self) -> None:
        write: dict[str, Any] = {"tool_name": "write_file", "tool_input": {"file_path": "/w/a.py"}}
        shell: dict[str, Any] = {
            "tool_name": "run_shell_command",
            "tool_input": {"command": "npm test"},
        }
        rows = (
            (body("SessionStart"), (IDLE, None, "")),
            (body("BeforeAgent", prompt="do it"), (WORKING, None, "")),
            (body("BeforeTool", **write), (WORKING, ToolKind.WRITE, "/w/a.py")),
            (asked(EDIT), (ASKS, ToolKind.WRITE, "/w/a.py")),
            (body("AfterTool", **write), (WORKING, None, "")),
            (body("BeforeTool", **shell), (WORKING, ToolKind.SHELL, "npm test")),
            (asked(COMMAND), (ASKS, ToolKind.SHELL, "npm test")),
            (body("AfterTool", **shell), (WORKING, None, "")),
            (body("AfterAgent"), (DONE, None, "")),
            (body("BeforeAgent", prompt="again"), (WORKING, None, "")),
        )
        for value, expected in rows:
            with self.subTest(value["input"]["hook_event_name"]):
                self.hear(value)
                self.assertEqual(self.one(), expected)
        self.assertEqual(self.live.all()[0].prompt, "again")
        self.hear(body("SessionEnd"))
        self.assertEqual(self.live.all(), ())

    def test_a_cleared_session_is_gone_though_its_end_was_not_heard(self) -> None:
        self.hear(body("BeforeAgent", "old", prompt="x"))
        self.hear(body("BeforeAgent", "another", pid=8))
        self.hear(body("BeforeAgent", "unknown", pid=0))
        self.hear(body("SessionStart", "new", pid=7, source="clear"))
        self.hear(body("SessionStart", "elsewhere", pid=0, source="clear"))
        names = ["another", "unknown", "new", "elsewhere"]
        self.assertEqual([session.cli_session_id for session in self.live.all()], names)

    def test_a_session_that_starts_beside_others_leaves_them(self) -> None:
        self.hear(body("BeforeAgent", "one", prompt="x"))
        self.hear(body("SessionStart", "two", source="startup"))
        self.assertEqual([session.cli_session_id for session in self.live.all()], ["one", "two"])

    def test_qwen_code_asks_by_an_event_of_its_own(self) -> None:
        self.hear(
            body("PermissionRequest", tool_name="edit", tool_input={"file_path": "/w/b"}), QWEN_CODE
        )
        self.assertEqual(self.one(), (ASKS, ToolKind.REPLACE, "/w/b"))
        self.hear(body("Notification", notification_type="idle_prompt"), QWEN_CODE)
        self.assertEqual(self.one(), (DONE, None, ""))

    def test_the_time_of_an_activity_is_when_it_began(self) -> None:
        self.hear(body("BeforeAgent", prompt="x"))
        self.now = 2000.0
        self.hear(body("BeforeTool", tool_name="read_file", tool_input={}))
        self.assertEqual(self.live.all()[0].since, 1000.0)
        self.hear(body("AfterAgent"))
        self.assertEqual(self.live.all()[0].since, 2000.0)

    def test_a_decision_in_the_editor_ends_the_question(self) -> None:
        for is_accepted, expected in ((True, WORKING), (False, DONE)):
            self.hear(asked(EDIT))
            self.live.note_decision("another", is_accepted)
            self.assertEqual(self.one()[0], ASKS)
            self.live.note_decision("m", is_accepted)
            self.assertEqual(self.one()[0], expected)

    def test_a_cli_without_a_session_of_this_window_is_not_decided_on(self) -> None:
        self.hear(asked(EDIT), mcp_session="")
        self.live.note_decision("", True)
        self.assertEqual(self.one()[0], ASKS)

    def test_what_is_gone_is_forgotten_and_only_a_change_is_told(self) -> None:
        self.hear(body("BeforeAgent", prompt="x"))
        self.hear(body("BeforeAgent", prompt="x"))
        self.assertEqual(self.changes, 1)
        self.live.forget(())
        self.assertEqual(len(self.live.all()), 1)
        self.live.forget(self.live.all())
        self.assertEqual((self.live.all(), self.changes), ((), 2))

    def test_the_oldest_of_very_many_are_forgotten(self) -> None:
        for number in range(MAX_CLIS + 3):
            self.hear(body("SessionStart", session=str(number)))
        known = [each.cli_session_id for each in self.live.all()]
        self.assertEqual(known, [str(number) for number in range(3, MAX_CLIS + 3)])

    def test_the_status_bar_says_questions_first_and_done_for_a_while(self) -> None:
        def state() -> str:
            found = live_words.most_urgent_state(self.live.all(), self.now)
            return f"{found.names}: {found.words}" if found is not None else ""

        self.assertEqual(state(), "")
        self.hear(body("AfterAgent", session="a"))
        self.assertEqual(state(), "Gemini: done")
        self.hear(body("BeforeAgent", session="b", prompt="x"))
        self.assertEqual(state(), "Gemini: working")
        self.hear(asked(COMMAND, "c"))
        self.assertEqual(state(), "Gemini: asks")
        edit: dict[str, Any] = {"tool_name": "edit", "tool_input": {"file_path": "/w/b"}}
        self.hear(body("PermissionRequest", session="d", **edit), QWEN_CODE)
        self.assertEqual(state(), "Gemini, Qwen: ask")
        self.hear(body("SessionEnd", session="c"))
        self.assertEqual(state(), "Qwen: asks")
        self.hear(body("SessionEnd", session="d"), QWEN_CODE)
        self.hear(body("AfterAgent", session="b"))
        self.now += 61
        self.assertEqual(state(), "")

    def test_a_line_for_the_user_shows_what_is_hidden_in_a_command(self) -> None:
        self.hear(asked({**COMMAND, "command": "ls\u202e"}))
        (line,) = live_words.cli_lines(self.live.all()[0])
        self.assertRegex(line, r"asks you since \d\d:\d\d: ls<U\+202E>")
