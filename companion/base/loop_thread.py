"""One asyncio loop in a thread of its own, and calls from other threads to it. Does not know what
it serves."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from contextlib import suppress
from enum import IntEnum
from typing import Any, Callable, Coroutine, Generic, TypeVar

from . import import_errors
from .log import logger
from .thread_ends import wait_for_end

T = TypeVar("T")

# Seconds to wait for another thread of the same name that is still ending: it may be writing to a
# slow disk what this thread needs.
HANDOVER = 10.0


class State(IntEnum):
    """The states of the thread, in the order in which they come. Some may be skipped; none comes
    back."""

    NEW = 0
    RUNNING = 1
    STOPPING = 2
    OVER = 3


class LoopThread(Generic[T]):
    """One asyncio loop in a thread of its own, for example a server, from `start` to its end. Every
    method may be called from any thread. None waits, except `stop` if it is asked to.

    `serve` runs on the loop, and the thread ends with it. It gets a function, and calls it once
    with the object that receives the calls; calls that were posted before wait for that. If `serve`
    fails, `problem` becomes a sentence for the user, as `sentence_of` says.
    `on_over` is called on the thread, after the end.
    """

    def __init__(
        self,
        name: str,
        serve: Callable[[Callable[[T], None]], Coroutine[Any, Any, None]],
        sorry: str,
        on_over: Callable[[], None],
    ) -> None:
        self.problem = ""
        self._name = name
        self._serve = serve
        self._sorry = sorry
        self._on_over = on_over
        self._thread = threading.Thread(target=self._run_loop, name=name, daemon=True)
        self._predecessors: list[threading.Thread] = []
        self._beginning = threading.Lock()
        # A thread that changes the state appends the new one, and the furthest counts. So no thread
        # can undo what another did.
        self._states = [State.NEW]
        # A caller appends its call and then checks for the loop; the loop becomes visible and then
        # makes the calls. So no call is lost, and no lock is needed.
        self._calls: deque[Callable[[T], object]] = deque()
        self._wake: Callable[[], None] | None = None

    @property
    def state(self) -> State:
        return max(self._states)

    @property
    def is_alive(self) -> bool:
        """True from the start until `on_over` has returned."""
        return self._thread.is_alive()

    def start(self) -> None:
        self._predecessors = [
            thread for thread in threading.enumerate() if thread.name == self._name
        ]
        self._states.append(State.RUNNING)
        with self._beginning:
            self._thread.start()

    def post(self, call: Callable[[T], object]) -> None:
        """Make the call on the loop, after all calls that were posted before; never, if the thread
        has ended."""
        self._calls.append(call)
        wake = self._wake
        if wake is not None:
            # The loop may close in this very moment; then the call comes too late.
            with suppress(RuntimeError):
                wake()

    def stop(self, call: Callable[[T], object], join: float = 0.0) -> None:
        """Post the call that makes `serve` return, and wait for that at most `join` seconds."""
        if self.state is State.RUNNING:
            self._states.append(State.STOPPING)
        self.post(call)
        if join and self._thread.is_alive():
            self._thread.join(join)

    def _run_loop(self) -> None:
        """The boundary of the thread: an error here is our bug, or a missing library."""
        with self._beginning:
            # The caller waits until this thread runs, and not for what it imports.
            pass
        try:
            # A thread that is still ending has the ports, and saves the state for this one.
            for thread in self._predecessors:
                wait_for_end(thread, HANDOVER)
            asyncio.run(self._serve(self._receiver_ready))
        except Exception as error:
            self.problem = sentence_of(error, self._name, self._sorry)
        finally:
            self._wake = None
            self._calls = deque(maxlen=0)
            self._states.append(State.OVER)
            self._on_over()

    def _receiver_ready(self, receiver: T) -> None:
        loop = asyncio.get_running_loop()

        def make_calls() -> None:
            # Only the calls that are here now: calls that keep coming must not block the loop.
            for _ in range(len(self._calls)):
                self._make_call(self._calls.popleft(), receiver)

        def wake_loop() -> None:
            loop.call_soon_threadsafe(make_calls)

        self._wake = wake_loop
        make_calls()

    def _make_call(self, call: Callable[[T], object], receiver: T) -> None:
        """The boundary of calls: a failed call does not stop the next."""
        try:
            call(receiver)
        except Exception:
            logger.exception("a call to the thread %s failed", self._name)


def sentence_of(error: Exception, name: str, sorry: str) -> str:
    """The sentence for the user about an error that ended something of this name: the name of a
    missing library, else `sorry`. It is logged."""
    missing = import_errors.import_error_sentence(error)
    if missing:
        # The traceback of a missing library helps nobody.
        logger.error("%s (%s)", missing, error)
    else:
        logger.error("%s ended", name, exc_info=error)
    return missing or sorry
