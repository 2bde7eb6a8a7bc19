"""Runs work in a thread of its own, for a loop that must not wait. Knows no file."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from functools import partial
from typing import Callable, TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[[], T], seconds: float | None = None) -> T:
    """Do the work in a new thread. A disk may never answer, so nobody waits for this thread at the
    end, unlike the threads of a loop's executor. Raises what the work raises, and
    asyncio.TimeoutError after `seconds`; the work itself continues."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def run() -> None:
        """The boundary of the thread: every exception goes to the caller."""
        try:
            outcome = partial(future.set_result, work())
        except Exception as error:
            outcome = partial(future.set_exception, error)
        # If the loop is closed, nobody waits for the result.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(lambda: None if future.done() else outcome())

    threading.Thread(target=run, name="GeminiCompanion work", daemon=True).start()
    return await asyncio.wait_for(future, seconds)
