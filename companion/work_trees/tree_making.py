"""Makes a work tree and records it: before anything is done, so that a stop in between is found at
the next start. Blocks.
"""

from __future__ import annotations

import os
import re
import sys
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import Collection

from ..base import private_files
from .creation import ReportProgress, create_work_tree
from .git import GitFailure
from .ignored import copy_ignored, link_ignored
from .mending import undo_creation
from .repository import Repository
from .shared_watch import SharedWatch
from .tree_places import is_below, is_trusted
from .tree_store import TreeStore
from .work_tree import TreeFailure, TreeState, WorkTree, new_id

COPYING = "Copying ignored files"
# The most work trees of one project and agent.
MOST = 999
# What no name of a folder has here.
NO_NAME = re.compile(r"[^\w.-]+")
NO_RECORD = "The work tree cannot be recorded ({}), so none was made. Make room on the disk."
NO_PLACE = 'Work trees cannot be made in {} ({}). Choose another "worktree_folder" in the settings.'
WITHIN = (
    "Work trees would be made in {}, which is within the project. Choose another"
    ' "worktree_folder" in the settings.'
)
TRUSTED = (
    "Work trees would be made in {}, which you trust, and you do not trust {}. Choose another"
    ' "worktree_folder" in the settings.'
)
OF_ANOTHER = "it belongs to another user"
TOO_MANY = 'There are too many work trees in {}. Remove some with "Remove Work Tree".'


@dataclass(frozen=True)
class WantedTree:
    """A work tree of the repository for an agent, by its id, that works in the `folder` (a real
    path), which is the root or below it. It is made in `place`, a folder for those of the project
    alone. `trusted` are the folders that the user trusts. Of the ignored files of the root, those
    of the names in `links` and `copies` are taken into it in that way. `snapshot` is what another
    one has begun with, so that both are the same; "" to look at the user's files."""

    repository: Repository
    folder: str
    place: str
    agent: str
    take_changes: bool = False
    take_untracked: bool = False
    trusted: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    snapshot: str = ""


def make_tree(store: TreeStore, wanted: WantedTree, report_progress: ReportProgress) -> WorkTree:
    """The work tree, in which nobody works yet. Raises GitFailure, and what `report_progress`
    raises; nothing is left of it then."""
    place, id = _checked_place(wanted), new_id()
    SharedWatch(store).begin(wanted.repository.places.common_folder)
    with store.hold_tree(id), ExitStack() as failing:
        tree = _record_name(store, wanted, place, id)
        failing.callback(_undo_quietly, store, tree)
        made = create_work_tree(
            wanted.repository,
            tree.path,
            id,
            wanted.take_changes,
            wanted.take_untracked,
            report_progress,
            wanted.snapshot,
        )
        tree = replace(
            tree,
            beginning=made.beginning,
            git_folder=made.git_folder,
            admin=made.admin,
            carried=_carry_ignored(wanted, tree.path, report_progress),
            created=time.time(),
            state=TreeState.READY,
        )
        _record(store, tree)
        failing.pop_all()
    return tree


def make_scratch(store: TreeStore) -> str:
    """A folder of ours for files of the moment. Raises OSError."""
    folder = os.path.join(store.folder, "scratch")
    private_files.make_parents(os.path.join(folder, ""))
    return folder


def _carry_ignored(
    wanted: WantedTree, path: str, report_progress: ReportProgress
) -> tuple[str, ...]:
    """Raises GitFailure, and what `report_progress` raises."""

    def report_copy(count: int) -> None:
        report_progress(COPYING, count, 0)

    root = wanted.repository.root
    try:
        linked = link_ignored(root, path, wanted.links)
        return (*linked, *copy_ignored(root, path, wanted.copies, report_copy))
    except TreeFailure as error:
        raise GitFailure(str(error)) from error


def _undo_quietly(store: TreeStore, tree: WorkTree) -> None:
    """What cannot be removed now stays recorded, and the next start finds it."""
    with suppress(OSError, TreeFailure):
        undo_creation(store, tree)


def _record_name(store: TreeStore, wanted: WantedTree, place: str, id: str) -> WorkTree:
    """The tree as it will be, with a name that no other one has or gets. Raises GitFailure."""
    git_folder = wanted.repository.places.common_folder
    try:
        with store.hold_names():
            name = _free_name(wanted, place, {tree.path for tree in store.list_trees()})
            tree = WorkTree(
                id,
                os.path.join(place, name),
                wanted.repository.root,
                wanted.folder,
                name,
                wanted.agent,
                time.time(),
                beginning="",
                git_folder=git_folder,
                state=TreeState.MAKING,
            )
            store.keep_tree(tree)
    except OSError as error:
        raise GitFailure(NO_RECORD.format(error.strerror or error)) from error
    return tree


def _record(store: TreeStore, tree: WorkTree) -> None:
    try:
        store.keep_tree(tree)
    except OSError as error:
        raise GitFailure(NO_RECORD.format(error.strerror or error)) from error


def _checked_place(wanted: WantedTree) -> str:
    """The real path of the folder that the work tree is made in. Raises GitFailure."""
    root, place = wanted.repository.root, os.path.realpath(wanted.place)
    if is_below(place, root):
        raise GitFailure(WITHIN.format(place))
    if is_trusted(place, wanted.trusted) and not is_trusted(wanted.folder, wanted.trusted):
        raise GitFailure(TRUSTED.format(place, wanted.folder))
    try:
        os.makedirs(place, mode=0o755, exist_ok=True)
        if sys.platform != "win32" and os.stat(place).st_uid != os.getuid():
            raise GitFailure(NO_PLACE.format(place, OF_ANOTHER))
    except OSError as error:
        raise GitFailure(NO_PLACE.format(place, error.strerror or error)) from error
    return place


def _free_name(wanted: WantedTree, place: str, taken: Collection[str]) -> str:
    """A name for the folder that nothing there has, nor what git keeps of work trees, nor one of
    the `taken` paths. Raises GitFailure."""
    stem = NO_NAME.sub("-", wanted.agent).strip("-.") or "agent"
    kept = os.path.join(wanted.repository.places.common_folder, "worktrees")
    for number in range(1, MOST + 1):
        name = f"{stem}-{number}"
        paths = [os.path.join(folder, name) for folder in (place, kept)]
        if paths[0] not in taken and not any(map(os.path.lexists, paths)):
            return name
    raise GitFailure(TOO_MANY.format(place))
