"""The CLIs that the engine can run, by their names in options and requests."""

from __future__ import annotations

from typing import Mapping

from .agents.claude_agent import ClaudeAgent
from .agents.cli import AgentCli
from .agents.codex import Codex
from .agents.gemini_cli import GeminiCli
from .agents.opencode import OpenCode
from .agents.qwen_code import QwenCode

__all__ = ["CLIS", "USUAL", "AgentCli"]

CLIS: Mapping[str, type[AgentCli]] = {
    each.id: each for each in (GeminiCli, QwenCode, ClaudeAgent, OpenCode, Codex)
}
# The one that runs if none is named.
USUAL = GeminiCli.id
