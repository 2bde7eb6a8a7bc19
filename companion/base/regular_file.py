"""Opens and reads files at paths that others chose: an agent, a CLI, a repository. Only regular
files, never more than a limit, and never waiting for whatever stands in a file's place."""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO

# Bytes read at a time: one long read would hold up other threads.
CHUNK = 1 << 20
# A named pipe is opened without a writer, and a terminal does not become that of this process.
# Windows has neither among its files.
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)


class NotRegular(OSError):
    """Something else stands at the path: `kind` is "a folder" or "a device", which pipes and
    sockets count as; `strerror` says so."""

    def __init__(self, path: str, kind: str) -> None:
        super().__init__(errno.EINVAL, f"it is {kind} and no file", path)
        self.kind = kind


class FileTooLarge(OSError):
    """The file has more bytes than may be read; `strerror` says so."""


def open_regular(path: str) -> BinaryIO:
    """Open the file at the path, or that its link leads to, for reading. Raises NotRegular, and
    other kinds of OSError, such as FileNotFoundError."""
    if "\0" in path:
        raise OSError(errno.EINVAL, "its name has a NUL", path)
    # Before it is opened, because that alone is an action for some devices.
    _check_regular(path, os.stat(path))
    descriptor = os.open(path, _FLAGS)
    try:
        # It may be another one by now.
        _check_regular(path, os.fstat(descriptor))
        return os.fdopen(descriptor, "rb")
    except OSError:
        os.close(descriptor)
        raise


def read_regular(path: str, limit: int) -> bytes:
    """All bytes of that file. Raises NotRegular, FileTooLarge if it has more than `limit` bytes,
    and other kinds of OSError."""
    with open_regular(path) as file:
        pieces: list[bytes] = []
        size, count = os.fstat(file.fileno()).st_size, 0
        # Not only by its size: some files tell none and yet have no end, and it may grow meanwhile.
        while max(size, count) <= limit:
            piece = file.read(min(CHUNK, limit + 1 - count))
            if not piece:
                return b"".join(pieces)
            pieces.append(piece)
            count += len(piece)
    raise FileTooLarge(errno.EFBIG, f"it has more than {limit} bytes", path)


def read_beginning(path: str, limit: int) -> bytes:
    """The first bytes of that file, at most `limit`. Raises NotRegular, and other kinds of
    OSError."""
    with open_regular(path) as file:
        return file.read(limit)


def _check_regular(path: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NotRegular(path, "a folder" if stat.S_ISDIR(status.st_mode) else "a device")
