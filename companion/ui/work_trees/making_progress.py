"""How far the making of a work tree is, in the status bar of its window, and its stop. A thread
reports it."""

from __future__ import annotations

import threading

import sublime

from ...work_trees.git import Watch
from ..status_texts import show_status

KEY = "gemini_companion_work_tree"
LOOKING = "Looking at the repository"
STOPS = '{}: "Stop Agent" ends it'


class MakingStopped(Exception):
    """The user does not want the work tree any more."""


class MakingProgress:
    """One making, in a window. `report_step` and `watch` are for its thread, and raise
    MakingStopped once it is to stop; all else is for the UI thread."""

    def __init__(self, window: sublime.Window) -> None:
        self.window = window
        self._stopped = threading.Event()
        # Replaced as a whole.
        self._step = (LOOKING, 0, 0)

    def stop(self) -> None:
        self._stopped.set()

    @property
    def is_stopped(self) -> bool:
        return self._stopped.is_set()

    def report_step(self, step: str, done: int, total: int) -> None:
        self._step = (step, done, total)
        self._check()

    def watch(self) -> Watch:
        """What stops git."""
        return Watch(self._hear)

    def show_step(self) -> None:
        """Show how far it is."""
        step, done, total = self._step
        show_status(self.window, KEY, STOPS.format(f"{step}{_amount(done, total)}"))

    def hide(self) -> None:
        for view in self.window.views():
            view.erase_status(KEY)

    def _hear(self, line: str) -> None:
        self._check()

    def _check(self) -> None:
        if self._stopped.is_set():
            raise MakingStopped


def _amount(done: int, total: int) -> str:
    return f" ({done:,} of {total:,})" if total else ""
