"""Runs the probe in the headless editor: its answers are in the file that is named.

python -m headless --exec tests/tools/probe_inside.py -- ANSWERS.json
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import sublime

# Sublime Text may need more; what the headless editor does, it does in a few milliseconds.
probe: Any = sys.modules["User.probe_sublime"]
probe.LONG, probe.SHORT = 200, 20
sublime.active_window().run_command("gemini_probe", {"path": sys.argv[1]})
while not os.path.exists(sys.argv[1]):
    time.sleep(0.02)
