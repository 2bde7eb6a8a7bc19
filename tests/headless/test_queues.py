"""The two threads: order, delays, exceptions, calls across."""

from __future__ import annotations

import contextlib
import io
import threading
import unittest
from typing import Any

from headless.queues import Queue, QueueClosed

from .engine import EngineTestCase, wait_until


class Queues(unittest.TestCase):
    def setUp(self) -> None:
        self.queue = Queue("UI")
        self.thread = threading.Thread(target=self.queue.run, daemon=True)
        self.thread.start()
        self.addCleanup(self.queue.stop)
        wait_until(lambda: self.queue.thread is self.thread)

    def test_equal_delays_run_first_in_first_out(self) -> None:
        seen: list[int] = []
        for number in range(200):
            self.queue.post(lambda number=number: seen.append(number), 5)  # type: ignore[misc]
        wait_until(lambda: len(seen) == 200)
        self.assertEqual(seen, list(range(200)))

    def test_a_shorter_delay_overtakes_a_longer_one(self) -> None:
        seen: list[str] = []
        self.queue.post(lambda: seen.append("late"), 60)
        self.queue.post(lambda: seen.append("soon"), 1)
        wait_until(lambda: len(seen) == 2)
        self.assertEqual(seen, ["soon", "late"])

    def test_an_exception_is_printed_and_the_next_callback_runs(self) -> None:
        seen: list[int] = []
        output = io.StringIO()
        with contextlib.redirect_stderr(output):
            self.queue.post(lambda: 1 // 0)
            self.queue.post(lambda: seen.append(1))
            wait_until(lambda: seen)
        self.assertIn("ZeroDivisionError", output.getvalue())

    def test_a_call_waits_for_the_result_and_raises_what_was_raised(self) -> None:
        self.assertIs(self.queue.call(threading.current_thread), self.thread)
        with self.assertRaises(ZeroDivisionError):
            self.queue.call(lambda: 1 // 0)

    def test_a_call_to_a_stopped_thread_is_refused_instead_of_waiting(self) -> None:
        self.queue.stop()
        self.thread.join(5)
        with self.assertRaises(QueueClosed):
            self.queue.call(lambda: None)

    def test_a_call_that_waits_when_the_thread_stops_is_refused(self) -> None:
        gate, caught = threading.Event(), []  # type: ignore[var-annotated]
        self.queue.post(lambda: gate.wait(5))
        caller = threading.Thread(target=lambda: caught.append(self._refused()))
        caller.start()
        wait_until(lambda: self.queue._heap)
        self.queue.stop()
        gate.set()
        caller.join(5)
        self.assertEqual(caught, [True])

    def _refused(self) -> bool:
        try:
            self.queue.call(lambda: None)
        except QueueClosed:
            return True
        return False

    def test_the_longest_callback_is_known_and_slow_ones_are_reported(self) -> None:
        self.queue.limit = 0.01
        output = io.StringIO()
        with contextlib.redirect_stderr(output):
            self.queue.post(lambda: threading.Event().wait(0.03))
            wait_until(lambda: self.queue.slow)
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
        self.sublime.set_timeout_async(lambda: gate.wait(5))
        self.sublime.set_timeout_async(lambda: seen.append(1))
        done = threading.Event()
        self.sublime.set_timeout(done.set)
        self.assertTrue(done.wait(5))
        self.assertEqual(seen, [])
        gate.set()
        wait_until(lambda: seen)
