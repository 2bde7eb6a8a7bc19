"""What the package costs the editor it lives in: each event, the load, the memory.

The editor is the headless one, in a process of its own for each run. Its API is cheaper than the
genuine one's, so these numbers are the package's own share.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from typing import Any, Dict, Iterator, List, Optional

from tools import libraries
from tools.package import (
    WHOLE,
    NoCheckout,
    download_libraries,
    export_files,
    whole_package,
    zip_files,
)

from .table import Aim, Row, median_row, millisecond_row, missing_row, quantile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LOADS = 5
REVIEWS = 5
SHEETS = 3
HOLDS = 3
# Seconds for one editor to do its work and leave.
PATIENCE = 120.0

EVENT_AIM = Aim(100.0, False, "at most 100 us")
DISCOVERY_AIM = Aim(500.0, False, "at most 500 ms")
HELD_AIM = Aim(16.0, False, "at most 16 ms")
LOAD_AIM = Aim(10.0, False, "at most 10 ms")
PAINT_AIMS = (Aim(50.0, False, "at most 50 ms"), Aim(100.0, False, "at most 100 ms"))
REVIEW_AIM = Aim(8.0, False, "at most 8 ms")
COMPUTED_AIM = Aim(1000.0, False, "at most 1 s")
SHEET_AIM = Aim(500.0, False, "at most 500 ms")
LIST_AIM = Aim(50.0, False, "at most 50 ms")
SCROLLING_AIM = Aim(1.0, False, "at most 1 ms")
MEMORY_AIM = Aim(20.0, False, "at most 20 MiB")
MEMORY = "memory added by the package"
FILE_MEMORY = "  from its file, compiled at each start"
OWN_MEMORY = "  of the plain one, where another package has loaded asyncio and aiohttp"
LIBRARIES = "asyncio,aiohttp,aiohttp.web_server"


def measure() -> Iterator[Row]:
    for name, seconds in _read_report("events.py", []):
        yield _event_row(f"selection event, {name}", seconds)
    yield from _held_rows([_read_report("held.py", []) for _ in range(HOLDS)])
    yield from _review_rows([_read_report("review.py", []) for _ in range(REVIEWS)])
    yield from _sheet_rows([_read_report("changes.py", []) for _ in range(SHEETS)])
    yield from _proposal_rows(_read_report("proposals.py", []))
    yield from _tree_rows([_read_report("trees.py", []) for _ in range(SHEETS)])
    with tempfile.TemporaryDirectory() as folder:
        yield from _measure_loading(folder)


def _measure_loading(folder: str) -> Iterator[Row]:
    """The package with all that it carries: from a folder with its compiled modules, which the
    first load writes and is not counted, and from the file that users have."""
    try:
        files = whole_package(export_files(), download_libraries())
    except (NoCheckout, libraries.Unavailable) as error:
        yield missing_row(MEMORY, f"the package cannot be built: {error}")
        return
    unpacked, file = os.path.join(folder, "GeminiCompanion"), os.path.join(folder, WHOLE)
    for path, data in files.items():
        os.makedirs(os.path.dirname(os.path.join(unpacked, path)), exist_ok=True)
        with open(os.path.join(unpacked, path), "wb") as out:
            out.write(data)
    with open(file, "wb") as out:
        out.write(zip_files(files))
    package = ["--package", os.path.join(folder, "empty")]
    os.mkdir(package[1])
    runs = [_read_report("load.py", package, unpacked, "") for _ in range(LOADS + 1)][1:]
    from_file = [_read_report("load.py", package, file, "") for _ in range(LOADS)]
    beside = [_read_report("load.py", package, ROOT, LIBRARIES) for _ in range(LOADS)]
    yield from _load_rows(runs)
    yield _round_row(
        "  from its file, compiled at each start", [run["in all"] for run in from_file], None
    )
    yield from _memory_rows(runs, from_file, beside)


def _read_report(script: str, options: List[str], *arguments: str) -> Any:
    """What a script of bench/inside reports from a new editor with one folder.

    Raises subprocess.SubprocessError."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        workspace = os.path.join(folder, "workspace")
        os.mkdir(workspace)
        subprocess.run(
            [sys.executable, "-m", "headless", workspace]
            + options
            + ["--exec", os.path.join(ROOT, "bench", "inside", script), "--"]
            + [*arguments, report],
            cwd=ROOT,
            # Compiled modules are written, whatever this environment says.
            env={**os.environ, "TMPDIR": folder, "PYTHONDONTWRITEBYTECODE": ""},
            stdout=subprocess.DEVNULL,
            timeout=PATIENCE,
            check=True,
        )
        with open(report) as file:
            return json.load(file)


def _event_row(name: str, seconds: List[float]) -> Row:
    micros = [second * 1e6 for second in seconds]
    median = statistics.median(micros)
    detail = f"p99 {quantile(micros, 99):,.0f} us"
    return Row(name, median, f"{median:,.0f} us", detail, EVENT_AIM)


def _held_rows(runs: List[Any]) -> Iterator[Row]:
    for cases in zip(*runs):
        name = f"editor's thread held by {cases[0][0]}"
        longest, gaps = [case[1] for case in cases], [case[3] for case in cases]
        gap = f"gap between 1 ms ticks up to {max(gaps) * 1e3:,.1f} ms"
        detail = f"{min(longest) * 1e3:,.1f} to {max(longest) * 1e3:,.1f} ms; {gap}"
        yield millisecond_row(name, statistics.median(longest), detail, HELD_AIM)
        yield _round_row("  of that with a processor", [case[2] for case in cases], None)


def _review_rows(runs: List[Dict[str, Any]]) -> Iterator[Row]:
    for name, paint_aim in zip(runs[0]["cases"], PAINT_AIMS):
        cases = [run["cases"][name] for run in runs]
        for key, what, aim in (
            ("paint", "first change in sight", paint_aim),
            ("held", "longest callback after that", REVIEW_AIM),
            ("busy", "longest with a processor", None),
            ("computed", "changes known after that", None),
        ):
            yield _round_row(f"review of {name}: {what}", [case[key] for case in cases], aim)
    computed = [run["computed"] for run in runs]
    yield _round_row("10,000 changed lines computed", computed, COMPUTED_AIM)
    keystrokes = [seconds for run in runs for seconds in run["keystroke"]]
    yield _event_row("keystroke in a proposal", keystrokes)
    steps = [seconds for run in runs for seconds in run["scrolling"]]
    yield _round_row("one step of scrolling together", steps, SCROLLING_AIM)
    placing = [seconds for run in runs for seconds in run["layout"]]
    yield _round_row("  of that the headless editor's placing of lines", placing, None)


def _sheet_rows(runs: List[Dict[str, Any]]) -> Iterator[Row]:
    yield from _drawn_rows("sheet of 300 files, 10,000 changed lines", runs)
    keystrokes = [seconds for run in runs for seconds in run["keystroke"]]
    yield _round_row("keystroke in that sheet", keystrokes, REVIEW_AIM)
    unasked = [run["unasked"] for run in runs]
    yield from _drawn_rows("the same of edits made without asking", unasked)


def _drawn_rows(name: str, runs: List[Dict[str, Any]]) -> Iterator[Row]:
    for key, what, aim in (
        ("open", f"{name}: all drawn", SHEET_AIM),
        ("held", f"{name}: longest callback", HELD_AIM),
        ("busy", "  of that with a processor", None),
    ):
        yield _round_row(what, [run[key] for run in runs], aim)


def _proposal_rows(run: Dict[str, Any]) -> Iterator[Row]:
    for key, what in (("first", "answer to the first ones"), ("last", "to the last ones")):
        yield _round_row(f"256 proposals of four CLIs: {what}", run[key], None)
    for key, what, aim in (
        ("held", "longest callback", None),
        ("busy", "  of that with a processor", None),
        ("open", "sheet of all drawn", SHEET_AIM),
        ("sheet held", "longest callback of that", HELD_AIM),
        ("sheet busy", "  of that with a processor", None),
    ):
        name = f"256 proposals of four CLIs: {what}"
        yield _round_row(what if key.endswith("busy") else name, [run[key]], aim)
    detail = f"through {run['objects']:,} objects of the editor and all packages"
    yield millisecond_row("  longest collection of garbage beside these", run["collected"], detail)


def _tree_rows(runs: List[Dict[str, Any]]) -> Iterator[Row]:
    lists = [seconds for run in runs for seconds in run["list"]]
    yield _round_row("three work trees of 5,000 files, 300 changed: listed", lists, LIST_AIM)
    for key, what, aim in (
        ("first", "  for the first time", None),
        ("held", "  longest callback meanwhile", HELD_AIM),
        ("busy", "  of that with a processor", None),
    ):
        yield _round_row(what, [run[key] for run in runs], aim)
    sheets = [run["sheet"] for run in runs]
    yield from _drawn_rows("sheet of 300 files changed in a work tree", sheets)


def _round_row(name: str, seconds: List[float], aim: Optional[Aim]) -> Row:
    detail = f"{min(seconds) * 1e3:,.1f} to {max(seconds) * 1e3:,.1f} ms"
    return millisecond_row(name, statistics.median(seconds), detail, aim)


def _load_rows(runs: List[Dict[str, Any]]) -> Iterator[Row]:
    for key, name, aim in (
        ("published", "plugin_loaded to discovery file", DISCOVERY_AIM),
        ("import", "editor's thread held: import of the plugin", None),
        ("callback", "editor's thread held: longest callback after that", None),
        ("gap", "editor's thread held: longest gap between 1 ms ticks", None),
        ("in all", "editor's thread held: import and all callbacks", LOAD_AIM),
        ("busy", "  of that with a processor", None),
    ):
        yield _round_row(name, [run[key] for run in runs], aim)


def _memory_rows(
    runs: List[Dict[str, Any]], from_file: List[Dict[str, Any]], beside: List[Dict[str, Any]]
) -> Iterator[Row]:
    """The package with its libraries, and beside a package that has them already."""
    if runs[0]["memory"] is None:
        yield missing_row(MEMORY, "needs /proc")
        return
    for name, some, aim in (
        (MEMORY, runs, MEMORY_AIM),
        (FILE_MEMORY, from_file, None),
        (OWN_MEMORY, beside, None),
    ):
        yield median_row(name, [run["memory"] / 1024**2 for run in some], " MiB", 1, aim)
