"""The SDKs' own clients of MCP, in both of their ways to connect, and the editor without a screen:
they list the tools, open a diff, and hear that it was accepted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from typing import Any

from GeminiCompanion.companion.ide import mcp
from GeminiCompanion.companion.ide.stateless import VERSION
from GeminiCompanion.tools.setup import VENV, python_of

from ..support import PATIENCE

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(os.path.dirname(HERE), "e2e"))

from editor import Editor  # noqa: E402

SCRIPTS = os.path.join(HERE, "mcp")
PYTHON = python_of(os.path.join(VENV, "mcp"))
MODULES = os.path.join(SCRIPTS, "node_modules")
MISSING = "not installed: make setup-mcp"
TOOLS = ["openDiff", "closeDiff"]
HONORED = {"toolsListChanged": True}


class SdkClients(unittest.TestCase):
    command: list[str] = []

    def setUp(self) -> None:
        root = os.path.realpath(tempfile.mkdtemp(prefix="mcp-"))
        self.addCleanup(shutil.rmtree, root, True)
        folder, temp, data = (os.path.join(root, name) for name in ("work", "tmp", "data"))
        for path in (folder, temp, data):
            os.mkdir(path)
        self.file = os.path.join(folder, "a.py")
        self.editor = Editor(folder, data, temp)
        self.addCleanup(self.editor.close)
        self.editor.do("wait_until_served")
        (name,) = self.editor.discovery_files()
        with open(os.path.join(temp, "gemini", "ide", name), encoding="utf-8") as found:
            self.window = json.load(found)

    def start(self, mode: str) -> None:
        url = f"http://127.0.0.1:{self.window['port']}/mcp"
        self.process = subprocess.Popen(
            [*self.command, url, self.window["authToken"], mode, self.file],
            cwd=SCRIPTS,
            stdout=subprocess.PIPE,
            env={**os.environ, "NO_PROXY": "127.0.0.1"},
        )
        self.addCleanup(self.process.communicate)
        self.addCleanup(self.process.kill)

    def said(self) -> Any:
        return json.loads(self.process.stdout.readline())  # type: ignore[union-attr]

    def hears(self, mode: str, version: str, *honored: Any) -> None:
        self.start(mode)
        for wanted in (version, TOOLS, *honored, []):
            self.assertEqual(self.said(), wanted)
        self.editor.do("wait_for", "proposal", "theirs\n", self.file)
        self.editor.do("append", self.file, "mine\n")
        self.editor.do("review", "accept_diff", self.file)
        accepted = {"filePath": self.file, "content": "theirs\nmine\n"}
        self.assertEqual(self.said(), ["ide/diffAccepted", accepted])
        self.assertEqual(self.process.wait(PATIENCE), 0)


@unittest.skipUnless(shutil.which("node") and os.path.exists(MODULES), MISSING)
class TypeScript(SdkClients):
    command = ["node", "client.mjs"]

    def test_it_speaks_the_version_without_sessions_where_it_may(self) -> None:
        self.hears("auto", VERSION, HONORED)

    def test_it_goes_on_with_sessions_otherwise(self) -> None:
        self.hears("legacy", mcp.VERSIONS[-1])


@unittest.skipUnless(os.path.exists(PYTHON), MISSING)
class Python(SdkClients):
    command = [PYTHON, "with_mcp.py"]

    def test_it_speaks_the_version_without_sessions(self) -> None:
        self.hears("auto", VERSION, HONORED)

    def test_it_goes_on_with_sessions_if_told_to(self) -> None:
        self.hears("legacy", mcp.VERSIONS[-1])
