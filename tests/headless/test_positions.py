"""Where text, phantoms and the viewport of a view stand, in pixels."""

from __future__ import annotations

from typing import Any

from headless import layout, minihtml

from .engine import EngineTestCase

LINE, CELL = 19.0, 8.0
FONT = minihtml.Font(LINE, CELL, 10.0)


class Positions(EngineTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.view = self.view_with("".join(f"line {row}\n" for row in range(500)))

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
        self.assertEqual(
            [view.text_to_layout(point)[0] / CELL for point in range(5)], [0, 4, 5, 7, 8]
        )
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
        self.view.sel().clear()
        self.view.sel().add(0)
        self.view.run_command("insert", {"characters": "new\nnew\n"})
        self.assertEqual((self.top(12), self.top(13)), (12 * LINE, 14 * LINE))

    def test_the_extent_knows_phantoms_and_the_longest_line(self) -> None:
        before = self.view.layout_extent()
        self.assertEqual(before, (self.view.viewport_extent()[0], 501 * LINE))
        self.phantom(3, "one")
        self.view.settings().set("word_wrap", False)
        self.view.run_command("append", {"characters": "x" * 400})
        self.assertEqual(self.view.layout_extent(), (400 * CELL, 502 * LINE))

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


class Viewports(EngineTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.view = self.view_with("line\n" * 1000)

    def test_groups_share_the_window_by_the_layouts_fractions(self) -> None:
        width, height = 1280 - layout.SIDE_BAR, 800 - layout.STATUS_BAR
        gutter = layout.gutter_width(self.editor.view(self.view.id()))
        self.assertEqual(self.view.viewport_extent(), (width - gutter, height - layout.TABS))
        self.window.set_layout(
            {"cols": [0, 0.25, 1], "rows": [0, 0.5, 1], "cells": [[0, 0, 1, 1], [1, 0, 2, 2]]}
        )
        self.assertEqual(
            self.view.viewport_extent(), (width / 4 - gutter, height / 2 - layout.TABS)
        )
        self.window.set_view_index(self.view, 1, 0)
        self.assertEqual(
            self.view.viewport_extent(), (width * 3 / 4 - gutter, height - layout.TABS)
        )

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
        self.assertEqual(
            self.view.viewport_position()[1], 1001 * LINE - self.view.viewport_extent()[1]
        )

    def test_sideways_it_scrolls_as_far_as_the_longest_line(self) -> None:
        self.view.set_viewport_position((50.0, 0.0), animate=False)
        self.assertEqual(self.view.viewport_position(), (0.0, 0.0))
        self.view.settings().set("word_wrap", False)
        self.view.run_command("append", {"characters": "x" * 1000})
        self.view.set_viewport_position((50.0, 0.0), animate=False)
        self.assertEqual(self.view.viewport_position(), (50.0, 0.0))
        self.view.show(self.view.size())
        self.assertGreater(self.view.viewport_position()[0], 50)

    def test_a_view_without_the_keyboard_scrolls_too(self) -> None:
        self.window.new_file()
        self.view.show_at_center(self.view.text_point(500, 0))
        self.assertGreater(self.view.viewport_position()[1], 0)


class Heights(EngineTestCase):
    def test_a_content_is_as_high_as_its_lines_and_edges(self) -> None:
        for content, lines in (
            ("", 0),
            ("text", 1),
            ("a<br>b<br/>c", 3),
            ("<br><br>", 2),
            ("<div>a</div><div>b</div>", 2),
            ("<div></div>", 0),
            ("<body><div>a <b>b</b> <a href='x'>c</a></div></body>", 1),
            ("<p>a</p>b", 2),
            ("<div>a</div>\n <div>b</div>\n", 2),
            ("<style>.gone { display: none }</style><div class='gone'>a</div>b", 1),
            ("<div>unclosed<br>b", 2),
        ):
            with self.subTest(content):
                self.assertEqual(minihtml.measure(content, FONT).height, lines * LINE)

    def test_padding_and_margin_count_in_pixels_and_in_font_sizes(self) -> None:
        for style, height in (
            ("padding: 5px", LINE + 10),
            ("padding-top: 2rem", LINE + 20),
            ("padding: 1rem 3px 0.5rem", LINE + 15),
            ("margin: 1em 0; padding-bottom: 1px", LINE + 21),
            ("height: 100px", LINE),
            ("line-height: 30px", 30),
            ("font-size: 2rem", 2 * LINE),
        ):
            with self.subTest(style):
                content = f'<div style="{style}">text</div>'
                self.assertEqual(minihtml.measure(content, FONT).height, height)

    def test_a_body_of_padding_alone_fills(self) -> None:
        content = '<body style="padding-top: 57px"></body>'
        self.assertEqual(minihtml.measure(content, FONT).height, 57)

    def test_rules_of_a_style_sheet_count_by_tag_class_and_id(self) -> None:
        css = "div { padding: 1px } .a { padding: 2px } #b { padding: 3px } /* p {} */"
        for tag, edge in (("<div>", 1), ("<div class='x a'>", 2), ("<div class=a id=b>", 3)):
            content = f"<style>{css}</style>{tag}text</div>"
            self.assertEqual(minihtml.measure(content, FONT).height, LINE + 2 * edge)

    def test_a_width_is_that_of_the_longest_line(self) -> None:
        content = "<div style='padding: 0 4px'>four<br>letters</div>"
        self.assertEqual(minihtml.measure(content, FONT).width, 7 * CELL + 8)

    def test_a_selector_of_descendants_means_those_within_its_other_elements_only(self) -> None:
        for inside, selector, fits in (
            ("<p>x</p>", ".box p", False),
            ('<div class="box"><p>x</p></div>', ".box p", True),
            ('<div class="box"><div><p>x</p></div></div>', "div .box > p", False),
            ('<div class="box"><div><p>x</p></div></div>', ".box div p", True),
            ('<div><div class="box"><p>x</p></div></div>', "div .box > p", True),
            ('<div class="box"><p>x</p></div>', "p .box", False),
        ):
            content = f"<style>{selector} {{ padding: 5px 0 }}</style>{inside}"
            with self.subTest(content):
                height = LINE + (10 if fits else 0)
                self.assertEqual(minihtml.measure(content, FONT).height, height)
