"""Deletes a folder that a stranger has filled: follows no link, enters no other disk, and copes
with folders without permissions and of any depth. Knows nothing of git.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
from contextlib import contextmanager, suppress
from functools import partial
from typing import Callable, Iterator

# So many folders are open at a time; what lies deeper is moved up first.
DEPTH = 64
# The tag by which Windows knows a folder that stands for another one.
_JUNCTION = 0xA0000003
# Of these Windows has none, and does not come here.
_FLAGS = os.O_RDONLY
for _name in ("O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC"):
    _FLAGS |= getattr(os, _name, 0)


def delete_folder(path: str, top: str = "", platform: str = sys.platform) -> None:
    """Delete the folder at the path with all in it; of a link or a file, only itself. From the
    folder `top`, which has the path below it, no link is followed on the way; without it, strangers
    cannot write to the folders above. What cannot be deleted keeps nothing else from it: of the
    first such thing the OSError is raised, with its path. Nothing at the path is no error."""
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    with suppress(FileNotFoundError):
        if not is_real_folder(status):
            os.unlink(path)
        elif platform == "win32":
            _check_way(path, top)
            _delete_by_path(path)
        else:
            _Deletion(path, top).run()


def move_up(path: str, top: str, name: str, platform: str = sys.platform) -> None:
    """Give the folder at the path, which is below the folder `top`, this name in the top. No link
    is followed on the way. Raises OSError."""
    if platform == "win32":
        _check_way(path, top)
        os.rename(path, os.path.join(top, name))
        return
    with _opened_parent(path, top) as (above, old):
        with _opened_parent(os.path.join(top, name), top) as (folder, new):
            os.rename(old, new, src_dir_fd=above, dst_dir_fd=folder)


def is_real_folder(status: os.stat_result) -> bool:
    """Whether it is a folder, and not a link or junction to one."""
    return stat.S_ISDIR(status.st_mode) and getattr(status, "st_reparse_tag", 0) != _JUNCTION


class _Failures:
    """Keeps the first failure, and where it was."""

    def __init__(self) -> None:
        self._first: OSError | None = None

    def attempt(self, path: str, work: Callable[[], None]) -> None:
        try:
            work()
        except FileNotFoundError:
            # Somebody else has deleted it.
            return
        except OSError as error:
            # Of a folder that is not empty the reason was noted before.
            if self._first is None:
                self._first = OSError(error.errno, error.strerror, path)

    def raise_first(self) -> None:
        if self._first is not None:
            raise self._first


class _Deletion:
    """Names everything by an open folder and a name in it: whoever puts a link into the place of a
    folder meanwhile leads nowhere."""

    def __init__(self, path: str, top: str) -> None:
        self._path, self._above = path, top or os.path.dirname(os.path.abspath(path))
        self._failures = _Failures()
        # The number of folders that were moved up.
        self._moved = 0
        self._top = self._disk = -1

    def run(self) -> None:
        with _opened_parent(self._path, self._above) as (above, name):
            self._top = _open_folder(name, above)
            try:
                self._disk = os.fstat(self._top).st_dev
                self._empty_top()
            finally:
                os.close(self._top)
            self._failures.attempt(self._path, lambda: os.rmdir(name, dir_fd=above))
        self._failures.raise_first()

    def _empty_top(self) -> None:
        """Again, until nothing more is moved up."""
        moved = -1
        while moved != self._moved:
            moved = self._moved
            self._empty_folder(self._top, self._path, 0)

    def _empty_folder(self, folder: int, path: str, depth: int) -> None:
        with os.scandir(folder) as entries:
            found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        for name, is_folder in found:
            here = os.path.join(path, name)

            def delete_entry(
                name: str = name, is_folder: bool = is_folder, here: str = here
            ) -> None:
                if not is_folder:
                    os.unlink(name, dir_fd=folder)
                elif depth < DEPTH:
                    self._delete_below(folder, name, here, depth + 1)
                else:
                    self._move_up(folder, name)

            self._failures.attempt(here, delete_entry)

    def _delete_below(self, above: int, name: str, path: str, depth: int) -> None:
        folder = _open_folder(name, above)
        try:
            if os.fstat(folder).st_dev != self._disk:
                raise OSError(errno.EXDEV, "another disk is mounted there")
            self._empty_folder(folder, path, depth)
        finally:
            os.close(folder)
        os.rmdir(name, dir_fd=above)

    def _move_up(self, folder: int, name: str) -> None:
        new = f".deep-{secrets.token_hex(8)}"
        os.rename(name, new, src_dir_fd=folder, dst_dir_fd=self._top)
        self._moved += 1


@contextmanager
def _opened_parent(path: str, top: str) -> Iterator[tuple[int, str]]:
    """The folder that has the path, open, and the path's name there. Raises OSError if a folder
    on the way from the top is none."""
    *way, name = os.path.relpath(path, top).split(os.sep)
    above = os.open(top, _FLAGS & ~getattr(os, "O_NOFOLLOW", 0))
    try:
        for part in way:
            below = os.open(part, _FLAGS, dir_fd=above)
            os.close(above)
            above = below
        yield above, name
    finally:
        os.close(above)


def _open_folder(name: str, above: int) -> int:
    """Open the folder, and give the user all rights in it. Raises OSError, also for a link."""
    try:
        folder = os.open(name, _FLAGS, dir_fd=above)
    except PermissionError:
        _permit_reading(name, above)
        folder = os.open(name, _FLAGS, dir_fd=above)
    if os.fstat(folder).st_mode & stat.S_IRWXU != stat.S_IRWXU:
        with suppress(OSError):
            os.fchmod(folder, stat.S_IRWXU)
    return folder


def _permit_reading(name: str, above: int) -> None:
    """Of the folder itself, never of one that a link leads to."""
    path_only = getattr(os, "O_PATH", 0)
    if not path_only:
        os.chmod(name, stat.S_IRWXU, dir_fd=above, follow_symlinks=False)
        return
    # Linux changes no mode by a name without following links, and none of such a descriptor.
    handle = os.open(name, _FLAGS | path_only, dir_fd=above)
    try:
        os.chmod(f"/proc/self/fd/{handle}", stat.S_IRWXU)
    finally:
        os.close(handle)


def _check_way(path: str, top: str) -> None:
    """Raises OSError if a folder on the way from the top is none."""
    while top and os.path.dirname(path) not in (top, path):
        path = os.path.dirname(path)
        if not is_real_folder(os.lstat(path)):
            raise OSError(errno.ENOTDIR, "it is a link", path)


def _delete_by_path(top: str) -> None:
    """For Windows, which has no names by an open folder. Files that are open stay there."""
    # Without this prefix paths end at 260 characters.
    path = top if top.startswith("\\\\") or os.sep == "/" else "\\\\?\\" + os.path.abspath(top)
    failures, left, folders = _Failures(), [path], []
    while left:
        folder = left.pop()
        folders.append(folder)
        with os.scandir(folder) as entries:
            found = list(entries)
        for entry in found:
            if is_real_folder(entry.stat(follow_symlinks=False)):
                left.append(entry.path)
            else:
                failures.attempt(entry.path, partial(_delete_file, entry.path))
    for folder in reversed(folders):
        failures.attempt(folder, partial(os.rmdir, folder))
    failures.raise_first()


def _delete_file(path: str) -> None:
    try:
        os.unlink(path)
    except PermissionError:
        # A file that may only be read is not deleted there.
        os.chmod(path, stat.S_IWRITE)
        os.unlink(path)
