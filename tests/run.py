"""Runs the adapter's tests inside an editor: python -m headless --exec tests/run.py -- [ARGS]."""

from __future__ import annotations

import os
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))

if __name__ == "__main__":
    # With -O pytest warns that assert statements do nothing: these tests have none.
    options = ["-W", "ignore:assertions not in test modules"]
    # The fault handler wants a main thread's signals, and this thread is none.
    options += ["-p", "no:faulthandler", "-p", "no:cacheprovider"]
    options += ["--rootdir", os.path.dirname(HERE)]
    sys.exit(pytest.main(options + (sys.argv[1:] or [os.path.join(HERE, "ui")])))
