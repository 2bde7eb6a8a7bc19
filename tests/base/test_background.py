"""Work in a thread: its outcome comes back, in time or not at all, and nobody waits at the end."""

from __future__ import annotations

import asyncio
import threading
import unittest
from unittest import mock

from GeminiCompanion.companion.base.background import in_thread, start

from ..support import until, wait_for


def at_work() -> list[threading.Thread]:
    return [it for it in threading.enumerate() if it.name == "GeminiCompanion work"]


class InThread(unittest.TestCase):
    def setUp(self) -> None:
        self.answered = threading.Event()
        self.addCleanup(wait_for, lambda: not at_work())
        self.addCleanup(self.answered.set)

    def test_the_work_is_done_in_another_thread_and_gives_its_result(self) -> None:
        found = asyncio.run(in_thread(threading.current_thread))
        self.assertIsNot(found, threading.current_thread())
        self.assertTrue(found.daemon)

    def test_the_work_begins_only_when_the_caller_has_its_thread_back(self) -> None:
        begun = threading.Event()
        seen: list[bool] = []
        begin = threading.Thread.start

        def watched(thread: threading.Thread) -> None:
            begin(thread)
            seen.append(begun.wait(0.05))

        with mock.patch.object(threading.Thread, "start", watched):
            answer = start(begun.set)
        self.assertEqual(seen, [False])
        wait_for(lambda: answer.is_there)
        self.assertTrue(begun.is_set())

    def test_what_the_work_raises_is_raised(self) -> None:
        with self.assertRaises(ZeroDivisionError):
            asyncio.run(in_thread(lambda: 1 // 0))

    def test_work_that_never_ends_is_given_up_in_time(self) -> None:
        with self.assertRaises(asyncio.TimeoutError):
            asyncio.run(in_thread(self.answered.wait, 0.01))

    def test_a_loop_ends_without_work_that_never_does(self) -> None:
        async def leave() -> None:
            asyncio.ensure_future(in_thread(self.answered.wait))
            await until(at_work)

        asyncio.run(asyncio.wait_for(leave(), 20))
        self.assertEqual(len(at_work()), 1)
