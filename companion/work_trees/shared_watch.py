"""Notices what changes in what all work trees of a repository share, as long as an agent has one of
them, also over a restart. All functions block.
"""

from __future__ import annotations

import json
import os
import threading
from contextlib import suppress
from dataclasses import asdict, replace
from enum import Enum
from typing import Any, NamedTuple

from ..base import private_files
from ..base.log import logger
from ..base.regular_file import read_regular
from .named import shown_name
from .shared_changes import changed_history, changed_rules
from .shared_files import Stamp, digest_bytes
from .shared_state import SharedReader, SharedState
from .tree_store import TreeStore
from .work_tree import TreeState, WorkTree

# The beginning and the end of the name of a kept state; between is a digest of the git folder.
BEGINNING, END = "shared-", ".json"
# The most bytes of one.
LIMIT = 64 << 20
MAPPINGS = ("refs", "stash", "settings", "files", "heads")
UNREADABLE = "The repository in {} cannot be read: {}."


class SharedChanges(NamedTuple):
    """Sentences about what changed after `since`, in seconds since 1970: of what git does in all
    work trees, and of what is committed, stashed and checked out."""

    since: float
    rules: tuple[str, ...] = ()
    history: tuple[str, ...] = ()


class HistoryLook(Enum):
    """What a look does with what changed of the history. PASSED: no agent was at work, and it is
    taken for the user's own. LATER: an agent is at work, and it is told at the end."""

    TOLD = "told"
    PASSED = "passed"
    LATER = "later"


class SharedWatch:
    """For the trees of a store; may be used from any thread."""

    def __init__(self, store: TreeStore) -> None:
        self._store = store
        self._readers: dict[str, SharedReader] = {}
        # The states as they are kept, each with the times of its file; () if that was not written.
        self._states: dict[str, tuple[Stamp, SharedState]] = {}
        # When they were read last, in seconds since 1970.
        self._looked: dict[str, float] = {}
        # Those that could not be read at the last look.
        self._unreadable: set[str] = set()
        self._working = threading.Lock()

    def begin(self, git_folder: str) -> None:
        """Note the state before an agent gets a work tree of the repository. If an agent has one of
        it already, the earlier state counts. Without a disk that answers there is none to tell
        changes from."""
        with self._working, suppress(OSError):
            self._sweep()
            if self._find_state(git_folder) is None or not self._is_worked_on(git_folder):
                self._keep(git_folder, self._read_state(git_folder))

    def tell_changes(
        self, git_folder: str, history: HistoryLook = HistoryLook.TOLD
    ) -> SharedChanges:
        """What changed since the last look, or since the beginning; it counts as told, but for a
        history that is told LATER."""
        with self._working:
            before = self._find_state(git_folder)
            since = self._looked.get(git_folder, before.taken if before else 0.0)
            try:
                now = self._read_state(git_folder)
            except OSError as error:
                if git_folder in self._unreadable:
                    return SharedChanges(since)
                self._unreadable.add(git_folder)
                return SharedChanges(since, (_unreadable(git_folder, error),))
            self._unreadable.discard(git_folder)
            if history is not HistoryLook.LATER:
                self._looked[git_folder] = now.taken
            elif before is not None:
                kept = {name: getattr(before, name) for name in ("refs", "stash", "heads")}
                now = replace(now, **kept)
            if before is None or replace(before, taken=now.taken) != now:
                self._keep(git_folder, now)
            if before is None:
                return SharedChanges(now.taken)
            is_told = history is HistoryLook.TOLD
            told = changed_history(before, now) if is_told else ()
            return SharedChanges(since, changed_rules(before, now), told)

    def _is_worked_on(self, git_folder: str) -> bool:
        """Raises OSError."""
        return any(tree.state is not TreeState.MAKING for tree in self._trees_of(git_folder))

    def _read_state(self, git_folder: str) -> SharedState:
        """Raises OSError."""
        reader = self._readers.setdefault(git_folder, SharedReader(git_folder))
        return reader.read_state(lambda: self._trees_of(git_folder))

    def _trees_of(self, git_folder: str) -> list[WorkTree]:
        """Raises OSError."""
        return [tree for tree in self._store.list_trees() if tree.git_folder == git_folder]

    def _find_state(self, git_folder: str) -> SharedState | None:
        path = self._path(git_folder)
        stamp, state = self._states.get(git_folder, ((), None))
        # Another editor may have told of changes, too.
        if state is None or (stamp and stamp != _stamp_of(path)):
            try:
                stamp, state = _stamp_of(path), _state_from(read_regular(path, LIMIT))
                self._states[git_folder] = stamp, state
            except FileNotFoundError:
                return None
            except (OSError, ValueError, RecursionError) as error:
                logger.warning("what a repository was is not known: %s", type(error).__name__)
                return None
        return state

    def _keep(self, git_folder: str, state: SharedState) -> None:
        """Without a disk that takes it, it is known until the editor ends."""
        path = self._path(git_folder)
        stamp: Stamp = ()
        try:
            private_files.make_parents(path)
            private_files.write_file(path, json.dumps(asdict(state)).encode("ascii"))
            stamp = _stamp_of(path)
        except OSError as error:
            logger.warning("what a repository is cannot be kept: %s", error.strerror)
        self._states[git_folder] = stamp, state

    def _sweep(self) -> None:
        """Forget repositories of which no agent has a work tree any more."""
        with suppress(OSError):
            wanted = {tree.git_folder for tree in self._store.list_trees()}
            for git_folder in self._states.keys() - wanted:
                del self._states[git_folder]
                self._readers.pop(git_folder, None)
                self._looked.pop(git_folder, None)
            names = {os.path.basename(self._path(git_folder)) for git_folder in wanted}
            for name in os.listdir(self._store.folder):
                if name.startswith(BEGINNING) and name not in names:
                    os.remove(os.path.join(self._store.folder, name))

    def _path(self, git_folder: str) -> str:
        digest = digest_bytes(os.fsencode(git_folder))
        return os.path.join(self._store.folder, BEGINNING + digest + END)


def _unreadable(git_folder: str, error: OSError) -> str:
    return UNREADABLE.format(shown_name(git_folder), error.strerror or error)


def _stamp_of(path: str) -> Stamp:
    """Each write replaces the file by another one."""
    with suppress(OSError):
        status = os.stat(path)
        return status.st_mtime_ns, status.st_size, status.st_ino
    return (-1,)


def _state_from(data: bytes) -> SharedState:
    """Raises ValueError."""
    stored: Any = json.loads(data)
    if not isinstance(stored, dict) or not isinstance(stored.get("taken"), (int, float)):
        raise ValueError("expected a state")
    mappings: dict[str, Any] = {name: stored.get(name) for name in MAPPINGS}
    for found in mappings.values():
        if not isinstance(found, dict) or not all(isinstance(one, str) for one in found.values()):
            raise ValueError("expected texts by names")
    return SharedState(float(stored["taken"]), is_whole=stored.get("is_whole") is True, **mappings)
