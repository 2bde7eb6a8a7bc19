"""A repository with a work tree of an agent, for tests."""

from __future__ import annotations

import os
from typing import Mapping, Sequence

from GeminiCompanion.companion.work_trees.taken import Taken
from GeminiCompanion.companion.work_trees.tree_changes import TreeChange, TreeReader
from GeminiCompanion.companion.work_trees.work_tree import WorkTree

from .repositories import THEN, InRepository


def list_changes(tree: WorkTree, folder: str, taken: Taken) -> Sequence[TreeChange]:
    """Those that nobody has decided on, for whoever needs them once."""
    reader = TreeReader(tree, folder)
    try:
        return reader.list_changes(taken)
    finally:
        reader.close()


class InTree(InRepository):
    """`self.tree` began at the last commit of `self.folder`; `self.data` is ours."""

    def begin_tree(self, files: Mapping[str, bytes], id: str = "abc123") -> None:
        """Commit these files, and let a work tree begin with them."""
        for name, text in files.items():
            self.write(name, text)
        beginning = self.commit()
        path = self.make(id)
        git_folder = os.path.join(self.folder, ".git")
        self.tree = WorkTree(
            id=id,
            path=path,
            root=self.folder,
            folder=self.folder,
            name="fix it",
            agent="Claude Code",
            created=THEN,
            beginning=beginning,
            git_folder=git_folder,
            admin=os.path.basename(path),
        )
        self.data = os.path.join(self.temp, "data", id)
        os.makedirs(self.data)
        self.taken = Taken(self.data)

    def in_tree(self, name: str) -> str:
        return os.path.join(self.tree.path, name)

    def write_there(self, name: str, text: bytes) -> None:
        """The agent writes a file in its tree."""
        path = self.in_tree(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(text)

    def changes(self) -> Mapping[str, TreeChange]:
        found = list_changes(self.tree, self.data, self.taken)
        return {change.path: change for change in found}

    def kinds(self) -> Mapping[str, str]:
        return {path: change.kind.value for path, change in self.changes().items()}
