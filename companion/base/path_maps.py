"""Translates paths between the editor and CLIs that see the same files at other paths. Pure.

Each side's paths have the form of its own prefixes: with slashes, or as on Windows.
"""

from __future__ import annotations

import ntpath
import os
import posixpath
from dataclasses import dataclass
from typing import Iterable, Sequence


@dataclass(frozen=True)
class PathMap:
    """A folder as the editor knows it (`local`) and as the CLIs do (`remote`), both absolute."""

    local: str
    remote: str


@dataclass(frozen=True)
class PathMaps:
    """The path maps of a window. If several have a path, the longest prefix counts, and the first
    of equal ones. A path that none has stays unchanged.

    >>> maps = PathMaps((PathMap("C:\\\\", "/mnt/c/"),))
    >>> maps.to_remote("C:\\\\code\\\\a.py"), maps.to_local("/mnt/c/code/a.py")
    ('/mnt/c/code/a.py', 'C:\\\\code\\\\a.py')
    """

    maps: tuple[PathMap, ...] = ()

    def to_remote(self, path: str) -> str:
        """`path` is an absolute path of the editor."""
        if not self.maps:
            return path
        return _move_path(path, [(each.local, each.remote) for each in self.maps], path)

    def to_local(self, path: str) -> str:
        """`path` is an absolute path of a CLI. If `..` in it leads out of a folder, it is not in
        that folder."""
        if not self.maps:
            return path
        return _move_path(
            _resolve_dots(path), [(each.remote, each.local) for each in self.maps], path
        )

    @property
    def is_remote_windows(self) -> bool:
        """Whether the CLIs write paths as on Windows."""
        return is_of_windows(self.maps[0].remote) if self.maps else os.name == "nt"

    @property
    def separator(self) -> str:
        """The separator between the folders of a list on the side of the CLIs."""
        return ";" if self.is_remote_windows else ":"

    def remote_folders(self, folders: Iterable[str]) -> tuple[str, ...]:
        """The editor's folders as the CLIs know them, without those that have no path there because
        the other system writes paths differently."""
        return tuple(self.to_remote(each) for each in folders if not self._is_foreign(each))

    def unmapped_folders(self, folders: Iterable[str]) -> tuple[str, ...]:
        """The folders that `remote_folders` leaves out."""
        return tuple(filter(self._is_foreign, folders))

    def _is_foreign(self, path: str) -> bool:
        is_windows = is_of_windows(self.to_remote(path))
        return bool(self.maps) and is_windows != self.is_remote_windows


NO_MAPS = PathMaps()


def is_of_windows(path: str) -> bool:
    """Whether an absolute path has the form of Windows.

    >>> is_of_windows("//server/share"), is_of_windows("\\\\\\\\server\\\\share")
    (False, True)
    """
    return not path.startswith("/")


def _resolve_dots(path: str) -> str:
    """The path without `..`, resolved as CLIs do: by the text alone, whatever links there are."""
    paths = ntpath if is_of_windows(path) else posixpath
    return paths.normpath(path) if ".." in path else path


def _move_path(path: str, pairs: Sequence[tuple[str, str]], otherwise: str) -> str:
    found = [pair for pair in pairs if _is_in(path, pair[0])]
    if not found:
        return otherwise
    source, target = max(found, key=lambda pair: len(_folder_stem(pair[0])))
    rest = path[len(_folder_stem(source)) :]
    if is_of_windows(source) != is_of_windows(target):
        rest = rest.replace("\\", "/") if is_of_windows(source) else rest.replace("/", "\\")
    # Without its separator the root of a system or of a drive is another path.
    return _folder_stem(target) + rest if rest else target


def _is_in(path: str, folder: str) -> bool:
    stem = _folder_stem(folder)
    start, rest = path[: len(stem)], path[len(stem) :]
    is_there = _comparable_path(start, folder) == _comparable_path(stem, folder)
    return is_there and rest[:1] in ("", *_path_separators(folder))


def _folder_stem(folder: str) -> str:
    return folder.rstrip(_path_separators(folder))


def _path_separators(folder: str) -> str:
    return "/\\" if is_of_windows(folder) else "/"


def _comparable_path(path: str, folder: str) -> str:
    return path.replace("/", "\\").lower() if is_of_windows(folder) else path
