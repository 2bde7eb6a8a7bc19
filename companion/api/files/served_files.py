"""Files and folders within the roots that the operator named. Blocks, and knows no HTTP.

Every path is resolved with all its links first, and must lie within a root then. It is opened from
the root without following links (`symlink_safe`), so that nobody can slip in a link meanwhile.
"""

from __future__ import annotations

import codecs
import errno
import os
import secrets
import stat
import sys
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Iterator, Sequence

from ...agent.failure import FILE_NOT_FOUND, VALIDATION_ERROR
from ...base.file_replace import sync_file
from ...base.large_json import PIECE
from ..contract.refusal import FILE_ERROR, FILE_TOO_LARGE, FORBIDDEN, PATH_REFUSED, Refusal
from ..contract.schemas import MAX_FILE
from . import symlink_safe
from .symlink_safe import FolderEntry, OpenFolder, Swapped

# The most entries of a folder in one answer.
MAX_ITEMS = 10_000
# How often a path is resolved again if folders on it are swapped for links.
TRIES = 8
_BAD_PATHS = (errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL, errno.EILSEQ)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


@dataclass(frozen=True)
class Item:
    """`path` is absolute. Bytes of a name that are not UTF-8 are replaced."""

    name: str
    is_folder: bool
    path: str


class Roots:
    """`folders` are absolute and exist. Relative paths start at the first one."""

    def __init__(self, folders: Sequence[str]) -> None:
        self.first = os.path.realpath(folders[0])
        self._folders = [os.path.realpath(folder) for folder in folders]

    def resolve_path(self, path: str) -> str:
        """The absolute path without links. Raises Refusal outside the roots."""
        if "\0" in path:
            raise Refusal(VALIDATION_ERROR, "path_bad", path=path.replace("\0", "\\0"))
        with _errors_as_refusals(path):
            real = os.path.realpath(os.path.join(self.first, path))
        if not any(_is_within(real, folder) for folder in self._folders):
            raise Refusal(PATH_REFUSED, path=path)
        return real

    def resolve_folder(self, path: str) -> str:
        """The real path of an existing folder, under the conditions of `resolve_path`. Raises
        Refusal."""
        real = self.resolve_path(path)
        with _errors_as_refusals(path):
            if not stat.S_ISDIR(os.stat(real).st_mode):
                raise Refusal(VALIDATION_ERROR, "path_no_folder", path=path)
        return real

    @contextmanager
    def open_entry(self, path: str) -> Iterator[FolderEntry]:
        """The entry that the path leads to. Turns every OSError within the block into Refusal."""
        with _errors_as_refusals(path), ExitStack() as stack:
            yield self._open_within(path, stack)

    def _open_within(self, path: str, stack: ExitStack) -> FolderEntry:
        for _ in range(TRIES):
            real = self.resolve_path(path)
            root = next(folder for folder in self._folders if _is_within(real, folder))
            with suppress(Swapped):
                return stack.enter_context(symlink_safe.open_entry(root, real))
        raise Refusal(PATH_REFUSED, path=path)


def list_folder(roots: Roots, path: str) -> tuple[str, list[Item], bool]:
    """The folder's path, its entries in the order of names, and whether it has more. A link counts
    as what it leads to. Raises Refusal."""
    with roots.open_entry(path) as folder:
        _check_folder(folder, path)
        with folder.scan_entries() as entries:
            items = [_item_of(folder.path, entry) for entry in entries]
    real = folder.path
    items.sort(key=lambda item: (item.name.lower(), item.name))
    return real, items[:MAX_ITEMS], len(items) > MAX_ITEMS


def read_text_file(roots: Roots, path: str, at_most: int = MAX_FILE) -> tuple[str, bytes | None]:
    """The file's path and its text in UTF-8, with BOM and line ends unchanged; None instead of the
    text if the file has more than `at_most` bytes. Raises Refusal."""
    with roots.open_entry(path) as entry:
        with entry.open_descriptor(os.O_RDONLY) as descriptor:
            _check_kind(os.fstat(descriptor), path)
            data = _read_contents(descriptor, at_most)
    if len(data) > MAX_FILE:
        raise Refusal(FILE_TOO_LARGE, path=path, limit=MAX_FILE)
    if len(data) > at_most:
        return entry.path, None
    if not _is_text(data):
        raise Refusal(VALIDATION_ERROR, "file_no_text", path=path)
    return entry.path, data


def _read_contents(descriptor: int, at_most: int) -> bytes:
    """The file's first `at_most` + 1 bytes at most, so that the caller sees if there are more."""
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        return file.read(at_most + 1)


def _is_text(data: bytes) -> bool:
    """Decodes in pieces: a single call would block all other threads."""
    utf8 = codecs.getincrementaldecoder("utf-8")()
    try:
        for at in range(0, len(data), PIECE):
            utf8.decode(data[at : at + PIECE])
        utf8.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return b"\0" not in data


def write_text_file(roots: Roots, path: str, content: str) -> str:
    """Create or replace a file in one step, and keep its mode, owner and group. Gives the path that
    was written. A link stays, and its target is replaced. Raises Refusal, and the file is unchanged
    then."""
    if sum(map(len, _encoded_pieces(content))) > MAX_FILE:
        raise Refusal(FILE_TOO_LARGE, path=path, limit=MAX_FILE)
    if path.endswith(("/", os.sep)):
        raise Refusal(VALIDATION_ERROR, "path_no_file", path=path)
    try:
        with roots.open_entry(path) as entry:
            _replace_file(entry, content, _status_to_keep(entry, path))
    except Refusal as refusal:
        folder = os.path.dirname(roots.resolve_path(path))
        if refusal.code == FILE_NOT_FOUND and not os.path.isdir(folder):
            raise Refusal(FILE_NOT_FOUND, "parent_missing", path=folder) from None
        raise
    return entry.path


def _encoded_pieces(text: str) -> Iterator[bytes]:
    """The text in UTF-8, in pieces for the same reason."""
    return (text[at : at + PIECE].encode("utf-8") for at in range(0, len(text), PIECE))


def _status_to_keep(entry: FolderEntry, path: str) -> os.stat_result | None:
    try:
        status = entry.read_status()
    except FileNotFoundError:
        return None
    _check_kind(status, path)
    # Replacing a file needs no permission to write it, so that is checked here.
    if not entry.is_writable():
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return status


def _replace_file(entry: FolderEntry, content: str, old: os.stat_result | None) -> None:
    unfinished = entry.entry_beside(f".{secrets.token_hex(8)}.unfinished")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        # The umask decides on the mode of a new file. A replacement must not be readable by others
        # for even a moment.
        with unfinished.open_descriptor(flags, 0o666 if old is None else 0o600) as descriptor:
            with os.fdopen(descriptor, "wb", closefd=False) as file:
                file.writelines(_encoded_pieces(content))
                file.flush()
                sync_file(descriptor)
            if old is not None:
                # Windows can change the mode of a path only, not of a descriptor.
                target = descriptor if os.chmod in os.supports_fd else unfinished.path
                os.chmod(target, _copy_owner(descriptor, old))
        entry.replace_with(unfinished)
    except OSError:
        with suppress(OSError):
            unfinished.remove()
        raise


def _copy_owner(descriptor: int, old: os.stat_result) -> int:
    """Give our file the owner and the group of the old one, as far as the system allows. Gives the
    mode that is safe then: no other group may get what the old group could do."""
    mode = stat.S_IMODE(old.st_mode)
    if sys.platform == "win32":
        return mode
    for owner, allowed in (old.st_uid, 0o7777), (-1, 0o1777):
        with suppress(OSError):
            os.chown(descriptor, owner, old.st_gid)
            return mode & allowed
    return mode & 0o1707


def open_folder(roots: Roots, path: str) -> OpenFolder:
    """A folder to start a program in. Raises Refusal."""
    with roots.open_entry(path) as folder:
        _check_folder(folder, path)
        return OpenFolder(folder)


def _check_folder(entry: FolderEntry, path: str) -> None:
    if not stat.S_ISDIR(entry.read_status().st_mode):
        raise Refusal(VALIDATION_ERROR, "path_no_folder", path=path)


def _check_kind(status: os.stat_result, path: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise Refusal(VALIDATION_ERROR, "path_no_file", path=path)


def _item_of(folder: str, entry: os.DirEntry[str]) -> Item:
    try:
        is_folder = entry.is_dir()
    except OSError:
        is_folder = False
    return Item(
        readable_name(entry.name), is_folder, readable_name(os.path.join(folder, entry.name))
    )


def readable_name(name: str) -> str:
    """A name or a path as a text. Bytes that are not UTF-8 are replaced."""
    return os.fsencode(name).decode("utf-8", "replace")


def _is_within(path: str, folder: str) -> bool:
    try:
        return os.path.commonpath([path, folder]) == folder
    except ValueError:
        # Windows: on another drive.
        return False


@contextmanager
def _errors_as_refusals(path: str) -> Iterator[None]:
    """Turns OSError into Refusal."""
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
