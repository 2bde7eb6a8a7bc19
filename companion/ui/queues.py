"""Sublime's two queues, each with a thread: the UI thread and the worker. From any thread.

The UI thread draws and takes keystrokes. All packages share the worker. Neither may wait.
"""

from __future__ import annotations

from typing import Callable

import sublime


def on_ui_thread(work: Callable[[], object], delay_ms: int = 0) -> None:
    sublime.set_timeout(work, delay_ms)


def on_worker(work: Callable[[], object], delay_ms: int = 0) -> None:
    sublime.set_timeout_async(work, delay_ms)


class Once:
    """Work for the UI thread: after what is done there now, once, however often it is called."""

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._is_due = False

    def __call__(self) -> None:
        if not self._is_due:
            self._is_due = True
            on_ui_thread(self._run_work)

    def _run_work(self) -> None:
        self._is_due = False
        self._work()
