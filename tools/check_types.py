"""Runs mypy over everything: the package is checked under the name that Sublime gives it.

The repository's root is the package GeminiCompanion and can hold no `__init__.py` (Sublime would
load it as a plugin), so a link of that name stands in a folder of mypy's own. Beside it stand links
to the folders that scripts import by their own names.

What runs in the editor is checked as Python 3.8. Tests, tools and benchmarks are checked as a newer
one on Linux: they run on 3.8, too, but the types of the libraries that only they use want more, and
what they do on one system only they skip on the others.
"""

from __future__ import annotations

import glob
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, ".venv", "types")
E2E = os.path.join(ROOT, "tests", "e2e")
NEWER = (
    *("--python-version", "3.11", "--platform", "linux", "--follow-imports", "silent"),
    # A lambda may do something and give nothing.
    *("--disable-error-code", "func-returns-value"),
)
RELAXED = (
    *NEWER,
    # Where a test expects something, None is an error when it runs.
    "--no-strict-optional",
    # What is patched is named by the module that uses it.
    "--implicit-reexport",
    # Answers of JSON have the types that the assertions say.
    "--no-warn-return-any",
    # A lambda's argument may have its type from a default.
    *("--disable-error-code", "no-untyped-call"),
    # One Python may need an ignore that another does not.
    "--no-warn-unused-ignores",
)  # fmt: skip


def link(name: str, target: str) -> None:
    path = os.path.join(FOLDER, name)
    if not os.path.islink(path):
        os.symlink(target, path)


def tests() -> list[str]:
    """Those that are in the package, as mypy's arguments."""
    inits = sorted(glob.glob(os.path.join(ROOT, "tests", "*", "__init__.py")))
    wanted = [("-p", os.path.basename(os.path.dirname(path))) for path in inits]
    files = sorted(glob.glob(os.path.join(ROOT, "tests", "*.py")))
    names = [os.path.basename(path)[:-3] for path in files]
    wanted += [("-m", name) for name in names if name != "__init__"]
    return [word for option, name in wanted for word in (option, "GeminiCompanion.tests." + name)]


def mypy(name: str, *arguments: str, path: str = "") -> bool:
    """Whether it finds nothing. Each check has a cache of its own, because their options differ."""
    command = [sys.executable, "-m", "mypy", "--config-file", os.path.join(ROOT, "pyproject.toml")]
    command += ["--cache-dir", os.path.join(FOLDER, "cache", name), *arguments]
    environment = {**os.environ, "MYPYPATH": path}
    return subprocess.call(command, cwd=FOLDER, env=environment) == 0


def main() -> int:
    os.makedirs(FOLDER, exist_ok=True)
    link("GeminiCompanion", ROOT)
    for name in ("companion", "headless", "tests", "tools"):
        link(name, os.path.join(ROOT, name))
    scripts = sorted(glob.glob(os.path.join(E2E, "*.py")))
    results = (
        mypy("product", "-p", "GeminiCompanion.companion", "-m", "GeminiCompanion.plugin"),
        mypy("headless", "-p", "headless"),
        mypy("tools", *NEWER, "-p", "GeminiCompanion.tools", "-p", "GeminiCompanion.bench"),
        mypy("tests", *RELAXED, *tests()),
        mypy("e2e", *RELAXED, *scripts, path=E2E),
    )
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
