"""What is shown of texts that are too large to be shown whole."""

from __future__ import annotations

import unittest

from GeminiCompanion.companion.base.comparison import Comparison, compare
from GeminiCompanion.companion.base.digest import MAX_CHANGE, MAX_ROW, digest
from hypothesis import given
from hypothesis import strategies as st

TEXTS = st.lists(st.sampled_from("ab\n"), max_size=60).map("".join)


def shown(old: list[str], new: list[str]) -> Comparison:
    return digest(compare("".join(old), "".join(new)))


class Digest(unittest.TestCase):
    def test_a_change_far_down_stands_there_with_ten_lines_around_it(self) -> None:
        old = [f"{row}\n" for row in range(80_000)]
        found = shown(old, [*old[:74_000], "changed\n", *old[74_001:]])
        self.assertEqual(found.new.rows[0], "... 73,990 lines ...\n")
        self.assertEqual(found.new.rows[1], "73990\n")
        self.assertEqual(found.new.rows[11], "changed\n")
        self.assertEqual(found.old.rows[11], "74000\n")
        self.assertEqual(found.new.rows[21], "74010\n")
        self.assertEqual(found.new.rows[22:], ["... 5,989 lines ...\n"])

    @given(TEXTS, TEXTS)
    def test_its_changes_are_those_of_the_whole_texts_and_all_rows_of_them_are_there(
        self, old: str, new: str
    ) -> None:
        whole = compare(old, new)
        found = digest(whole)
        self.assertEqual(len(found.changes), len(whole.changes))
        for one, other in zip(found.changes, whole.changes):
            self.assertEqual(
                found.old.rows[one.old_start : one.old_end],
                whole.old.rows[other.old_start : other.old_end],
            )
            self.assertEqual(
                found.new.rows[one.new_start : one.new_end],
                whole.new.rows[other.new_start : other.new_end],
            )

    def test_of_a_very_long_change_the_beginning_and_the_end_are_shown(self) -> None:
        found = shown([], [f"{row}\n" for row in range(5 * MAX_CHANGE)])
        self.assertEqual(len(found.new.rows), MAX_CHANGE + 1)
        self.assertEqual(found.new.rows[-1], f"{5 * MAX_CHANGE - 1}\n")
        self.assertIn("more lines of this change", found.new.rows[MAX_CHANGE // 2])

    def test_of_a_row_of_two_megabytes_the_part_that_differs_is_shown(self) -> None:
        row = "x" * 1_000_000
        found = shown([row + "OLD" + row + "\n"], [row + "NEW" + row + "\n"])
        self.assertIn("OLD", found.old.rows[0])
        self.assertIn("NEW", found.new.rows[0])
        self.assertLess(len(found.new.rows[0]), MAX_ROW + 100)
        self.assertTrue(found.new.rows[0].startswith("... 999,000 characters ... "))
        self.assertTrue(found.new.rows[0].endswith(" characters ...\n"))
