"""The walk of tools.type_in_sublime inside the headless editor, with its keys.

python -m headless --exec tests/tools/typing_inside.py -- SEEN.json
"""

from __future__ import annotations

import os
import sys
import time

from headless import running
from headless.keyboard import Keyboard

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
from tools import type_in_sublime  # noqa: E402 - the editor keeps the checkout off the path

COLUMNS = {"cols": [0, 0.5, 1], "rows": [0, 1], "cells": [[0, 0, 1, 1], [1, 0, 2, 1]]}
NAMES = {"ctrl+Return": "ctrl+enter"}


class HeadlessPerson(type_in_sublime.Person):
    """Presses keys of the headless editor; those that it lacks, it does as their command."""

    def type(self, text: str) -> None:
        for character in text:
            self._press(character)
            # Words of the agent come in between.
            time.sleep(0.02)

    def press(self, *keys: str) -> None:
        for key in keys:
            if key == "alt+shift+2":
                editor.ui(lambda: editor.windows[0].set_layout(COLUMNS))
            elif key != "ctrl+1":
                self._press(NAMES.get(key, key))

    def _press(self, key: str) -> None:
        editor.ui(lambda: keyboard.press(editor.windows[0].active_view(), key))


editor = running.current()
keyboard = Keyboard(editor)
try:
    type_in_sublime.walk_chat(HeadlessPerson(sys.argv[1], ""))
except type_in_sublime.Wrong as error:
    sys.exit(f"FAILED: {error}")
