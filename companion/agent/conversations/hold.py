"""Which server has a conversation: several servers may use one folder, also on several machines.

A server holds the conversation while it changes it, above all during a turn. In between another one
may go on with it; whoever takes it then reads the transcript again if that has changed."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import Any, AsyncIterator, Callable, Coroutine

from ...base.background import in_thread
from ...base.file_lock import FileLock
from ...base.log import logger
from .. import failure
from ..failure import AgentError
from .transcript_reader import ConversationSummary
from .transcripts import NO_FILE, Stat, TranscriptFile, on_disk

# Seconds that another server has to give a conversation on: its client hears the end of a turn a
# moment before that is written. And seconds between two attempts.
GIVING_ON, PAUSE = 1.0, 0.02


class Hold:
    """This server's hold of the conversation with this transcript, which is known as it was
    `seen`; None if it has to be read. `on_change` gets the summary of a transcript that has changed
    since it was known."""

    def __init__(
        self,
        transcript: TranscriptFile,
        seen: Stat | None,
        on_change: Callable[[ConversationSummary], None],
    ) -> None:
        self._lock = FileLock(transcript.lock)
        self._transcript = transcript
        self._on_change = on_change
        self._users = 0
        self._is_known = False
        self._seen = seen
        # How often it had to be read, because others have changed it.
        self._readings = 0
        # Held while the lock is taken or given back.
        self._changing = asyncio.Lock()
        self._tasks: set[asyncio.Future[None]] = set()

    @property
    def is_used(self) -> bool:
        """Whether this server holds it."""
        return bool(self._users) or self._lock.is_held

    def knows_state(self, stat: Stat) -> bool:
        """Whether what is known is that of a transcript with this stat, or this server's own."""
        return self.is_used or self._seen == stat

    @asynccontextmanager
    async def exclusive_use(self) -> AsyncIterator[None]:
        """Nobody else changes the conversation meanwhile. Raises AgentError: SESSION_ELSEWHERE if
        another server has it, SESSION_NOT_FOUND if another one has deleted it."""
        taking = self._begin_task(self._enter_use())
        try:
            # Both to the end if the request is cancelled, for a thread works with the lock.
            await asyncio.shield(taking)
        except asyncio.CancelledError:
            self._begin_task(self._give_after(taking))
            raise
        try:
            yield
        finally:
            self._users -= 1
            # Where somebody holds it on, at once: a request that is cancelled while it waits would
            # not tell of the turn that it has begun.
            if not self._users:
                await asyncio.shield(self._begin_task(self._give_unused()))

    def keep_held(self) -> None:
        """Hold it on, until `give_soon`; only while it is held."""
        self._users += 1

    def give_soon(self) -> None:
        self._begin_task(self._give_use())

    def write_again(self) -> None:
        """Write what the disk has refused, soon; then it is given back if nobody holds it on."""
        if self._is_known and not self._users:
            self._begin_task(self._give_unused())
        elif self._transcript.is_waiting:
            self._transcript.write_soon()

    def run_while_held(self, work: Callable[[], None]) -> None:
        """Do the work while it is held, now or soon; not if another server has gone on."""
        if self._is_known:
            work()
        else:
            self._begin_task(self._held_for(work))

    async def refresh(self) -> None:
        """Read the transcript again if another server has changed it. Raises AgentError as
        `exclusive_use`, but not if another server has it."""
        async with self._changing:
            if not self._is_known:
                await self._read_changes()

    def release_lock(self) -> None:
        """Blocks; for any thread, once nothing of it is used any more."""
        if self._lock.is_held and not os.path.exists(self._transcript.path):
            self._lock.remove_file()
        self._lock.release()

    def _begin_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Future[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _held_for(self, work: Callable[[], None]) -> None:
        readings = self._readings
        try:
            async with self.exclusive_use():
                if self._readings == readings:
                    work()
        except AgentError as error:
            logger.info("what an agent told between two turns does not count: %s", error)

    async def _enter_use(self) -> None:
        """Raises AgentError."""
        async with self._changing:
            if not self._is_known:
                await self._take_lock()
            self._users += 1

    async def _take_lock(self) -> None:
        """Raises AgentError."""
        ends = monotonic() + GIVING_ON
        while not await on_disk(self._lock.acquire):
            if monotonic() > ends:
                raise failure.session_elsewhere()
            await asyncio.sleep(PAUSE)
        try:
            await self._read_changes()
            self._is_known = True
        finally:
            if not self._is_known:
                await in_thread(self._lock.release)

    async def _read_changes(self) -> None:
        stat = await on_disk(self._transcript.read_stat)
        if stat == self._seen:
            return
        summary = await on_disk(self._transcript.reader.read_summary) if stat != NO_FILE else None
        if summary is None:
            raise failure.no_session(self._transcript.id)
        self._seen = stat
        self._readings += 1
        self._transcript.go_on_after_others()
        self._on_change(summary)

    async def _give_after(self, taking: asyncio.Future[None]) -> None:
        with suppress(AgentError):
            await taking
            await self._give_use()

    async def _give_use(self) -> None:
        self._users -= 1
        await self._give_unused()

    async def _give_unused(self) -> None:
        async with self._changing:
            if self._users or not self._is_known:
                return
            # Already now: what is told from here on would be written after the others' lines.
            self._is_known = False
            try:
                self._is_known = not await in_thread(self._write_and_release)
            except OSError as error:
                logger.warning("a conversation is not given on: %s", error)

    def _write_and_release(self) -> bool:
        """Whether others can go on. What the disk refuses is not given on: its lines would come
        behind those of others. Raises OSError."""
        self._transcript.write_now()
        if self._transcript.is_waiting:
            return False
        # If that fails, it is read again.
        self._seen = None
        with suppress(OSError):
            self._seen = self._transcript.read_stat()
        self.release_lock()
        return True
