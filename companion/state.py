"""What outlives the companion: ports, tokens, sessions and decisions that nobody took yet.

One file, which only this user can read. So an upgrade of the package, or a restart of the editor,
goes unnoticed by a CLI that comes back soon enough, and no decision is lost to one that does not.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass
from typing import Any

from . import private
from .log import logger

VERSION = 2
# Days after which nobody comes back any more.
MAX_AGE = 7
# Workspaces and bytes kept, the newest first.
MAX_WORKSPACES = 32
MAX_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class SavedSession:
    """A session's ids and what it is still to be told: `undelivered` holds pairs of an event id and
    a message, as JSON; `awaiting` the paths of its open diffs; `proposals` pairs of such a path and
    the text as the user had it last."""

    id: str
    protocol_version: str
    last_id: int
    awaiting: tuple[str, ...]
    undelivered: tuple[tuple[int, str], ...]
    proposals: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class SavedWorkspace:
    """A window's endpoint. `folders` say which window gets it back; `saved_at` is in seconds since
    the epoch; `undelivered` are messages, as JSON, whose session is gone."""

    folders: tuple[str, ...]
    port: int
    token: str
    sessions: tuple[SavedSession, ...]
    undelivered: tuple[str, ...]
    saved_at: float


def load(path: str) -> list[SavedWorkspace]:
    """What was saved, without what is too old; nothing where there is no file that can be read."""
    try:
        with open(path, encoding="ascii") as file:
            content = json.load(file)
        if content["version"] != VERSION:
            return []
        found = [_workspace(entry) for entry in content["workspaces"]]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as error:
        logger.warning("the saved state could not be read: %s", type(error).__name__)
        return []
    oldest = time.time() - MAX_AGE * 24 * 60 * 60
    return [workspace for workspace in found if workspace.saved_at > oldest]


def save(path: str, workspaces: list[SavedWorkspace]) -> None:
    """Write the newest of the workspaces; a disk that refuses is logged."""
    kept = sorted(workspaces, key=lambda it: it.saved_at, reverse=True)[:MAX_WORKSPACES]
    data = _encode(kept)
    while len(data) > MAX_BYTES and kept:
        kept.pop()
        data = _encode(kept)
    try:
        os.makedirs(os.path.dirname(os.path.dirname(path)), exist_ok=True)
        private.make_folder(os.path.dirname(path))
        private.write(path, data)
    except (OSError, private.NotPrivate) as error:
        logger.error("the state could not be saved: %s", error)


def _encode(workspaces: list[SavedWorkspace]) -> bytes:
    entries = [asdict(workspace) for workspace in workspaces]
    return json.dumps({"version": VERSION, "workspaces": entries}).encode("ascii")


def _workspace(entry: dict[str, Any]) -> SavedWorkspace:
    sessions = tuple(
        SavedSession(
            str(each["id"]),
            str(each["protocol_version"]),
            int(each["last_id"]),
            tuple(each["awaiting"]),
            tuple((int(id), str(message)) for id, message in each["undelivered"]),
            tuple((str(path), str(text)) for path, text in each["proposals"]),
        )
        for each in entry["sessions"]
    )
    return SavedWorkspace(
        tuple(entry["folders"]),
        int(entry["port"]),
        str(entry["token"]),
        sessions,
        tuple(entry["undelivered"]),
        float(entry["saved_at"]),
    )
