"""Runs inside an editor: what the review of a proposal costs its thread, from the first sight on.

`python -m headless FOLDER --exec bench/inside/review.py -- REPORT`: writes REPORT, a JSON object of
seconds. `paint`, `held` and `computed` are of each case: until the first change is shown; the
longest callback from then on until all is drawn; and until the changes were known.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any, Callable, Dict, List, Tuple

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.base import file_content
from GeminiCompanion.companion.base.comparison import compare_texts
from GeminiCompanion.companion.ide.editor import Proposal
from GeminiCompanion.companion.ui.review import opening
from GeminiCompanion.companion.ui.review.review import Review
from GeminiCompanion.companion.ui.running import Running

from headless import running
from headless.layout import Layout
from headless.views import View

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from load import PATIENCE, Costs, time_run, watch_queue  # noqa: E402

MIB = 1024 * 1024
CASES = {"1 MiB, 1,000 changes": MIB, "2 MiB, 1,000 changes": 2 * MIB - 64 * 1024}
CHANGES = 1000
CHANGED_LINES = 10_000
LINE = "def add_%06d(a, b): return a + b  # one more line of an ordinary source file\n"
SESSION = "bench"
KEYSTROKES = 200
STEPS = 30
# Seconds between steps of scrolling, longer than between two looks of the companion.
STEP = 0.05


def make_texts(size: int, changes: int) -> Tuple[str, str]:
    """A text of numbered lines, and one in which every so-manieth line is another: some are
    altered, some doubled, some gone."""
    count = size // len(LINE % 0)
    every = max(count // changes, 1)
    old = [LINE % number for number in range(count)]
    new: List[str] = []
    for number, line in enumerate(old):
        is_changed = number % every == every // 2
        kinds = (line.replace("a + b", "b - a"), line + line.upper(), "")
        new.append(kinds[number // every % 3] if is_changed else line)
    return "".join(old), "".join(new)


def main(report: str) -> None:
    window = sublime.active_window()
    _wait_until(lambda: bool(plugin._host.environment_of(window)))
    # Sublime has read its colour scheme before it shows the first text.
    window.new_file().style_for_scope("")
    found: Dict[str, Any] = {"cases": {}}
    held = watch_queue(running.current().queues.ui)
    for name, size in CASES.items():
        found["cases"][name] = _measure_opening(window, held, *make_texts(size, CHANGES))
    view = _find_diff(window)
    found["keystroke"] = _measure_keystrokes(view)
    found["scrolling"], found["layout"] = _measure_scrolling(window, view)
    found["computed"] = _wait_computed()
    with open(report, "w") as file:
        json.dump(found, file)


def _measure_opening(window: sublime.Window, held: Costs, old: str, new: str) -> Dict[str, float]:
    """Open a diff; one of the case before makes way for it. `held` gets what callbacks cost."""
    path = os.path.join(window.folders()[0], "reviewed.py")
    with open(path, "w") as file:
        file.write(old)
    original = file_content.read_original(path)
    proposal = Proposal(SESSION, path, new, frozenset([SESSION]))
    reviews = _running_package().diffs.reviews

    def show() -> None:
        right, _note = opening.open_diff(window, proposal, original, None, True)
        reviews.begin_review(right, original.text)

    paint, began = time_run(show).wall, time.perf_counter()
    held.clear()
    view = _find_diff(window)
    review = reviews.review_of(view)
    if review is None:
        raise RuntimeError("the proposal is not reviewed")
    begun: Review = review
    _wait_until(lambda: begun.comparison is not None)
    computed = time.perf_counter() - began
    # What is drawn part by part is in the queue by now, at the latest behind the first of these.
    for _ in range(3):
        time_run(lambda: None)
    longest, busy = max(each.wall for each in held), max(each.busy for each in held)
    return {"paint": paint, "held": longest, "busy": busy, "computed": computed}


def _running_package() -> Running:
    if plugin._host.running is None:
        raise RuntimeError("the package is not loaded")
    return plugin._host.running


def _find_diff(window: sublime.Window) -> sublime.View:
    for view in window.views():
        if "(proposed" in view.name():
            return view
    raise RuntimeError("the editor shows no proposal")


def _measure_keystrokes(view: sublime.View) -> List[float]:
    """Seconds of all of the plugin's handlers of one."""
    listener = plugin.GeminiCompanionListener()

    def keystroke() -> None:
        listener.on_text_command(view, "insert", {"characters": "x"})
        listener.on_modified_async(view)
        listener.on_selection_modified_async(view)

    return [time_run(keystroke).wall for _ in range(KEYSTROKES)]


def _measure_scrolling(
    window: sublime.Window, right: sublime.View
) -> Tuple[List[float], List[float]]:
    """Seconds of each look of the companion that had to move the other side, and in how many of
    them the headless editor found out where everything stands."""
    scrolling, layout = _running_package().diffs.scrolling, View.layout
    looks: List[Tuple[float, float]] = []
    placing: List[float] = []
    look = scrolling._look_at_pair

    def timed_look(window: sublime.Window) -> None:
        placing.clear()
        began = time.perf_counter()
        look(window)
        looks.append((time.perf_counter() - began, sum(placing)))

    def timed_layout(view: View) -> Layout:
        began = time.perf_counter()
        try:
            return layout(view)
        finally:
            placing.append(time.perf_counter() - began)

    scrolling._look_at_pair = timed_look  # type: ignore[method-assign]
    View.layout = timed_layout  # type: ignore[method-assign, assignment]
    time_run(lambda: scrolling.follow_pair(right))
    moved: List[Tuple[float, float]] = []
    for step in range(1, STEPS + 1):
        looks.clear()
        time_run(lambda at=step: right.set_viewport_position((0.0, at * 400.0), animate=False))
        time.sleep(STEP)
        _wait_until(lambda: bool(looks))
        moved.append(max(looks))
    return [each for each, _placing in moved], [each for _look, each in moved]


def _wait_computed() -> float:
    old = [LINE % number for number in range(2 * CHANGED_LINES)]
    new = [line.replace("a + b", "b - a") if at % 2 else line for at, line in enumerate(old)]
    began = time.perf_counter()
    comparison = compare_texts("".join(old), "".join(new))
    seconds = time.perf_counter() - began
    if len(comparison.changes) != CHANGED_LINES:
        raise RuntimeError(f"{len(comparison.changes)} changes were found")
    return seconds


def _wait_until(condition: Callable[[], bool]) -> None:
    pause = threading.Event()
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the editor is not ready")
        pause.wait(0.001)


if __name__ == "__main__":
    main(*sys.argv[1:])
