"""A comment stays at its lines, whatever happens to the text around it and to the lines."""

from __future__ import annotations

from typing import Any, Generator

import sublime
from GeminiCompanion.companion.ui.review import comments

from .reviewing import ReviewCase, Steps

# What is done to the rows of "one" to "six", of which "three" has a comment, and where that is
# then: rows from 0, from, to, the text for them; the first and the last row of the comment.
TYPED: tuple[tuple[str, int, int, str, int], ...] = (
    ("a row above it", 0, 0, "zero\n", 3),
    ("a row right above it", 2, 2, "new\n", 3),
    ("a row right below it", 3, 3, "new\n", 2),
    ("rows that go above it", 0, 2, "", 0),
    ("another row above it", 1, 2, "two!\n", 2),
    ("another row in its place", 2, 3, "three!\n", 2),
    ("two rows in its place", 2, 3, "three\nand a half\n", 3),
    ("others in the place of all rows up to it", 0, 3, "1\n2\n3\n", 2),
    ("others in the place of all rows from it on", 2, 6, "3\n4\n", 3),
)


class Comments(ReviewCase):
    OLD = "old\n"
    NEW = "one\ntwo\nthree\nfour\nfive\nsix\n"

    def places(self, right: sublime.View) -> list[tuple[int, int]]:
        return [(comment.first, comment.last) for comment in comments.comments_of(right)]

    def commented(self, first: int, last: int) -> Generator[Any, Any, sublime.View]:
        """`right = yield from self.commented(...)`"""
        right = yield from self.propose(self.OLD, self.NEW)
        comments.add_comment(right, comments.Comment(first, last, "why?"))
        return right

    def put(self, right: sublime.View, first: int, last: int, text: str) -> None:
        """In the place of these rows, as what is pasted over them."""
        right.sel().clear()
        ends = [right.text_point(row, 0) if row < 6 else right.size() for row in (first, last)]
        right.sel().add(sublime.Region(*ends))
        if text:
            right.run_command("insert", {"characters": text})
        else:
            right.run_command("left_delete")

    def test_it_stays_through_what_is_put_above_below_and_in_its_place(self) -> Steps:
        right = yield from self.commented(2, 2)
        for sentence, first, last, text, row in TYPED:
            with self.subTest(sentence):
                self.put(right, first, last, text)
                self.assertEqual(self.places(right), [(row, row)])
                right.run_command("undo")
                yield from self.until_turn()
                comments.write_comments(right, [comments.Comment(2, 2, "why?")])
                comments.mark_comments(right)
        self.run_command("reject_diff")
        yield from self.until_rejected()

    def test_line_breaks_at_both_its_ends_do_not_move_it(self) -> Steps:
        right = yield from self.commented(2, 2)
        for point, row in ((right.line(right.text_point(2, 0)).end(), 2), (8, 3)):
            right.sel().clear()
            right.sel().add(point)
            right.run_command("insert", {"characters": "\n"})
            self.assertEqual(self.places(right), [(row, row)])
        self.run_command("reject_diff")
        yield from self.until_rejected()

    def test_one_on_the_last_row_does_not_leave_the_text(self) -> Steps:
        right = yield from self.commented(5, 5)
        self.put(right, 5, 6, "SIX\n")
        self.assertEqual(self.places(right), [(5, 5)])
        self.assertTrue(comments.comment_words(right, None).endswith("file.txt#L6: why?"))
        self.run_command("reject_diff")
        yield from self.until_rejected()

    def test_one_on_the_empty_last_row_stays_there(self) -> Steps:
        right = yield from self.commented(6, 6)
        self.assertEqual(self.places(right), [(6, 6)])
        self.assertTrue(comments.comment_words(right, None).endswith("file.txt#L7: why?"))
        self.run_command("reject_diff")
        yield from self.until_rejected()

    def test_one_on_several_rows_loses_none_of_its_last(self) -> Steps:
        right = yield from self.commented(1, 3)
        self.put(right, 3, 4, "FOUR\n")
        self.assertEqual(self.places(right), [(1, 3)])
        self.put(right, 2, 3, "three\nand more\n")
        self.assertEqual(self.places(right), [(1, 4)])
        self.run_command("reject_diff")
        yield from self.until_rejected()

    def test_one_on_a_blank_row_stays_there(self) -> Steps:
        right = yield from self.propose(self.OLD, "one\n\nthree\n")
        comments.add_comment(right, comments.Comment(1, 1, "why?"))
        self.assertEqual(self.places(right), [(1, 1)])
        right.sel().clear()
        right.sel().add(0)
        right.run_command("insert", {"characters": "zero\n"})
        self.assertEqual(self.places(right), [(2, 2)])
        self.run_command("reject_diff")
        yield from self.until_rejected()

    def test_it_stays_through_a_newer_proposal_of_the_file_whatever_was_typed(self) -> Steps:
        right = yield from self.commented(2, 2)
        self.put(right, 0, 0, "typed\n")
        newer = yield from self.diff(self.cli, self.path, "zero\n0.5\n" + self.NEW)
        self.assertEqual(self.places(newer), [(4, 4)])
        self.run_command("reject_diff")
        yield from self.until_rejected()
