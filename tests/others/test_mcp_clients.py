"""The SDKs' own clients of MCP, in both of their ways to connect: they list the tools, open a diff,
and hear that it was accepted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import unittest
from typing import Any

from GeminiCompanion.companion.ide import mcp
from GeminiCompanion.companion.ide.decisions import OPEN
from GeminiCompanion.companion.ide.stateless import VERSION
from GeminiCompanion.tools.setup import VENV, python_of

from ..ide.window import PATH, Served
from ..support import PATIENCE, wait_for

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mcp")
PYTHON = python_of(os.path.join(VENV, "mcp"))
MODULES = os.path.join(HERE, "node_modules")
MISSING = "not installed: make setup-mcp"
TOOLS = ["openDiff", "closeDiff"]


class SdkClients(Served):
    command: list[str] = []

    def start(self, mode: str) -> None:
        self.serve("/one")
        (file,) = self.files()
        url = f"http://127.0.0.1:{file['port']}/mcp"
        self.process = subprocess.Popen(
            [*self.command, url, file["authToken"], mode, PATH],
            cwd=HERE,
            stdout=subprocess.PIPE,
            env={**os.environ, "NO_PROXY": "127.0.0.1"},
        )
        self.addCleanup(self.process.communicate)
        self.addCleanup(self.process.kill)

    def said(self) -> Any:
        return json.loads(self.process.stdout.readline())  # type: ignore[union-attr]

    def decide(self) -> None:
        """Accept the proposal, once the client listens."""
        book, diffs = self.workspace.book, self.workspace.diffs
        wait_for(lambda: bool(self.background.call(book.of, OPEN)))
        (number,) = self.background.call(book.of, OPEN)
        entry = self.background.call(book.__getitem__, number)
        self.background.call(diffs.accept, entry.session_id, PATH, "mine\n")

    def hears(self, mode: str, version: str, honored: Any = None) -> None:
        self.start(mode)
        self.assertEqual((self.said(), self.said()), (version, TOOLS))
        if honored is not None:
            self.assertEqual(self.said(), honored)
        self.assertEqual(self.said(), [])
        self.decide()
        accepted = ["ide/diffAccepted", {"filePath": PATH, "content": "mine\n"}]
        self.assertEqual(self.said(), accepted)
        self.assertEqual(self.process.wait(PATIENCE), 0)


@unittest.skipUnless(
    shutil.which("node") and os.path.exists(MODULES), "not installed: make setup-mcp"
)
class TypeScript(SdkClients):
    command = ["node", "client.mjs"]

    def test_it_speaks_the_version_without_sessions_where_it_may(self) -> None:
        self.hears("auto", VERSION, {"toolsListChanged": True})

    def test_it_goes_on_with_sessions_otherwise(self) -> None:
        self.hears("legacy", mcp.VERSIONS[-1])


@unittest.skipUnless(os.path.exists(PYTHON), MISSING)
class Python(SdkClients):
    command = [PYTHON, "with_mcp.py"]

    def test_it_speaks_the_version_without_sessions(self) -> None:
        self.hears("auto", VERSION, {"toolsListChanged": True})

    def test_it_goes_on_with_sessions_if_told_to(self) -> None:
        self.hears("legacy", mcp.VERSIONS[-1])
