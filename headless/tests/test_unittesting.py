"""Deferred test cases, seen from a script: what a step may yield and how a test fails."""

from __future__ import annotations

import contextlib
import io
import threading
import unittest
from typing import Any

from .engine import EngineTestCase


class Deferred(EngineTestCase):
    def run_case(self, body: Any, **more: Any) -> unittest.TestResult:
        from unittesting import DeferrableTestCase  # type: ignore[import-not-found]

        case = type("Case", (DeferrableTestCase,), {"test_body": body, **more})
        result = unittest.TestResult()
        case("test_body").run(result)
        return result

    def test_generators_and_plain_methods_run_on_the_ui_thread(self) -> None:
        seen = []

        def note(case: Any) -> None:
            seen.append(threading.current_thread().name)

        def body(case: Any) -> Any:
            note(case)
            yield
            note(case)

        result = self.run_case(body, setUp=note)
        self.assertTrue(result.wasSuccessful(), result.errors)
        self.assertEqual(seen, ["UI", "UI", "UI"])

    def test_a_step_waits_for_conditions_milliseconds_and_the_worker(self) -> None:
        from unittesting import AWAIT_WORKER

        sublime, seen = self.sublime, []

        def body(case: Any) -> Any:
            sublime.set_timeout(lambda: seen.append("later"), 30)
            value = yield lambda: seen and "value"
            seen.append(value)
            sublime.set_timeout_async(lambda: seen.append("worker"))
            yield AWAIT_WORKER
            yield 1
            yield {"condition": lambda: len(seen) == 3, "period": 1}

        result = self.run_case(body)
        self.assertTrue(result.wasSuccessful(), result.errors)
        self.assertEqual(seen, ["later", "value", "worker"])

    def test_a_condition_that_never_comes_is_a_timeout_inside_the_test(self) -> None:
        caught = []

        def body(case: Any) -> Any:
            try:
                yield {"condition": lambda: False, "timeout": 20, "timeout_message": "too late"}
            except TimeoutError as error:
                caught.append(str(error))

        self.assertTrue(self.run_case(body).wasSuccessful())
        self.assertEqual(caught, ["too late"])

    def test_a_failure_after_a_yield_fails_the_test(self) -> None:
        def body(case: Any) -> Any:
            yield
            case.assertEqual(1, 2)

        result = self.run_case(body)
        self.assertEqual((len(result.failures), result.errors), (1, []))

    def test_a_generator_may_tear_down_and_clean_up(self) -> None:
        seen = []

        def later(name: str) -> Any:
            yield
            seen.append(name)

        def body(case: Any) -> None:
            case.addCleanup(later, "cleanup")

        with contextlib.redirect_stderr(io.StringIO()):
            result = self.run_case(body, tearDown=lambda case: later("tear down"))
        self.assertTrue(result.wasSuccessful(), result.errors)
        self.assertEqual(seen, ["tear down", "cleanup"])
