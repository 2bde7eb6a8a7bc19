"""CLIs that lost their connection and wait for `/ide enable`. UI thread only.

A CLI whose connection broke does not come back by itself (docs/protocol.md 3.20), and says so only
in its terminal, if at all. The doctor knows whether a missing CLI still runs.
"""

from __future__ import annotations

from typing import Callable

import sublime

from ..base.private_files import is_running
from ..base.signal import Signal
from ..ide.companion import Companion
from ..ide.doctor.checks import Failed
from ..ide.editor import ConnectedClient, Status
from .examinations import Examinations, Examiner
from .stories import Stories

# Checks (one a second) between examinations while a CLI is missing and none was found to be lost:
# the last examination may have been too early, or may have failed.
POLLS = 5
LOST = (
    "The connection to {} is lost. It does not come back by itself: type /ide enable there. If it"
    " still asks about an edit and takes no key, only Ctrl+C twice ends it; then start it again."
)


class LostClis:
    """The lost CLIs of all windows. `tell` shows a sentence; `changes` says that there are
    others."""

    def __init__(self, companion: Companion, stories: Stories, tell: Callable[[str], None]) -> None:
        self._examiner = Examiner(companion, stories, self._note_examinations)
        self._tell = tell
        self.changes = Signal()
        # By window id: names by the id of the process; and the connected and missing CLIs as they
        # were last reported.
        self._lost: dict[int, dict[int, str]] = {}
        self._seen: dict[int, tuple[tuple[ConnectedClient, ...], tuple[str, ...]]] = {}
        self._polls = 0

    def lost_names(self, window: sublime.Window) -> tuple[str, ...]:
        return tuple(self._lost.get(window.id(), {}).values())

    def update_statuses(self, statuses: tuple[Status, ...]) -> None:
        """This is the state of all windows now. A missing CLI may have lost its connection; a lost
        one may be back."""
        for status in statuses:
            id, now = status.window_id, (status.clients, status.away)
            before = self._seen.get(id)
            self._seen[id] = now
            window = sublime.Window(id)
            if now != before and (status.away or self._lost.get(id)) and window.is_valid():
                self._examiner.examine_soon(window)

    def check_lost(self) -> None:
        """Forget those that have ended, and check those that are missing again. Must be called
        about once a second."""
        self._polls += 1
        for id, lost in list(self._lost.items()):
            self._set_lost(id, {pid: lost[pid] for pid in lost if is_running(pid)})
        for id, (_, away) in list(self._seen.items() if self._polls % POLLS == 0 else ()):
            window = sublime.Window(id)
            if away and not self._lost.get(id) and window.is_valid():
                self._examiner.examine_soon(window)

    def _note_examinations(self, window: sublime.Window, found: Examinations) -> None:
        # Without results the examination failed.
        lost = _lost_processes(found) if found else self._lost.get(window.id(), {})
        for pid in set(lost) - set(self._lost.get(window.id(), {})):
            self._tell(LOST.format(lost[pid]))
        self._set_lost(window.id(), lost)

    def _set_lost(self, window_id: int, lost: dict[int, str]) -> None:
        if lost != self._lost.get(window_id, {}):
            self._lost[window_id] = lost
            self.changes.emit()


def _lost_processes(found: Examinations) -> dict[int, str]:
    """The CLIs that have no obstacle and are not connected all the same: names by the id of the
    process."""
    lost = {}
    for each in found:
        process, last = each.facts.process, each.find_row("connected")
        if process is not None and last is not None and isinstance(last.result, Failed):
            lost[process.pid] = each.facts.name
    return lost
