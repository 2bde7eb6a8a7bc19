"""The CLIs that the engine can run, by their names in options and requests."""

from __future__ import annotations

from typing import Mapping

from .cli import Cli
from .gemini_cli import GeminiCli
from .qwen_code import QwenCode

CLIS: Mapping[str, type[Cli]] = {each.id: each for each in (GeminiCli, QwenCode)}
# The one that runs if none is named.
USUAL = GeminiCli.id
