"""`make judge-sublime SUBLIME=path`: the package under the Sublime Text of that folder.

make judge-sublime SUBLIME=path | BUILD=number | BUILD=newest
                   [UNITTESTING=path LIBRARIES=path] [HOST_PYTHON=path] [UNPACKED=1]
                   [ONLY=test_x.py] [REPORT=path]

First our plugin is loaded by the genuine sublime_plugin.py that lies there. Then, where UNITTESTING
names a checkout of that package, it runs all our tests in a copy of that Sublime Text, which has a
data folder of its own. There the package is the zip that users get; UNPACKED=1 makes it a folder,
which UnitTesting loads anew before the tests. LIBRARIES is a folder with what UnitTesting imports:
sublime_aio.py. BUILD is downloaded. REPORT gets what the tests said
and, under X11, a picture of the screen at their end. What is printed is meant to be pasted.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Any, Dict, Iterator, List, Set, Tuple

from headless import values

from . import real_editor
from .real_editor import ROOT, Refused

GENUINE = os.path.join(ROOT, "tools", "judge_genuine.py")
NAME = real_editor.NAME
PATIENCE = 1800.0  # seconds for all tests
# A plugin. UnitTesting may be loaded after it, so it tries until the tests begin.
STARTER = """
import os

import sublime

ARGUMENTS = %r


def plugin_loaded():
    sublime.set_timeout(start, 3000)


def start():
    if not os.path.exists(ARGUMENTS["output"]):
        sublime.active_window().run_command("unit_testing", ARGUMENTS)
        sublime.set_timeout(start, 2000)
"""


def main() -> int:
    """The exit status: 0 where all that could be asked was as it should be."""
    with contextlib.ExitStack() as stack:
        try:
            sublime = stack.enter_context(chosen_editor())
        except (Refused, OSError) as error:
            print(error)
            return 2
        layers = _find_layers(sublime)
        if not layers:
            print(
                "SUBLIME=path is needed: the folder that has Lib/python38/sublime_plugin.py in it."
            )
            return 2
        return _judge_editor(sublime, layers)


def _judge_editor(sublime: str, layers: List[str]) -> int:
    program = real_editor.find_program(sublime)
    print("Judged on %s, %s" % (platform.platform(), program or "no program"))
    problems: List[str] = []
    for layer in layers:
        found, told = _load_package(layer)
        problems += found
        print("%s: %s" % (os.path.relpath(layer, sublime), told))
    print(_in_a_copy(sublime, os.environ.get("UNITTESTING", ""), problems))
    for problem in problems:
        print("  " + problem)
    return 1 if problems else 0


@contextlib.contextmanager
def chosen_editor() -> Iterator[str]:
    """The folder of SUBLIME, or one with BUILD in it. Raises Refused and OSError."""
    build = os.environ.get("BUILD", "")
    if not build:
        yield os.path.abspath(os.environ.get("SUBLIME") or os.devnull)
        return
    with real_editor.temporary_folder() as folder:
        number = real_editor.newest_build() if build == "newest" else build
        real_editor.download_editor(number, folder)
        yield folder


def _find_layers(sublime: str) -> List[str]:
    """The folders with the genuine files, for each plugin host that can load the package."""
    found = glob.glob(os.path.join(sublime, "**", "sublime_plugin.py"), recursive=True)
    return sorted(os.path.dirname(path) for path in found if "python33" not in path)


def _load_package(layer: str) -> Tuple[List[str], str]:
    """What is wrong, and a sentence."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT, os.path.join(folder, NAME), ignore=_only_the_package)
        python = os.environ.get("HOST_PYTHON") or sys.executable
        done = subprocess.run(
            [python, "-O", GENUINE, layer, folder],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
        )
    output = done.stdout.decode("utf-8", "replace")
    answers = [line[8:] for line in output.splitlines() if line.startswith("GENUINE ")]
    if done.returncode or not answers:
        return ["the package does not load:\n" + output], "not loaded"
    said: Dict[str, List[str]] = json.loads(answers[-1])
    missing = sorted(_offered_commands() - set(said["commands"]))
    told = "loaded, %d commands, %d events" % (len(said["commands"]), len(said["events"]))
    return ["no command %s" % name for name in missing], told


def _offered_commands() -> Set[str]:
    """The names of our commands that the palette or the menu names. What stands in a list of the
    palette, the menu alone has."""
    found = set()
    for name in ("Default.sublime-commands", "Main.sublime-menu"):
        with open(os.path.join(ROOT, name), encoding="utf-8") as file:
            found |= _named_commands(values.parse(file.read()))
    return {name for name in found if name.startswith("gemini_")}


def _named_commands(entries: List[Dict[str, Any]]) -> Set[str]:
    """The commands of the entries, and of the folders among them."""
    found = {entry["command"] for entry in entries if "command" in entry}
    return found.union(*(_named_commands(entry.get("children", [])) for entry in entries))


def _only_the_package(folder: str, names: List[str]) -> List[str]:
    if os.path.samefile(folder, ROOT):
        return [name for name in names if name not in ("companion", "plugin.py", "carried")]
    return [name for name in names if name == "__pycache__"]


def _in_a_copy(sublime: str, unittesting: str, problems: List[str]) -> str:
    """Run our tests in a copy with a data folder of its own; a sentence."""
    if not unittesting or not real_editor.find_program(sublime):
        return "Tests: not run. They need UNITTESTING=path and the program of Sublime Text."
    if sys.platform == "linux" and not os.environ.get("DISPLAY"):
        return "Tests: not run. There is no display (xvfb-run gives one)."
    with real_editor.temporary_folder() as folder:
        copy = os.path.join(folder, "copy")
        shutil.copytree(sublime, copy, symlinks=True)
        try:
            editor = real_editor.editor_in(real_editor.find_program(copy), folder)
        except Refused as error:
            return "Tests: not run. %s" % error
        output = lay_tests(editor.data, os.path.abspath(unittesting))
        process = editor.start(["--new-window"])
        try:
            text = _wait_for(output)
            _keep_report(text)
        finally:
            editor.end(process)
    last = [line for line in text.splitlines() if line.startswith(("OK", "FAILED", "Ran "))]
    if not any(line.startswith("OK") for line in last):
        problems.append(text[-4000:] or "the tests did not begin")
    return "Tests: " + (", ".join(last) or "no end within %d s" % PATIENCE)


def lay_tests(data: str, unittesting: str) -> str:
    """Put all there that begins the tests once the editor starts; the path of their output."""
    is_unpacked = bool(os.environ.get("UNPACKED"))
    output = os.path.join(data, "output.txt")
    libraries = os.environ.get("LIBRARIES", "")
    real_editor.lay_package(data, is_unpacked)
    arguments: Dict[str, object] = {
        "package": real_editor.lay_tests(data, unittesting, libraries, is_unpacked),
        "output": output,
        "reload_package_on_testing": is_unpacked,
    }
    if os.environ.get("ONLY"):
        arguments["pattern"] = os.environ["ONLY"]
    real_editor.lay_plugin(data, NAME + "Start", STARTER % arguments)
    return output


def _keep_report(text: str) -> None:
    folder = os.environ.get("REPORT", "")
    if not folder:
        return
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "tests.txt"), "w", encoding="utf-8") as file:
        file.write(text)
    if os.environ.get("DISPLAY") and shutil.which("import"):
        subprocess.call(["import", "-window", "root", os.path.join(folder, "screen.png")])


def _wait_for(path: str) -> str:
    """The text of the tests' output, once it says that it is done, or when it takes too long."""
    text = ""
    for _turn in range(int(PATIENCE)):
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                text = file.read()
        if "UnitTesting: Done." in text:
            break
        time.sleep(1)
    return text


if __name__ == "__main__":
    sys.exit(main())
