"""The content of files before and after edits, in a folder that keeps it over a restart. If both
texts are there, an edit can be undone and done again. Knows neither who edits nor what is secret.

The folder has one list, with a line of JSON for each edit, oldest first. Each text is a file of its
own, named by its digest: the text after one edit is usually the text before the next one.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence

from . import private_files
from .line_file import LineFile
from .log import logger

LIST = "edits.jsonl"
# Lines that were damaged, and the most bytes of them.
DAMAGED, MAX_DAMAGED = "damaged.jsonl", 1 << 20
# The digest of a file that does not exist.
MISSING = ""
# In place of the digest of a text of which nothing is to be kept.
UNKNOWN = "unknown"


@dataclass(frozen=True)
class StoredEdit:
    """The edits of one `group` are undone together: those of a turn, or of an accepted proposal.
    `path` is absolute. `before` and `after` are the digests of the file's texts. `details` are
    JSON values that the store returns unchanged."""

    group: str
    path: str
    before: str
    after: str
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class NetChange:
    """What all edits of a group did to a file, as digests. `is_theirs_alone` is False if somebody
    else wrote the file between two of the edits."""

    path: str
    before: str
    after: str
    is_theirs_alone: bool = True

    def followed_by(self, edit: StoredEdit) -> NetChange:
        """This change followed by a later edit of the group."""
        is_theirs_alone = self.is_theirs_alone and edit.before == self.after
        return NetChange(self.path, self.before, edit.after, is_theirs_alone)


class UndoStore:
    """The edits in one folder, which no other process may use. Callable from any thread. All
    methods block, and raise OSError and NotPrivate.

    `largest` is the most bytes of one text, `limit` of all texts. Beyond these only the digest is
    kept: of a text that is too large, and of the texts of the oldest edits. The list itself is not
    limited; it grows by some hundred bytes with each edit."""

    def __init__(self, folder: str, largest: int, limit: int) -> None:
        self._folder = folder
        self._largest, self._limit = largest, limit
        self._list = LineFile(os.path.join(folder, LIST))
        # Damaged lines that the log has.
        self._logged = 0
        # The bytes of all texts, if they were counted.
        self._size: int | None = None
        self._working = threading.Lock()

    def add_edit(
        self,
        group: str,
        path: str,
        before: bytes | None,
        after: bytes | None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        """Add an edit; `before` is None if the file did not exist, and `after` if it does not exist
        any more. A power cut afterwards does not lose it."""
        edit = StoredEdit(group, path, digest_of(before), digest_of(after), details or {})
        with self._working:
            self._make_folders()
            for digest, text in ((edit.before, before), (edit.after, after)):
                if (
                    text is not None
                    and len(text) <= self._largest
                    and self._read_text(digest) is None
                ):
                    private_files.write_file(self._path_of(digest), text, lasting=True)
                    self._size = None if self._size is None else self._size + len(text)
            self._list.append_lines(_encode_edit(edit), is_new=True, is_lasting=True)
            if self._size is None:
                self._size = sum(self._file_sizes().values())
            if self._size > self._limit:
                self._make_room(self._read_edits())

    def add_without_texts(self, group: str, path: str) -> None:
        """Add that the group edited the file, and nothing of its texts: both are UNKNOWN."""
        with self._working:
            self._make_folders()
            self._list.append_lines(
                _encode_edit(StoredEdit(group, path, UNKNOWN, UNKNOWN)), True, True
            )

    def edits(self) -> list[StoredEdit]:
        """All edits, oldest first. A damaged line is left out, and `keep_edits` puts it aside."""
        with self._working:
            return self._read_edits()

    def changes(self, group: str) -> list[NetChange]:
        """What the group did to each file. Files that it left as they were are left out."""
        found: dict[str, NetChange] = {}
        for edit in self.edits():
            if edit.group == group:
                known = found.get(edit.path)
                first = NetChange(edit.path, edit.before, edit.after)
                found[edit.path] = first if known is None else known.followed_by(edit)
        return [
            change
            for change in found.values()
            if change.before != change.after or change.after == UNKNOWN
        ]

    def text(self, digest: str) -> bytes | None:
        """None for MISSING, and if the text is not kept or is damaged."""
        with self._working:
            return self._read_text(digest)

    def keep_edits(
        self,
        is_kept: Callable[[StoredEdit], bool],
        details: Callable[[StoredEdit], Mapping[str, Any]] = lambda edit: edit.details,
    ) -> None:
        """Remove all other edits with their texts, for example those of files that are excluded by
        now. Also removes all unknown files in the folder. `details` gives the new details of an
        edit that is kept."""
        with self._working:
            kept = [edit for edit in self._read_edits() if is_kept(edit)]
            edits = [replace(edit, details=details(edit)) for edit in kept]
            # Before the list, which a full disk may refuse: the texts have to go in any case.
            self._make_room(edits)
            self._put_aside(
                line
                for line in self._read_list().splitlines()
                if line and _decode_edit(line) is None
            )
            lines = b"".join(map(_encode_edit, edits))
            if lines != self._read_list():
                private_files.write_file(self._list.path, lines, lasting=True)

    def put_aside(self, edit: StoredEdit) -> None:
        """Write an edit whose details are damaged beside the list, before it is removed there."""
        with self._working:
            self._put_aside([_encode_edit(edit).rstrip()])

    def without_texts(self) -> list[StoredEdit]:
        """The edits of which a text is not there, oldest first: most were removed to make room."""
        with self._working:
            there = {MISSING, *self._file_sizes()}
            return [edit for edit in self._read_edits() if not {edit.before, edit.after} <= there]

    def store_again(self, *texts: bytes) -> bool:
        """Store texts again that were removed to make room, if there is room for all of them by
        now; gives whether there is."""
        with self._working:
            new = {
                digest_of(text): text for text in texts if self._read_text(digest_of(text)) is None
            }
            has_room = sum(self._file_sizes().values()) + sum(map(len, new.values())) <= self._limit
            for digest, text in new.items() if has_room else ():
                private_files.write_file(self._path_of(digest), text, lasting=True)
            self._size = None
            return has_room

    def _make_folders(self) -> None:
        private_files.make_parents(os.path.dirname(self._folder))
        for folder in (os.path.dirname(self._folder), self._folder):
            private_files.make_folder(folder)

    def _make_room(self, edits: Sequence[StoredEdit]) -> None:
        """Keep the texts of these edits, newest first, up to the limit; remove all other files. On
        Windows a file that another program has open stays until the next time."""
        self._size = None
        sizes = self._file_sizes()
        unkept = set(sizes) - set(_newest_texts(edits, sizes, self._limit))
        wanted = {name for edit in edits for name in (edit.before, edit.after)}
        dropped = len(unkept & wanted)
        if dropped:
            logger.info("%d stored texts of older edits make room for newer ones", dropped)
        for name in unkept:
            try:
                os.unlink(self._path_of(name))
            except OSError as error:
                logger.warning("a stored text could not be removed: %s", error.strerror)

    def _file_sizes(self) -> dict[str, int]:
        """The sizes of all files except the lists, by name. Programs that synchronize or show
        folders may put one of theirs here."""
        with suppress(FileNotFoundError):
            found = [file for file in os.scandir(self._folder) if file.name not in (LIST, DAMAGED)]
            found = [file for file in found if not file.is_dir(follow_symlinks=False)]
            return {file.name: file.stat(follow_symlinks=False).st_size for file in found}
        return {}

    def _read_edits(self) -> list[StoredEdit]:
        found = [_decode_edit(line) for line in self._read_list().splitlines() if line]
        damaged = found.count(None)
        if damaged > self._logged:
            logger.warning("%d lines of the list of edits are damaged", damaged)
        self._logged = damaged
        return [edit for edit in found if edit is not None]

    def _put_aside(self, lines: Iterable[bytes]) -> None:
        """Append the lines to those that were damaged, as long as there are few."""
        path, data = os.path.join(self._folder, DAMAGED), b"".join(line + b"\n" for line in lines)
        if not data or len(data) + self._file_size(path) > MAX_DAMAGED:
            return
        LineFile(path).append_lines(data, is_new=True, is_lasting=False)

    def _read_list(self) -> bytes:
        with suppress(FileNotFoundError), open(self._list.path, "rb") as file:
            return file.read()
        return b""

    def _read_text(self, digest: str) -> bytes | None:
        if digest == MISSING:
            return None
        with suppress(FileNotFoundError), open(self._path_of(digest), "rb") as file:
            text = file.read(self._largest + 1)
            if digest_of(text) == digest:
                return text
            logger.warning("a stored text is damaged")
        return None

    @staticmethod
    def _file_size(path: str) -> int:
        with suppress(FileNotFoundError):
            return os.stat(path).st_size
        return 0

    def _path_of(self, name: str) -> str:
        return os.path.join(self._folder, name)


def digest_of(text: bytes | None) -> str:
    """MISSING for None."""
    return MISSING if text is None else hashlib.sha256(text).hexdigest()


def _newest_texts(
    edits: Sequence[StoredEdit], sizes: Mapping[str, int], limit: int
) -> Iterator[str]:
    """The names of the texts of these edits, newest first, as many as the limit allows."""
    seen = set()
    for edit in reversed(edits):
        for name in (edit.before, edit.after):
            if name in sizes and name not in seen:
                seen.add(name)
                limit -= sizes[name]
                if limit < 0:
                    return
                yield name


def _encode_edit(edit: StoredEdit) -> bytes:
    members = {"group": edit.group, "path": edit.path, "before": edit.before, "after": edit.after}
    return json.dumps({**members, "details": edit.details}).encode("ascii") + b"\n"


def _decode_edit(line: bytes) -> StoredEdit | None:
    """None if the line is damaged."""
    with suppress(ValueError, KeyError, TypeError, RecursionError):
        members = json.loads(line)
        texts = [str(members[name]) for name in ("group", "path", "before", "after")]
        group, path, before, after = texts
        return StoredEdit(group, path, before, after, dict(members["details"]))
    return None
