"""Takes ignored files of the user's own tree, such as `.env` and `node_modules`, into a new work
tree in which nobody works yet: as copies, or as links to the user's own, which the agent then
shares with them."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from contextlib import ExitStack, suppress
from typing import Callable, Iterable, Iterator

from .folder_deletion import delete_folder, is_real_folder
from .inside import ABSENT, look_at
from .named import shown_name
from .repository import NamedFiles
from .work_tree import TreeFailure

# The most files that are counted.
MOST = 100_000

# Called with how many files are copied so far. What it raises ends the copying.
Report = Callable[[int], None]


def measure_ignored(root: str, names: Iterable[str]) -> NamedFiles:
    """How many files copies of these would be, up to MOST, and their bytes."""
    count = size = 0
    for name in names:
        for entry in files_below(os.path.join(root, name.rstrip("/"))):
            if count == MOST:
                break
            count += 1
            with suppress(OSError):
                size += os.lstat(entry).st_size
    return NamedFiles(count, size, tuple(names))


def link_ignored(root: str, tree: str, names: Iterable[str]) -> tuple[str, ...]:
    """Link these files and folders of the user's root into the work tree at `tree`. Gives the names
    of the links, without those of which the tree has something already. Raises TreeFailure."""
    return _carry(root, tree, names, _link)


def copy_ignored(root: str, tree: str, names: Iterable[str], report: Report) -> tuple[str, ...]:
    """Copy them, with links as they are, and without what is neither a file nor a folder. Gives
    names as `link_ignored`. Raises TreeFailure, and what `report` raises; of the one that was not
    finished nothing is left."""
    copier = _Copier(report)
    return _carry(root, tree, names, copier.copy)


def _carry(
    root: str, tree: str, names: Iterable[str], carry: Callable[[str, str], None]
) -> tuple[str, ...]:
    carried = []
    for name in (name.rstrip("/") for name in names):
        source, target = (os.path.join(place, *name.split("/")) for place in (root, tree))
        try:
            _check_way(tree, name)
            if look_at(tree, name).mode != ABSENT:
                continue
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with ExitStack() as failing:
                failing.callback(_delete_quietly, target)
                carry(source, target)
                failing.pop_all()
        except FileNotFoundError:
            # The user has removed it meanwhile.
            continue
        except OSError as error:
            reason = error.strerror or str(error)
            raise TreeFailure(
                f"{shown_name(name)} cannot be taken into the work tree ({reason})."
            ) from error
        carried.append(name)
    return tuple(carried)


def _check_way(tree: str, name: str) -> None:
    """Raises OSError if a folder on the way is a link, which may lead elsewhere."""
    place = tree
    for part in name.split("/")[:-1]:
        place = os.path.join(place, part)
        with suppress(FileNotFoundError):
            if not is_real_folder(os.lstat(place)):
                raise NotADirectoryError(errno.ENOTDIR, "a folder on the way is none", place)


def _delete_quietly(path: str) -> None:
    with suppress(OSError):
        delete_folder(path)


def _link(source: str, target: str) -> None:
    is_folder = is_real_folder(os.lstat(source))
    if sys.platform == "win32" and is_folder:
        # A link needs rights there that few users have.
        import _winapi

        _winapi.CreateJunction(source, target)
    else:
        os.symlink(source, target, target_is_directory=is_folder)


class _Copier:
    """Counts the files of all copies."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._count = 0

    def copy(self, source: str, target: str) -> None:
        """Raises OSError, and what the report raises."""
        if is_real_folder(os.lstat(source)):
            # Also one without files.
            os.makedirs(target, exist_ok=True)
        for path in files_below(source):
            place = target + path[len(source) :]
            os.makedirs(os.path.dirname(place), exist_ok=True)
            shutil.copy2(path, place, follow_symlinks=False)
            self._count += 1
            self._report(self._count)


def files_below(path: str) -> Iterator[str]:
    """The paths of the files and links in the folder, or of the file itself. What cannot be listed
    has none."""
    waiting = [path]
    while waiting:
        place = waiting.pop()
        try:
            if os.path.islink(place) or os.path.isfile(place):
                yield place
            elif is_real_folder(os.lstat(place)):
                waiting += sorted((entry.path for entry in os.scandir(place)), reverse=True)
        except OSError:
            continue
