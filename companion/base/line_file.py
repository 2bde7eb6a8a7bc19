"""A file to which whole lines are appended, all of them or none. Knows nothing of its content."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import BinaryIO

from .file_replace import sync_file, sync_folder


class LineFile:
    """Only one thread at a time, and nothing else, may append to the file. `size` in bytes is that
    of the last append."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.size = 0
        # Whether the file is known to end with a whole line, and to be in its folder on the disk.
        self._ends_whole = self._is_listed = False

    def append_lines(self, lines: bytes, is_new: bool, is_lasting: bool) -> None:
        """Append the lines; creates the file if it `is_new`. Lines that are `is_lasting` survive a
        power cut, with everything appended before. Raises OSError; then the file is unchanged."""
        flags = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0)
        descriptor = os.open(self.path, flags | (os.O_CREAT if is_new else 0), 0o600)
        with open(descriptor, "a+b", buffering=0) as file:
            # After a crash the last line may be incomplete.
            start = b"" if self._ends_whole or ends_whole(file) else b"\n"
            self._ends_whole = False
            before = file.seek(0, os.SEEK_END)
            try:
                _write_whole(file, start + lines)
                if is_lasting:
                    sync_file(descriptor)
                    if not (before and self._is_listed):
                        sync_folder(os.path.dirname(self.path))
                        self._is_listed = True
            except OSError:
                with suppress(OSError):
                    file.truncate(before)
                raise
            self.size = file.tell()
        self._ends_whole = True


def _write_whole(file: BinaryIO, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]


def ends_whole(file: BinaryIO) -> bool:
    """Whether the file is empty or ends with a line feed."""
    if not file.seek(0, os.SEEK_END):
        return True
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"
