"""The state of a window's endpoint in words."""

from __future__ import annotations

import unittest
from typing import Any

from GeminiCompanion.companion.ide.clis import QWEN_CODE
from GeminiCompanion.companion.ide.decisions import UnwrittenText
from GeminiCompanion.companion.ide.session import Session
from GeminiCompanion.companion.ide.status import ConnectedClient, Status
from GeminiCompanion.companion.ide.workspace import Workspace

from ..support import FakeEditor, InLoop

# Nobody has touched the file of the first; the second has changed since.
MISSING, CHANGED = UnwrittenText("/a", "", True), UnwrittenText("/b", "", False)


def client(name: str) -> ConnectedClient:
    return ConnectedClient("session", name, name)


def text(**changes: Any) -> str:
    values: dict[str, Any] = {
        "window_id": 1,
        "port": 4711,
        "folders": ("/project",),
        "discovery_paths": ("/tmp/gemini/ide/x.json",),
        "connected": 0,
        "waiting": 0,
        "unwritten": (),
        **changes,
    }
    return Status(**values).text()


class StatusText(unittest.TestCase):
    def test_port_folders_and_discovery_file_are_named(self) -> None:
        said = text(folders=("/one", "/two"))
        for part in ("4711", "/one, /two", "/tmp/gemini/ide/x.json"):
            self.assertIn(part, said)

    def test_the_clis_that_are_connected_are_named(self) -> None:
        said = text(connected=2, clients=(client("Gemini CLI"), client("Qwen Code")))
        self.assertIn("Connected: Gemini CLI, Qwen Code\n", said)

    def test_claude_code_is_named_with_its_file_and_how_it_connects_until_it_is(self) -> None:
        locks = ("/home/ann/.claude/ide/1.lock",)
        said = text(claude_locks=locks, connected=1, clients=(client("Qwen Code"),))
        self.assertIn("Lock file for Claude Code: /home/ann/.claude/ide/1.lock\n", said)
        self.assertRegex(said, 'start "claude --ide" in one of the folders, or type "/ide"')
        self.assertNotIn("/ide enable", said)
        here = text(claude_locks=locks, connected=1, clients=(client("Claude Code 2"),))
        self.assertNotIn("claude --ide", here)
        self.assertNotIn("claude --ide", text(claude_locks=locks, folders=()))
        self.assertNotIn("Claude", text())

    def test_the_edits_that_wait_are_counted(self) -> None:
        self.assertIn("without a decision: 3\n", text(waiting=3))

    def test_accepted_texts_that_wait_are_counted_with_the_command_that_shows_them(self) -> None:
        self.assertRegex(
            text(unwritten=(MISSING, MISSING, CHANGED)), "no CLI has written: 2; .*Show Changes"
        )
        self.assertNotIn("has written", text(unwritten=(CHANGED,)))

    def test_without_a_cli_it_says_how_to_connect(self) -> None:
        said = text()
        self.assertIn("CLI: not connected\n", said)
        self.assertIn("/ide enable", said)

    def test_with_a_cli_no_advice_is_given(self) -> None:
        self.assertNotIn("/ide enable", text(connected=1))

    def test_without_a_folder_it_says_to_open_one_and_nothing_else(self) -> None:
        said = text(folders=())
        self.assertIn("open the folder of your project", said)
        self.assertNotIn("/ide enable", said)

    def test_without_a_discovery_file_it_points_to_the_log(self) -> None:
        self.assertIn("not written; the log says why", text(discovery_paths=()))

    def test_every_line_ends_with_a_line_break(self) -> None:
        said = text()
        self.assertTrue(said.endswith("\n"))
        self.assertNotIn("\n\n", said)


class Connected(InLoop):
    async def begin(self) -> None:
        self.workspace = Workspace(7, ("/project",), FakeEditor())

    def connect(self, client: str, **more: Any) -> Session:
        session = self.workspace.sessions.open_session("2025-06-18", client, **more)
        session.attach_stream(None)
        return session

    async def test_each_cli_is_told_with_its_window_and_what_waits(self) -> None:
        session = self.connect("streamable-http-client 0.61.0")
        self.workspace.book.open(session.id, "/project/a", "new")
        (cli,) = self.workspace.connected_clis()
        self.assertEqual((cli.window_id, cli.session_id, cli.waiting), (7, session.id, 1))
        self.assertEqual((cli.name, cli.version), ("Gemini CLI", "0.61.0"))
        self.assertEqual((cli.folders, cli.since), (("/project",), session.since))

    async def test_a_version_that_says_nothing_is_left_out(self) -> None:
        for client in ("streamable-http-client 1.0.0", "test", ""):
            self.connect(client, cli=QWEN_CODE)
        self.assertEqual([cli.version for cli in self.workspace.connected_clis()], ["", "", ""])

    async def test_one_without_a_stream_is_not_connected(self) -> None:
        self.workspace.sessions.open_session("2025-06-18")
        self.assertEqual(self.workspace.connected_clis(), ())
