"""Which of the editor's windows a CLI, or one of its calls, concerns. Asks nobody."""

from __future__ import annotations

from typing import Iterable

from ...base.path_patterns import IGNORE_CASE, comparable_path
from ..workspace import Workspace


def window_of_file(workspaces: Iterable[Workspace], path: str) -> Workspace | None:
    """The window with the innermost folder that has the CLI's path; of several the one that the
    user looked at last. None if no window has it."""
    depths = {
        each: _depth(each.diffs.local_path(path), each.advertisement.folders) for each in workspaces
    }
    return _best({each: depth for each, depth in depths.items() if depth})


def window_of_folder(workspaces: Iterable[Workspace], folder: str) -> Workspace | None:
    """The window for a CLI that runs in the folder: one that has it, else one within it, else the
    one that the user looked at last. None only if there is no window."""
    every = list(workspaces)
    within = {
        each: 1
        for each in every
        if any(_depth(own, (each.diffs.local_path(folder),)) for own in each.advertisement.folders)
    }
    return window_of_file(every, folder) or _best(within) or _best(dict.fromkeys(every, 1))


def _best(depths: dict[Workspace, int]) -> Workspace | None:
    def rank(each: Workspace) -> tuple[int, int, int]:
        return depths[each], each.context.last_focus, each.window_id

    return max(depths, key=rank) if depths else None


def _depth(path: str, folders: Iterable[str]) -> int:
    """The length of the longest folder that has the path, 0 if none has it."""
    name = comparable_path(path, IGNORE_CASE).rstrip("/") + "/"
    tops = (comparable_path(folder, IGNORE_CASE).rstrip("/") + "/" for folder in folders)
    return max((len(top) for top in tops if name.startswith(top)), default=0)
