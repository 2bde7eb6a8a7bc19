"""Runs work in a thread of its own, for a thread that must not wait. Knows no file."""

from __future__ import annotations

import _thread
import asyncio
from contextlib import suppress
from typing import Callable, TypeVar

from .answer import Answer

T = TypeVar("T")


def start_work(work: Callable[[], T]) -> Answer[T]:
    """Do the work in a new thread. A disk may never answer, so nobody waits for this thread at the
    end, unlike the threads of a loop's executor. The answer fails with what the work raises."""
    answer: Answer[T] = Answer()

    def run_work() -> None:
        """The boundary of the thread: every exception goes to the caller."""
        try:
            found = work()
        except Exception as error:
            answer.fail(error)
        else:
            answer.give(found)

    try:
        # The start of a threading.Thread waits until the new thread runs. Beside another one that
        # computes, that would cost the editor's thread 10 ms and more.
        _thread.start_new_thread(run_work, ())
    except RuntimeError as error:
        # The system gives no thread.
        answer.fail(error)
    return answer


async def in_thread(work: Callable[[], T], seconds: float | None = None) -> T:
    """Work in a thread of its own while an asyncio loop goes on. Raises what the work raises, and
    asyncio.TimeoutError after `seconds`; the work itself continues."""
    return await await_answer(start_work(work), seconds)


async def await_answer(answer: Answer[T], seconds: float | None = None) -> T:
    """What any thread gives, for an asyncio loop. Raises what the answer failed with, and
    asyncio.TimeoutError after `seconds`."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def wake_loop() -> None:
        # If the loop is closed, nobody waits for the result.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(done.set)

    answer.when_there(wake_loop)
    await asyncio.wait_for(done.wait(), seconds)
    return answer.result()
