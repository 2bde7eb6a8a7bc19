"""Package Control's own code at work in the headless editor; test_package_control.py starts it.

python -m headless --exec package_control_inside.py -- FOLDER REPOSITORY...

Installs what the first repository has, upgrades with the second, removes; prints a line of JSON for
each step.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
import zipfile
from typing import Any, Callable

import sublime

NAME, OTHER = "GeminiCompanion", "Other"
PATIENCE = 180.0  # seconds


def wait_for(condition: Callable[[], Any], what: str) -> None:
    for _turn in range(int(PATIENCE / 0.05)):
        if condition():
            return
        threading.Event().wait(0.05)
    raise AssertionError(f"{what} did not come")


def runner(repository: str) -> Any:
    """What the commands of the palette start, with this repository alone."""
    settings = sublime.load_settings("Package Control.sublime-settings")
    settings.set("repositories", ["file://" + repository])
    package = "Package Control.package_control."
    manager = importlib.import_module(package + "package_manager").PackageManager()
    return importlib.import_module(package + "package_tasks").PackageTaskRunner(manager)


def version() -> str:
    """Of the package that lies there, "" where none does."""
    path = os.path.join(sublime.installed_packages_path(), NAME + ".sublime-package")
    if not os.path.exists(path):
        return ""
    with zipfile.ZipFile(path) as archive:
        text = archive.read("companion/__init__.py").decode()
    return text.partition('__version__ = "')[2].partition('"')[0]


def runs(name: str) -> bool:
    ignored: Any = sublime.load_settings("Preferences.sublime-settings").get("ignored_packages", [])
    return name + ".plugin" in sys.modules and name not in ignored


def tell(step: str) -> None:
    """What lies there, and what the other package and its library say now."""
    wait_for(lambda: runs(OTHER), "the other package")
    vars(sublime).pop("OTHER_SAYS", None)
    sublime.run_command("other_asks")
    version_of_library, place = getattr(sublime, "OTHER_SAYS", ["nothing", ""])
    said = {"step": step, "library": version_of_library, "place": place, "version": version()}
    print("STEP " + json.dumps(said), flush=True)


def main(first: str, second: str) -> None:
    wait_for(lambda: runs("Package Control"), "Package Control")
    runner(first).install_packages([OTHER], unattended=True)
    tell("before")
    runner(first).install_packages([NAME], unattended=True)
    wait_for(lambda: runs(NAME), "our package")
    tell("installed")
    runner(second).upgrade_packages([NAME], unattended=True)
    wait_for(lambda: runs(NAME), "the upgraded package")
    tell("upgraded")
    runner(second).remove_packages({NAME})
    wait_for(lambda: not runs(NAME), "the end of our package")
    tell("removed")


if __name__ == "__main__":
    main(*sys.argv[1:])
