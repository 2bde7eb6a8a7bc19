"""The core in a simulated world: whatever fails, no decision and no text is lost."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SEEDS = 120
# Seconds; a seed takes a hundredth of one.
PATIENCE = 300


class Simulator(unittest.TestCase):
    def test_nothing_is_lost_told_twice_or_told_to_another_cli_in_any_of_these_seeds(self) -> None:
        # In a process of its own: a seed decides everything only where the hashes do not vary.
        command = [sys.executable, "-m", "tests.ide.simulator", "--seeds", str(SEEDS)]
        done = subprocess.run(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE
        )
        output = done.stdout.decode("utf-8", "replace")
        print(output.strip())
        self.assertEqual(done.returncode, 0, output)
        # Each of them has to have happened, or the run says nothing.
        for what in (
            "cut",
            "crash",
            "killed at a write",
            "answer lost",
            "accepted",
            "returned",
            "clock is set",
            "gathered",
            "made to ask",
            "notes told",
            "nobody reads a hook",
            "taken back",
        ):
            self.assertRegex(output, rf"\b[1-9]\d* {what}\b")

    def test_a_seed_replays(self) -> None:
        command = [sys.executable, "-m", "tests.ide.simulator", "--seed", "4", "--trace"]
        runs = [subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE) for _ in range(2)]
        self.assertEqual(runs[0].stdout, runs[1].stdout)
        self.assertIn(b"proposes", runs[0].stdout)
