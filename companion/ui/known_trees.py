"""The work trees of agents as they were listed last, for whoever must not wait for a disk. UI
thread only."""

from __future__ import annotations

import os
from functools import partial
from typing import Iterable, Mapping, Sequence

import sublime

from ..base.path_maps import PathMap, PathMaps
from ..base.signal import Signal, ValueSignal
from ..ide.events import TreeFolders
from ..work_trees.tree_places import is_below
from ..work_trees.tree_store import TreeStore
from ..work_trees.work_tree import TreeState, WorkTree
from . import views
from .stories import run_in_thread

PLACE = "work tree {}"


class KnownTrees:
    """Those of this editor, by the `store` that keeps them. `changes` tells that there are others
    than before, `writings` one in which an agent has written a file, `agent_changes` that other
    words are known of who works in one."""

    def __init__(self, store: TreeStore) -> None:
        self.store = store
        self.changes = Signal()
        self.writings = ValueSignal[WorkTree]()
        self.agent_changes = Signal()
        # Who works in a tree, and what that has cost: by its id, and that of the conversation.
        self._agents: dict[str, dict[str, str]] = {}
        # Those that can be worked in, the oldest first; replaced, never changed.
        self.trees: tuple[WorkTree, ...] = ()
        self._looks = 0
        # Whether they were listed.
        self.is_complete = False
        # Where folders of windows that are links lead.
        self._targets: Mapping[str, str] = {}

    @classmethod
    def in_cache(cls, folder: str) -> KnownTrees:
        """`folder` is Sublime's."""
        return cls(TreeStore(os.path.join(folder, "GeminiCompanion", "work_trees")))

    async def look_again(self) -> None:
        """List them again. Of two looks at a time, the later one counts."""
        self._looks += 1
        look = self._looks
        folders = {each for window in sublime.windows() for each in views.window_folders(window)}
        found = await run_in_thread(partial(_list_trees, self.store, folders))
        if found is None or look != self._looks:
            return
        self.is_complete = True
        known, (self.trees, self._targets) = (self.trees, self._targets), found
        if found != known:
            self.changes.emit()

    def note_agent(self, id: str, conversation: str, words: str) -> None:
        """Who works in the tree in this conversation, and what that has cost."""
        known = self._agents.setdefault(id, {})
        if known.get(conversation) != words:
            known[conversation] = words
            self.agent_changes.emit()

    def agent_of(self, id: str) -> str:
        """All that have worked in the tree, and what that has cost, for people; "" if that is not
        known."""
        return "; ".join(self._agents.get(id, {}).values())

    def tree_with(self, id: str) -> WorkTree | None:
        return next((tree for tree in self.trees if tree.id == id), None)

    def tree_of(self, path: str) -> WorkTree | None:
        """The work tree that has the path, or is at it; the innermost one."""
        found = [tree for tree in self.trees if is_below(path, tree.path)]
        return max(found, key=lambda tree: len(tree.path)) if found else None

    def place_of(self, folder: str) -> str:
        """What a folder in a work tree is called, for people; "" for any other folder."""
        tree = self.tree_of(folder) if folder else None
        return PLACE.format(tree.name) if tree is not None else ""

    def path_for(self, workspace: str, path: str) -> str:
        """The path by which an agent that works there has a file or folder of the user's."""
        tree = self.tree_of(workspace)
        if tree is None or not is_below(path, tree.root):
            return path
        return os.path.join(tree.path, os.path.relpath(path, tree.root))

    def note_written(self, path: str) -> bool:
        """An agent has written the file; whether that is the matter of a work tree."""
        tree = self.tree_of(path)
        if tree is not None:
            self.writings.emit(tree)
        return tree is not None

    def trees_of(self, folders: Sequence[str]) -> list[WorkTree]:
        """The work trees of the repositories that have one of the folders, or are in one."""
        real = [self._targets.get(folder, folder) for folder in folders]
        return [
            tree
            for tree in self.trees
            if any(is_below(folder, tree.root) or is_below(tree.root, folder) for folder in real)
        ]

    def in_window(self, window: sublime.Window) -> list[WorkTree]:
        """The work trees of the window's folders."""
        return self.trees_of(views.window_folders(window)) if self.trees else []

    def path_in_window(self, window: sublime.Window, path: str) -> str:
        """The path of a user's file as the window has it, whose folder may be a link."""
        for folder in views.window_folders(window):
            target = self._targets.get(folder, folder)
            if target != folder and is_below(path, target):
                return os.path.join(folder, os.path.relpath(path, target))
        return path

    def folders_in(self, window: sublime.Window) -> tuple[str, ...]:
        """The folders of these work trees, and those in them that stand for one of the user's."""
        found = (path for tree in self.as_told_of(window) for path in tree.folders)
        return tuple(dict.fromkeys(found))

    def as_told_of(self, window: sublime.Window) -> tuple[TreeFolders, ...]:
        """These work trees as the companion is told of them."""
        folders = views.window_folders(window)
        links = {each: self._targets[each] for each in folders if each in self._targets}
        return tuple(_told_of(tree, links) for tree in self.in_window(window))


def _told_of(tree: WorkTree, links: Mapping[str, str]) -> TreeFolders:
    """`links` are folders of the window that are links, with where they lead."""
    folders = tuple(dict.fromkeys((tree.path, tree.own_folder)))
    # Of a damaged record it may be missing.
    if not tree.root:
        return TreeFolders(folders)
    originals = [PathMap(tree.root, tree.path)]
    for link, target in links.items():
        if is_below(target, tree.root):
            own = os.path.join(tree.path, os.path.relpath(target, tree.root))
            originals.append(PathMap(link, os.path.normpath(own)))
        elif is_below(tree.root, target):
            inside = os.path.relpath(tree.root, target)
            originals.append(PathMap(os.path.join(link, inside), tree.path))
    return TreeFolders(folders, PathMaps(tuple(originals)))


def _list_trees(
    store: TreeStore, folders: Iterable[str]
) -> tuple[tuple[WorkTree, ...], Mapping[str, str]]:
    """The work trees that can be worked in, and where the folders lead that are links. Blocks."""
    targets = {folder: os.path.realpath(folder) for folder in folders}
    ready = (tree for tree in store.list_trees() if tree.state is TreeState.READY)
    return tuple(ready), {link: to for link, to in targets.items() if link != to}
