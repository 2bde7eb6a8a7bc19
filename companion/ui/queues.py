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
