"""What all work trees of a repository share, at one moment: refs, stash, settings, hooks and other
files in its git folder. An agent can change them from its own tree. Reads only.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from typing import Callable, Iterator, Mapping, Sequence

from .git import GitFailure, run_git
from .shared_files import SharedFiles, digest_bytes
from .shared_refs import STASH, SharedRefs, said_by
from .whereabouts import read_known_path, same_path
from .work_tree import WorkTree

# Files for all work trees, in the git folder.
FILES = (
    "info/exclude",
    "info/attributes",
    "info/grafts",
    "info/sparse-checkout",
    "objects/info/alternates",
    "objects/info/http-alternates",
    "shallow",
)
CONFIG, CONFIG_OF_TREE = "config", "config.worktree"
# The most other work trees and submodules, and parts of a submodule's name.
MAX_OTHERS, MAX_PARTS = 1_000, 6


@dataclass(frozen=True)
class SharedState:
    """`taken` is in seconds since 1970. `refs` are what they say by their full names, `stash` the
    messages by the ids of the entries, `settings` and `files` digests by keys and by names. `heads`
    are what the HEAD of each other work tree says, by its path; that of the first one is at "".
    `is_whole` is False if there is more than is looked at."""

    taken: float
    refs: Mapping[str, str] = field(default_factory=dict)
    stash: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    heads: Mapping[str, str] = field(default_factory=dict)
    is_whole: bool = True


class SharedReader:
    """Reads the state of one repository, again and again; for one thread at a time."""

    def __init__(self, git_folder: str) -> None:
        self._files = SharedFiles(git_folder)
        self._refs = SharedRefs(self._files)
        self._settings: tuple[tuple[object, ...], Mapping[str, str]] = ((), {})

    def read_state(self, list_own: Callable[[], Sequence[WorkTree]]) -> SharedState:
        """The state now, without our own work trees, which `list_own` gives. Raises OSError if the
        git folder cannot be read, and what that raises."""
        os.listdir(self._files.path)
        self._files.begin_look()
        taken, refs = time.time(), self._refs.read_refs()
        stash = self._refs.read_stash() if refs.pop(STASH, "") else {}
        settings, files = self._read_settings(), dict(self._digest_files())
        heads = self._read_heads(list_own)
        return SharedState(taken, refs, stash, settings, files, heads, self._files.is_whole)

    def _read_settings(self) -> Mapping[str, str]:
        stamps = [self._files.stamp_of(name) for name in (CONFIG, CONFIG_OF_TREE)]
        known, settings = self._settings
        has_more = any(key.startswith("include") for key in settings)
        if stamps[0] and tuple(stamps) == known and not has_more:
            return settings
        found = self._list_settings(CONFIG, "--local", "--includes")
        if os.path.lexists(self._files.at(CONFIG_OF_TREE)):
            path = self._files.at(CONFIG_OF_TREE)
            found = {**found, **self._list_settings(CONFIG_OF_TREE, "--file", path)}
        self._settings = (tuple(stamps), found)
        return found

    def _list_settings(self, name: str, *words: str) -> dict[str, str]:
        """A digest of the values of each key; of a file that git cannot read, one of it all."""
        try:
            told = run_git(self._files.path, "config", *words, "--list", "-z")
        except GitFailure:
            return {name: self._files.digest_file(name)}
        values: dict[str, bytes] = {}
        for row in told.split(b"\0"):
            key, _, value = row.partition(b"\n")
            if key:
                values[os.fsdecode(key)] = values.get(os.fsdecode(key), b"") + b"\0" + value
        return {key: digest_bytes(value) for key, value in values.items()}

    def _digest_files(self) -> Iterator[tuple[str, str]]:
        names = [*FILES, *self._hooks("hooks")]
        for module in self._modules("modules", 0):
            names += [f"{module}/config", *self._hooks(f"{module}/hooks")]
        for name in names:
            digest = self._files.digest_file(name)
            if digest:
                yield name, digest

    def _hooks(self, folder: str) -> list[str]:
        names = (name for name, _ in self._files.walk_files(folder))
        return [name for name in names if not name.endswith(".sample")]

    def _modules(self, folder: str, depth: int) -> list[str]:
        """The git folders of submodules, whose names may have slashes."""
        found: list[str] = []
        for name in self._files.list_folders(folder):
            below = f"{folder}/{name}"
            if os.path.lexists(self._files.at(f"{below}/HEAD")):
                found += [below, *self._modules(f"{below}/modules", depth + 1)]
            elif depth < MAX_PARTS:
                found += self._modules(below, depth + 1)
            if depth >= MAX_PARTS or len(found) > MAX_OTHERS:
                self._files.is_whole = False
                break
        return found[:MAX_OTHERS]

    def _read_heads(self, list_own: Callable[[], Sequence[WorkTree]]) -> dict[str, str]:
        # One that is made meanwhile is only in the second list, one that is removed in the first.
        own = list(list_own())
        names = self._files.list_folders("worktrees")
        self._files.is_whole &= len(names) <= MAX_OTHERS
        rows = [
            (
                name,
                read_known_path(self._files.at(f"worktrees/{name}")),
                said_by(self._files.read_text(f"worktrees/{name}/HEAD")),
            )
            for name in names[:MAX_OTHERS]
        ]
        own += list_own()
        admins, paths = {tree.admin for tree in own}, {same_path(tree.path) for tree in own}
        # Without a path git has only begun to make it.
        others = {
            path: said
            for name, path, said in rows
            if path and name not in admins and same_path(path) not in paths
        }
        return {"": said_by(self._files.read_text("HEAD")), **others}
