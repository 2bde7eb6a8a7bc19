"""The names in the projects of windows, listed in threads and kept for a moment. UI thread only."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import sublime

from ...base import background
from ...base.answer import Answer
from ...chat.project_paths import PathListing, PathScope, list_paths
from .. import views
from ..known_trees import KnownTrees

# Seconds after which a listing is made anew, while the older one is used.
FRESH = 5.0
FILES, FOLDERS = "file_exclude_patterns", "folder_exclude_patterns"


class ProjectLists:
    """Listings by what they are of, with the time of each; one thread for each at a time. An agent
    in one of the `trees` is told the names of its own files in the place of the user's."""

    def __init__(self, trees: KnownTrees) -> None:
        self._trees = trees
        self._found: dict[PathScope, tuple[float, PathListing]] = {}
        self._coming: dict[PathScope, Answer[PathListing]] = {}

    async def listing_of(self, window: sublime.Window, folder: str) -> PathListing:
        """The listing of the window's project as seen from the folder; waits only for the first
        one."""
        scope = _scope_of(window, folder, self._trees)
        self._take_listing(scope)
        found = self._found.get(scope)
        is_old = found is None or time.monotonic() - found[0] > FRESH
        if is_old and scope not in self._coming:
            self._coming[scope] = background.start_work(partial(list_paths, scope))
        if found is None:
            await self._coming[scope]
            self._take_listing(scope)
            found = self._found[scope]
        return found[1]

    def _take_listing(self, scope: PathScope) -> None:
        """What has come meanwhile."""
        coming = self._coming.get(scope)
        if coming is not None and coming.is_there:
            del self._coming[scope]
            self._found[scope] = (time.monotonic(), coming.result())


def _scope_of(window: sublime.Window, folder: str, trees: KnownTrees) -> PathScope:
    """The folder and those of the window, without what its project and its settings exclude."""
    front: Any = window.active_view()
    data: Any = window.project_data() or {}
    of_folders = [entry for entry in data.get("folders", ()) if isinstance(entry, dict)]
    excluded: dict[str, tuple[str, ...]] = {}
    for name in (FILES, FOLDERS):
        found = _text_items(front.settings().get(name)) if front is not None else []
        excluded[name] = (
            *found,
            *(text for entry in of_folders for text in _text_items(entry.get(name))),
        )
    others = (trees.path_for(folder, each) for each in views.window_folders(window))
    folders = dict.fromkeys((folder, *others))
    return PathScope(tuple(folders), excluded[FILES], excluded[FOLDERS])


def _text_items(value: Any) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
