"""Runs the tests of packages, as the package UnitTesting does: python -m headless --test.

Its arguments are the paths of the packages and, behind a `--`, patterns of file names. Where the
tests are, and by which pattern, stands in the file unittesting.json of the package.
"""

from __future__ import annotations

import fnmatch
import importlib
import os
import sys
import unittest
from typing import Any, Dict, Iterator, Sequence

import unittesting

from headless import running, values
from headless.packages import Package

DEFAULTS = {"tests_dir": "tests", "pattern": "test*.py", "verbosity": 2}
# What pytest and unittest's own program leave with, too.
NO_TESTS = 5


class Unloaded(unittest.TestCase):
    """In the place of the tests of a module that cannot be imported: fails, or is skipped."""

    def __init__(self, name: str, reason: Exception) -> None:
        super().__init__("runTest")
        self._name, self._reason = name, reason

    def runTest(self) -> None:
        raise self._reason

    def __str__(self) -> str:
        return self._name


def main(arguments: Sequence[str]) -> int:
    """The exit status."""
    at = list(arguments).index("--")
    suite, verbosity = unittest.TestSuite(), 0
    for path in arguments[:at]:
        package = running.current().packages.at(path)
        asked = settings(package)
        verbosity = max(verbosity, int(asked["verbosity"]))
        unittesting.TIMEOUT = int(asked.get("condition_timeout", unittesting.TIMEOUT))
        names = [*modules(package, asked["tests_dir"], arguments[at + 1 :] or [asked["pattern"]])]
        suite.addTests(map(load, names))
    if not suite.countTestCases():
        print("No tests were found in %s." % ", ".join(arguments[:at]), file=sys.stderr)
        return NO_TESTS
    result = unittest.TextTestRunner(sys.stdout, verbosity=verbosity).run(suite)
    return 0 if result.wasSuccessful() else 1


def load(name: str) -> unittest.TestSuite:
    try:
        module = importlib.import_module(name)
    except Exception as error:  # the boundary of a module with tests: the others are run
        return unittest.TestSuite([Unloaded(name, error)])
    return unittest.defaultTestLoader.loadTestsFromModule(module)


def settings(package: Package) -> Dict[str, Any]:
    """Raises ValueError."""
    try:
        given = values.parse(package.read("unittesting.json").decode("utf-8"))
    except FileNotFoundError:
        given = {}
    if not isinstance(given, dict):
        raise ValueError("unittesting.json: expected an object, got %r" % given)
    return {**DEFAULTS, **given}


def modules(package: Package, folder: str, patterns: Sequence[str]) -> Iterator[str]:
    """The names of the modules with tests, also in packages of Python below the folder."""
    top = os.path.join(str(package.folder), *folder.split("/"))
    for place, folders, names in os.walk(top):
        folders[:] = sorted(
            child for child in folders if os.path.isfile(os.path.join(place, child, "__init__.py"))
        )
        parts = os.path.relpath(place, str(package.folder)).split(os.sep)
        for name in sorted(names):
            if name.endswith(".py") and any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
                yield ".".join([package.name, *parts, name[: -len(".py")]])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
