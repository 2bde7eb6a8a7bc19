"""Work trees of a repository that are recorded in a store, as agents get them."""

from __future__ import annotations

import os
from typing import Callable

from GeminiCompanion.companion.work_trees.loss import Loss, what_would_be_lost
from GeminiCompanion.companion.work_trees.tree_store import TreeStore
from GeminiCompanion.companion.work_trees.untaken import Untaken
from GeminiCompanion.companion.work_trees.work_tree import WorkTree

from .repositories import InRepository

Untakes = Callable[[WorkTree], Untaken]


class WithStore(InRepository):
    """`self.store` is a store for the trees of the repository."""

    def setUp(self) -> None:
        super().setUp()
        self.store = TreeStore(os.path.join(self.temp, "cache", "work_trees"))

    def tree(self, id: str = "aaaaa1", **more: bool) -> WorkTree:
        """A new work tree that is recorded."""
        path = self.make(id, **more)
        tree = WorkTree(
            id=id,
            path=path,
            root=self.folder,
            folder=self.folder,
            name=f"name of {id}",
            agent="claude-code",
            created=1.0,
            beginning=self.git("rev-parse", "HEAD", folder=path),
            git_folder=self.at(".git"),
            admin=id,
        )
        self.store.keep_tree(tree)
        return tree

    def write_in(self, tree: WorkTree, name: str, text: bytes = b"x") -> str:
        path = os.path.join(tree.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(text)
        return path

    def loss(self, tree: WorkTree, untaken: Untakes = lambda tree: Untaken()) -> Loss:
        return what_would_be_lost(tree, untaken, self.scratch)

    def known_to_git(self) -> list[str]:
        """The paths of all work trees that git lists."""
        told = self.git("worktree", "list", "--porcelain").splitlines()
        return [line[len("worktree ") :] for line in told if line.startswith("worktree ")]

    def refs(self) -> str:
        return self.git("for-each-ref")
