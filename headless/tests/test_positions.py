"""Where text, phantoms and the viewport of a view stand, in pixels."""

from __future__ import annotations

import unittest
from typing import Any
from unittest import mock

from headless import buffers, layout, minihtml, views

from .engine import EngineTestCase

LINE, CELL = 19.0, 8.0
FONT = minihtml.Font(LINE, CELL, 10.0)


class SeenElsewhere(unittest.TestCase):
    """The part of a text that a terminal has drawn."""

    def test_what_is_put_into_it_is_not_in_sight_before_it_is_drawn(self) -> None:
        view = views.View(1, mock.Mock(), mock.Mock(), mock.Mock())
        for change, visible in (
            (buffers.Change(90, "", "q" * 40), (10, 90)),
            (buffers.Change(10, "old", "new"), (10, 10)),
            (buffers.Change(90, "gone", ""), (10, 96)),
            (buffers.Change(100, "", "below"), (10, 100)),
            (buffers.Change(0, "", "above"), (15, 105)),
        ):
            view.seen = 10, 100
            view.shift(change)
            self.assertEqual(view.visible(), visible)


class Positions(EngineTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.view = self.view_with("line\n" * 1000)

    def phantom(self, row: int, content: str, kind: int = 2) -> int:
        point = self.view.text_point(row, 2)
        return int(self.view.add_phantom("key", self.sublime.Region(point), content, kind))

    def top(self, row: int, column: int = 0) -> float:
        return float(self.view.text_to_layout(self.view.text_point(row, column))[1])

    def test_text_stands_in_cells_of_one_size(self) -> None:
        self.assertEqual((self.view.line_height(), self.view.em_width()), (LINE, CELL))
        point = self.view.text_point(20, 3)
        self.assertEqual(self.view.text_to_layout(point), (3 * CELL, 20 * LINE))
        self.assertEqual(self.view.layout_to_text((3 * CELL + 1, 20 * LINE + 5)), point)
        self.assertEqual(self.view.layout_to_text((9999, 20 * LINE)), self.view.line(point).end())
        self.assertEqual(self.view.layout_to_text((0, 10**6)), self.view.size())

    def test_tabs_and_wide_characters_take_their_cells(self) -> None:
        view = self.view_with("\ta中b\n")
        cells = [view.text_to_layout(point)[0] / CELL for point in range(5)]
        self.assertEqual(cells, [0, 4, 5, 7, 8])
        self.assertEqual([view.layout_to_text((x * CELL, 0)) for x in (0, 4, 5, 7)], [0, 1, 2, 3])

    def test_a_phantom_moves_what_stands_below_its_row(self) -> None:
        for kind in (1, 2):
            id = self.phantom(10, "one<br>two", kind)
            self.assertEqual((self.top(10), self.top(11)), (10 * LINE, 13 * LINE))
            self.view.erase_phantom_by_id(id)
            self.assertEqual(self.top(11), 11 * LINE)

    def test_a_place_in_a_phantom_belongs_to_the_row_above_it(self) -> None:
        self.phantom(10, "<div>one</div><div>two</div>")
        point = self.view.layout_to_text((0, 12 * LINE))
        self.assertEqual(self.view.rowcol(point)[0], 10)
        self.assertEqual(self.view.rowcol(self.view.layout_to_text((0, 13 * LINE)))[0], 11)

    def test_an_inline_phantom_moves_the_rest_of_its_line(self) -> None:
        self.phantom(0, "note", 0)
        self.assertEqual(self.view.text_to_layout(2), (2 * CELL, 0.0))
        self.assertEqual(self.view.text_to_layout(3), (7 * CELL, 0.0))
        self.assertEqual(self.view.layout_to_text((7 * CELL, 0)), 3)
        self.assertEqual(self.top(1), LINE)

    def test_phantoms_move_with_edits(self) -> None:
        self.phantom(10, "one")
        self.insert(self.view, "new\nnew\n", 0)
        self.assertEqual((self.top(12), self.top(13)), (12 * LINE, 14 * LINE))

    def test_the_extent_knows_phantoms_and_the_longest_line(self) -> None:
        before = self.view.layout_extent()
        self.assertEqual(before, (self.view.viewport_extent()[0], 1001 * LINE))
        self.phantom(3, "one")
        self.view.settings().set("word_wrap", False)
        self.append(self.view, "x" * 400)
        self.assertEqual(self.view.layout_extent(), (400 * CELL, 1002 * LINE))

    def test_folded_rows_take_no_room(self) -> None:
        self.view.fold(self.sublime.Region(self.view.text_point(2, 1), self.view.text_point(5, 1)))
        self.assertEqual((self.top(2), self.top(4), self.top(6)), (2 * LINE, 2 * LINE, 3 * LINE))

    def test_a_position_in_the_window_counts_gutter_tabs_and_side_bar(self) -> None:
        point = self.view.text_point(7, 2)
        self.view.set_viewport_position((0, 5 * LINE), animate=False)
        x, y = self.view.text_to_window(point)
        gutter = layout.gutter_width(self.editor.view(self.view.id()))
        self.assertEqual((x, y), (layout.SIDE_BAR + gutter + 2 * CELL, layout.TABS + 2 * LINE))
        self.assertEqual(self.view.window_to_text((x, y)), point)
        self.assertEqual(self.view.layout_to_window(self.view.window_to_layout((50, 60))), (50, 60))

    def test_groups_share_the_window_by_the_layouts_fractions(self) -> None:
        def check(width: float, height: float) -> None:
            width, height = width * (1280 - layout.SIDE_BAR), height * (800 - layout.STATUS_BAR)
            gutter = layout.gutter_width(self.editor.view(self.view.id()))
            self.assertEqual(self.view.viewport_extent(), (width - gutter, height - layout.TABS))

        check(1, 1)
        cells = [[0, 0, 1, 1], [1, 0, 2, 2]]
        self.window.set_layout({"cols": [0, 0.25, 1], "rows": [0, 0.5, 1], "cells": cells})
        check(0.25, 0.5)
        self.window.set_view_index(self.view, 1, 0)
        check(0.75, 1)

    def test_tabs_selected_together_share_their_group(self) -> None:
        wide = self.view.viewport_extent()[0]
        other = self.window.new_file(self.sublime.ADD_TO_SELECTION)
        self.window.select_sheets([self.view.sheet(), other.sheet()])
        self.assertLess(self.view.viewport_extent()[0], wide / 2)

    def test_the_window_is_as_large_as_the_switches_say(self) -> None:
        before = self.view.viewport_extent()
        self.editor.switches.window_width += 100
        self.editor.switches.em_width = 10.0
        self.assertEqual(self.view.em_width(), 10.0)
        self.assertNotEqual(self.view.viewport_extent(), before)

    def test_showing_at_the_centre_puts_the_line_in_the_middle(self) -> None:
        point = self.view.text_point(500, 0)
        self.view.show_at_center(point, animate=False)
        top, height = self.view.viewport_position()[1], self.view.viewport_extent()[1]
        self.assertEqual(self.view.text_to_layout(point)[1] + LINE / 2, top + height / 2)
        self.view.show_at_center(0)
        self.assertEqual(self.view.viewport_position(), (0.0, 0.0))

    def test_showing_what_is_in_sight_scrolls_nothing(self) -> None:
        self.view.set_viewport_position((0.0, 100.0), animate=False)
        self.view.show(self.view.text_point(20, 0))
        self.assertEqual(self.view.viewport_position(), (0.0, 100.0))
        self.view.show(self.sublime.Region(self.view.text_point(900, 0)))
        self.assertTrue(self.view.visible_region().contains(self.view.text_point(900, 0)))

    def test_the_visible_region_is_from_the_first_line_in_sight_to_the_last(self) -> None:
        self.view.set_viewport_position((0.0, 10 * LINE + 1), animate=False)
        seen = self.view.visible_region()
        rows = int((self.view.viewport_extent()[1] + 1) // LINE)
        self.assertEqual(self.view.rowcol(seen.begin()), (10, 0))
        self.assertEqual(self.view.rowcol(seen.end()), (10 + rows, 4))

    def test_scrolling_ends_where_the_text_does(self) -> None:
        self.view.set_viewport_position((0.0, 10.0**6), animate=False)
        self.assertEqual(self.view.viewport_position(), (0.0, 1000 * LINE))
        self.view.settings().set("scroll_past_end", False)
        self.view.set_viewport_position((0.0, 10.0**6), animate=False)
        end = 1001 * LINE - self.view.viewport_extent()[1]
        self.assertEqual(self.view.viewport_position()[1], end)

    def test_sideways_it_scrolls_as_far_as_the_longest_line(self) -> None:
        self.view.set_viewport_position((50.0, 0.0), animate=False)
        self.assertEqual(self.view.viewport_position(), (0.0, 0.0))
        self.view.settings().set("word_wrap", False)
        self.append(self.view, "x" * 1000)
        self.view.set_viewport_position((50.0, 0.0), animate=False)
        self.assertEqual(self.view.viewport_position(), (50.0, 0.0))
        self.view.show(self.view.size())
        self.assertGreater(self.view.viewport_position()[0], 50)

    def test_a_view_without_the_keyboard_scrolls_too(self) -> None:
        self.window.new_file()
        self.view.show_at_center(self.view.text_point(500, 0))
        self.assertGreater(self.view.viewport_position()[1], 0)


class Wrapping(EngineTestCase):
    def wrapped(self, text: str, width: int = 10) -> Any:
        view = self.view_with(text)
        view.settings().set("word_wrap", True)
        view.settings().set("wrap_width", width)
        return view

    def lines(self, view: Any, row: int) -> list[str]:
        state = self.editor.view(view.id())
        return [state.text.slice(begin, end) for begin, end in state.layout().lines(row)]

    def test_long_rows_wrap_at_blanks_or_where_they_must(self) -> None:
        view = self.wrapped("some words here\nabcdefghijklmno\nshort")
        self.assertEqual(self.lines(view, 0), ["some ", "words here"])
        self.assertEqual(self.lines(view, 1), ["abcdefghij", "klmno"])
        self.assertEqual(self.lines(view, 2), ["short"])
        self.assertEqual(view.text_to_layout(7), (2 * CELL, LINE))
        self.assertEqual(view.text_to_layout(view.text_point(2, 0)), (0.0, 4 * LINE))
        self.assertEqual(view.layout_to_text((2 * CELL, LINE)), 7)

    def test_the_pieces_of_a_wrapped_row_are_the_row(self) -> None:
        for text in ("", "a", "中" * 30, "\t\t\t\tx", "word " * 9, "e\u0301" * 25, "a b\tc " * 7):
            for width in (3, 8, 10):
                view = self.wrapped(text, width)
                self.assertEqual("".join(self.lines(view, 0)), text)

    def test_as_many_lines_are_counted_as_a_row_is_shown_on_at_any_width_and_tab_size(self) -> None:
        for text in ("中" * 30, "\t\t\t\tx", "e\u0301" * 25, "a b\tc " * 7, "– word " * 9):
            for width, tab in ((3, 4), (8, 4), (8, 2), (10, 4), (3, 4)):
                view = self.wrapped(f"{text}\nend", width)
                view.settings().set("tab_size", tab)
                end = view.text_to_layout(view.text_point(1, 0))
                with self.subTest(text, width=width, tab=tab):
                    self.assertEqual(end, (0.0, len(self.lines(view, 0)) * LINE))

    def test_code_wraps_only_where_it_is_asked_to_and_prose_unless_it_is_not(self) -> None:
        view = self.view_with("x" * 400)
        self.assertEqual(view.layout_extent()[1], 800 - layout.STATUS_BAR - layout.TABS)
        self.assertGreater(len(self.lines(view, 0)), 1)
        view.assign_syntax("scope:source.python")
        self.assertEqual(len(self.lines(view, 0)), 1)
        view.settings().set("word_wrap", True)
        self.assertGreater(len(self.lines(view, 0)), 1)

    def test_phantoms_stand_below_the_whole_row(self) -> None:
        view = self.wrapped("some words here\nnext")
        view.add_phantom("key", self.sublime.Region(0), "one", 2)
        self.assertEqual(view.text_to_layout(16), (0.0, 3 * LINE))


BOX = '<div class="box"><p>x</p></div>'
DEEP = '<div class="box"><div><p>x</p></div></div>'
CSS = "<style>div { padding: 1px } .a { padding: 2px } #b { padding: 3px } /* p {} */</style>"
# A content, the lines of text in it, and the pixels beside them.
HEIGHTS = (
    ("", 0, 0),
    ("text", 1, 0),
    ("a<br>b<br/>c", 3, 0),
    ("<br><br>", 2, 0),
    ("<div>a</div><div>b</div>", 2, 0),
    ("<div></div>", 0, 0),
    ("<body><div>a <b>b</b> <a href='x'>c</a></div></body>", 1, 0),
    ("<p>a</p>b", 2, 0),
    ("<div>a</div>\n <div>b</div>\n", 2, 0),
    ("<style>.gone { display: none }</style><div class='gone'>a</div>b", 1, 0),
    ("<div>unclosed<br>b", 2, 0),
    # Padding and margin in pixels and in font sizes; a body of padding alone fills.
    ('<div style="padding: 5px">text</div>', 1, 10),
    ('<div style="padding-top: 2rem">text</div>', 1, 20),
    ('<div style="padding: 1rem 3px 0.5rem">text</div>', 1, 15),
    ('<div style="margin: 1em 0; padding-bottom: 1px">text</div>', 1, 21),
    ('<div style="height: 100px">text</div>', 1, 0),
    ('<div style="line-height: 30px">text</div>', 0, 30),
    ('<div style="font-size: 2rem">text</div>', 2, 0),
    ('<body style="padding-top: 57px"></body>', 0, 57),
    # Rules of a style sheet by tag, class and id, and by what an element stands in.
    (CSS + "<div>text</div>", 1, 2),
    (CSS + "<div class='x a'>text</div>", 1, 4),
    (CSS + "<div class=a id=b>text</div>", 1, 6),
    ("<style>.box p { padding: 5px 0 }</style><p>x</p>", 1, 0),
    ("<style>.box p { padding: 5px 0 }</style>" + BOX, 1, 10),
    ("<style>div .box > p { padding: 5px 0 }</style>" + DEEP, 1, 0),
    ("<style>.box div p { padding: 5px 0 }</style>" + DEEP, 1, 10),
    (f"<style>div .box > p {{ padding: 5px 0 }}</style><div>{BOX}</div>", 1, 10),
    ("<style>p .box { padding: 5px 0 }</style>" + BOX, 1, 0),
)


class Sizes(unittest.TestCase):
    def test_a_content_is_as_high_as_its_lines_and_edges(self) -> None:
        for content, lines, edges in HEIGHTS:
            with self.subTest(content):
                self.assertEqual(minihtml.measure(content, FONT).height, lines * LINE + edges)

    def test_a_width_is_that_of_the_longest_line(self) -> None:
        content = "<div style='padding: 0 4px'>four<br>letters</div>"
        self.assertEqual(minihtml.measure(content, FONT).width, 7 * CELL + 8)
