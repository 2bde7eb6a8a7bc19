"""Takes up work trees again whose records are gone, as with a cache that was emptied, or whose
repository is elsewhere by now, as with a folder that was renamed: what git keeps of each has its
id, and they stand in folders that have nothing else.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import replace
from typing import Callable, Iterable, Iterator, Mapping

from .creation import read_beginning
from .git import GitFailure
from .named import shown_name
from .tree_store import TreeInUse, TreeStore
from .whereabouts import (
    DOT_GIT,
    MARK,
    Whereabouts,
    find_place,
    has_more,
    is_same_path,
    read_known_path,
    read_mark,
    read_text,
)
from .work_tree import ID, TreeState, WorkTree, with_root

# Seconds after which nobody makes a tree any more that another editor had begun.
AGE = 600.0
ADOPTED = "The work tree {} was missing in the list, and is there again."


def adopt_trees(
    store: TreeStore, folders: Iterable[str], place_for: Callable[[str], str]
) -> list[str]:
    """Record the trees again that the repositories of the folders have, and give sentences about
    that. `place_for` gives the folder for the work trees of a root. Raises OSError."""
    found: list[str] = []
    for root, git_folder in dict(filter(None, map(_find_root, folders))).items():
        known = {tree.id: tree for tree in store.list_trees()}
        place = os.path.realpath(place_for(root))
        for tree in _marked_trees(root, git_folder, place, known):
            old = known.get(tree.id)
            if old is None or _is_stranded(old, tree):
                with suppress(TreeInUse), store.hold_tree(tree.id):
                    store.keep_tree(tree if old is None else _renewed(old, tree))
                    found.append(ADOPTED.format(shown_name(tree.name)))
    return found


def _is_stranded(old: WorkTree, tree: WorkTree) -> bool:
    """Whether the repository is not where it was recorded, but there is this one, with the same
    beginning."""
    is_gone = find_place(old).kind is Whereabouts.STRANDED and old.state is TreeState.READY
    is_its = is_same_path(old.path, tree.path) or not os.path.lexists(old.path)
    return is_gone and is_its and old.beginning == tree.beginning


def _renewed(old: WorkTree, tree: WorkTree) -> WorkTree:
    """What is recorded of the tree, in the repository that it has by now."""
    own = with_root(old, tree.root)
    return replace(own, path=tree.path, git_folder=tree.git_folder, admin=tree.admin)


def _marked_trees(
    root: str, git_folder: str, place: str, known: Mapping[str, WorkTree]
) -> Iterator[WorkTree]:
    """Those that stand in this place, or where the known one was made: an agent can write a mark,
    but not there."""
    folder = os.path.join(git_folder, "worktrees")
    names: list[str] = []
    with suppress(OSError):
        names = sorted(os.listdir(folder))
    for name in names:
        admin = os.path.join(folder, name)
        id, path = read_mark(admin), read_known_path(admin)
        if not ID.fullmatch(id) or not path:
            continue
        is_old_path = id in known and is_same_path(path, known[id].path)
        if not is_old_path and not is_same_path(os.path.dirname(path), place):
            continue
        with suppress(OSError, GitFailure):
            made, beginning = os.stat(os.path.join(admin, MARK)).st_mtime, read_beginning(root, id)
            called = os.path.basename(path)
            agent = called.rpartition("-")[0]
            tree = WorkTree(id, path, root, root, called, agent, made, beginning, git_folder, name)
            is_there = find_place(tree).kind is Whereabouts.HERE and not has_more(tree, path)
            if is_there and beginning and made < time.time() - AGE:
                yield tree


def _find_root(folder: str) -> tuple[str, str] | None:
    """The top of the work tree that has the folder, with the git folder that it shares; None if
    there is none."""
    path = os.path.realpath(folder)
    while not os.path.lexists(os.path.join(path, DOT_GIT)):
        path, below = os.path.dirname(path), path
        if path == below:
            return None
    git_folder = os.path.join(path, DOT_GIT)
    if os.path.isfile(git_folder):
        with suppress(OSError):
            told = read_text(path, DOT_GIT)
            git_folder = os.path.join(path, told.partition(":")[2].strip())
            git_folder = os.path.join(git_folder, read_text(git_folder, "commondir").strip())
    return path, os.path.realpath(git_folder)
