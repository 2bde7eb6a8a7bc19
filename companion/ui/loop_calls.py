"""What the companion's loop wants done on the UI thread: the crossing, and its end."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import Callable, TypeVar

from ..base.log import logger
from ..ide.editor import EditorError
from . import queues

T = TypeVar("T")


class LoopCalls:
    """The calls of one companion's loop, until `stop`."""

    def __init__(self) -> None:
        self.is_stopped = False

    def stop(self) -> None:
        """Ends all work: from now on nothing is done. Called on the UI thread, so that no work runs
        meanwhile."""
        self.is_stopped = True

    def run(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """Run `work` on the UI thread; the loop awaits the result. Raises what it raises as
        EditorError. Not run if nobody waits any more.

        The UI thread never waits for the loop, which may have ended.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def run_work() -> None:
            if future.done() or self.is_stopped:
                return
            settle = _work_outcome(work, future)
            # If the loop is closed, nobody waits.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(lambda: None if future.done() else settle())

        queues.on_ui_thread(run_work)
        return future

    def post(self, work: Callable[[], None]) -> None:
        """Run `work` on the UI thread; nobody awaits it."""
        # While the editor quits, the UI thread does not answer.
        if not self.is_stopped:
            queues.on_ui_thread(lambda: None if self.is_stopped else work())


def _work_outcome(work: Callable[[], T], future: asyncio.Future[T]) -> Callable[[], None]:
    """The boundary of UI callbacks: a failure becomes the answer and a line in the log. Gives the
    function that settles the future, to be called in its loop."""
    try:
        return partial(future.set_result, work())
    except EditorError as error:
        return partial(future.set_exception, error)
    except Exception:
        logger.exception("the editor failed")
        sorry = EditorError("The editor failed; the log of Gemini Companion has more.")
        return partial(future.set_exception, sorry)
