"""What large bodies and answers cost the process that serves them: the longest that another thread
had to wait, the longest answer to another client, and memory.

Both servers run in this process, each on a thread, as they do in the editor. Another thread ticks
each millisecond, as the editor's UI thread would; the clients are a process of their own.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Optional

from companion.agent.processes.runner import Launch
from companion.api import state_folder
from companion.api.server import Server, ServerSettings
from companion.ide.companion import Companion

from .fake_editor import FakeEditor
from .serve_companion import start_companion
from .table import Aim, Row, median_row, missing_row

ROUNDS = 3
TICK = 0.001
# Seconds for one case, and for memory to be given back.
PATIENCE = 120.0
CALM = 2.0
FILE = 10 << 20
IDLE = "nothing"
BODIES = {
    IDLE: "nothing",
    "60 MB of small objects, to the API": "objects to the API",
    "the largest text, all of it escaped, to the API": "text to the API",
    "60 MB of small objects, to the companion": "objects to the companion",
    "a text of 60 MB, to the companion": "text to the companion",
}
GAP_AIM = Aim(16.0, False, "at most 16 ms")
WAIT_AIM = Aim(100.0, False, "at most 100 ms")
MEMORY_AIM = Aim(256.0, False, "at most 256 MiB")
BACK_AIM = Aim(32.0, False, "at most 32 MiB")


class Ticker(threading.Thread):
    """`longest` seconds lay between two ticks since it was set to 0."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.longest = 0.0
        self._stopped = threading.Event()
        self.start()

    def run(self) -> None:
        last = time.perf_counter()
        while not self._stopped.is_set():
            time.sleep(TICK)
            now = time.perf_counter()
            self.longest = max(self.longest, now - last)
            last = now

    def stop(self) -> None:
        self._stopped.set()
        self.join()


def measure() -> Iterator[Row]:
    """Measure in a process of its own, whose memory nothing else has shaped."""
    command = [sys.executable, "-m", "bench.large"]
    done = subprocess.run(command, stdout=subprocess.PIPE, timeout=6 * PATIENCE, check=True)
    found = json.loads(done.stdout)
    for name in BODIES:
        gaps, waits = found[name]
        yield median_row(
            f"another thread waits, {name}", gaps, " ms", 1, None if name == IDLE else GAP_AIM
        )
        yield median_row(
            f"another client waits, {name}", waits, " ms", 1, None if name == IDLE else WAIT_AIM
        )
    peak, after = found["memory"]
    if peak is None:
        yield missing_row("128 clients that do not read 10 MB: memory", "needs /proc")
        return
    yield median_row("128 clients that do not read 10 MB: memory", [peak], " MiB", 0, MEMORY_AIM)
    yield median_row("  of that kept when they are gone", [after], " MiB", 0, BACK_AIM)


@contextmanager
def _start_servers(folder: str) -> Iterator[Dict[str, Any]]:
    """Where both servers are, for the clients."""
    workspace, state = os.path.join(folder, "workspace"), os.path.join(folder, "state")
    os.mkdir(workspace)
    file = os.path.join(workspace, "large.txt")
    with open(file, "w") as target:
        target.write("x" * FILE)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    launch = Launch((os.path.join(folder, "no program"),))
    server = Server(
        ServerSettings(state_folder.agent_options(state, launch), [workspace], port=0), state
    )
    asyncio.run_coroutine_threadsafe(server.start(), loop).result(PATIENCE)
    companion = Companion(os.getpid())
    variables = start_companion(companion, FakeEditor(), workspace)
    try:
        yield {
            "file": file,
            "api": [server.port, server.token],
            "companion": [
                int(variables["GEMINI_CLI_IDE_SERVER_PORT"]),
                variables["GEMINI_CLI_IDE_AUTH_TOKEN"],
            ],
        }
    finally:
        companion.stop()
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(PATIENCE)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def _start_clients(where: Dict[str, Any], case: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "bench.large_clients", json.dumps(where), case],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def _measure_body(where: Dict[str, Any], case: str) -> List[List[float]]:
    """The longest gaps and waits of some rounds, in milliseconds."""
    gaps, waits = [], []
    for _ in range(ROUNDS):
        clients = _start_clients(where, case)
        if clients.stdout is None:
            raise RuntimeError("the clients have no output")
        # They are ready; what they need to start is none of the server's work.
        clients.stdout.readline()
        ticker = Ticker()
        out, _nothing = clients.communicate(b"\n", PATIENCE)
        ticker.stop()
        gaps.append(ticker.longest * 1e3)
        waits.append(json.loads(out) * 1e3)
    return [gaps, waits]


def _measure_memory(where: Dict[str, Any]) -> List[Optional[float]]:
    """Mebibytes that the clients cost: at most, and once they are gone."""
    gc.collect()
    before, peak = resident_memory(), 0.0
    if not before:
        return [None, None]
    clients = _start_clients(where, "stalled")
    if clients.stdout is None:
        raise RuntimeError("the clients have no output")
    asked = threading.Event()
    lines = clients.stdout
    threading.Thread(target=lambda: (lines.readline(), asked.set()), daemon=True).start()
    calm = 0.0
    while calm < CALM:
        peak = max(peak, resident_memory())
        time.sleep(0.01)
        calm += 0.01 if asked.is_set() else 0
    clients.communicate(b"\n", PATIENCE)
    time.sleep(CALM)
    gc.collect()
    return [peak - before, resident_memory() - before]


def resident_memory() -> float:
    """Mebibytes of this process in memory, 0 where the system does not tell."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
    except OSError:
        return 0.0


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TMPDIR"] = folder
        with _start_servers(folder) as where:
            # First, for what comes later leaves its traces in memory.
            found: Dict[str, Any] = {"memory": _measure_memory(where)}
            for name, case in BODIES.items():
                found[name] = _measure_body(where, case)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
