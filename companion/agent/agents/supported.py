"""The CLIs that the engine can run, by their names in options and requests."""

from __future__ import annotations

from typing import Mapping

from .claude_agent import ClaudeAgent
from .cli import AgentCli
from .codex import Codex
from .gemini_cli import GeminiCli
from .opencode import OpenCode
from .qwen_code import QwenCode

CLIS: Mapping[str, type[AgentCli]] = {
    each.id: each for each in (GeminiCli, QwenCode, ClaudeAgent, OpenCode, Codex)
}
# The one that runs if none is named.
USUAL = GeminiCli.id
