"""Gemini CLI and Qwen Code do what the engine relies on; the scripted agent is held to the same."""

from __future__ import annotations

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import agent_case  # noqa: E402
import openai_server  # noqa: E402
from GeminiCompanion.companion.agent.agents.credentials import OPENAI, Credentials  # noqa: E402
from GeminiCompanion.companion.agent.agents.gemini_cli import GeminiCli  # noqa: E402
from GeminiCompanion.companion.agent.agents.qwen_code import QwenCode  # noqa: E402
from GeminiCompanion.companion.agent.processes.runner import Launch  # noqa: E402
from GeminiCompanion.tests.agent import contract  # noqa: E402
from model_server import ModelServer, call  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
QWEN = os.path.join(HERE, "node_modules", "@qwen-code", "qwen-code", "cli-entry.js")


@unittest.skipUnless(os.path.exists(agent_case.PROGRAM), "the CLI is not installed: make setup")
class GeminiCliContract(contract.AgentContract):
    def launch(self) -> Launch:
        self.model = ModelServer()
        self.model.__enter__()
        self.addCleanup(self.model.__exit__, None, None, None)
        variables = {"GOOGLE_GEMINI_BASE_URL": self.model.url, "NO_PROXY": "127.0.0.1"}
        command = GeminiCli.program.find(HERE)
        return Launch(command, variables, model=agent_case.MODEL, fallback=agent_case.KEY)

    def plan(self, words: str, closing: str, write: tuple[str, str] | None = None) -> None:
        calls = []
        if write is not None:
            calls = [[call("write_file", file_path=write[0], content=write[1])]]
        self.model.will_play(words, *calls, [closing])


@unittest.skipUnless(os.path.exists(QWEN), "Qwen Code is not installed: make setup")
class QwenCodeContract(contract.AgentContract):
    def launch(self) -> Launch:
        self.model = openai_server.OpenAIServer()
        self.model.__enter__()
        self.addCleanup(self.model.__exit__)
        url, model = self.model.url, openai_server.MODEL
        key = Credentials(OPENAI, "a-key", base_url=url, model=model)
        # The program that it brings for this is none before the package's install script has run.
        settings = {"tools": {"useRipgrep": False}}
        command = QwenCode.program.find(HERE)
        variables = {"NO_PROXY": "127.0.0.1"}
        return Launch(command, variables, settings, agent=QwenCode.id, fallback=key)

    def plan(self, words: str, closing: str, write: tuple[str, str] | None = None) -> None:
        calls = []
        if write is not None:
            calls = [("write_file", {"file_path": write[0], "content": write[1]})]
        self.model.will_call(words, closing, *calls)


if __name__ == "__main__":
    unittest.main()
