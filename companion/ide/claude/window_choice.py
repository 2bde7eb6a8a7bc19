"""Which of the editor's windows a CLI, or one of its calls, concerns. Asks nobody."""

from __future__ import annotations

from typing import Iterable

from ...base.path_patterns import IGNORE_CASE, comparable_path
from ..workspace import Workspace


def window_of_file(workspaces: Iterable[Workspace], path: str) -> Workspace | None:
    """The window with the innermost folder that has the CLI's path, also one that does not admit
    the CLI; of several one that does, and of those the one that the user looked at last. None if no
    window has the path."""
    depths = {
        each: _depth(each.diffs.local_path(path), each.advertisement.all_folders)
        for each in workspaces
    }
    return _best({each: depth for each, depth in depths.items() if depth})


def windows_within(workspaces: Iterable[Workspace], folder: str) -> list[Workspace]:
    """The windows that have a folder within the CLI's, or that one."""
    return [
        each
        for each in workspaces
        if any(
            _depth(own, (each.diffs.local_path(folder),)) for own in each.advertisement.all_folders
        )
    ]


def latest_window(workspaces: Iterable[Workspace]) -> Workspace | None:
    """The one that the user looked at last. None only if there is none."""
    return _best(dict.fromkeys(workspaces, 1))


def _best(depths: dict[Workspace, int]) -> Workspace | None:
    def rank(each: Workspace) -> tuple[int, bool, int, int]:
        return depths[each], each.admits_claude, each.context.last_focus, each.window_id

    return max(depths, key=rank) if depths else None


def _depth(path: str, folders: Iterable[str]) -> int:
    """The length of the longest folder that has the path, 0 if none has it."""
    name = comparable_path(path, IGNORE_CASE).rstrip("/") + "/"
    tops = (comparable_path(folder, IGNORE_CASE).rstrip("/") + "/" for folder in folders)
    return max((len(top) for top in tops if name.startswith(top)), default=0)
