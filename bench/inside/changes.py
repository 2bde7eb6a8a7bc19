"""Runs inside an editor: what the sheet of all changes costs, of many files.

`python -m headless FOLDER --exec bench/inside/changes.py -- REPORT`: writes REPORT, a JSON object
of seconds: `open` until all of the sheet is drawn, `held` the longest callback meanwhile and `busy`
how much of that had a processor, `keystroke` what it costs to pass on each one in an added line;
`unasked` has `open`, `held` and `busy` of as many edits that a CLI has made without asking.

The files are those of a source of its own: 300 proposals are more than may wait (`proposals`).
"""

from __future__ import annotations

import json
import os
import sys
import time
from functools import partial
from typing import Callable, Dict, FrozenSet, List, Tuple

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.base.change_sheet import FileChanges
from GeminiCompanion.companion.base.comparison import compare_rows
from GeminiCompanion.companion.base.file_content import Original
from GeminiCompanion.companion.ide.clis import GEMINI_CLI
from GeminiCompanion.companion.ide.editor import UnaskedEdit
from GeminiCompanion.companion.ui.changes.sheet import ChangeSheet
from GeminiCompanion.companion.ui.changes.sources import SheetEntry
from GeminiCompanion.companion.ui.running import Running

from headless import running

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from load import Costs, time_run, watch_queue  # noqa: E402

FILES, CHANGES, LINES, EVERY = 300, 11, 3, 30
LINE = "def add_%06d(a, b): return a + b  # one more line of an ordinary source file\n"
KEYSTROKES = 50
# Seconds for all to be drawn.
PATIENCE = 60.0
REGIONS = "gemini_companion_changes_added"


def changed_text() -> Tuple[str, str]:
    """A text, and the same with its changes."""
    old = [LINE % number for number in range(CHANGES * EVERY)]
    new = list(old)
    for start in range(EVERY // 2, len(old), EVERY):
        lines = old[start : start + LINES]
        new[start : start + LINES] = [line.replace("a + b", "b - a") for line in lines]
    return "".join(old), "".join(new)


class ManyFiles:
    """A source of files of a turn; each has a tab for what is typed."""

    names = ("edit", "edits")
    meanings = ("", "")
    is_complete = True

    def __init__(self, review: sublime.View) -> None:
        self._review = review
        self.texts = changed_text()

    def entries(self, window: sublime.Window) -> List[SheetEntry]:
        ids = [f"{number}.py" for number in range(FILES)]
        count = self._review.change_count()
        return [
            SheetEntry(entry_id, entry_id, partial(self._changes_of, entry_id), change_count=count)
            for entry_id in ids
        ]

    def _changes_of(self, id: str) -> FileChanges:
        return FileChanges(id, id, compare_rows(*self.texts), made_of=id)

    def review_view(self, id: str) -> sublime.View:
        return self._review

    async def open_review(self, window: sublime.Window, id: str) -> sublime.View:
        return self._review

    def kept_changes(self, id: str) -> FrozenSet[str]:
        return frozenset()

    def set_kept(self, id: str, keys: FrozenSet[str]) -> bool:
        return False

    def is_as_seen(self, file: FileChanges) -> bool:
        return True

    async def accept_changes(self, window: sublime.Window, id: str, asks: bool = True) -> None:
        return None

    reject_changes = accept_changes


def main(report: str) -> None:
    window = sublime.active_window()
    wait_until(lambda: bool(plugin._host.environment_of(window)))
    review = window.new_file()
    source = ManyFiles(review)
    read_resources(review)
    review.run_command("append", {"characters": source.texts[1]})
    sheets = ready_package().changes.sheets
    sources, sheets._sources = sheets._sources, (source,)
    held = watch_queue(running.current().queues.ui)
    found, view = _open_sheet(window, held)
    sheet = sheets.sheet_of(view)
    if sheet is None:
        raise RuntimeError("no sheet is shown")
    keystrokes = _measure_keystrokes(sheet, view)
    time_run(view.close)
    sheets._sources = sources
    time_run(lambda: _gather_edits(window, *source.texts))
    unasked, _view = _open_sheet(window, held)
    with open(report, "w") as file:
        json.dump({**found, "keystroke": keystrokes, "unasked": unasked}, file)


def _open_sheet(window: sublime.Window, held: Costs) -> Tuple[Dict[str, float], sublime.View]:
    """What the sheet of all changes of the window costs, and its view."""
    held.clear()
    began = time.perf_counter()
    time_run(lambda: window.run_command("gemini_companion_show_changes", {"show": "tab"}))
    view = window.active_view()
    if view is None:
        raise RuntimeError("no sheet is shown")
    shown: sublime.View = view
    keys = [f"{REGIONS}_{number}" for number in range(FILES)]
    wait_until(lambda: sum(len(shown.get_regions(key)) for key in keys) == FILES * CHANGES)
    found = {
        "open": time.perf_counter() - began,
        "held": max(cost.wall for cost in held),
        "busy": max(cost.busy for cost in held),
    }
    return found, shown


def _gather_edits(window: sublime.Window, before: str, after: str) -> None:
    """A CLI has made edits of so many files without asking."""
    folder = window.folders()[0]
    for number in range(FILES):
        path = os.path.join(folder, f"{number}.py")
        originals = Original(before, exists=True), Original(after, exists=True)
        edit = UnaskedEdit(path, *originals, GEMINI_CLI.name, "turn", "Do it.", time.time())
        ready_package().review.unasked.gather_edit(window.id(), edit)


def _measure_keystrokes(sheet: ChangeSheet, view: sublime.View) -> List[float]:
    found: List[float] = []
    point = view.get_regions(REGIONS + "_0")[0].begin() + 4

    def keystroke() -> None:
        view.run_command("insert", {"characters": "x"})
        began = time.perf_counter()
        sheet.take_typed()
        found.append(time.perf_counter() - began)

    view.sel().clear()
    view.sel().add(sublime.Region(point))
    for _ in range(KEYSTROKES):
        time_run(keystroke)
    if "x" * KEYSTROKES not in sheet.model.text:
        raise RuntimeError("what was typed is not in the sheet")
    return found


def read_resources(view: sublime.View) -> None:
    """Sublime has read its colour scheme and its syntaxes before it shows the first text."""
    view.style_for_scope("")
    sublime.list_syntaxes()


def ready_package() -> Running:
    if plugin._host.running is None:
        raise RuntimeError("the package is not loaded")
    return plugin._host.running


def wait_until(is_done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_done():
        if time.monotonic() > deadline:
            raise TimeoutError("the editor does not get on")
        time.sleep(0.005)


if __name__ == "__main__":
    main(*sys.argv[1:])
