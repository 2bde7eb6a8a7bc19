"""Carets by key and mouse, lines that are joined, and words in another case."""

from __future__ import annotations

from typing import Any

from .engine import EngineTestCase

TEXT = "long first\nab\nlong third\n"


class Carets(EngineTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.view = self.view_with(TEXT)
        self.select(self.view, 7)

    def carets(self) -> list[tuple[int, int]]:
        return [(region.a, region.b) for region in self.view.sel()]

    def move(self, by: str, forward: bool = True, **more: Any) -> list[tuple[int, int]]:
        self.view.run_command("move", {"by": by, "forward": forward, **more})
        return self.carets()

    def test_a_caret_comes_back_to_its_column_after_a_shorter_line(self) -> None:
        self.assertEqual(self.move("lines"), [(13, 13)])
        self.assertEqual(self.move("lines"), [(21, 21)])
        self.assertEqual(self.move("lines", False), [(13, 13)])
        self.assertEqual(self.move("lines", False), [(7, 7)])

    def test_a_caret_that_went_aside_in_between_keeps_its_new_column(self) -> None:
        self.move("lines")
        self.move("characters", False)
        self.assertEqual(self.move("lines"), [(15, 15)])

    def test_beyond_the_first_and_the_last_line_are_the_ends_of_the_text(self) -> None:
        self.assertEqual(self.move("lines", False), [(0, 0)])
        self.select(self.view, len(TEXT) - 1)
        self.move("lines")
        self.assertEqual(self.move("lines"), [(len(TEXT), len(TEXT))])

    def test_extending_keeps_where_the_selection_began(self) -> None:
        self.assertEqual(self.move("lines", extend=True), [(7, 13)])
        self.assertEqual(self.move("lines", extend=True), [(7, 21)])
        self.assertEqual(self.move("characters", extend=True), [(7, 22)])
        self.assertEqual(self.move("characters", False), [(7, 7)])

    def test_all_carets_go_and_those_that_meet_are_one(self) -> None:
        self.select(self.view, 0, 11)
        self.assertEqual(self.move("lines"), [(11, 11), (14, 14)])
        self.select(self.view, 12, 13)
        self.assertEqual(self.move("lines"), [(15, 15), (16, 16)])

    def test_phantoms_and_wrapped_rows_are_gone_through_as_they_are_seen(self) -> None:
        self.view.add_phantom("x", self.sublime.Region(7), "<div>one</div>", 2)
        self.assertEqual(self.move("lines"), [(13, 13)])
        self.assertEqual(self.move("lines", False), [(7, 7)])
        self.view.settings().set("word_wrap", True)
        self.view.settings().set("wrap_width", 6)
        self.select(self.view, 7)
        self.assertEqual(self.move("lines", False), [(2, 2)])
        self.assertEqual(self.move("lines"), [(7, 7)])

    def test_a_page_is_as_many_rows_as_are_in_sight(self) -> None:
        self.append(self.view, "row\n" * 500)
        rows = int(self.view.viewport_extent()[1] // self.view.line_height())
        self.move("pages")
        self.assertEqual(self.view.rowcol(self.carets()[0][1])[0], rows)
        self.assertEqual(self.move("pages", False), [(7, 7)])

    def test_words_are_gone_through_by_their_starts_or_ends(self) -> None:
        self.select(self.view, 0)
        self.assertEqual(self.move("words"), [(5, 5)])
        self.assertEqual(self.move("word_ends"), [(10, 10)])
        self.assertEqual(self.move("words", False, extend=True), [(10, 5)])

    def test_the_mouse_selects_words_and_lines_adds_and_extends(self) -> None:
        x, y = self.view.text_to_window(6)
        event = {"event": {"x": x, "y": y, "button": 1}}
        for args, expected in (
            ({}, [(6, 6)]),
            ({"by": "words"}, [(5, 10)]),
            ({"by": "lines"}, [(0, 11)]),
            ({"additive": True}, [(6, 6), (14, 14)]),
            ({"extend": True}, [(14, 6)]),
        ):
            self.select(self.view, 14)
            self.view.run_command("drag_select", {**event, **args})
            self.assertEqual(self.carets(), expected)
        self.view.run_command("drag_select", {"by": "words"})
        self.assertEqual(self.carets(), [(14, 6)])


class Changes(EngineTestCase):
    def test_lines_are_joined_by_one_blank_and_words_or_what_is_selected_change_their_case(
        self,
    ) -> None:
        for command, text, a, b, changed in (
            ("join_lines", "a \n\tb\nc", 0, 0, "a b\nc"),
            ("join_lines", "a\nb\n  c\nd", 0, 5, "a b c\nd"),
            ("join_lines", "last", 0, 0, "last"),
            ("upper_case", "one Two", 1, 1, "ONE Two"),
            ("lower_case", "One Two", 0, 7, "one two"),
            ("swap_case", "one Two", 2, 5, "onE two"),
            ("title_case", "one two", 0, 7, "One Two"),
        ):
            view = self.view_with(text)
            self.select(view, self.sublime.Region(a, b))
            view.run_command(command)
            self.assertEqual(self.text(view), changed)
