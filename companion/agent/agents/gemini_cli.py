"""Gemini CLI and all its peculiarities.

Source: docs/gemini-cli-acp.md.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from typing import Any, Callable, Mapping, Sequence

from ...base import private_files
from ..acp import messages
from ..attachments import Forms
from ..auth_method import AuthMethod
from ..credentials import API_KEY, GOOGLE, OWN, VERTEX, Credentials
from ..events import tool_call
from ..events.tool_call import Call
from ..failure import VALIDATION_ERROR, AgentError, is_network
from ..sentence import sentence
from ..turn_events import CANCEL, ONCE, PastTurn, Usage
from ..wording.surrogates import clean_surrogates
from . import gemini_resumption as resumption
from . import own_settings
from .cli import NO_CHANGES, AgentCli, NoGoogleLogin, Resumption, Retry, SessionFiles
from .cli_home import TRUSTED, acp_arguments, path_uri, write_settings, write_trusted
from .gemini_recording import Recording
from .known_versions import KnownVersions
from .message_text import BLANKS, NO_COMMAND
from .program import Program

FIXED = {
    # Without it there is a second process in between, which receives signals and passes none on.
    "GEMINI_CLI_NO_RELAUNCH": "true",
    # A login must not open a browser on this machine; the CLI then prints the address.
    "NO_BROWSER": "true",
    # With this the CLI reports at once that it asks the model again.
    **({} if os.name == "nt" else {"GEMINI_DEBUG_LOG_FILE": "/dev/stderr"}),
}
# Attempts of one request; the default, ten, would take minutes.
MAX_ATTEMPTS = 3
LOGIN, ACCOUNTS = "oauth_creds.json", "google_accounts.json"
# The CLI prints this when it asks a person to log in.
LOGIN_MARK = "https://accounts.google.com/"
# The addresses of Gemini's API and of Vertex AI, for gateways.
GEMINI_URL, VERTEX_URL = "GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL"
# The place of a login for Google Cloud.
CLOUD_LOGIN = "GOOGLE_APPLICATION_CREDENTIALS"
# A line of its log that says that the model is asked again; it does not name the session (1.6).
RETRY = re.compile(r"Attempt (?P<attempt>\d+) failed(?: with status (?P<status>\d+))?.* Retrying")


# Its mark for a change of its mode, within the answer (docs/gemini-cli-acp.md 2.18).
MODE_UPDATE = re.compile(r"\[MODE_UPDATE\] \w+\s*")
# Others would approve a tool for longer, one of them in a file.
OPTIONS = {
    "proceed_once": ONCE,
    "cancel": CANCEL,
}
# The rules that go before those of the user, in a file of our home.
RULES = "asking.toml"
ASKING = b"""# Gemini Companion writes this anew.
[[rule]]
toolName = ["write_file", "replace", "run_shell_command", "web_fetch", "activate_skill"]
decision = "ask_user"
priority = 900

[[rule]]
toolName = "*"
mcpName = "*"
decision = "ask_user"
priority = 900
"""
# What it takes from a file `.env` in any workspace, trusted or not, where it is not set.
FROM_WORKSPACE = (
    "GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION",
)  # fmt: skip
# No process has this number, so the CLI finds no editor that it could show a diff in besides.
NO_EDITOR_PROCESS = str(1 << 30)
# Commands that only show something.
HARMLESS = ("help", "about", "memory show", "memory list")
# Commands that change something, or read outside the protocol.
COMMANDS = ("help", "about", "memory", "init", "restore", "extensions")


class GeminiCli(AgentCli):
    """Its own folder in the home is `.gemini`."""

    id = "gemini"
    program = Program("Gemini CLI", "gemini", "@google/gemini-cli", "bundle/gemini.js")
    tested = KnownVersions("0.61.0")
    kinds = (API_KEY, GOOGLE, VERTEX)
    own_login = "gemini"
    home_file = os.path.join(".gemini", "settings.json")
    lists_sessions = False
    authenticates_first = asks_to_write = removes_sessions = True
    own_mark = MODE_UPDATE
    options = OPTIONS
    # Beside a resource or a file it drops images that are sent as images (docs/gemini-cli-acp.md
    # 11.67).
    attachment_forms = Forms(images_as_resources=True)
    harmless_commands = HARMLESS
    key_variables = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    url_variables = (GEMINI_URL, VERTEX_URL)

    def __init__(self, folder: str, trusted: bool) -> None:
        super().__init__(folder, trusted)
        self._own = os.path.join(folder, ".gemini")
        # The CLI's own folder in the user's home, as far as it is known.
        self._theirs = ""
        self.login = GeminiLogin(self._own)
        self.session_files = GeminiSessionFiles(self._own, self.trusts_workspace)
        self.users_session_files = UsersSessionFiles(lambda: self._theirs, self.trusts_workspace)

    def prepare_home(self, credentials: Credentials, more: Mapping[str, Any]) -> None:
        """Writes the settings each time, because the CLI adds the kind of login to them. With that
        and without a valid login, it would wait for a person before it sends anything."""
        settings: dict[str, Any] = {
            # With a terminal of their own, the output of commands does not reach the protocol.
            "tools": {"shell": {"enableInteractiveShell": False}},
            "general": {
                "maxAttempts": MAX_ATTEMPTS,
                "enableAutoUpdate": False,
                "enableAutoUpdateNotification": False,
                # It would remove recordings that are still to be loaded.
                "sessionRetention": {"enabled": False},
            },
            "security": {"folderTrust": {"enabled": not self.trusted}},
            "privacy": {"usageStatisticsEnabled": False},
        }
        write_settings(self.folder, self._own, settings, more)
        write_trusted(self._own, self.trusted_folders)

    def home_variables(self, credentials: Credentials) -> dict[str, str]:
        """Does not contain the API key, except for Vertex AI, which has no other way."""
        is_vertex = credentials.kind == VERTEX
        cloud = {
            "GOOGLE_CLOUD_PROJECT": credentials.project,
            "GOOGLE_CLOUD_LOCATION": credentials.location,
            "GOOGLE_API_KEY": credentials.api_key if is_vertex else "",
            VERTEX_URL if is_vertex else GEMINI_URL: credentials.base_url,
        }
        return {
            **FIXED,
            **({"GEMINI_CLI_TRUST_WORKSPACE": "true"} if self.trusted else {}),
            "GEMINI_CLI_HOME": self.folder,
            **{name: value for name, value in cloud.items() if value},
        }

    def prepare_own(self) -> None:
        private_files.write_file(os.path.join(self.folder, RULES), ASKING)
        write_trusted(self.folder, self.trusted_folders)

    def own_arguments(self) -> tuple[str, ...]:
        return "--approval-mode", "default", "--admin-policy", os.path.join(self.folder, RULES)

    def own_variables(self) -> Mapping[str, str]:
        return {**FIXED, "GEMINI_CLI_IDE_PID": NO_EDITOR_PROCESS}

    def process_environment(
        self,
        credentials: Credentials,
        more: Mapping[str, str],
        env: Mapping[str, str | None] = NO_CHANGES,
    ) -> dict[str, str]:
        found = super().process_environment(credentials, more, env)
        if credentials.kind != OWN:
            return found
        self._theirs = _folder_in(found)
        # In a folder that it does not trust, it leaves out the user's file of them.
        theirs = own_settings.variables_of(self._theirs)
        unset = {} if self.trusted else dict.fromkeys(FROM_WORKSPACE, "")
        return {**unset, **theirs, **found, **self._trust_variables()}

    def machine_variables(self, credentials: Credentials) -> dict[str, str]:
        """The place of the machine's own login for Google Cloud."""
        place = os.environ.get(CLOUD_LOGIN, "")
        is_needed = credentials.kind == VERTEX and not credentials.api_key
        return {CLOUD_LOGIN: place} if is_needed and place else {}

    @classmethod
    def address_variables(cls, url: str) -> dict[str, str]:
        return {GEMINI_URL: url}

    def _trust_variables(self) -> Mapping[str, str]:
        """The user may trust all folders in a terminal. With these it is as in our home: only those
        that are trusted here."""
        settings = own_settings.text_of(self._theirs)
        if self.trusted or not self.trusted_folders or own_settings.trusts_all(settings):
            return {"GEMINI_CLI_TRUST_WORKSPACE": json.dumps(self.trusted)}
        return {"GEMINI_CLI_TRUSTED_FOLDERS_PATH": os.path.join(self.folder, TRUSTED)}

    def read_retry(self, line: str) -> Retry | None:
        found = RETRY.match(line)
        if found is None:
            return None
        return Retry(int(found.group("attempt")), found.group("status") or "", is_network(line))

    def check_fields(self, credentials: Credentials) -> None:
        if credentials.kind == API_KEY:
            credentials.check_key()
        if credentials.kind == VERTEX and not (credentials.api_key or credentials.has_google_cloud):
            told = sentence("Vertex AI needs an API key, or a project and a location.")
            raise AgentError(VALIDATION_ERROR, told)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Credentials | None:
        """A key with the address that stands beside it: that of a gateway is for it alone."""
        key = environment.get("GEMINI_API_KEY", "").strip()
        if key:
            return Credentials(API_KEY, key, base_url=environment.get(GEMINI_URL, "").strip())
        key = environment.get("GOOGLE_API_KEY", "").strip()
        project = environment.get("GOOGLE_CLOUD_PROJECT", "")
        location = environment.get("GOOGLE_CLOUD_LOCATION", "")
        uses_vertex = environment.get("GOOGLE_GENAI_USE_VERTEXAI") == "true"
        if uses_vertex and (key or (project and location)):
            url = environment.get(VERTEX_URL, "").strip()
            return Credentials(VERTEX, key, project, location, url)
        return None

    def program_arguments(self, model: str) -> tuple[str, ...]:
        return acp_arguments(model)

    def authentication_request(
        self, credentials: Credentials, methods: Sequence[AuthMethod]
    ) -> messages.OutgoingRequest[None]:
        key = {"api-key": credentials.api_key} if credentials.kind == API_KEY else None
        return messages.authenticate_request(credentials.kind, key)

    def text_for(self, message: str) -> str:
        """A message that begins with "/" or "$" goes to the CLI's commands first, which run without
        asking (3)."""
        inner = message.strip(BLANKS)
        if not inner:
            raise AgentError(VALIDATION_ERROR, sentence("The message is empty."))
        if inner[0] not in "/$":
            return message
        words = re.split(r"\s+", inner[1:].strip(BLANKS))
        if any(" ".join(words) == known for known in HARMLESS):
            return inner
        if words[0].lower() in COMMANDS:
            raise AgentError(
                VALIDATION_ERROR,
                sentence(
                    "{command} is a command of the Gemini CLI that would run without asking.",
                    command=inner[0] + words[0],
                ),
            )
        return NO_COMMAND + inner

    def command_in(self, message: str) -> str:
        """Others than the harmless ones do not reach it (`text_for`)."""
        return ""

    def uri_of(self, path: str) -> str:
        return path_uri(path)

    def read_call(self, told: messages.ToolCallUpdate) -> Call:
        return tool_call.read_call(told)

    def read_usage(self, meta: messages.Meta) -> Usage:
        """The tokens in `quota`, which comes with the end of a turn."""
        quota = meta.get("quota")
        if not isinstance(quota, dict):
            return Usage()
        by_model = {
            str(each.get("model")): _token_counts(each)
            for each in quota.get("model_usage") or []
            if isinstance(each, dict)
        }
        return Usage(*_token_counts(quota), by_model=by_model)

    def writes_through_us(self, path: str, folder: str) -> bool:
        """Not outside the folder, and not in the CLI's own folder in the user's home (8.47)."""
        own = os.path.join(os.path.expanduser("~"), ".gemini")
        return _is_within(path, folder) and not _is_within(path, own)

    def missing_file_error(self, path: str) -> Any:
        """A text again: it knows a file that does not exist by this word (8.46)."""
        return f"ENOENT: no such file or directory, open '{path}'"

    def refusal_error(self, text: str) -> Any:
        """A text, although JSON-RPC expects an object: for an object the CLI tells the model
        "[object Object]" (8.48)."""
        return text


class GeminiLogin(NoGoogleLogin):
    """`folder` is the CLI's own one in the home."""

    is_offered = True

    def __init__(self, folder: str) -> None:
        self._folder = folder

    @property
    def is_there(self) -> bool:
        return os.path.isfile(os.path.join(self._folder, LOGIN))

    @property
    def account(self) -> str | None:
        try:
            with open(os.path.join(self._folder, ACCOUNTS), encoding="utf-8") as file:
                active = json.load(file)["active"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return clean_surrogates(active) if isinstance(active, str) else None

    def is_asked_for(self, noise: str) -> bool:
        return LOGIN_MARK in noise

    def forget(self) -> None:
        for name in (LOGIN, ACCOUNTS):
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(self._folder, name))


class GeminiSessionFiles(SessionFiles):
    """`folder` is the CLI's own one in our home."""

    def __init__(self, folder: str, trusts: Callable[[str], bool]) -> None:
        self._folder = folder
        self._trusts = trusts

    def recording_of(self, session: str) -> Recording:
        return Recording(self._folder, session)

    def prepare_resumption(
        self,
        workspace: str,
        id: str,
        last: str,
        turns: Sequence[PastTurn],
        capabilities: messages.AgentCapabilities,
    ) -> Resumption | None:
        if _has_settings(workspace, self._trusts):
            return None
        updates = resumption.write_recording(self._folder, workspace, id, turns)
        return None if updates is None else Resumption(messages.LOAD, id, updates)

    def remove_session(self, session: str) -> None:
        resumption.remove_recordings(self._folder, session)


class UsersSessionFiles(SessionFiles):
    """`folder` gives the CLI's own one in the user's home."""

    def __init__(self, folder: Callable[[], str], trusts: Callable[[str], bool]) -> None:
        self._folder = folder
        self._trusts = trusts

    def recording_of(self, session: str) -> Recording:
        return Recording(self._folder(), session)

    def prepare_resumption(
        self,
        workspace: str,
        id: str,
        last: str,
        turns: Sequence[PastTurn],
        capabilities: messages.AgentCapabilities,
    ) -> Resumption | None:
        folder = self._folder()
        # Without a kind of login in its settings it begins sessions, and loads none.
        knows = own_settings.names_login(own_settings.text_of(folder))
        if not last or not knows or _has_settings(workspace, self._trusts):
            return None
        count = resumption.count_own_updates(folder, last)
        return None if count is None else Resumption(messages.LOAD, last, count)


def _has_settings(workspace: str, trusts: Callable[[str], bool]) -> bool:
    """Whether the workspace has settings that count: a loaded session has those of the process's
    folder, not these (docs/gemini-cli-acp.md 9.50)."""
    path = os.path.join(workspace, ".gemini", "settings.json")
    return os.path.exists(path) and trusts(workspace)


def _folder_in(environment: Mapping[str, str]) -> str:
    """The CLI's own folder for a process with this environment."""
    home = environment.get("USERPROFILE" if os.name == "nt" else "HOME", "")
    home = environment.get("GEMINI_CLI_HOME") or home or os.path.expanduser("~")
    return os.path.join(home, ".gemini")


def _is_within(path: str, folder: str) -> bool:
    return os.path.normpath(path).startswith(os.path.join(os.path.normpath(folder), ""))


def _token_counts(holder: Mapping[str, Any]) -> tuple[int, int]:
    count = holder.get("token_count")
    if not isinstance(count, dict):
        return 0, 0
    return int(count.get("input_tokens") or 0), int(count.get("output_tokens") or 0)
