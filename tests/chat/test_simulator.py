"""The chats and their engine in a simulated world: whatever ends in whatever order, each message
and each decision is told once, and none is lost."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMMAND = (sys.executable, "-m", "tests.chat.simulator")
SEEDS = 30


class Simulator(unittest.TestCase):
    def test_no_message_and_no_decision_is_lost_or_told_twice_in_any_of_these_seeds(self) -> None:
        # In a process of its own: a seed decides everything only where the hashes do not vary.
        command = [*COMMAND, "--seeds", str(SEEDS)]
        done = subprocess.run(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=500
        )
        output = done.stdout.decode("utf-8", "replace")
        print(output.strip())
        self.assertEqual(done.returncode, 0, output)
        # Each of them has to have happened, or the run says nothing.
        for what in ("died", "decide", "not sent", "reload", "sent now", "stop", "taken back"):
            self.assertRegex(output, rf"\b[1-9]\d* {what}\b")

    def test_a_seed_replays(self) -> None:
        command = [*COMMAND, "--from", "8", "--trace"]
        runs = [
            subprocess.run(
                [*command, "--seeds", count], cwd=ROOT, stdout=subprocess.PIPE, timeout=250
            )
            for count in ("1", "2")
        ]
        traces = [run.stdout.decode().split("\nseed 9\n")[0].splitlines() for run in runs]
        self.assertEqual(traces[0][:-1], traces[1][: len(traces[0]) - 1])
        self.assertIn("send", str(traces[0]))
