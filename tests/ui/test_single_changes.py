"""The changes of a proposal as the user sees them, and what can be done with each."""

from __future__ import annotations

import sublime
from GeminiCompanion.companion.ui.review import marks, record, single_changes
from GeminiCompanion.companion.ui.review.open_diffs import partner
from GeminiCompanion.companion.ui.review.record import is_diff
from GeminiCompanion.companion.ui.review.sight import caret_row

from .adapter import text_of
from .reviewing import LINES, ReviewCase, Steps, changed


class Seeing(ReviewCase):
    def test_a_change_far_down_is_before_the_eyes_on_both_sides(self) -> Steps:
        right = yield from self.propose("".join(LINES), changed(LINES, _880="changed\n"))
        self.assertEqual(right.rowcol(right.sel()[0].b), (879, 0))
        for view in (right, partner(right)):
            visible = view.visible_region()
            self.assertTrue(visible.contains(view.text_point(879, 0)))
            self.assertFalse(visible.contains(0))

    def test_lines_and_characters_that_differ_are_marked_on_both_sides(self) -> Steps:
        right = yield from self.propose("same\nx = 1\ngone\n", "same\nx = 2\nnew\nlines\n")
        self.assertEqual(self.texts(right, marks.LINES), ["x = 2\nnew\nlines\n"])
        self.assertEqual(self.texts(partner(right), marks.LINES), ["x = 1\ngone\n"])
        self.assertEqual(self.texts(right, marks.CHARACTERS), ["2"])
        self.assertEqual(self.texts(partner(right), marks.CHARACTERS), ["1"])

    def test_equal_lines_stand_at_equal_heights(self) -> Steps:
        right = yield from self.propose("a\nb\nc\nd\n", "a\nb\n1\n2\n3\nc\nd\n")
        left = partner(right)

        def heights(view: sublime.View, first: int, second: int) -> float:
            points = [view.text_point(row, 0) for row in (first, second)]
            return view.text_to_layout(points[1])[1] - view.text_to_layout(points[0])[1]

        yield lambda: heights(left, 1, 2) == heights(right, 1, 5)

    def test_what_the_user_types_counts_as_part_of_the_proposal(self) -> Steps:
        right = yield from self.propose("a\nb\n", "a\nB\n")
        right.run_command("append", {"characters": "typed\n"})
        yield lambda: self.texts(right, marks.LINES) == ["B\ntyped\n"]

    def test_nothing_is_put_into_the_text(self) -> Steps:
        right = yield from self.propose("a\n" * 3, "b\n" * 9)
        self.assertEqual(text_of(right), "b\n" * 9)
        self.assertEqual(text_of(partner(right)), "a\n" * 3)


class Moving(ReviewCase):
    def test_the_next_and_the_previous_change_are_gone_to(self) -> Steps:
        new = changed(LINES, _10="x\n", _400="y\n", _880="z\n")
        right = yield from self.propose("".join(LINES), new)
        rows = []
        for command in ("next_change", "next_change", "previous_change"):
            self.run_command(command)
            rows.append(right.rowcol(right.sel()[0].b)[0])
        self.assertEqual(rows, [399, 879, 399])
        self.assertTrue(partner(right).visible_region().contains(partner(right).text_point(399, 0)))

    def test_beyond_the_last_change_of_the_only_diff_they_begin_anew_and_that_is_said(
        self,
    ) -> Steps:
        told = self.told()
        new = changed(LINES, _10="x\n", _880="z\n")
        right = yield from self.propose("".join(LINES), new)
        rows = []
        for command in ("next_change", "next_change", "previous_change"):
            self.run_command(command)
            rows.append(right.rowcol(right.sel()[0].b)[0])
        self.assertEqual(rows, [879, 9, 879])
        yield lambda: any(single_changes.AGAIN in each for each in told)

    def test_in_a_proposal_that_changes_nothing_that_is_said(self) -> Steps:
        yield from self.propose("a\n", "a\n")
        for command in ("next_change", "previous_change", "keep_change", "drop_change"):
            told = self.told()
            self.run_command(command)
            yield lambda: any(single_changes.NO_CHANGES in each for each in told)  # noqa: B023

    def test_lines_that_are_taken_away_at_the_end_are_the_last_change(self) -> Steps:
        new = changed(LINES[:9], _2="two\n", _9="")
        right = yield from self.propose(changed(LINES[:9]), new)
        self.run_command("next_change")
        yield from self.until_equal(lambda: self.review(right).current, 1)
        self.run_command("keep_change")
        self.assertEqual(record.seen(right), {self.review(right).comparison.keys[1]})
        # It went on to the first one.
        self.assertEqual(caret_row(right), 1)
        self.run_command("next_change")
        told = self.told()
        self.run_command("next_change")
        yield lambda: any(single_changes.AGAIN in each for each in told)
        self.run_command("previous_change")
        self.run_command("drop_change")
        self.assertEqual(text_of(right), changed(LINES[:9], _2="two\n"))


class Choosing(ReviewCase):
    def test_a_dropped_change_has_the_lines_of_the_file_again_and_undo_brings_it_back(
        self,
    ) -> Steps:
        old, new = changed(LINES[:9]), changed(LINES[:9], _2="two\n", _8="eight\n")
        right = yield from self.propose(old, new)
        self.run_command("drop_change")
        self.assertEqual(text_of(right), changed(LINES[:9], _8="eight\n"))
        right.run_command("undo")
        self.assertEqual(text_of(right), new)

    def test_lines_that_a_proposal_deletes_come_back_alone_where_that_is_dropped(self) -> Steps:
        old, new = LINES[:9], [*LINES[:6], "seven\n", *LINES[7:9]]
        for gone in (0, 4, 8):
            with self.subTest(gone=gone):
                without = "".join(new[:gone] + new[gone + 1 :])
                right = yield from self.propose("".join(old), without, f"{gone}.txt")
                review = self.review(right)
                number = [it.added for it in review.comparison.changes].index(0)
                key = review.comparison.keys[number]
                self.run_command("drop_change", id=review.id, change=key)
                self.assertEqual(text_of(right), "".join(new))

    def test_a_drop_of_everything_asks_whether_that_is_a_rejection(self) -> Steps:
        right = yield from self.propose("a\nb\nc\n", "1\nb\n3\n")
        panels = self.panels()
        self.run_command("drop_change")
        yield from self.until_computed(right)
        self.assertEqual(panels, [])
        self.run_command("drop_change")
        self.assertIn(single_changes.ALL_DROPPED, panels[0]["placeholder"])
        panels[0]["on_select"](1)
        yield from self.until_turn()
        yield from self.until_computed(right)
        self.assertTrue(is_diff(right))
        right.run_command("undo")
        yield from self.until_computed(right)
        self.run_command("drop_change")
        panels[1]["on_select"](0)
        yield from self.until_turn()
        yield from self.until_rejected()

    def test_of_an_empty_proposal_the_one_change_can_be_dropped(self) -> Steps:
        right = yield from self.propose("a\nb\n", "")
        self.assertEqual(self.texts(partner(right), marks.LINES), ["a\nb\n"])
        panels = self.panels()
        self.run_command("drop_change")
        self.assertEqual(text_of(right), "a\nb\n")
        panels[0]["on_select"](0)
        yield from self.until_turn()
        yield from self.until_rejected()

    def test_a_change_is_dropped_by_its_name_wherever_the_caret_is(self) -> Steps:
        old, new = changed(LINES[:9]), changed(LINES[:9], _2="two\n", _8="eight\n")
        right = yield from self.propose(old, new)
        review = self.review(right)
        self.run_command("drop_change", id=review.id, change=review.comparison.keys[1])
        self.assertEqual(text_of(right), changed(LINES[:9], _2="two\n"))

    def test_two_that_are_dropped_before_the_changes_are_known_are_both_dropped(self) -> Steps:
        old, new = changed(LINES[:9]), "new\n" * 3 + changed(LINES[:9], _5="five\n")
        right = yield from self.propose(old, new)
        keys = self.review(right).comparison.keys
        right.run_command("append", {"characters": "typed\n"})
        for key in keys[:2]:
            self.run_command("drop_change", change=key)
        yield from self.until_equal(lambda: text_of(right), old + "typed\n")

    def test_of_changes_that_are_alike_those_are_dropped_that_the_user_means(self) -> Steps:
        old = LINES[0] + "".join("same\n" + line for line in LINES[1:5])
        right = yield from self.propose(old, "".join(LINES[:5]))
        keys = self.review(right).comparison.keys
        # The second one before it is known what became of the changes.
        for key in (keys[0], keys[1], keys[1]):
            self.run_command("drop_change", change=key)
        yield from self.until_computed(right)
        rows = [LINES[0], "same\n", LINES[1], "same\n", *LINES[2:5]]
        self.assertEqual(text_of(right), "".join(rows))

    def test_where_the_rows_around_them_are_alike_too_the_place_in_the_proposal_says_which(
        self,
    ) -> Steps:
        right = yield from self.propose("same\n" * 6, "same\nnew\n" * 6)
        keys = self.review(right).comparison.keys
        for key in keys[2:4]:
            self.run_command("drop_change", change=key)
        yield from self.until_computed(right)
        self.assertEqual(text_of(right), "same\nnew\n" * 2 + "same\n" * 2 + "same\nnew\n" * 2)

    def test_five_changes_two_dropped_and_one_retyped_are_accepted_as_they_stand(self) -> Steps:
        rows = {f"_{row}": f"new {row}\n" for row in (100, 200, 300, 400, 500)}
        right = yield from self.propose("".join(LINES), changed(LINES, **rows))
        keys = self.review(right).comparison.keys
        for key in (keys[0], keys[3]):
            self.run_command("drop_change", change=key)
            yield from self.until_computed(right)
        region = right.line(right.text_point(199, 0))
        right.sel().clear()
        right.sel().add(region)
        right.run_command("insert", {"characters": "retyped"})
        self.run_command("accept_diff")
        yield lambda: self.cli.received("ide/diffAccepted")
        expected = changed(LINES, _200="retyped\n", _300="new 300\n", _500="new 500\n")
        told = self.cli.received("ide/diffAccepted")[0]
        self.assertEqual(told["content"], expected)

    def test_keep_and_drop_go_on_to_the_next_change_that_is_not_decided_on(self) -> Steps:
        told = self.told()
        rows = {f"_{row}": f"new {row}\n" for row in (100, 200, 300, 400)}
        right = yield from self.propose("".join(LINES), changed(LINES, **rows))
        self.run_command("keep_change", change=self.review(right).comparison.keys[1])
        self.assertEqual(caret_row(right), 299)
        self.run_command("drop_change")
        yield from self.until_equal(lambda: caret_row(right), 399)
        self.assertFalse([each for each in told if single_changes.ABOVE in each])
        self.run_command("keep_change")
        # The first one was skipped.
        self.assertEqual(caret_row(right), 99)
        yield lambda: any(single_changes.ABOVE in each for each in told)
        self.run_command("drop_change")
        yield lambda: any(single_changes.ALL_DECIDED in each for each in told)
        # It stays behind the lines that were put back.
        self.assertEqual(caret_row(right), 100)
        self.assertEqual(text_of(right), changed(LINES, _200="new 200\n", _400="new 400\n"))

    def test_keep_stays_where_the_user_types_meanwhile(self) -> Steps:
        right = yield from self.propose("".join(LINES), changed(LINES, _100="x\n", _800="y\n"))
        # The changes of this text are still to be computed.
        right.run_command("insert", {"characters": "typed "})
        self.run_command("keep_change")
        right.run_command("insert", {"characters": "more "})
        yield from self.until_computed(right)
        self.assertEqual(self.review(right).summary(right).seen, 1)
        self.assertEqual(right.rowcol(right.sel()[0].b), (99, len("typed more ")))

    def test_drop_stays_where_the_user_types_meanwhile(self) -> Steps:
        right = yield from self.propose("".join(LINES), changed(LINES, _100="x\n", _800="y\n"))
        self.run_command("drop_change")
        right.run_command("insert", {"characters": "typed "})
        yield from self.until_computed(right)
        self.assertEqual(text_of(right), changed(LINES, _101="typed line 101\n", _800="y\n"))
        self.assertEqual(right.rowcol(right.sel()[0].b), (100, len("typed ")))

    def test_they_stay_where_the_user_wants_that(self) -> Steps:
        self.set("keep_goes_on", False)
        right = yield from self.propose("".join(LINES), changed(LINES, _100="x\n", _800="y\n"))
        for command, row in (("keep_change", 99), ("drop_change", 100)):
            self.run_command(command)
            yield from self.until_computed(right)
            self.assertEqual(caret_row(right), row)

    def test_kept_changes_are_counted_and_stay_counted_while_the_user_types_elsewhere(
        self,
    ) -> Steps:
        new = changed(LINES[:9], _2="two\n", _8="eight\n")
        right = yield from self.propose(changed(LINES[:9]), new)
        self.run_command("keep_change")
        self.assertEqual(self.review(right).summary(right).seen, 1)
        right.run_command("append", {"characters": "typed\n"})
        yield from self.until_computed(right)
        self.assertEqual(self.review(right).summary(right).seen, 1)
