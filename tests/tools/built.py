"""Both packages, built once for all tests that look at one."""

from __future__ import annotations

import atexit
import functools
import io
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from typing import NamedTuple

import pytest
from GeminiCompanion.tools import package, setup

from ..leftovers import SHARED

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
IS_CHECKOUT = bool(shutil.which("git")) and os.path.exists(os.path.join(ROOT, ".git"))
WHOLE, PLAIN = NAMES = (package.WHOLE, package.PLAIN)
# `make package` in the checkout, which is the first argument, under the mask of the second.
BUILD = """
import os, sys
os.umask(int(sys.argv[2], 8))
sys.path.insert(0, sys.argv[1])
from tools import package
sys.exit(package.main())
"""


class Builds(NamedTuple):
    """Made from checkouts of one state, `one` and `two`, that differ in all that must not count.

    `problem` is why there is none; `bytes` are by checkout and name.
    """

    folder: str
    problem: str
    bytes: dict[tuple[str, str], bytes]


@functools.lru_cache(maxsize=None)
def builds() -> Builds:
    folder = os.path.realpath(tempfile.mkdtemp(prefix=SHARED))
    atexit.register(shutil.rmtree, folder, True)
    os.mkdir(os.path.join(folder, "elsewhere"))
    for name in ("one", "two"):
        command = ["git", "clone", "--quiet", ROOT, os.path.join(folder, name)]
        subprocess.check_call(command, stderr=subprocess.DEVNULL)
        os.mkdir(os.path.join(folder, name, ".venv"))
        if os.path.isdir(setup.CARRIED):
            os.symlink(setup.CARRIED, os.path.join(folder, name, ".venv", "carried"))
    age(os.path.join(folder, "two"))
    running = [
        start(folder, "one", "one", "022", TZ="UTC", PYTHONHASHSEED="1"),
        start(folder, "two", "elsewhere", "077", TZ="Asia/Tokyo", PYTHONHASHSEED="2"),
    ]
    said = [process.communicate(timeout=600)[0].decode() for process in running]
    problem = "".join(text for text, process in zip(said, running) if process.returncode)
    found = {}
    for each in ((checkout, name) for checkout in ("one", "two") for name in NAMES):
        path = os.path.join(folder, each[0], "dist", each[1])
        if os.path.isfile(path):
            with open(path, "rb") as file:
                found[each] = file.read()
    return Builds(folder, problem, found)


def start(
    folder: str, checkout: str, cwd: str, mask: str, **variables: str
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", BUILD, os.path.join(folder, checkout), mask],
        cwd=os.path.join(folder, cwd),
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def age(checkout: str) -> None:
    """A file that lies around, too, and other times and modes for all that is committed."""
    with open(os.path.join(checkout, "companion", "leftover.py"), "w"):
        pass
    for folder, _folders, names in os.walk(checkout):
        for path in (os.path.join(folder, name) for name in names if f"{os.sep}.git" not in folder):
            os.utime(path, (1e9, 1e9))
            os.chmod(path, 0o700)


@pytest.mark.looks_at("tools", "requirements", "tests/tools/built.py", committed=True)
@unittest.skipUnless(
    IS_CHECKOUT, "packages are made of what is committed: this is no checkout of git"
)
class Built(unittest.TestCase):
    maxDiff = None

    def built(self, name: str, checkout: str = "one") -> bytes:
        found = builds()
        if (checkout, name) not in found.bytes:
            # Without a network there is none; where it has to be seen, that is no excuse.
            self.assertFalse(os.environ.get("CI"), found.problem)
            self.skipTest(found.problem)
        return found.bytes[checkout, name]

    def content(self, name: str) -> dict[str, bytes]:
        with zipfile.ZipFile(io.BytesIO(self.built(name))) as archive:
            return {path: archive.read(path) for path in archive.namelist()}

    def path(self, name: str) -> str:
        self.built(name)
        return os.path.join(builds().folder, "one", "dist", name)
