"""Runs the tests of one package with the genuine UnitTesting, inside the headless editor.

python -m headless --exec tools/judge_inside.py -- PACKAGE ANSWER.json
"""

from __future__ import annotations

import json
import os
import sys
import threading
import unittest
from typing import Any, Dict, Iterator, List

import sublime

CONDITION_MS = 20000  # what a condition without a time limit of its own may take
# Bound here: tests replace both while this waits for their end.
_exists, _open = os.path.exists, open


class Record:
    """What the first runner runs; UnitTesting's own tests start others."""

    def __init__(self) -> None:
        self.result: Any = None
        self.all: List[str] = []
        self.ran: List[str] = []

    def watch(self, runner: Any) -> None:
        """Look over the shoulder of a class of runners."""
        run = runner.run

        def watched(this: Any, suite: Any) -> Any:
            if self.result is None:
                self._hold_result(this, suite)
            return run(this, suite)

        runner.run = watched

    def _hold_result(self, runner: Any, suite: Any) -> None:
        self.all = [test.id() for test in _list_tests(suite)]
        self.result = runner._makeResult()
        start = self.result.startTest

        def started(test: Any) -> None:
            self.ran.append(test.id())
            start(test)

        self.result.startTest = started
        runner._makeResult = lambda: self.result

    def answer(self) -> Dict[str, Any]:
        result = self.result
        return {
            "all": self.all,
            "ran": list(dict.fromkeys(self.ran)),
            "failures": _by_id(result.failures if result else []),
            "errors": _by_id(result.errors if result else []),
            "skipped": _by_id(result.skipped if result else []),
        }


def _list_tests(suite: Any) -> Iterator[unittest.TestCase]:
    for each in suite:
        if isinstance(each, unittest.TestCase):
            yield each
        elif each is not None:
            yield from _list_tests(each)


def _by_id(reports: Any) -> Dict[str, str]:
    found: Dict[str, str] = {}
    for test, text in reports:
        # A part of a test (subTest) counts as its test.
        name = getattr(test, "test_case", test).id()
        found[name] = found.get(name, "") + text
    return found


def main(package: str, path: str) -> int:
    record = Record()
    module = sys.modules["unittesting"]
    for runner in {unittest.TextTestRunner, _find_runner(module)}:
        record.watch(runner)
    output = os.path.join(os.path.dirname(path), "output.txt")
    window = sublime.active_window()
    # In Sublime an empty view stands there again once the last one was closed; here it stays.
    window.new_file()
    arguments: Dict[str, Any] = {
        "package": package,
        "output": output,
        "condition_timeout": CONDITION_MS,
    }
    if os.environ.get("ONLY"):
        arguments["pattern"] = os.environ["ONLY"]
    window.run_command("unit_testing", {**arguments, "capture_console": False})
    _wait_for_end(output)
    with open(output, encoding="utf-8") as file:
        text = file.read()
    if record.result is None and "No tests are found" not in text:
        sys.stdout.write(text)
        return 1
    with open(path, "w", encoding="utf-8") as file:
        json.dump(record.answer(), file)
    return 0


def _find_runner(module: Any) -> Any:
    return sys.modules[module.__name__].core.DeferringTextTestRunner


def _wait_for_end(output: str) -> None:
    """The parent ends this process where that takes too long."""
    while True:
        if _exists(output):
            with _open(output, encoding="utf-8") as file:
                if "UnitTesting: Done." in file.read():
                    return
        threading.Event().wait(0.2)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
