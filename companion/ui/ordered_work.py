"""Work that is done one piece after the other, in the order in which it came; and work that is not
begun again while it is under way. UI thread only."""

from __future__ import annotations

from collections import deque
from contextlib import contextmanager
from typing import Callable, Hashable, Iterator

from ..base.answer import Answer


class OrderedWork:
    """Lines in which work waits, by what it is about. `on_wait` is called with each piece of work
    that has to wait."""

    def __init__(self, on_wait: Callable[[], None] = lambda: None) -> None:
        self._on_wait = on_wait
        self._lines: dict[str, deque[Answer[None]]] = {}

    def take_place(self, of: str) -> PlaceInLine:
        """A place in the line, for `async with`: the body begins when all earlier work is done. The
        first one waits for nothing."""
        return PlaceInLine(self._lines, of, self._on_wait)

    async def wait_for_all(self, of: str) -> None:
        """Return when what came so far is done."""
        async with self.take_place(of):
            pass

    def is_busy(self, of: str) -> bool:
        """Whether something in the line is not done yet."""
        return bool(self._lines.get(of))

    @property
    def is_any_waiting(self) -> bool:
        return any(len(line) > 1 for line in self._lines.values())


class PlaceInLine:
    """The place of one piece of work in its line; `on_wait` is called if it has to wait. A story
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


class UnderWay:
    """What is under way, each by the id of what it is about: a link can be pressed twice."""

    def __init__(self) -> None:
        self._ids: set[Hashable] = set()

    def __contains__(self, id: Hashable) -> bool:
        return id in self._ids

    @contextmanager
    def hold(self, id: Hashable) -> Iterator[None]:
        """It is under way as long as the body runs. To be asked before: one alone may hold it."""
        self._ids.add(id)
        try:
            yield
        finally:
            self._ids.discard(id)
