"""A thread for one piece of work that may wait for a disk, and never come back; knows no file."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from functools import partial
from typing import Callable, TypeVar

T = TypeVar("T")


async def aside(work: Callable[[], T], seconds: float | None = None) -> T:
    """Do the work in a thread of its own: nobody waits for it at the end, as the loop does for its
    executor. Raises what the work raises, and asyncio.TimeoutError after `seconds` without it."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        """The boundary of the thread: whatever is raised is the caller's."""
        try:
            outcome = partial(future.set_result, work())
        except Exception as error:
            outcome = partial(future.set_exception, error)
        # A loop that is closed has nobody who waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(lambda: None if future.done() else outcome())

    threading.Thread(target=run, name="GeminiCompanion file", daemon=True).start()
    return await asyncio.wait_for(future, seconds)
