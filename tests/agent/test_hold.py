"""One server's hold of a conversation, seen from the lock that other servers would take."""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
import threading
import unittest
from datetime import datetime, timezone
from typing import Any
from unittest import mock

from GeminiCompanion.companion.agent.conversations.hold import Hold
from GeminiCompanion.companion.agent.conversations.transcripts import TranscriptFile, Transcripts
from GeminiCompanion.companion.base.file_lock import FileLock

from ..support import PATIENCE, begun, until


class Holding(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        transcripts = Transcripts(os.path.join(temporary.name, "conversations"))
        self.addCleanup(transcripts.write_all)
        self.transcript = transcripts.file_of("a" * 32)
        self.transcript.begin_file(temporary.name, datetime.now(timezone.utc))
        self.transcript.write_now()
        self.read = 0
        self.hold = Hold(self.transcript, self.transcript.read_stat(), self.was_read)
        self.addCleanup(self.hold.release_lock)
        self.answers, self.done = threading.Event(), threading.Event()
        self.addCleanup(self.answers.set)

    def was_read(self, _: Any) -> None:
        self.read += 1

    def is_free(self) -> bool:
        lock = FileLock(self.transcript.lock)
        is_free = lock.acquire()
        lock.release()
        return is_free

    def slowly(self, kind: type, name: str) -> tuple[Any, threading.Event]:
        """A patch with which the method does its work once it `answers`, and says that it is
        `done`; and what says that it was called."""
        work, called = getattr(kind, name), threading.Event()

        def slow(owner: Any) -> Any:
            called.set()
            self.answers.wait(PATIENCE)
            try:
                return work(owner)
            finally:
                self.done.set()

        return mock.patch.object(kind, name, slow), called

    async def use(self) -> None:
        async with self.hold.exclusive_use():
            pass

    async def cancelled(self, task: asyncio.Future[None]) -> None:
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await asyncio.wait_for(task, PATIENCE)

    async def test_who_goes_while_others_hold_it_on_does_not_wait(self) -> None:
        held = self.hold.exclusive_use()
        await held.__aenter__()
        self.hold.keep_held()
        leaving = held.__aexit__(None, None, None)
        with self.assertRaises(StopIteration):
            leaving.__await__().__next__()
        self.assertTrue(self.hold.is_used)
        self.hold.give_soon()
        await until(lambda: not self.hold.is_used and not self.hold._tasks)
        self.assertTrue(self.is_free())

    async def test_it_is_let_go_where_the_client_leaves_while_it_is_taken(self) -> None:
        slow, called = self.slowly(FileLock, "acquire")
        with slow:
            task = asyncio.ensure_future(self.use())
            await until(called.is_set)
            await self.cancelled(task)
            self.answers.set()
            await until(self.done.is_set)
            await until(lambda: not self.hold._tasks)
        self.assertEqual((self.hold.is_used, self.is_free()), (False, True))

    async def test_who_comes_while_it_is_let_go_holds_it(self) -> None:
        lock = FileLock(self.transcript.lock)
        slow, called = self.slowly(FileLock, "release")
        with slow:
            first = asyncio.ensure_future(self.use())
            await until(called.is_set)
            await self.cancelled(first)
            held = self.hold.exclusive_use()
            entered = await begun(held.__aenter__())
            self.answers.set()
            await entered
            await until(self.done.is_set)
        self.assertFalse(lock.acquire())
        await held.__aexit__(None, None, None)
        self.assertTrue(self.is_free())

    async def test_what_is_told_while_it_is_let_go_is_written_while_it_is_held_again(self) -> None:
        slow, called = self.slowly(TranscriptFile, "write_now")
        free = []

        def work() -> None:
            free.append(self.is_free())
            self.transcript.add_change(title="another")

        with slow:
            task = asyncio.ensure_future(self.use())
            await until(called.is_set)
            self.hold.run_while_held(work)
            self.assertEqual(free, [])
            self.answers.set()
            await task
            await until(lambda: not self.hold._tasks)
        self.assertEqual((free, self.read, self.is_free()), ([False], 0, True))
        # What this server has written itself does not count as the work of others.
        await self.use()
        self.assertEqual(self.read, 0)

    async def test_all_is_done_that_is_told_one_after_the_other(self) -> None:
        done = []

        def tell(title: str) -> None:
            def work() -> None:
                self.transcript.add_change(title=title)
                done.append(title)

            self.hold.run_while_held(work)

        tell("first")
        slow, called = self.slowly(TranscriptFile, "write_now")
        with slow:
            await until(called.is_set)
            tell("second")
            self.answers.set()
            await until(lambda: not self.hold._tasks)
        self.assertEqual(done, ["first", "second"])

    async def test_what_was_told_before_another_server_went_on_does_not_count(self) -> None:
        await self.use()
        with open(self.transcript.path, "ab") as file:
            file.write(b'{"type": "change", "title": "theirs"}\n')
        done: list[bool] = []
        self.hold.run_while_held(lambda: done.append(True))
        await until(lambda: not self.hold._tasks)
        self.assertEqual((done, self.read), ([], 1))

    async def test_after_another_servers_half_line_ours_is_a_line_of_its_own(self) -> None:
        await self.use()
        with open(self.transcript.path, "ab") as file:
            file.write(b'{"type": "change", "tit')
        async with self.hold.exclusive_use():
            self.transcript.add_change(title="another")
        with open(self.transcript.path, "rb") as file:
            last = json.loads(file.readlines()[-1])
        self.assertEqual(last["title"], "another")
