"""What was said to the person at the terminal: all of it, and what of that still stands there."""

from __future__ import annotations

from typing import Callable, List, Tuple

from .sides import make_printable

# Seconds in which a message is read by somebody who presses keys.
READ = 6.0


class Messages:
    """A message goes with a key that comes after it could be read: while nobody presses any,
    nobody may have been there to read it. `clock` counts seconds. Once `is_listed`, all are shown
    above all else."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.all: List[str] = []
        self.is_listed = False
        self._standing: List[Tuple[float, str]] = []
        self._clock = clock
        # What the status bar said last, and how often it had said anything.
        self._status, self._count = "", 0

    def say(self, line: str) -> None:
        self.all.append(make_printable(line))
        self._standing.append((self._clock(), self.all[-1]))

    def say_lines(self, text: str) -> None:
        for line in text.splitlines():
            self.say(line)

    def say_status(self, message: str, count: int = 0) -> None:
        """What the status bar says now, if that is new, or is said once more when it is read
        already; `count` is how often anything was said there."""
        is_new = bool(message) and (message, count) != (self._status, self._count)
        there = self.all if message != self._status else self.standing()
        if is_new and there[-1:] != [make_printable(message)]:
            self.say(message)
        self._status, self._count = message, count

    def hear(self, text: str) -> None:
        """What plugins print while the screen is ours. What the status bar says, too, and which may
        be logged before or after, is said once."""
        for line in text.splitlines():
            if line != self._status:
                self.say(line)

    def press(self) -> None:
        """Somebody has pressed a key."""
        now = self._clock()
        self._standing = [message for message in self._standing if now - message[0] < READ]

    def standing(self) -> List[str]:
        return [line for _time, line in self._standing]

    def toggle_list(self) -> None:
        self.is_listed = not self.is_listed

    def hide_list(self) -> None:
        self.is_listed = False
