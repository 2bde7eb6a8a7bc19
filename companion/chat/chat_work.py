"""What goes on for an open chat: its tasks, and the messages on their way. Belongs to the engine's
loop."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import Any, AsyncIterator, Callable, Coroutine

from ..agent.failure import INTERNAL_ERROR, NOT_SENT, AgentError
from ..base.log import logger
from . import problems


class Tasks:
    """The tasks of one chat. `failed` gets the sentence and the code of what fails in one."""

    def __init__(self, failed: Callable[[str, str], None]) -> None:
        self._failed = failed
        self._running: set[asyncio.Future[None]] = set()

    def begin_task(self, work: Callable[[], Coroutine[Any, Any, object]]) -> asyncio.Future[None]:
        task = asyncio.ensure_future(self._attempt_work(work))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def end_all(self) -> None:
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running)

    async def _attempt_work(self, work: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """The boundary of an open chat: what fails in it is told in it."""
        try:
            await work()
        except AgentError as error:
            self._failed(problems.problem_sentence(error), error.code)
        except Exception:
            logger.exception("an open chat failed")
            self._failed(problems.BROKEN, INTERNAL_ERROR)


class MessagesUnderWay:
    """The messages of one chat on their way: the agent may have to be started for them. `on_change`
    is called when there are others."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self._count = 0
        # How often the user has stopped them.
        self._stops = 0
        self._none = asyncio.Event()
        self._none.set()

    def __bool__(self) -> bool:
        return bool(self._count)

    def stop_messages(self) -> None:
        """Stop the messages that are on their way: they are not to be sent."""
        self._stops += 1

    async def wait_until_none(self) -> None:
        """Until none is on its way."""
        await self._none.wait()

    @asynccontextmanager
    async def send_one(self) -> AsyncIterator[Callable[[], None]]:
        """One is on its way within the block. Gives what raises AgentError once it is stopped."""
        self._count += 1
        self._none.clear()
        self._on_change()
        before = self._stops

        def check_stopped() -> None:
            if self._stops != before:
                raise AgentError(NOT_SENT, problems.NOT_SENT_YET)

        try:
            yield check_stopped
        finally:
            self._count -= 1
            if not self._count:
                self._none.set()
            self._on_change()
