"""Runs all tests: `python tools/run_tests.py`; with `fuzz`, many more of the random ones.

The parts run in three lanes at once, because those with the real CLI wait most of the time. What a
part says is shown when it ends; then one line tells what was skipped in all of them.
"""

from __future__ import annotations

import glob
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import List, Tuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PYTEST = ("-W", "error", "-m", "pytest")
# Of the tests with the real CLI, those of the agent and its API take about as long as all others.
E2E = os.path.join("tests", "e2e")
API = tuple(sorted(glob.glob(os.path.join(ROOT, E2E, "test_a*.py"))))
ADAPTER = ("-O", "-m", "headless", "--exec", "tests/run.py")
# By name, with the arguments of Python; a lane's parts run one after the other.
TESTS = (
    (("the real CLI in its terminal", (*PYTEST, E2E, "--ignore-glob", "*/test_a*.py")),),
    (("the real CLI behind the API", (*PYTEST, *API)),),
    (
        ("the adapter in an editor", ADAPTER),
        ("the core", (*PYTEST, "--ignore", "tests/e2e")),
    ),
)
FUZZ = (
    (("the core, simulated", ("-m", "tests.ide.simulator", "--seeds", "100000", "--jobs", "2")),),
    (("the API, as described", ("-m", "pytest", "-s", "tests/e2e/test_api_schema.py")),),
    (
        ("the adapter with faults", (*ADAPTER, "--", "tests/ui/faults_test.py")),
        ("the servers", ("-m", "pytest", "-s", "tests/ide/test_fuzz.py")),
    ),
)
# What a part's line about tests that did not run begins with; see tests/conftest.py.
SKIPPED = "skipped: "

Part = Tuple[str, Tuple[str, ...]]


class Run:
    """`failed` are the names of parts, `skipped` is what the parts said of tests."""

    def __init__(self) -> None:
        self.failed: List[str] = []
        self.skipped: List[str] = []
        # Held by whoever writes here or to the terminal.
        self._lock = threading.Lock()

    def lane(self, parts: Tuple[Part, ...]) -> None:
        for name, arguments in parts:
            self._part(name, arguments)

    def _part(self, name: str, arguments: Tuple[str, ...]) -> None:
        begun = time.monotonic()
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        output = done.stdout.decode("utf-8", "replace")
        with self._lock:
            seconds = time.monotonic() - begun
            print(f"\n== Tests of {name}: {seconds:.0f} s ==\n{output}", flush=True)
            if done.returncode:
                self.failed.append(f"{name} (status {done.returncode})")
            lines = (line.rstrip() for line in output.splitlines())
            self.skipped += [line[len(SKIPPED) :] for line in lines if line.startswith(SKIPPED)]


def main(is_fuzz: bool) -> int:
    # A terminal of another encoding shows what it can.
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    lanes = FUZZ if is_fuzz else TESTS
    print("Running the tests of", ", ".join(name for lane in lanes for name, _ in lane), flush=True)
    run = Run()
    with ThreadPoolExecutor(len(lanes)) as pool:
        list(pool.map(run.lane, lanes))
    print(SKIPPED + ("; ".join(run.skipped) or "nothing"))
    if run.failed:
        print("FAILED: tests of", ", ".join(run.failed))
    return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(main(is_fuzz=sys.argv[1:] == ["fuzz"]))
