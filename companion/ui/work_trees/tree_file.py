"""A changed file of a work tree, for a window. UI thread only."""

from __future__ import annotations

from typing import NamedTuple

import sublime

from ...work_trees.tree_changes import TreeChange
from .tree_lists import TreeList

# In front of the id of a file: it is not that of a diff.
PREFIX = "tree"


class TreeFile(NamedTuple):
    """`path` is the user's file, and `unsaved` their tab
    with something unsaved."""

    found: TreeList
    change: TreeChange
    path: str
    unsaved: sublime.View | None

    @property
    def id(self) -> str:
        return file_id(self.found.tree.id, self.change.path)


def file_id(tree: str, path: str) -> str:
    return f"{PREFIX} {tree} {path}"
