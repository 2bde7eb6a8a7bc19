"""Loads the package under the genuine Python files of a Sublime Text, whose program is made up.

python tools/judge_genuine.py LAYER PARENT

LAYER has sublime.py and sublime_plugin.py, PARENT the folder of the package. Prints a line of JSON:
the commands that the genuine code registered, and the events that it tells our listeners.
"""

from __future__ import annotations

import importlib
import importlib.abc
import json
import sys
import types
from typing import Any, Callable

NAME = "GeminiCompanion"
ANSWERS = {"platform": "linux", "version": "4200", "arch": "x64", "channel": "stable"}


class Program(types.ModuleType):
    """Stands for what is compiled into the program: whatever is asked, next to nothing."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_arguments: ANSWERS.get(name, "")


def main(layer: str, parent: str) -> None:
    sys.path[:] = [layer, parent] + [path for path in sys.path if path not in ("", sys.path[0])]
    sys.modules["sublime_api"] = Program("sublime_api")
    try:
        plugin: Any = importlib.import_module("sublime_plugin")
    finally:
        # They have become the console of the editor.
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    plugin.reload_plugin(NAME + ".plugin")
    classes = [
        cls
        for known in (
            plugin.application_command_classes,
            plugin.window_command_classes,
            plugin.text_command_classes,
        )
        for cls in known
    ]
    told = sorted(event for event, callbacks in plugin.all_callbacks.items() if callbacks)
    commands = sorted(cls.name(object.__new__(cls)) for cls in classes)
    print("GENUINE " + json.dumps({"commands": commands, "events": told}))


if __name__ == "__main__":
    main(*sys.argv[1:])
