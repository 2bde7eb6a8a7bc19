"""Runs all tests: `python tools/run_tests.py`; with `fuzz`, many more of the random ones.

Several parts run at once, because those with the real CLI wait much of the time. What a part says
is shown when it ends. One that hangs is ended, with its process group. The last line tells what was
skipped in all of them, or, where something failed, in which.
"""

from __future__ import annotations

import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import IO, Dict, List, Set, Tuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PYTEST = ("-W", "error", "-m", "pytest")
E2E = os.path.join("tests", "e2e")
# The Node that stands beside the CLIs, for whichever platform it is.
NODE = os.path.join(ROOT, E2E, "node_modules", "node-*-*", "bin")
# Tests with the real CLI by the names of their files.
AGENT, API, PAGE = ("test_agent*.py",), ("test_api*.py",), ("test_page.py",)
DESCRIBED = ("test_api_schema.py", "test_api_clients.py", "test_api_agents.py", "test_api_docs.py")
FAULTS, INSTALLED = ("test_faults.py",), ("test_packages.py", "test_doctor.py")
TOOLS = tuple(os.path.join("tests", name) for name in ("tools", "headless"))


def with_cli(*names: str, but: Tuple[str, ...] = ()) -> Tuple[str, ...]:
    """The tests of these files, without those of the others."""
    return (*PYTEST, *sorted(files(names) - files(but)))


def files(names: Tuple[str, ...]) -> Set[str]:
    found = (glob.glob(os.path.join(ROOT, E2E, name)) for name in names)
    return {os.path.relpath(path, ROOT) for paths in found for path in paths}


def without(*folders: str) -> Tuple[str, ...]:
    """All other tests, so that none is left out."""
    return (*PYTEST, *(word for folder in folders for word in ("--ignore", folder)))


ADAPTER = ("-O", "-m", "headless", "--exec", "tests/run.py")
# By name, with the arguments of Python; those that take longest begin first.
TESTS = (
    ("the real CLI as an agent", with_cli(*AGENT)),
    ("the real CLI behind the API", with_cli(*API, but=DESCRIBED)),
    ("the core", without(E2E, *TOOLS)),
    ("tools and the editor without a screen", (*PYTEST, *TOOLS)),
    ("the API as it is described", with_cli(*DESCRIBED)),
    ("the real CLI and faults", with_cli(*FAULTS)),
    ("the API's page in a browser", with_cli(*PAGE)),
    (
        "the real CLI in its terminal",
        with_cli("test_*.py", but=(*AGENT, *API, *PAGE, *FAULTS, *INSTALLED)),
    ),
    ("the real CLI and what is installed", with_cli(*INSTALLED)),
    ("the adapter in an editor", ADAPTER),
)
FUZZ = (
    ("the core, simulated", ("-m", "tests.ide.simulator", "--seeds", "100000", "--jobs", "2")),
    ("the API, as described", ("-m", "pytest", "-s", "tests/e2e/test_api_schema.py")),
    ("the adapter with faults", (*ADAPTER, "--", "tests/ui/faults_test.py")),
    ("reviews in random order", (*ADAPTER, "--", "tests/ui/random_reviews_test.py")),
    ("the servers", ("-m", "pytest", "-s", "tests/ide/test_fuzz.py")),
)
# Parts that run at once: each core has its work while two of them wait for a CLI or a browser.
AT_ONCE = (os.cpu_count() or 2) + 2
# Seconds that a part may take: many times what it takes on an idle machine. Each test has a limit
# of its own, in tests/conftest.py: this one is for what hangs before the first or after the last.
LIMIT = 1800.0 * int(os.environ.get("FUZZ", "1"))
# Seconds in which a part that hangs may write the stacks of its threads.
LAST_WORDS = 10.0
# What a part's line about tests that did not run begins with; see tests/conftest.py.
SKIPPED = "skipped: "

Part = Tuple[str, Tuple[str, ...]]


class Run:
    """`failed` are the names of parts, `skipped` is what the parts said of tests. Each part may
    take `limit` seconds; `environment` is theirs, None for that of this process."""

    def __init__(self, limit: float = LIMIT, environment: Dict[str, str] | None = None) -> None:
        self.failed: List[str] = []
        self.skipped: List[str] = []
        self._limit = limit
        self._environment = environment
        self._running: Set[subprocess.Popen[bytes]] = set()
        self._is_stopped = False
        # Held by whoever writes here or to the terminal.
        self._lock = threading.Lock()

    def stop(self) -> None:
        """End what runs, and begin nothing more."""
        with self._lock:
            self._is_stopped = True
            for process in self._running:
                kill(process)

    def part(self, part: Part) -> None:
        name, arguments = part
        begun = time.monotonic()
        # A file: with a pipe, whatever a part leaves running would be waited for.
        with tempfile.TemporaryFile() as file:
            with self._lock:
                if self._is_stopped:
                    return
                process = start(arguments, file, self._environment)
                self._running.add(process)
            problem = self._wait(process)
            file.seek(0)
            output = file.read().decode("utf-8", "replace")
        with self._lock:
            self._running.remove(process)
            seconds = time.monotonic() - begun
            print(f"\n== Tests of {name}: {seconds:.0f} s ==\n{output}", flush=True)
            if problem:
                self.failed.append(f"{name} ({problem})")
            lines = (line.rstrip() for line in output.splitlines())
            self.skipped += [line[len(SKIPPED) :] for line in lines if line.startswith(SKIPPED)]

    def _wait(self, process: subprocess.Popen[bytes]) -> str:
        """What went wrong, empty where nothing did."""
        try:
            status = process.wait(self._limit)
            return f"status {status}" if status else ""
        except subprocess.TimeoutExpired:
            # Python writes the stacks of its threads then, where its fault handler is on.
            process.send_signal(getattr(signal, "SIGABRT", signal.SIGTERM))
            with suppress(subprocess.TimeoutExpired):
                process.wait(LAST_WORDS)
            return f"hung: ended after {self._limit:.0f} s"
        finally:
            kill(process)
            process.wait()


def start(
    arguments: Tuple[str, ...], output: IO[bytes], environment: Dict[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Python with the arguments, in a process group of its own where there are any."""
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=os.name == "posix",
    )


def kill(process: subprocess.Popen[bytes]) -> None:
    """End the process, and what it has started and left, but for what has a session of its own."""
    if os.name == "posix":
        # Its group has its number, and nobody else gets that while a member lives.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def compiling(folder: str) -> Dict[str, str]:
    """An environment in which each module is compiled once: by Python, which writes into the folder
    where it is to write nothing beside the sources, and by Node, of the release that stands beside
    the CLIs, for older ones do not keep it. Else each of the hundreds of processes that the tests
    start would compile all that it imports."""
    found = dict(os.environ)
    found["PATH"] = os.pathsep.join([*glob.glob(NODE), found["PATH"]])
    found.setdefault("NODE_COMPILE_CACHE", os.path.join(folder, "node"))
    if found.pop("PYTHONDONTWRITEBYTECODE", ""):
        found.setdefault("PYTHONPYCACHEPREFIX", folder)
    return found


def run_all(parts: Tuple[Part, ...], limit: float = LIMIT) -> int:
    """Run the parts, AT_ONCE at a time; gives the status to exit with."""
    print("Running the tests of", ", ".join(name for name, _ in parts), flush=True)
    folder = tempfile.mkdtemp()
    run = Run(limit, compiling(folder))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            list(pool.map(run.part, parts))
        except KeyboardInterrupt:
            run.stop()
            raise
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    print(SKIPPED + ("; ".join(run.skipped) or "nothing"))
    if run.failed:
        print("FAILED: tests of", ", ".join(run.failed))
    return 1 if run.failed else 0


if __name__ == "__main__":
    # A terminal of another encoding shows what it can.
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    # The parts are in groups of their own, and hear nothing of what ends this one.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(run_all(FUZZ if sys.argv[1:] == ["fuzz"] else TESTS))
