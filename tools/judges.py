"""`make judges`: the tests of other packages in the headless editor, as its judges.

make judges UNITTESTING=path [SUBLIME_LIB=path] [LSP=path] [GITSAVVY=path] [TERMINUS=path]
            [PACKAGE_CONTROL=path] [DEFAULT=path] [SYNTAXES=path] [LIBRARIES=path]
            [HOST_PYTHON=path] [SHOW=1] [ONLY=test_one.py]

Each path is a checkout; nothing is fetched, and nothing in them is changed. UnitTesting runs the
tests of the others. DEFAULT is the package `Default` of a Sublime Text, SYNTAXES a folder with its
packages of syntaxes, LIBRARIES one with the libraries that the packages ask for. HOST_PYTHON is the
Python of the editor: most of these packages run on 3.8 only. SHOW=1 prints why each test failed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Dict, List, Mapping, NamedTuple, Tuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
INSIDE = os.path.join(ROOT, "tools", "judge_inside.py")
PATIENCE = 900.0  # seconds for all tests of one package
_NOT_COPIED = (".git", "__pycache__", "node_modules", ".venv")
_MISSING = re.compile(r"NotImplementedError: (\S+)|ModuleNotFoundError: No module named '([^']+)'")


class Judge(NamedTuple):
    """A package whose tests run. A library lies in a folder of its name in the checkout."""

    variable: str
    package: str
    is_library: bool = False


JUDGES = (
    Judge("UNITTESTING", "UnitTesting"),
    Judge("SUBLIME_LIB", "sublime_lib", is_library=True),
    Judge("LSP", "LSP"),
    Judge("GITSAVVY", "GitSavvy"),
    Judge("PACKAGE_CONTROL", "Package Control"),
    Judge("TERMINUS", "Terminus"),
)


class Figures(NamedTuple):
    """How one package's tests went, by test; `lacking` are failures for want of what is not there:
    a name that the editor does not offer, a library, a network."""

    passed: List[str]
    failed: Dict[str, str]
    lacking: Dict[str, str]
    skipped: List[str]

    @property
    def all(self) -> int:
        return len(self.passed) + len(self.failed) + len(self.lacking) + len(self.skipped)


def read_figures(told: Mapping[str, Any]) -> Figures:
    """Read what judge_inside.py wrote: the ids of all tests, and reports by id."""
    reports = {**told["failures"], **told["errors"]}
    passed = [each for each in told["ran"] if each not in reports and each not in told["skipped"]]
    # What no report names, and did not run, fell with its class or module.
    for each in told["all"]:
        if each not in told["ran"] and each not in told["skipped"]:
            reports.setdefault(each, _of_class(each, reports))
    # setUpClass is no test.
    reports = {name: text for name, text in reports.items() if name in told["all"]}
    lacking = {name: text for name, text in reports.items() if _MISSING.search(text)}
    failed = {name: text for name, text in reports.items() if name not in lacking}
    return Figures(passed, failed, lacking, list(told["skipped"]))


def _of_class(test: str, reports: Mapping[str, str]) -> str:
    for name, text in reports.items():
        if "(%s)" % test.rpartition(".")[0] in name:
            return text
    return "it never ran"


class Case:
    """One editor with the package, its libraries and whatever else was given."""

    def __init__(self, judge: Judge, given: Mapping[str, str], data: str) -> None:
        self._judge = judge
        self._given = given
        self._data = data
        self._python = given.get("HOST_PYTHON", sys.executable)

    def prepare(self) -> None:
        self._lay_package(self._given["UNITTESTING"], "UnitTesting")
        if "DEFAULT" in self._given:
            self._lay_package(self._given["DEFAULT"], "Default")
        self._lay_all(self._given.get("SYNTAXES", ""), self._packages_folder())
        self._lay_all(self._given.get("LIBRARIES", ""), self._library_folder())
        if self._judge.variable != "UNITTESTING":
            self._lay_package(self._given[self._judge.variable], self._judge.package)
        if self._judge.is_library:
            self._lay_library()

    def run(self) -> Dict[str, Any]:
        """What judge_inside.py wrote; raises RuntimeError with what was printed instead."""
        answer = os.path.join(self._data, "answer.json")
        command = [self._python, "-m", "headless", self._make_folder(), "--data", self._data]
        # Where a package is given, this repository's own stays out of it.
        command += [
            "--package",
            os.path.join(self._packages_folder(), "UnitTesting"),
            "--exec",
            INSIDE,
        ]
        done = subprocess.run(
            command + ["--", self._judge.package, answer],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            timeout=PATIENCE,
            env=self._make_environment(),
        )
        if not os.path.exists(answer):
            raise RuntimeError(done.stdout.decode("utf-8", "replace"))
        with open(answer, encoding="utf-8") as file:
            return dict(json.load(file))

    def _make_environment(self) -> Dict[str, str]:
        """Tests that know of CI wait longer there; `python3` is the Python that runs this."""
        path = os.path.dirname(sys.executable) + os.pathsep + os.environ.get("PATH", "")
        return {**os.environ, "CI": "1", "PATH": path, "PYTHONDONTWRITEBYTECODE": "1"}

    def _make_folder(self) -> str:
        path = os.path.join(self._data, "work")
        os.makedirs(path, exist_ok=True)
        return path

    def _packages_folder(self) -> str:
        return os.path.join(self._data, "Packages")

    def _library_folder(self) -> str:
        ask = "import sys; print('python%d%d' % sys.version_info[:2])"
        name = subprocess.check_output([self._python, "-c", ask]).decode().strip()
        return os.path.join(self._data, "Lib", name)

    def _lay_package(self, source: str, name: str) -> None:
        _copy_folder(source, os.path.join(self._packages_folder(), name))

    def _lay_all(self, source: str, target: str) -> None:
        os.makedirs(target, exist_ok=True)
        for name in sorted(os.listdir(source)) if source else []:
            full = os.path.join(source, name)
            if os.path.isdir(full) and name not in _NOT_COPIED:
                _copy_folder(full, os.path.join(target, name))
            elif name.endswith((".py", ".so", ".pyd")):
                shutil.copy(full, target)

    def _lay_library(self) -> None:
        """Its tests are found in Packages and imported as a part of the library."""
        package = os.path.join(self._packages_folder(), self._judge.package)
        library = os.path.join(self._library_folder(), self._judge.package)
        _copy_folder(os.path.join(package, self._judge.package), library)
        os.symlink(os.path.join(package, "tests"), os.path.join(library, "tests"))


def _copy_folder(source: str, target: str) -> None:
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(*_NOT_COPIED), symlinks=True)


def main() -> int:
    """The exit status: 0 where all packages that were given could be asked."""
    given = {
        name: os.path.abspath(path)
        for name, path in os.environ.items()
        if path and name in _needed_names()
    }
    problem = _find_problem(given)
    if problem:
        print(problem)
        return 2
    asked = [_ask_judge(judge, given) for judge in JUDGES if judge.variable in given]
    return 0 if all(asked) else 1


def _needed_names() -> Tuple[str, ...]:
    return tuple(judge.variable for judge in JUDGES) + (
        "DEFAULT",
        "SYNTAXES",
        "LIBRARIES",
        "HOST_PYTHON",
    )


def _find_problem(given: Mapping[str, str]) -> str:
    if "UNITTESTING" not in given:
        return "UNITTESTING=path is needed: a checkout of the package that runs the tests."
    for name, path in sorted(given.items()):
        if not os.path.exists(path):
            return "%s=%s is not there." % (name, path)
    return ""


def _ask_judge(judge: Judge, given: Mapping[str, str]) -> bool:
    with tempfile.TemporaryDirectory(prefix="judge-") as data:
        case = Case(judge, given, os.path.realpath(data))
        try:
            case.prepare()
            found = read_figures(case.run())
        except (OSError, RuntimeError, subprocess.TimeoutExpired) as error:
            print("%-16s could not be asked\n%s" % (judge.package, error))
            return False
    print(report_row(judge.package, found), flush=True)
    if os.environ.get("SHOW"):
        for name, text in sorted({**found.failed, **found.lacking}.items()):
            print("    %s\n        %s" % (name, text.strip().replace("\n", "\n        ")))
    return True


def report_row(package: str, found: Figures) -> str:
    """One row of the report."""
    row = "%-16s %4d of %4d passed, %3d failed, %3d lacking, %3d skipped" % (
        package,
        len(found.passed),
        found.all,
        len(found.failed),
        len(found.lacking),
        len(found.skipped),
    )
    names = sorted({_lacking_name(text) for text in found.lacking.values()})
    return row + ("\n    lacking: %s" % ", ".join(names) if names else "")


def _lacking_name(text: str) -> str:
    found = _MISSING.findall(text)[-1]
    return str(found[0] or "library " + found[1])


if __name__ == "__main__":
    sys.exit(main())
