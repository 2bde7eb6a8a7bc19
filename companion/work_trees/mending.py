"""Mends at the start what a stop in the middle of something, or somebody else, has left of work
trees. Nothing that may be somebody's work is removed here without having been confirmed before."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Iterator

from .named import shown_name
from .removal import doom_folder, finish_removal, is_half_removed
from .tree_store import TreeInUse, TreeStore
from .whereabouts import Whereabouts, find_admin, find_place, leads_back, read_mark
from .work_tree import TreeFailure, TreeState, WorkTree

NOT_FINISHED = "The work tree {} was not finished, and what there was of it is removed."
NOT_REMOVED = "The work tree {} was not removed, as the editor ended before. It is there as before."
REMOVED = "The work tree {} was removed by somebody else; it is in the list no more."
MOVED = "The work tree {} was moved by somebody else, to {}."
STAYS = "The work tree {} was not finished, and {} has something else in it, which stays."
UNKNOWN = "The work tree {} cannot be looked at: {}."


def mend_trees(store: TreeStore) -> list[str]:
    """Mend all trees, and give the sentences for the user about what was found. A tree that another
    editor is at work on is left to that. Raises OSError if it is not known which there are."""
    store.sweep_leftovers()
    found: list[str] = []
    for tree in store.list_trees():
        try:
            found += _mend_kept(store, tree.id)
        except TreeInUse:
            continue
        except TreeFailure as error:
            found.append(str(error))
        except OSError as error:
            found.append(UNKNOWN.format(shown_name(tree.name), error.strerror or error))
    return found


def _mend_kept(store: TreeStore, id: str) -> Iterator[str]:
    with store.hold_tree(id):
        # Another editor may have been faster.
        tree = store.find_tree(id)
        if tree is not None:
            yield from mend_tree(store, tree)


def mend_tree(store: TreeStore, tree: WorkTree) -> Iterator[str]:
    """Mend this one; for who has it locked. Raises TreeFailure, and OSError."""
    place, name = find_place(tree), shown_name(tree.name or tree.path)
    if tree.state is TreeState.MAKING:
        if place.kind is not Whereabouts.STRANDED:
            yield undo_creation(store, tree)
    elif is_half_removed(tree) and place.kind is not Whereabouts.HERE:
        finish_removal(store, tree)
    elif tree.state is TreeState.REMOVING:
        if os.path.lexists(place.path) and place.kind is not Whereabouts.REMOVED:
            store.keep_tree(replace(tree, path=place.path, state=TreeState.READY))
            yield NOT_REMOVED.format(name)
        elif place.kind is not Whereabouts.STRANDED:
            finish_removal(store, tree)
    elif place.kind is Whereabouts.MOVED:
        store.keep_tree(replace(tree, path=place.path))
        yield MOVED.format(name, shown_name(place.path))
    elif place.kind is Whereabouts.REMOVED:
        finish_removal(store, tree)
        yield REMOVED.format(name)


def undo_creation(store: TreeStore, tree: WorkTree) -> str:
    """Remove what is there of a tree in which no agent has worked yet, and give a sentence about
    that; for who has it locked. Its folder is deleted if git says that it is this tree, or if
    nothing is in it. Raises TreeFailure."""
    name = shown_name(tree.name or tree.path)
    tree = replace(tree, admin=_own_admin(tree))
    if is_half_removed(tree) or not os.path.lexists(tree.path):
        sentence = NOT_FINISHED.format(name)
    elif tree.admin and leads_back(tree.path, tree.admin_folder):
        doom_folder(tree)
        sentence = NOT_FINISHED.format(name)
    else:
        try:
            os.rmdir(tree.path)
            sentence = NOT_FINISHED.format(name)
        except OSError:
            sentence = STAYS.format(name, shown_name(tree.path))
    finish_removal(store, tree)
    return sentence


def _own_admin(tree: WorkTree) -> str:
    """The name of what git keeps of it; "" if there is nothing, or if that is of another tree."""
    admin = find_admin(tree.git_folder, tree.path)
    mark = read_mark(os.path.join(tree.git_folder, "worktrees", admin)) if admin else ""
    return admin if mark in ("", tree.id) else ""
