"""The work trees of agents, kept in files, so that a stop of the editor at any moment loses none.

Each has a file of its own: editors that share the folder write no file of another's tree, and a
damaged one takes no other with it. Beside it is a folder for what belongs to the tree, such as what
was taken over from it. All functions block.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, Iterator, Mapping

from ..base import private_files
from ..base.file_lock import FileLock
from ..base.log import logger
from ..base.regular_file import read_regular
from .work_tree import ID, TreeFailure, TreeState, WorkTree

END, LOCK, DAMAGED = ".json", ".lock", ".damaged"
# The file that is locked while a tree gets its name.
NAMES = "names"
# The most bytes of a file.
LIMIT = 1 << 20
# The fields that are texts.
PATHS = ("path", "root", "folder", "git_folder")
TEXTS = (*PATHS, "name", "agent", "beginning", "admin")
FREE = "is_free"


class TreeInUse(TreeFailure):
    """Another editor makes, removes or mends the tree."""


class TreeStore:
    """May be used from any thread and by several editors. Who changes a tree that is there already
    holds its lock meanwhile."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def list_trees(self) -> tuple[WorkTree, ...]:
        """All trees, oldest first. Raises OSError if it is not known which there are."""
        found = (self.find_tree(id) for id in self._ids())
        trees = [tree for tree in found if tree is not None]
        return tuple(sorted(trees, key=lambda tree: (tree.created, tree.id)))

    def find_tree(self, id: str) -> WorkTree | None:
        """The tree with the id; None if there is none, or if of its file nothing can be read. That
        one is kept beside it."""
        try:
            return _tree_from(id, self._read_members(id))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as error:
            logger.error("a work tree's file cannot be read: %s", type(error).__name__)
            self._put_aside(id)
            return None

    def keep_tree(self, tree: WorkTree) -> None:
        """Keep the tree in place of what was kept of it, so that a power cut does not lose it.
        Fields that another release has added stay. Raises OSError."""
        stored: dict[str, Any] = {}
        with suppress(OSError, ValueError, RecursionError):
            stored = dict(self._read_members(tree.id))
            if _damaged_fields(stored):
                self._put_aside(tree.id)
        stored.update(_members_of(tree))
        path = self._path_of(tree.id, END)
        private_files.make_parents(path)
        data = json.dumps(stored, indent=1).encode("ascii")
        private_files.write_file(path, data, lasting=True)

    def let_work_freely(self, id: str) -> None:
        """Keep that the user lets agents work in the tree without asking. Raises TreeInUse,
        OSError."""
        with self.hold_tree(id):
            tree = self.find_tree(id)
            if tree is not None:
                self.keep_tree(replace(tree, is_free=True))

    def forget_tree(self, id: str) -> None:
        """Remove all that is kept of the tree; its own file last, so that a stop in between loses
        sight of nothing. Raises OSError."""
        _remove_folder(self._path_of(id))
        for end in (DAMAGED, END):
            with suppress(FileNotFoundError):
                os.remove(self._path_of(id, end))
        # Whoever saw that file a moment ago may have made the folder again.
        _remove_folder(self._path_of(id))
        # Windows removes no file that is open, and whoever calls this has it locked.
        with suppress(OSError):
            os.remove(self._path_of(id, LOCK))

    def make_data_folder(self, id: str) -> str:
        """The folder for what belongs to the tree, created where it is missing. Raises OSError, and
        leaves nothing, if the tree is not kept any more."""
        folder = self.data_folder(id)
        private_files.make_parents(os.path.join(folder, ""))
        if not os.path.exists(self._path_of(id, END)):
            with suppress(OSError):
                os.rmdir(folder)
            raise FileNotFoundError(errno.ENOENT, "it was removed", folder)
        return folder

    def data_folder(self, id: str) -> str:
        """The folder for what belongs to the tree; it need not be there."""
        return self._path_of(id)

    @contextmanager
    def hold_tree(self, id: str) -> Iterator[None]:
        """Have the tree locked for a block. Raises TreeInUse if another editor, or another thread,
        has it, and OSError."""
        path = self._path_of(id, LOCK)
        private_files.make_parents(path)
        lock = FileLock(path)
        if not lock.acquire():
            raise TreeInUse("Another window or editor is at work on this work tree. Try again.")
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def hold_names(self) -> Iterator[None]:
        """Have the names of all trees locked for a block: of two that are made at a time, the
        second one sees the record of the first. Raises OSError, also if others have them for
        long."""
        path = os.path.join(self.folder, NAMES)
        private_files.make_parents(path)
        with FileLock(path).hold_lock():
            yield

    def sweep_leftovers(self) -> None:
        """Remove what writers that died have left, and the locks of trees that are gone."""
        private_files.sweep_folder(self.folder)
        ids = self._ids()
        with suppress(OSError):
            for name in os.listdir(self.folder):
                lock = FileLock(os.path.join(self.folder, name))
                # Of a tree that is about to be recorded it is held.
                if name.endswith(LOCK) and name[: -len(LOCK)] not in ids and lock.acquire():
                    lock.remove_file()

    def _ids(self) -> list[str]:
        try:
            names = os.listdir(self.folder)
        except FileNotFoundError:
            return []
        ids = (name[: -len(END)] for name in names if name.endswith(END))
        return [id for id in ids if ID.fullmatch(id)]

    def _read_members(self, id: str) -> Mapping[str, Any]:
        """Raises OSError, ValueError and RecursionError."""
        stored = json.loads(read_regular(self._path_of(id, END), LIMIT))
        if not isinstance(stored, dict):
            raise ValueError("expected an object")
        return stored

    def _put_aside(self, id: str) -> None:
        """Keep a copy of a damaged file, for whoever looks for what is lost."""
        with suppress(OSError):
            shutil.copyfile(self._path_of(id, END), self._path_of(id, DAMAGED))

    def _path_of(self, id: str, end: str = "") -> str:
        if not ID.fullmatch(id):
            raise ValueError("expected an id of a work tree")
        return os.path.join(self.folder, id + end)


def _remove_folder(path: str) -> None:
    """Somebody may still be writing what belongs to the tree. Raises OSError."""
    for is_last in (False, False, True):
        try:
            shutil.rmtree(path)
        except FileNotFoundError:
            return
        except OSError:
            if is_last:
                raise


def _members_of(tree: WorkTree) -> dict[str, Any]:
    texts = {name: getattr(tree, name) for name in TEXTS}
    more = {"created": tree.created, "carried": tree.carried, "state": tree.state.value}
    return {**texts, **more, FREE: tree.is_free}


def _tree_from(id: str, stored: Mapping[str, Any]) -> WorkTree:
    """A field that cannot be read is empty; a state is taken to be that of a tree in use, in which
    nothing is removed unasked. Raises ValueError if there is neither a path nor what git keeps."""
    fields = _readable_fields(stored)
    texts = {name: fields.get(name, "") for name in TEXTS}
    if not (texts["path"] or texts["admin"]):
        raise ValueError("expected a path")
    texts["root"] = texts["root"] or texts["folder"]
    texts["folder"] = texts["folder"] or texts["root"]
    created = float(fields.get("created", 0.0))
    state = TreeState(fields.get("state", TreeState.READY.value))
    carried = tuple(fields.get("carried", ()))
    return WorkTree(
        id=id,
        **texts,
        created=created,
        carried=carried,
        state=state,
        is_free=bool(fields.get(FREE, False)),
    )


def _readable_fields(stored: Mapping[str, Any]) -> dict[str, Any]:
    damaged = _damaged_fields(stored)
    return {name: value for name, value in stored.items() if name not in damaged}


def _damaged_fields(stored: Mapping[str, Any]) -> set[str]:
    """The names of our fields that have another form than ours."""
    forms = {name: is_text(stored.get(name)) for name in TEXTS}
    for name in PATHS:
        # Of a tree that is being made some are empty.
        forms[name] = forms[name] and (not stored[name] or os.path.isabs(stored[name]))
    # What git keeps is removed by this name.
    forms["admin"] = forms["admin"] and is_plain_name(stored["admin"])
    created, carried = stored.get("created"), stored.get("carried")
    is_number = isinstance(created, (int, float)) and not isinstance(created, bool)
    forms["created"] = is_number and 0 <= stored["created"] < 1e11
    forms["carried"] = isinstance(carried, list) and all(isinstance(one, str) for one in carried)
    # Earlier releases did not have it.
    forms[FREE] = isinstance(stored.get(FREE, False), bool)
    forms["state"] = stored.get("state") in [state.value for state in TreeState]
    return {name for name, is_sound in forms.items() if not is_sound}


def is_text(value: object) -> bool:
    return isinstance(value, str) and "\0" not in value


def is_plain_name(name: str) -> bool:
    """Whether it names nothing outside of its folder."""
    return os.path.basename(name) == name and name not in (os.curdir, os.pardir)
