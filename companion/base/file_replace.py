"""Replaces a file by another one in one step."""

from __future__ import annotations

import errno
import os
import sys
import time
from contextlib import suppress

# The number of attempts on Windows, and the seconds before the second one; the pause doubles each
# time, 0.15 in all.
TRIES = 5
PAUSE = 0.01
# The errors of file systems that cannot do this, such as shares of virtual machines and FUSE. The
# data is written all the same.
NO_SYNC = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)


def replace_file(unfinished: str, path: str, platform: str = sys.platform) -> None:
    """Replace a file by another one in the same folder. Raises OSError.

    Windows cannot replace a file that another program has open, and virus scanners and indexers
    open each new file for a moment. There this may block until all attempts are made.
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
    """Write the file's content through to the disk, if the file system can do that. Raises OSError,
    for example if the disk is full. Blocks until the disk is done."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in NO_SYNC:
            raise


def sync_folder(folder: str) -> None:
    """Write through to the disk that a file in the folder was replaced, as far as the system can.
    Otherwise a power cut may bring the old file back. Blocks until the disk is done."""
    # Windows cannot open a folder.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
