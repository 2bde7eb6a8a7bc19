"""The edits that the user accepted, and a folder that keeps them over a restart, one file for each.

Only edits that can be undone are saved, up to a size and an age. Files that are excluded are never
saved.
"""

from __future__ import annotations

import json
import os
import threading
import time
import uuid
from base64 import b64decode, b64encode
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Container, Iterable, Sequence

from ..base import private_files
from ..base.large_json import encode_in_pieces
from ..base.log import logger
from ..base.write_behind import WriteBehind
from .file_content import Original, of_bytes
from .saved_state import is_within
from .sharing import Sharing

VERSION = 1
ENDING = ".json"
# The most bytes saved of one edit and of all edits; the days after which an edit is forgotten, and
# the days by which a clock may have been set back.
MAX_SAVED, MAX_ALL_SAVED = 2 * 1024 * 1024, 16 * 1024 * 1024
MAX_AGE, MAX_AHEAD = 7, 36525
# Seconds for a disk to say what a path stands for.
PATIENCE = 2.0
NOT_KNOWN = "Only part of the accepted text is known; the edit cannot be undone here."
TOO_LARGE = "The edit is too large to be remembered; it cannot be undone here."
NOT_SAVED = "Accepted edits cannot be undone after a restart: {}"
NOT_WRITTEN = "{} cannot be written ({}). Fix that; the next edit is saved with all before it."
SAVE_FAILED = (
    'Accepted edits cannot be undone after a restart; "Gemini Companion: Show Log" tells why. The'
    " next edit is saved with all before it."
)
LOAD_FAILED = (
    "Edits from before the restart cannot be undone, and edits from now on cannot be undone after"
    ' the next one; "Gemini Companion: Show Log" tells why. "Gemini Companion: Restart Companion"'
    " tries again."
)
NO_ANSWER = "The edit of {} cannot be undone after a restart: its disk does not answer."
TOO_LARGE_TO_SAVE = "The edit of {} is too large to be undone after a restart; until then it can."

# Does all work on the folder, one piece after the other: a companion that starts loads what the one
# before it saved last.
writer = WriteBehind("accepted edits")


@dataclass(frozen=True)
class Edit:
    """`before` is the file before the edit. `after` is the accepted text with `\\n` line ends, None
    if not all of it is known. `client` names the CLI; `at` is in seconds since the epoch.

    `window_id` is the window whose CLI proposed the edit, 0 if that was in an earlier run of the
    editor. `folders` are the folders of that window. `rules` say whether the texts may be saved.
    `target` is the file that the path led to when they were saved, empty if they were not."""

    window_id: int
    path: str
    before: Original
    after: str | None
    client: str
    at: float
    folders: tuple[str, ...] = ()
    rules: Sharing | None = None
    target: str = ""
    id: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def size(self) -> int:
        return len(self.before.data or b"") + len(self.before.text) + len(self.after or "")

    @property
    def problem(self) -> str:
        """Why the edit can be neither shown nor undone; empty if it can."""
        if self.before.note:
            return self.before.note
        return NOT_KNOWN if self.after is None else ""

    def without_texts(self) -> Edit:
        before = replace(self.before, text="", data=None, note=TOO_LARGE)
        return replace(self, before=before, after=None)

    @property
    def is_recent(self) -> bool:
        """False also for an impossible time. A time in the future is possible: the clock may have
        been set back."""
        return -MAX_AHEAD < (time.time() - self.at) / (24 * 60 * 60) < MAX_AGE

    def is_of(self, window_id: int, folders: Sequence[str], gone: Container[int] = (0,)) -> bool:
        """Whether the window's CLI proposed the edit. If the window that it came from is in `gone`,
        whether this window may be that one again."""
        if self.window_id not in gone:
            return self.window_id == window_id
        return self.folders == tuple(folders) or is_within(self.path, tuple(folders))


def load(folder: str) -> list[Edit]:
    """The saved edits, oldest first. Edits that cannot be read or are too old are left out, and the
    next `save` removes their files. May take some time."""
    private_files.sweep(folder)
    found = []
    for name in _names(folder):
        try:
            with open(os.path.join(folder, name), "rb") as file:
                found.append(_parsed(name[: -len(ENDING)], json.loads(file.read(MAX_SAVED + 1))))
        except (OSError, ValueError, KeyError, TypeError, ArithmeticError, RecursionError) as error:
            logger.warning("an accepted edit could not be read: %s", type(error).__name__)
    return sorted((it for it in found if it.is_recent), key=lambda it: it.at)


def save(folder: str, edits: Iterable[Edit]) -> str:
    """Save these edits, newest first, as far as they may be saved and fit; remove all others. Gives
    a sentence for the user if something went wrong. Calls have to come one after the other."""
    try:
        private_files.make_parents(os.path.dirname(folder))
        private_files.make_folder(os.path.dirname(folder))
        private_files.make_folder(folder)
        return _save(folder, sorted(edits, key=lambda it: it.at, reverse=True))
    except OSError as error:
        return NOT_SAVED.format(NOT_WRITTEN.format(folder, error.strerror))
    except private_files.NotPrivate as error:
        return NOT_SAVED.format(error)


def _save(folder: str, newest: Iterable[Edit]) -> str:
    """Gives a sentence for the user about the newest edit that is not saved. Raises OSError."""
    there, room, problems = set(_names(folder)), MAX_ALL_SAVED, []
    for edit in newest:
        name, data, problem = edit.id + ENDING, b"", ""
        if edit.problem or not edit.is_recent or _is_held_back(edit, edit.path, edit.target):
            continue
        if name in there:
            size = os.path.getsize(os.path.join(folder, name))
        else:
            data, problem = _data(edit)
            size = len(data)
        if problem:
            problems.append(problem)
        elif size <= min(room, MAX_SAVED):
            room -= size
            there.discard(name)
            if data:
                private_files.write(os.path.join(folder, name), data, lasting=True)
    for name in there:
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, name))
    return problems[0] if problems else ""


def _data(edit: Edit) -> tuple[bytes, str]:
    """The bytes to write, or a sentence why none are written; both empty if none may be."""
    target = _target(edit.path)
    if not target:
        return b"", NO_ANSWER.format(os.path.basename(edit.path))
    if _is_held_back(edit, target):
        return b"", ""
    is_small = len(edit.before.data or b"") + len(edit.after or "") <= MAX_SAVED
    data = encode_in_pieces(_members(edit, target)) if is_small else b""
    if not 0 < len(data) <= MAX_SAVED:
        return b"", TOO_LARGE_TO_SAVE.format(os.path.basename(edit.path))
    return data, ""


def _target(path: str) -> str:
    """The file that the path leads to; empty if the disk does not answer in time."""
    found: list[str] = []
    thread = threading.Thread(
        target=lambda: found.append(os.path.realpath(path)), name="GeminiCompanion work"
    )
    thread.daemon = True
    thread.start()
    thread.join(PATIENCE)
    return found[0] if found else ""


def _is_held_back(edit: Edit, *paths: str) -> bool:
    """Whether the user's rules keep a file with one of these names from the CLIs."""
    rules = replace(edit.rules or Sharing(), paused=False, only_project_files=False)
    return any(rules.reason(it, edit.folders) for it in paths if it)


def _names(folder: str) -> list[str]:
    """The names of our files."""
    found = []
    with suppress(OSError):
        for entry in os.scandir(folder):
            if entry.name.endswith(ENDING) and private_files.is_ours(entry):
                found.append(entry.name)
    return found


def _members(edit: Edit, target: str) -> dict[str, Any]:
    data = edit.before.data if edit.before.exists else None
    return {
        "version": VERSION,
        "path": edit.path,
        "target": target,
        "folders": edit.folders,
        "client": edit.client,
        "at": edit.at,
        "before": b64encode(data).decode("ascii") if data is not None else None,
        "after": edit.after,
    }


def _parsed(id: str, members: Any) -> Edit:
    """Raises ValueError, KeyError, TypeError."""
    if members["version"] != VERSION:
        raise ValueError("another version")
    names = ("path", "target", "client", "after")
    texts = [*(members[name] for name in names), *members["folders"]]
    if not all(isinstance(it, str) for it in texts):
        raise TypeError("expected texts")
    data = members["before"]
    before = Original("", exists=False)
    if data is not None:
        before = of_bytes(b64decode(data, validate=True))
    path, target, client, after, *folders = texts
    at = float(members["at"])
    return Edit(0, path, before, after, client, at, tuple(folders), target=target, id=id)
