"""Qwen Code and all its peculiarities.

Source: docs/gemini-cli-acp.md 10.
"""

from __future__ import annotations

import glob
import json
import os
import re
from contextlib import suppress
from typing import Any, Mapping, Sequence

from ...base import private_files
from ..acp import messages
from ..auth_method import AuthMethod
from ..credentials import OPENAI, Credentials
from ..events import tool_call
from ..events.tool_call import Call
from ..failure import VALIDATION_ERROR, AgentError
from ..sentence import sentence
from ..turn_events import CANCEL, ONCE, PastTurn, Usage
from .cli import AgentCli, Resumption, SessionFiles
from .cli_home import TRUSTED, acp_arguments, path_uri, write_settings, write_trusted
from .known_versions import KnownVersions
from .message_text import BLANKS, NO_COMMAND
from .program import Program

# Attempts of one request after the first; the default, seven, would take minutes.
RETRIES = 2
# Of a model that it does not know it believes that it takes no images. If the model refuses one, it
# asks again without.
MODALITIES = {"image": True}
# Others would approve a tool for longer, or go back to a mode in which nobody is asked.
OPTIONS = {
    "proceed_once": ONCE,
    "cancel": CANCEL,
}
# Settings that go before those of the user, in a file of our home. Of rules, those that deny count
# most, and then those that ask.
OVER_THEIRS = "over-theirs.json"
ASKED = ("Edit", "WriteFile", "NotebookEdit", "Bash", "WebFetch", "WebSearch", "mcp__*")
FIXED = {
    # Without it there is a third process, a second later, to have more memory than Node gives.
    "QWEN_CODE_NO_RELAUNCH": "true",
}
# Where an administrator may have put such settings.
SYSTEM = "QWEN_CODE_SYSTEM_SETTINGS_PATH"
# Commands that only show something.
HARMLESS = ("about", "status", "help", "context", "stats")
# The encodings of its writes that we can write; others would be changed.
ENCODINGS = ("", "utf-8", "utf8", "ascii")


class QwenCode(AgentCli):
    """Its own folder in the home is `.qwen`. It uses an API like OpenAI's."""

    id = "qwen"
    key_variables = ("OPENAI_API_KEY",)
    url_variables = ("OPENAI_BASE_URL",)
    program = Program("Qwen Code", "qwen", "@qwen-code/qwen-code", "cli-entry.js")
    tested = KnownVersions("0.24.4")
    kinds = (OPENAI,)
    own_login = "qwen"
    home_file = os.path.join(".qwen", "settings.json")
    asking_mode = "default"
    authenticates_first = asks_to_write = removes_sessions = starts_git = True
    asks_for_messages = "craft/drainMidTurnQueue"
    options = OPTIONS
    harmless_commands = HARMLESS
    key_files = (os.path.join(".qwen", "settings.json"),)

    def __init__(self, folder: str, trusted: bool) -> None:
        super().__init__(folder, trusted)
        self._own = os.path.join(folder, ".qwen")
        self.session_files = QwenSessionFiles(self._own)

    def prepare_home(self, credentials: Credentials, more: Mapping[str, Any]) -> None:
        auth: dict[str, Any] = {"selectedType": OPENAI, "apiKey": credentials.api_key}
        if credentials.base_url:
            auth["baseUrl"] = credentials.base_url
        settings: dict[str, Any] = {
            # Its own default edits files without asking.
            "tools": {"approvalMode": "default"},
            "general": {"enableAutoUpdate": False},
            "model": {
                "generationConfig": {"maxRetries": RETRIES, "modalities": MODALITIES},
                **({"name": credentials.model} if credentials.model else {}),
            },
            "security": {"auth": auth, "folderTrust": {"enabled": not self.trusted}},
            # It would ask the model for what the user could say next, and for what to remember.
            "ui": {"enableFollowupSuggestions": False},
            "memory": {"enableManagedAutoMemory": False},
            "privacy": {"usageStatisticsEnabled": False},
        }
        write_settings(self.folder, self._own, settings, more)
        write_trusted(self._own, self.trusted_folders)

    def home_variables(self, credentials: Credentials) -> dict[str, str]:
        return {**FIXED, "QWEN_HOME": self._own}

    def prepare_own(self) -> None:
        settings = {
            "permissions": {"ask": ASKED},
            "security": {"folderTrust": {"enabled": not self.trusted}},
        }
        path = os.path.join(self.folder, OVER_THEIRS)
        private_files.write_file(path, json.dumps(settings).encode("utf-8"))
        write_trusted(self.folder, self.trusted_folders)

    def own_arguments(self) -> tuple[str, ...]:
        return "--approval-mode", "default"

    def own_variables(self) -> Mapping[str, str]:
        return {
            **FIXED,
            SYSTEM: os.path.join(self.folder, OVER_THEIRS),
            "QWEN_CODE_TRUSTED_FOLDERS_PATH": os.path.join(self.folder, TRUSTED),
        }

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Credentials | None:
        return Credentials.like_openai(environment)

    def program_arguments(self, model: str) -> tuple[str, ...]:
        return acp_arguments(model)

    def authentication_request(
        self, credentials: Credentials, methods: Sequence[AuthMethod]
    ) -> messages.OutgoingRequest[None]:
        return messages.authenticate_request(OPENAI)

    def text_for(self, message: str) -> str:
        inner = message.strip(BLANKS)
        if not inner:
            raise AgentError(VALIDATION_ERROR, sentence("The message is empty."))
        if inner[0] != "/":
            return message
        words = re.split(r"\s+", inner[1:])
        return inner if words in ([each] for each in HARMLESS) else NO_COMMAND + inner

    def command_in(self, message: str) -> str:
        """Others than the harmless ones do not reach it (`text_for`)."""
        return ""

    def uri_of(self, path: str) -> str:
        return path_uri(path)

    def read_call(self, told: messages.ToolCallUpdate) -> Call:
        return tool_call.read_call(
            told, str(told.meta.get("toolName") or "tool"), told.raw_input or {}
        )

    def parent_call(self, meta: messages.Meta) -> str:
        return str(meta.get("parentToolCallId") or "")

    def said_meanwhile(self, texts: Sequence[str]) -> Mapping[str, Any]:
        return {"messages": list(texts)}

    def read_usage(self, meta: messages.Meta) -> Usage:
        """It sends the tokens of each request with the last piece of the answer."""
        tokens = meta.get("usage")
        if not isinstance(tokens, dict):
            return Usage()
        return Usage(int(tokens.get("inputTokens") or 0), int(tokens.get("outputTokens") or 0))

    def text_to_write(self, request: messages.WriteTextFile) -> str:
        """It sends the text with plain line ends, and names those of the file."""
        text, said = request.content, request.meta
        encoding = str(said.get("encoding") or "")
        if encoding.lower() not in ENCODINGS:
            told = sentence("Files in {encoding} cannot be written here.", encoding=encoding)
            raise AgentError(VALIDATION_ERROR, told)
        if said.get("lineEnding") == "crlf":
            text = text.replace("\r\n", "\n").replace("\n", "\r\n")
        return text


class QwenSessionFiles(SessionFiles):
    """`folder` is the CLI's own one in our home."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def prepare_resumption(
        self,
        workspace: str,
        id: str,
        last: str,
        turns: Sequence[PastTurn],
        capabilities: messages.AgentCapabilities,
    ) -> Resumption | None:
        """It has its own recordings and resumes them itself."""
        return Resumption(messages.RESUME, last) if self._recording_paths(last) else None

    def remove_session(self, session: str) -> None:
        for path in self._recording_paths(session):
            with suppress(OSError):
                os.unlink(path)

    def _recording_paths(self, session: str) -> list[str]:
        name = glob.escape(session) + ".jsonl"
        return glob.glob(os.path.join(glob.escape(self._folder), "projects", "*", "chats", name))
