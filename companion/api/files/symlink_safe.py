"""Opens a file or a folder below a root so that nobody can lead it out of the root by swapping a
folder for a link meanwhile. Blocks; knows no HTTP.

A path is resolved with its links first, so that links within the root work. Then each folder on the
way is opened inside the one before it, without following links (openat). Windows cannot open files
that way; there the resolved path is opened.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from typing import Iterator

from ...base import file_replace

# Windows has none of these flags, and no named pipes among its files.
SAFELY = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
CAN_WALK = {os.open, os.stat, os.unlink, os.rename, os.access} <= os.supports_dir_fd and (
    hasattr(os, "O_NOFOLLOW") and os.scandir in os.supports_fd
)
FOLDER = getattr(os, "O_DIRECTORY", 0)
# To pass through a folder, it need not be readable, if the system knows that difference.
_THROUGH = SAFELY | FOLDER | getattr(os, "O_PATH", os.O_RDONLY)
# Linux lists a process's own descriptors here: such a path stays with its folder.
_DESCRIPTORS = "/proc/self/fd"


class Swapped(Exception):
    """A folder became a link after its path was resolved. Resolve the path again."""


class FolderEntry:
    """One name in an opened folder, with anything or nothing behind it. `path` is absolute, and had
    no links when it was resolved. All methods raise OSError."""

    def __init__(self, path: str, folder: int | None, name: str) -> None:
        self.path = path
        self._folder = folder
        self._name = path if folder is None else name

    def read_status(self) -> os.stat_result:
        """The status of the link itself, if it is one."""
        return os.stat(self._name, dir_fd=self._folder, follow_symlinks=False)

    def is_writable(self) -> bool:
        return os.access(self._name, os.W_OK, dir_fd=self._folder)

    @contextmanager
    def open_descriptor(self, flags: int, mode: int = 0o600) -> Iterator[int]:
        """Its descriptor, which is always closed at the end. A link is an error."""
        descriptor = os.open(self._name, flags | SAFELY, mode, dir_fd=self._folder)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def scan_entries(self) -> Iterator[Iterator[os.DirEntry[str]]]:
        """The entries of a folder. Only their names are reliable."""
        if self._folder is None:
            with os.scandir(self.path) as entries:
                yield entries
            return
        with self.open_descriptor(os.O_RDONLY | FOLDER) as descriptor:
            with os.scandir(descriptor) as entries:
                yield entries

    def entry_beside(self, name: str) -> FolderEntry:
        """Another name in the same folder."""
        path = os.path.join(os.path.dirname(self.path), name)
        return FolderEntry(path, self._folder, name)

    def replace_with(self, other: FolderEntry) -> None:
        """Take the file of `other`, a name in the same folder."""
        if self._folder is None:
            file_replace.replace_file(other._name, self._name)
        else:
            os.replace(other._name, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def remove(self) -> None:
        os.unlink(self._name, dir_fd=self._folder)


@contextmanager
def open_entry(root: str, path: str) -> Iterator[FolderEntry]:
    """The entry at an absolute `path` without links, which is `root` or lies below it. Raises
    OSError if a folder on the way cannot be opened, and Swapped."""
    parts = [] if path == root else os.path.relpath(path, root).split(os.sep)
    if not CAN_WALK:
        yield FolderEntry(path, None, "")
        return
    folder = os.open(root, _THROUGH)
    try:
        for part in parts[:-1]:
            inner = _open_inner(folder, part)
            os.close(folder)
            folder = inner
        yield FolderEntry(path, folder, parts[-1] if parts else os.curdir)
    finally:
        os.close(folder)


def _open_inner(folder: int, name: str) -> int:
    try:
        return os.open(name, _THROUGH, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISLNK(status.st_mode):
                raise Swapped from None
        raise


class OpenFolder:
    """A folder to start a program in. It stays open until `close`, or until it is garbage."""

    def __init__(self, found: FolderEntry) -> None:
        """Raises OSError."""
        self._path = found.path
        self._descriptor: int | None = None
        if CAN_WALK and os.path.isdir(_DESCRIPTORS):
            with found.open_descriptor(os.O_RDONLY | FOLDER) as descriptor:
                self._descriptor = os.dup(descriptor)

    @property
    def path(self) -> str:
        """Valid until `close`."""
        return self._path if self._descriptor is None else f"{_DESCRIPTORS}/{self._descriptor}"

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    __del__ = close
