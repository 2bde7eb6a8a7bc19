"""An answer that any thread gives once and a coroutine awaits."""

from __future__ import annotations

from collections import deque
from typing import Callable, Generator, Generic, Optional, Tuple, TypeVar

T = TypeVar("T")
# The value, or the error if there is no value.
Outcome = Tuple[Optional[T], Optional[BaseException]]


class NotThere(Exception):
    """The answer has not been given yet."""


class Unanswered(Exception):
    """There will be no answer: what was asked is not possible, or failed, and the log says why; or
    whoever was asked ended first. The text is a sentence for the user."""


class Answer(Generic[T]):
    """Any thread may give it and ask for it. Only the first answer counts.

    Awaiting it always passes it to whoever drives the coroutine, even if the answer is there
    already. So the speed of a thread does not change the order of steps.
    """

    def __init__(self) -> None:
        # The giver appends the answer and then makes the calls; the asker appends a call and then
        # checks for an answer. So no call is lost, and no lock is needed.
        self._given: deque[Outcome[T]] = deque()
        self._calls: deque[Callable[[], object]] = deque()

    def give(self, value: T) -> None:
        self._given.append((value, None))
        self._make_calls()

    def fail(self, error: BaseException) -> None:
        """There is no answer: whoever awaits it gets the error."""
        self._given.append((None, error))
        self._make_calls()

    @property
    def is_there(self) -> bool:
        return bool(self._given)

    def when_there(self, call: Callable[[], object]) -> None:
        """Make the call once: now, or on the thread that gives the answer."""
        self._calls.append(call)
        if self._given:
            self._make_calls()

    def result(self) -> T:
        """Raises the error that the answer failed with, or NotThere."""
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
                # Another thread has taken it.
                return
            call()
