"""The folders whose conversations belong together, as those of one window do."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ..base.path_patterns import is_within


@dataclass(frozen=True)
class Workspaces:
    """`folders` are real paths of folders in which agents work. What one of `tree_folders` has in
    it is a work tree of theirs, or was one: its conversations outlive it."""

    folders: tuple[str, ...] = ()
    tree_folders: tuple[str, ...] = ()

    def has(self, workspace: str) -> bool:
        """Whether a conversation there is one of these."""
        return workspace in self.folders or bool(self.tree_name(workspace))

    def tree_name(self, workspace: str) -> str:
        """The name of the folder of the work tree that has the workspace; "" if none has it."""
        for folder in self.tree_folders:
            if is_within(workspace, (folder,)) and workspace != folder:
                return os.path.relpath(workspace, folder).split(os.sep)[0]
        return ""
