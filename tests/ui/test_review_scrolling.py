"""Both sides scroll together, and of many changes those in sight have links."""

from __future__ import annotations

import unittest
from unittest import mock

import sublime
from GeminiCompanion.companion.ui.review import between, head, marks, scrolling
from GeminiCompanion.companion.ui.review.open_diffs import partner_view

from .reviewing import LINES, ReviewCase, Steps, changed

try:
    from headless import running
except ImportError:
    running = None  # type: ignore[assignment]

ADDED = "".join(f"added {row}\n" for row in range(60))


class ScrollingCase(ReviewCase):
    def scroll(self, view: sublime.View, row: int) -> None:
        """Put the row, from 0, at the top."""
        view.set_viewport_position((0.0, self.height(view, row)), animate=False)

    def above(self, view: sublime.View, row: int) -> float:
        """How far the row stands below the top of what can be seen."""
        return self.height(view, row) - view.viewport_position()[1]

    def until_level(self, left: sublime.View, old: int, right: sublime.View, new: int) -> Steps:
        yield lambda: abs(self.above(left, old) - self.above(right, new)) < 1


class Together(ScrollingCase):
    def insertion(self) -> str:
        """60 lines more below line 300."""
        return "".join(LINES[:300]) + ADDED + "".join(LINES[300:])

    def test_the_left_side_follows_the_right_one_and_the_other_way_round(self) -> Steps:
        right = yield from self.propose("".join(LINES), self.insertion())
        left = partner_view(right)
        self.window.focus_view(right)
        self.scroll(right, 700)
        yield from self.until_level(left, 640, right, 700)
        self.assertGreater(self.above(left, 641), 0)
        self.scroll(left, 100)
        yield from self.until_level(left, 100, right, 100)
        self.assertLess(right.viewport_position()[1], self.height(right, 101))

    def test_within_added_lines_the_other_side_stands_in_the_room_for_them(self) -> Steps:
        right = yield from self.propose("".join(LINES), self.insertion())
        left = partner_view(right)
        yield lambda: self.height(left, 300) == self.height(right, 360)
        self.window.focus_view(right)
        for row in (310, 330, 350):
            self.scroll(right, row)
            yield from self.until_level(left, 299, right, 299)
            yield from self.until_level(left, 300, right, 360)

    def test_within_lines_that_were_taken_away_the_right_side_does_so(self) -> Steps:
        right = yield from self.propose(self.insertion(), "".join(LINES))
        left = partner_view(right)
        yield lambda: self.height(left, 360) == self.height(right, 300)
        self.window.focus_view(left)
        self.scroll(left, 330)
        yield from self.until_level(left, 360, right, 300)

    def test_the_side_that_was_scrolled_stays_where_heights_are_known_later(self) -> Steps:
        right = yield from self.propose("".join(LINES), self.insertion())
        left = partner_view(right)
        yield lambda: self.height(left, 300) == self.height(right, 360)
        # Of two sides that were scrolled between two readings, the right one stays: the diff has
        # brought its first change into sight.
        yield from self.until_looked_at()
        for late in (False, True):
            self.play(phantom_heights_late=late)
            for scrolled, row in ((left, 100), (right, 200), (left, 150)):
                with self.subTest(late=late, row=row):
                    self.window.focus_view(scrolled)
                    self.scroll(scrolled, row)
                    place = scrolled.viewport_position()
                    # Another package draws something above.
                    other = left if scrolled == right else right
                    before = self.height(other, row)
                    other.add_phantom("other", sublime.Region(0), "other", sublime.LAYOUT_BLOCK)
                    yield lambda: self.height(other, row) > before  # noqa: B023
                    yield from self.until_level(left, row, right, row)
                    yield from self.until_looked_at()
                    self.assertEqual(scrolled.viewport_position(), place)
                    yield from self.until_level(left, row, right, row)

    def until_looked_at(self) -> Steps:
        """Until the places of the pair were read three times more."""
        looks: list[sublime.View] = []
        read = scrolling._read_places

        def count(left: sublime.View, right: sublime.View) -> scrolling.Places:
            looks.append(right)
            return read(left, right)

        with mock.patch.object(scrolling, "_read_places", count):
            yield lambda: len(looks) >= 3

    def test_a_pair_that_is_not_on_top_is_looked_at_no_more(self) -> Steps:
        right = yield from self.propose("".join(LINES), self.insertion())
        followed = self.running().diffs.scrolling._followed
        self.assertEqual(followed.get(self.window.id()), right)
        group, _ = self.window.get_view_index(right)
        self.window.focus_group(group)
        cover = self.window.new_file()
        cover.set_scratch(True)
        yield lambda: self.window.id() not in followed
        before = partner_view(right).viewport_position()
        self.scroll(right, 500)
        cover.close()
        self.window.focus_view(right)
        yield lambda: followed.get(self.window.id()) == right
        self.scroll(right, 501)
        yield lambda: partner_view(right).viewport_position() != before

    def test_a_decided_pair_is_looked_at_no_more(self) -> Steps:
        yield from self.propose("".join(LINES), self.insertion())
        self.run_command("reject_diff")
        yield from self.until_rejected()
        yield lambda: self.window.id() not in self.running().diffs.scrolling._followed


class Many(ScrollingCase):
    def many(self) -> str:
        """Every tenth line is another one."""
        return changed(LINES, **{f"_{row}": f"new {row}\n" for row in range(10, 900, 10)})

    def rows(self, right: sublime.View) -> list[int]:
        """Those of the changes that have links, which stand above them."""
        found = running.current().view(right.id()).phantoms
        mine = [each for each in found if each.key == between.KEY and ">Keep<" in each.content]
        return [right.rowcol(min(each.region))[0] + 1 for each in mine]

    def test_of_more_than_fifty_changes_only_those_in_sight_have_links(self) -> Steps:
        right = yield from self.propose("".join(LINES), self.many())
        self.assertGreater(len(self.review(right).comparison.changes), marks.MAX_LINKS)
        for row in (9, 449):
            self.scroll(right, max(row - 5, 0))
            yield lambda: row in self.rows(right)  # noqa: B023
            visible = right.visible_region()
            for each in self.rows(right):
                self.assertTrue(visible.contains(right.text_point(each, 0)))

    def test_in_one_view_links_come_into_sight_as_well(self) -> Steps:
        self.set("diff_layout", "inline")
        right = yield from self.propose("".join(LINES), self.many())
        self.window.focus_view(right)

        def rows_down_there() -> list[int]:
            # Lines between the rows come meanwhile, and all below them is further down then.
            self.scroll(right, 444)
            return self.rows(right)

        yield lambda: 449 in rows_down_there()
        self.assertNotIn(9, self.rows(right))

    def test_of_fifty_all_have_links(self) -> Steps:
        rows = {f"_{row}": "x\n" for row in range(10, 510, 10)}
        right = yield from self.propose("".join(LINES), changed(LINES, **rows))
        self.assertEqual(len(self.rows(right)), 50)


@unittest.skipIf(running is None, "asks the headless editor what it draws")
class Counted(ScrollingCase):
    def head(self, right: sublime.View) -> str:
        found = running.current().view(right.id()).phantoms
        return next(each.content for each in found if each.key == head.PHANTOM)

    def test_a_head_that_comes_into_sight_counts_the_change_that_is_in_sight_with_it(self) -> Steps:
        for late in (False, True):
            self.play(phantom_heights_late=late)
            right = yield from self.propose("".join(LINES), changed(LINES, _2="x\n", _400="y\n"))
            left = partner_view(right)
            self.window.focus_view(right)
            self.run_command("next_change")
            yield lambda: "change 2 of 2" in self.head(right)  # noqa: B023
            self.scroll(right, 300)
            yield from self.until_level(left, 300, right, 300)
            self.scroll(right, 0)
            yield lambda: "change 1 of 2" in self.head(right)  # noqa: B023
            self.run_command("reject_diff")
            yield from self.until_rejected()


class Wide(ScrollingCase):
    def test_wrapped_lines_are_measured_anew_when_the_views_are_wider(self) -> Steps:
        self.set("diff_word_wrap", True)
        long = "word " * 60 + "\n"
        right = yield from self.propose("a\n" + long + "b\n", "a\nshort\nb\n")
        left = partner_view(right)
        yield lambda: self.height(left, 2) == self.height(right, 2)
        before = self.height(left, 2)
        layout = self.window.layout()
        cells = layout["cells"]
        layout["cols"][cells[-1][0]] = 0.9
        self.window.set_layout(layout)
        yield lambda: self.height(left, 2) != before
        yield lambda: self.height(left, 2) == self.height(right, 2)
