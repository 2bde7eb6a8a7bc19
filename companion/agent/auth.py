"""Who the agent is to Google: credentials, the file that keeps them, and what is known of them."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any, Mapping

from ..base import private_files
from .failure import VALIDATION_ERROR, AgentError, not_among
from .sentence import sentence

API_KEY, GOOGLE, VERTEX = "gemini-api-key", "oauth-personal", "vertex-ai"
KINDS = (API_KEY, GOOGLE, VERTEX)
FILE = "credentials.json"


@dataclass(frozen=True)
class Credentials:
    """`kind` is one of KINDS, `project` and `location` are those of Google Cloud. No text of an
    instance shows the key."""

    kind: str
    api_key: str = field(default="", repr=False)
    project: str = ""
    location: str = ""

    def check(self) -> None:
        """Raises AgentError where something is missing or could not be handed on."""
        if self.kind not in KINDS:
            raise not_among(KINDS, self.kind)
        for text in (self.api_key, self.project, self.location):
            if any(not letter.isprintable() for letter in text):
                told = sentence("Expected text without control characters.")
                raise AgentError(VALIDATION_ERROR, told)
        if self.kind == API_KEY and not self.api_key.strip():
            told = sentence("An API key is needed for this kind of login.")
            raise AgentError(VALIDATION_ERROR, told)
        if self.kind == VERTEX and not (self.api_key or (self.project and self.location)):
            told = sentence("Vertex AI needs an API key, or a project and a location.")
            raise AgentError(VALIDATION_ERROR, told)

    @property
    def has_google_cloud(self) -> bool:
        return bool(self.project and self.location)

    @property
    def environment(self) -> dict[str, str]:
        """What the agent can learn in no other way. The API key is not in it, save for Vertex AI,
        for which there is no other way either."""
        variables = {
            "GOOGLE_CLOUD_PROJECT": self.project,
            "GOOGLE_CLOUD_LOCATION": self.location,
            "GOOGLE_API_KEY": self.api_key if self.kind == VERTEX else "",
        }
        if self.kind == VERTEX and not self.api_key:
            # Where the machine's own login for Google Cloud is.
            variables["GOOGLE_APPLICATION_CREDENTIALS"] = os.environ.get(
                "GOOGLE_APPLICATION_CREDENTIALS", ""
            )
        return {name: value for name, value in variables.items() if value}

    @property
    def request(self) -> dict[str, Any]:
        """The parameters of `authenticate`."""
        if self.kind == API_KEY:
            return {"methodId": self.kind, "_meta": {"api-key": self.api_key}}
        return {"methodId": self.kind}


@dataclass(frozen=True)
class AuthStatus:
    """`is_verified` says whether a turn has gone well with these credentials."""

    is_authenticated: bool
    kind: str | None
    has_api_key: bool
    has_google_cloud_config: bool
    account: str | None
    is_verified: bool


def from_environment(environment: Mapping[str, str]) -> Credentials | None:
    """What a user of the CLI may have set already; None where nothing is."""
    key = environment.get("GEMINI_API_KEY", "").strip()
    if key:
        return Credentials(API_KEY, key)
    key = environment.get("GOOGLE_API_KEY", "").strip()
    project = environment.get("GOOGLE_CLOUD_PROJECT", "")
    location = environment.get("GOOGLE_CLOUD_LOCATION", "")
    if environment.get("GOOGLE_GENAI_USE_VERTEXAI") == "true" and (key or (project and location)):
        return Credentials(VERTEX, key, project, location)
    return None


class Store:
    """Keeps the credentials in a file that only this user can read. Methods raise OSError."""

    def __init__(self, folder: str) -> None:
        self._path = os.path.join(folder, FILE)

    def load(self) -> Credentials | None:
        """None where there are none, or a file that makes no sense."""
        try:
            with open(self._path, encoding="utf-8") as file:
                value = json.load(file)
            credentials = Credentials(**{name: str(value[name]) for name in value})
            credentials.check()
        except (FileNotFoundError, ValueError, TypeError, AgentError):
            return None
        return credentials

    def save(self, credentials: Credentials) -> None:
        private_files.write(self._path, json.dumps(asdict(credentials)).encode("utf-8"))

    def clear(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._path)
