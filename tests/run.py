"""Runs the adapter's tests inside an editor: python -m headless --exec tests/run.py -- [ARGS]."""

from __future__ import annotations

import json
import os
import sys

import pytest
import sublime
import unittesting

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from tests.waiting import wait_for  # noqa: E402

if __name__ == "__main__":
    # Of the milliseconds that a condition may take, a busy machine needs many.
    with open(os.path.join(os.path.dirname(HERE), "unittesting.json"), encoding="utf-8") as file:
        unittesting.TIMEOUT = json.load(file)["condition_timeout"]
    # What the package has by then is none of a test's.
    host, window = sys.modules["GeminiCompanion.plugin"]._host, sublime.active_window()
    wait_for(lambda: host.environment_of(window))
    # With -O pytest warns that assert statements do nothing: these tests have none.
    options = ["-W", "ignore:ASSERTIONS ARE NOT EXECUTED"]
    # The fault handler wants a main thread's signals, and this thread is none.
    options += ["-p", "no:faulthandler", "-p", "no:cacheprovider"]
    options += ["--rootdir", os.path.dirname(HERE)]
    sys.exit(pytest.main(options + (sys.argv[1:] or [os.path.join(HERE, "ui")])))
