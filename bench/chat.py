"""What the chat costs: pieces of an answer as they come, long transcripts, starts, memory.

The editor is the headless one, in a process of its own for each run; bench/inside/chat.py runs in
it. The agent is that of bench/chat_agent.py, so that what remains is ours; starts are also measured
with the real Gemini CLI beside the same CLI alone, and the tests' model.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, Dict, Iterator, List

from companion.agent.agents.gemini_cli import GeminiCli

from .api import TESTS, Cli
from .table import Aim, Row, format_rows, median_row, millisecond_row, missing_row

sys.path.insert(0, TESTS)

from model_server import ModelServer  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
AGENT = [sys.executable, "-I", "-S", os.path.join(ROOT, "bench", "chat_agent.py")]
ROUNDS, STARTS = 3, 3
# Starts of the CLI alone, and as many of it in a chat: what else the machine does tells on each.
PAIRS = 7
# Seconds for one editor to do its work and leave.
PATIENCE = 180.0
# Pieces, characters of each, pieces in a second: four seconds; then a tenth of a conversation of
# 1 MB, as fast as it comes.
PIECES, RATE = 12_000, 3_000
STREAM, TENTH = f"{PIECES} 20 {RATE}", "500 200 0"
SHORT, LONG = 100, 100_000
# Turns of a long chat.
TURNS = 600
# Questions that wait.
FEW, MANY = 1, 300

HELD_AIM = Aim(8.0, False, "at most 8 ms")
RATE_AIM = Aim(0.95 * RATE, True, "3,000/s, all of them")
GROWTH_AIM = Aim(2.0, False, "at most 2")
TOLD_AIM = Aim(100.0, False, "at most 100 ms")
COLD_AIM = Aim(1.5, False, "at most 1.5 s")
RATIO_AIM = Aim(1.2, False, "at most 1.2")
MEMORY_AIM = Aim(20.0, False, "at most 20 MiB")


class Home:
    """A user's home in this folder, with a workspace. New editors have these settings, and find
    programs in this folder first."""

    def __init__(self, folder: str, settings: Dict[str, Any], programs: str = "") -> None:
        self.folder = folder
        self._path = os.pathsep.join(filter(None, [programs, os.environ.get("PATH", "")]))
        self.workspace = os.path.join(folder, "workspace")
        os.mkdir(self.workspace)
        self._settings = settings

    def report(self, *arguments: str) -> Any:
        """What bench/inside/chat.py reports. Raises subprocess.SubprocessError."""
        path = os.path.join(self.folder, "report.json")
        script = os.path.join(ROOT, "bench", "inside", "chat.py")
        # Each editor has its own, so that no tab comes back.
        data = tempfile.mkdtemp(dir=self.folder)
        user = os.path.join(data, "Packages", "User")
        os.makedirs(user)
        with open(os.path.join(user, "GeminiCompanion.sublime-settings"), "w") as file:
            json.dump(self._settings, file)
        subprocess.run(
            [sys.executable, "-m", "headless", self.workspace, "--data", data]
            + ["--exec", script, "--", *arguments, path],
            cwd=ROOT,
            env={
                **os.environ,
                "HOME": self.folder,
                "PATH": self._path,
                "TMPDIR": self.folder,
                "XDG_CACHE_HOME": os.path.join(self.folder, "cache"),
                "PYTHONDONTWRITEBYTECODE": "",
            },
            stdout=subprocess.DEVNULL,
            timeout=PATIENCE,
            check=True,
        )
        with open(path) as file:
            return json.load(file)


def measure() -> Iterator[Row]:
    """Raises OSError, RuntimeError, subprocess.SubprocessError."""
    yield from _streaming_rows([_report_alone("streaming", STREAM) for _ in range(ROUNDS)])
    shorts, longs = (
        [_report_alone("growing", str(length)) for _ in range(ROUNDS)] for length in (SHORT, LONG)
    )
    yield from _growing_rows(shorts, longs)
    few, many = (
        [_report_alone("asking", str(count)) for _ in range(ROUNDS)] for count in (FEW, MANY)
    )
    yield from _asking_rows(few, many)
    yield from _turn_rows([_report_alone("turns", str(TURNS))])
    starts = [_report_alone("starting") for _ in range(STARTS)]
    told = [each["told"] for each in starts]
    yield _seconds_row('a new chat: "starting" is shown', told, TOLD_AIM)
    first = [each["first"] for each in starts]
    yield median_row("a cold start to the first event in a chat", first, " s", 2, COLD_AIM)
    yield from _genuine_rows()
    held = _report_alone("memory", TENTH)
    mebibytes, shown = held["bytes"] / (1 << 20), held["characters"]
    detail = f"{shown:,} characters"
    yield Row("memory of ten chats", mebibytes, f"{mebibytes:,.1f} MiB", detail, MEMORY_AIM)


def _report_alone(*arguments: str) -> Any:
    """What is reported from an editor with our agent that has never seen a chat."""
    with tempfile.TemporaryDirectory() as folder:
        agents = {"bench": {"command": AGENT}}
        return Home(folder, {"usual_agent": "bench", "agents": agents}).report(*arguments)


def _streaming_rows(runs: List[Dict[str, Any]]) -> Iterator[Row]:
    name = "3,000 pieces a second in a chat: "
    # The headless editor finds out anew where all lines of a growing text stand.
    yield _seconds_row(name + "longest callback", [run["held"] for run in runs])
    yield _seconds_row("  longest with a processor", [run["busy"] for run in runs])
    yield _seconds_row("  longest without the editor's API", [run["own"] for run in runs], HELD_AIM)
    rates = [PIECES / run["lasted"] for run in runs]
    yield median_row(name + "drawn", rates, "/s", 0, RATE_AIM)
    yield median_row("  in so many changes of the tab", [run["updates"] for run in runs], "")


def _growing_rows(shorts: List[Dict[str, Any]], longs: List[Dict[str, Any]]) -> Iterator[Row]:
    name = f"one more line in a chat of {LONG:,} lines"
    for key, what in (("patches", "editor's thread"), ("added", "engine's thread")):
        own = [[_own_seconds(each, key) for each in runs] for runs in (shorts, longs)]
        yield _seconds_row(f"{name}: {what}", own[1])
        ratios = [late / early for early, late in zip(*own)]
        yield median_row(f"  in times of one of {SHORT}", ratios, "", 2, GROWTH_AIM)
    opened = [each["opened"] for each in longs]
    name = f"a chat of {LONG:,} lines: "
    yield _seconds_row(name + "its end is shown", [parts[0][0] for parts in opened])
    yield _seconds_row(
        name + "all of it, in parts", [sum(wall for wall, _ in parts) for parts in opened]
    )
    # The headless editor finds out anew where all lines stand, for each part.
    yield _seconds_row("  longest part", [max(parts)[0] for parts in opened])
    held = [max(own for _, own in parts) for parts in opened]
    yield _seconds_row("  longest without the editor's API and the collector", held, HELD_AIM)
    collected = statistics.median(each["collected"] for each in longs)
    detail = f"through {longs[0]['objects']:,} objects of the editor and all packages"
    yield millisecond_row("  longest collection of garbage meanwhile", collected, detail)


def _turn_rows(runs: List[Dict[str, Any]]) -> Iterator[Row]:
    late, early = ([statistics.median(run[key]) for run in runs] for key in ("late", "early"))
    yield _seconds_row(f"a turn after {TURNS}, of the processor", late)
    ratios = [after / before for before, after in zip(early, late)]
    yield median_row("  in times of one of the first", ratios, "", 2, GROWTH_AIM)


def _asking_rows(few: List[Dict[str, Any]], many: List[Dict[str, Any]]) -> Iterator[Row]:
    name = f"an answer while {MANY} questions wait"
    parts = ("answered", "engine's thread"), ("shown", "editor's thread"), ("meant", "finding it")
    for key, what in parts:
        costs = [[statistics.median(each[key]) for each in runs] for runs in (few, many)]
        yield _seconds_row(f"{name}: {what}", costs[1])
        ratios = [late / early for early, late in zip(*costs)]
        yield median_row("  in times of one alone", ratios, "", 2, GROWTH_AIM)


def _own_seconds(run: Dict[str, Any], key: str) -> float:
    """Seconds without those of the editor's API."""
    seconds: List[float] = [
        measured[1] if isinstance(measured, list) else measured for measured in run[key]
    ]
    return statistics.median(seconds)


def _genuine_rows() -> Iterator[Row]:
    """The seconds from nothing to the first event, by turns."""
    name = "a cold start to the first event, Gemini CLI: "
    if not os.path.isdir(os.path.join(TESTS, "node_modules")):
        yield missing_row(name + "chat", "the CLI is not installed: make setup")
        return
    alone: List[float] = []
    chat: List[float] = []
    with ModelServer() as model, tempfile.TemporaryDirectory() as folder:
        model.will_play("hello", ["An answer."])
        command = list(GeminiCli.program.find_command(TESTS))[-1:]
        home = Home(folder, {"cli_command": command}, _lead_node(folder, model.url))
        home.report("login")

        def start_alone() -> None:
            began = time.perf_counter()
            direct = Cli(folder, home.workspace, model)
            ready = time.perf_counter() - began
            alone.append(ready + direct.turn("hello")[0])
            direct.stop()

        def start_chat() -> None:
            chat.append(home.report("starting")["first"])

        for number in range(PAIRS):
            # Each comes first as often, but for one.
            for start in (start_alone, start_chat)[:: -1 if number % 2 else 1]:
                start()
    yield median_row(name + "CLI alone", alone, " s", 2)
    yield median_row(name + "chat", chat, " s", 2)
    ratios = [late / early for early, late in zip(alone, chat)]
    yield median_row("  in times of the CLI alone", ratios, "", 2, RATIO_AIM)


def _lead_node(folder: str, model_url: str) -> str:
    """A folder with a `node` that leads the CLI to the tests' model, past the environment, which
    the chat keeps from it."""
    programs, node = os.path.join(folder, "programs"), shutil.which("node")
    if node is None:
        raise RuntimeError("there is no Node.js")
    os.mkdir(programs)
    path = os.path.join(programs, "node")
    with open(path, "w") as file:
        file.write("#!/bin/sh\nexport NO_PROXY=127.0.0.1\n")
        file.write(f"export GOOGLE_GEMINI_BASE_URL={shlex.quote(model_url)}\n")
        file.write(f'exec {shlex.quote(node)} "$@"\n')
    os.chmod(path, 0o755)
    return programs


def _seconds_row(name: str, seconds: List[float], aim: Any = None) -> Row:
    detail = f"{min(seconds) * 1e3:,.2f} to {max(seconds) * 1e3:,.2f} ms"
    return millisecond_row(name, statistics.median(seconds), detail, aim)


if __name__ == "__main__":
    print(format_rows(list(measure())))
