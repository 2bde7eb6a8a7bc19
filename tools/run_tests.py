"""Runs all tests: `python tools/run_tests.py`; with `fuzz`, many more of the random ones.

Several parts run at once, because those with the real CLI wait much of the time. What a part says
is shown when it ends, below its seconds and those of the CPU. What only some of them need is set up
meanwhile (tools/setup.py). Temporary files stand in memory where Linux has room for them, unless
TMPDIR names a place. A part that hangs is ended, with its process group. The last lines tell what
was skipped in all of them, one each, and, where something failed, what and in which: they are
short, for a server of CI may show the end of the output only.
"""

from __future__ import annotations

import functools
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import IO, Callable, Dict, List, NamedTuple, Sequence, Set, Tuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PYTEST = ("-W", "error", "-m", "pytest")
E2E = os.path.join("tests", "e2e")
# The Node that stands beside the CLIs, for whichever platform it is.
NODE = os.path.join(ROOT, E2E, "node_modules", "node-*-*", "bin")
# Tests with the real CLI by the names of their files.
AGENT, API = ("test_agent*.py",), ("test_api*.py",)
PAGE = ("test_page*.py", "test_api_browser.py")
DESCRIBED = ("test_api_schema.py", "test_api_clients.py", "test_api_agents.py", "test_api_docs.py")
CHAT = ("test_chat*.py", "test_conversation*.py", "test_queue.py", "test_replicas.py")
BESIDE = ("test_extension.py", "test_outliving.py", "test_prompt.py", "test_sheet.py")
MATRIX, LOGINS = ("test_matrix.py", "test_chat_matrix.py"), ("test_own_login.py",)
FAULTS, INSTALLED = ("test_faults.py",), ("test_packages.py", "test_doctor.py")
APART = (*AGENT, *API, *PAGE, *FAULTS, *INSTALLED, *MATRIX, *LOGINS)
TOOLS = (os.path.join("tests", "tools"), os.path.join("headless", "tests"))
# Rooms whose tests take most of the core's time.
COMPANION, TREES = os.path.join("tests", "ide"), os.path.join("tests", "work_trees")
# Others' clients of MCP and the suite of its makers; `make mcp` runs them alone.
OTHERS = os.path.join("tests", "others")


def with_cli(*names: str, but: Tuple[str, ...] = ()) -> Tuple[str, ...]:
    """The tests of these files, without those of the others."""
    return (*PYTEST, *sorted(find_files(names) - find_files(but)))


def find_files(names: Tuple[str, ...]) -> Set[str]:
    found = (glob.glob(os.path.join(ROOT, E2E, name)) for name in names)
    return {os.path.relpath(path, ROOT) for paths in found for path in paths}


def leave_out(*folders: str) -> Tuple[str, ...]:
    """All other tests, so that none is left out."""
    return (*PYTEST, *(word for folder in folders for word in ("--ignore", folder)))


EDITOR = ("-O", "-m", "headless")
ADAPTER = (*EDITOR, "--exec", "tests/run.py")
UI = os.path.join("tests", "ui")
# The seeds with which `fuzz` plays the worst that an editor may do (headless/switches.py).
SEEDS = range(50)


def seed_of_commit() -> str:
    """The one of SEEDS that belongs to the commit that is checked out; empty without git."""
    try:
        command = ("git", "rev-parse", "HEAD")
        done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return str(SEEDS[int(done.stdout, 16) % len(SEEDS)])


# With which the adapter's tests are played; empty in a friendly editor.
SEED = os.environ.get("HEADLESS_WORST", seed_of_commit())
# Starts a friendly editor of its own, whatever plays here.
OWN_EDITOR = ("--ignore", os.path.join(UI, "simulator_test.py"))
# Tests of the adapter that take a third of its time each, by parts of the names of their files.
REVIEWS = ("diff", "edit", "large", "random", "review", "typed", "unasked")
CHATS = ("agent", "chat", "cut", "work_tree")


def at_worst(seed: str) -> Tuple[str, ...]:
    """Runs the adapter's tests in an editor that does its worst, or, without a seed, none of it."""
    return (*EDITOR, *(("--worst", seed) if seed else ()), "--exec", "tests/run.py")


def adapter_tests(*words: str, but: Tuple[str, ...] = ()) -> Tuple[str, ...]:
    """The tests in files of such names, without those of the others; without words all others, so
    that none is left out. At the worst of SEED."""
    apart = sorted(find_adapter_tests(but))
    if words:
        return (*at_worst(SEED), "--", *sorted(find_adapter_tests(words) - {*apart}))
    return (*at_worst(SEED), "--", UI, *(word for path in apart for word in ("--ignore", path)))


def find_adapter_tests(words: Tuple[str, ...]) -> Set[str]:
    names = glob.glob(os.path.join(ROOT, UI, "*test*.py"))
    found = [path for path in names if any(word in os.path.basename(path) for word in words)]
    return {os.path.relpath(path, ROOT) for path in found}


class Part(NamedTuple):
    """`arguments` are Python's; `needs` the names of other parts, which have to end well first."""

    name: str
    arguments: Tuple[str, ...]
    needs: Tuple[str, ...] = ()
    is_set_up: bool = False


def set_up(name: str, *needs: str) -> Part:
    return Part(name, (os.path.join("tools", "setup.py"), name), needs, is_set_up=True)


# What is set up beside the first tests, for it waits for registries much of the time.
SET_UP = (
    set_up("node"),
    set_up("schema"),
    set_up("clients"),
    set_up("carried"),
    set_up("deploy"),
    set_up("browser", "node"),
    set_up("mcp", "node"),
)
# Those that take longest begin first: one that begins late runs alone at the end.
TESTS = (
    Part("the adapter in an editor", adapter_tests(but=(*REVIEWS, *CHATS))),
    Part("the core", leave_out(E2E, OTHERS, COMPANION, TREES, *TOOLS)),
    Part("the chats in an editor", adapter_tests(*CHATS, but=REVIEWS)),
    Part("the companion of a CLI", (*PYTEST, COMPANION)),
    Part("the reviews in an editor", adapter_tests(*REVIEWS)),
    Part("the work trees", (*PYTEST, TREES)),
    Part("tools and the editor without a screen", (*PYTEST, *TOOLS), ("node", "carried", "deploy")),
    Part(
        "the real CLI in its terminal",
        with_cli("test_*.py", but=(*APART, *CHAT, *BESIDE)),
        ("node",),
    ),
    Part("the API's page in a browser", with_cli(*PAGE), ("node", "browser")),
    Part("the chat with a CLI", with_cli(*CHAT, but=MATRIX), ("node",)),
    Part("the real CLI beside its edits", with_cli(*BESIDE), ("node",)),
    Part("each agent in each situation", with_cli(*MATRIX), ("node",)),
    Part("each agent with the user's login", with_cli(*LOGINS), ("node",)),
    Part("the API as it is described", with_cli(*DESCRIBED), ("node", "schema", "clients")),
    Part("the real CLI and what is installed", with_cli(*INSTALLED), ("node", "carried")),
    Part("the engine with a CLI", with_cli(*AGENT), ("node",)),
    Part("the API with a CLI", with_cli(*API, but=(*DESCRIBED, *PAGE)), ("node",)),
    Part("the real CLI and faults", with_cli(*FAULTS), ("node",)),
    Part("the clients of others for MCP", (*PYTEST, OTHERS), ("mcp",)),
)
FUZZ = (
    Part("the core, simulated", ("-m", "tests.ide.simulator", "--seeds", "100000", "--jobs", "2")),
    Part("the chats, simulated", ("-m", "tests.chat.simulator", "--seeds", "20000")),
    Part("the adapter, simulated", (*ADAPTER, "--", "tests/ui/simulator_test.py")),
    Part("the API, as described", ("-m", "pytest", "-s", "tests/e2e/test_api_schema.py")),
    Part("the adapter with faults", (*ADAPTER, "--", "tests/ui/faults_test.py")),
    Part("reviews in random order", (*ADAPTER, "--", "tests/ui/random_reviews_test.py")),
    Part("sheets in random order", (*ADAPTER, "--", "tests/ui/random_sheets_test.py")),
    Part("stories cut at random", (*ADAPTER, "--", "tests/ui/test_random_cuts.py")),
    Part("the servers", ("-m", "pytest", "-s", "tests/ide/test_fuzz.py")),
    Part("the adapter in a friendly editor", (*ADAPTER, "--", UI, *OWN_EDITOR)),
    *(
        Part(
            f"the adapter in an editor at its worst, seed {seed}",
            (*at_worst(str(seed)), "--", UI, *OWN_EDITOR),
        )
        for seed in SEEDS
    ),
)
# Parts that run at once: most of their time they wait, for a CLI, a browser or a timer. Where so
# many processes want a core already, on average of a minute, only so many go on, for each of them
# would take long; and how many seconds later that is looked at again.
CORES = os.cpu_count() or 2
AT_ONCE, WHERE_BUSY, LOOK = 3 * CORES, 2 * CORES, 5.0
# Seconds that a part may take: many times what it takes on an idle machine. Each test has a limit
# of its own, in tests/conftest.py: this one is for what hangs before the first or after the last.
LIMIT = 3600.0 * int(os.environ.get("FUZZ", "1"))
# Seconds in which a part that hangs may write the stacks of its threads.
LAST_WORDS = 10.0
# Seconds between two looks at whether a part has ended.
POLL_INTERVAL = 0.05
# What was compiled is kept as long as the libraries, where they are.
VENV = os.path.join(ROOT, ".venv")
# A file system in memory, as Linux has it. Before ext4 makes a file it looks at those that were
# removed in the last minutes: half of the CPU's time of tests that make and remove many.
MEMORY = "/dev/shm"
# Bytes that have to be free there, and in the machine: many times what all tests have at once.
ROOM = 4 << 30
# The variables that say where temporary files stand.
TEMPORARY = ("TMPDIR", "TEMP", "TMP")
# What a part's line about tests that did not run begins with; see tests/skipped.py.
SKIPPED = "skipped: "
# What pytest's lines about a failure begin with: which test, what was wrong, also where that is one
# of several exceptions, and in which line.
FAILURE = re.compile(
    r"(SUB)?FAIL(ED|URE)? |ERROR |E {2,}\S|\S+\.py:\d+: \w+$| +\| [\w.]*(Error|Warning): "
)
# How much of that is shown again at the end: lines of a part, where it tells no failures but just
# its last ones, and characters of a line.
FAILURE_LINES, LAST_LINES, LINE_LENGTH = 12, 4, 160


class Run:
    """`failed` are the names of parts with what went wrong, `failures` with what they said of it;
    `skipped` is what all parts said of tests that did not run. Each part may take `limit` seconds;
    `environment` gives that of tests, as it is then."""

    def __init__(
        self, limit: float = LIMIT, environment: Callable[[], Dict[str, str] | None] = lambda: None
    ) -> None:
        self.failed: Dict[str, str] = {}
        self.failures: Dict[str, List[str]] = {}
        self.skipped: List[str] = []
        self._limit = limit
        self._environment = environment
        self._running: Set[subprocess.Popen[bytes]] = set()
        self._is_stopped = False
        # Held by whoever writes here or to the terminal.
        self._lock = threading.Lock()

    def all(self, parts: Sequence[Part]) -> None:
        """Run the parts that the machine has room for, each as soon as what it needs has ended; and
        beside them all that is set up, which waits for others' servers."""
        waiting = [*parts]
        running: Dict[Future[None], str] = {}
        setting_up = {part.name for part in parts if part.is_set_up}
        with ThreadPoolExecutor(AT_ONCE + len(setting_up)) as pool:
            try:
                while waiting or running:
                    unfinished = {part.name for part in waiting} | {*running.values()}
                    ready = [part for part in waiting if not unfinished & {*part.needs}]
                    free = count_at_once() - len({*running.values()} - setting_up)
                    tests = [part for part in ready if not part.is_set_up][: max(free, 0)]
                    for part in (*(part for part in ready if part.is_set_up), *tests):
                        waiting.remove(part)
                        running[pool.submit(self.part, part)] = part.name
                    for ended in wait(running, LOOK, return_when=FIRST_COMPLETED).done:
                        del running[ended]
                        ended.result()
            except BaseException:
                self.stop()
                raise

    def stop(self) -> None:
        """End what runs, and begin nothing more."""
        with self._lock:
            self._is_stopped = True
            for process in self._running:
                kill_group(process)

    def part(self, part: Part) -> None:
        begun = time.monotonic()
        # A file: with a pipe, whatever a part leaves running would be waited for.
        with tempfile.TemporaryFile() as file:
            with self._lock:
                lacking = [name for name in part.needs if name in self.failed]
                if lacking:
                    self.failed[part.name] = "needs " + " and ".join(lacking)
                if lacking or self._is_stopped:
                    return
                environment = None if part.is_set_up else self._environment()
                process = start_python(part.arguments, file, environment)
                self._running.add(process)
            problem, cpu_seconds = self._wait_for(process)
            file.seek(0)
            output = file.read().decode("utf-8", "replace")
        times = f"{time.monotonic() - begun:.0f} s"
        if cpu_seconds is not None:
            times += f", CPU {cpu_seconds:.0f} s"
        with self._lock:
            self._running.remove(process)
            self._tell_result(part, times, output)
            if problem:
                self.failed[part.name] = problem
                self.failures[part.name] = find_failures(output)

    def _tell_result(self, part: Part, times: str, output: str) -> None:
        # What was set up before has nothing to say.
        if output or not part.is_set_up:
            heading = "Set-up" if part.is_set_up else "Tests"
            print(f"\n== {heading} of {part.name}: {times} ==\n{output}", flush=True)
        lines = (line.rstrip() for line in output.splitlines())
        self.skipped += [line[len(SKIPPED) :] for line in lines if line.startswith(SKIPPED)]

    def _wait_for(self, process: subprocess.Popen[bytes]) -> Tuple[str, float | None]:
        """What went wrong, empty where nothing did; and the CPU seconds, where they are known."""
        try:
            cpu_seconds = wait_for_end(process, self._limit)
            status = process.returncode
            return f"status {status}" if status else "", cpu_seconds
        except subprocess.TimeoutExpired:
            # Python writes the stacks of its threads then, where its fault handler is on.
            process.send_signal(getattr(signal, "SIGABRT", signal.SIGTERM))
            with suppress(subprocess.TimeoutExpired):
                process.wait(LAST_WORDS)
            return f"hung: ended after {self._limit:.0f} s", None
        finally:
            kill_group(process)
            process.wait()


def find_failures(output: str) -> List[str]:
    """The last lines of it that tell of a failure, else its last lines, each of bounded length."""
    lines = [line.rstrip()[:LINE_LENGTH] for line in output.splitlines() if line.strip()]
    found = [line for line in lines if FAILURE.match(line)]
    return found[-FAILURE_LINES:] or lines[-LAST_LINES:]


def count_at_once() -> int:
    """How many parts may run at once now."""
    is_busy = hasattr(os, "getloadavg") and os.getloadavg()[0] >= AT_ONCE
    return min(AT_ONCE, WHERE_BUSY) if is_busy else AT_ONCE


def start_python(
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


def wait_for_end(process: subprocess.Popen[bytes], limit: float) -> float | None:
    """Wait for its end, at most `limit` seconds: else raises subprocess.TimeoutExpired. Gives the
    CPU seconds of the process and of all below it that were waited for; Windows does not tell."""
    if not hasattr(os, "wait4"):
        process.wait(limit)
        return None
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            is_killed = os.WIFSIGNALED(status)
            process.returncode = -os.WTERMSIG(status) if is_killed else os.WEXITSTATUS(status)
            return usage.ru_utime + usage.ru_stime
        time.sleep(POLL_INTERVAL)
    raise subprocess.TimeoutExpired(process.args, limit)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """End the process, and what it has started and left, but for what has a session of its own."""
    if os.name == "posix":
        # Its group has its number, and nobody else gets that while a member lives.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def find_memory() -> str:
    """MEMORY, unless the user wants temporary files elsewhere, or it has little room, as in many
    containers; else empty."""
    if any(os.environ.get(name) for name in TEMPORARY):
        return ""
    try:
        place = os.statvfs(MEMORY)
        with open("/proc/meminfo", encoding="ascii") as file:
            available = re.search(r"^MemAvailable: *(\d+) kB$", file.read(), re.MULTILINE)
    except (AttributeError, OSError):
        return ""
    free = min(place.f_bavail * place.f_frsize, int(available[1]) << 10 if available else 0)
    is_fit = free >= ROOM and not place.f_flag & os.ST_NOEXEC and os.access(MEMORY, os.W_OK)
    return MEMORY if is_fit else ""


def environment_of_tests(compiled: str, temporary: str) -> Dict[str, str]:
    """That of `compile_once`; with the folder for temporary files, unless it is empty."""
    chosen = dict.fromkeys(TEMPORARY, temporary) if temporary else {}
    return {**compile_once(compiled), **chosen}


def compile_once(folder: str) -> Dict[str, str]:
    """An environment in which each module is compiled once: by Python, which writes into the folder
    where it is to write nothing beside the sources, and by Node, of the release that stands beside
    the CLIs, for older ones do not keep it. Else each of the hundreds of processes that the tests
    start would compile all that it imports, and each run all of the CLIs."""
    found = dict(os.environ)
    found["PATH"] = os.pathsep.join([*glob.glob(NODE), found["PATH"]])
    found.setdefault("NODE_COMPILE_CACHE", os.path.join(folder, "node"))
    if found.pop("PYTHONDONTWRITEBYTECODE", ""):
        found.setdefault("PYTHONPYCACHEPREFIX", folder)
    return found


def run_all(parts: Sequence[Part], limit: float = LIMIT) -> int:
    """Run the parts, several at a time; gives the status to exit with."""
    print(
        "Running the tests of",
        ", ".join(part.name for part in parts if not part.is_set_up),
        flush=True,
    )
    how = f"does its worst: HEADLESS_WORST={SEED}" if SEED else "is friendly"
    print(f"The editor of the adapter's tests {how}", flush=True)
    memory = find_memory()
    # A short name: many tests look for paths on a screen.
    temporary = tempfile.mkdtemp(prefix="", dir=memory or None)
    kept = os.path.join(VENV, "compiled")
    # Open as that of the system: some tests have processes of other users.
    os.chmod(temporary, 0o1777)
    folder = kept if os.path.isdir(VENV) else temporary
    run = Run(limit, functools.partial(environment_of_tests, folder, temporary if memory else ""))
    try:
        run.all(parts)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        # What tests wrote and imported is not there any more.
        for place in (tempfile.gettempdir(), temporary):
            written = os.path.splitdrive(place)[1].lstrip(os.sep)
            shutil.rmtree(os.path.join(folder, written), ignore_errors=True)
    for line in sorted(run.skipped) or ["nothing"]:
        print(SKIPPED + line)
    for name, failures in run.failures.items():
        print(f"\n== What failed of {name} ==", *failures, sep="\n")
    if run.failed:
        print("FAILED:", ", ".join(f"{name} ({why})" for name, why in run.failed.items()))
    return 1 if run.failed else 0


if __name__ == "__main__":
    # A terminal of another encoding shows what it can.
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]
    # The parts are in groups of their own, and hear nothing of what ends this one.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(run_all(FUZZ if sys.argv[1:] == ["fuzz"] else SET_UP + TESTS))
