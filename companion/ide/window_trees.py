"""The work trees of a window, and which of their files stand for the user's. Never asks the editor.

A CLI that works in one is told of its own files: it may not write the user's, and would read the
user's text instead of its own.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Callable, Sequence

from ..base.file_content import Stamp, file_stamp
from ..base.path_maps import NO_MAPS, PathMaps
from ..base.path_patterns import IGNORE_CASE, comparable_path
from ..base.regular_file import read_regular
from .sharing import follow_links

# The most bytes of a file that is compared, and pairs of files of which the result is kept.
MAX_COMPARED, MAX_KNOWN = 4 * 1024 * 1024, 64


@dataclass(frozen=True)
class TreeFolders:
    """`folders` are the top of a work tree, and the folder in it that stands for the user's.
    `originals` lead from the user's files, by the paths that the window has for them, to those of
    the tree that stand for them."""

    folders: tuple[str, ...]
    originals: PathMaps = NO_MAPS


class WindowTrees:
    """All of a window. `target` follows links, and raises OSError."""

    def __init__(
        self,
        trees: Sequence[TreeFolders] = (),
        target: Callable[[str], str] = os.path.realpath,
    ) -> None:
        self.all = tuple(trees)
        self._tops = {
            comparable_path(path, IGNORE_CASE).rstrip("/") + "/": tree
            for tree in self.all
            for folder in tree.folders
            for path in (folder, follow_links(folder, target))
            if path
        }
        self._texts = _SameTexts()

    @property
    def folders(self) -> tuple[str, ...]:
        return tuple(folder for tree in self.all for folder in tree.folders)

    def tree_of(self, path: str) -> TreeFolders | None:
        """The work tree that has the absolute path, or is at it; the innermost one."""
        name = comparable_path(path, IGNORE_CASE).rstrip("/") + "/"
        tops = [top for top in self._tops if name.startswith(top)] if path else []
        return self._tops[max(tops, key=len)] if tops else None

    def own_path(self, tree: TreeFolders | None, path: str) -> str:
        """The path of what stands in that tree for a file of the user's, whether there is anything.
        Any other file, such as one of a work tree, stands for itself."""
        if tree is None or self.tree_of(path) is not None:
            return path
        return tree.originals.to_remote(path)

    def has_same_text(self, path: str, own: str) -> bool:
        """Whether both files have the same bytes. Asks the disk."""
        return path == own or self._texts.are_same(path, own)


class _SameTexts:
    """Compares files, each pair again only after one of them was written."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[tuple[Stamp, Stamp], bool]] = {}

    def are_same(self, path: str, other: str) -> bool:
        stamps = file_stamp(path), file_stamp(other)
        known = self._known.pop((path, other), None)
        is_same = known[1] if known and known[0] == stamps else _compare_files(path, other)
        self._known[path, other] = stamps, is_same
        if len(self._known) > MAX_KNOWN:
            del self._known[next(iter(self._known))]
        return is_same


def _compare_files(path: str, other: str) -> bool:
    try:
        if os.path.getsize(path) != os.path.getsize(other):
            return False
        return read_regular(path, MAX_COMPARED) == read_regular(other, MAX_COMPARED)
    except OSError:
        return False
