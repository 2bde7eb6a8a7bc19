"""Codex behind its adapter `codex-acp`, and its peculiarities.

Source: docs/agents.md.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any, Mapping, Sequence

from ...base import private_files
from ..acp import messages
from ..auth_method import AuthMethod
from ..credentials import OPENAI, Credentials
from ..failure import VALIDATION_ERROR, AgentError
from ..sentence import sentence
from ..turn_events import CANCEL, ONCE
from .cli import AgentCli
from .cli_home import forget_keys, merged_settings
from .known_versions import KnownVersions
from .program import Program
from .untrusted_workspace import first_of

# Its way to log in with a key, and the mode in which it asks before it writes.
WITH_KEY, ASKING = "api-key", "read-only"
# The file of its home in which it keeps the key.
LOGIN = os.path.join(".codex", "auth.json")
# The settings of a workspace, and what is in them if they name commands or addresses, also in
# another file. Letters may be written as numbers.
SETTINGS = ".codex/config.toml"
WORDS = (
    b"command", b"notify", b"hook", b"mcp_servers", b"url", b"endpoint", b"config_file", b"\\",
)  # fmt: skip
# What else names commands, or allows them unasked.
OTHERS = (".codex/rules", ".codex/hooks.json", ".codex/hooks", ".codex/agents")
NAMES_COMMANDS = sentence(
    "{path} may name or allow commands, which Codex would run unasked. To trust"
    ' them, name your folder in "trusted_folders" in the settings of the editor, or start the'
    " server with --trust."
)
# Our name for the provider in its settings.
PROVIDER = "api"
# Others would allow a command, a host or a tool for longer.
OPTIONS = {
    "allow_once": ONCE,
    "accept": ONCE,
    "decline": CANCEL,
    "cancel": CANCEL,
    "allow_permissions_turn": ONCE,
    "reject_permissions": CANCEL,
    "implement_plan": ONCE,
    "revise_plan": CANCEL,
}
HARMLESS = ("compact", "mcp", "skills", "status")
# What it reads before it is told anything: without this it asks its makers and GitHub for plugins.
AT_START = b"[features]\nplugins = false\napps = false\nremote_plugin = false\n"


class Codex(AgentCli):
    """Its own folder is `.codex` in the home. It uses OpenAI's API for responses."""

    id = "codex"
    key_variables = ("OPENAI_API_KEY",)
    url_variables = ("OPENAI_BASE_URL",)
    program = Program("Codex", "codex-acp", "@agentclientprotocol/codex-acp", "dist/index.js")
    tested = KnownVersions("2.6.0")
    kinds = (OPENAI,)
    own_login = "codex login"
    home_file = os.path.join(".codex", "config.toml")
    asking_mode = ASKING
    starts_git = True
    options = OPTIONS
    harmless_commands = HARMLESS
    key_files = (LOGIN,)

    def prepare_home(self, credentials: Credentials, more: Mapping[str, Any]) -> None:
        private_files.make_folder(self._own_home)
        self._forget_other_keys(credentials)
        private_files.write_file(os.path.join(self._own_home, "config.toml"), AT_START)
        settings: dict[str, Any] = {
            "analytics": {"enabled": False},
            "check_for_update_on_startup": False,
            # Otherwise it has no tool for its plan.
            "tools": {"update_plan": {"enabled": True}},
            **({"model": credentials.model} if credentials.model else {}),
        }
        if credentials.base_url:
            # With its own provider it would try a WebSocket first.
            provider = {
                "name": "API",
                "base_url": credentials.base_url,
                "wire_api": "responses",
                "requires_openai_auth": True,
            }
            settings.update(model_provider=PROVIDER, model_providers={PROVIDER: provider})
        self._settings = merged_settings(settings, more)

    def home_variables(self, credentials: Credentials) -> dict[str, str]:
        """Does not contain the API key, which its tools would see."""
        return {
            **self.own_variables(),
            "CODEX_HOME": self._own_home,
            "CODEX_CONFIG": json.dumps(self._settings),
            # A login must not open a browser on this machine.
            "NO_BROWSER": "1",
        }

    def own_variables(self) -> Mapping[str, str]:
        return {"INITIAL_AGENT_MODE": ASKING}

    def check_workspace(self, workspace: str) -> None:
        """It trusts every workspace, and nothing keeps it from that."""
        path = first_of(workspace, OTHERS, (SETTINGS,), WORDS)
        if path:
            raise AgentError(VALIDATION_ERROR, NAMES_COMMANDS.with_values(path=path))
        super().check_workspace(workspace)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Credentials | None:
        return Credentials.like_openai(environment)

    def authentication_request(
        self, credentials: Credentials, methods: Sequence[AuthMethod]
    ) -> messages.OutgoingRequest[None] | None:
        if not credentials.api_key:
            return None
        return messages.authenticate_request(WITH_KEY, {WITH_KEY: {"apiKey": credentials.api_key}})

    def _forget_other_keys(self, credentials: Credentials) -> None:
        """It asks for no key as long as it has one, whichever that is. Raises OSError."""
        with suppress(FileNotFoundError, ValueError):
            with open(os.path.join(self.folder, LOGIN), encoding="utf-8") as file:
                kept = json.load(file)
            if isinstance(kept, dict) and credentials.api_key in kept.values():
                return
        forget_keys(self.folder, self.key_files)

    @property
    def _own_home(self) -> str:
        return os.path.join(self.folder, ".codex")
