"""The files and folders of a project by their names, for a message that names one. Looks at the
disk, in a thread of its own. Knows no editor."""

from __future__ import annotations

import heapq
import os
import re
import time
from collections import deque
from dataclasses import dataclass
from fnmatch import translate
from typing import Callable, Iterable, Iterator, Sequence

# The most names of one listing, and the seconds that it may take.
MOST, SECONDS = 100_000, 20.0
# What a path in a message has a backslash before.
SPECIAL = re.compile(r"""[\s\\"']""")
ESCAPED = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True)
class PathScope:
    """`folders` are absolute; names of the first one are relative to it, those of others absolute.
    The patterns are Sublime's: of names, or of paths if they have a slash."""

    folders: tuple[str, ...]
    no_files: tuple[str, ...] = ()
    no_folders: tuple[str, ...] = ()


@dataclass(frozen=True)
class PathListing:
    """`names` have slashes, those of folders one at the end too; the nearest first. It `is_whole`
    unless there are too many, or the disk is too slow."""

    names: tuple[str, ...]
    is_whole: bool


def list_paths(scope: PathScope, most: int = MOST, seconds: float = SECONDS) -> PathListing:
    """Links to folders are not followed. A folder that cannot be read has no names."""
    ends = time.monotonic() + seconds
    names: list[str] = []
    for name in _path_names(scope):
        if len(names) >= most or time.monotonic() > ends:
            return PathListing(tuple(names), False)
        names.append(name)
    return PathListing(tuple(names), True)


def matching_names(
    names: Iterable[str], fixed: str, typed: str, is_offered: Callable[[str], bool], most: int
) -> list[str]:
    """The names that begin with `fixed`, and have all letters of `typed` behind it in their order;
    the best first. `fixed` is as in a message, the names are not."""
    begin = ESCAPED.sub(r"\1", fixed)
    low, pattern = typed.lower(), in_order(typed)
    # One search for each name: other threads run in between.
    found = (
        name
        for name in names
        if name.startswith(begin) and pattern.match(name[len(begin) :].lower())
    )
    ranked = ((*_rank_name(name, low), place, name) for place, name in enumerate(found))
    best = heapq.nsmallest(2 * most, ranked)
    return [rank[-1] for rank in best if is_offered(rank[-1])][:most]


def in_order(letters: str) -> re.Pattern[str]:
    """Matches texts in lower case that have all these letters in this order. There is one way for
    it to do so, however often they are repeated: a search holds all threads up."""
    each = map(re.escape, letters.lower())
    return re.compile("".join(f"[^{letter}]*{letter}" for letter in each))


def escape_name(name: str) -> str:
    """The name as a message has to write it behind `@`."""
    return SPECIAL.sub(r"\\\g<0>", name)


def _rank_name(name: str, typed: str) -> tuple[int, int]:
    """The smaller, the better: the last part begins with it, has it, the path has it."""
    low = name.lower()
    last = low.rstrip("/").rpartition("/")[2]
    if not typed:
        return 0, low.rstrip("/").count("/")
    if last.startswith(typed):
        return 0, len(low)
    return (1 if typed in last else 2 if typed in low else 3), len(low)


def _path_names(scope: PathScope) -> Iterator[str]:
    """Folder by folder, so that a limit leaves out what is deepest."""
    no_files, no_folders = _make_exclusion(scope.no_files), _make_exclusion(scope.no_folders)
    waiting = deque(
        (folder, "" if not at else _with_slashes(folder, ""))
        for at, folder in enumerate(scope.folders)
    )
    while waiting:
        folder, before = waiting.popleft()
        for entry, is_folder in _folder_entries(folder):
            name = before + entry.name
            excludes = no_folders if is_folder else no_files
            if not entry.name.isprintable() or excludes(entry.name, name):
                continue
            if is_folder:
                waiting.append((entry.path, name + "/"))
            yield name + "/" if is_folder else name


def _folder_entries(folder: str) -> list[tuple[os.DirEntry[str], bool]]:
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
        return [(entry, entry.is_dir(follow_symlinks=False)) for entry in entries]
    except OSError:
        return []


def _with_slashes(folder: str, name: str) -> str:
    return os.path.join(folder, name).replace(os.sep, "/")


def _make_exclusion(patterns: Sequence[str]) -> Callable[[str, str], bool]:
    """Whether a name with its path is excluded."""
    of_names = [translate(pattern) for pattern in patterns if "/" not in pattern]
    of_paths = [
        translate("*/" + pattern.lstrip("/").rstrip("/")) for pattern in patterns if "/" in pattern
    ]
    names, paths = (
        re.compile("|".join(expressions) or r"(?!)") for expressions in (of_names, of_paths)
    )
    return lambda name, path: bool(names.match(name) or paths.match("/" + path))
