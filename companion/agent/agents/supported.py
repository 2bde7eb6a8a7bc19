"""The CLIs that the engine can run, by the names that options and requests have for them."""

from __future__ import annotations

from typing import Mapping

from .cli import Cli
from .gemini_cli import GeminiCli
from .qwen_code import QwenCode

CLIS: Mapping[str, type[Cli]] = {each.id: each for each in (GeminiCli, QwenCode)}
# The one that is run where nobody names any.
USUAL = GeminiCli.id
