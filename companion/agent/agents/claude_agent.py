"""Claude Code behind its adapter `claude-agent-acp`, and its peculiarities.

Source: docs/agents.md.
"""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import replace
from typing import Any, Mapping

from ...base import private_files
from ..acp import messages
from ..attachments import Forms
from ..credentials import ANTHROPIC, Credentials
from ..events import tool_call
from ..events.tool_call import Call
from ..turn_events import CANCEL, ONCE
from .cli import AgentCli, with_output
from .cli_home import write_settings
from .known_versions import KnownVersions
from .program import Program

FIXED = {
    # Updates, telemetry, reports of errors.
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
}
# Where a key may be; the second is that of gateways. What the file of the home has is sent as both.
KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
# The file of its home with the key.
KEY = "key"
# Those of 0.49, and those from 0.72 on. Others would change its mode, forget what was said, or be
# remembered for more than was shown.
OPTIONS = {
    "allow": ONCE,
    "default": ONCE,
    "plan": CANCEL,
    "allow-once": ONCE,
    "exit-plan-default": ONCE,
    "reject": CANCEL,
}
HARMLESS = ("compact", "context", "usage")
# The text of a tool that failed is for its model: between tags, which may be within a fence.
TAGGED = re.compile(
    r"\A(\s*(?:`{3,}\w*\n)?)<tool_use_error>(.*)</tool_use_error>(\s*(?:`{3,}\s*)?)\Z", re.DOTALL
)


class ClaudeAgent(AgentCli):
    """Its own folder in the home is `.claude`. It uses Anthropic's API, or one like it."""

    id = "claude"
    key_variables = KEYS
    url_variables = ("ANTHROPIC_BASE_URL",)
    program = Program(
        "Claude Code",
        "claude-agent-acp",
        "@agentclientprotocol/claude-agent-acp",
        "dist/index.js",
    )
    tested = KnownVersions("0.101.0", oldest="0.49.0")
    kinds = (ANTHROPIC,)
    own_login = "claude auth login"
    home_file = os.path.join(".claude", "settings.json")
    unprevented = "your rules that allow a tool count"
    # The adapter starts it with `--mcp-config`.
    shows_headers = starts_git = True
    # It starts in the mode that the workspace's settings name.
    asking_mode = "default"
    options = OPTIONS
    # The adapter drops bytes of resources.
    attachment_forms = Forms(documents=False)
    harmless_commands = HARMLESS
    key_files = (KEY,)

    def prepare_home(self, credentials: Credentials, more: Mapping[str, Any]) -> None:
        """The key is in a file of its own, because its tools see its environment."""
        settings: dict[str, Any] = {}
        if credentials.api_key:
            key = os.path.join(self.folder, KEY)
            private_files.write_file(key, credentials.api_key.encode("utf-8"))
            settings["apiKeyHelper"] = shlex.join(["cat", key.replace(os.sep, "/")])
        write_settings(self.folder, os.path.join(self.folder, ".claude"), settings, more)

    def home_variables(self, credentials: Credentials) -> dict[str, str]:
        variables = {
            "ANTHROPIC_BASE_URL": credentials.base_url,
            "ANTHROPIC_MODEL": credentials.model,
        }
        return {
            **FIXED,
            "CLAUDE_CONFIG_DIR": os.path.join(self.folder, ".claude"),
            **{name: value for name, value in variables.items() if value},
        }

    def session_meta(self, workspace: str) -> messages.Meta:
        """The workspace's own settings may have rules that allow tools, and commands to run."""
        if self.trusts_workspace(workspace):
            return {}
        self.check_workspace(workspace)
        return {"claudeCode": {"options": {"settingSources": ["user"]}}}

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Credentials | None:
        key = next(filter(None, (environment.get(name, "").strip() for name in KEYS)), "")
        if not key:
            return None
        url = environment.get("ANTHROPIC_BASE_URL", "").strip()
        model = environment.get("ANTHROPIC_MODEL", "").strip()
        return Credentials(ANTHROPIC, key, base_url=url, model=model)

    def parent_call(self, meta: messages.Meta) -> str:
        own = meta.get("claudeCode")
        return str(own.get("parentToolUseId") or "") if isinstance(own, dict) else ""

    def read_call(self, told: messages.ToolCallUpdate) -> Call:
        own = told.meta.get("claudeCode")
        name = str(own.get("toolName") or "") if isinstance(own, dict) else ""
        told = with_output(told)
        told = replace(told, texts=tuple(TAGGED.sub(r"\1\2\3", text) for text in told.texts))
        return tool_call.read_call(
            told, name or told.tool or told.kind or "tool", told.raw_input or {}
        )
