"""What outlives the companion: ports, tokens, sessions and decisions that nobody took yet.

One file, which only this user can read, a line of JSON for each window. So an upgrade of the
package, or a restart of the editor, goes unnoticed by a CLI that comes back soon enough, and no
decision is lost to one that does not.
"""

from __future__ import annotations

import json
import math
import os
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, Iterator

from ..base import private_files
from ..base.log import logger

VERSION = 4
# Days after which nobody comes back any more; and those that texts of the user's are kept.
MAX_AGE = 7
MAX_TEXT_AGE = 90
# Workspaces kept beside those with texts of the user's, the newest first; and bytes of all.
MAX_WORKSPACES = 32
MAX_BYTES = 64 * 1024 * 1024
# What could not be read is put beside the file under its name and this.
UNREAD = ".unread"
TOO_MUCH = (
    "More texts wait for Gemini CLI than are kept over a restart; the oldest will not be. See"
    ' "Gemini Companion: Show Kept Decisions".'
)


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
    """A window's endpoint. `folders`, and with several such the editor's `window_id`, say which
    window gets it back; `saved_at` is in seconds since the epoch; `undelivered` are messages, as
    JSON, whose session is gone; `unwritten` has path, text and moment of what was accepted and is
    not on disk yet."""

    folders: tuple[str, ...]
    port: int
    token: str
    sessions: tuple[SavedSession, ...]
    undelivered: tuple[str, ...]
    saved_at: float
    unwritten: tuple[tuple[str, str, float], ...] = ()
    window_id: int = 0

    @property
    def has_texts(self) -> bool:
        """Whether it holds what the user typed or decided."""
        told = any(each.undelivered or each.proposals for each in self.sessions)
        return bool(told or self.undelivered or self.unwritten)

    def split(self, folders: tuple[str, ...]) -> tuple[SavedWorkspace, SavedWorkspace]:
        """Without and with the decisions and texts on files in these folders, the rest of them
        being in the first."""
        waiting = [message for each in self.sessions for _, message in each.undelivered]
        mine = [it for it in (*self.undelivered, *waiting) if _is_within(_path(it), folders)]
        written = tuple(it for it in self.unwritten if _is_within(it[0], folders))
        sessions = tuple(
            replace(each, undelivered=tuple(it for it in each.undelivered if it[1] not in mine))
            for each in self.sessions
        )
        others = tuple(it for it in self.undelivered if it not in mine)
        unwritten = tuple(it for it in self.unwritten if it not in written)
        left = replace(self, sessions=sessions, undelivered=others, unwritten=unwritten)
        texts = replace(self, sessions=(), undelivered=tuple(mine), unwritten=written)
        return left, texts


def load(path: str) -> tuple[list[SavedWorkspace], str]:
    """What was saved, without what is too old; and a sentence for the user where something could
    not be read, which is put aside then: the next save would end it."""
    private_files.sweep(os.path.dirname(path))
    try:
        with open(path, "rb") as file:
            data = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return [], ""
    except OSError as error:
        return [], f"What was kept over the restart cannot be read: {path} ({error.strerror})."
    found, is_whole = _read(data)
    now, day = time.time(), 24 * 60 * 60
    ages = [(it, (now - it.saved_at) / day) for it in found]
    young = [it for it, age in ages if age < (MAX_TEXT_AGE if it.has_texts else MAX_AGE)]
    return young, "" if is_whole else _put_aside(path, data)


def save(path: str, workspaces: list[SavedWorkspace]) -> str:
    """Write the workspaces; gives what went wrong, as a sentence for the user."""
    kept = sorted(workspaces, key=lambda it: (it.has_texts, it.saved_at), reverse=True)
    with_texts = sum(it.has_texts for it in kept)
    lines, is_all = _fitting(kept[: with_texts + MAX_WORKSPACES])
    try:
        os.makedirs(os.path.dirname(os.path.dirname(path)), exist_ok=True)
        private_files.make_folder(os.path.dirname(path))
        private_files.write(path, b"".join([_line({"version": VERSION}), *lines]))
    except OSError as error:
        return f"What has to outlive a restart could not be saved: {path} ({error.strerror})."
    except private_files.NotPrivate as error:
        return f"What has to outlive a restart could not be saved: {error}"
    return "" if is_all else TOO_MUCH


def is_same(one: list[SavedWorkspace], other: list[SavedWorkspace]) -> bool:
    """Whether the second, once loaded, is as good as the first: neither the moment nor the last id
    that was given has to be exact."""
    return [_lasting(each) for each in one] == [_lasting(each) for each in other]


def _lasting(workspace: SavedWorkspace) -> SavedWorkspace:
    sessions = tuple(replace(session, last_id=0) for session in workspace.sessions)
    return replace(workspace, sessions=sessions, saved_at=0.0)


def _put_aside(path: str, data: bytes) -> str:
    aside = path + UNREAD
    try:
        private_files.write(aside, data)
    except OSError as error:
        return f"Some of what was kept over the restart cannot be read: {path} ({error.strerror})."
    return f"Some of what was kept over the restart cannot be read; all of it is in {aside}."


def _read(data: bytes) -> tuple[list[SavedWorkspace], bool]:
    """What can be understood, line by line, and whether that is all."""
    first, *lines = data.splitlines() or [b""]
    try:
        if json.loads(first)["version"] != VERSION:
            return [], False
    except (ValueError, KeyError, TypeError, RecursionError):
        return [], False
    found = []
    for line in lines:
        try:
            found.append(_workspace(json.loads(line)))
        except (ValueError, KeyError, TypeError, ArithmeticError, RecursionError) as error:
            logger.warning("a window's state could not be read: %s", type(error).__name__)
    return found, len(found) == len(lines)


def _fitting(workspaces: list[SavedWorkspace]) -> tuple[list[bytes], bool]:
    """Their lines within the limit, and whether no text had to go but those of open diffs: the
    editor keeps these in its tabs, too. The oldest go first, one by one."""
    lines = [_line(asdict(each)) for each in workspaces]
    room, is_all = MAX_BYTES - sum(map(len, lines)), True
    for lighter in (_without_proposals, _without_texts):
        for index in reversed(range(len(workspaces))):
            for less in lighter(workspaces[index]):
                if room >= 0:
                    return lines, is_all
                is_all = is_all and lighter is _without_proposals
                workspaces[index], line = less, _line(asdict(less))
                room += len(lines[index]) - len(line)
                lines[index] = line
    return lines, is_all


def _without_proposals(workspace: SavedWorkspace) -> Iterator[SavedWorkspace]:
    sessions = tuple(replace(session, proposals=()) for session in workspace.sessions)
    if sessions != workspace.sessions:
        yield replace(workspace, sessions=sessions)


def _without_texts(workspace: SavedWorkspace) -> Iterator[SavedWorkspace]:
    """With one text less each time."""
    less = workspace
    for count in range(1, len(workspace.unwritten) + 1):
        less = replace(less, unwritten=workspace.unwritten[count:])
        yield less
    for count in range(1, len(workspace.undelivered) + 1):
        less = replace(less, undelivered=workspace.undelivered[count:])
        yield less
    if less.sessions:
        yield replace(less, sessions=())


def _line(entry: dict[str, Any]) -> bytes:
    # Piece by piece: in one go, megabytes of text would hold up every other thread.
    return "".join(json.JSONEncoder().iterencode(entry)).encode("ascii") + b"\n"


def _workspace(entry: dict[str, Any]) -> SavedWorkspace:
    """Raises what `_read` passes over for anything that `save` does not write."""
    port = int(entry["port"])
    if not 0 <= port < 65536:
        raise ValueError(port)
    return SavedWorkspace(
        tuple(_text(folder) for folder in entry["folders"]),
        port,
        _text(entry["token"]),
        tuple(_session(each) for each in entry["sessions"]),
        tuple(_message(each) for each in entry["undelivered"]),
        _moment(entry["saved_at"]),
        tuple((_text(path), _text(text), _moment(at)) for path, text, at in entry["unwritten"]),
        int(entry["window_id"]),
    )


def _session(entry: dict[str, Any]) -> SavedSession:
    return SavedSession(
        _text(entry["id"]),
        _text(entry["protocol_version"]),
        int(entry["last_id"]),
        tuple(_text(path) for path in entry["awaiting"]),
        tuple((int(id), _message(message)) for id, message in entry["undelivered"]),
        tuple((_text(path), _text(text)) for path, text in entry["proposals"]),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(type(value))
    return value


def _message(value: Any) -> str:
    """A decision, as it goes to the CLI."""
    params = json.loads(_text(value).encode("ascii"))["params"]
    _text(params["filePath"])
    _text(params.get("content", ""))
    return str(value)


def _path(message: str) -> str:
    return str(json.loads(message)["params"]["filePath"])


def _is_within(path: str, folders: tuple[str, ...]) -> bool:
    with suppress(ValueError):
        return any(os.path.commonpath([path, folder]) == folder for folder in folders)
    return False


def _moment(value: Any) -> float:
    if not math.isfinite(float(value)):
        raise ValueError(value)
    return float(value)
