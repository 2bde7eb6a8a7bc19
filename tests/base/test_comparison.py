"""Two texts side by side: what is marked, what is filled, and the way from change to change."""

from __future__ import annotations

import gc
import unittest
from typing import Any

from GeminiCompanion.companion.base.comparison import Comparison, Filler, compare_texts
from hypothesis import given
from hypothesis import strategies as st

TEXTS = st.lists(st.sampled_from("abc\n"), max_size=20).map("".join)


def heights(rows: int, fillers: list[Filler]) -> list[int]:
    """At which height each row stands, and the end."""
    found, height = [], 0
    for row in range(rows + 1):
        height += sum(filler.rows for filler in fillers if filler.above == row)
        found.append(height)
        height += 1
    return found


def walked(thing: Any) -> int:
    """The references that the garbage collector walks through for it."""
    count, seen, left = 0, set(), [thing]
    while left:
        for each in gc.get_referents(left.pop()):
            count += 1
            if not isinstance(each, type) and id(each) not in seen:
                seen.add(id(each))
                left.append(each)
    return count


class Marks(unittest.TestCase):
    def test_the_garbage_collector_walks_through_no_more_of_longer_texts(self) -> None:
        counts = []
        for size in (10, 10_000):
            text = "".join(f"{row}\n" for row in range(size))
            counts.append(walked(compare_texts("old\n" + text, "new\n" + text)))
        self.assertEqual(counts[0], counts[1])

    def test_rows_and_characters_are_told_in_points_of_their_text(self) -> None:
        old, new = "same\nx = 1\ngone\n", "same\nx = 23\n\U0001f600 new\n"
        found = compare_texts(old, new)
        self.assertEqual([old[a:b] for a, b in found.regions(False)], ["x = 1\ngone\n"])
        self.assertEqual([new[a:b] for a, b in found.regions(True)], ["x = 23\n\U0001f600 new\n"])
        self.assertEqual([old[a:b] for a, b in found.old.characters], ["1"])
        self.assertEqual([new[a:b] for a, b in found.new.characters], ["23"])
        self.assertEqual(found.counts, (2, 2))

    @given(TEXTS, TEXTS)
    def test_the_marked_regions_are_the_rows_of_the_changes(self, old: str, new: str) -> None:
        found = compare_texts(old, new)
        expected = ["".join(found.old.rows[c.old_start : c.old_end]) for c in found.changes]
        self.assertEqual(
            [old[a:b] for a, b in found.regions(False)], [text for text in expected if text]
        )
        expected = ["".join(found.new.rows[c.new_start : c.new_end]) for c in found.changes]
        self.assertEqual(
            [new[a:b] for a, b in found.regions(True)], [text for text in expected if text]
        )


class Keys(unittest.TestCase):
    def test_a_change_has_its_name_wherever_it_stands(self) -> None:
        (key,) = compare_texts("a\nb\n", "a\nx\n").keys
        self.assertIn(key, compare_texts("0\na\nb\n", "1\na\nx\n").keys)
        self.assertNotIn(key, compare_texts("a\nb\n", "a\ny\n").keys)

    def test_of_equal_changes_each_has_a_name_of_its_own(self) -> None:
        keys = compare_texts("a\n0\na\n", "b\n0\nb\n").keys
        self.assertEqual(len(set(keys)), 2)


class Fillers(unittest.TestCase):
    @given(TEXTS, TEXTS)
    def test_equal_rows_stand_at_equal_heights(self, old: str, new: str) -> None:
        found = compare_texts(old, new)
        fillers = found.fillers()
        left = heights(len(found.old.rows), fillers[0])
        right = heights(len(found.new.rows), fillers[1])
        old_at = new_at = 0
        for change in [*found.changes, None]:
            end = change.old_start if change else len(found.old.rows)
            while old_at < end:
                self.assertEqual(left[old_at], right[new_at])
                old_at, new_at = old_at + 1, new_at + 1
            if change:
                old_at, new_at = change.old_end, change.new_end
        self.assertEqual(left[-1], right[-1])


class Beside(unittest.TestCase):
    @given(TEXTS, TEXTS)
    def test_equal_rows_are_beside_each_other_whichever_side_is_asked(
        self, old: str, new: str
    ) -> None:
        found = compare_texts(old, new)
        for row, text in enumerate(found.new.rows):
            if found.change_at(row) is None:
                anchor = found.anchor(row, from_new=True)
                beside = anchor[1] if anchor else -1
                self.assertEqual((anchor, found.old.rows[beside]), ((row, beside), text))
                self.assertEqual(found.anchor(beside, from_new=False), (beside, row))

    def test_the_anchor_of_a_row_within_a_change_is_the_equal_row_above_it(self) -> None:
        found = compare_texts("0\n1\n2\n", "0\na\nb\nc\n2\n")
        anchors = [found.anchor(row, from_new=True) for row in range(5)]
        self.assertEqual(anchors, [(0, 0), (0, 0), (0, 0), (0, 0), (4, 2)])

    def test_a_change_of_the_first_row_has_no_anchor(self) -> None:
        self.assertIsNone(compare_texts("1\n", "a\nb\n").anchor(1, from_new=True))


class Moving(unittest.TestCase):
    def setUp(self) -> None:
        # Row 1 altered; two rows taken away above row 3; row 5 new.
        old = "0\n1\n2\nx\ny\n3\n4\n6\n"
        self.found: Comparison = compare_texts(old, "0\n1b\n2\n3\n4\n5\n6\n")

    def test_a_row_belongs_to_the_change_that_it_is_in(self) -> None:
        at = [self.found.change_at(row) for row in range(7)]
        self.assertEqual(at, [None, 0, None, 1, None, 2, None])

    def test_of_changes_that_are_alike_the_one_at_a_place_is_known_by_what_it_was_called(
        self,
    ) -> None:
        before = compare_texts("1\n2\n3\n", "1\nnew\n2\nnew\n3\nnew\n")
        after = compare_texts("1\n2\n3\n", "1\n2\nnew\n3\nnew\n")
        last = before.keys[2]
        self.assertNotIn(last, after.keys)
        self.assertEqual(after.number_at((10, 14), last), 1)
        self.assertIsNone(after.number_at((2, 6), last))
        self.assertIsNone(after.number_at((10, 14), "0" * 16))

    def test_the_next_change_is_the_first_below_and_the_previous_the_last_above(self) -> None:
        self.assertEqual([self.found.next_change(row) for row in (0, 1, 3, 5)], [0, 1, 2, None])
        self.assertEqual(
            [self.found.previous_change(row) for row in (0, 1, 2, 4, 6)], [None, None, 0, 1, 2]
        )
