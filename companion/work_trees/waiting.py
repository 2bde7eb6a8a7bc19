"""Finds out why a git does not end: an agent, or whoever made a repository, may have left a pipe in
the place of a file that git opens, and nobody writes to it."""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import Callable, Iterable, Iterator, Sequence

from ..base.regular_file import read_regular
from .named import shown_name

# Seconds without an end after which pipes are looked for; each look comes after twice that time.
PATIENCE = 5.0
# The most files and folders that are looked at.
MOST = 200_000
# What git opens in any folder. Of a repository in there it opens more.
OPENED = frozenset({".gitignore", ".gitattributes", ".gitmodules"})
DOT_GIT = ".git"
WAITS = "git waits for {}, which is a pipe and no file. Remove it."
# The most bytes of a file that names a folder.
MAX_NAME = 1 << 16


@dataclass
class PipeSearch:
    """Looks for the pipes that `find` gives, as long as git does not end; for one run of git in the
    `folder`."""

    folder: str
    find: Callable[[], Iterable[str]]
    _wait: float = field(default_factory=lambda: PATIENCE)
    _began: float = field(default_factory=time.monotonic)

    def reason(self) -> str:
        """A sentence that names the pipe that git waits for; empty if it is too soon to look, or
        there is none."""
        if time.monotonic() < self._began + self._wait:
            return ""
        for path in self.find():
            return WAITS.format(shown_name(os.path.relpath(path, self.folder)))
        self._wait = 2 * (time.monotonic() - self._began)
        return ""


def pipes_of_files(root: str, others: Sequence[str] = ()) -> Iterator[str]:
    """Those below the root of a work tree that git may open, and those of the `others`. The
    repository of the root itself is not looked at: git has a folder of ours for it."""
    return chain(filter(_is_pipe, others), _pipes_below(root))


def pipes_of_repository(folder: str) -> Iterator[str]:
    """Those in what git keeps of the repository that the folder belongs to."""
    for place in _git_folders(folder):
        yield from _pipes_below(place, is_of_git=True)


def _git_folders(folder: str) -> Iterator[str]:
    """The git folder of a work tree, and the one that work trees share."""
    while not os.path.lexists(os.path.join(folder, DOT_GIT)):
        folder, below = os.path.dirname(folder), folder
        if folder == below:
            return
    own = os.path.join(folder, DOT_GIT)
    if not os.path.isdir(own):
        own = _named_folder(own, b"gitdir:")
    if own:
        yield own
        shared = _named_folder(os.path.join(own, "commondir"))
        if shared:
            yield shared


def _named_folder(path: str, word: bytes = b"") -> str:
    """The folder that a file of git names, empty if there is none."""
    with suppress(OSError):
        data = read_regular(path, MAX_NAME)
        if data.startswith(word):
            return os.path.join(os.path.dirname(path), os.fsdecode(data[len(word) :].strip()))
    return ""


def _is_pipe(path: str) -> bool:
    with suppress(OSError):
        return stat.S_ISFIFO(os.stat(path).st_mode)
    return False


def _pipes_below(root: str, is_of_git: bool = False) -> Iterator[str]:
    """The pipes that git may open there; any if the root itself `is_of_git`."""
    left, count = [(root, is_of_git)], 0
    while left:
        folder, is_of_git = left.pop()
        for entry in _entries_of(folder):
            count += 1
            if count > MOST:
                return
            with suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    if folder != root or entry.name != DOT_GIT:
                        left.append((entry.path, is_of_git or entry.name == DOT_GIT))
                elif is_of_git or entry.name.lower() in OPENED:
                    if stat.S_ISFIFO(entry.stat(follow_symlinks=is_of_git).st_mode):
                        yield entry.path


def _entries_of(folder: str) -> list[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(folder) as found:
        return list(found)
    return []
