"""Runs mypy over everything: the package is checked under the name that Sublime gives it.

The repository's root is the package GeminiCompanion and can hold no `__init__.py` (Sublime would
load it as a plugin), so a link of that name stands in a folder that is made for each run: it leads
to this checkout, also where .venv came with another one. Beside it stand links to the folders that
scripts import by their own names.

What runs in the editor is checked as Python 3.8. Tests, tools and benchmarks are checked as a newer
one on Linux: they run on 3.8, too, but the types of the libraries that only they use want more, and
what they do on one system only they skip on the others.
"""

from __future__ import annotations

import glob
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CACHE = os.path.join(ROOT, ".mypy_cache")
E2E = os.path.join(ROOT, "tests", "e2e")
NEWER = (
    *("--python-version", "3.11", "--platform", "linux", "--follow-imports", "silent"),
    # A lambda may do something and give nothing.
    *("--disable-error-code", "func-returns-value"),
    # What follows is for tests; in pyproject.toml it is as strict again for tools and benchmarks.
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


def package_arguments() -> list[str]:
    """The tests that are in the package, as mypy's arguments."""
    inits = sorted(glob.glob(os.path.join(ROOT, "tests", "*", "__init__.py")))
    wanted = [("-p", os.path.basename(os.path.dirname(path))) for path in inits]
    files = sorted(glob.glob(os.path.join(ROOT, "tests", "*.py")))
    names = [os.path.basename(path)[:-3] for path in files]
    wanted += [("-m", name) for name in names if name != "__init__"]
    return [word for option, name in wanted for word in (option, "GeminiCompanion.tests." + name)]


def lone_scripts() -> list[str]:
    """The scripts that run beside an editor, and are in no package."""
    names = [os.path.basename(path)[:-3] for path in sorted(glob.glob(os.path.join(E2E, "*.py")))]
    return [word for name in names for word in ("-m", name)]


def run_mypy(folder: str, name: str, *arguments: str, path: str = "") -> bool:
    """Whether it finds nothing, run in the folder. Each check has a cache of its own, because their
    options differ."""
    command = [sys.executable, "-m", "mypy", "--config-file", os.path.join(ROOT, "pyproject.toml")]
    command += ["--cache-dir", os.path.join(CACHE, name), *arguments]
    environment = {**os.environ, "MYPYPATH": path}
    return subprocess.call(command, cwd=folder, env=environment) == 0


def check_all(folder: str) -> bool:
    """Whether mypy finds nothing at all, run in an empty folder."""
    os.symlink(ROOT, os.path.join(folder, "GeminiCompanion"))
    for name in ("companion", "headless", "tests", "tools"):
        os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
    package = ("-p", "GeminiCompanion.companion", "-m", "GeminiCompanion.plugin")
    editor = (
        "-p",
        "headless",
        "--exclude",
        "headless/tests/",
        "-p",
        "GeminiCompanion.tools.terminal",
    )
    inside = (*package, *editor)
    folders = ("-p", "GeminiCompanion.tools", "-p", "GeminiCompanion.bench", "-p", "headless.tests")
    beside = (*folders, *package_arguments(), *lone_scripts())
    # As few runs as can be: each one reads the types of all libraries.
    results = (
        run_mypy(folder, "inside", *inside),
        run_mypy(folder, "beside", *NEWER, *beside, path=E2E),
    )
    return all(results)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        return 0 if check_all(folder) else 1


if __name__ == "__main__":
    sys.exit(main())
