"""One asyncio loop on a virtual clock: time jumps to the next timer; processes can be killed."""

from __future__ import annotations

import asyncio
import contextvars
import time
from functools import partial
from typing import Any, Callable

# Which simulated process a piece of code belongs to; a killed one never runs again.
PROCESS: contextvars.ContextVar[int] = contextvars.ContextVar("process", default=0)
# Steps of the loop after which a run counts as one that never ends.
MAX_STEPS = 200_000
# Seconds that a step of the loop takes.
STEP = 1e-6


class Killed(BaseException):
    """Raised inside of a process at the operation in which it was killed."""


class Endless(Exception):
    """The loop has nothing left to wait for, or never comes to rest."""


# It works with what the standard loop keeps to itself.
_BaseLoop: Any = asyncio.BaseEventLoop


class VirtualLoop(_BaseLoop):  # type: ignore[misc]
    """`now` is the monotonic time in seconds. `delay` gives how long work in a thread takes."""

    def __init__(self, delay: Callable[[], float]) -> None:
        super().__init__()
        self.now = 1000.0
        # Seconds by which somebody has set the clock on the wall ahead.
        self.ahead = 0.0
        self.dead: set[int] = set()
        self.errors: list[str] = []
        self.tasks: list[asyncio.Task[Any]] = []
        self._delay = delay
        self._steps = 0
        # When the last of what other threads handed over arrives.
        self._crossed = 0.0
        self._busy = 0.0
        self._selector = self
        self._clock_resolution = 1e-6
        self.set_debug(False)

    # ----- what a loop with sockets would do with its selector

    def time(self) -> float:
        return self.now

    def select(self, timeout: float | None) -> tuple[()]:
        self._steps += 1
        if timeout is None or self._steps > MAX_STEPS:
            raise Endless("nothing happens any more" if timeout is None else "no end in sight")
        # Every step takes a moment, or a timer that is set to a rest of nothing would never come.
        self.now += max(timeout, 0.0) + STEP + self._busy
        self._busy = 0.0
        return ()

    def hold_up(self, seconds: float) -> None:
        """The next step takes so long: all that happens meanwhile is met at once after it."""
        self._busy = seconds

    def _process_events(self, events: object) -> None:
        pass

    def _write_to_self(self) -> None:
        pass

    # ----- processes

    def call_soon(self, callback: Any, *args: Any, context: Any = None) -> Any:
        handle = super().call_soon(callback, *args, context=context)
        if self.dead and handle._context.get(PROCESS, 0) in self.dead:
            handle.cancel()
        return handle

    def call_soon_threadsafe(self, callback: Any, *args: Any, context: Any = None) -> Any:
        """What another thread hands over: in its order, and in its own time."""
        self._crossed = max(self.now + self._delay(), self._crossed + STEP)
        return self.call_at(self._crossed, callback, *args, context=context)

    def call_at(self, when: float, callback: Any, *args: Any, context: Any = None) -> Any:
        handle = super().call_at(when, callback, *args, context=context)
        if self.dead and handle._context.get(PROCESS, 0) in self.dead:
            handle.cancel()
        return handle

    def create_task(self, coro: Any, **options: Any) -> Any:
        task = super().create_task(coro, **options)
        self.tasks.append(task)
        return task

    def within(self, process: int) -> contextvars.Context:
        """The context of a process: what is begun in it ends with it."""
        context = contextvars.copy_context()
        context.run(PROCESS.set, process)
        return context

    def start(self, process: int, coro: Any) -> asyncio.Task[Any]:
        return self.within(process).run(self.create_task, coro)

    def later(self, process: int, seconds: float, callback: Callable[..., Any], *args: Any) -> None:
        self.call_at(self.now + seconds, callback, *args, context=self.within(process))

    def kill(self, process: int) -> None:
        """Nothing of the process runs from now on, not even what would tidy up."""
        self.dead.add(process)
        for handle in [*self._ready, *self._scheduled]:
            if handle._context.get(PROCESS, 0) == process:
                handle.cancel()

    # ----- threads

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        return self.in_thread(partial(func, *args))

    def in_thread(self, work: Callable[[], Any]) -> asyncio.Future[Any]:
        """Do the work at a later moment, all at once, and tell of it at a still later one."""
        future: asyncio.Future[Any] = self.create_future()

        def end(value: Any, error: Exception | None) -> None:
            if not future.done():
                future.set_exception(error) if error is not None else future.set_result(value)

        self.begin_work(work, end)
        return future

    def begin_work(
        self, work: Callable[[], Any], end: Callable[[Any, Exception | None], object]
    ) -> None:
        """The same, with what is called in the end."""

        def run() -> None:
            value, failure = None, None
            try:
                value = work()
            except Killed:
                return
            except Exception as error:
                failure = error
            self.call_later(self._delay(), end, value, failure)

        self.call_later(self._delay(), run)

    # ----- the end

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not isinstance(error, Killed):
            self.errors.append(f"{context.get('message')}: {error!r}")

    def end(self) -> None:
        """Close what is still under way, without a trace of it in what comes after."""
        for task in self.tasks:
            if not task.done():
                task._log_destroy_pending = False  # type: ignore[attr-defined]
                try:
                    task.get_coro().close()  # type: ignore[union-attr]
                except BaseException:
                    # What a dead process does to tidy up concerns nobody.
                    pass
        self.tasks.clear()
        self._ready.clear()
        self._scheduled.clear()
        self.close()


class VirtualTime:
    """Stands in for the module `time`."""

    EPOCH = 1.8e9

    def __init__(self) -> None:
        self.loop: VirtualLoop | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)

    def time(self) -> float:
        return self.EPOCH + (self.loop.now + self.loop.ahead if self.loop is not None else 0.0)

    def time_ns(self) -> int:
        return int(self.time() * 1e9)

    def monotonic(self) -> float:
        return self.loop.now if self.loop is not None else 0.0

    def perf_counter(self) -> float:
        """As if nothing took time by itself."""
        return self.monotonic()

    def sleep(self, seconds: float) -> None:
        if self.loop is not None:
            self.loop.now += seconds
