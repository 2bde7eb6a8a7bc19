"""Starts a CLI's own program, to see that it runs, in a thread: it may take seconds.

A program can be there and not run, for example without Node.js.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Mapping

from ...base.child_processes import run_program
from ...base.shown_text import shown_line
from .facts import FoundProgram

# Seconds that a program has to tell its version: a machine may be busy.
PATIENCE = 20.0
# Seconds that an examination waits for it. What it says later, the next examination tells.
WAIT = 1.0
# The most characters of what it says.
MOST = 200
# By what a start depends on: a path, that of Node.js, PATH, and when the program was modified.
_trials: dict[tuple[str, str, str, float], _Trial] = {}
MOST_TRIALS = 50
_lock = threading.Lock()


class _Trial:
    """The starts of one program, one at a time: once it has run, there is no other one. After a
    failure there is, because the user may have mended that; until it ends, the failure stands."""

    def __init__(self) -> None:
        self.failure = ""
        self._is_over = False
        self._thread: threading.Thread | None = None

    def begin(self, path: str, environment: Mapping[str, str], home: str) -> None:
        """Start the program, unless it runs or has run. The caller holds the lock."""
        if not self._is_over and (self._thread is None or not self._thread.is_alive()):
            work = partial(self._run_program, path, environment, home)
            self._thread = threading.Thread(target=work, name="trial of a CLI", daemon=True)
            self._thread.start()

    def wait(self) -> None:
        if self._thread is not None:
            self._thread.join(WAIT)

    def _run_program(self, path: str, environment: Mapping[str, str], home: str) -> None:
        self.failure = _start_failure(path, environment, home)
        self._is_over = not self.failure


def try_program(program: FoundProgram, environment: Mapping[str, str], home: str) -> FoundProgram:
    """The program with its failure. One that gives no answer in time has not failed."""
    if not program.path or not program.is_on_path:
        return program
    key = (program.path, program.node, environment.get("PATH", ""), _modified_time(program.path))
    with _lock:
        for old in list(_trials)[:-MOST_TRIALS]:
            del _trials[old]
        trial = _trials.setdefault(key, _Trial())
        trial.begin(program.path, environment, home)
    trial.wait()
    return replace(program, failure=trial.failure)


def _start_failure(path: str, environment: Mapping[str, str], home: str) -> str:
    try:
        ended = run_program(
            path, "--version", seconds=PATIENCE, environment=environment, folder=home
        )
    except OSError as error:
        return f"it cannot be started ({error.strerror})"
    if ended is None or ended.status == 0:
        return ""
    lines = [
        line.strip() for line in (ended.errors + "\n" + ended.output).splitlines() if line.strip()
    ]
    words = f": {shown_line(lines[0])[:MOST]}" if lines else ""
    return f"its exit status is {ended.status}{words}"


def _modified_time(path: str) -> float:
    with suppress(OSError):
        return os.stat(path).st_mtime
    return 0.0
