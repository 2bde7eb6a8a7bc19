"""Makes each fault in a copy of the checkout, runs the tests of its room there, and tells which
faults none of them noticed.

    python -m tests.faults                 all
    python -m tests.faults delivery        those whose name or file has this

Ends with 1 where a fault survived that is not known to be equal, or could not be made.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from .table import FAULTS, Fault

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Seconds for the tests of a room; a fault may make them hang.
LIMIT = 400.0
# What random tests find depends on the seed: they are no proof that a fault is noticed.
RANDOM = ("test_fuzz.py", "test_simulator.py")
# The editor's tests run inside one.
EDITOR = ("-m", "headless", "--exec", os.path.join("tests", "run.py"), "--")
# Milliseconds that a condition may take there, a minute otherwise.
CONDITION = 15_000
# A test in the list of those that failed.
FAILURE = re.compile(r"\w+\.py(?:::\w+)*")
# They notice most, and are asked before the rest of their room, beside the module's own.
FIRST = ("test_workspace.py", "test_outliving.py", "test_conversations.py")


def main(wanted: list[str]) -> int:
    faults = [fault for fault in FAULTS if all(word in fault.name + fault.file for word in wanted)]
    survivors = []
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        copy = os.path.join(folder, "GeminiCompanion")
        _copy(copy)
        for fault in faults:
            begun = time.monotonic()
            told = _try(copy, fault)
            print(f"{time.monotonic() - begun:5.1f} s  {told or 'SURVIVED':60} {fault.name}")
            sys.stdout.flush()
            if not told:
                survivors.append(fault)
    for fault in survivors:
        print(f"survived: {fault.name} ({fault.equal or fault.file})")
    print(f"{len(faults) - len(survivors)} of {len(faults)} were noticed.")
    return int(any(not survivor.equal for survivor in survivors))


def _copy(folder: str) -> None:
    """What is in version control, as it is on disk now, beside what was set up."""
    names = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True)
    for name in filter(None, names.split("\0")):
        target = os.path.join(folder, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(os.path.join(ROOT, name), target)
    with open(os.path.join(folder, "unittesting.json"), "w", encoding="utf-8") as file:
        json.dump({"condition_timeout": CONDITION}, file)
    for name in (".venv", os.path.join("tests", "e2e", "node_modules")):
        if os.path.exists(os.path.join(ROOT, name)):
            os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))


def _try(copy: str, fault: Fault) -> str:
    """Which test noticed the fault; empty where none did. Raises ValueError where the code is not
    what the table takes it for."""
    path = os.path.join(copy, *fault.file.split("/"))
    with open(path, encoding="utf-8") as file:
        right = file.read()
    if right.count(fault.right) != 1:
        raise ValueError(f"{fault.name}: expected once in {fault.file}:\n{fault.right}")
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(right.replace(fault.right, fault.wrong))
        return _first_failure(copy, fault)
    finally:
        with open(path, "w", encoding="utf-8") as file:
            file.write(right)


def _first_failure(copy: str, fault: Fault) -> str:
    if fault.tests:
        return _run(copy, [os.path.join("tests", "ui", f"{name}.py") for name in fault.tests])
    folder = os.path.join("tests", fault.file.split("/")[1])
    own = [os.path.join(folder, f"test_{os.path.basename(fault.file)}")]
    first = [os.path.join(folder, name) for name in FIRST]
    rest = [folder, *(f"--ignore={path}" for path in own + first)]
    rest += [f"--ignore={os.path.join(folder, name)}" for name in RANDOM]
    for tests in (own, first, rest):
        found = [
            test
            for test in tests
            if test.startswith("--") or os.path.exists(os.path.join(copy, test))
        ]
        failed = _run(copy, found) if found else ""
        if failed:
            return failed
    return ""


def _run(copy: str, tests: list[str]) -> str:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", *tests]
    if tests[0].startswith(os.path.join("tests", "ui")):
        command = [sys.executable, "-O", *EDITOR, "-x", "-q", "--no-header", *tests]
    try:
        found = subprocess.run(command, cwd=copy, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return "the tests hung"
    if found.returncode == 0:
        return ""
    # A subtest's own words stand before its name there.
    summary = found.stdout.rpartition("short test summary info")[2]
    return next(iter(FAILURE.findall(summary)), f"status {found.returncode}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
