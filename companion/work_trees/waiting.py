"""Ends a git that waits for a pipe: an agent may leave one in the place of a file that git opens,
and nobody writes to it."""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Iterator, Sequence

from .git import GitStuck, Watch
from .named import shown_name

# Seconds without an end after which pipes are looked for; each look comes after twice that time.
PATIENCE = 5.0
# The most files and folders that are looked at.
MOST = 200_000
# What git opens in any folder. Of a repository in there it opens more.
OPENED = frozenset({".gitignore", ".gitattributes", ".gitmodules"})
DOT_GIT = ".git"
WAITS = "git waits for {}, which is a pipe and no file. Remove it."


@dataclass
class PipeSearch:
    """Looks for pipes below the `root`, and in the place of the `others`, as long as git does not
    end; for one run of git."""

    root: str
    others: Sequence[str] = ()
    _wait: float = field(default_factory=lambda: PATIENCE)
    _began: float = field(default_factory=time.monotonic)

    def watch_with(self, watch: Watch) -> Watch:
        """What hears git in the place of this watch. Raises GitStuck."""

        def hear(line: str) -> None:
            watch.hear_error(line)
            if time.monotonic() >= self._began + self._wait:
                self._look()

        return replace(watch, hear_error=hear)

    def _look(self) -> None:
        others = (path for path in self.others if _is_pipe(path))
        for path in chain(others, _pipes_below(self.root)):
            raise GitStuck(WAITS.format(shown_name(os.path.relpath(path, self.root))))
        self._wait = 2 * (time.monotonic() - self._began)


def _is_pipe(path: str) -> bool:
    with suppress(OSError):
        return stat.S_ISFIFO(os.stat(path).st_mode)
    return False


def _pipes_below(root: str) -> Iterator[str]:
    """The pipes that git may open. The repository of the root itself is not looked at: git has a
    folder of ours for it."""
    left, count = [(root, False)], 0
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
                    if stat.S_ISFIFO(entry.stat(follow_symlinks=False).st_mode):
                        yield entry.path


def _entries_of(folder: str) -> list[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(folder) as found:
        return list(found)
    return []
