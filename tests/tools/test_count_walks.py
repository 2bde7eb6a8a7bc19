"""The tool that counts what runs for one thing that the user does: that it counts, not how much."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
import unittest
from typing import Callable

from companion.base import shown_text
from companion.base.text_digest import text_digest
from tools import walk_of_chat
from tools.count_walks import CHAT
from tools.walk_recorder import Recorder

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# The rooms that each walk leads through.
ROOMS = {
    "selection to the stream": {"plugin.py", "ui", "ide", "base"},
    "openDiff to the drawn view": {"plugin.py", "ui", "ide", "base"},
    "Accept to the notification": {"ui", "ide", "base"},
    "Drop to the drawn view": {"ui", "base"},
    CHAT: {"api", "agent", "base"},
}


def on_a_thread(work: Callable[[], object]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


class Recording(unittest.TestCase):
    def setUp(self) -> None:
        self.recorder = Recorder()
        self.recorder.watch_new_threads()
        self.addCleanup(threading.setprofile, None)

    def test_what_other_threads_call_is_named_with_its_file(self) -> None:
        found = self.recorder.record(lambda: on_a_thread(lambda: shown_text.shown_line("a")))
        self.assertRegex(found[0], r"^companion/base/shown_text\.py:\d+ shown_line$")
        self.assertEqual(len(found), len(set(found)))

    def test_nothing_is_noted_before_and_after(self) -> None:
        on_a_thread(lambda: shown_text.shown_line("a"))
        self.assertEqual(self.recorder.record(lambda: None), [])

    def test_what_polls_is_left_out_with_all_that_it_calls_and_nothing_else(self) -> None:
        is_over = threading.Event()

        def poll() -> None:
            while not is_over.wait(0.001):
                shown_text.shown_line("a")

        thread = threading.Thread(target=poll)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(is_over.set)
        self.recorder.learn_polling(lambda: time.sleep(0.1))
        found = self.recorder.record(lambda: on_a_thread(lambda: text_digest("a")))
        self.assertEqual([name.partition(" ")[2] for name in found], ["text_digest"])


class Counting(unittest.TestCase):
    def test_each_walk_is_counted_and_its_functions_are_listed(self) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "tools.count_walks", "--runs", "1", "--list"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            check=True,
            encoding="utf-8",
        )
        table, *lists = done.stdout.split("\n\n")
        listed = {name: lines for name, *lines in (part.splitlines() for part in lists)}
        for name in set(ROOMS) - (set() if walk_of_chat.is_possible() else {CHAT}):
            with self.subTest(name):
                counts = re.search(rf"{name} +(\d+) +(\d+)", table)
                files = {line.strip().partition(":")[0] for line in listed[name]}
                self.assertEqual(
                    [int(each) for each in counts.groups()], [len(files), len(listed[name])]
                )
                rooms = {file.replace("companion/", "").partition("/")[0] for file in files}
                self.assertLessEqual(ROOMS[name], rooms)
