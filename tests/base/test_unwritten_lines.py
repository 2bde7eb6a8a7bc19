"""Lines that a disk does not take: what is dropped of them, and what stays."""

from __future__ import annotations

import unittest

from GeminiCompanion.companion.base.unwritten_lines import (
    AFTER_ALL_OTHERS,
    FIRST,
    NEVER,
    UnwrittenLimit,
    UnwrittenLines,
)

GAP = b"...\n"
LOST = "the oldest lines of"


class Unwritten(unittest.TestCase):
    def setUp(self) -> None:
        self.limit = UnwrittenLimit(12)
        self.one, self.other = UnwrittenLines("one"), UnwrittenLines("other")

    def add(self, lines: UnwrittenLines, *texts: str, goes: int = FIRST) -> None:
        with self.limit.set_apart(lines):
            for text in texts:
                lines.add_line(text.encode() + b"\n", goes)

    def test_the_oldest_lines_of_whichever_file_go_first_and_leave_a_gap(self) -> None:
        self.add(self.one, "1 a", "1 b")
        self.add(self.other, "2 a")
        with self.assertLogs("GeminiCompanion", "ERROR") as logs:
            self.add(self.other, "2 b")
            self.add(self.one, "1 c")
        self.assertEqual(self.one.all_lines(GAP), b"...\n1 c\n")
        self.assertEqual(self.other.all_lines(GAP), b"2 a\n2 b\n")
        self.assertEqual((self.one.is_whole, self.other.is_whole), (False, True))
        self.assertEqual([each for each in logs.output if LOST in each], logs.output)
        self.assertEqual(len(logs.output), 1)

    def test_some_lines_go_after_all_others_and_some_never(self) -> None:
        self.add(self.one, "head", goes=NEVER)
        self.add(self.one, "set", goes=AFTER_ALL_OTHERS)
        with self.assertLogs("GeminiCompanion", "ERROR"):
            self.add(self.one, "said", "more")
            self.assertEqual(self.one.all_lines(GAP), b"head\nset\n...\n")
            self.add(self.other, "another", goes=AFTER_ALL_OTHERS)
        self.assertEqual(self.one.all_lines(GAP), b"head\n...\n")
        self.add(self.other, "x" * 100, goes=NEVER)
        self.assertIn(b"x" * 100, self.other.all_lines(GAP))

    def test_the_gap_is_where_the_last_line_is_missing_and_not_where_one_was_dropped_last(
        self,
    ) -> None:
        self.add(self.one, "set", goes=AFTER_ALL_OTHERS)
        self.add(self.one, "head", goes=NEVER)
        with self.assertLogs("GeminiCompanion", "ERROR"):
            self.add(self.one, "said", "again")
            self.add(self.other, "more", goes=AFTER_ALL_OTHERS)
        self.assertEqual(self.one.all_lines(GAP), b"head\n...\n")

    def test_what_a_thread_works_with_is_not_dropped_meanwhile_and_counts_afterwards(self) -> None:
        self.add(self.one, "1 a", "1 b")
        with self.limit.set_apart(self.one):
            self.add(self.other, "2 a", "2 b", "2 c")
            self.assertTrue(self.one.is_whole and self.other.is_whole)
            self.one.clear()
        self.add(self.other)
        self.assertTrue(self.other.is_whole)
        with self.assertLogs("GeminiCompanion", "ERROR"):
            self.add(self.one, "1 c")
        self.assertFalse(self.other.is_whole)

    def test_lines_that_were_cleared_are_whole_again(self) -> None:
        with self.assertLogs("GeminiCompanion", "ERROR"):
            self.add(self.one, "x" * 100)
        self.assertEqual((self.one.size, self.one.all_lines(GAP)), (0, GAP))
        self.one.clear()
        self.assertEqual((self.one.is_whole, self.one.all_lines(GAP)), (True, b""))
