"""What the user has pressed: one press after the other, in the order in which they came. UI thread
only."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Callable, Iterator

from .ordered_work import OrderedWork

WAITS = "First answer the question about {}; what you press meanwhile comes after it."


class Presses(OrderedWork):
    """Lines in which presses wait, by what they are about: the id of a diff, the name of a
    sheet. `tell` shows a sentence."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__(self._say_what_comes_first)
        self._tell = tell
        # What the questions are about that earlier presses ask; there is one panel at a time.
        self._questions: list[str] = []

    @contextmanager
    def announce_question(self, about: str) -> Iterator[None]:
        """The press whose turn it is asks the user. They may not know that the others wait for the
        answer, so they are told."""
        self._questions.append(about)
        if self.is_any_waiting:
            self._say_what_comes_first()
        try:
            yield
        finally:
            self._questions.remove(about)

    def _say_what_comes_first(self) -> None:
        if self._questions:
            self._tell(WAITS.format(self._questions[-1]))
