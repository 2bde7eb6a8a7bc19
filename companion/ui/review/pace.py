"""Whether a press can be meant for the diff that it is about: not if that has just taken the place
of another one. UI thread only."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Callable, Collection

import sublime

from .open_diffs import is_on_top, undecided_diffs
from .record import waiting_record

# Seconds for which a diff has to stand where another one did before a command decides on it.
MOMENT = 0.5


@dataclass
class _Pressed:
    """The diff with the id was decided on; `over` is when it ended, or, as long as nobody has
    noticed that, when it was decided on. Those with the ids `in_sight` could be seen beside it."""

    id: str
    in_sight: Collection[str]
    over: float


class Pace:
    """The presses of one companion, by the ids of their windows. `now` is a clock in seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._pressed: dict[int, _Pressed] = {}

    def is_too_soon(self, window: sublime.Window, view: sublime.View) -> bool:
        """The user decides on the diff in front. Whether it stands there only since a moment ago,
        in the place of the one that they have decided on."""
        waiting = {record.id: diff for diff, record in undecided_diffs(window)}
        record, last = waiting_record(view), self._pressed.get(window.id())
        if record is None:
            return False
        if last is not None and last.id not in waiting and record.id not in last.in_sight:
            if self._now() - last.over < MOMENT:
                return True
        in_sight = {id for id, diff in waiting.items() if is_on_top(window, diff)}
        self._pressed[window.id()] = _Pressed(record.id, in_sight, self._now())
        return False

    def note_end(self, id: str) -> None:
        """The diff is not there any more."""
        for pressed in self._pressed.values():
            if pressed.id == id:
                pressed.over = self._now()
