"""Runs inside an editor that does not have the package yet: loads it and watches the editor.

`python -m headless FOLDER --package EMPTY --exec bench/inside/load.py -- REPOSITORY LIBRARIES
REPORT`: writes REPORT, a JSON object of seconds and bytes. The one thing here that is not Sublime's
own API is how the package is loaded, for which Sublime has none.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import sys
import threading
import time
from array import array
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional

import sublime

from headless import running
from headless.queues import Queue

# Seconds for the discovery file to come, between looks for it, and for the editor to calm down.
PATIENCE = 30.0
LOOK = 0.001
CALM = 1.0
# Milliseconds between ticks of the editor's thread.
TICK = 1


class Ticker:
    """Ticks on the editor's thread until `stop`; `longest` seconds lay between two ticks."""

    def __init__(self) -> None:
        self.longest = 0.0
        self._last: Optional[float] = None
        self._stopped = False
        self.tick()

    def stop(self) -> None:
        self._stopped = True

    def tick(self) -> None:
        now = time.perf_counter()
        if self._last is not None:
            self.longest = max(self.longest, now - self._last)
        self._last = now
        if not self._stopped:
            sublime.set_timeout(self.tick, TICK)


class Held(NamedTuple):
    """Seconds for which something held the editor's thread, and those of them in which that had a
    processor: on a machine with other work, or beside a busy thread, it waits for one; and those
    of full collections of garbage meanwhile, in any thread."""

    wall: float
    busy: float
    collected: float


class Collections:
    """Full collections of garbage: they walk through all objects of the editor and its packages, at
    moments of Python's choice. The `seconds` of all of them, and of the longest."""

    OLDEST_GENERATION = 2

    def __init__(self) -> None:
        self.seconds = self.longest = self._began = 0.0
        gc.callbacks.append(self._note_collection)

    def _note_collection(self, phase: str, info: Dict[str, int]) -> None:
        if info["generation"] != self.OLDEST_GENERATION:
            return
        if phase == "start":
            self._began = time.perf_counter()
        else:
            lasted = time.perf_counter() - self._began
            self.seconds += lasted
            self.longest = max(self.longest, lasted)


collections = Collections()


class Costs:
    """What many callbacks cost, one after the other. Kept as numbers: the garbage collector would
    walk through as many objects, within one of the callbacks."""

    def __init__(self) -> None:
        self._seconds = array("d")

    def __iter__(self) -> Iterator[Held]:
        found = self._seconds
        return (Held(*found[at : at + 3]) for at in range(0, len(found), 3))

    def append(self, cost: Held) -> None:
        self._seconds.extend(cost)

    def clear(self) -> None:
        del self._seconds[:]


def main(repository: str, libraries: str, report: str) -> None:
    """`libraries` are the names of modules, with commas, that are imported before."""
    editor = running.current()
    package = editor.packages.at(repository)
    editor.packages.add(package)
    for name in filter(None, libraries.split(",")):
        importlib.import_module(name)
    before = resident_bytes()
    # Apart from the rest of the load, which finds the module imported.
    imported = time_run(lambda: importlib.import_module("GeminiCompanion.plugin"))
    ticker = Ticker()
    editor.queues.ui.reset_statistics()
    held = watch_queue(editor.queues.ui, ticker.tick)
    began = time.perf_counter()
    editor.queues.ui.post(editor.plugins.follow)
    published = _wait_published() - began
    time.sleep(CALM)
    ticker.stop()
    result: Dict[str, Optional[float]] = {
        "import": imported.wall,
        "published": published,
        "callback": editor.queues.ui.longest,
        "gap": ticker.longest,
        "in all": imported.wall + sum(each.wall for each in held),
        "busy": imported.busy + sum(each.busy for each in held),
        "memory": None if before is None else (resident_bytes() or 0) - before,
    }
    with open(report, "w") as file:
        json.dump(result, file)


def watch_queue(queue: Queue, but: Optional[Callable[[], object]] = None) -> Costs:
    """Gets what each callback costs from now on, `but` for one."""
    held = Costs()
    run_one = queue.run_one

    def measured(callback: Callable[[], object]) -> None:
        if callback == but:
            run_one(callback)
        else:
            held.append(_measure_cost(lambda: run_one(callback)))

    queue.run_one = measured  # type: ignore[method-assign]
    return held


def _measure_cost(run: Callable[[], object]) -> Held:
    wall, busy, collected = time.perf_counter(), time.thread_time(), collections.seconds
    run()
    collected = collections.seconds - collected
    return Held(time.perf_counter() - wall, time.thread_time() - busy, collected)


def time_run(run: Callable[[], object]) -> Held:
    """What it costs the editor's thread."""
    costs: List[Held] = []
    done = threading.Event()

    def held() -> None:
        costs.append(_measure_cost(run))
        done.set()

    sublime.set_timeout(held, 0)
    if not done.wait(PATIENCE):
        raise TimeoutError("the editor's thread is busy")
    return costs[0]


def _wait_published() -> float:
    """The moment at which the discovery file is there. Raises TimeoutError."""
    folder = os.path.join(os.environ["TMPDIR"], "gemini", "ide")
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if os.path.isdir(folder) and any(name.endswith(".json") for name in os.listdir(folder)):
            return time.perf_counter()
        time.sleep(LOOK)
    raise TimeoutError("no discovery file")


def resident_bytes() -> Optional[int]:
    """Bytes of this process in memory, None where the system has no /proc."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


if __name__ == "__main__":
    main(*sys.argv[1:])
