"""Files and folders within the roots that the operator named; blocks, and knows no HTTP.

Every path is resolved with all its links before anything is touched, and has to be within a root
then. What is opened is opened without following a last link, so that none can be slipped in.
Whoever can replace whole folders of the workspace meanwhile could as well change the files himself.
"""

from __future__ import annotations

import codecs
import errno
import os
import secrets
import stat
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Iterator, Sequence

from ..agent.failure import FILE_NOT_FOUND, VALIDATION_ERROR
from ..base.large_json import PIECE
from .refusal import FILE_ERROR, FILE_TOO_LARGE, FORBIDDEN, PATH_REFUSED, Refusal
from .schemas import MAX_FILE

# Entries of a folder that are told of.
MAX_ITEMS = 10_000
# Windows has none of these, and no pipes with names among its files.
_SAFELY = (
    getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_BAD_PATHS = (errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL, errno.EILSEQ)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


@dataclass(frozen=True)
class Item:
    """`path` is absolute. Bytes of a name that are no UTF-8 are replaced."""

    name: str
    is_folder: bool
    path: str


class Roots:
    """`folders` are absolute and exist; relative paths begin at the first."""

    def __init__(self, folders: Sequence[str]) -> None:
        self.first = os.path.realpath(folders[0])
        self._folders = [os.path.realpath(folder) for folder in folders]

    def resolve(self, path: str) -> str:
        """The absolute path without links. Raises Refusal outside of the roots."""
        if "\0" in path:
            raise Refusal(VALIDATION_ERROR, "path_bad", path=path.replace("\0", "\\0"))
        with _refusals(path):
            real = os.path.realpath(os.path.join(self.first, path))
        if not any(_is_within(real, folder) for folder in self._folders):
            raise Refusal(PATH_REFUSED, path=path)
        return real

    def folder(self, path: str) -> str:
        """As `resolve`, for a folder that is there. Raises Refusal."""
        real = self.resolve(path)
        with _refusals(path):
            if not stat.S_ISDIR(os.stat(real).st_mode):
                raise Refusal(VALIDATION_ERROR, "path_no_folder", path=path)
        return real


def listing(roots: Roots, path: str) -> tuple[str, list[Item], bool]:
    """The folder's path, what it holds in the order of names, and whether it holds more. A link
    counts as what it leads to. Raises Refusal."""
    real = roots.folder(path)
    with _refusals(path), os.scandir(real) as entries:
        items = [_item(entry) for entry in entries]
    items.sort(key=lambda item: (item.name.lower(), item.name))
    return real, items[:MAX_ITEMS], len(items) > MAX_ITEMS


def read(roots: Roots, path: str, at_most: int = MAX_FILE) -> tuple[str, bytes | None]:
    """The file's path and its text in UTF-8, with BOM and line ends as they are; None where it has
    more than `at_most` bytes. Raises Refusal."""
    real = roots.resolve(path)
    with _refusals(path):
        descriptor = os.open(real, os.O_RDONLY | _SAFELY)
        try:
            _check_kind(os.fstat(descriptor), path)
            data = _contents(descriptor, at_most)
        finally:
            os.close(descriptor)
    if len(data) > MAX_FILE:
        raise Refusal(FILE_TOO_LARGE, path=path, limit=MAX_FILE)
    if len(data) > at_most:
        return real, None
    if not _is_text(data):
        raise Refusal(VALIDATION_ERROR, "file_no_text", path=path)
    return real, data


def _contents(descriptor: int, at_most: int) -> bytes:
    """One byte more than `at_most` where there are more."""
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        return file.read(at_most + 1)


def _is_text(data: bytes) -> bool:
    """Decoded piece by piece: one call would hold up all other threads."""
    utf8 = codecs.getincrementaldecoder("utf-8")()
    try:
        for at in range(0, len(data), PIECE):
            utf8.decode(data[at : at + PIECE])
        utf8.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return b"\0" not in data


def write(roots: Roots, path: str, content: str) -> str:
    """Create or replace a file in one step, keeping its mode, owner and group; the path of what was
    written. A link stays, and what it leads to is replaced. Raises Refusal, and the file then is as
    it was."""
    if sum(map(len, _encoded(content))) > MAX_FILE:
        raise Refusal(FILE_TOO_LARGE, path=path, limit=MAX_FILE)
    if path.endswith(("/", os.sep)):
        raise Refusal(VALIDATION_ERROR, "path_no_file", path=path)
    real = roots.resolve(path)
    with _refusals(path):
        folder = os.path.dirname(real)
        if not os.path.isdir(folder):
            raise Refusal(FILE_NOT_FOUND, "parent_missing", path=folder)
        _replace(real, content, _status_to_keep(real, path))
    return real


def _encoded(text: str) -> Iterator[bytes]:
    """The text in UTF-8, piece by piece for the same reason."""
    return (text[at : at + PIECE].encode("utf-8") for at in range(0, len(text), PIECE))


def _status_to_keep(real: str, path: str) -> os.stat_result | None:
    try:
        status = os.lstat(real)
    except FileNotFoundError:
        return None
    _check_kind(status, path)
    # A new file in its place would need no permission to write the old one.
    if not os.access(real, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return status


def _replace(real: str, content: str, old: os.stat_result | None) -> None:
    unfinished = os.path.join(os.path.dirname(real), f".{secrets.token_hex(8)}.unfinished")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFELY
    # A new file gets what the user's umask leaves; of an old one not even a moment is readable.
    descriptor = os.open(unfinished, flags, 0o666 if old is None else 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(_encoded(content))
        if old is not None:
            os.chmod(unfinished, _own(unfinished, old))
        os.replace(unfinished, real)
    except OSError:
        with suppress(OSError):
            os.unlink(unfinished)
        raise


def _own(path: str, old: os.stat_result) -> int:
    """Give a file of ours the owner and the group of the old one, as far as the system allows that;
    the mode that it may have then. What the old group could do, no other group may."""
    mode = stat.S_IMODE(old.st_mode)
    if sys.platform == "win32":
        return mode
    for owner, kept in (old.st_uid, 0o7777), (-1, 0o1777):
        with suppress(OSError):
            os.chown(path, owner, old.st_gid)
            return mode & kept
    return mode & 0o1707


def _check_kind(status: os.stat_result, path: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise Refusal(VALIDATION_ERROR, "path_no_file", path=path)


def _item(entry: os.DirEntry[str]) -> Item:
    try:
        is_folder = entry.is_dir()
    except OSError:
        is_folder = False
    return Item(readable(entry.name), is_folder, readable(entry.path))


def readable(name: str) -> str:
    """A name or a path as a text; bytes that are no UTF-8 are replaced."""
    return os.fsencode(name).decode("utf-8", "replace")


def _is_within(path: str, folder: str) -> bool:
    try:
        return os.path.commonpath([path, folder]) == folder
    except ValueError:
        # Windows: on another drive.
        return False


@contextmanager
def _refusals(path: str) -> Iterator[None]:
    """What the system says against it, as Refusal."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        raise Refusal(FILE_NOT_FOUND, "file_missing", path=path) from None
    except OSError as error:
        if error.errno in _FORBIDDEN:
            raise Refusal(FORBIDDEN, "path_forbidden", path=path) from None
        if error.errno == errno.EISDIR:
            raise Refusal(VALIDATION_ERROR, "path_no_file", path=path) from None
        if error.errno in _BAD_PATHS:
            raise Refusal(VALIDATION_ERROR, "path_bad", path=path[:200]) from None
        reason = error.strerror or "?"
        raise Refusal(FILE_ERROR, path=path, reason=reason) from None
    except ValueError:
        raise Refusal(VALIDATION_ERROR, "path_bad", path=path[:200]) from None
