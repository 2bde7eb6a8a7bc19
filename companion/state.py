"""What outlives the companion: ports, tokens, sessions and decisions that nobody took yet.

One file, which only this user can read, a line of JSON for each window. So an upgrade of the
package, or a restart of the editor, goes unnoticed by a CLI that comes back soon enough, and no
decision is lost to one that does not.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass, replace
from typing import Any

from . import private
from .log import logger

VERSION = 3
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
    the epoch; `undelivered` are messages, as JSON, whose session is gone; `unwritten` has path,
    text and moment of what was accepted and is not on disk yet."""

    folders: tuple[str, ...]
    port: int
    token: str
    sessions: tuple[SavedSession, ...]
    undelivered: tuple[str, ...]
    saved_at: float
    unwritten: tuple[tuple[str, str, float], ...] = ()


def load(path: str) -> list[SavedWorkspace]:
    """What was saved, without what is too old; nothing where there is no file that can be read."""
    private.sweep(os.path.dirname(path))
    try:
        with open(path, encoding="ascii") as file:
            if json.loads(file.readline())["version"] != VERSION:
                return []
            found = [_workspace(json.loads(line)) for line in file]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, KeyError, TypeError) as error:
        logger.warning("the saved state could not be read: %s", type(error).__name__)
        return []
    oldest = time.time() - MAX_AGE * 24 * 60 * 60
    return [workspace for workspace in found if workspace.saved_at > oldest]


def save(path: str, workspaces: list[SavedWorkspace]) -> str:
    """Write the newest of the workspaces; gives what went wrong, as a sentence for the user."""
    try:
        os.makedirs(os.path.dirname(os.path.dirname(path)), exist_ok=True)
        private.make_folder(os.path.dirname(path))
        private.write(path, b"".join(_lines(workspaces)))
    except OSError as error:
        return f"What has to outlive a restart could not be saved: {path} ({error.strerror})."
    except private.NotPrivate as error:
        return f"What has to outlive a restart could not be saved: {error}"
    return ""


def _lines(workspaces: list[SavedWorkspace]) -> list[bytes]:
    """The newest first. Where all is too much, the texts of open diffs go before any decision: the
    editor keeps those in its tabs, too."""
    kept = sorted(workspaces, key=lambda it: it.saved_at, reverse=True)[:MAX_WORKSPACES]
    lines = [_line(asdict(each)) for each in kept]
    if sum(map(len, lines)) > MAX_BYTES:
        lines = [_line(asdict(_without_proposals(each))) for each in kept]
    while sum(map(len, lines)) > MAX_BYTES:
        logger.error("a window's state was too large to be saved")
        lines.pop()
    return [_line({"version": VERSION})] + lines


def _without_proposals(workspace: SavedWorkspace) -> SavedWorkspace:
    sessions = tuple(replace(session, proposals=()) for session in workspace.sessions)
    return replace(workspace, sessions=sessions)


def _line(entry: dict[str, Any]) -> bytes:
    # Piece by piece: in one go, megabytes of text would hold up every other thread.
    return "".join(json.JSONEncoder().iterencode(entry)).encode("ascii") + b"\n"


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
        tuple((str(path), str(text), float(at)) for path, text, at in entry["unwritten"]),
    )
