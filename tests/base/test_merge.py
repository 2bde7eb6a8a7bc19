"""Three-way merges: nothing that either side changed is lost."""

from __future__ import annotations

import unittest

from GeminiCompanion.companion.base.merge import Merged, contains_changes, has_marks, merge_texts
from hypothesis import given
from hypothesis import strategies as st

ROWS = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n"]), max_size=8)
KEEP, DROP, CHANGE, ADD = range(4)
TEXTS = st.builds(lambda rows, end: "".join(rows) + end, ROWS, st.sampled_from(["", "x"]))


def _edited(rows: list[str], who: str) -> st.SearchStrategy[list[str]]:
    """The rows after some edits, each of which only this one makes."""
    what = st.sampled_from((KEEP, KEEP, DROP, CHANGE, ADD))
    edits = st.lists(what, min_size=len(rows), max_size=len(rows))
    return edits.map(
        lambda chosen: [
            each
            for row, edit in zip(rows, chosen)
            for each in {
                KEEP: [row],
                DROP: [],
                CHANGE: [f"{who} {row}"],
                ADD: [row, f"{who} {row}"],
            }[edit]
        ]
    )


class Merge(unittest.TestCase):
    @given(TEXTS, TEXTS)
    def test_a_side_that_changed_nothing_leaves_the_other_as_it_is(
        self, base: str, side: str
    ) -> None:
        self.assertEqual(merge_texts(base, side, base), Merged(side, ()))
        self.assertEqual(merge_texts(base, base, side), Merged(side, ()))

    @given(TEXTS, TEXTS)
    def test_what_both_changed_in_the_same_way_is_taken_once(self, base: str, changed: str) -> None:
        self.assertEqual(merge_texts(base, changed, changed), Merged(changed, ()))

    @given(TEXTS, TEXTS, TEXTS)
    def test_every_row_that_a_side_brought_is_in_the_text(
        self, base: str, yours: str, theirs: str
    ) -> None:
        found = merge_texts(base, yours, theirs)
        rows = {row.rstrip("\n") for row in found.text.split("\n")}
        brought = set(yours.split("\n") + theirs.split("\n")) - set(base.split("\n"))
        self.assertLessEqual(brought, rows)
        lines = found.text.split("\n")
        for row in found.conflicts:
            self.assertEqual(lines[row], "<<<<<<< proposal")

    def test_changes_in_different_places_are_both_taken(self) -> None:
        found = merge_texts(
            "one\ntwo\nthree\nfour\n", "ONE\ntwo\nthree\nfour\n", "one\ntwo\nthree\n4\n"
        )
        self.assertEqual(found, Merged("ONE\ntwo\nthree\n4\n", ()))

    def test_changes_in_one_place_are_marked_with_both_texts(self) -> None:
        found = merge_texts("one\ntwo\nthree\n", "one\nmine\nthree\n", "one\ntheirs\nthree\n")
        expected = "one\n<<<<<<< proposal\nmine\n=======\ntheirs\n>>>>>>> your changes\nthree\n"
        self.assertEqual(found, Merged(expected, (1,)))

    def test_a_row_without_a_line_end_gets_one_before_a_mark(self) -> None:
        found = merge_texts("one", "mine", "theirs")
        self.assertEqual(
            found.text, "<<<<<<< proposal\nmine\n=======\ntheirs\n>>>>>>> your changes\n"
        )

    def test_a_row_taken_away_here_and_changed_there_is_a_conflict(self) -> None:
        found = merge_texts("one\ntwo\nthree\n", "one\nthree\n", "one\nTWO\nthree\n")
        self.assertEqual(found.conflicts, (1,))
        self.assertIn("TWO\n", found.text)

    def test_a_conflict_is_there_until_both_its_ends_are_gone(self) -> None:
        text = merge_texts("1\n2\n3\n", "1\ntwo\n3\n", "1\nmine\n3\n").text
        self.assertTrue(has_marks(text))
        self.assertTrue(has_marks(text.replace("<<<<<<< proposal\n", "")))
        self.assertTrue(has_marks(text.replace(">>>>>>> your changes\n", "")))
        self.assertFalse(has_marks("1\n<<<<<<< HEAD\n=======\n>>>>>>> theirs\n3\n"))

    @given(st.data(), st.integers(0, 6))
    def test_a_text_has_the_changes_that_were_merged_into_it(
        self, data: st.DataObject, count: int
    ) -> None:
        # No row is there twice: which of several alike was changed, nobody could tell afterwards.
        rows = [f"{number}\n" for number in range(count)]
        yours, theirs = ("".join(data.draw(_edited(rows, who))) for who in ("yours", "theirs"))
        found = merge_texts("".join(rows), yours, theirs)
        if not found.conflicts:
            self.assertTrue(contains_changes("".join(rows), found.text, theirs))

    @given(TEXTS, TEXTS)
    def test_every_text_has_no_changes_and_the_first_one_has_no_others(
        self, base: str, theirs: str
    ) -> None:
        self.assertTrue(contains_changes(base, theirs, base))
        self.assertEqual(contains_changes(base, base, theirs), base == theirs)
