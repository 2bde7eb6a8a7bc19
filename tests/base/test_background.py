"""Work in a thread: its outcome comes back, in time or not at all, and nobody waits at the end."""

from __future__ import annotations

import asyncio
import threading
import unittest
from unittest import mock

from GeminiCompanion.companion.base.background import in_thread, start_work

from ..support import until, wait_for


class InThread(unittest.TestCase):
    def setUp(self) -> None:
        self.answered = threading.Event()
        self.addCleanup(self.answered.set)

    def test_the_work_is_done_in_another_thread_and_gives_its_result(self) -> None:
        found = asyncio.run(in_thread(threading.get_ident))
        self.assertNotEqual(found, threading.get_ident())

    def test_the_caller_does_not_wait_until_the_thread_runs(self) -> None:
        with mock.patch("_thread.start_new_thread") as begun:
            answer = start_work(lambda: 1)
        self.assertFalse(answer.is_there)
        begun.call_args[0][0]()
        self.assertEqual(answer.result(), 1)

    def test_what_the_work_raises_is_raised(self) -> None:
        with self.assertRaises(ZeroDivisionError):
            asyncio.run(in_thread(lambda: 1 // 0))

    def test_without_a_thread_the_answer_fails(self) -> None:
        refused = RuntimeError("can't start new thread")
        with mock.patch("_thread.start_new_thread", side_effect=refused):
            answer = start_work(lambda: 1)
        with self.assertRaises(RuntimeError):
            answer.result()

    def test_work_that_never_ends_is_given_up_in_time(self) -> None:
        with self.assertRaises(asyncio.TimeoutError):
            asyncio.run(in_thread(self.answered.wait, 0.01))

    def test_a_loop_ends_without_work_that_never_does(self) -> None:
        begun, ended = threading.Event(), threading.Event()

        def work() -> None:
            begun.set()
            self.answered.wait()
            ended.set()

        async def leave() -> None:
            asyncio.ensure_future(in_thread(work))
            await until(begun.is_set)

        asyncio.run(asyncio.wait_for(leave(), 20))
        self.assertFalse(ended.is_set())
        self.answered.set()
        wait_for(ended.is_set)
