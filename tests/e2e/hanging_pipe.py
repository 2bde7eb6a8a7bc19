"""A named pipe from which nothing ever comes, and who waits at it."""

from __future__ import annotations

import os
import sys
import unittest
from contextlib import suppress

needs_pipes = unittest.skipUnless(
    sys.platform.startswith("linux"), "nobody tells who has a pipe open"
)


class HangingPipe:
    """Its writer is this process, until `close`: so it can be opened at once, and a read of it
    hangs."""

    def __init__(self, path: str) -> None:
        os.mkfifo(path)
        self._writer = os.open(path, os.O_RDWR)
        found = os.stat(path)
        self._id = (found.st_dev, found.st_ino)
        self.path = path

    def close(self) -> None:
        os.close(self._writer)
        os.remove(self.path)

    def readers(self) -> set[int]:
        """The other processes that have it open."""
        others = (
            int(pid) for pid in os.listdir("/proc") if pid.isdigit() and int(pid) != os.getpid()
        )
        return {pid for pid in others if self._is_open_in(pid)}

    def _is_open_in(self, pid: int) -> bool:
        folder = f"/proc/{pid}/fd"
        # Processes end meanwhile, and files are closed.
        with suppress(OSError):
            for name in os.listdir(folder):
                with suppress(OSError):
                    found = os.stat(os.path.join(folder, name))
                    if (found.st_dev, found.st_ino) == self._id:
                        return True
        return False
