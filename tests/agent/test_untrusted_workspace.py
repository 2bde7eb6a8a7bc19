"""What in a workspace that nobody trusts keeps an agent from being opened there."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import unittest
from typing import Any

from companion.agent.agents.claude_agent import ClaudeAgent
from companion.agent.agents.cli_home import without_git_programs
from companion.agent.agents.codex import Codex
from companion.agent.agents.gemini_cli import GeminiCli
from companion.agent.agents.opencode import OpenCode
from companion.agent.agents.qwen_code import QwenCode
from companion.agent.failure import AgentError

ALL = (GeminiCli, QwenCode, ClaudeAgent, OpenCode, Codex)
STARTING_GIT = (QwenCode, ClaudeAgent, Codex)


class UntrustedWorkspace(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = os.path.realpath(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.workspace = os.path.join(self.folder, "work")
        os.mkdir(self.workspace)

    def refusal(self, kind: type, trusted: bool = False) -> str:
        try:
            kind(os.path.join(self.folder, "home"), trusted).session_meta(self.workspace)
        except AgentError as error:
            return str(error.message)
        return ""

    def write(self, name: str, text: str = "") -> str:
        path = os.path.join(self.workspace, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "a", encoding="utf-8") as file:
            file.write(text)
        return path

    def git(self, *words: str, folder: str = "") -> None:
        who = ("-c", "user.name=n", "-c", "user.email=n@n.example")
        subprocess.run(["git", *who, *words], cwd=folder or self.workspace, check=True)

    def test_an_ordinary_repository_is_opened(self) -> None:
        self.git("init", "-q")
        self.write(".git/config", "[core]\nhooksPath = .husky\n[pull]\nrebase = true\n")
        for kind in ALL:
            self.assertEqual(self.refusal(kind), "")

    def test_a_filter_of_git_is_refused_where_the_agent_starts_git(self) -> None:
        self.git("init", "-q")
        self.write(".git/config", '[Filter "x"]\nClean = touch mark\n')
        for kind in ALL:
            self.assertEqual("filter.x.clean" in self.refusal(kind), kind in STARTING_GIT, kind)
            self.assertEqual(self.refusal(kind, trusted=True), "")

    def test_settings_that_include_others_are_refused(self) -> None:
        self.git("init", "-q")
        self.write(".git/config", "[include]\npath = ../other\n")
        self.assertIn("include.path", self.refusal(ClaudeAgent))

    def test_a_filter_of_a_repository_within_it_is_refused(self) -> None:
        self.git("init", "-q")
        inner = os.path.join(self.workspace, "in ner")
        os.mkdir(inner)
        self.git("init", "-q", folder=inner)
        self.git("commit", "-q", "--allow-empty", "-m", "first", folder=inner)
        self.git("add", "in ner")
        self.assertEqual(self.refusal(ClaudeAgent), "")
        self.write("in ner/.git/config", '[filter "x"]\nprocess = touch mark\n')
        self.assertIn("filter.x.process", self.refusal(ClaudeAgent))

    def test_what_allows_or_names_commands_for_codex_is_refused(self) -> None:
        for name, text in (
            (".codex/rules/default.rules", ""),
            (".codex/hooks.json", ""),
            (".codex/agents/other.toml", ""),
            (".codex/config.toml", '[mcp_servers.e]\nurl = "http://127.0.0.1:1"\n'),
        ):
            with self.subTest(name):
                path = self.write(name, text)
                self.assertIn(".codex", self.refusal(Codex))
                self.assertEqual(self.refusal(Codex, trusted=True), "")
                self.assertEqual(self.refusal(ClaudeAgent), "")
                os.unlink(path)
                shutil.rmtree(os.path.dirname(path))

    @unittest.skipIf(os.name == "nt", "Windows has no such files")
    def test_what_has_no_end_is_neither_read_nor_left_to_an_agent(self) -> None:
        for name in (".codex/config.toml", "opencode.json", "AGENTS.md", "GEMINI.md", ".env"):
            path = os.path.join(self.workspace, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            for make in (os.mkfifo, lambda path: os.symlink("/dev/zero", path)):
                make(path)
                with self.subTest(name):
                    readers: dict[str, Any] = {
                        ".codex/config.toml": [Codex],
                        "opencode.json": [OpenCode],
                    }
                    for kind in readers.get(name, ALL):
                        self.assertIn(name, self.refusal(kind))
                os.unlink(path)

    def test_git_is_kept_from_starting_a_monitor_beside_settings_of_the_user(self) -> None:
        mine = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "a.b", "GIT_CONFIG_VALUE_0": "c"}
        told = without_git_programs(mine)
        self.git("init", "-q")
        mark = os.path.join(self.folder, "mark")
        self.write(".git/config", f"[core]\nfsmonitor = touch '{mark}'; false\n")
        run: dict[str, Any] = {"cwd": self.workspace, "check": True, "stdout": subprocess.DEVNULL}
        subprocess.run(["git", "status"], env={**os.environ, **told}, **run)
        self.assertFalse(os.path.exists(mark))
        kept = subprocess.run(
            ["git", "config", "a.b"], env={**os.environ, **told}, stdout=subprocess.PIPE
        )
        self.assertEqual(kept.stdout, b"c\n")
        subprocess.run(["git", "status"], **run)
        self.assertTrue(os.path.exists(mark))


if __name__ == "__main__":
    unittest.main()
