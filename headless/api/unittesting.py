"""The part of the UnitTesting package that tests import: cases whose steps run on the UI thread.

A test may be a generator. It yields a callable (polled until it is true; its value comes back), an
int (milliseconds), a dict {condition, period, timeout, timeout_message}, AWAIT_WORKER (one pass
through the worker and back), or anything else (one turn). Times are milliseconds.
"""

from __future__ import annotations

import inspect
import threading
import time
import unittest
from typing import Any, Callable, Dict, Optional

import sublime

from headless import running as _running

__all__ = [
    "AWAIT_WORKER",
    "DeferrableTestCase",
    "DeferrableViewTestCase",
    "TestCase",
    "ViewTestCase",
]

AWAIT_WORKER = "AWAIT_WORKER"
TIMEOUT = 4000  # as UnitTesting's setting condition_timeout has it
PERIOD = 17
TestCase = unittest.TestCase


class _Steps:
    """One function or generator on the UI thread, and the test's thread that waits for it."""

    def __init__(self, function: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self._function, self._args, self._kwargs = function, args, kwargs
        self._generator: Any = None
        self._done = threading.Event()
        self._error: Optional[BaseException] = None
        self._result: Any = None

    def run(self) -> Any:
        """Called from any thread but the UI one; raises what the function raised."""
        if _running.current().queues.ui.is_here():
            raise RuntimeError("deferred tests wait for the UI thread and cannot run on it")
        sublime.set_timeout(self._begin)
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._result

    def _begin(self) -> None:
        self._guarded(self._call)

    def _call(self) -> None:
        answer = self._function(*self._args, **self._kwargs)
        if inspect.isgenerator(answer):
            self._generator = answer
            self._advance(lambda: next(answer))
        else:
            self._finish(answer)

    def _guarded(self, step: Callable[[], None]) -> None:
        try:
            step()
        except BaseException as error:  # carried to the waiting thread, which raises it
            self._error = error
            self._done.set()

    def _finish(self, result: Any) -> None:
        self._result = result
        self._done.set()

    def _advance(self, step: Callable[[], Any]) -> None:
        try:
            wanted = step()
        except StopIteration as end:
            self._finish(end.value)
            return
        self._wait_for(wanted)

    def _send(self, value: Any = None) -> None:
        self._guarded(lambda: self._advance(lambda: self._generator.send(value)))

    def _throw(self, error: BaseException) -> None:
        self._guarded(lambda: self._advance(lambda: self._generator.throw(error)))

    def _wait_for(self, wanted: Any) -> None:
        if callable(wanted):
            self._poll({"condition": wanted}, time.monotonic())
        elif isinstance(wanted, dict) and "condition" in wanted:
            self._poll(wanted, time.monotonic())
        elif isinstance(wanted, int) and not isinstance(wanted, bool):
            sublime.set_timeout(self._send, wanted)
        elif wanted is AWAIT_WORKER:
            sublime.set_timeout_async(lambda: sublime.set_timeout(self._send))
        else:
            sublime.set_timeout(self._send)

    def _poll(self, wanted: Dict[str, Any], start: float) -> None:
        try:
            value = wanted["condition"]()
        except Exception as error:  # the test's own: raised where it yielded
            self._throw(error)
            return
        if value:
            self._send(value)
        elif (time.monotonic() - start) * 1000 >= wanted.get("timeout", TIMEOUT):
            message = wanted.get("timeout_message", "the condition did not come true in time")
            self._throw(TimeoutError(message))
        else:
            sublime.set_timeout(lambda: self._poll(wanted, start), wanted.get("period", PERIOD))


class DeferrableTestCase(unittest.TestCase):
    """Tests, setUp, tearDown and cleanups run on the UI thread and may be generators."""

    @classmethod
    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in ("setUpClass", "tearDownClass"):
            own = vars(cls).get(name)
            if isinstance(own, classmethod):
                setattr(cls, name, classmethod(_deferred(own.__func__)))

    def _callSetUp(self) -> None:
        _Steps(self.setUp, (), {}).run()

    def _callTestMethod(self, method: Callable[[], Any]) -> None:
        _Steps(method, (), {}).run()

    def _callTearDown(self) -> None:
        _Steps(self.tearDown, (), {}).run()

    def _callCleanup(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        _Steps(function, args, kwargs).run()


def _deferred(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        if _running.current().queues.ui.is_here():
            return function(*args, **kwargs)  # super() of a subclass's own, already deferred
        return _Steps(function, args, kwargs).run()

    return call


class DeferrableViewTestCase(DeferrableTestCase):
    """Each test has an empty scratch view of its own."""

    view_settings: Dict[str, Any] = {}

    def setUp(self) -> None:
        self.window = sublime.active_window()
        self.view = self.window.new_file()
        self.view.set_scratch(True)
        self.view.settings().update(self.view_settings)

    def tearDown(self) -> None:
        if self.view.is_valid():
            self.view.set_scratch(True)
            self.view.close()


ViewTestCase = DeferrableViewTestCase
