"""How views are read, and how a layout makes room."""

from __future__ import annotations

from typing import Any, Generator

import sublime
from GeminiCompanion.companion.ide.context import TRUNCATED, Cursor
from GeminiCompanion.companion.ui import views
from GeminiCompanion.companion.ui.review import layout

from .adapter import AdapterTestCase

Steps = Generator[Any, Any, None]
ONE: Any = {"cols": [0.0, 1.0], "rows": [0.0, 1.0], "cells": [[0, 0, 1, 1]]}
GRID: Any = {
    "cols": [0.0, 0.3, 1.0],
    "rows": [0.0, 0.5, 1.0],
    "cells": [[0, 0, 1, 2], [1, 0, 2, 1], [1, 1, 2, 2]],
}


class Describe(AdapterTestCase):
    def test_untitled_buffers_and_panels_are_no_files(self) -> None:
        untitled = self.window.new_file()
        panel = self.window.create_output_panel("test")
        self.addCleanup(self.window.destroy_output_panel, "test")
        self.assertIsNone(views.describe_view(untitled))
        self.assertIsNone(views.describe_view(panel))

    def test_a_view_without_a_selection_has_no_cursor(self) -> Steps:
        view = yield from self.open("a.py", "text\n")
        view.sel().clear()
        file = views.describe_view(view)
        self.assertIsNone(file.cursor)

    def test_the_cursor_is_the_caret_even_of_a_selection_made_backwards(self) -> Steps:
        view = yield from self.open("a.py", "one\ntwo\n")
        view.sel().clear()
        view.sel().add(sublime.Region(6, 1))
        self.assertEqual(views.first_cursor(view), Cursor(1, 2))

    def test_many_selections_end_at_the_limit(self) -> Steps:
        view = yield from self.open("a.py", "ab " * 9000)
        view.sel().clear()
        view.sel().add_all([sublime.Region(at, at + 2) for at in range(0, 27000, 3)])
        text = views.selected_text(view)
        self.assertTrue(text.endswith("a... [TRUNCATED]"))
        self.assertLessEqual(len(text), 16384 + len(TRUNCATED))
        self.assertGreater(len(text), 16000)

    def test_a_selection_has_the_mark_where_it_is_cut_and_nowhere_else(self) -> Steps:
        view = yield from self.open("a.py", "x" * 20000)
        for lengths, is_cut in (
            ((16384,), False),
            ((16385,), True),
            ((16382, 1), False),
            ((16382, 2), True),
            ((16383, 1), True),
            ((16384, 1), True),
            ((16384, 0), False),
        ):
            view.sel().clear()
            start = 0
            for length in lengths:
                view.sel().add(sublime.Region(start, start + length))
                start += length + 1
            with self.subTest(lengths):
                text = views.selected_text(view)
                self.assertEqual(text.endswith(TRUNCATED), is_cut)
                self.assertLessEqual(len(text), 16384 + (len(TRUNCATED) if is_cut else 0))


class Layout(AdapterTestCase):
    def test_the_users_groups_come_first_and_keep_their_shape(self) -> None:
        for one in (ONE, GRID):
            more = layout.with_room(one)
            before, after = one["cells"], more["cells"]
            self.assertEqual(len(after), len(before) + 2)
            for old, new in zip(before, after):
                for side in (0, 2):
                    self.assertEqual(more["cols"][new[side]], one["cols"][old[side]])
                for side in (1, 3):
                    share = one["rows"][old[side]] * layout.USERS_SHARE
                    self.assertAlmostEqual(more["rows"][new[side]], share)

    def test_the_room_is_the_lower_part_in_two_halves(self) -> None:
        more = layout.with_room(GRID)
        left, right = more["cells"][-2:]
        edges = [(more["cols"][cell[0]], more["cols"][cell[2]]) for cell in (left, right)]
        self.assertEqual(edges, [(0.0, 0.5), (0.5, 1.0)])
        self.assertEqual({more["rows"][cell[3]] for cell in (left, right)}, {1.0})

    def test_taking_the_room_back_gives_the_layout_that_was(self) -> Steps:
        before = self.window.layout()
        self.addCleanup(self.window.set_layout, before)
        self.window.set_layout(GRID)
        yield
        during = self.window.layout()
        self.assertEqual(layout.make_room(self.window), (3, 4))
        self.assertEqual(layout.make_room(self.window), (3, 4))
        layout.take_room_back(self.window)
        self.assertEqual(self.window.layout(), during)
