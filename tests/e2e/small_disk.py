"""A small disk of a test's own, and what fills it."""

from __future__ import annotations

import os
import subprocess
import unittest
from contextlib import suppress

PAGE = 0x1000


def mount(case: unittest.TestCase, folder: str, size: int) -> None:
    """A file system of so many bytes in the folder, until the test ends, which is skipped where
    that is not allowed."""
    line = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder]
    try:
        is_mounted = subprocess.call(line, stderr=subprocess.DEVNULL) == 0
    except OSError:
        is_mounted = False
    if not is_mounted:
        case.skipTest("needs the right to mount")
    case.addCleanup(subprocess.call, ["umount", "-l", folder])


def fill(folder: str) -> str:
    """Leave it no page; the file that has them."""
    filler = os.path.join(folder, "filler")
    with suppress(OSError), open(filler, "wb", 0) as file:
        while file.write(bytes(PAGE)):
            pass
    return filler
