"""Processes on Windows: no console window flashes up for a moment, and all that one has started
ends with it."""

from __future__ import annotations

import subprocess
from contextlib import suppress

# As `creationflags` of a process that shows nothing; 0, which says nothing, elsewhere.
NO_WINDOW: int = getattr(subprocess, "CREATE_NO_WINDOW", 0)


def end_tree(pid: int) -> None:
    """End the process and what it has started. Windows only, which has no groups to signal."""
    # Where taskkill is not found, nothing else can be done.
    with suppress(OSError):
        subprocess.call(
            ["taskkill", "/PID", str(pid), "/T", "/F"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            creationflags=NO_WINDOW,
        )
