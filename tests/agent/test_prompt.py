"""What a message becomes before the CLI gets it."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import unittest
from typing import Any, Mapping
from unittest import mock

from GeminiCompanion.companion.agent.agent import Agent, Options
from GeminiCompanion.companion.agent.agents.cli import AgentCli
from GeminiCompanion.companion.agent.agents.codex import Codex
from GeminiCompanion.companion.agent.agents.gemini_cli import GeminiCli
from GeminiCompanion.companion.agent.conversations import prompt
from GeminiCompanion.companion.agent.failure import (
    AUTH_NOT_SET,
    FILE_NOT_FOUND,
    VALIDATION_ERROR,
    AgentError,
)
from GeminiCompanion.companion.agent.processes.runner import Launch


class Attached(unittest.TestCase):
    agent: type[AgentCli] = GeminiCli

    def setUp(self) -> None:
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, True)

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def attach(self, path: str) -> Mapping[str, Any]:
        cli = self.agent("home", False)
        return prompt.prompt_message("look", [path], self.folder, cli).parts[1]

    def refused(self, path: str) -> str:
        with self.assertRaises(AgentError) as caught:
            self.attach(path)
        return caught.exception.code

    def test_a_file_and_a_folder_are_named_by_their_whole_path(self) -> None:
        os.mkdir(self.path("sub"))
        with open(self.path("sub/a b.txt"), "w", encoding="ascii"):
            pass
        link = self.attach("sub/../sub/a b.txt")
        self.assertEqual(link["uri"], "file://" + self.path("sub/a b.txt"))
        self.assertEqual(link["name"], "a b.txt")
        self.assertEqual(self.attach(self.path("sub"))["uri"], "file://" + self.path("sub"))

    def test_another_agent_gets_a_proper_uri(self) -> None:
        self.agent = Codex
        with open(self.path("a b#ä.txt"), "w", encoding="ascii"):
            pass
        self.assertTrue(self.attach("a b#ä.txt")["uri"].endswith("/a%20b%23%C3%A4.txt"))

    def test_what_is_not_there_or_no_path_is_told(self) -> None:
        for path in ("nowhere", "a\0b", "x" * 5000):
            self.assertEqual(self.refused(path), FILE_NOT_FOUND)

    @unittest.skipUnless(hasattr(os, "mkfifo"), "there are no such files")
    def test_a_pipe_for_whose_writer_the_cli_would_wait_is_refused(self) -> None:
        os.mkfifo(self.path("pipe"))
        os.symlink("pipe", self.path("link"))
        for path in ("pipe", "link", os.devnull):
            self.assertEqual(self.refused(path), VALIDATION_ERROR)


class Looked(unittest.IsolatedAsyncioTestCase):
    async def test_files_are_looked_at_beside_the_loop(self) -> None:
        folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder, True)
        workspace = os.path.join(folder, "workspace")
        os.mkdir(workspace)
        agent = Agent(Options(Launch((os.path.join(folder, "none"),)), os.path.join(folder, "a")))
        await agent.load_conversations()
        self.addAsyncCleanup(agent.stop)
        threads = []

        def look(_path: str, _workspace: str, _cli: AgentCli) -> dict[str, str]:
            threads.append(threading.current_thread())
            return {}

        with mock.patch.object(prompt, "_link_block", look):
            with self.assertRaises(AgentError) as caught:
                await agent.send_message(workspace, "look", ["file"])
        self.assertEqual(caught.exception.code, AUTH_NOT_SET)
        self.assertEqual(len(threads), 1)
        self.assertIsNot(threads[0], threading.current_thread())
