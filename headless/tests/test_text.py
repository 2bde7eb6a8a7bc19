"""Points, rows and the three units of columns."""

from __future__ import annotations

import random
import unittest

from headless.lines import Lines
from headless.text import Text, utf16_length

SAMPLE = "a\u00e9\U0001f600b\nzwei\r\u2028\n\n\U0001f600\U0001f600"


class Texts(unittest.TestCase):
    def test_only_a_line_feed_ends_a_row(self) -> None:
        self.assertEqual(Text("a\rb\u2028c\x0bd\ne").row_count(), 2)

    def test_columns_count_code_points_utf_16_and_utf_8_units(self) -> None:
        text = Text(SAMPLE)
        columns = [rowcol(3) for rowcol in (text.rowcol, text.rowcol_utf16, text.rowcol_utf8)]
        self.assertEqual(columns, [(0, 3), (0, 4), (0, 7)])
        self.assertEqual(utf16_length("a\U0001f600\u00e9"), 4)
        # One within a pair stays before it.
        self.assertEqual(Text("\U0001f600x").point_in_units(0, 1, True, 16), 0)

    def test_every_point_survives_the_way_through_rows_and_columns_of_any_unit(self) -> None:
        text = Text(SAMPLE)
        for point in range(len(text) + 1):
            self.assertEqual(text.point(*text.rowcol(point)), point)
            for utf, rowcol in ((8, text.rowcol_utf8), (16, text.rowcol_utf16)):
                row, column = rowcol(point)
                self.assertEqual(text.point_in_units(row, column, False, utf), point)

    def test_a_column_runs_into_the_next_rows_unless_it_is_clamped(self) -> None:
        text = Text("ab\ncd\nef")
        self.assertEqual(
            [text.point(*position) for position in ((0, 4), (9, 0), (0, 99))], [4, 8, 8]
        )
        self.assertEqual(text.point(0, 4, clamp_column=True), 2)

    def test_the_line_index_follows_any_series_of_edits(self) -> None:
        dice = random.Random(7)
        text = Text(SAMPLE)
        for _round in range(500):
            low = dice.randrange(len(text) + 1)
            high = min(len(text), low + dice.randrange(6))
            self.assertEqual(text.point(0, 0), 0)  # the index exists before the edit
            inserted = "".join(dice.choice("x\n\U0001f600") for _ in range(dice.randrange(5)))
            text.replace(low, high, inserted)
            starts = [text.point(row, 0) for row in range(text.row_count())]
            self.assertEqual(starts, Text(text.characters).starts)
            last = len(text)
            self.assertEqual(text.utf16_units(0, last), utf16_length(text.characters))

    def test_rows_are_found_all_over_a_large_text_and_after_edits_of_any_length(self) -> None:
        dice = random.Random(7)
        text = Text("".join(dice.choice(("x" * 300, "\n" * 40, "ab\n")) for _ in range(300)))
        for _round in range(60):
            low = dice.randrange(len(text) + 1)
            high = min(len(text), low + dice.choice((0, 1, 5000, 20_000)))
            inserted = dice.choice(("", "\n", "ab\n" * 4000, "\n" * 9000, "y" * 70_000))
            text.replace(low, high, inserted)
            starts = Text(text.characters).starts
            self.assertEqual(text.row_count(), len(starts))
            for row in {0, len(starts) - 1, *(dice.randrange(len(starts)) for _ in range(20))}:
                self.assertEqual(text.point(row, 0), starts[row])
                self.assertEqual(text.rowcol(starts[row]), (row, 0))
                self.assertEqual(text.rowcol(max(0, starts[row] - 1))[0], max(0, row - 1))

    def test_letters_typed_all_over_a_text_make_its_index_no_larger_than_a_text_of_that_length(
        self,
    ) -> None:
        dice = random.Random(7)
        text = "ab\n" * 4000
        lines = Lines(text)
        for _letter in range(2000):
            point = dice.randrange(len(text) + 1)
            text = text[:point] + "x" + text[point:]
            lines.replaced(text, point, point)
        self.assertLessEqual(len(lines._lengths), len(Lines(text)._lengths))
        self.assertEqual(lines.row(text, len(text)), 4000)
