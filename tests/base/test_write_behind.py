"""Work that is done by a thread of its own: in its order, and after that of an older load."""

from __future__ import annotations

import threading
import unittest
from typing import Callable
from unittest import mock

from GeminiCompanion.companion.base import write_behind
from GeminiCompanion.companion.base.log import logger
from GeminiCompanion.companion.base.write_behind import WriteBehind


class Order(unittest.TestCase):
    @mock.patch.object(write_behind, "LINGERING", 0.05)
    def test_one_begins_when_the_thread_of_another_of_its_name_has_ended(self) -> None:
        done: list[str] = []
        may_go_on, is_held = threading.Event(), threading.Event()

        def slow() -> None:
            is_held.set()
            may_go_on.wait()
            done.append("older")

        older, newer = WriteBehind("test of order"), WriteBehind("test of order")
        older.do_soon(slow)
        is_held.wait()
        newer.do_soon(lambda: done.append("newer"))
        other = WriteBehind("test of another")
        other.do_soon(lambda: done.append("other"))
        other.finish()
        self.assertEqual(done, ["other"])
        may_go_on.set()
        newer.finish()
        self.assertEqual(done, ["other", "older", "newer"])

    def test_what_is_asked_for_again_before_it_began_is_done_once(self) -> None:
        done: list[int] = []
        may_go_on = threading.Event()
        writer = WriteBehind()
        writer.do_soon(may_go_on.wait)  # type: ignore[arg-type]
        work = [lambda number=number: done.append(number) for number in range(2)]
        for number in (0, 1, 0, 1):
            writer.do_soon(work[number])  # type: ignore[arg-type]
        may_go_on.set()
        writer.finish()
        self.assertEqual(done, [0, 1])

    def test_the_end_waits_for_the_last_piece_which_nothing_follows(self) -> None:
        done: list[str] = []
        began, may_go_on = threading.Event(), threading.Event()

        def slow() -> None:
            began.set()
            may_go_on.wait()
            done.append("slow")

        wait_for = threading.Condition.wait_for

        def wait(
            condition: threading.Condition, is_over: Callable[[], bool], *limit: float
        ) -> bool:
            if is_over():
                done.append("the end")
            may_go_on.set()
            return wait_for(condition, is_over, *limit)

        writer = WriteBehind()
        writer.do_soon(slow)
        began.wait()
        with mock.patch.object(threading.Condition, "wait_for", wait):
            writer.finish()
        self.assertEqual(done, ["slow"])


class WithoutThreads(unittest.TestCase):
    def test_work_for_which_the_system_gives_no_thread_is_done_with_the_next(self) -> None:
        writer = WriteBehind()
        done: list[int] = []
        refused = mock.patch.object(threading.Thread, "start", side_effect=RuntimeError("no more"))
        with refused, self.assertLogs(logger, "ERROR"):
            writer.do_soon(lambda: done.append(1))
            # Nobody waits for a thread that there is not.
            writer.finish()
        self.assertEqual(done, [])
        writer.do_soon(lambda: done.append(2))
        writer.finish()
        self.assertEqual(done, [1, 2])
