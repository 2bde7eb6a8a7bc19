"""A companion without an editor, as a process: prints port and token, ends with its input."""

from __future__ import annotations

import os
import sys
import time

from companion.ide.companion import Companion
from companion.ide.editor import Editor
from companion.ide.events import WindowsChanged

from .fake_editor import FakeEditor

WINDOW = 1
# Seconds that a start may take before it counts as failed, and between looks.
PATIENCE = 60.0
LOOK = 0.005


def start_companion(companion: Companion, editor: Editor, folder: str) -> "dict[str, str]":
    """Start it for the editor with one window on the folder; the variables that lead to its server.

    Raises TimeoutError."""
    companion.post(WindowsChanged({WINDOW: (folder,)}))
    companion.start(editor)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if WINDOW in companion.environments:
            return dict(companion.environments[WINDOW])
        time.sleep(LOOK)
    raise TimeoutError("the companion did not start")


if __name__ == "__main__":
    _companion = Companion(os.getpid())
    _variables = start_companion(_companion, FakeEditor(), os.getcwd())
    print(_variables["GEMINI_CLI_IDE_SERVER_PORT"], _variables["GEMINI_CLI_IDE_AUTH_TOKEN"])
    sys.stdout.flush()
    sys.stdin.read()
    _companion.stop()
