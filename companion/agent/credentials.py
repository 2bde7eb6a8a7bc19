"""The credentials for the model's API, the file that keeps them, and what is known about them."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Callable, Mapping

from ..base import private_files
from .failure import VALIDATION_ERROR, AgentError
from .sentence import sentence

API_KEY, GOOGLE, VERTEX = "gemini-api-key", "oauth-personal", "vertex-ai"
OPENAI, ANTHROPIC = "openai", "anthropic"
# The agent has its own credentials, and we know nothing of them.
OWN = "own-login"
KINDS = (API_KEY, GOOGLE, VERTEX, OPENAI, ANTHROPIC, OWN)
# What was chosen; and beside the user's own login, what was chosen before that.
FILE, KEY_FILE = "credentials.json", "key.json"
# The homes that an agent can have, as conversations keep them: ours, and its user's.
OURS, USERS = "ours", "users"


@dataclass(frozen=True)
class Credentials:
    """`kind` is one of KINDS. `project` and `location` belong to Google Cloud, `base_url` to
    a gateway or an API like OpenAI's or Anthropic's, `model` to the latter. The text of an instance
    never contains the key."""

    kind: str
    api_key: str = field(default="", repr=False)
    project: str = ""
    location: str = ""
    base_url: str = ""
    model: str = ""

    def check_texts(self) -> None:
        """Raises AgentError if a text cannot be passed on. The CLI itself reports what each kind
        needs."""
        for text in (self.api_key, self.project, self.location, self.base_url, self.model):
            if any(not letter.isprintable() for letter in text):
                told = sentence("Expected text without control characters.")
                raise AgentError(VALIDATION_ERROR, told)

    def check_key(self) -> None:
        """Raises AgentError if there is no key."""
        if not self.api_key.strip():
            told = sentence("An API key is needed for this kind of login.")
            raise AgentError(VALIDATION_ERROR, told)

    @classmethod
    def like_openai(cls, environment: Mapping[str, str]) -> Credentials | None:
        """The credentials in the variables that programs for OpenAI's API use; None if there is no
        key."""
        key, url, model = (
            environment.get(f"OPENAI_{name}", "").strip()
            for name in ("API_KEY", "BASE_URL", "MODEL")
        )
        return cls(OPENAI, key, base_url=url, model=model) if key else None

    @property
    def has_google_cloud(self) -> bool:
        return bool(self.project and self.location)


@dataclass(frozen=True)
class AuthStatus:
    """`is_verified` says whether a turn has succeeded with these credentials."""

    is_authenticated: bool
    kind: str | None
    has_api_key: bool
    has_google_cloud_config: bool
    account: str | None
    is_verified: bool


@dataclass(frozen=True)
class UsedLogin:
    """The kind of the credentials of an agent, empty if there are none. `is_chosen` says that
    somebody chose them; else they are what counts where nobody did. With `has_variables` the
    agent's variables in the settings have a key or an address beside the user's own login."""

    kind: str = ""
    is_chosen: bool = False
    has_variables: bool = False


def home_of(credentials: Credentials) -> str:
    """The home of a process with these credentials."""
    return USERS if credentials.kind == OWN else OURS


class Store:
    """Keeps the credentials in files that only this user can read. `check` raises AgentError for
    useless ones. Methods raise OSError."""

    def __init__(self, folder: str, check: Callable[[Credentials], None]) -> None:
        self._path = os.path.join(folder, FILE)
        self._key_path = os.path.join(folder, KEY_FILE)
        self._check = check

    def load(self) -> Credentials | None:
        """None if there are none, or if the file cannot be understood."""
        return self._read_file(self._path)

    def load_key(self) -> Credentials | None:
        """The last ones that were not the user's own login, as `load`."""
        for path in (self._path, self._key_path):
            found = self._read_file(path)
            if found is not None and found.kind != OWN:
                return found
        return None

    def save(self, credentials: Credentials) -> None:
        """Keep these; beside the user's own login those before, with which conversations were
        begun."""
        key = self.load_key() if credentials.kind == OWN else None
        if key is not None:
            self._write_file(self._key_path, key)
        self._write_file(self._path, credentials)
        if credentials.kind != OWN:
            self._remove_file(self._key_path)

    def clear(self) -> None:
        # In this order: with the key alone, old conversations would go on.
        self._remove_file(self._key_path)
        self._remove_file(self._path)

    def _read_file(self, path: str) -> Credentials | None:
        try:
            with open(path, encoding="utf-8") as file:
                value = json.load(file)
            credentials = Credentials(**{name: str(value[name]) for name in value})
            self._check(credentials)
        except (FileNotFoundError, ValueError, TypeError, AgentError):
            return None
        return credentials

    def _write_file(self, path: str, credentials: Credentials) -> None:
        private_files.write_file(path, json.dumps(asdict(credentials)).encode("utf-8"))

    def _remove_file(self, path: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(path)
