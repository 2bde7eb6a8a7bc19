"""Runs inside an editor: what one selection event costs its thread, by tabs and by selection.

`python -m headless FOLDER --exec bench/inside/events.py -- REPORT`: writes REPORT, a JSON list of
[what was so, [seconds of each event]]. Uses nothing but Sublime's own API.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Callable, List, Tuple

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.ide.context import MAX_SELECTION_UNITS, TRUNCATED
from GeminiCompanion.companion.ui import views

TABS = (1, 100, 10000)
# Code points, all ASCII, of the file that is selected from and of the selections.
LARGE = 100 * 1024 * 1024
SELECTIONS = {"nothing": 0, "16 KiB": 16 * 1024, "100 MiB": LARGE}
LINE = "def add(a, b): return a + b  # one more line of an ordinary source file, this one\n"
EVENTS = 200
# Milliseconds between events: faster than keys repeat.
PAUSE = 2
# Seconds that the editor may take to open all its tabs, and between looks.
PATIENCE = 60.0
LOOK = 0.01


def main(report: str) -> None:
    window = sublime.active_window()
    folder = window.folders()[0]
    rows: List[Tuple[str, List[float]]] = []
    large = _open_files(window, [_write_file(folder, "large.txt", LARGE)])[0]
    for name, size in SELECTIONS.items():
        rows.append((f"{name} of 100 MiB selected", _measure_events(large, size)))
    large.close()
    views: List[sublime.View] = []
    for tabs in TABS:
        names = ["file%d.txt" % number for number in range(len(views), tabs)]
        views += _open_files(window, [_write_file(folder, name, 1024) for name in names])
        rows.append((f"{tabs:,} tabs" if tabs > 1 else "1 tab", _measure_events(views[-1], 0)))
    with open(report, "w") as file:
        json.dump(rows, file)


def _write_file(folder: str, name: str, size: int) -> str:
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write((LINE * (size // len(LINE) + 1))[:size])
    return path


def _open_files(window: sublime.Window, paths: List[str]) -> List[sublime.View]:
    views = [window.open_file(path) for path in paths]
    _wait_until(lambda: not any(view.is_loading() for view in views))
    # Both threads still have to tell the listeners of every tab.
    for later in (sublime.set_timeout, sublime.set_timeout_async):
        told = threading.Event()
        later(told.set, 0)
        told.wait(PATIENCE)
    return views


def _wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the editor is not ready")
        time.sleep(LOOK)


def _measure_events(view: sublime.View, size: int) -> List[float]:
    """Seconds of each of EVENTS calls of the plugin's own handler, on the editor's thread."""
    listener = plugin.GeminiCompanionListener()
    view.sel().clear()
    view.sel().add(sublime.Region(0, size))
    file = views.describe_view(view)
    more = len(TRUNCATED) if size > MAX_SELECTION_UNITS else 0
    if file is None or len(file.selected_text) != min(size, MAX_SELECTION_UNITS) + more:
        raise RuntimeError("the editor does not select what it was told to")
    seconds: List[float] = []
    done = threading.Event()

    def event() -> None:
        began = time.perf_counter()
        listener.on_selection_modified_async(view)
        seconds.append(time.perf_counter() - began)
        if len(seconds) < EVENTS:
            sublime.set_timeout(event, PAUSE)
        else:
            done.set()

    sublime.set_timeout(event, PAUSE)
    if not done.wait(PATIENCE):
        raise TimeoutError("the events did not come")
    return seconds


if __name__ == "__main__":
    main(*sys.argv[1:])
