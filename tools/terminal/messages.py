"""What was said to the person at the terminal: all of it, and what of that still stands there."""

from __future__ import annotations

from typing import Callable, List, Tuple

from .sides import make_printable

# Seconds in which a message is read by somebody who presses keys.
READ = 6.0


class Messages:
    """A message goes with a key that comes after it could be read: while nobody presses any,
    nobody may have been there to read it. `clock` counts seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.all: List[str] = []
        self._standing: List[Tuple[float, str]] = []
        self._clock = clock

    def say(self, line: str) -> None:
        self.all.append(make_printable(line))
        self._standing.append((self._clock(), self.all[-1]))

    def press(self) -> None:
        """Somebody has pressed a key."""
        now = self._clock()
        self._standing = [message for message in self._standing if now - message[0] < READ]

    def standing(self) -> List[str]:
        return [line for _time, line in self._standing]
