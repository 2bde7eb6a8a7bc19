"""Windows: groups, sheets, layouts, previews, panels and questions."""

from __future__ import annotations

from typing import Any

from .engine import TWO_GROUPS, EngineTestCase


class Groups(EngineTestCase):
    def test_new_tabs_open_in_the_active_group_after_the_active_tab(self) -> None:
        first, second = self.open("a.txt"), self.open("b.txt")
        self.window.focus_view(first)
        third = self.open("c.txt")
        self.assertEqual(self.window.views(), [first, third, second])
        self.window.set_layout(TWO_GROUPS)
        self.window.focus_group(1)
        self.assertEqual(self.window.get_view_index(self.window.new_file()), (1, 0))

    def test_a_new_window_has_an_untitled_view_without_a_tab_until_somebody_types(self) -> None:
        self.sublime.run_command("new_window")
        window = self.sublime.active_window()
        view = window.active_view()
        self.assertEqual((window.views(), view.size(), view.file_name()), ([], 0, None))
        self.assertEqual(window.transient_view_in_group(0), view)
        self.type(view, "a")
        self.assertEqual(window.views(), [view])

    def test_the_untitled_view_of_a_new_window_goes_when_a_file_is_opened(self) -> None:
        untitled = self.window.active_view()
        view = self.open("a.txt")
        self.assertEqual((self.window.views(), untitled.is_valid()), ([view], False))

    def test_sheets_move_between_groups_and_those_of_one_that_vanishes_to_the_last(self) -> None:
        self.window.set_layout(TWO_GROUPS)
        left = self.open("a.txt")
        self.window.set_view_index(left, 1, 0)
        self.assertEqual((self.window.get_view_index(left), left.sheet().group()), ((1, 0), 1))
        self.assertIsNone(self.window.active_view_in_group(0))
        self.window.set_view_index(left, 0, 0)
        self.window.focus_group(1)
        right = self.open("b.txt")
        # A view of another group is shown only by moving the focus.
        self.window.focus_view(left)
        self.assertEqual((self.window.active_group(), self.window.active_view()), (0, left))
        self.assertEqual(self.window.active_view_in_group(1), right)
        self.window.focus_view(right)
        self.window.set_layout({"cols": [0, 1], "rows": [0, 1], "cells": [[0, 0, 1, 1]]})
        self.assertEqual(self.window.views_in_group(0), [left, right])
        self.assertEqual((self.window.num_groups(), self.window.active_view()), (1, right))
        self.assertEqual(self.window.get_view_index(right), (0, 1))

    def test_a_page_that_was_closed_takes_no_contents_any_more(self) -> None:
        page = self.window.new_html_sheet("Page", "<p>one</p>")
        page.close()
        page.set_name("Other")
        page.set_contents("<p>two</p>")
        self.assertIsNone(page.window())

    def test_a_layout_that_makes_no_sense_is_refused_and_changes_nothing(self) -> None:
        before = self.window.layout()
        for wrong in ({"cols": [0, 1]}, {"cols": [0, 1], "rows": [0, 1], "cells": [[0, 0, 2, 1]]}):
            self.assertRaises(ValueError, self.window.set_layout, wrong)
        self.assertEqual(self.window.layout(), before)

    def test_added_tabs_are_selected_side_by_side(self) -> None:
        first = self.open("a.txt")
        second = self.open("b.txt", flags=self.sublime.ADD_TO_SELECTION)
        self.assertEqual([sheet.view() for sheet in self.window.selected_sheets()], [first, second])
        self.assertTrue(first.sheet().is_selected())

    def test_closing_the_active_tab_shows_its_neighbour_and_it_is_nowhere(self) -> None:
        first, second, third = (self.open(name) for name in ("a.txt", "b.txt", "c.txt"))
        self.window.focus_view(second)
        second.close()
        self.assertEqual(self.window.active_view(), first)
        self.assertEqual(self.window.views(), [first, third])
        self.assertEqual(self.window.get_view_index(second), (-1, -1))


class Previews(EngineTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.tab = self.open("tab.txt")
        self.preview = self.open("preview.txt", b"x", flags=self.sublime.TRANSIENT)

    def test_a_preview_stands_in_no_list_unless_asked_for(self) -> None:
        self.assertEqual((self.window.views(), len(self.window.sheets())), ([self.tab], 1))
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
    def setUp(self) -> None:
        super().setUp()
        self.state = self.editor.window(self.window.id())
        self.seen: list[Any] = []

    def answer(self, *given: Any, **more: Any) -> None:
        self.editor.ui(self.state.answer, *given, **more)

    def test_a_panel_is_shown_hidden_and_found_by_name(self) -> None:
        panel = self.window.create_output_panel("toy")
        self.assertEqual(self.window.find_output_panel("toy"), panel)
        self.window.run_command("show_panel", {"panel": "output.toy"})
        self.assertEqual(self.window.active_panel(), "output.toy")
        self.window.run_command("hide_panel")
        self.assertIsNone(self.window.active_panel())
        self.assertIn("output.toy", self.window.panels())

    def test_creating_a_panel_again_empties_it_and_keeps_its_settings_and_syntax(self) -> None:
        panel = self.window.create_output_panel("toy")
        self.append(panel, "text")
        panel.settings().set("result_file_regex", "^(.+):$")
        panel.settings().set("word_wrap", False)
        before = panel.settings().to_dict()
        self.assertEqual(self.window.create_output_panel("toy"), panel)
        self.assertEqual((panel.size(), panel.settings().to_dict()), (0, before))
        self.assertEqual(panel.settings().get("result_file_regex"), "^(.+):$")

    def test_a_quick_panel_waits_for_an_answer_and_cancels_with_minus_one(self) -> None:
        for answer in (1, -1):
            self.window.show_quick_panel(["a", "b"], self.seen.append)
            self.assertEqual(self.state.question.items, ["a", "b"])
            self.answer(answer)
        self.assertEqual((self.seen, self.state.question), ([1, -1], None))

    def test_a_quick_panel_tells_what_is_highlighted_from_the_first_on(self) -> None:
        items = ["a", "b", "c"]
        for selected, first in ((-1, 0), (1, 1)):
            told: list[int] = []
            ask = self.window.show_quick_panel
            ask(items, self.seen.append, 0, selected, told.append, "Choose")
            self.settle()
            self.assertEqual((told, self.state.question.caption), ([first], "Choose"))
            self.editor.ui(self.state.question.highlight, 2)
            self.assertEqual(told, [first, 2])
            self.assertRaises(IndexError, self.state.question.highlight, 3)
            self.answer()

    def test_details_of_an_item_are_html_and_rows_of_a_list_are_not(self) -> None:
        item = self.sublime.QuickPanelItem("<b>", ["<b>bold</b> &lt;b&gt;"])
        self.window.show_quick_panel([item, ["<b>", "<b>"]], self.seen.append)
        self.settle()
        rows = [self.state.question.rows(index) for index in range(2)]
        self.assertEqual(rows, [["<b>", "bold <b>"], ["<b>", "<b>"]])
        self.answer()

    def test_an_input_panel_tells_what_is_typed(self) -> None:
        view = self.window.show_input_panel("Name", "", None, self.seen.append, None)
        self.type(view, "a", "b")
        self.assertEqual(self.seen, ["a", "ab"])

    def test_an_input_panel_gives_the_text_or_is_cancelled(self) -> None:
        for initial, given in (("initial", {"text": "typed"}), ("", {})):
            view = self.window.show_input_panel(
                "Name", initial, self.seen.append, None, lambda: self.seen.append("cancelled")
            )
            self.assertEqual((self.text(view), view.element()), (initial, "input:input"))
            self.assertTrue(view.settings().get("is_widget"))
            self.answer(**given)
        self.assertEqual(self.seen, ["typed", "cancelled"])

    def test_a_window_that_is_gone_answers_neutrally(self) -> None:
        self.sublime.run_command("new_window")
        window = self.sublime.active_window()
        window.run_command("close_window")
        self.assertEqual((window.is_valid(), bool(window)), (False, True))
        self.assertEqual((window.views(), window.folders()), ([], []))
        self.assertEqual((window.active_view(), window.num_groups()), (None, 0))
        self.assertFalse(bool(self.sublime.Window(0)))
