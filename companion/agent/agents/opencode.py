"""opencode and its peculiarities.

Source: docs/agents.md.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import Any, Mapping

from ...base import private_files
from ..acp import messages
from ..credentials import OPENAI, Credentials
from ..events.tool_call import Call
from ..failure import VALIDATION_ERROR, AgentError
from ..sentence import sentence
from ..turn_events import CANCEL, ONCE
from .cli import AgentCli
from .cli_home import merged_settings
from .known_versions import KnownVersions
from .program import Program
from .untrusted_workspace import first_of

# The file of its home with its settings, and the key among them.
SETTINGS = "opencode.json"
# Our name for the provider in its settings; and what counts where no model and no address is named.
PROVIDER, MODEL, ADDRESS = "api", "gpt-5", "https://api.openai.com/v1"
# Without this, its models are told that an image was attached that they cannot read.
MODALITIES = {"input": ["text", "image"], "output": ["text"]}
# The tools of the editor, which only tell what is in it.
EDITOR = "editor_*"
# Its own default runs everything unasked. Of several rules that fit, the last one counts.
ASKING = {
    "*": "ask",
    "read": {"*": "allow", "*.env": "ask", "*.env.*": "ask", "*.env.example": "allow"},
    **dict.fromkeys(("glob", "grep", "list", "todowrite", "todoread", "question"), "allow"),
    **dict.fromkeys(("skill", "task", "plan_enter", EDITOR), "allow"),
}
# The same beside the user's own settings, where a rule of the same name would stand where theirs
# stands: so each has a pattern for a name. Tools of servers have a "_" in their names. `shell` is
# what version 2 calls `bash`.
ASKING_TOO = {
    **dict.fromkeys(("edi?", "bas?", "shel?", "webfetc?", "websearc?", "?*_?*"), "ask"),
    "editor_?*": "allow",
}
OPTIONS = {"once": ONCE, "reject": CANCEL}
# Where a workspace may name plugins: its folders of them, and its settings.
FOLDERS = (".opencode/plugin", ".opencode/plugins")
FILES = tuple(
    place + name for place in (".opencode/", "") for name in ("opencode.json", "opencode.jsonc")
)
# Letters may be written as numbers.
WORDS = (b"plugin", b"\\u")
HAS_PLUGINS = sentence(
    "{path} has plugins of opencode, which would run as soon as it is opened. To trust"
    ' them, name your folder in "trusted_folders" in the settings of the editor, or start the'
    " server with --trust."
)


class OpenCode(AgentCli):
    """Its folders are those of the XDG base directories, in the home. It uses an API like OpenAI's.

    It offers to write files through us, and then writes its own text over what we wrote; so it
    writes them itself."""

    id = "opencode"
    key_variables = ("OPENAI_API_KEY",)
    url_variables = ("OPENAI_BASE_URL",)
    program = Program(
        "opencode",
        "opencode",
        "opencode-ai",
        "bin/opencode.exe",
        # The other one is empty if npm did not run the package's script.
        "opencode-{machine}/bin/opencode" + (".exe" if os.name == "nt" else ""),
    )
    tested = KnownVersions("1.18.33")
    kinds = (OPENAI,)
    own_login = "opencode auth login"
    home_file = SETTINGS
    unprevented = "your rules for one of its agents count"
    options = OPTIONS
    key_files = (SETTINGS,)

    def program_arguments(self, model: str) -> tuple[str, ...]:
        return ("acp",)

    def prepare_home(self, credentials: Credentials, more: Mapping[str, Any]) -> None:
        """The key is in a file of its own, because its tools see its environment."""
        model = credentials.model or MODEL
        address = credentials.base_url or ADDRESS
        options = {"apiKey": credentials.api_key, "baseURL": address}
        settings: dict[str, Any] = {
            "provider": {
                PROVIDER: {
                    "npm": "@ai-sdk/openai-compatible",
                    "name": "API",
                    "options": options,
                    "models": {model: {"name": model, "modalities": MODALITIES}},
                }
            },
            "model": f"{PROVIDER}/{model}",
            "small_model": f"{PROVIDER}/{model}",
            "permission": ASKING,
            "autoupdate": False,
            "share": "disabled",
        }
        data = json.dumps(merged_settings(settings, more), ensure_ascii=False).encode("utf-8")
        private_files.write_file(self._settings_path, data)

    def home_variables(self, credentials: Credentials) -> dict[str, str]:
        folders = {
            f"XDG_{name}_HOME": os.path.join(self.folder, name.lower())
            for name in ("CONFIG", "DATA", "STATE", "CACHE")
        }
        return {
            **folders,
            "OPENCODE_CONFIG": self._settings_path,
            # The settings in the user's .opencode would count before these, and allow everything.
            "OPENCODE_TEST_HOME": self.folder,
            "OPENCODE_DISABLE_AUTOUPDATE": "true",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "true",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "true",
            # The list of all models of all providers, from its makers.
            "OPENCODE_DISABLE_MODELS_FETCH": "true",
            **self._without_project,
        }

    def own_variables(self) -> Mapping[str, str]:
        return {"OPENCODE_PERMISSION": json.dumps(ASKING_TOO), **self._without_project}

    def check_workspace(self, workspace: str) -> None:
        """No option of its keeps it from running a workspace's plugins."""
        path = first_of(workspace, FOLDERS, FILES, WORDS)
        if path:
            raise AgentError(VALIDATION_ERROR, HAS_PLUGINS.with_values(path=path))
        super().check_workspace(workspace)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Credentials | None:
        return Credentials.like_openai(environment)

    def read_call(self, told: messages.ToolCallUpdate) -> Call:
        """It names a file in the arguments only. Where it asks about an edit, it tells that twice:
        as content, and once more as a text among the arguments."""
        call = super().read_call(told)
        args = {
            name: value for name, value in call.args.items() if name != "diff" or not call.diffs
        }
        return replace(call, args=args, path=call.path or str(args.get("filePath") or ""))

    @property
    def _without_project(self) -> Mapping[str, str]:
        return {} if self.trusted else {"OPENCODE_DISABLE_PROJECT_CONFIG": "true"}

    @property
    def _settings_path(self) -> str:
        return os.path.join(self.folder, SETTINGS)
