"""Opens sessions of a CLI one after the other: all processes of a home, also those of other servers
with the same folder, write to the same files of the CLI then."""

from __future__ import annotations

import asyncio
from functools import partial

from ...base.background import in_thread
from ...base.file_lock import FileLock
from ...base.log import logger

# Seconds to wait for other servers; a session is opened within a minute.
WAITING = 60.0


class HomeLock:
    """`async with` it. `path` is that of a file beside the home."""

    def __init__(self, path: str) -> None:
        self._lock = FileLock(path)
        # Of this server's conversations.
        self._here = asyncio.Lock()

    async def __aenter__(self) -> None:
        await self._here.acquire()
        taking = asyncio.ensure_future(in_thread(partial(self._lock.wait_for_lock, WAITING)))
        is_over = False
        try:
            await asyncio.shield(taking)
            is_over = True
        except OSError as error:
            # The CLI has a lock of its own; it only waits for it too shortly.
            logger.warning("a session is opened beside those of other servers: %s", error)
            is_over = True
        finally:
            if not is_over:
                # Nobody waits any more, and the thread may still take it.
                self._leaving = asyncio.ensure_future(self._leave_later(taking))

    async def __aexit__(self, *_: object) -> None:
        try:
            await in_thread(self._lock.release)
        finally:
            self._here.release()

    async def _leave_later(self, taking: asyncio.Future[None]) -> None:
        await asyncio.wait([taking])
        await self.__aexit__()
