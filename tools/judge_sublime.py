"""`make judge-sublime SUBLIME=path`: the package under the Sublime Text of that folder.

make judge-sublime SUBLIME=path [UNITTESTING=path] [HOST_PYTHON=path]

First our plugin is loaded by the genuine sublime_plugin.py that lies there. Then, where a copy of
that Sublime Text can be started and UNITTESTING names a checkout of that package, it runs all our
tests in that copy, which has a data folder of its own. The report is meant to be pasted.
"""

from __future__ import annotations

import glob
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Dict, List, Set, Tuple

from headless import values

from . import package

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GENUINE = os.path.join(ROOT, "tools", "judge_genuine.py")
NAME = "GeminiCompanion"
PATIENCE = 900.0  # seconds for all tests
# Run by the Sublime Text of the copy, once it stands.
STARTER = """
import sublime

def plugin_loaded():
    sublime.set_timeout(start, 5000)

def start():
    arguments = {"package": "%s", "output": %r}
    sublime.active_window().run_command("unit_testing", arguments)
"""


def main() -> int:
    """The exit status: 0 where all that could be asked was as it should be."""
    sublime = os.path.abspath(os.environ.get("SUBLIME") or os.devnull)
    layers = _layers(sublime)
    if not layers:
        print("SUBLIME=path is needed: the folder that has Lib/python38/sublime_plugin.py in it.")
        return 2
    print("Judged on %s, %s" % (platform.platform(), _program(sublime)))
    problems: List[str] = []
    for layer in layers:
        found, told = _load(layer)
        problems += found
        print("%s: %s" % (os.path.relpath(layer, sublime), told))
    print(_in_a_copy(sublime, os.environ.get("UNITTESTING", ""), problems))
    for problem in problems:
        print("  " + problem)
    return 1 if problems else 0


def _layers(sublime: str) -> List[str]:
    """The folders with the genuine files, for each plugin host that can load the package."""
    found = glob.glob(os.path.join(sublime, "**", "sublime_plugin.py"), recursive=True)
    return sorted(os.path.dirname(path) for path in found if "python33" not in path)


def _program(sublime: str) -> str:
    for name in ("sublime_text", "sublime_text.exe", "Contents/MacOS/sublime_text"):
        path = os.path.join(sublime, *name.split("/"))
        if os.path.isfile(path):
            return path
    return "no program"


def _load(layer: str) -> Tuple[List[str], str]:
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
    missing = sorted(_in_the_palette() - set(said["commands"]))
    told = "loaded, %d commands, %d events" % (len(said["commands"]), len(said["events"]))
    return ["no command %s" % name for name in missing], told


def _in_the_palette() -> Set[str]:
    with open(os.path.join(ROOT, "Default.sublime-commands"), encoding="utf-8") as file:
        entries = values.parse(file.read())
    return {entry["command"] for entry in entries if entry["command"].startswith("gemini_")}


def _only_the_package(folder: str, names: List[str]) -> List[str]:
    if os.path.samefile(folder, ROOT):
        return [name for name in names if name not in ("companion", "plugin.py", "carried")]
    return [name for name in names if name == "__pycache__"]


def _in_a_copy(sublime: str, unittesting: str, problems: List[str]) -> str:
    """Run our tests in a copy with a data folder beside it; a sentence."""
    if not unittesting or not os.path.isfile(os.path.join(sublime, "sublime_text")):
        return "Tests: not run. They need UNITTESTING=path and a Sublime Text for Linux."
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return "Tests: not run. There is no display (xvfb-run gives one)."
    with tempfile.TemporaryDirectory(prefix="sublime-") as folder:
        copy = os.path.join(folder, "sublime_text")
        shutil.copytree(sublime, copy, symlinks=True)
        output = _lay(copy, os.path.abspath(unittesting))
        editor = subprocess.Popen([os.path.join(copy, "sublime_text"), "--new-window"], cwd=folder)
        try:
            text = _wait_for(output)
        finally:
            editor.terminate()
            editor.wait(30)
    last = [line for line in text.splitlines() if line.startswith(("OK", "FAILED", "Ran "))]
    if not any(line.startswith("OK") for line in last):
        problems.append(text[-4000:] or "the tests did not begin")
    return "Tests: " + (", ".join(last) or "no end within %d s" % PATIENCE)


def _lay(copy: str, unittesting: str) -> str:
    """The data folder of a portable Sublime Text; the path that the tests' output gets."""
    packages = os.path.join(copy, "Data", "Packages")
    ours = os.path.join(packages, NAME)
    for path, content in package.whole(package.exported(), package.downloaded()).items():
        full = os.path.join(ours, *path.split("/"))
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as file:
            file.write(content)
    shutil.copytree(os.path.join(ROOT, "tests"), os.path.join(ours, "tests"), ignore=_no_modules)
    shutil.copy(os.path.join(ROOT, "unittesting.json"), ours)
    shutil.copytree(unittesting, os.path.join(packages, "UnitTesting"), ignore=_no_modules)
    output = os.path.join(copy, "output.txt")
    os.makedirs(os.path.join(packages, "User"))
    with open(os.path.join(packages, "User", "judge.py"), "w", encoding="utf-8") as starter:
        starter.write(STARTER % (NAME, output))
    return output


def _no_modules(folder: str, names: List[str]) -> List[str]:
    return [name for name in names if name in (".git", "__pycache__", "node_modules")]


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
