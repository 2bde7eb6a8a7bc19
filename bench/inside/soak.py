"""Runs inside an editor: a user at work for some time, and what that costs, second by second.

`python -m headless FOLDER --exec bench/inside/soak.py -- SECONDS REPORT`: writes REPORT, a JSON
list of samples. See bench/soak.py.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import threading
import time
from typing import Dict, List, Optional, Tuple

import sublime
from GeminiCompanion import plugin
from GeminiCompanion.companion.ide.questions import Question
from GeminiCompanion.companion.ide.windows import Windows

from headless import running

# Seconds between samples, and between what the user does.
SAMPLE = 1.0
ACT = 0.01
DIFF = "gemini_companion_diff"


class Latencies:
    """What the CLIs measured since somebody asked."""

    def __init__(self, clients: subprocess.Popen[bytes]) -> None:
        self._clients = clients
        self._lines: List[Tuple[str, float]] = []
        threading.Thread(target=self._read_lines, daemon=True).start()

    def take(self) -> Dict[str, List[float]]:
        lines, self._lines = self._lines, []
        return {
            kind: [seconds for name, seconds in lines if name == kind]
            for kind in ("pair", "decision")
        }

    def _read_lines(self) -> None:
        for line in self._clients.stdout or ():
            kind, _, seconds = line.decode().partition(" ")
            self._lines.append((kind, float(seconds)))


def main(seconds: str, report: str) -> None:
    window = sublime.active_window()
    folder = window.folders()[0]
    path = os.path.join(folder, "edited.py")
    with open(path, "w") as file:
        file.write("a line\n" * 1000)
    view = window.open_file(path)
    while not plugin._host.environment_of(window):
        time.sleep(ACT)
    with subprocess.Popen(
        [sys.executable, "-m", "bench.soak_clients", folder],
        env={**os.environ, **plugin._host.environment_of(window)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as clients:
        samples = _take_samples(window, view, Latencies(clients), float(seconds))
        if clients.poll() is not None:
            raise RuntimeError("the CLIs did not last")
        clients.terminate()
    with open(report, "w") as file:
        json.dump(samples, file)


def _take_samples(
    window: sublime.Window, view: sublime.View, latencies: Latencies, seconds: float
) -> List[Dict[str, Optional[float]]]:
    samples: List[Dict[str, Optional[float]]] = []
    began = next_sample = time.monotonic()
    ui = running.current().queues.ui
    while time.monotonic() - began < seconds:
        _act_once(window, view)
        time.sleep(ACT)
        if time.monotonic() >= next_sample + SAMPLE:
            next_sample = time.monotonic()
            measured = latencies.take()
            samples.append(
                {
                    "second": next_sample - began,
                    "longest callback": ui.longest,
                    "decisions": len(measured["decision"]),
                    **_measure_process(),
                    **_measure_companion(),
                    **_make_quantiles("open and close", measured["pair"]),
                    **_make_quantiles("decision", measured["decision"]),
                }
            )
            ui.reset_statistics()
    return samples


def _act_once(window: sublime.Window, view: sublime.View) -> None:
    """Something that a user does."""
    point = random.randrange(view.size())
    view.sel().clear()
    view.sel().add(sublime.Region(point, point + random.randrange(100)))
    for other in window.views():
        settings = other.settings()
        if settings.get(DIFF) and "pair" not in other.name() and random.random() < 0.3:
            # The moment, for the CLI that waits.
            other.run_command("append", {"characters": f"# {time.monotonic()}"})
            window.focus_view(other)
            window.run_command(
                f"gemini_companion_{random.choice(('accept', 'accept', 'reject'))}_diff"
            )
        elif "older proposal" in other.name():
            other.set_scratch(True)
            other.close()
    editor = running.current()
    if editor.active_window is not None and editor.active_window.question is not None:
        editor.ui(editor.active_window.answer, 1)


def _measure_process() -> Dict[str, Optional[float]]:
    """What this process uses; None where the system has no /proc."""
    found: Dict[str, Optional[float]] = {"memory": None, "descriptors": None}
    if os.path.isdir("/proc/self/fd"):
        with open("/proc/self/statm") as file:
            found["memory"] = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        found["descriptors"] = len(os.listdir("/proc/self/fd"))
    return {**found, "threads": threading.active_count()}


class Tasks(Question[Tuple[int, int]]):
    """How many there are on the companion's loop, and how many CLIs are connected."""

    def find_answer(self, windows: Windows) -> Tuple[int, int]:
        connected = sum(status.connected for status in windows.statuses())
        return len(asyncio.all_tasks()), connected


def _measure_companion() -> Dict[str, Optional[float]]:
    """What goes on on the companion's own thread."""
    if plugin._host.companion is None:
        raise RuntimeError("the package is not loaded")
    answer = plugin._host.companion.ask(Tasks())
    while not answer.is_there:
        time.sleep(0.001)
    tasks, connected = answer.result()
    return {"tasks": tasks, "connected": connected}


def _make_quantiles(name: str, values: List[float]) -> Dict[str, Optional[float]]:
    ordered = sorted(values)
    if not ordered:
        return {name + ", p50": None, name + ", p99": None}
    at = [ordered[int(share * (len(ordered) - 1))] for share in (0.5, 0.99)]
    return {name + ", p50": at[0], name + ", p99": at[1]}


if __name__ == "__main__":
    main(*sys.argv[1:])
