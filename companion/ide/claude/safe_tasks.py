"""The work that goes on beside the messages of one Claude Code."""

from __future__ import annotations

import asyncio
from typing import Awaitable, Callable

from ...base.log import logger
from ..clis import CLAUDE_CODE


class SafeTasks:
    """The tasks of one connection; what they raise ends nothing but themselves."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._tasks)

    def begin(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do the work, which ends by itself."""
        task = asyncio.ensure_future(run_safely(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def run_safely(work: Callable[[], Awaitable[None]]) -> None:
    """The boundary of all that is done for the CLI beside its requests."""
    try:
        await work()
    except ConnectionError:
        logger.debug("%s has left", CLAUDE_CODE.name)
    except Exception:
        logger.exception("work for Claude Code failed")
