"""Windows: groups, sheets, layouts, previews, panels and questions."""

from __future__ import annotations

from .engine import EngineTestCase

TWO = {"cols": [0, 0.5, 1], "rows": [0, 1], "cells": [[0, 0, 1, 1], [1, 0, 2, 1]]}


class Groups(EngineTestCase):
    def test_new_tabs_open_in_the_active_group_after_the_active_tab(self) -> None:
        first, second = self.open("a.txt"), self.open("b.txt")
        self.window.focus_view(first)
        third = self.open("c.txt")
        self.assertEqual(self.window.views(), [first, third, second])
        self.window.set_layout(TWO)
        self.window.focus_group(1)
        fourth = self.window.new_file()
        self.assertEqual(self.window.get_view_index(fourth), (1, 0))

    def test_a_new_window_has_an_untitled_view_without_a_tab_until_somebody_types(self) -> None:
        self.sublime.run_command("new_window")
        window = self.sublime.active_window()
        view = window.active_view()
        self.assertEqual((window.views(), view.size(), view.file_name()), ([], 0, None))
        self.assertEqual(window.transient_view_in_group(0), view)
        self.editor.ui(self.editor.type_text, self.editor.view(view.id()), "a")
        self.assertEqual(window.views(), [view])

    def test_the_untitled_view_of_a_new_window_goes_when_a_file_is_opened(self) -> None:
        untitled = self.window.active_view()
        view = self.open("a.txt")
        self.assertEqual((self.window.views(), untitled.is_valid()), ([view], False))

    def test_the_sheets_of_a_group_that_vanishes_move_to_the_last_one(self) -> None:
        self.window.set_layout(TWO)
        left = self.open("a.txt")
        self.window.focus_group(1)
        right = self.open("b.txt")
        self.window.set_layout({"cols": [0, 1], "rows": [0, 1], "cells": [[0, 0, 1, 1]]})
        self.assertEqual(self.window.views_in_group(0), [left, right])
        self.assertEqual((self.window.num_groups(), self.window.active_view()), (1, right))
        self.assertEqual(self.window.get_view_index(right), (0, 1))

    def test_a_layout_that_makes_no_sense_is_refused_and_changes_nothing(self) -> None:
        before = self.window.layout()
        for wrong in ({"cols": [0, 1]}, {"cols": [0, 1], "rows": [0, 1], "cells": [[0, 0, 2, 1]]}):
            with self.assertRaises(ValueError):
                self.window.set_layout(wrong)
        self.assertEqual(self.window.layout(), before)

    def test_a_view_that_is_nowhere_has_no_index(self) -> None:
        view = self.open("a.txt")
        view.close()
        self.assertEqual(self.window.get_view_index(view), (-1, -1))

    def test_a_sheet_moves_between_groups_and_keeps_its_view(self) -> None:
        self.window.set_layout(TWO)
        view = self.open("a.txt")
        self.window.set_view_index(view, 1, 0)
        self.assertEqual(self.window.get_view_index(view), (1, 0))
        self.assertEqual(view.sheet().group(), 1)
        self.assertIsNone(self.window.active_view_in_group(0))

    def test_a_view_of_another_group_is_shown_only_by_moving_the_focus(self) -> None:
        self.window.set_layout(TWO)
        left = self.open("a.txt")
        self.window.focus_group(1)
        right = self.open("b.txt")
        self.window.focus_view(left)
        self.assertEqual((self.window.active_group(), self.window.active_view()), (0, left))
        self.assertEqual(self.window.active_view_in_group(1), right)

    def test_added_tabs_are_selected_side_by_side(self) -> None:
        first = self.open("a.txt")
        second = self.open("b.txt", flags=self.sublime.ADD_TO_SELECTION)
        self.assertEqual([sheet.view() for sheet in self.window.selected_sheets()], [first, second])
        self.assertTrue(first.sheet().is_selected())

    def test_closing_the_active_tab_shows_its_neighbour(self) -> None:
        first, second, third = (self.open(name) for name in ("a.txt", "b.txt", "c.txt"))
        self.window.focus_view(second)
        second.close()
        self.assertEqual(self.window.active_view(), first)
        self.assertEqual(self.window.views(), [first, third])


class Previews(EngineTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.tab = self.open("tab.txt")
        self.preview = self.open("preview.txt", b"x", flags=self.sublime.TRANSIENT)

    def test_a_preview_stands_in_no_list_unless_asked_for(self) -> None:
        self.assertEqual(self.window.views(), [self.tab])
        self.assertEqual(len(self.window.sheets()), 1)
        self.assertIn(self.preview, self.window.views(include_transient=True))
        self.assertEqual(self.window.transient_view_in_group(0), self.preview)
        self.assertEqual(self.window.active_view(), self.preview)
        self.assertTrue(self.preview.sheet().is_transient())

    def test_a_preview_does_not_close_and_goes_when_another_tab_is_shown(self) -> None:
        self.assertFalse(self.preview.close())
        self.assertTrue(self.preview.is_valid())
        self.window.focus_view(self.tab)
        self.assertFalse(self.preview.is_valid())

    def test_an_edit_makes_a_preview_a_tab(self) -> None:
        self.append(self.preview, "y")
        self.assertIn(self.preview, self.window.views())
        self.window.focus_view(self.tab)
        self.assertTrue(self.preview.is_valid())


class Panels(EngineTestCase):
    def test_a_panel_is_shown_hidden_and_found_by_name(self) -> None:
        panel = self.window.create_output_panel("toy")
        self.assertEqual(self.window.find_output_panel("toy"), panel)
        self.window.run_command("show_panel", {"panel": "output.toy"})
        self.assertEqual(self.window.active_panel(), "output.toy")
        self.window.run_command("hide_panel")
        self.assertIsNone(self.window.active_panel())
        self.assertIn("output.toy", self.window.panels())

    def test_creating_a_panel_again_gives_the_same_one_emptied(self) -> None:
        panel = self.window.create_output_panel("toy")
        self.append(panel, "text")
        self.assertEqual(self.window.create_output_panel("toy"), panel)
        self.assertEqual(panel.size(), 0)

    def test_a_panel_that_is_created_again_keeps_its_settings_and_syntax(self) -> None:
        panel = self.window.create_output_panel("toy")
        panel.settings().set("result_file_regex", "^(.+):$")
        panel.settings().set("word_wrap", False)
        before = panel.settings().to_dict()
        self.window.create_output_panel("toy")
        self.assertEqual(panel.settings().to_dict(), before)
        self.assertEqual(panel.settings().get("result_file_regex"), "^(.+):$")

    def test_a_quick_panel_waits_for_an_answer_and_cancels_with_minus_one(self) -> None:
        chosen = []  # type: ignore[var-annotated]
        state = self.editor.window(self.window.id())
        for answer in (1, -1):
            self.window.show_quick_panel(["a", "b"], chosen.append)
            self.assertEqual(state.question.items, ["a", "b"])
            self.editor.ui(state.answer, answer)
        self.assertEqual((chosen, state.question), ([1, -1], None))

    def test_a_quick_panel_tells_what_is_highlighted_from_the_first_on(self) -> None:
        seen: list[int] = []
        state = self.editor.window(self.window.id())
        for selected, first in ((-1, 0), (1, 1)):
            self.window.show_quick_panel(
                ["a", "b", "c"], lambda index: None, 0, selected, seen.append, "Choose"
            )
            self.settle()
            self.assertEqual((seen, state.question.caption), ([first], "Choose"))
            self.editor.ui(state.question.highlight, 2)
            self.assertEqual(seen.pop(), 2)
            with self.assertRaises(IndexError):
                state.question.highlight(3)
            self.editor.ui(state.answer)
            seen.clear()

    def test_details_of_an_item_are_html_and_rows_of_a_list_are_not(self) -> None:
        item = self.sublime.QuickPanelItem("<b>", ["<b>bold</b> &lt;b&gt;"])
        self.window.show_quick_panel([item, ["<b>", "<b>"]], lambda index: None)
        self.settle()
        question = self.editor.window(self.window.id()).question
        rows = [question.rows(index) for index in range(2)]
        self.assertEqual(rows, [["<b>", "bold <b>"], ["<b>", "<b>"]])
        self.editor.ui(self.editor.window(self.window.id()).answer)

    def test_an_input_panel_tells_what_is_typed(self) -> None:
        seen: list[str] = []
        view = self.window.show_input_panel("Name", "", None, seen.append, None)
        for letter in "ab":
            self.editor.ui(self.editor.type_text, self.editor.view(view.id()), letter)
        self.assertEqual(seen, ["a", "ab"])

    def test_an_input_panel_gives_the_text_or_is_cancelled(self) -> None:
        done = []  # type: ignore[var-annotated]
        state = self.editor.window(self.window.id())
        view = self.window.show_input_panel(
            "Name", "initial", done.append, None, lambda: done.append("cancelled")
        )
        self.assertEqual((self.text(view), view.element()), ("initial", "input:input"))
        self.assertTrue(view.settings().get("is_widget"))
        self.editor.ui(state.answer, text="typed")
        self.window.show_input_panel(
            "Name", "", done.append, None, lambda: done.append("cancelled")
        )
        self.editor.ui(state.answer)
        self.assertEqual(done, ["typed", "cancelled"])

    def test_a_window_that_is_gone_answers_neutrally(self) -> None:
        self.sublime.run_command("new_window")
        window = self.sublime.active_window()
        window.run_command("close_window")
        self.assertEqual(
            (
                window.is_valid(),
                bool(window),
                window.views(),
                window.folders(),
                window.active_view(),
                window.num_groups(),
            ),
            (False, True, [], [], None, 0),
        )
        self.assertFalse(bool(self.sublime.Window(0)))
