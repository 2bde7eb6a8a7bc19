"""The ways to log in that a Gemini CLI would find. Pure; its results contain no secret."""

from __future__ import annotations

from typing import Any, Iterator, Mapping

API_KEY, VERTEX, GOOGLE = "gemini-api-key", "vertex-ai", "oauth-personal"
GATEWAY, COMPUTE = "gateway", ("cloud-shell", "compute-default-credentials")
# Since then Google has refused free and paid personal accounts (IneligibleTierError).
ENDED = "2026-06-18"
GOOGLE_LOGIN = (
    f"login with Google (Code Assist Standard or Enterprise; personal accounts ended on {ENDED})"
)
SELECTED = ("security", "auth", "selectedType")


def names_in(text: str) -> Iterator[str]:
    """The variables that a .env file sets to a value."""
    for line in text.splitlines():
        name, separator, value = line.strip().partition("=")
        name = name[len("export ") :] if name.startswith("export ") else name
        if separator and value.strip().strip("\"'") and not name.startswith("#"):
            yield name.strip()


def ways_to_log_in(
    environment: Mapping[str, str],
    env_files: Mapping[str, str],
    selected: Any,
    has_google_login: bool,
) -> tuple[str, ...]:
    """A phrase for each way to log in. `env_files` are texts by path. `selected` is the choice in
    the settings, None if there is none."""
    places = {name: "the environment" for name, value in environment.items() if value}
    for path, text in env_files.items():
        for name in names_in(text):
            places.setdefault(name, path)
    ways = []
    if selected in (API_KEY, GATEWAY):
        ways.append(
            "an API key" + (_named_place(places, "GEMINI_API_KEY") or ", as the CLI keeps it")
        )
    elif selected == VERTEX:
        ways.append("Vertex AI")
    elif selected == GOOGLE:
        ways.append(GOOGLE_LOGIN)
    elif selected in COMPUTE:
        ways.append("the credentials of this machine at Google Cloud")
    if not ways and "GEMINI_API_KEY" in places:
        ways.append("an API key" + _named_place(places, "GEMINI_API_KEY"))
    if not ways and "GOOGLE_GENAI_USE_VERTEXAI" in places:
        ways.append("Vertex AI" + _named_place(places, "GOOGLE_GENAI_USE_VERTEXAI"))
    if not ways and ("GOOGLE_GENAI_USE_GCA" in places or has_google_login):
        ways.append(GOOGLE_LOGIN)
    return tuple(ways)


def _named_place(places: Mapping[str, str], name: str) -> str:
    return f" ({name} in {places[name]})" if name in places else ""
