"""Locks of the system on files, between processes and between machines that share a disk. The
system releases a lock when the process that has it ends in any way."""

from __future__ import annotations

import errno
import os
import sys
import time
from contextlib import contextmanager, suppress
from typing import Iterator

from .log import logger

# The offset of the locked byte on Windows, where nobody else can read locked bytes.
FAR = 1 << 20
# Seconds to wait for others, and between two attempts.
PATIENCE, PAUSE = 5.0, 0.01


class FileLock:
    """A lock that is a file of its own at the path, which is created where it is missing. For one
    thread at a time; all methods block."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._descriptor: int | None = None

    @property
    def is_held(self) -> bool:
        """Whether it is held here."""
        return self._descriptor is not None

    def acquire(self) -> bool:
        """Take the lock; gives whether it is held here now. Raises OSError."""
        while self._descriptor is None:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
            if not lock_file(descriptor):
                os.close(descriptor)
                return False
            if _is_at(descriptor, self.path):
                self._descriptor = descriptor
            else:
                # Its holder has removed it between the two steps.
                os.close(descriptor)
        return True

    def wait_for_lock(self, seconds: float = PATIENCE) -> None:
        """Take the lock as soon as others release it. Raises OSError, also if they have it for so
        many seconds."""
        ends = time.monotonic() + seconds
        while not self.acquire():
            if time.monotonic() > ends:
                raise OSError(errno.EAGAIN, "another process has it locked", self.path)
            time.sleep(PAUSE)

    @contextmanager
    def hold_lock(self) -> Iterator[None]:
        """Take the lock as `wait_for_lock` does, for the time of a block."""
        self.wait_for_lock()
        try:
            yield
        finally:
            self.release()

    def release(self) -> None:
        """The file stays: on a network file system others may still see one that was removed, and
        lock that."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            unlock_file(descriptor)

    def remove_file(self) -> None:
        """Release it, and remove the file of what is no more."""
        if sys.platform == "win32":
            # Files that are open cannot be removed there, and so nobody else's are.
            self.release()
        with suppress(OSError):
            os.unlink(self.path)
        self.release()


def _is_at(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def lock_file(descriptor: int) -> bool:
        """Lock the open file, without waiting; gives whether nobody else has it locked."""
        os.lseek(descriptor, FAR, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)
        return True

    def unlock_file(descriptor: int) -> None:
        """Release the lock, and close the file."""
        os.close(descriptor)

else:
    import fcntl

    def lock_file(descriptor: int) -> bool:
        """Lock the open file, without waiting; gives whether nobody else has it locked."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            # Some network file systems have no locks; to go on without one is better than to
            # refuse.
            logger.warning("files cannot be locked here: %s", error)
        return True

    def unlock_file(descriptor: int) -> None:
        """Release the lock, and close the file. A program that is just being started has all files
        of this one until it runs, and would keep the lock for that long."""
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)
