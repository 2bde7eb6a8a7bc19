"""Locks a folder for one process, until it releases the folder or ends in any way."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from .log import logger

NAME = "lock"
# The offset of the locked byte on Windows, where nobody else can read locked bytes.
FAR = 1 << 20


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
        if _lock(descriptor):
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
            os.close(descriptor)


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> bool:
        os.lseek(descriptor, FAR, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)
        return True

else:
    import fcntl

    def _lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            # Some network file systems have no locks; a server without a lock is better than none.
            logger.warning("the folder cannot be locked: %s", error)
        return True
