"""The lines of work of a plugin host, UI thread and worker; knows nothing of what they run."""

from __future__ import annotations

import heapq
import sys
import threading
import time
import traceback
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple, TypeVar

T = TypeVar("T")


class QueueClosed(RuntimeError):
    """Asked to run something on a thread that has already stopped."""


class Slow(NamedTuple):
    """A callback that held its thread longer than the limit; seconds."""

    seconds: float
    what: str


class Queue:
    """Callbacks for one thread, first in first out for equal delays; nothing can be cancelled.

    `longest` is the longest time one callback held the thread, in seconds, and `longest_of` says
    which. Callbacks above `limit` seconds are collected in `slow` and reported on stderr.
    """

    def __init__(self, name: str, limit: Optional[float] = None) -> None:
        self.name = name
        self.limit = limit
        self.thread: Optional[threading.Thread] = None
        self.reset_statistics()
        self._heap: List[Tuple[float, int, Callable[[], object]]] = []
        self._count = 0
        self._wake = threading.Condition()
        self._stopped = False

    def reset_statistics(self) -> None:
        self.longest = 0.0
        self.longest_of = ""
        self.slow: List[Slow] = []

    def post(self, callback: Callable[[], object], delay: float = 0) -> None:
        """Run callback after `delay` milliseconds; from any thread, never blocks."""
        with self._wake:
            # The deadline is taken under the lock: equal delays must keep their order.
            self._count += 1
            due = time.monotonic() + max(0, delay) / 1000
            heapq.heappush(self._heap, (due, self._count, callback))
            self._wake.notify()

    def call(self, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Run function on the queue's thread and wait for its result or exception.

        On the thread itself it runs at once. Raises QueueClosed where the thread has stopped.
        """
        if self.is_here():
            return function(*args, **kwargs)
        job = _Job(lambda: function(*args, **kwargs))
        with self._wake:
            if self._stopped:
                raise QueueClosed("the %s thread has stopped" % self.name)
            self._count += 1
            entry: Tuple[float, int, Callable[[], object]] = (time.monotonic(), self._count, job)
            heapq.heappush(self._heap, entry)
            self._wake.notify()
        return job.result()  # type: ignore[no-any-return]

    def is_here(self) -> bool:
        return threading.current_thread() is self.thread

    def run(self) -> None:
        """Serve the queue on the calling thread until `stop`."""
        self.thread = threading.current_thread()
        while True:
            callback = self._next()
            if callback is None:
                return
            self.run_one(callback)

    def stop(self) -> None:
        """Let `run` return after the present callback; what is left never runs."""
        with self._wake:
            self._stopped = True
            left = [entry[2] for entry in self._heap]
            self._heap.clear()
            self._wake.notify()
        for callback in left:
            if isinstance(callback, _Job):
                callback.refuse(QueueClosed("the %s thread has stopped" % self.name))

    def _next(self) -> Optional[Callable[[], object]]:
        with self._wake:
            while not self._stopped:
                wait = self._heap[0][0] - time.monotonic() if self._heap else None
                if wait is not None and wait <= 0:
                    return heapq.heappop(self._heap)[2]
                self._wake.wait(wait)
        return None

    def run_one(self, callback: Callable[[], object]) -> None:
        """Run a callback here and now; its exception is printed, never raised."""
        start = time.perf_counter()
        try:
            callback()
        except Exception:  # the boundary of plugin code: printed, as the editor does
            traceback.print_exc()
        self._measure(callback, time.perf_counter() - start)

    def _measure(self, callback: Callable[[], object], seconds: float) -> None:
        if seconds > self.longest:
            self.longest, self.longest_of = seconds, _name(callback)
        if self.limit is not None and seconds > self.limit:
            self.slow.append(Slow(seconds, _name(callback)))
            sys.stderr.write(
                "headless: %s held the %s thread for %.0f ms\n"
                % (_name(callback), self.name, seconds * 1000)
            )


class _Job:
    """A function on its way to another thread, and its answer on the way back."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function
        self._done = threading.Event()
        self._answer: Dict[str, Any] = {}

    def __call__(self) -> None:
        try:
            self._answer["result"] = self.function()
        except BaseException as error:  # handed to the waiting thread, which raises it
            self._answer["error"] = error
        self._done.set()

    def refuse(self, error: Exception) -> None:
        self._answer["error"] = error
        self._done.set()

    def result(self) -> Any:
        self._done.wait()
        if "error" in self._answer:
            raise self._answer["error"]
        return self._answer["result"]


def _name(callback: Callable[[], object]) -> str:
    if isinstance(callback, _Job):
        return _name(callback.function)
    function = getattr(callback, "func", callback)
    module = getattr(function, "__module__", "") or ""
    return "%s.%s" % (module, getattr(function, "__qualname__", repr(function)))


class Queues:
    """The UI thread, the worker that all packages share, and the editor's own file reader."""

    def __init__(self, limit: Optional[float] = None) -> None:
        self.ui = Queue("UI", limit)
        self.worker = Queue("worker")
        self.files = Queue("files")

    def start_background(self) -> None:
        for queue in (self.worker, self.files):
            queue.thread = threading.Thread(target=queue.run, name=queue.name, daemon=True)
            queue.thread.start()

    def stop(self) -> None:
        for queue in (self.ui, self.worker, self.files):
            queue.stop()
