"""Whether a press can be meant for what it is about: not if that has just taken the place of
something that was decided on. UI thread only."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Callable, Collection, Hashable

import sublime

from .open_diffs import is_on_top, undecided_diffs
from .record import waiting_record

# Seconds for which a diff has to be in sight where another one was before a press decides on it.
MOMENT = 0.5
TOO_SOON = "{} came just now: nothing is decided. Read it, then press again."


@dataclass
class _Pressed:
    """What has the id was decided on; `over` is when it was gone, or, as long as nobody has noticed
    that, when it was decided on. What has the ids `in_sight` could be seen beside it."""

    id: str
    in_sight: Collection[str]
    over: float


class Pace:
    """The presses of one companion, by the places where they decide: the id of a window, for its
    diffs, and the line of a sheet. `now` is a clock in seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._pressed: dict[Hashable, _Pressed] = {}
        # When diffs came into sight otherwise than by the end of another one, by their ids.
        self._shown: dict[str, float] = {}

    def is_too_soon(self, window: sublime.Window, view: sublime.View) -> bool:
        """The user decides on the diff. Whether it can be seen only since a moment ago, in the
        place of the one that they have decided on, or because they have pressed before."""
        waiting = {record.id: diff for diff, record in undecided_diffs(window)}
        record, last = waiting_record(view), self._pressed.get(window.id())
        if record is None:
            return False
        since = [self._shown[record.id]] if record.id in self._shown else []
        if last is not None and last.id not in waiting and record.id not in last.in_sight:
            since.append(last.over)
        if since and self._now() - max(since) < MOMENT:
            return True
        in_sight = {id for id, diff in waiting.items() if is_on_top(window, diff)}
        self._pressed[window.id()] = _Pressed(record.id, in_sight, self._now())
        return False

    def has_moved(self, sheet: str, id: str, shown: Collection[str]) -> bool:
        """The user decides on the file in the sheet, which shows those with these ids. Whether it
        stands where it does only since a moment ago, when the one that they have decided on went
        away."""
        last = self._pressed.get(sheet)
        is_gone = last is not None and last.id != id and last.id not in shown
        if last is not None and is_gone and self._now() - last.over < MOMENT:
            return True
        self._pressed[sheet] = _Pressed(id, (), self._now())
        return False

    def note_gone(self, sheet: str, id: str) -> None:
        """The sheet does not show the file any more."""
        last = self._pressed.get(sheet)
        if last is not None and last.id == id:
            last.over = self._now()

    def note_arrival(self, id: str) -> None:
        """The diff has come before the user's eyes. Before anything was decided on, it took no
        place."""
        if self._pressed:
            self.note_shown(id)

    def note_shown(self, id: str) -> None:
        """A press that would have decided on the diff has brought it into sight."""
        self._shown[id] = self._now()

    def note_end(self, id: str) -> None:
        """The diff is not there any more."""
        self._shown.pop(id, None)
        for pressed in self._pressed.values():
            if pressed.id == id:
                pressed.over = self._now()
