"""A file put into the place of another one, in one step."""

from __future__ import annotations

import errno
import os
import sys
import time
from contextlib import suppress

# How often it is tried on Windows, and the seconds before the second time; twice as many before
# each further one, in all 0.15.
TRIES = 5
PAUSE = 0.01
# What file systems answer that have no such call: shares of virtual machines, FUSE. What was
# written stands there all the same.
NO_SYNC = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)


def replace(unfinished: str, path: str, platform: str = sys.platform) -> None:
    """Both lie in one folder. Raises OSError.

    Windows replaces no file that another program has open, and virus scanners and indexers open
    each new one for a moment. May block there for as long as all tries take.
    """
    for pause in (PAUSE * 2**number for number in range(TRIES - 1)):
        try:
            os.replace(unfinished, path)
            return
        except PermissionError:
            if platform != "win32":
                raise
        time.sleep(pause)
    os.replace(unfinished, path)


def sync_file(descriptor: int) -> None:
    """Have it written through to the disk, where the file system can do that. Raises OSError, as
    for a disk that is full. Blocks for as long as the disk takes."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in NO_SYNC:
            raise


def sync_folder(folder: str) -> None:
    """Have it written that a file in the folder was replaced, as far as the system can: what it
    held before is still there after a power cut otherwise. Blocks for as long as the disk takes."""
    # Windows opens no folder.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
