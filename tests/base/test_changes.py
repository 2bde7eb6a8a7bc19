"""Changes of texts: exact for every text and every choice, and where a reader would look for
them."""

from __future__ import annotations

import random
import unittest

from GeminiCompanion.companion.base.changes import (
    Change,
    Span,
    changed_characters,
    changes_between,
    count_rows,
    rows_of,
    with_changes,
)
from hypothesis import given
from hypothesis import strategies as st

# Few different rows, so that many are equal; surrogates, line ends of all systems, rows that other
# tools would split.
ROWS = st.lists(
    st.sampled_from(
        ["\n", "a\n", "b\n", "}\n", "  a\n", "a\r\n", "\r\n", "\x0b\n", "\u2028\n", "\ud83d\n"]
    ),
    max_size=12,
)
ENDS = st.sampled_from(["", "a", "\r", "\ude00", "last"])
TEXTS = st.builds(lambda rows, end: "".join(rows) + end, ROWS, ENDS)


def apart(old: str, new: str) -> tuple[list[str], list[str], list[Change]]:
    before, after = rows_of(old), rows_of(new)
    return before, after, changes_between(before, after)


class Exactness(unittest.TestCase):
    @given(st.one_of(TEXTS, st.text()))
    def test_the_rows_of_a_text_are_the_text(self, text: str) -> None:
        rows = rows_of(text)
        self.assertEqual("".join(rows), text)
        self.assertTrue(all(row.endswith("\n") and row.count("\n") == 1 for row in rows[:-1]))

    @given(TEXTS, TEXTS)
    def test_all_changes_give_the_new_text_and_none_the_old_one(self, old: str, new: str) -> None:
        before, after, changes = apart(old, new)
        self.assertEqual(with_changes(before, after, changes), new)
        self.assertEqual(with_changes(before, after, []), old)

    @given(TEXTS, TEXTS, st.data())
    def test_every_choice_has_its_changes_and_no_others(
        self, old: str, new: str, data: st.DataObject
    ) -> None:
        before, after, changes = apart(old, new)
        chosen = [change for change in changes if data.draw(st.booleans())]
        rows, at = [], 0
        for change in changes:
            rows += before[at : change.old_start]
            if change in chosen:
                rows += after[change.new_start : change.new_end]
            else:
                rows += before[change.old_start : change.old_end]
            at = change.old_end
        self.assertEqual(with_changes(before, after, chosen), "".join(rows + before[at:]))

    @given(TEXTS, TEXTS)
    def test_changes_stand_in_order_are_not_empty_and_have_equal_rows_between_them(
        self, old: str, new: str
    ) -> None:
        before, after, changes = apart(old, new)
        old_at = new_at = 0
        for change in changes:
            self.assertEqual(before[old_at : change.old_start], after[new_at : change.new_start])
            self.assertTrue(change.removed or change.added)
            if change is not changes[0]:
                self.assertGreater(change.old_start, old_at)
            old_at, new_at = change.old_end, change.new_end
        self.assertEqual(before[old_at:], after[new_at:])

    @given(TEXTS, TEXTS)
    def test_changed_characters_lie_within_the_rows_of_their_change(
        self, old: str, new: str
    ) -> None:
        before, after, changes = apart(old, new)
        for change in changes:
            removed, added = changed_characters(before, after, change)
            for spans, rows, first, end in (
                (removed, before, change.old_start, change.old_end),
                (added, after, change.new_start, change.new_end),
            ):
                for span in spans:
                    self.assertTrue(first <= span.row < end)
                    self.assertTrue(0 <= span.start < span.end <= len(rows[span.row]))


class Sense(unittest.TestCase):
    def changes(self, old: str, new: str) -> list[Change]:
        return apart("\n".join(old.split()), "\n".join(new.split()))[2]

    def test_equal_texts_have_none(self) -> None:
        self.assertEqual(self.changes("a b c", "a b c"), [])

    def test_each_place_is_a_change_of_its_own(self) -> None:
        found = self.changes("a b c d e f", "a B c d E1 E2 f")
        self.assertEqual(found, [Change(1, 2, 1, 2), Change(4, 5, 4, 6)])

    def test_blank_rows_do_not_tie_unlike_parts_together(self) -> None:
        old = "def f():\n    one\n\n    two\n\ndef g():\n    three\n\n    four\n"
        new = (
            "def f():\n    one\n\n    two\n\ndef h():\n    new\n\n    old\n\ndef g():\n    three\n"
        )
        before, after, changes = apart(old, new + "\n    four\n")
        self.assertEqual([change.removed for change in changes], [0])
        self.assertEqual(count_rows(changes), (5, 0))

    def test_a_new_file_is_one_change_and_so_is_one_that_was_emptied(self) -> None:
        self.assertEqual(self.changes("", "a b c"), [Change(0, 0, 0, 3)])
        self.assertEqual(self.changes("a b c", ""), [Change(0, 3, 0, 0)])

    def test_a_final_line_end_that_is_added_changes_the_last_row(self) -> None:
        self.assertEqual(apart("a\nb", "a\nb\n")[2], [Change(1, 2, 1, 2)])

    def test_words_that_differ_are_told_within_a_row(self) -> None:
        before, after, changes = apart("x = old(1, 2)\n", "x = new(1, 3)\n")
        removed, added = changed_characters(before, after, changes[0])
        self.assertEqual(removed, [Span(0, 4, 7), Span(0, 11, 12)])
        self.assertEqual(added, [Span(0, 4, 7), Span(0, 11, 12)])

    def test_a_row_that_became_another_one_is_not_told_by_words(self) -> None:
        before, after, changes = apart("    return total\n", "    import os, sys\n")
        self.assertEqual(changed_characters(before, after, changes[0]), ([], []))

    def test_a_row_is_paired_with_the_one_it_became_where_others_come_in(self) -> None:
        before, after, changes = apart("value = compute(a)\n", "check(a)\nvalue = compute(b)\n")
        removed, added = changed_characters(before, after, changes[0])
        self.assertEqual(removed, [Span(0, 16, 17)])
        self.assertEqual(added, [Span(1, 16, 17)])


class Size(unittest.TestCase):
    """How long it takes is measured by `make bench`; here that it is right."""

    def check(self, old: list[str], new: list[str]) -> list[Change]:
        changes = changes_between(old, new)
        self.assertEqual(with_changes(old, new, changes), "".join(new))
        return changes

    def test_three_thousand_changes_in_thirty_thousand_rows_are_all_found(self) -> None:
        old = [f"row {at}\n" for at in range(30_000)]
        new = list(old)
        for at in range(5, 30_000, 10):
            new[at] = f"changed {at}\n"
        self.assertEqual(len(self.check(old, new)), 3_000)

    def test_texts_of_few_different_rows_get_a_coarser_answer(self) -> None:
        chance = random.Random(1)
        old = [chance.choice("ab") + "\n" for _ in range(20_000)]
        new = [chance.choice("ab") + "\n" for _ in range(20_000)]
        self.assertTrue(self.check(old, new))

    def test_rows_in_the_opposite_order_are_changed_rightly(self) -> None:
        old = [f"{at}\n" for at in range(3_000)]
        self.check(old, old[::-1])

    def test_a_row_of_two_megabytes_is_compared_by_its_ends(self) -> None:
        row = "x" * 1_000_000
        before, after, changes = apart(row + "a" + row + "\n", row + "bc" + row + "\n")
        removed, added = changed_characters(before, after, changes[0])
        self.assertEqual(removed, [Span(0, 1_000_000, 1_000_001)])
        self.assertEqual(added, [Span(0, 1_000_000, 1_000_002)])
