"""The home that a CLI gets instead of the user's, as far as it is the same for all CLIs: settings
that are written each time, and an environment without the user's secrets."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any, Mapping, Sequence

from ...base import private_files
from ...base.child_processes import INHERITED

# Programs that git would start by itself, by the key of a repository's settings, and what counts in
# place of what the repository says.
GIT_INSTEAD = {"core.fsmonitor": "false"}
GIT_COUNT = "GIT_CONFIG_COUNT"
# The empty file at which the CLI's search for variables ends; otherwise it would continue in the
# folders above.
NO_VARIABLES = ".env"
# The file in which Gemini CLI and its relatives look for the folders that they may trust.
TRUSTED = "trustedFolders.json"


def acp_arguments(model: str) -> tuple[str, ...]:
    """The arguments of Gemini CLI and its relatives. `model` is that of new sessions, or ""."""
    return ("--acp", *(("--model", model) if model else ()))


def path_uri(path: str) -> str:
    """Not a proper URI: Gemini CLI and its relatives cut off seven letters and take the rest as a
    path."""
    return "file://" + path


def inherited_variables() -> dict[str, str]:
    """The variables in INHERITED that are set."""
    return {name: os.environ[name] for name in INHERITED if name in os.environ}


def with_changes(
    environment: Mapping[str, str], changes: Mapping[str, str | None]
) -> dict[str, str]:
    """The environment with these variables; one whose value is None is taken away."""
    result = {**environment, **changes}
    return {name: value for name, value in result.items() if value is not None}


def without_git_programs(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment with what keeps git from starting programs by itself, after the settings
    that are in it already."""
    told = environment.get(GIT_COUNT, "")
    count = int(told) if told.isdecimal() else 0
    result = dict(environment)
    for at, (key, value) in enumerate(GIT_INSTEAD.items(), count):
        result[f"GIT_CONFIG_KEY_{at}"], result[f"GIT_CONFIG_VALUE_{at}"] = key, value
    result[GIT_COUNT] = str(count + len(GIT_INSTEAD))
    return result


def write_settings(
    home: str, folder: str, settings: Mapping[str, Any], more: Mapping[str, Any]
) -> None:
    """`folder` is the CLI's own folder in the home; `more` goes on top. Raises OSError,
    NotPrivate."""
    private_files.make_folder(folder)
    private_files.write_file(os.path.join(home, NO_VARIABLES), b"")
    data = json.dumps(merged_settings(settings, more), ensure_ascii=False).encode("utf-8")
    private_files.write_file(os.path.join(folder, "settings.json"), data)


def write_trusted(folder: str, trusted: Sequence[str]) -> str:
    """Tell Gemini CLI and its relatives which folders they may trust, with all in them. Gives the
    path of the file. Raises OSError, NotPrivate."""
    told = json.dumps({path: "TRUST_FOLDER" for path in trusted}, ensure_ascii=False)
    path = os.path.join(folder, TRUSTED)
    private_files.write_file(path, told.encode("utf-8"))
    return path


def forget_keys(home: str, names: Sequence[str]) -> None:
    """Remove these files of the home. Raises OSError."""
    for name in names:
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(home, name))


def merged_settings(base: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the members of `more`, at every depth, on top."""
    result = dict(base)
    for name, value in more.items():
        known = result.get(name)
        if isinstance(known, dict) and isinstance(value, dict):
            value = merged_settings(known, value)
        result[name] = value
    return result
