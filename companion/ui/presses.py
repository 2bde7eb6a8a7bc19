"""What the user has pressed: one press after the other, in the order in which they came. UI thread
only."""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from typing import Callable, Iterator

from ..base.answer import Answer

WAITS = "First answer the question about {}; what you press meanwhile comes after it."


class Presses:
    """Lines in which presses wait, by what they are about: the id of a diff, the name of a
    sheet. `tell` shows a sentence."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._lines: dict[str, deque[Answer[None]]] = {}
        # What the questions are about that earlier presses ask; there is one panel at a time.
        self._questions: list[str] = []

    def take_place(self, of: str) -> PlaceInLine:
        """A place in the line, for `async with`: the body begins when all earlier presses are done.
        The first one waits for nothing."""
        return PlaceInLine(self._lines, of, self._say_what_comes_first)

    @contextmanager
    def announce_question(self, about: str) -> Iterator[None]:
        """The press whose turn it is asks the user. They may not know that the others wait for the
        answer, so they are told."""
        self._questions.append(about)
        if any(len(line) > 1 for line in self._lines.values()):
            self._say_what_comes_first()
        try:
            yield
        finally:
            self._questions.remove(about)

    async def wait_for_all(self, of: str) -> None:
        """Return when what was pressed so far is done."""
        async with self.take_place(of):
            pass

    def _say_what_comes_first(self) -> None:
        if self._questions:
            self._tell(WAITS.format(self._questions[-1]))


class PlaceInLine:
    """The place of one press in its line; `on_wait` is called if the press has to wait. A story
    that is cut leaves its line."""

    def __init__(
        self, lines: dict[str, deque[Answer[None]]], of: str, on_wait: Callable[[], None]
    ) -> None:
        self._lines = lines
        self._of = of
        self._on_wait = on_wait
        self._begin = Answer[None]()

    async def __aenter__(self) -> None:
        line = self._lines.setdefault(self._of, deque())
        line.append(self._begin)
        if line[0] is self._begin:
            return
        self._on_wait()
        try:
            await self._begin
        except GeneratorExit:
            self._leave_line()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._leave_line()

    def _leave_line(self) -> None:
        line = self._lines[self._of]
        was_first = line[0] is self._begin
        line.remove(self._begin)
        if not line:
            del self._lines[self._of]
        elif was_first:
            line[0].give(None)
