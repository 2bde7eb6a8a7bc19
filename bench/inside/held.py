"""Runs inside an editor: how long hard proposals hold its thread, from openDiff to the decision.

`python -m headless FOLDER --exec bench/inside/held.py -- REPORT`: writes REPORT, a JSON list of
[what was proposed, seconds of the longest callback, those of them with a processor, seconds of the
longest gap between ticks].
The CLI is a process of its own; what remains in the gaps is the package and the editor's own work.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from typing import Callable, List, Tuple

import sublime
from GeminiCompanion import plugin

from headless import running

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from load import Costs, Ticker, watch_queue  # noqa: E402

MIB = 1024 * 1024
LINE = "def add(a, b): return a + b  # one more line of an ordinary source file, this one\n"
# Seconds for one proposal to be decided.
PATIENCE = 60.0
CLIENT = os.path.join("bench", "client.py")


def make_text(size: int, line: str = LINE) -> bytes:
    data = line.encode()
    return (data * (size // len(data) + 1))[:size]


# What the file is, and what is proposed for it.
CASES: List[Tuple[str, bytes, bytes]] = [
    ("a file of 10 KiB", make_text(10 * 1024), make_text(10 * 1024, LINE.upper())),
    ("a file of 1 MiB", make_text(MIB), make_text(MIB, LINE.upper())),
    ("a file of 200,000 lines", b"a line\n" * 200_000, b"a LINE\n" * 200_000),
    (
        "a file of just under 2 MiB",
        make_text(2 * MIB - 99),
        make_text(2 * MIB - 100_000, LINE.upper()),
    ),
    ("one line of 1 MiB", b"x = 1\n", b"x" * MIB),
    ("one line of 10 MiB", b"x" * 10 * MIB, b"y" * 10 * MIB),
    ("a file of 50 MiB", make_text(50 * MIB), make_text(50 * MIB, LINE.upper())),
    ("a binary file of 50 MiB", b"\xff\0" * 25 * MIB, make_text(10 * 1024)),
]


def main(report: str) -> None:
    folder = sublime.active_window().folders()[0]
    # Sublime has read its syntaxes before it shows the first text.
    sublime.find_syntax_for_file("present.txt")
    held = watch_queue(running.current().queues.ui)
    rows = []
    for name, present, proposed in CASES:
        path, proposal = os.path.join(folder, "present.txt"), os.path.join(folder, "proposed.txt")
        for file, data in ((path, present), (proposal, proposed)):
            with open(file, "wb") as target:
                target.write(data)
        rows.append((name, *_measure_diff(held, path, proposal)))
    with open(report, "w") as output:
        json.dump(rows, output)


def _measure_diff(held: Costs, path: str, proposal: str) -> Tuple[float, float, float]:
    window = sublime.active_window()
    _wait_until(lambda: bool(plugin._host.environment_of(window)))
    environment = plugin._host.environment_of(window)
    port = environment["GEMINI_CLI_IDE_SERVER_PORT"]
    token = environment["GEMINI_CLI_IDE_AUTH_TOKEN"]
    ticker = Ticker()
    held.clear()
    _propose_and_accept(window, [port, token, path, proposal])
    ticker.stop()
    longest = max(held, key=lambda each: each.wall)
    return longest.wall, longest.busy, ticker.longest


def _propose_and_accept(window: sublime.Window, arguments: List[str]) -> None:
    with subprocess.Popen([sys.executable, CLIENT, *arguments], stdout=subprocess.PIPE) as client:
        _expect_line(client, b"open\n")
        window.run_command("gemini_companion_accept_diff")
        _answer_question(window)
        _expect_line(client, b"decided\n")
    _wait_until(lambda: len(window.views()) == 0)


def _answer_question(window: sublime.Window) -> None:
    """Accept anyway if that is asked."""
    editor = running.current()
    _wait_until(lambda: not _has_diff(window) or editor.active_window.question is not None)
    if editor.active_window.question is not None:
        editor.ui(editor.active_window.answer, 1)


def _has_diff(window: sublime.Window) -> bool:
    return any(view.settings().get("gemini_companion_diff") for view in window.views())


def _expect_line(client: subprocess.Popen[bytes], line: bytes) -> None:
    if client.stdout is None or client.stdout.readline() != line:
        raise RuntimeError(f"the client did not say {line!r}")


def _wait_until(condition: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(int(PATIENCE / 0.05)):
        if condition():
            return
        pause.wait(0.05)
    raise TimeoutError("the editor is not ready")


if __name__ == "__main__":
    main(*sys.argv[1:])
