"""The edits that the user accepted, and a folder in which they outlive the editor, a file for each.

Only what can be undone is saved, up to a size, and nothing of a file that is excluded.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from base64 import b64decode, b64encode
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Iterable, Sequence

from ..base import private_files
from ..base.large_json import encode_in_pieces
from ..base.log import logger
from .file_content import Original, of_bytes
from .saved_state import is_within
from .sharing import Sharing

VERSION = 1
ENDING = ".json"
# Bytes of the files of one edit and of all, and days after which one is forgotten.
MAX_SAVED, MAX_ALL_SAVED = 2 * 1024 * 1024, 16 * 1024 * 1024
MAX_AGE = 7
NOT_KNOWN = "The accepted text is not known whole; the edit cannot be undone here."
TOO_LARGE = "The edit is too large to be remembered; it cannot be undone here."
NOT_SAVED = "Accepted edits cannot be undone after a restart: {} ({})."


@dataclass(frozen=True)
class Edit:
    """`before` is the file as it was; `after` the accepted text with `\\n` line ends, None where it
    is not known whole; `client` names its CLI; `at` is in seconds since the epoch.

    `window_id` is the window whose CLI proposed it, 0 for one of an earlier run of the editor, and
    `folders` are those of that window. `rules` say whether its texts may be saved, None where they
    were."""

    window_id: int
    path: str
    before: Original
    after: str | None
    client: str
    at: float
    folders: tuple[str, ...] = ()
    rules: Sharing | None = None
    id: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def size(self) -> int:
        return len(self.before.data or b"") + len(self.before.text) + len(self.after or "")

    @property
    def problem(self) -> str:
        """Why it can neither be shown nor undone; empty where it can."""
        if self.before.note:
            return self.before.note
        return NOT_KNOWN if self.after is None else ""

    def without_texts(self) -> Edit:
        before = replace(self.before, text="", data=None, note=TOO_LARGE)
        return replace(self, before=before, after=None)

    def is_of(self, window_id: int, folders: Sequence[str]) -> bool:
        """Whether the window's CLI proposed it; of an earlier run, whether it may be that window
        again."""
        if self.window_id:
            return self.window_id == window_id
        return self.folders == tuple(folders) or is_within(self.path, tuple(folders))


def load(folder: str) -> list[Edit]:
    """What was saved there, the oldest first; what cannot be read, or is too old, is left out, and
    goes with the next `save`. May take some time."""
    private_files.sweep(folder)
    found = []
    for name in _names(folder):
        try:
            with open(os.path.join(folder, name), "rb") as file:
                found.append(_parsed(name[: -len(ENDING)], json.loads(file.read(MAX_SAVED + 1))))
        except (OSError, ValueError, KeyError, TypeError, ArithmeticError, RecursionError) as error:
            logger.warning("an accepted edit could not be read: %s", type(error).__name__)
    oldest = time.time() - MAX_AGE * 24 * 60 * 60
    return sorted((it for it in found if it.at > oldest), key=lambda it: it.at)


def save(folder: str, edits: Iterable[Edit]) -> str:
    """Have these there, as far as they may be saved and fit, and no other: the newest first. Gives
    what went wrong, as a sentence for the user. Calls have to come one after the other."""
    try:
        os.makedirs(os.path.dirname(os.path.dirname(folder)), exist_ok=True)
        private_files.make_folder(os.path.dirname(folder))
        private_files.make_folder(folder)
        _save(folder, sorted(edits, key=lambda it: it.at, reverse=True))
    except OSError as error:
        return NOT_SAVED.format(folder, error.strerror)
    except private_files.NotPrivate as error:
        return NOT_SAVED.format(folder, error)
    return ""


def _save(folder: str, newest: Iterable[Edit]) -> None:
    there, room = set(_names(folder)), MAX_ALL_SAVED
    for edit in newest:
        path = os.path.join(folder, edit.id + ENDING)
        data = b""
        if edit.id + ENDING in there:
            size = os.path.getsize(path)
        elif edit.problem or edit.size > MAX_SAVED or _is_held_back(edit):
            continue
        else:
            data = encode_in_pieces(_members(edit))
            size = len(data)
        if size <= min(room, MAX_SAVED):
            room -= size
            there.discard(edit.id + ENDING)
            if data:
                private_files.write(path, data)
    for name in there:
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, name))


def _is_held_back(edit: Edit) -> bool:
    """Whether CLIs are not to be told of the file, by its own name or by its target's."""
    rules = replace(edit.rules or Sharing(), paused=False, only_project_files=False)
    return any(rules.reason(it, edit.folders) for it in (edit.path, os.path.realpath(edit.path)))


def _names(folder: str) -> list[str]:
    """Of the files of ours."""
    found = []
    with suppress(OSError):
        for entry in os.scandir(folder):
            if entry.name.endswith(ENDING) and private_files.is_ours(entry):
                found.append(entry.name)
    return found


def _members(edit: Edit) -> dict[str, Any]:
    data = edit.before.data if edit.before.exists else None
    return {
        "version": VERSION,
        "path": edit.path,
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
    texts = [members[name] for name in ("path", "client", "after")] + [*members["folders"]]
    if not all(isinstance(it, str) for it in texts):
        raise TypeError("expected texts")
    data = members["before"]
    before = Original("", exists=False)
    if data is not None:
        before = of_bytes(b64decode(data, validate=True))
    path, client, after, *folders = texts
    return Edit(0, path, before, after, client, float(members["at"]), tuple(folders), id=id)
