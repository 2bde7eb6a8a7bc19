"""The core in a simulated world: whatever fails, no decision and no text is lost."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SEEDS = 200
# Seconds; a seed takes a hundredth of one.
PATIENCE = 300
# Makes each fault in what keeps notes, and prints what is noticed first. The first seeds
# notice all; the others would say the same, later.
LOSING = """
from unittest import mock
from companion.ide.hooks.words_for_model import WordsForModel
from tests.ide.simulator.harness import Harness

def stays_under_way(self, numbers, is_done, settle=WordsForModel._settle_words):
    if is_done:
        settle(self, numbers, is_done)

def counts_as_told(self, numbers, is_done, settle=WordsForModel._settle_words):
    settle(self, numbers, True)

async def none_is_lost(self):
    return []

FAULTS = {
    "stays under way": ("_settle_words", stays_under_way),
    "counts as told": ("_settle_words", counts_as_told),
    "is not given back": ("_words_without_cli", none_is_lost),
    "is not saved": ("saved_words", lambda self: ()),
    "is not taken over": ("adopt_words", lambda self, saved: None),
    "is not told": ("_waiting_numbers", lambda self, key: []),
}
harness = Harness()
with harness.installed():
    for fault, change in FAULTS.items():
        with mock.patch.object(WordsForModel, *change):
            seeds = (harness.run(seed).ledger.violations for seed in (46, 225, *range(601)))
            print(fault, next(filter(None, seeds), "unnoticed"), sep=": ")
"""


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
            "names",
            "asked by Claude Code",
            "decided in the editor",
            "terminal of Claude Code",
            "socket cut",
        ):
            self.assertRegex(output, rf"\b[1-9]\d* {what}\b")

    def test_a_seed_replays(self) -> None:
        command = [sys.executable, "-m", "tests.ide.simulator", "--seed", "4", "--trace"]
        runs = [subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE) for _ in range(2)]
        self.assertEqual(runs[0].stdout, runs[1].stdout)
        self.assertIn(b"proposes", runs[0].stdout)

    def test_a_note_that_hooks_lose_is_noticed(self) -> None:
        done = subprocess.run(
            [sys.executable, "-c", LOSING],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": "0"},
            stdout=subprocess.PIPE,
            timeout=PATIENCE,
        )
        found = done.stdout.decode().splitlines()
        self.assertEqual(len(found), 6, found)
        for line in found:
            self.assertRegex(line, "a note (lost|waits after a prompt)")
