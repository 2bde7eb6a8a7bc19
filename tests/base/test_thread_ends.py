"""The end of a thread that another one has started."""

from __future__ import annotations

import threading
import unittest

from GeminiCompanion.companion.base.thread_ends import wait_for_end

from ..support import PATIENCE, wait_for


class SlowToStart(threading.Thread):
    """Python knows it, and it does not run until it `may_run`."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.may_run, self.may_end = threading.Event(), threading.Event()

    def _bootstrap(self) -> None:
        self.may_run.wait(PATIENCE)
        super()._bootstrap()  # type: ignore[misc]

    def run(self) -> None:
        self.may_end.wait(PATIENCE)


class ThreadEnds(unittest.TestCase):
    def setUp(self) -> None:
        self.thread = SlowToStart()
        # Who starts a thread waits until it runs.
        starter = threading.Thread(target=self.thread.start)
        starter.start()
        self.addCleanup(starter.join)
        self.addCleanup(self.thread.may_end.set)
        self.addCleanup(self.thread.may_run.set)
        wait_for(lambda: self.thread in threading.enumerate())

    def test_one_that_does_not_run_yet_is_waited_for(self) -> None:
        with self.assertRaises(RuntimeError):
            self.thread.join()
        waiting = threading.Thread(target=wait_for_end, args=(self.thread, PATIENCE))
        waiting.start()
        self.thread.may_run.set()
        wait_for(self.thread.is_alive)
        self.assertTrue(waiting.is_alive())
        self.thread.may_end.set()
        waiting.join(PATIENCE)
        self.assertFalse(waiting.is_alive() or self.thread.is_alive())

    def test_the_wait_ends_with_its_seconds_though_the_thread_goes_on(self) -> None:
        wait_for_end(self.thread, 0.01)
        self.thread.may_run.set()
        wait_for(self.thread.is_alive)
        wait_for_end(self.thread, 0.01)
        self.assertTrue(self.thread.is_alive())

    def test_one_that_has_ended_is_not_waited_for(self) -> None:
        self.thread.may_run.set()
        self.thread.may_end.set()
        wait_for(lambda: self.thread not in threading.enumerate())
        wait_for_end(self.thread, PATIENCE)
