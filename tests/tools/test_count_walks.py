"""The tool that counts what runs for one thing that the user does: that it counts, not how much."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import threading
import unittest
from functools import partial
from typing import Any, Callable

from companion.base import log, shown_text
from companion.base.background import in_thread, start_work
from companion.base.text_digest import text_digest
from tools import walk_of_chat
from tools.count_walks import CHAT
from tools.walk_recorder import EDITOR, Recorder

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Seconds.
PATIENCE = 180.0
# The rooms that each walk leads through.
ROOMS = {
    "selection to the stream": {"plugin.py", "ui", "ide", "base"},
    "openDiff to the drawn view": {"ui", "ide", "base"},
    "Accept to the notification": {"ui", "ide", "base"},
    "Drop to the drawn view": {"ui", "base"},
    CHAT: {"api", "agent", "base"},
}


def seen(_what: object) -> None:
    """The end of a walk."""


def on_a_thread(work: Callable[[], object]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


# What runs for the digest of a text.
DIGEST = ["text_digest", "digest_of_parts"]


class Recording(unittest.TestCase):
    def setUp(self) -> None:
        self.recorder = Recorder(quiet=0.0)
        self.recorder.__enter__()
        self.addCleanup(self.recorder.__exit__)

    def found(self, walk: Callable[[], object]) -> list[str]:
        """The names of the functions from the beginning of the walk to a call of `seen`."""
        named = self.recorder.record(walk, lambda frame: frame.f_code is seen.__code__)
        return [name.partition(" ")[2] for name in named]

    def test_what_leads_to_the_end_is_named_with_its_file(self) -> None:
        def walk() -> None:
            on_a_thread(lambda: seen(shown_text.shown_line("a")))

        found = self.recorder.record(walk, lambda frame: frame.f_code is seen.__code__)
        self.assertRegex(found[0], r"^companion/base/shown_text\.py:\d+ shown_line$")
        self.assertEqual(len(found), len(set(found)))

    def test_nothing_is_noted_before_the_walk_and_after_its_end(self) -> None:
        def walk() -> None:
            on_a_thread(lambda: (seen(text_digest("a")), shown_text.shown_line("a")))

        on_a_thread(lambda: shown_text.shown_line("a"))
        self.assertEqual(self.found(walk), DIGEST)

    def test_what_another_thread_does_meanwhile_does_not_count(self) -> None:
        def walk() -> None:
            on_a_thread(lambda: shown_text.shown_line("a"))
            on_a_thread(lambda: seen(text_digest("a")))

        self.assertEqual(self.found(walk), DIGEST)

    def test_the_way_leads_over_threads_and_loops_as_far_as_each_had_come(self) -> None:
        async def see() -> None:
            seen(await in_thread(lambda: text_digest("a")))
            shown_text.shown_line("a")

        def names(found: list[str]) -> set[str]:
            return {"in_thread", "text_digest", "shown_line"} & set(found)

        found = self.found(lambda: on_a_thread(lambda: asyncio.run(see())))
        self.assertEqual(names(found), {"in_thread", "text_digest"})

    def test_who_only_hands_on_to_what_they_await_does_not_count(self) -> None:
        begun, goes_on = threading.Event(), threading.Event()

        async def see() -> None:
            # Called when this waits.
            asyncio.get_running_loop().call_soon(begun.set)
            await in_thread(partial(goes_on.wait, PATIENCE))
            seen("a")

        def walk() -> None:
            goes_on.set()
            thread.join()

        thread = threading.Thread(target=lambda: asyncio.run(see()))
        thread.start()
        begun.wait(PATIENCE)
        found = self.found(walk)
        # The first waits for the second, and then returns.
        self.assertNotIn("in_thread", found)
        self.assertIn("await_answer", found)

    def test_what_stands_within_a_function_counts_as_that_function(self) -> None:
        is_over = threading.Event()

        def walk() -> None:
            # This thread is not watched: only what `start_work` gets runs on a new one.
            start_work(lambda: (seen("a"), is_over.set()))
            is_over.wait(PATIENCE)

        self.assertEqual(self.found(walk), ["start_work"])

    def test_of_what_the_editor_calls_only_what_answers_it_leads_further(self) -> None:
        editor: dict[str, Callable[..., Any]] = {}
        code = "def call(*steps):\n for step, given in steps:\n  step(given)"
        exec(compile(code, os.path.join(EDITOR, "made.py"), "exec"), editor)
        steps = (log.set_level, "info"), (text_digest, "a"), (seen, "a")
        found = self.found(lambda: on_a_thread(lambda: editor["call"](*steps)))
        self.assertEqual(found, DIGEST)

    def test_all_is_as_it_was_afterwards(self) -> None:
        methods = threading.Thread.start, asyncio.Handle._run, asyncio.BaseEventLoop.call_soon
        with Recorder():
            self.assertNotEqual(threading.Thread.start, methods[0])
        self.assertEqual(
            (threading.Thread.start, asyncio.Handle._run, asyncio.BaseEventLoop.call_soon), methods
        )


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
