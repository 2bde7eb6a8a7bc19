"""What somebody will give once, on any thread, to a coroutine that awaits it."""

from __future__ import annotations

from collections import deque
from typing import Callable, Generator, Generic, TypeVar

T = TypeVar("T")


class NotThere(Exception):
    """Nobody has given the answer yet."""


class Answer(Generic[T]):
    """Any thread may give it and ask for it; the first that is given counts.

    Who drives a coroutine gets the answer that it awaits, each time, also where it is there
    already: so the speed of a thread changes nothing in the order of steps.
    """

    def __init__(self) -> None:
        # Who gives appends, then makes the calls; who asks appends a call, then looks for what was
        # given: so no call is forgotten, and nobody needs a lock.
        self._given: deque[Callable[[], T]] = deque()
        self._calls: deque[Callable[[], object]] = deque()

    def give(self, value: T) -> None:
        self._settle(lambda: value)

    def fail(self, error: BaseException) -> None:
        """There will be none: whoever awaits it gets the error."""

        def fail() -> T:
            raise error

        self._settle(fail)

    @property
    def is_there(self) -> bool:
        return bool(self._given)

    def when_there(self, call: Callable[[], object]) -> None:
        """Have it called once: now, or on the thread that gives the answer."""
        self._calls.append(call)
        if self._given:
            self._make_calls()

    def result(self) -> T:
        """Raises the error that it failed with, or NotThere."""
        if not self._given:
            raise NotThere
        return self._given[0]()

    def __await__(self) -> Generator[Answer[T], None, T]:
        yield self
        return self.result()

    def _settle(self, outcome: Callable[[], T]) -> None:
        self._given.append(outcome)
        self._make_calls()

    def _make_calls(self) -> None:
        while self._calls:
            try:
                call = self._calls.popleft()
            except IndexError:
                # Another thread was faster.
                return
            call()
