"""The files that the turns of a conversation changed, as they were before, so that a turn can be
undone where the files are still as it left them."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Iterator

from ...base import private_files
from ...base.log import logger
from ..turn.file_writes import read_file, write_file

# Bytes of one file, and of all that one conversation has; the oldest make way.
MAX_BYTES, MAX_ALL = 10 << 20, 64 << 20
LIST = "changes.jsonl"
# What stands for a file that there is not.
MISSING = ""
CREATED, CHANGED = "created", "changed"
# Where a file stands: as the turn left it; as it was before; something else; or as the turn left
# it, with what was before not stored.
AS_LEFT, UNDONE, OTHER, NOT_STORED = "as_left", "undone", "changed_since", "not_stored"


@dataclass(frozen=True)
class FileChange:
    """What a turn made of a file: CREATED or CHANGED, and where that stands now."""

    path: str
    change: str
    state: str


@dataclass(frozen=True)
class _Change:
    """Digests of what the file held, or what stands for those. `is_ours` says that nobody else
    wrote it between two edits of the turn."""

    before: str
    after: str
    is_ours: bool = True

    @property
    def kind(self) -> str:
        return CREATED if self.before == MISSING else CHANGED

    def then(self, before: str, after: str) -> _Change:
        """With a later edit of the same turn."""
        return _Change(self.before, after, self.is_ours and before == self.after)


class Checkpoints:
    """Those of one conversation, in a folder below its own one; callable from any thread. All
    methods block."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.join(folder, "checkpoints")
        self._working = threading.Lock()

    def note(self, turn: str, path: str, before: bytes | None, after: bytes) -> None:
        """A turn is about to change a file from `before`, None where it is not there, to `after`.
        Where the disk does not take that, the turn cannot be undone, and goes on."""
        if before == after:
            return
        try:
            with self._working:
                for folder in (os.path.dirname(self._folder), self._folder):
                    private_files.make_folder(folder)
                line = {"turn": turn, "path": path, "after": _digest(after)}
                self._store(before)
                self._append({**line, "before": _digest(before)})
        except (OSError, private_files.NotPrivate) as error:
            logger.warning("a turn cannot be undone, for the disk does not take it: %s", error)

    def files(self, turn: str) -> list[FileChange]:
        """What the turn changed. Raises OSError."""
        with self._working:
            changes = self._changes(turn)
            return self._told(changes)

    def undo(self, turn: str) -> list[FileChange]:
        """Put back what is still as the turn left it; the files, each as it stands afterwards. What
        somebody changed meanwhile is left alone. Raises OSError for the list only."""
        with self._working:
            changes = self._changes(turn)
            for path, change in changes.items():
                if self._state(path, change) == AS_LEFT:
                    try:
                        self._put_back(path, change)
                    except OSError as error:
                        logger.warning("a file cannot be put back: %s", error)
            return self._told(changes)

    def _told(self, changes: dict[str, _Change]) -> list[FileChange]:
        return [FileChange(it, changes[it].kind, self._state(it, changes[it])) for it in changes]

    def _changes(self, turn: str) -> dict[str, _Change]:
        """By path: what was before the first change of the turn, what is after the last."""
        found: dict[str, _Change] = {}
        for line in self._lines():
            if line.get("turn") == turn:
                path, before, after = (str(line.get(it)) for it in ("path", "before", "after"))
                known = found.get(path)
                found[path] = known.then(before, after) if known else _Change(before, after)
        return {path: it for path, it in found.items() if it.before != it.after}

    def _state(self, path: str, change: _Change) -> str:
        try:
            now = _digest(read_file(path))
        except OSError:
            return OTHER
        if now == change.before:
            return UNDONE
        if now != change.after or not change.is_ours:
            return OTHER
        is_stored = change.before == MISSING or os.path.isfile(self._path(change.before))
        return AS_LEFT if is_stored else NOT_STORED

    def _put_back(self, path: str, change: _Change) -> None:
        if change.before == MISSING:
            os.unlink(path)
            return
        with open(self._path(change.before), "rb") as file:
            data = file.read()
        # What the disk has lost is no text that anybody had.
        if _digest(data) == change.before:
            write_file(path, data)

    def _store(self, data: bytes | None) -> None:
        """By its digest, where it is not too large."""
        if data is not None and len(data) <= MAX_BYTES:
            digest = _digest(data)
            # Also where it is there: it is the newest one now.
            private_files.write(self._path(digest), data)
            self._make_room(digest)

    def _make_room(self, newest: str) -> None:
        found = [it for it in os.scandir(self._folder) if it.name != LIST]
        stored = sorted(found, key=lambda it: (it.name == newest, it.stat().st_mtime_ns))
        total = sum(it.stat().st_size for it in stored)
        for entry in stored:
            if total <= MAX_ALL:
                break
            total -= entry.stat().st_size
            os.unlink(entry.path)

    def _append(self, line: dict[str, str]) -> None:
        # What a crash has left of a line costs itself only.
        data = b"\n%b\n" % json.dumps(line).encode("ascii")
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        descriptor = os.open(self._path(LIST), flags, 0o600)
        try:
            os.write(descriptor, data)
        finally:
            os.close(descriptor)

    def _lines(self) -> Iterator[dict[str, Any]]:
        with suppress(FileNotFoundError), open(self._path(LIST), "rb") as file:
            for line in file:
                with suppress(ValueError):
                    value = json.loads(line)
                    if isinstance(value, dict):
                        yield value

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name)


def _digest(data: bytes | None) -> str:
    return MISSING if data is None else hashlib.sha256(data).hexdigest()
