"""Waits for what another thread, process or task brings, for a while only. Needs no library."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from typing import Any, Awaitable, Callable, TypeVar

# Seconds after which whatever is waited for will not come any more.
PATIENCE = 180.0

T = TypeVar("T")


def wait_for(condition: Callable[[], Any], timeout: float = PATIENCE) -> None:
    """Return once the condition holds. Raises AssertionError where it does not in time."""
    begin = time.monotonic()
    while not condition():
        waited = time.monotonic() - begin
        if waited > timeout:
            raise AssertionError(f"waited {timeout} seconds in vain")
        time.sleep(pause_after(waited))


def pause_after(seconds: float) -> float:
    """How long to wait until the next look, in a wait of so many seconds: looks cost, and a wait is
    to be little longer than it has to be."""
    return min(max(seconds / 20, 0.001), 0.02)


def is_alive(pid: int) -> bool:
    """Zombies, which wait for their parent, are not."""
    if not os.path.isdir("/proc/self"):
        state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True).stdout
        return bool(state.strip()) and not state.startswith(b"Z")
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


async def until(condition: Callable[[], Any], timeout: float = PATIENCE) -> None:
    """The same in a loop, also in one whose time stands still."""
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited {timeout} seconds in vain")
        time.sleep(0.001)
        await asyncio.sleep(0)


async def begun(work: Awaitable[T]) -> asyncio.Future[T]:
    """The work as a task that has come to where it waits first."""
    task = asyncio.ensure_future(work)
    await asyncio.sleep(0)
    return task
