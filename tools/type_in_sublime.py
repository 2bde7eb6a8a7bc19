"""Types into a chat of a real Sublime Text as a person does, while an agent's answer streams.

    python -m tools.type_in_sublime

SUBLIME=path or BUILD=number as for tools.judge_sublime; DISPLAY has an X server with a window
manager (tools/start_screen.sh), and xdotool is there. With REPORT=path, pictures of the screen are
kept there, one for each step. What is typed has to stand in the composer, no more and no less.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from typing import Any, Callable, Dict, List

from . import judge_sublime, real_editor
from .real_editor import ROOT, Refused

PATIENCE = 60.0  # seconds that a step may take
KEY_MS = 125  # between two keys, as a person types
WORDS = "the quick brown fox jumps over the lazy dog while words stream above it"
# In the editor: tells every 100 ms what a person would see.
TELLER = """
import json
import os

import sublime

PATH = %r
LINE = "\\u2501" * 40 + "\\n"


def plugin_loaded():
    sublime.set_timeout(begin, 3000)


def begin():
    window = sublime.active_window()
    if any(view.settings().get("gemini_companion_is_chat") for view in window.views()):
        tell()
    else:
        window.run_command("gemini_companion_new_chat", {"agent": "slow"})
        sublime.set_timeout(begin, 2000)


def tell():
    window = sublime.active_window()
    seen = {"groups": window.num_groups(), "is_chat": False}
    view = window.active_view()
    if view is not None:
        text = view.substr(sublime.Region(0, view.size()))
        transcript, line, composer = text.rpartition(LINE)
        seen.update(is_chat=bool(line), transcript=transcript, composer=composer)
    with open(PATH + ".new", "w", encoding="utf-8") as file:
        json.dump(seen, file)
    os.replace(PATH + ".new", PATH)
    sublime.set_timeout(tell, 100)
"""


class Wrong(Exception):
    """What was expected, and what was seen."""


class Person:
    """Types, and looks at what the editor shows. `seen` is the file that TELLER writes."""

    def __init__(self, seen: str, report: str) -> None:
        self._seen = seen
        self._report = report
        self._pictures = 0

    def look(self) -> Dict[str, Any]:
        with contextlib.suppress(FileNotFoundError):
            with open(self._seen, encoding="utf-8") as file:
                return dict(json.load(file))
        return {"is_chat": False, "groups": 0, "composer": "", "transcript": ""}

    def type(self, text: str) -> None:
        subprocess.check_call(["xdotool", "type", "--delay", str(KEY_MS), text])

    def press(self, *keys: str) -> None:
        subprocess.check_call(["xdotool", "key", *keys])

    def expect(self, what: str, holds: Callable[[Dict[str, Any]], bool]) -> None:
        """Wait until that is so, and keep a picture. Raises Wrong."""
        end = time.monotonic() + PATIENCE
        while not holds(self.look()):
            if time.monotonic() > end:
                self._keep_picture("wrong")
                raise Wrong(f"expected {what}; seen: {json.dumps(self.look())[-600:]}")
            time.sleep(0.1)
        print("seen:", what)
        self._keep_picture("step")

    def _keep_picture(self, name: str) -> None:
        if self._report and shutil.which("import"):
            os.makedirs(self._report, exist_ok=True)
            self._pictures += 1
            path = os.path.join(self._report, f"typing-{self._pictures:02}-{name}.png")
            subprocess.call(["import", "-window", "root", path])


def walk_chat(person: Person) -> None:
    """What a person does in a chat. Raises Wrong."""
    person.expect("an empty chat in front", lambda seen: seen["is_chat"])
    person.type("go")
    person.press("ctrl+Return")
    person.expect("words of the agent", lambda seen: "word 9 " in seen["transcript"])
    person.type(WORDS)
    person.expect("all that was typed, and nothing else", lambda seen: seen["composer"] == WORDS)
    person.press("ctrl+z")
    person.expect(
        "a part of it after Undo",
        lambda seen: seen["composer"] != WORDS and WORDS.startswith(seen["composer"]),
    )
    person.press("ctrl+y")
    person.expect("all of it after Redo", lambda seen: seen["composer"] == WORDS)
    person.press("ctrl+a")
    person.type("x")
    person.expect("the one key after Select All", lambda seen: seen["composer"] == "x")
    person.expect("the transcript as it was", lambda seen: "word 9 " in seen["transcript"])
    person.press("alt+shift+2")
    person.expect("two groups", lambda seen: seen["groups"] == 2)
    person.press("ctrl+1")
    person.type("y")
    person.expect("keys in the chat beside another group", lambda seen: seen["composer"] == "xy")


def lay_chat(data: str, seen: str) -> None:
    """The package as users get it, with an agent that streams, and the plugin that tells."""
    real_editor.lay_package(data)
    agent = [sys.executable, os.path.join(ROOT, "tools", "slow_agent.py")]
    settings = {"agents": {"slow": {"command": agent}}, "usual_agent": "slow"}
    text = json.dumps(settings).encode()
    real_editor.lay_settings(data, {"GeminiCompanion.sublime-settings": text})
    real_editor.lay_plugin(data, "GeminiCompanionTyping", TELLER % seen)


def main() -> int:
    """The exit status."""
    missing: List[str] = [tool for tool in ("xdotool",) if not shutil.which(tool)]
    if missing or not os.environ.get("DISPLAY"):
        print("Needed: xdotool, and DISPLAY with an X server.")
        return 2
    with contextlib.ExitStack() as stack:
        try:
            sublime = stack.enter_context(judge_sublime.chosen_editor())
            folder = stack.enter_context(real_editor.temporary_folder())
            program = real_editor.find_program(sublime)
            editor = real_editor.editor_in(program, folder)
        except (Refused, OSError) as error:
            print(error)
            return 2
        seen = os.path.join(folder, "seen.json")
        lay_chat(editor.data, seen)
        process = editor.start(["--new-window"])
        try:
            walk_chat(Person(seen, os.environ.get("REPORT", "")))
        except Wrong as error:
            print(f"FAILED: {error}")
            return 1
        finally:
            editor.end(process)
    print("All that was typed was there.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
