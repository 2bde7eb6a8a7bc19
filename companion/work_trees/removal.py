"""Removes a work tree, in steps of which each can be the last: what is left then is found at the
next start, and removed or named.

    1. The tree is recorded as one that is being removed.
    2. Its folder gets another name beside it, by which it is known: nobody works in it any more.
       Where this fails nothing was removed.
    3. The folder is deleted, then what git keeps of the tree, then the ref of its beginning.
    4. The record is deleted.

The user's own files, refs and index are not touched.
"""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from dataclasses import replace
from typing import Callable

from ..base.log import logger
from .creation import BEGINNING, read_beginning
from .folder_deletion import delete_folder, move_up
from .git import GitFailure, run_git
from .loss import Loss, what_would_be_lost
from .named import shown_name
from .tree_store import TreeStore
from .untaken import Untaken
from .whereabouts import Whereabouts, find_place, has_more, is_same_path, read_known_path, read_mark
from .work_tree import TreeFailure, TreeState, WorkTree, with_root

# The beginning of the name of a folder that is being deleted; the id of the tree follows.
DOOMED = ".removed-"
FULL = (errno.ENOSPC, errno.EDQUOT)
IN_USE = "{} cannot be removed ({}). Close what has files open there, and remove it again."
HALF_REMOVED = (
    'A part of {} cannot be removed: {} ({}). "Remove Work Tree" and the next start of Sublime Text'
    " try again, or delete it yourself."
)
GONE = "The work tree was removed already."
NOT_FORGOTTEN = (
    "{} is removed, but git could not forget its beginning: {} The next start of Sublime Text tries"
    " again."
)
NOT_ALONE = "{} has more in it than this work tree, so nothing is removed. Look at it yourself."
NOT_RECORDED = "{} cannot be removed: its record cannot be written ({})."


def remove_agreed_tree(
    store: TreeStore,
    id: str,
    agreed: Loss,
    find_untaken: Callable[[WorkTree], Untaken],
    scratch: str,
) -> Loss:
    """Remove the tree if nothing is lost with it but what the user `agreed` to; `find_untaken` and
    `scratch` are those of `what_would_be_lost`. Gives what more would be lost: then nothing was
    removed. Raises TreeFailure, and OSError."""
    with store.hold_tree(id):
        tree = store.find_tree(id)
        if tree is None:
            store.forget_tree(id)
            raise TreeFailure(GONE)
        loss = what_would_be_lost(tree, find_untaken, scratch)
        if not loss.is_nothing and loss != agreed:
            return loss
        remove_work_tree(store, tree)
        return Loss()


def remove_work_tree(store: TreeStore, tree: WorkTree) -> None:
    """Remove the tree, whatever is lost with it; for who has it locked. Raises TreeFailure: if
    nothing was removed it is ready as before, and else what is left can be removed again."""
    place = find_place(tree)
    tree = replace(tree, path=place.path, state=TreeState.REMOVING)
    _record(store, tree)
    try:
        if place.kind not in (Whereabouts.REPLACED, Whereabouts.REMOVED):
            doom_folder(tree)
    except TreeFailure:
        with suppress(OSError):
            store.keep_tree(replace(tree, state=TreeState.READY))
        raise
    finish_removal(store, tree)


def is_half_removed(tree: WorkTree) -> bool:
    """Whether its folder was to be deleted, and is not yet."""
    return bool(tree.path) and os.path.lexists(doomed_path(tree))


def doom_folder(tree: WorkTree) -> None:
    """Give its folder the other name. Raises TreeFailure."""
    if not (tree.path and os.path.lexists(tree.path)):
        return
    if has_more(tree, tree.path):
        raise TreeFailure(NOT_ALONE.format(shown_name(tree.path)))
    try:
        # What an earlier removal has left.
        delete_folder(doomed_path(tree))
        os.rename(tree.path, doomed_path(tree))
    except FileNotFoundError:
        # Somebody else has removed it.
        pass
    except OSError as error:
        reason = error.strerror or str(error)
        raise TreeFailure(IN_USE.format(shown_name(tree.path), reason)) from error


def finish_removal(store: TreeStore, tree: WorkTree) -> None:
    """Delete what is left of a tree whose folder has its other name, or is not there; for who has
    the tree locked. Raises TreeFailure."""
    try:
        if tree.path:
            delete_folder(doomed_path(tree))
            _lead_on(store, tree)
        if os.path.isdir(tree.git_folder):
            _forget_in_git(store, tree)
        store.forget_tree(tree.id)
    except OSError as error:
        where = shown_name(str(error.filename or tree.path))
        raise TreeFailure(
            HALF_REMOVED.format(shown_name(tree.path), where, error.strerror or error)
        ) from error
    except GitFailure as error:
        raise TreeFailure(NOT_FORGOTTEN.format(shown_name(tree.path), error)) from error


def doomed_path(tree: WorkTree) -> str:
    """Where its folder is while it is deleted."""
    return os.path.join(os.path.dirname(tree.path), DOOMED + tree.id)


def _record(store: TreeStore, tree: WorkTree) -> None:
    """On a full disk the other name of the folder says enough, and what is removed makes room."""
    try:
        store.keep_tree(tree)
    except OSError as error:
        if error.errno not in FULL:
            reason = error.strerror or str(error)
            raise TreeFailure(NOT_RECORDED.format(tree.name or tree.path, reason)) from error
        logger.warning("a work tree is removed without a record, as the disk is full")


def _lead_on(store: TreeStore, tree: WorkTree) -> None:
    """Trees that were made of this one, where the user had it open as a project, become those of
    the project that this one is of: else no window would list them. Raises OSError, TreeInUse."""
    for other in store.list_trees():
        is_of_it = other.git_folder == tree.git_folder and is_same_path(other.root, tree.path)
        if tree.root and is_of_it:
            with store.hold_tree(other.id):
                store.keep_tree(with_root(other, tree.root))


def _forget_in_git(store: TreeStore, tree: WorkTree) -> None:
    """Raises OSError and GitFailure."""
    admin = tree.admin_folder
    known = read_known_path(admin) if admin else ""
    # Somebody may have made another tree of that name meanwhile. One that is being made may have no
    # mark yet.
    marks = ("", tree.id) if tree.state is TreeState.MAKING else (tree.id,)
    is_its = read_mark(admin) in marks and (not known or is_same_path(known, tree.path))
    doomed = DOOMED + tree.id
    if admin and is_its and os.path.lexists(admin):
        # In one step: a git that finds a half of it fails.
        move_up(admin, tree.git_folder, doomed)
    delete_folder(os.path.join(tree.git_folder, doomed), tree.git_folder)
    if not any(_is_made_beside(tree, other) for other in store.list_trees()):
        with suppress(OSError):
            # git keeps no such folder without work trees.
            os.rmdir(os.path.join(tree.git_folder, "worktrees"))
    if read_beginning(tree.git_folder, tree.id):
        run_git(tree.git_folder, "update-ref", "-d", BEGINNING + tree.id)


def _is_made_beside(tree: WorkTree, other: WorkTree) -> bool:
    """Whether a git may be about to write to the folder of all work trees."""
    is_making = other.state is TreeState.MAKING and other.id != tree.id
    return is_making and other.git_folder == tree.git_folder
