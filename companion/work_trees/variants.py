"""Finds changes that agents have made alike in several work trees of a project, so that each is
shown once. Blocks; what was read is kept for the next time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Iterator, Mapping, NamedTuple, Sequence, Tuple

from .inside import ABSENT, FILES, LINK, Found
from .taken import content_digest
from .tree_changes import SidesFailure, TreeChange, read_side
from .work_tree import WorkTree

# What a change is known by: the id of its tree, and its path there.
Variant = Tuple[str, str]


class _Place(NamedTuple):
    """The file of the user's that changes are of, and what they began with."""

    root: str
    path: str
    old_path: str
    left: object
    mode: str
    size: int


@dataclass
class Variants:
    """What was read of changed files, by one thread at a time."""

    _digests: dict[tuple[Variant, Found], str] = field(default_factory=dict)

    def find_equal(
        self, lists: Sequence[tuple[WorkTree, Sequence[TreeChange]]]
    ) -> Mapping[Variant, Variant]:
        """For each change that is like one of an earlier tree, the first of those."""
        places: dict[_Place, list[tuple[WorkTree, TreeChange]]] = {}
        for tree, change in _changes_of(lists):
            places.setdefault(_place_of(tree, change), []).append((tree, change))
        found: dict[Variant, Variant] = {}
        used: dict[tuple[Variant, Found], str] = {}
        for alike in places.values():
            if len(alike) > 1:
                self._compare(alike, found, used)
        # Of what is over, nothing is kept.
        self._digests = used
        return found

    def _compare(
        self,
        alike: Sequence[tuple[WorkTree, TreeChange]],
        found: dict[Variant, Variant],
        used: dict[tuple[Variant, Found], str],
    ) -> None:
        firsts: dict[str, Variant] = {}
        for tree, change in alike:
            key = (tree.id, change.path), change.right
            digest = used[key] = self._digests.get(key) or _digest_of(tree, change)
            first = firsts.setdefault(digest, key[0]) if digest else key[0]
            if first != key[0]:
                found[key[0]] = first


def _changes_of(
    lists: Sequence[tuple[WorkTree, Sequence[TreeChange]]],
) -> Iterator[tuple[WorkTree, TreeChange]]:
    for tree, changes in lists:
        yield from ((tree, change) for change in changes)


def _place_of(tree: WorkTree, change: TreeChange) -> _Place:
    mark = change.right.mark
    size = mark[2] if mark is not None else 0
    return _Place(tree.root, change.path, change.old_path, change.left, change.right.mode, size)


def _digest_of(tree: WorkTree, change: TreeChange) -> str:
    """That of what is there; "" if it cannot be compared."""
    if change.right.mode == ABSENT:
        return content_digest(b"")
    if change.right.mode not in (*FILES, LINK):
        return ""
    try:
        return content_digest(read_side(tree.path, change.path).data)
    except SidesFailure:
        return ""
