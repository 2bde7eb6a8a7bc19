"""Locks a folder for one process, until it releases the folder or ends in any way."""

from __future__ import annotations

import os
from contextlib import suppress

from .file_lock import lock_file, unlock_file

NAME = "lock"


class FolderInUse(Exception):
    """Another server uses the folder; the text is a sentence for the user."""


class FolderLock:
    """A lock on the file NAME in the folder, which stays there. The system releases it when the
    process ends. `holder` is the id of the process that had the lock at the last attempt, as text,
    empty if unknown."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.holder = ""
        self._descriptor: int | None = None

    def acquire(self) -> None:
        """Take the lock. Raises FolderInUse, which names the process that has it, and OSError."""
        if self._descriptor is not None:
            return
        path = os.path.join(self.folder, NAME)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        if lock_file(descriptor):
            self._descriptor = descriptor
            os.ftruncate(descriptor, 0)
            os.write(descriptor, b"%d\n" % os.getpid())
            return
        self.holder = os.read(descriptor, 32).decode("ascii", "replace").strip()
        os.close(descriptor)
        if self.holder == str(os.getpid()):
            raise FolderInUse(
                f"{self.folder} is still in use by an earlier server in this process"
                f" ({self.holder}), which is ending. Try again in a few seconds, or use another"
                " folder."
            )
        raise FolderInUse(
            f"{self.folder} is in use by another server, process {self.holder or 'unknown'}. End"
            " that server first, or use another folder."
        )

    def release(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with suppress(OSError):
                os.ftruncate(descriptor, 0)
            unlock_file(descriptor)
