"""The proposals that wait without tabs, kept in files: of a text that is in no tab the editor keeps
nothing over its end. On the UI thread; a writer has the disk.

Each is a file of its own, so that what is typed into one writes no other: a line of JSON with its
record, its comments and the changes that the user has kept, and then its text.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from typing import Mapping

from ...base import private_files
from ...base.log import logger
from ...base.signal import ValueSignal
from ...base.write_behind import WriteBehind
from .. import queues
from .record import Comment, DiffRecord, comments_from, record_from

# Seconds after which one that no window has taken up is removed.
MAX_AGE = 90 * 24 * 3600
END = ".proposal"
REFUSED = (
    "Proposals without tabs cannot be kept over a restart: {}. Decide on them before you quit"
    " Sublime Text, or open them."
)


@dataclass(frozen=True)
class KeptProposal:
    """`seen` are the keys of the changes that the user has kept; `folders` are those of its
    window."""

    record: DiffRecord
    text: str
    seen: tuple[str, ...] = ()
    comments: tuple[Comment, ...] = ()
    folders: tuple[str, ...] = ()


class UnopenedStore:
    """What is kept, by the ids of the diffs, oldest first; made on a thread that may wait for a
    disk, and used on the UI thread."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._writer = WriteBehind("unopened proposals")
        self.kept: dict[str, KeptProposal] = _read_all(folder)
        # What the writer has to write; replaced, never changed.
        self._picture: Mapping[str, KeptProposal] = dict(self.kept)
        # What is in the files; the writer's.
        self._written = dict(self.kept)
        # They cannot be written, with a sentence; emitted once until they can be again.
        self.refusals = ValueSignal[str]()
        self._is_refused = False

    @property
    def size(self) -> int:
        """The characters of all texts."""
        return sum(len(kept.text) for kept in self.kept.values())

    def keep(self, kept: KeptProposal) -> None:
        """Keep the proposal in place of what was kept of it."""
        self.kept[kept.record.id] = kept
        self._hand_to_writer()

    def drop(self, id: str) -> None:
        if self.kept.pop(id, None) is not None:
            self._hand_to_writer()

    def finish(self) -> None:
        """Wait until all is written. Needs nothing of the editor."""
        self._writer.finish()

    def _hand_to_writer(self) -> None:
        self._picture = dict(self.kept)
        self._writer.do_soon(self._write_changed)

    def _write_changed(self) -> None:
        """Runs on the writer's thread."""
        picture = self._picture
        try:
            for id in self._written.keys() - picture.keys():
                with suppress(FileNotFoundError):
                    os.remove(self._path(id))
                del self._written[id]
            for id, kept in picture.items():
                if self._written.get(id) is not kept:
                    private_files.make_parents(self._path(id))
                    private_files.write_file(self._path(id), _to_bytes(kept))
                    self._written[id] = kept
            self._is_refused = False
        except OSError as error:
            logger.error("proposals without tabs are not kept: %s", error.strerror)
            if not self._is_refused:
                self._is_refused = True
                sentence = REFUSED.format(error.strerror or error)
                queues.on_ui_thread(partial(self.refusals.emit, sentence))

    def _path(self, id: str) -> str:
        return os.path.join(self._folder, id + END)


def _to_bytes(kept: KeptProposal) -> bytes:
    head = {
        "record": asdict(kept.record),
        "seen": kept.seen,
        "comments": [asdict(comment) for comment in kept.comments],
        "folders": kept.folders,
    }
    return json.dumps(head).encode("ascii") + b"\n" + kept.text.encode("utf-8", "surrogatepass")


def _read_all(folder: str) -> dict[str, KeptProposal]:
    """Damaged ones are put aside, and those that are too old are removed."""
    found = []
    private_files.sweep_folder(folder)
    try:
        names = [name for name in os.listdir(folder) if name.endswith(END)]
    except OSError:
        # There is none yet, or the next one that is written says what is wrong.
        return {}
    for name in names:
        path = os.path.join(folder, name)
        try:
            with open(path, "rb") as file:
                kept = _from_bytes(file.read())
        except (OSError, ValueError, RecursionError) as error:
            logger.error("a proposal without tabs cannot be read: %s", type(error).__name__)
            with suppress(OSError):
                os.replace(path, path + ".damaged")
            continue
        if kept.record.id + END != name or kept.record.opened_at < time.time() - MAX_AGE:
            with suppress(OSError):
                os.remove(path)
        else:
            found.append(kept)
    found.sort(key=lambda kept: kept.record.opened_at)
    return {kept.record.id: kept for kept in found}


def _from_bytes(data: bytes) -> KeptProposal:
    """Raises ValueError."""
    head, _, text = data.partition(b"\n")
    stored = json.loads(head)
    record = record_from(stored.get("record")) if isinstance(stored, Mapping) else None
    if record is None:
        raise ValueError("expected the record of a diff")
    seen, folders = stored.get("seen"), stored.get("folders")
    if not (_are_texts(seen) and _are_texts(folders)):
        raise ValueError("expected lists of texts")
    comments = tuple(comments_from(stored.get("comments")))
    whole = text.decode("utf-8", "surrogatepass")
    return KeptProposal(record, whole, tuple(seen), comments, tuple(folders))


def _are_texts(found: object) -> bool:
    return isinstance(found, list) and all(isinstance(each, str) for each in found)
