"""What the user has pressed: one press after the other, in the order in which they came. UI thread
only."""

from __future__ import annotations

from collections import deque

from ..base.answer import Answer


class Presses:
    """Lines in which presses wait, by what they are about: the id of a diff, the name of a
    sheet."""

    def __init__(self) -> None:
        self._lines: dict[str, deque[Answer[None]]] = {}

    def turn(self, of: str) -> PlaceInLine:
        """For `async with`: begins when all earlier presses are done. The first one waits for
        nothing."""
        return PlaceInLine(self._lines, of)

    async def wait_for_all(self, of: str) -> None:
        """Return when what was pressed so far is done."""
        async with self.turn(of):
            pass


class PlaceInLine:
    """That of one press. A story that is cut leaves its line."""

    def __init__(self, lines: dict[str, deque[Answer[None]]], of: str) -> None:
        self._lines = lines
        self._of = of
        self._begin = Answer[None]()

    async def __aenter__(self) -> None:
        line = self._lines.setdefault(self._of, deque())
        line.append(self._begin)
        if line[0] is self._begin:
            return
        try:
            await self._begin
        except GeneratorExit:
            self._leave()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._leave()

    def _leave(self) -> None:
        line = self._lines[self._of]
        was_first = line[0] is self._begin
        line.remove(self._begin)
        if not line:
            del self._lines[self._of]
        elif was_first:
            line[0].give(None)
