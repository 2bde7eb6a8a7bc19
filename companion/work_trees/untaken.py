"""What the user has not taken over of a work tree: the changes that wait for them, and those that
they rejected or dropped, which nobody else has. Blocks."""

from __future__ import annotations

from typing import NamedTuple

from .inside import ABSENT, FILES, LINK
from .taken import load_taken
from .tree_changes import TreeReader
from .work_tree import WorkTree


class Untaken(NamedTuple):
    """Paths from the top of the tree: `waiting` are files that nobody has decided on, and `left`
    others of which something was decided to stay in the tree."""

    waiting: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


def find_untaken(tree: WorkTree, folder: str) -> Untaken:
    """`folder` is ours, for what belongs to the tree. Raises GitFailure, OSError."""
    taken, reader = load_taken(folder), TreeReader(tree, folder)
    try:
        changes = reader.list_changes(taken, is_bounded=False)
        waiting = tuple(change.path for change in changes)
        left = (path for path in sorted(taken.left) if _is_left(reader, path))
        return Untaken(waiting, tuple(path for path in left if path not in waiting))
    finally:
        reader.close()


def _is_left(reader: TreeReader, path: str) -> bool:
    """Whether there is something at the path that the user does not have."""
    right, own = (reader.look(root, path) for root in (reader.tree.path, reader.tree.root))
    if right.mode not in (*FILES, LINK):
        # Of a folder that cannot be read, or a repository, nobody knows what is in it.
        return right.mode != ABSENT
    mine = reader.digest_of(reader.tree.root, path, own)
    return right.mode != own.mode or reader.digest_of(reader.tree.path, path, right) != mine
