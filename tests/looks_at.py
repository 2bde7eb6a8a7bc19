"""Tests of what seldom changes. A class says what it looks at, and is skipped where all of that is
as it was when its tests last passed:

    @pytest.mark.looks_at("tools", "requirements", committed=True)
    class Built(unittest.TestCase): ...

The paths are files and folders of the repository; those of its bases count, too. `committed` is for
what is made of the last commit, whatever stands in the folders. ALL=1 in the environment runs them
all.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import subprocess
import sys
from contextlib import suppress
from typing import Any, Iterator

import pytest

MARK = "looks_at"
UNCHANGED = "nothing that they look at has changed since they passed; ALL=1 runs them"
# Nothing of these is in a package.
APART = {".ci", ".github", "bench", "deploy", "docs", "headless", "tests"}
# Made by tools in the folders of sources.
MADE = ("__pycache__", "node_modules")


class PassedBefore:
    """A plugin of pytest. `file` has the digest of what each test looked at when it passed; `root`
    is the folder of the repository."""

    def __init__(self, file: str, root: str, run_all: bool) -> None:
        self._file, self._root, self._run_all = file, root, run_all
        self._digests: dict[str, str] = {}
        self._passed: set[str] = set()
        self._failed: set[str] = set()

    def pytest_configure(self, config: pytest.Config) -> None:
        config.addinivalue_line("markers", f"{MARK}(*paths, committed=False): what a test is of")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        before = self._read()
        for item in items:
            marks = [*item.iter_markers(MARK)]
            if marks:
                paths = [path for mark in marks for path in mark.args]
                own = os.path.relpath(item.path, self._root)
                committed = any(mark.kwargs.get("committed") for mark in marks)
                digest = self._digests[item.nodeid] = self._digest((*paths, own), committed)
                if digest and before.get(item.nodeid) == digest and not self._run_all:
                    item.add_marker(pytest.mark.skip(reason=UNCHANGED))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.add(report.nodeid)
        elif report.when == "call" and report.passed:
            self._passed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        known = self._read()
        for name in self._digests.keys() & (self._passed | self._failed):
            known[name] = "" if name in self._failed else self._digests[name]
        if self._digests and os.path.isdir(os.path.dirname(self._file)):
            with open(self._file + ".new", "w", encoding="utf-8") as file:
                json.dump(known, file, indent=0, sort_keys=True)
            os.replace(file.name, self._file)

    def _read(self) -> dict[str, Any]:
        with suppress(OSError, ValueError), open(self._file, encoding="utf-8") as file:
            found = json.load(file)
            return found if isinstance(found, dict) else {}
        return {}

    @functools.lru_cache(maxsize=None)  # noqa: B019
    def _digest(self, paths: tuple[str, ...], committed: bool) -> str:
        """Empty where nobody knows what is committed."""
        whole = hashlib.sha256(sys.version.encode())
        if committed:
            tree = self._committed()
            if not tree:
                return ""
            whole.update("\n".join(tree).encode())
        for path in sorted({file for each in paths for file in self._files(each)}):
            with open(path, "rb") as file:
                content = hashlib.sha256(file.read()).hexdigest()
            whole.update(f"\n{os.path.relpath(path, self._root)} {content}".encode())
        return whole.hexdigest()

    def _committed(self) -> list[str]:
        """The folders and files of the last commit, each with its digest; none without git."""
        command = ["git", "ls-tree", "HEAD"]
        with suppress(OSError, subprocess.CalledProcessError):
            said = subprocess.check_output(command, cwd=self._root, stderr=subprocess.DEVNULL)
            lines = said.decode("utf-8", "replace").splitlines()
            return [line for line in lines if line.rpartition("\t")[2] not in APART]
        return []

    def _files(self, path: str) -> Iterator[str]:
        full = os.path.join(self._root, path)
        if os.path.isfile(full):
            yield full
        for folder, folders, names in os.walk(full):
            folders[:] = [name for name in folders if name not in MADE]
            yield from (os.path.join(folder, name) for name in names)
