"""Counts the files and functions of the package that run for one thing that the user or a client
does, from its beginning to what they see of it: `python -m tools.count_walks [--list]`.

Each walk is done in the headless editor, or in a server of the API, three times. `walk_recorder`
says what counts of it, and why. `--list` also prints the functions, in the order of their first
calls.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from typing import Dict, List

from . import walk_of_chat
from .walk_recorder import ROOT

CHAT = "POST /chat to the first event"
RUNS = 3
# Seconds for one editor to do its work and leave.
PATIENCE = 600.0

# The functions of each run, by the name of the walk.
Walks = Dict[str, List[List[str]]]


def main(arguments: List[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.count_walks", description=__doc__)
    parser.add_argument("--list", action="store_true", help="print the functions, too")
    parser.add_argument("--runs", type=int, default=RUNS, help="of each walk (default: 3)")
    options = parser.parse_args(arguments)
    walks = in_editor(options.runs)
    if walk_of_chat.is_possible():
        walks[CHAT] = walk_of_chat.record_runs(options.runs)
    found = {name: merge_runs(runs) for name, runs in walks.items()}
    print(format_table(found))
    if not walk_of_chat.is_possible():
        print(f"{CHAT}: needs the CLI, which `make setup-node` installs")
    if options.list:
        for name, functions in found.items():
            print("\n".join(["", name, *(f"  {each}" for each in functions)]))
    return 0


def in_editor(runs: int) -> Walks:
    """Raises subprocess.SubprocessError."""
    with tempfile.TemporaryDirectory() as folder:
        answer = os.path.join(folder, "answer.json")
        workspace, empty = os.path.join(folder, "workspace"), os.path.join(folder, "empty")
        os.mkdir(workspace)
        os.mkdir(empty)
        subprocess.run(
            [sys.executable, "-m", "headless", workspace, "--package", empty]
            + ["--exec", os.path.join(ROOT, "tools", "walks_inside.py"), "--", answer, str(runs)],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": folder},
            stdout=subprocess.DEVNULL,
            timeout=PATIENCE,
            check=True,
        )
        with open(answer) as file:
            walks: Walks = json.load(file)
            return walks


def merge_runs(runs: List[List[str]]) -> List[str]:
    """What any of the runs of one walk has: an answer that is there before it is awaited hides in
    that run what led to it."""
    return list(dict.fromkeys(name for run in runs for name in run))


def format_table(found: Dict[str, List[str]]) -> str:
    lines = [f"{'walk':<30}{'files':>6}{'functions':>11}"]
    for name, functions in found.items():
        files = {each.partition(":")[0] for each in functions}
        lines.append(f"{name:<30}{len(files):>6}{len(functions):>11}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
