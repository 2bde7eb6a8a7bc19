"""What the turns of a conversation did to files. A turn is undone in all files that are still as it
left them, and made again in those that are as they were before it."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ..base.log import logger
from ..base.private_files import NotPrivate
from ..base.undo_store import MISSING, UNKNOWN, NetChange, UndoStore, digest_of
from .edited_file import read_file, write_file

# The most bytes of one text, and of all texts of one conversation.
MAX_BYTES, MAX_ALL = 10 << 20, 64 << 20
CREATED, CHANGED = "created", "changed"
# Where a file stands: as the turn left it; as it was before; something else; or as the turn left
# it, with what was before not stored. Of a file that the user excludes, only the last is known.
AS_LEFT, UNDONE, OTHER, NOT_STORED = "as_left", "undone", "changed_since", "not_stored"


@dataclass(frozen=True)
class FileChange:
    """What a turn made of a file: CREATED or CHANGED, and where that stands now. If the user's
    rules exclude the file, nothing of its texts was stored."""

    path: str
    change: str
    state: str
    is_excluded: bool = False


@dataclass(frozen=True)
class FileTexts:
    """The `change` of a file by a turn, with the bytes of the file `before` the turn and `after`
    it: None if there was no file. It `is_whole` if they are all stored."""

    change: FileChange
    before: bytes | None
    after: bytes | None
    is_whole: bool


class TurnUndo:
    """The edits of one conversation, in a folder inside the conversation's own. Callable from any
    thread. All methods block."""

    def __init__(self, folder: str) -> None:
        self._store = UndoStore(os.path.join(folder, "edits"), MAX_BYTES, MAX_ALL)

    def note_change(
        self,
        turn: str,
        path: str,
        before: bytes | None,
        after: bytes,
        is_excluded: bool = False,
    ) -> None:
        """A turn is about to change a file from `before`, None if it does not exist, to `after`. Of
        a file that the user excludes, neither text is stored. If the disk refuses to store that,
        the turn continues and cannot be undone."""
        if before == after:
            return
        try:
            if is_excluded:
                self._store.add_without_texts(turn, path)
            else:
                self._store.add_edit(turn, path, before, after)
        except (OSError, NotPrivate) as error:
            logger.warning("a turn cannot be undone, because the disk refuses it: %s", error)

    def changed_files(self, turn: str) -> list[FileChange]:
        """What the turn changed. Raises OSError."""
        return [self._file_change(change) for change in self._store.changes(turn)]

    def undo_turn(self, turn: str) -> list[FileChange]:
        """Restore the files that are still as the turn left them, and leave the others alone. Gives
        all files of the turn with their states afterwards. Raises OSError if the store cannot be
        read; a file that cannot be restored only keeps its state."""
        changes = self._store.changes(turn)
        for change in changes:
            if self._file_state(change) == AS_LEFT:
                self._restore_file(change.path, change.before)
        return [self._file_change(change) for change in changes]

    def redo_turn(self, turn: str) -> list[FileChange]:
        """The inverse: what the turn made of the files that are as they were before it."""
        changes = self._store.changes(turn)
        for change in changes:
            if self._file_state(change) == UNDONE and change.after != MISSING:
                self._restore_file(change.path, change.after)
        return [self._file_change(change) for change in changes]

    def changed_texts(self, turn: str) -> list[FileTexts]:
        """What the turn changed, with the texts. Raises OSError."""
        return [self._file_texts(change) for change in self._store.changes(turn)]

    def _file_texts(self, change: NetChange) -> FileTexts:
        before, after = (self._store.text(digest) for digest in (change.before, change.after))
        pairs = ((before, change.before), (after, change.after))
        is_whole = all(text is not None or digest == MISSING for text, digest in pairs)
        return FileTexts(self._file_change(change), before, after, is_whole)

    def _file_change(self, change: NetChange) -> FileChange:
        kind = CREATED if change.before == MISSING else CHANGED
        return FileChange(change.path, kind, self._file_state(change), _is_excluded(change))

    def _file_state(self, change: NetChange) -> str:
        if _is_excluded(change):
            return NOT_STORED
        try:
            now = digest_of(read_file(change.path))
        except OSError:
            return OTHER
        if now == change.before:
            return UNDONE
        if now != change.after or not change.is_theirs_alone:
            return OTHER
        is_stored = change.before == MISSING or self._store.text(change.before) is not None
        return AS_LEFT if is_stored else NOT_STORED

    def _restore_file(self, path: str, digest: str) -> None:
        """Make the file what it was with this digest, as far as that is stored and possible."""
        text = self._store.text(digest)
        try:
            if text is not None:
                write_file(path, text)
            elif digest == MISSING:
                os.unlink(path)
        except OSError as error:
            logger.warning("a file cannot be put back: %s", error)


def _is_excluded(change: NetChange) -> bool:
    return UNKNOWN in (change.before, change.after)
