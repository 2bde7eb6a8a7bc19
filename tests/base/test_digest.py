"""What is shown of texts that are too large to be shown whole."""

from __future__ import annotations

import unittest

from GeminiCompanion.companion.base.comparison import Comparison, compare_texts
from GeminiCompanion.companion.base.digest import MAX_CHANGE, MAX_ROW, Digest, digest_comparison
from hypothesis import given
from hypothesis import strategies as st

TEXTS = st.lists(st.sampled_from("ab\n"), max_size=60).map("".join)


def shown(old: list[str], new: list[str]) -> Comparison:
    return digest_comparison(compare_texts("".join(old), "".join(new)))


class Digests(unittest.TestCase):
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
        whole = compare_texts(old, new)
        found = digest_comparison(whole)
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

    @given(TEXTS, TEXTS, st.data())
    def test_each_row_has_its_number_in_the_whole_text(
        self, old: str, new: str, data: st.DataObject
    ) -> None:
        whole = compare_texts(old, new)
        keys = st.sets(st.sampled_from(whole.keys)) if whole.keys else st.just(set())
        dropped = frozenset(data.draw(keys))
        found, _ = Digest(whole, digest_comparison(whole)).without_changes(dropped)
        for side, its in ((found.old, whole.old), (found.new, whole.new)):
            self.assertEqual(len(side.numbers), len(side.rows))
            numbered = [
                (row, number) for row, number in zip(side.rows, side.numbers) if number is not None
            ]
            self.assertEqual(
                [row for row, _ in numbered], [its.rows[number] for _, number in numbered]
            )
            self.assertEqual(
                [number for _, number in numbered], sorted({number for _, number in numbered})
            )
        ours = {row for change in found.changes for row in range(change.new_start, change.new_end)}
        bare = [row for row, number in enumerate(found.new.numbers) if number is None]
        for row in bare:
            # A dropped one is of the old text.
            self.assertTrue(found.new.rows[row].startswith("... ") or (dropped and row in ours))

    def test_of_a_very_long_change_the_beginning_and_the_end_are_shown(self) -> None:
        found = shown([], [f"{row}\n" for row in range(5 * MAX_CHANGE)])
        self.assertEqual(len(found.new.rows), MAX_CHANGE + 1)
        self.assertEqual(found.new.rows[-1], f"{5 * MAX_CHANGE - 1}\n")
        self.assertIn("more lines of this change", found.new.rows[MAX_CHANGE // 2])
        self.assertEqual(found.new.numbers[MAX_CHANGE // 2], None)
        self.assertEqual(found.new.numbers[-1], 5 * MAX_CHANGE - 1)

    def test_a_row_without_a_number_is_named_by_the_next_one_that_has_one(self) -> None:
        old = [f"{row}\n" for row in range(1000)]
        new = shown(old, [*old[:500], "changed\n", *old[501:]]).new
        self.assertEqual([new.number(row) for row in (0, 1, 11)], [490, 490, 500])
        # Behind the last one stands only how many more there are.
        self.assertEqual([new.number(row) for row in (21, 22, 23)], [510, 510, 510])

    def test_after_a_change_at_the_very_beginning_its_surroundings_are_shown_too(self) -> None:
        old = [f"{row}\n" for row in range(1000)]
        found = shown(old, ["new\n", *old[:500], *old[501:]])
        self.assertEqual(found.new.rows[:3], ["new\n", "0\n", "1\n"])

    def test_of_a_row_of_two_megabytes_the_part_that_differs_is_shown(self) -> None:
        row = "x" * 1_000_000
        found = shown([row + "OLD" + row + "\n"], [row + "NEW" + row + "\n"])
        self.assertIn("OLD", found.old.rows[0])
        self.assertIn("NEW", found.new.rows[0])
        self.assertLess(len(found.new.rows[0]), MAX_ROW + 100)
        self.assertTrue(found.new.rows[0].startswith("... 999,000 characters ... "))
        self.assertTrue(found.new.rows[0].endswith(" characters ...\n"))
