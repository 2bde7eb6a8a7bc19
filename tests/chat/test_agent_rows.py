"""The rows of the agents from which the user chooses one."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import unittest
from types import SimpleNamespace
from typing import Any
from unittest import mock

from GeminiCompanion.companion.agent.agent import Agent, Options
from GeminiCompanion.companion.agent.launches import Chosen
from GeminiCompanion.companion.agent.processes.runner import Launch
from GeminiCompanion.companion.base.login_path import LOGIN_PATH
from GeminiCompanion.companion.chat.requests import Agents, OfferedAgent


@unittest.skipIf(sys.platform == "win32", "programs have other names there")
class Rows(unittest.IsolatedAsyncioTestCase):
    """`self.folder` is all of PATH."""

    def setUp(self) -> None:
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, True)
        for patch in (
            mock.patch.dict(os.environ, PATH=self.folder),
            mock.patch.object(LOGIN_PATH, "ask", return_value=""),
        ):
            patch.start()
            self.addCleanup(patch.stop)

    async def row(self, chosen: Chosen) -> OfferedAgent:
        launch = Launch((), agent=chosen.id, look=chosen.find_command)
        agent = Agent(Options(launch, os.path.join(self.folder, "state")))
        self.addAsyncCleanup(agent.stop)
        chats: Any = SimpleNamespace(agent=agent)
        (row,) = await Agents().carry_out(chats)
        return row

    async def test_what_is_missing_says_in_short_how_to_install_it_and_what_was_looked_for(
        self,
    ) -> None:
        with open(os.path.join(self.folder, "node"), "w", encoding="ascii") as node:
            os.chmod(node.name, 0o700)
        for chosen, words in (
            (Chosen("gemini"), "npm install -g @google/gemini-cli · looked for “gemini” in PATH"),
            (Chosen("mine", ("my-agent", "acp")), "looked for “my-agent” in PATH"),
        ):
            row = await self.row(chosen)
            self.assertEqual((row.is_there, row.problem), (False, words))

    async def test_what_is_there_and_cannot_run_says_why(self) -> None:
        path = os.path.join(self.folder, "my-agent")
        with open(path, "w", encoding="ascii"):
            os.chmod(path, 0o600)
        self.assertIn("is not executable", (await self.row(Chosen("mine", (path,)))).problem)
