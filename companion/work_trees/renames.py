"""Which files of a work tree were renamed: one that is gone and a new one that is like it. The
user's own changes of the one belong into the other."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Sequence

# The most pairs of files that are compared, and the most bytes of one.
MOST_PAIRS, MOST_BYTES = 2_500, 1 << 20
# The share of equal lines from which two files are alike.
ALIKE = 0.6


@dataclass(frozen=True)
class OldFile:
    """A file that is gone; `key` is equal as long as its content is."""

    path: str
    key: object
    data: bytes


NewFile = OldFile


@dataclass
class Renames:
    """Finds them again and again in one tree; what was compared is not compared once more."""

    _known: dict[tuple[object, object], float] = field(default_factory=dict)

    def find(self, gone: Sequence[OldFile], new: Sequence[NewFile]) -> dict[str, str]:
        """The old paths of renamed files, by their new ones."""
        gone = [file for file in gone if 0 < len(file.data) <= MOST_BYTES]
        new = [file for file in new if 0 < len(file.data) <= MOST_BYTES]
        if len(gone) * len(new) > MOST_PAIRS:
            # At least those that were only moved.
            pairs = _equal_pairs(gone, new)
        else:
            pairs = [(self._share(old, late), old, late) for old in gone for late in new]
        found: dict[str, str] = {}
        # The most alike first; of equal ones those that keep their names.
        pairs.sort(key=lambda pair: (-pair[0], not _is_same_name(pair[1], pair[2]), pair[2].path))
        for share, old, late in pairs:
            if share >= ALIKE and late.path not in found and old.path not in found.values():
                found[late.path] = old.path
        return found

    def _share(self, old: OldFile, new: NewFile) -> float:
        key = old.key, new.key
        if key not in self._known:
            if len(self._known) > 4 * MOST_PAIRS:
                self._known.clear()
            self._known[key] = equal_share(old.data, new.data)
        return self._known[key]


def equal_share(one: bytes, other: bytes) -> float:
    """How much of two files is in both, by lines in any order: from 0 to 1."""
    if one == other:
        return 1.0
    if min(len(one), len(other)) < ALIKE / 2 * max(len(one), len(other)):
        return 0.0
    lines, others = one.splitlines(), other.splitlines()
    both = sum((Counter(lines) & Counter(others)).values())
    return 2 * both / max(1, len(lines) + len(others))


def _equal_pairs(
    gone: Sequence[OldFile], new: Sequence[NewFile]
) -> list[tuple[float, OldFile, NewFile]]:
    by_data: dict[bytes, list[OldFile]] = {}
    for old in gone:
        by_data.setdefault(old.data, []).append(old)
    return [(1.0, old, late) for late in new for old in by_data.get(late.data, ())[:50]]


def _is_same_name(old: OldFile, new: NewFile) -> bool:
    return old.path.rpartition("/")[2] == new.path.rpartition("/")[2]
