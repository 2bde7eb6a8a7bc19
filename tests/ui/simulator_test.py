"""The package and its editor in a simulated world: whatever ends in whatever order, each decision
and each note is told once, what was dropped is not accepted, messages keep their order, and no text
is lost."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = os.path.join("tests", "ui", "simulator", "run.py")
COMMAND = (sys.executable, "-O", "-m", "headless", "--exec", SCRIPT, "--")
# The same ones each time; `make fuzz` runs as many times FUZZ.
FUZZ = int(os.environ.get("FUZZ", "1"))
SEEDS = 20 * FUZZ
# Each of them has to have happened, or the run says nothing.
WHAT = (
    *("accept", "close", "died", "drop", "queued", "reload", "same file", "stop", "terminal"),
    *("type", "typed in the sheet", "CLI died", "listed", "notes told", "told of an undone edit"),
)


def run(*arguments: str) -> tuple[int, str]:
    """Status and output. In a process of its own, whose hashes do not vary, and whose editor runs
    nothing else."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=500 * FUZZ,
    )
    return done.returncode, done.stdout.decode("utf-8", "replace")


class Simulator(unittest.TestCase):
    def test_no_decision_and_no_text_is_lost_in_any_of_these_seeds(self) -> None:
        status, output = run("--seeds", str(SEEDS))
        print(output.strip())
        self.assertEqual(status, 0, output)
        for what in WHAT:
            self.assertRegex(output, rf"\b[1-9]\d* {what}\b")

    def test_a_seed_replays(self) -> None:
        _, alone = run("--from", "26", "--seeds", "1", "--trace")
        _, among = run("--from", "25", "--seeds", "2", "--trace")
        trace = among.split("\nseed 26\n")[1].split("\n2 seeds in ")[0]
        # What else happens in a run changes with the package.
        self.assertIn("proposes", trace)
        self.assertIn(trace, alone)
