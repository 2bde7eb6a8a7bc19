"""Claude Code behind its adapter `claude-agent-acp`, and its peculiarities.

Source: docs/agents.md.
"""

from __future__ import annotations

import os
from typing import Any, Mapping

from ..acp import messages
from ..events import tool_call
from ..events.tool_call import Call
from .cli import Cli, with_output
from .cli_home import inherited, write_settings
from .credentials import ANTHROPIC, Credentials
from .program import Program

FIXED = {
    # Its tools would see the key of the model's API.
    "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB": "1",
    # Updates, telemetry, reports of errors.
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
}
# Options that would change its mode so far that nobody is asked any more.
NOT_OFFERED = ("bypassPermissions", "auto")


class ClaudeAgent(Cli):
    """Its own folder in the home is `.claude`. It uses Anthropic's API, or one like it."""

    id = "claude"
    program = Program(
        "Claude Code",
        "claude-agent-acp",
        "@agentclientprotocol/claude-agent-acp",
        "dist/index.js",
    )
    kinds = (ANTHROPIC,)

    def prepare(self, credentials: Credentials, more: Mapping[str, Any]) -> None:
        write_settings(self.folder, os.path.join(self.folder, ".claude"), {}, more)

    def environment(self, credentials: Credentials, more: Mapping[str, str]) -> dict[str, str]:
        variables = {
            "ANTHROPIC_API_KEY": credentials.api_key,
            "ANTHROPIC_BASE_URL": credentials.base_url,
            "ANTHROPIC_MODEL": credentials.model,
        }
        return {
            **inherited(),
            **FIXED,
            "CLAUDE_CONFIG_DIR": os.path.join(self.folder, ".claude"),
            **{name: value for name, value in variables.items() if value},
            **more,
        }

    def check(self, credentials: Credentials) -> None:
        super().check(credentials)
        credentials.check_key()

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Credentials | None:
        key = environment.get("ANTHROPIC_API_KEY", "").strip()
        if not key:
            return None
        url = environment.get("ANTHROPIC_BASE_URL", "").strip()
        model = environment.get("ANTHROPIC_MODEL", "").strip()
        return Credentials(ANTHROPIC, key, base_url=url, model=model)

    def outcome_of(self, option: messages.PermissionOption) -> str:
        return "" if option.id in NOT_OFFERED else super().outcome_of(option)

    def read_call(self, told: messages.ToolCallUpdate) -> Call:
        own = told.meta.get("claudeCode")
        name = str(own.get("toolName") or "") if isinstance(own, dict) else ""
        return tool_call.read(with_output(told), name or told.kind or "tool", told.raw_input or {})
