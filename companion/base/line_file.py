"""A file to which whole lines are appended, all of them or none; knows nothing of what is in it."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import BinaryIO

from .file_replace import sync_file


class LineFile:
    """Only one thread at a time, and nobody else, may append to it. `size` is that of the last
    time, in bytes."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.size = 0
        # Whether the file is known to end with a whole line.
        self._ends_whole = False

    def append(self, lines: bytes, is_new: bool, is_lasting: bool) -> None:
        """The file is made where it `is_new`. What `is_lasting` is there after a power cut, too,
        with all that was appended before. Raises OSError, and the file then is as it was."""
        flags = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0)
        descriptor = os.open(self.path, flags | (os.O_CREAT if is_new else 0), 0o600)
        with open(descriptor, "a+b", buffering=0) as file:
            # After a crash a line may have been begun only.
            start = b"" if self._ends_whole or _ends_whole(file) else b"\n"
            self._ends_whole = False
            before = file.seek(0, os.SEEK_END)
            try:
                _write(file, start + lines)
                if is_lasting:
                    sync_file(descriptor)
            except OSError:
                with suppress(OSError):
                    file.truncate(before)
                raise
            self.size = file.tell()
        self._ends_whole = True


def _write(file: BinaryIO, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def _ends_whole(file: BinaryIO) -> bool:
    """Whether the file is empty or ends with a line feed."""
    if not file.seek(0, os.SEEK_END):
        return True
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"
