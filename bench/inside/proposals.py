"""Runs inside an editor: what it costs when CLIs have as many proposals waiting as they may, and
what the sheet of all of them costs.

`python -m headless FOLDER --exec bench/inside/proposals.py -- REPORT`: writes REPORT, a JSON object
of seconds: `first` and `last` of some openDiff each, until they were answered; `held` the longest
callback meanwhile, of those without a full collection of garbage, and `busy` the longest with a
processor; `open`, `sheet held` and `sheet busy` as in `changes`; `collected` the longest full
collection, through so many `objects`.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import time
from typing import Any, Dict, List

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.ide.diffs import MAX_OPEN_DIFFS, MAX_WINDOW_DIFFS
from GeminiCompanion.companion.ui.review import open_diffs

from headless import running

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from changes import (  # noqa: E402
    CHANGES,
    REGIONS,
    changed_text,
    read_resources,
    ready_package,
    wait_until,
)
from load import Costs, collections, time_run, watch_queue  # noqa: E402

CLIENT = "bench.proposals_client"
# How many of the first and of the last answers are told.
SOME = 20


def main(report: str) -> None:
    window = sublime.active_window()
    wait_until(lambda: bool(plugin._host.environment_of(window)))
    folder = window.folders()[0]
    for number in range(MAX_WINDOW_DIFFS):
        for ending, text in zip(("py", "new"), changed_text()):
            with open(os.path.join(folder, f"{number}.{ending}"), "w") as file:
                file.write(text)
    read_resources(window.new_file())
    environment = plugin._host.environment_of(window)
    address = [environment[f"GEMINI_CLI_IDE_{name}"] for name in ("SERVER_PORT", "AUTH_TOKEN")]
    found = _measure_proposals(
        window, [*address, folder, str(MAX_WINDOW_DIFFS), str(MAX_OPEN_DIFFS)]
    )
    with open(report, "w") as output:
        json.dump(found, output)


def _measure_proposals(window: sublime.Window, arguments: List[str]) -> Dict[str, Any]:
    held = watch_queue(running.current().queues.ui)
    command = [sys.executable, "-m", CLIENT, *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
        if client.stdin is None or client.stdout is None:
            raise RuntimeError("the client has no pipes")
        answered = [float(client.stdout.readline()) for _ in range(MAX_WINDOW_DIFFS)]
        wait_until(lambda: _are_compared(window))
        opened = _longest_costs(held)
        sheet = _measure_sheet(window, held)
        client.stdin.close()
    answers = {"first": answered[:SOME], "last": answered[-SOME:]}
    collected = {"collected": collections.longest, "objects": len(gc.get_objects())}
    return {**answers, **opened, **sheet, **collected}


def _longest_costs(held: Costs) -> Dict[str, float]:
    own = [cost for cost in held if not cost.collected]
    return {"held": max(cost.wall for cost in own), "busy": max(cost.busy for cost in own)}


def _are_compared(window: sublime.Window) -> bool:
    reviews = ready_package().diffs.reviews
    found = [reviews.review_of(view) for view, _record in open_diffs.undecided_diffs(window)]
    known = [review for review in found if review is not None and review.comparison is not None]
    return len(known) == MAX_WINDOW_DIFFS


def _measure_sheet(window: sublime.Window, held: Costs) -> Dict[str, float]:
    held.clear()
    began = time.perf_counter()
    time_run(lambda: window.run_command("gemini_companion_show_changes", {"show": "tab"}))
    view = window.active_view()
    if view is None:
        raise RuntimeError("no sheet is shown")
    shown: sublime.View = view
    keys = [f"{REGIONS}_{number}" for number in range(MAX_WINDOW_DIFFS)]
    all_changes = MAX_WINDOW_DIFFS * CHANGES
    wait_until(lambda: sum(len(shown.get_regions(key)) for key in keys) == all_changes)
    lasted = time.perf_counter() - began
    return {
        "open": lasted,
        **{f"sheet {key}": longest for key, longest in _longest_costs(held).items()},
    }


if __name__ == "__main__":
    main(*sys.argv[1:])
