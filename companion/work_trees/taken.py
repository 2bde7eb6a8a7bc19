"""What the user has decided on of a work tree's changes: what a file was in the tree at that moment
counts as its beginning from then on, so neither what was taken over nor what was left there is
shown again. Kept in the folder that belongs to the tree; all functions that read or write block.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Iterable, Mapping, Sequence

from ..base import private_files
from ..base.file_lock import FileLock
from ..base.line_file import LineFile, ends_whole
from ..base.log import logger
from ..base.regular_file import open_regular, read_regular

NAME, TEXTS, LOCK = "taken.jsonl", "taken", "taken.lock"
# The most bytes of the list, and of a text.
LIMIT, TEXT_LIMIT = 32 << 20, 64 << 20
# Seconds after which a text that nobody needs is removed.
OLD = 24 * 3600.0
# The most decisions on one file that are known.
MOST = 20
NOT_KNOWN = "what you had decided before cannot be read"


@dataclass(frozen=True)
class TreeDecision:
    """A decision on what the file `path` of the tree was: of that `mode`, with content of that
    `digest`, both empty if it was gone.

    `edit` is the id of the user's edit that took it over, empty if nothing was taken. All of it was
    if `is_whole`; else something was left in the tree. `own_mode` is the mode of the user's file
    before, and `unsaved` the digest of the unsaved text that its tab had. Where it `is_shown_again`
    the user wants to decide anew: it counts only for the undoing of that edit."""

    path: str
    mode: str = ""
    digest: str = ""
    edit: str = ""
    is_whole: bool = True
    own_mode: str = ""
    unsaved: str = ""
    is_shown_again: bool = False


@dataclass(frozen=True)
class Taken:
    """All decisions on a tree, oldest first; `folder` has the texts. Unless it `is_known` what was
    decided before, nothing is saved in the place of that."""

    folder: str
    decisions: tuple[TreeDecision, ...] = ()
    is_known: bool = True

    @cached_property
    def decided(self) -> Mapping[str, TreeDecision]:
        """The last decision on each file."""
        return {each.path: each for each in self.decisions if not each.is_shown_again}

    @cached_property
    def left(self) -> frozenset[str]:
        """The files of which something was to stay in the tree."""
        own = (each for each in self.decisions if not (each.is_whole or each.is_shown_again))
        return frozenset(decision.path for decision in own)

    def with_left_shown(self) -> Taken:
        """What was left in the tree is shown again, against what the user has."""
        shown = (replace(each, is_shown_again=True) for each in self.decisions)
        pairs = zip(self.decisions, shown)
        found = tuple(new if old.path in self.left else old for old, new in pairs)
        return replace(self, decisions=found)

    def with_decisions(self, made: Iterable[TreeDecision]) -> Taken:
        found = [*self.decisions, *made]
        for path in {decision.path for decision in made}:
            alike = [decision for decision in found if decision.path == path]
            for decision in alike[:-MOST]:
                found.remove(decision)
        return replace(self, decisions=tuple(found))

    def without(self, undone: Iterable[TreeDecision]) -> Taken:
        """Without decisions that were taken back."""
        gone = set(map(_as_made, undone))
        left = (each for each in self.decisions if _as_made(each) not in gone)
        return replace(self, decisions=tuple(left))

    def of_edit(self, id: str) -> tuple[TreeDecision, ...]:
        """Those of one edit of the user."""
        return tuple(decision for decision in self.decisions if id and decision.edit == id)

    def read_text(self, digest: str) -> bytes | None:
        """None if it is not there any more, or damaged."""
        with suppress(OSError):
            data = read_regular(os.path.join(self.folder, TEXTS, digest), TEXT_LIMIT)
            if content_digest(data) == digest:
                return data
            logger.warning("a text of a work tree is damaged")
        return None


def content_digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def store_text(folder: str, data: bytes) -> str:
    """Keep a text, and give its digest. Raises OSError, also if the folder is not there: that of a
    tree that was removed is not made again."""
    digest = content_digest(data)
    path = os.path.join(folder, TEXTS, digest)
    if not os.path.exists(path):
        with suppress(FileExistsError):
            os.mkdir(os.path.dirname(path), 0o700)
        private_files.write_file(path, data)
    return digest


def load_taken(folder: str) -> Taken:
    """The decisions that were saved; a damaged list is put aside. Texts of none are removed. Raises
    OSError if it is not known what there is."""
    decisions: tuple[TreeDecision, ...] | None = ()
    with suppress(FileNotFoundError):
        decisions = _read_decisions(folder)
    if decisions is None:
        return Taken(folder)
    _remove_unused(folder, decisions)
    return Taken(folder, decisions)


def _read_decisions(folder: str) -> tuple[TreeDecision, ...] | None:
    """Those that were saved; None of a damaged list, which is put aside. Raises OSError, also if
    there is no list."""
    path = os.path.join(folder, NAME)
    try:
        return tuple(map(_decision_of, _whole_lines(read_regular(path, LIMIT))))
    except (ValueError, TypeError, LookupError, RecursionError):
        logger.error("what was taken over from a work tree cannot be read")
        with suppress(OSError):
            os.replace(path, path + ".damaged")
        return None


def save_taken(taken: Taken) -> None:
    """Write the list whole, in the place of what it had. Raises OSError."""
    if not taken.is_known:
        raise OSError(errno.EIO, NOT_KNOWN, taken.folder)
    path = os.path.join(taken.folder, NAME)
    private_files.write_file(path, _encode_decisions(taken.decisions))


class TakenFile:
    """Saves the decisions on one tree again and again, in one thread. Another editor may save those
    that were made there: into the list goes what has changed here, and what it has besides stays.
    Decisions that are new are appended, so that thousands cost no more than each of them."""

    def __init__(self) -> None:
        # What was decided here when the list was read or saved last.
        self._saved: tuple[TreeDecision, ...] = ()

    def load(self, folder: str) -> Taken:
        """The decisions that were saved, as `load_taken` gives them. Raises OSError."""
        taken = load_taken(folder)
        self._saved = taken.decisions
        return taken

    def save(self, taken: Taken) -> None:
        """Raises OSError; then it is saved with the next ones. The folder has to be there: that of
        a tree that was removed is not made again."""
        if not taken.is_known:
            raise OSError(errno.EIO, NOT_KNOWN, taken.folder)
        count, own = len(self._saved), taken.decisions
        with FileLock(os.path.join(taken.folder, LOCK)).hold_lock():
            if own[:count] != self._saved or not _append_decisions(taken.folder, own[count:]):
                self._merge(taken)
        self._saved = own

    def _merge(self, taken: Taken) -> None:
        stored = None
        with suppress(FileNotFoundError):
            stored = _read_decisions(taken.folder)
        if stored is not None:
            merged = _merge_decisions(stored, self._saved, taken.decisions)
            taken = replace(taken, decisions=merged)
        save_taken(taken)


def _append_decisions(folder: str, made: Sequence[TreeDecision]) -> bool:
    """Gives whether there is a list to which it can be done: not one whose last line another editor
    was writing when it was killed. Raises OSError."""
    path = os.path.join(folder, NAME)
    try:
        with open_regular(path) as file:
            if not ends_whole(file):
                return False
        lines = _encode_decisions(made)
        LineFile(path).append_lines(lines, is_new=False, is_lasting=False)
    except FileNotFoundError:
        return False
    return True


def _merge_decisions(
    stored: Iterable[TreeDecision], before: Iterable[TreeDecision], own: Iterable[TreeDecision]
) -> tuple[TreeDecision, ...]:
    """What the list has, with what has changed here since it was as `before`."""
    gone = Counter(map(_as_made, before))
    made: list[TreeDecision] = []
    shown = _count_shown(own) - _count_shown(before)
    for each in own:
        if gone[_as_made(each)]:
            gone[_as_made(each)] -= 1
        else:
            made.append(each)
    left: list[TreeDecision] = []
    for each in stored:
        key = _as_made(each)
        if gone[key]:
            gone[key] -= 1
        elif shown[key] and not each.is_shown_again:
            shown[key] -= 1
            left.append(replace(each, is_shown_again=True))
        else:
            left.append(each)
    return Taken("", tuple(left)).with_decisions(made).decisions


def _as_made(decision: TreeDecision) -> TreeDecision:
    return replace(decision, is_shown_again=False)


def _count_shown(decisions: Iterable[TreeDecision]) -> Counter[TreeDecision]:
    return Counter(_as_made(each) for each in decisions if each.is_shown_again)


def _encode_decisions(decisions: Iterable[TreeDecision]) -> bytes:
    """A line for each."""
    return "".join(f"{json.dumps(vars(decision))}\n" for decision in decisions).encode("ascii")


def _whole_lines(data: bytes) -> list[bytes]:
    """The lines without one that was being written when the editor was killed. Raises
    ValueError."""
    whole, line_end, rest = data.rpartition(b"\n")
    if rest and not line_end:
        raise ValueError("expected lines")
    if rest:
        logger.warning("the last decision on a work tree was not written whole")
    return whole.split(b"\n") if line_end else []


def _decision_of(line: bytes) -> TreeDecision:
    """Raises ValueError, TypeError, LookupError, RecursionError."""
    stored = json.loads(line)
    decision = TreeDecision(**{each.name: stored[each.name] for each in fields(TreeDecision)})
    flags = decision.is_whole, decision.is_shown_again
    texts = (value for value in vars(decision).values() if not isinstance(value, bool))
    digests = decision.digest, decision.unsaved
    are_sound = all(isinstance(text, str) for text in texts) and all(map(_is_digest, digests))
    if not are_sound or not all(isinstance(flag, bool) for flag in flags):
        raise ValueError("expected a decision")
    return decision


def _is_digest(text: str) -> bool:
    return not text or (len(text) == 64 and text.isalnum())


def _remove_unused(folder: str, decisions: Iterable[TreeDecision]) -> None:
    """Another editor may have stored one a moment ago."""
    used = {digest for each in decisions for digest in (each.digest, each.unsaved)}
    with suppress(OSError):
        for entry in os.scandir(os.path.join(folder, TEXTS)):
            if entry.name not in used and entry.stat().st_mtime < time.time() - OLD:
                os.remove(entry.path)
