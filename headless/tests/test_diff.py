"""Hunks between a reference document and a view, and taking them back."""

from __future__ import annotations

import random
import unittest

from headless import diff
from headless.text import Text

from .engine import EngineTestCase


def reverted(old: str, new: str) -> str:
    """Every hunk taken back, from the last to the first."""
    text = Text(new)
    for hunk in reversed(diff.hunks(old, new)):
        text.replace(*hunk.reverted(text))
    return text.characters


class Hunks(unittest.TestCase):
    def test_each_hunk_says_what_kind_of_change_it_is(self) -> None:
        found = diff.hunks("a\nb\nc\nd\n", "a\nB\nc\nx\ny\n")
        told = [(hunk.kind, hunk.first, hunk.last) for hunk in found]
        self.assertEqual(told, [("modified", 1, 2), ("modified", 3, 5)])
        self.assertEqual(diff.hunks("a\nb", "a\nx\nb")[0].kind, "inserted")
        self.assertEqual(diff.hunks("a\nx\nb", "a\nb")[0].kind, "deleted")
        self.assertEqual(diff.hunks("same", "same"), [])

    def test_all_hunks_taken_back_give_the_reference(self) -> None:
        dice = random.Random(3)
        for _round in range(400):
            old, new = (
                "\n".join(dice.choice("abc") for _ in range(dice.randrange(1, 7)))
                + dice.choice(["", "\n"])
                for _side in range(2)
            )
            with self.subTest(old=old, new=new):
                self.assertEqual(reverted(old, new), old)
                text = Text(new)
                parts = [
                    part for each in diff.hunks(old, new) for part in each.reverted_by_rows(text)
                ]
                for part in reversed(parts):
                    text.replace(*part)
                self.assertEqual(text.characters, old)


class Commands(EngineTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.view = self.view_with("one\nTWO\nthree\nnew\n")
        self.view.set_reference_document("one\ntwo\nthree\n")

    def test_the_caret_goes_from_change_to_change_and_around(self) -> None:
        self.select(self.view, 0)
        for way, row in (("next", 1), ("next", 3), ("next", 1), ("prev", 3)):
            self.view.run_command(way + "_modification")
            self.assertEqual(self.view.rowcol(self.view.sel()[0].b)[0], row)

    def test_the_hunk_at_the_caret_is_reverted_and_no_other(self) -> None:
        self.select(self.view, self.view.text_point(1, 0))
        self.view.run_command("revert_hunk")
        self.assertEqual(self.text(self.view), "one\ntwo\nthree\nnew\n")
        self.view.run_command("undo")
        self.assertEqual(self.text(self.view), "one\nTWO\nthree\nnew\n")

    def test_without_mini_diff_there_are_no_hunks(self) -> None:
        self.view.settings().set("mini_diff", False)
        self.assertEqual(diff.view_hunks(self.editor.view(self.view.id())), [])


class LargeTexts(unittest.TestCase):
    def test_one_change_in_many_lines_is_found_without_comparing_all_of_them(self) -> None:
        lines = [f"line {number % 7}" for number in range(100_000)]
        changed = lines[:50_000] + ["new"] + lines[50_000:]
        (hunk,) = diff.hunks("\n".join(lines), "\n".join(changed))
        self.assertEqual((hunk.kind, hunk.first, hunk.last), ("inserted", 50_000, 50_001))

    def test_equal_lines_at_both_ends_never_overlap(self) -> None:
        for old, new in (("a\na", "a"), ("a", "a\na\na"), ("", "a"), ("a\nb\na", "a\na")):
            self.assertEqual(reverted(old, new), old)
