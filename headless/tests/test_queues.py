"""The two threads: order, delays, exceptions, calls across."""

from __future__ import annotations

import contextlib
import io
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from headless.queues import Queue, QueueClosed

from .engine import PATIENCE, EngineTestCase, wait_until


class Queues(unittest.TestCase):
    def setUp(self) -> None:
        self.queue = Queue("UI")
        self.thread = threading.Thread(target=self.queue.run, daemon=True)
        self.thread.start()
        self.addCleanup(self.queue.stop)
        wait_until(lambda: self.queue.thread is self.thread)

    def test_equal_delays_run_first_in_first_out_and_shorter_ones_overtake(self) -> None:
        seen: list[int] = []
        self.queue.post(lambda: seen.append(200), 60)
        for number in range(200):
            self.queue.post(partial(seen.append, number), 5)
        wait_until(lambda: len(seen) == 201)
        self.assertEqual(seen, list(range(201)))

    def test_an_exception_is_printed_and_the_next_callback_runs(self) -> None:
        seen: list[int] = []
        with contextlib.redirect_stderr(io.StringIO()) as output:
            self.queue.post(lambda: 1 // 0)
            self.queue.post(lambda: seen.append(1))
            wait_until(lambda: seen)
        self.assertIn("ZeroDivisionError", output.getvalue())

    def test_a_call_waits_for_the_result_and_raises_what_was_raised(self) -> None:
        self.assertIs(self.queue.call(threading.current_thread), self.thread)
        with self.assertRaises(ZeroDivisionError):
            self.queue.call(lambda: 1 // 0)

    def test_a_call_that_waits_when_the_thread_stops_or_comes_later_is_refused(self) -> None:
        gate = threading.Event()
        self.queue.post(lambda: gate.wait(PATIENCE))
        with ThreadPoolExecutor(1) as pool:
            caller = pool.submit(self.queue.call, lambda: None)
            wait_until(lambda: self.queue._heap)
            self.queue.stop()
            gate.set()
            self.assertIsInstance(caller.exception(PATIENCE), QueueClosed)
        self.thread.join(PATIENCE)
        self.assertRaises(QueueClosed, self.queue.call, lambda: None)

    def test_the_longest_callback_is_known_and_slow_ones_are_reported(self) -> None:
        self.queue.limit = 0.01
        with contextlib.redirect_stderr(io.StringIO()) as output:
            self.queue.post(lambda: threading.Event().wait(0.03))
            wait_until(output.getvalue)
        self.assertEqual(len(self.queue.slow), 1)
        self.assertGreaterEqual(self.queue.longest, 0.02)
        self.assertIn("held the UI thread", output.getvalue())


class Threads(EngineTestCase):
    def test_set_timeout_runs_on_the_ui_thread_and_its_async_twin_on_the_worker(self) -> None:
        seen: list[Any] = []
        self.sublime.set_timeout(lambda: seen.append(threading.current_thread().name))
        self.settle()
        self.sublime.set_timeout_async(lambda: seen.append(threading.current_thread().name))
        self.settle()
        self.assertEqual(seen, ["UI", "worker"])

    def test_a_blocked_worker_stops_the_async_events_of_everybody(self) -> None:
        gate, seen = threading.Event(), []  # type: ignore[var-annotated]
        self.sublime.set_timeout_async(lambda: gate.wait(PATIENCE))
        self.sublime.set_timeout_async(lambda: seen.append(1))
        done = threading.Event()
        self.sublime.set_timeout(done.set)
        self.assertTrue(done.wait(PATIENCE))
        self.assertEqual(seen, [])
        gate.set()
        wait_until(lambda: seen)
