"""What somebody will give once, on any thread, to a coroutine that awaits it."""

from __future__ import annotations

from collections import deque
from typing import Callable, Generator, Generic, Optional, Tuple, TypeVar

T = TypeVar("T")
# The value, or the error where there is none.
Outcome = Tuple[Optional[T], Optional[BaseException]]


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
        self._given: deque[Outcome[T]] = deque()
        self._calls: deque[Callable[[], object]] = deque()

    def give(self, value: T) -> None:
        self._given.append((value, None))
        self._make_calls()

    def fail(self, error: BaseException) -> None:
        """There will be none: whoever awaits it gets the error."""
        self._given.append((None, error))
        self._make_calls()

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
        value, error = self._given[0]
        if error is not None:
            raise error
        return value  # type: ignore[return-value]

    def __await__(self) -> Generator[Answer[T], None, T]:
        yield self
        return self.result()

    def _make_calls(self) -> None:
        while self._calls:
            try:
                call = self._calls.popleft()
            except IndexError:
                # Another thread was faster.
                return
            call()
