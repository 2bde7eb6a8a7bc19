"""Reads and writes files of a work tree by their path from its top, and never what is elsewhere: no
folder on the way may be a link. What stands there is a claim of whoever works in the tree."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import sys
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Iterator, NamedTuple, Optional, Tuple

from ..base import file_replace
from ..base.regular_file import CHUNK, FileTooLarge, NotRegular

# The modes of git: a file, one that can be run, a link, another repository; and what git keeps
# nothing of: a folder, a pipe, a device. There is nothing at a path of the mode ABSENT.
FILE, PROGRAM, LINK, REPOSITORY, OTHER, ABSENT = (
    "100644", "100755", "120000", "160000", "other", "",
)  # fmt: skip
FILES = (FILE, PROGRAM)
NO_PATH = "the path is none that a file here can have"
# The most bytes of a file that are read.
LIMIT = 64 << 20
# What Windows has for devices, whatever ends the name has, and what no name there can have.
OF_A_DEVICE = re.compile(r"(con|prn|aux|nul|(com|lpt)[0-9¹²³]|con(in|out)\$) *(\..*)?", re.I | re.S)
NOT_IN_A_NAME = re.compile(r'[\\:*?"<>|\0-\x1f]')
# Whether the system can name a file by an open folder, which nobody can exchange meanwhile.
_HAS_FOLDERS = os.open in os.supports_dir_fd and os.readlink in os.supports_dir_fd
_OPEN = (
    getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
)

# Of what stands at a path: when its content and its state were written, in nanoseconds, its size
# and its number on the disk; None if there is nothing.
Mark = Optional[Tuple[int, int, int, int]]
# A folder that is open, None for the current one; and a name from there.
Named = Tuple[Optional[int], str]


class NotInside(OSError):
    """The path leads out of the tree, or through a link; `strerror` says so."""


class Found(NamedTuple):
    """What stands at a path: its mode as git has it, and its mark."""

    mode: str
    mark: Mark


@dataclass(frozen=True)
class TreeContent:
    """What is at a path. The data of a link are its target; those of anything that is neither a
    file nor a link are empty."""

    mode: str = ABSENT
    data: bytes = b""

    @property
    def is_file(self) -> bool:
        return self.mode in FILES


NOTHING = TreeContent()


@lru_cache(maxsize=1 << 14)
def is_safe_path(path: str, platform: str = sys.platform) -> bool:
    """Whether the path of a claim names something in a tree on that platform, in the form that git
    has for it, and nothing of git's own.

    >>> is_safe_path("src/a.py"), is_safe_path("../a.py"), is_safe_path(".GIT/config")
    (True, False, False)
    """
    parts = path.split("/")
    if "\0" in path or any(part in ("", os.curdir, os.pardir) for part in parts):
        return False
    if any(_is_of_git(part) for part in parts):
        return False
    if platform == "win32" and not all(map(_is_windows_name, parts)):
        return False
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        # The editor has no name for it.
        return False
    return True


def _is_windows_name(part: str) -> bool:
    """Whether it names what git means: blanks and points at the end are left out there."""
    is_other = part[-1] in ". " or OF_A_DEVICE.fullmatch(part)
    return not (is_other or NOT_IN_A_NAME.search(part))


def _is_of_git(part: str) -> bool:
    # Some file systems ignore case, blanks and points at the end, and letters that nobody sees.
    plain = "".join(letter for letter in part if letter.isprintable()).rstrip(". ").lower()
    return plain == ".git" or plain == "git~1" or plain.startswith(".git::")


def path_in(root: str, path: str) -> str:
    """The absolute path."""
    return os.path.join(root, *path.split("/"))


def look_at(root: str, path: str) -> Found:
    """What stands at the path; whoever reads or writes it sees whether a folder on the way is a
    link. Raises NotInside for a path that nothing here can have, and other kinds of OSError."""
    if not is_safe_path(path):
        raise NotInside(errno.EINVAL, NO_PATH, path)
    try:
        return _found_of(os.lstat(path_in(root, path)))
    except (FileNotFoundError, NotADirectoryError):
        return Found(ABSENT, None)


def read_content(root: str, path: str, limit: int = LIMIT) -> TreeContent:
    """What is at the path. Raises FileTooLarge beyond `limit` bytes, NotInside, and other kinds of
    OSError."""
    try:
        with _open_parent(root, path) as (folder, name):
            found = _found_of(os.stat(name, dir_fd=folder, follow_symlinks=False))
            if found.mode == LINK:
                return TreeContent(LINK, os.fsencode(os.readlink(name, dir_fd=folder)))
            if found.mode not in FILES:
                return TreeContent(found.mode)
            return _read_file(name, folder, limit)
    except (FileNotFoundError, NotADirectoryError):
        return NOTHING


def write_content(root: str, path: str, content: TreeContent) -> None:
    """Put the content at the path, in one step, with the folders that are missing; or take away
    what is there. A folder that is there stays. Raises NotInside and other kinds of OSError, and
    then what was there is there still."""
    if content.mode == ABSENT:
        _remove(root, path)
        return
    with _open_parent(root, path, is_made=True) as (folder, name):
        with suppress(FileNotFoundError):
            if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                raise IsADirectoryError(errno.EISDIR, "there is a folder", path)
        # Without the name, which may be as long as one can be.
        unfinished = os.path.join(os.path.dirname(name), f".{secrets.token_hex(8)}.unfinished")
        try:
            if content.mode == LINK:
                os.symlink(os.fsdecode(content.data), unfinished, dir_fd=folder)
            else:
                _write_file(unfinished, name, folder, content)
            if folder is None:
                file_replace.replace_file(unfinished, name)
            else:
                os.replace(unfinished, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with suppress(OSError):
                os.unlink(unfinished, dir_fd=folder)
            raise


def set_mode(root: str, path: str, mode: str) -> None:
    """Make a file one that can be run, or not; what else its mode says stays. Raises OSError."""
    with _open_parent(root, path) as (folder, name):
        descriptor = os.open(name, os.O_RDONLY | _OPEN, dir_fd=folder)
        try:
            now = stat.S_IMODE(os.fstat(descriptor).st_mode)
            wanted = now | (now & 0o444) >> 2 if mode == PROGRAM else now & ~0o111
            if hasattr(os, "fchmod") and wanted != now:
                os.fchmod(descriptor, wanted)
        finally:
            os.close(descriptor)


def _found_of(status: os.stat_result) -> Found:
    mark = status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino
    if stat.S_ISLNK(status.st_mode):
        return Found(LINK, mark)
    if stat.S_ISREG(status.st_mode):
        return Found(PROGRAM if status.st_mode & 0o100 else FILE, mark)
    return Found(OTHER, mark)


def _read_file(name: str, folder: int | None, limit: int) -> TreeContent:
    descriptor = os.open(name, os.O_RDONLY | _OPEN, dir_fd=folder)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            # It may be another one by now.
            raise NotRegular(name, "a folder" if stat.S_ISDIR(status.st_mode) else "a device")
        pieces: list[bytes] = []
        count = 0
        while max(status.st_size, count) <= limit:
            piece = file.read(min(CHUNK, limit + 1 - count))
            if not piece:
                return TreeContent(_found_of(status).mode, b"".join(pieces))
            pieces.append(piece)
            count += len(piece)
    raise FileTooLarge(errno.EFBIG, f"it has more than {limit} bytes", name)


def _write_file(unfinished: str, name: str, folder: int | None, content: TreeContent) -> None:
    # What the user's own settings for new files are, unless there is a file already.
    mode = 0o777 if content.mode == PROGRAM else 0o666
    descriptor = os.open(
        unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OPEN, mode, dir_fd=folder
    )
    with open(descriptor, "wb") as file:
        file.write(content.data)
        file.flush()
        file_replace.sync_file(descriptor)
        with suppress(FileNotFoundError):
            there = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISREG(there.st_mode) and hasattr(os, "fchmod"):
                os.fchmod(descriptor, _mode_like(stat.S_IMODE(there.st_mode), content.mode))


def _mode_like(present: int, mode: str) -> int:
    plain = present & ~0o111
    return plain | (plain & 0o444) >> 2 if mode == PROGRAM else plain


def _remove(root: str, path: str) -> None:
    try:
        with _open_parent(root, path) as (folder, name):
            os.unlink(name, dir_fd=folder)
    except (FileNotFoundError, NotADirectoryError):
        return
    # As git does; one with anything in it stays.
    parts = path.split("/")[:-1]
    for count in range(len(parts), 0, -1):
        try:
            with _open_parent(root, "/".join(parts[:count])) as (folder, name):
                os.rmdir(name, dir_fd=folder)
        except OSError:
            return


@contextmanager
def _open_parent(root: str, path: str, is_made: bool = False) -> Iterator[Named]:
    """The folder of the path, and the name there, for calls of `os`; missing folders are made if
    `is_made`. Raises NotInside and other kinds of OSError."""
    if not is_safe_path(path):
        raise NotInside(errno.EINVAL, NO_PATH, path)
    *parts, name = path.split("/")
    if not _HAS_FOLDERS:
        yield None, os.path.join(_checked_folder(root, parts, is_made), name)
        return
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts:
            below = _open_folder(part, folder, is_made)
            os.close(folder)
            folder = below
        yield folder, name
    finally:
        os.close(folder)


def _open_folder(part: str, folder: int, is_made: bool) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    if is_made:
        with suppress(FileExistsError):
            os.mkdir(part, dir_fd=folder)
    try:
        return os.open(part, flags, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR) and _is_link(part, folder):
            raise NotInside(errno.ELOOP, f"{part} is a link", part) from error
        raise


def _is_link(part: str, folder: int) -> bool:
    with suppress(OSError):
        return stat.S_ISLNK(os.stat(part, dir_fd=folder, follow_symlinks=False).st_mode)
    return False


def _checked_folder(root: str, parts: list[str], is_made: bool) -> str:
    """Where the system cannot name a file by an open folder."""
    folder = root
    for part in parts:
        folder = os.path.join(folder, part)
        if is_made:
            with suppress(FileExistsError):
                os.mkdir(folder)
        if os.path.lexists(folder) and os.path.realpath(folder) != os.path.join(
            os.path.realpath(os.path.dirname(folder)), part
        ):
            raise NotInside(errno.ELOOP, f"{part} is a link", part)
    return folder
