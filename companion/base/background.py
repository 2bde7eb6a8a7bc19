"""Runs work in another thread, for one that must not wait. Knows no file."""

from __future__ import annotations

import _thread
import asyncio
from collections import deque
from contextlib import suppress
from typing import Callable, TypeVar

from .answer import Answer

T = TypeVar("T")
# Seconds that a thread waits for more work before it ends, and how many do: to wake one is faster
# than to begin one.
IDLE, MAX_IDLE = 5.0, 4


class _KeptThread:
    """Does the work that it is begun with, and then what it is woken with."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work: Callable[[], None] | None = work
        self._has_more = _thread.allocate_lock()
        self._has_more.acquire()

    def wake(self, work: Callable[[], None]) -> None:
        """For whoever has taken it out of _IDLE_THREADS."""
        self._work = work
        self._has_more.release()

    def run(self) -> None:
        while self._work is not None:
            work, self._work = self._work, None
            work()
            # What the work has must not wait with the thread.
            del work
            if len(_IDLE_THREADS) < MAX_IDLE:
                _IDLE_THREADS.append(self)
                self._wait_for_more()

    def _wait_for_more(self) -> None:
        if not self._has_more.acquire(timeout=IDLE):
            try:
                _IDLE_THREADS.remove(self)
            except ValueError:
                # Somebody has taken it just now.
                self._has_more.acquire()


# Each is taken by one caller; the last one first, so that those that are not needed end.
_IDLE_THREADS: deque[_KeptThread] = deque()


def start_work(work: Callable[[], T]) -> Answer[T]:
    """Do the work in a thread that does nothing else meanwhile. A disk may never answer, so nobody
    waits for this thread at the end, unlike the threads of a loop's executor. The answer fails with
    what the work raises."""
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
        _run_in_thread(run_work)
    except RuntimeError as error:
        # The system gives no thread.
        answer.fail(error)
    return answer


def _run_in_thread(work: Callable[[], None]) -> None:
    """Raises RuntimeError."""
    try:
        thread = _IDLE_THREADS.pop()
    except IndexError:
        # The start of a threading.Thread waits until the new thread runs. Beside another one that
        # computes, that would cost the editor's thread 10 ms and more.
        _thread.start_new_thread(_KeptThread(work).run, ())
    else:
        thread.wake(work)


async def in_thread(work: Callable[[], T], seconds: float | None = None) -> T:
    """Work in another thread while an asyncio loop goes on. Raises what the work raises, and
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
