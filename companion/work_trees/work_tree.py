"""A work tree that an agent has for itself, beside the user's own, as a value."""

from __future__ import annotations

import os
import re
import secrets
from dataclasses import dataclass, field, replace
from enum import Enum

# What an id may be: it names files.
ID = re.compile(r"[0-9a-z]{6,32}")


class TreeFailure(Exception):
    """The text is a sentence for the user."""


class TreeState(Enum):
    """MAKING and REMOVING are recorded before anything is done, so that a stop in between is found
    at the next start."""

    MAKING = "making"
    READY = "ready"
    REMOVING = "removing"


@dataclass(frozen=True)
class WorkTree:
    """All paths are absolute. `root` is the top of the user's own work tree, and `folder` the
    folder there that the agent was asked to work in: the root, or one below it. `git_folder` is the
    one that both trees share, and `admin` the name of what git keeps of this one in its folder
    `worktrees`, "" until it is made.

    `created` is when all was there that it began with, in seconds since 1970. `beginning` is the
    commit from which it began, "" until it is made. `carried` are the paths of ignored files and
    folders that were linked or copied into it, relative to its top. `is_free` says that the user
    lets agents work there without asking, and was told what it shares."""

    id: str
    path: str
    root: str
    folder: str
    name: str
    agent: str
    created: float
    beginning: str
    git_folder: str = ""
    admin: str = ""
    carried: tuple[str, ...] = ()
    state: TreeState = TreeState.READY
    # Nobody has to look at the tree anew for it.
    is_free: bool = field(default=False, compare=False)

    @property
    def own_folder(self) -> str:
        """The folder in this tree that stands for the user's `folder`."""
        # Of a damaged record these may be missing.
        if not self.root or self.folder == self.root:
            return self.path
        return os.path.join(self.path, os.path.relpath(self.folder, self.root))

    @property
    def admin_folder(self) -> str:
        """What git keeps of this tree; "" until it is made."""
        if not (self.git_folder and self.admin):
            return ""
        return os.path.join(self.git_folder, "worktrees", self.admin)


def with_root(tree: WorkTree, root: str) -> WorkTree:
    """The tree as one of the user's work tree there."""
    below = os.path.relpath(tree.folder, tree.root)
    return replace(tree, root=root, folder=os.path.normpath(os.path.join(root, below)))


def new_id() -> str:
    """An id that no other tree has."""
    return secrets.token_hex(5)
