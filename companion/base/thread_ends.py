"""Waits for the end of another thread, also of one that is just being started."""

from __future__ import annotations

import threading
import time

# Seconds between two looks at a thread that is just being started.
PAUSE = 0.001


def wait_for_end(thread: threading.Thread, seconds: float) -> None:
    """Wait until the thread has ended, at most so many seconds.

    `threading.enumerate` gives a thread from the moment that somebody starts it, and `join` raises
    RuntimeError until it runs.
    """
    deadline = time.monotonic() + seconds
    while not thread.is_alive() and thread in threading.enumerate():
        if time.monotonic() >= deadline:
            return
        time.sleep(PAUSE)
    if thread.is_alive():
        thread.join(max(deadline - time.monotonic(), 0.0))
