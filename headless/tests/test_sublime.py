"""The API's own values: regions, selections, phantoms, decorations, text, and what is missing."""

from __future__ import annotations

import gc
import html
from typing import Any

from headless import clicks

from .engine import EngineTestCase


class Regions(EngineTestCase):
    def test_regions_follow_the_editors_algebra(self) -> None:
        region = self.sublime.Region
        backwards = region(5, 2)
        ends = (backwards.begin(), backwards.end(), backwards.b, len(backwards))
        self.assertEqual(ends, (2, 5, 2, 3))
        self.assertEqual(list(backwards), [5, 2])
        self.assertTrue(5 in backwards and 2 in backwards and region(3, 4) in backwards)
        self.assertFalse(region(0, 2).intersects(region(2, 4)))
        self.assertTrue(region(2, 2).intersects(region(2, 2)))
        self.assertEqual(region(0, 1).intersection(region(4, 5)), region(0))
        self.assertEqual(region(0, 4).intersection(region(6, 2)), region(2, 4))
        self.assertEqual(region(4, 0).cover(region(6)), region(6, 0))
        self.assertEqual(region(1, 2, xpos=3), region(1, 2))
        self.assertLess(region(1, 2), region(1, 3))


class Texts(EngineTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.view = self.view_with("one two\n  three\n\nfour")

    def test_a_point_past_the_end_is_a_nul_and_a_region_gives_what_is_there(self) -> None:
        self.assertEqual(self.view.substr(self.view.size()), "\0")
        self.assertEqual(self.view.substr(self.sublime.Region(18, 99)), "our")

    def test_lines_with_and_without_their_breaks(self) -> None:
        region = self.sublime.Region
        self.assertEqual(self.view.line(9), region(8, 15))
        self.assertEqual(self.view.full_line(9), region(8, 16))
        self.assertEqual(self.view.lines(region(4, 10)), [region(0, 7), region(8, 15)])
        self.assertEqual(self.view.split_by_newlines(region(4, 10)), [region(4, 7), region(8, 10)])

    def test_words_end_at_spaces_and_marks(self) -> None:
        self.assertEqual([self.view.substr(self.view.word(at)) for at in (5, 4)], ["two"] * 2)

    def test_find_looks_for_expressions_and_literals(self) -> None:
        self.assertEqual(self.view.find(r"t\w+", 0), self.sublime.Region(4, 7))
        self.assertEqual(self.view.find("t.", 0, self.sublime.LITERAL), self.sublime.Region(-1))
        found = [self.view.substr(each) for each in self.view.find_all(r"^\w+")]
        self.assertEqual(found, ["one", "four"])

    def test_tabs_become_spaces_where_the_setting_says_so(self) -> None:
        self.view.settings().set("translate_tabs_to_spaces", True)
        token = self.editor.ui(self.editor.begin_edit, self.editor.view(self.view.id()), "", None)
        count = self.view.insert(self.sublime.Edit(token), 1, "\tx")
        self.editor.ui(self.editor.end_edit, self.editor.view(self.view.id()), token)
        self.assertEqual((count, self.view.substr(self.view.line(0))), (4, "o   xne two"))

    def test_a_region_is_carried_over_later_edits(self) -> None:
        before = self.view.change_id()
        self.insert(self.view, "12", 0)
        moved = self.view.transform_region_from(self.sublime.Region(4, 7), before)
        self.assertEqual(moved, self.sublime.Region(6, 9))


class Selections(EngineTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.view = self.view_with("some words here")
        self.selection = self.view.sel()

    def pairs(self) -> Any:
        return [each.to_tuple() for each in self.selection]

    def test_an_empty_selection_is_falsy_and_has_no_first_region(self) -> None:
        self.selection.clear()
        self.assertFalse(self.selection)
        with self.assertRaises(IndexError):
            self.selection[0]

    def test_regions_are_sorted_merged_and_clamped(self) -> None:
        places = ((10, 99), (0, 4), (3, 6), (6, 8))
        self.select(self.view, *(self.sublime.Region(*each) for each in places))
        self.assertEqual(self.pairs(), [(0, 6), (6, 8), (10, 15)])

    def test_a_selection_is_read_from_the_editor_each_time(self) -> None:
        self.select(self.sublime.View(self.view.id()), 3)
        self.assertEqual(self.pairs(), [(3, 3)])

    def test_a_region_is_cut_out(self) -> None:
        self.select(self.view, self.sublime.Region(0, 10))
        self.selection.subtract(self.sublime.Region(3, 5))
        self.assertEqual(self.pairs(), [(0, 3), (5, 10)])

    def test_carets_move_with_the_text(self) -> None:
        self.insert(self.view, "__", 2, 7)
        self.assertEqual(self.pairs(), [(4, 4), (11, 11)])


class Decorations(EngineTestCase):
    def setUp(self) -> None:
        super().setUp()
        self.view = self.view_with("some words here")
        self.state = self.editor.view(self.view.id())

    def test_regions_move_with_edits_and_do_not_grow_at_their_end(self) -> None:
        self.view.add_regions("key", [self.sublime.Region(5, 10)], "region.redish")
        for point in (10, 0):
            self.insert(self.view, "++", point)
        self.assertEqual(self.view.get_regions("key"), [self.sublime.Region(7, 12)])
        self.view.erase_regions("key")
        self.assertEqual(self.view.get_regions("key"), [])

    def test_regions_that_make_no_sense_are_refused(self) -> None:
        regions = [self.sublime.Region(0, 1)]
        for wrong in ({"icon": None}, {"annotations": "text"}, {"annotations": ["a", "b"]}):
            with self.assertRaises(ValueError):
                self.view.add_regions("key", regions, **wrong)

    def phantom(self, callback: Any) -> Any:
        block = self.sublime.LAYOUT_BLOCK
        return self.sublime.Phantom(self.sublime.Region(3), "a", block, callback)

    def test_a_phantom_keeps_its_place_until_its_callback_changes_or_its_set_goes(self) -> None:
        phantoms = self.sublime.PhantomSet(self.view, "key")
        found = []
        for callback in (print, print, lambda href: None):
            phantoms.update([self.phantom(callback)])
            (phantom,) = self.state.phantoms
            found.append(phantom.id)
        self.assertEqual((found[0] == found[1], found[1] == found[2]), (True, False))
        del phantoms
        gc.collect()
        self.assertEqual(self.state.phantoms, [])

    def test_a_link_in_a_phantom_calls_back_or_runs_a_command(self) -> None:
        seen = []  # type: ignore[var-annotated]
        self.editor.ui(clicks.follow, self.editor, "accept", seen.append)
        href = self.sublime.command_url("set_setting", {"setting": "a", "value": "<&>"})
        self.assertNotIn("<", href)
        self.editor.ui(clicks.follow, self.editor, html.unescape(href), None)
        self.assertEqual((seen, self.view.settings().get("a")), (["accept"], "<&>"))

    def test_a_popup_is_hidden_and_says_so(self) -> None:
        seen = []  # type: ignore[var-annotated]
        self.view.show_popup("<b>x</b>", on_hide=lambda: seen.append(1))
        self.assertTrue(self.view.is_popup_visible())
        self.view.hide_popup()
        self.settle()
        self.assertEqual((self.view.is_popup_visible(), seen), (False, [1]))

    def test_a_status_is_kept_by_key_and_erased_by_an_empty_text(self) -> None:
        self.view.set_status("key", "text")
        self.assertEqual(self.view.get_status("key"), "text")
        self.view.set_status("key", "")
        self.assertEqual(self.state.status, {})

    def test_the_viewport_scrolls_in_lines_and_columns(self) -> None:
        view = self.view_with("line\n" * 500)
        point = view.text_point(300, 2)
        view.show_at_center(point)
        self.assertTrue(view.visible_region().contains(point))
        self.assertEqual(view.layout_to_text(view.text_to_layout(point)), point)
        view.set_viewport_position((0, -50), animate=False)
        self.assertEqual(view.viewport_position(), (0.0, 0.0))


class Application(EngineTestCase):
    def test_what_is_not_offered_says_its_name(self) -> None:
        view = self.view_with("")
        for call, name in (
            (lambda: view.meta_info("shellVariables", 0), "View.meta_info"),
            (lambda: self.window.hwnd(), "Window.hwnd"),
            (lambda: self.sublime.log_fps(True), "log_fps"),
        ):
            with self.assertRaisesRegex(NotImplementedError, name):
                call()

    def test_variables_are_expanded_as_in_build_files(self) -> None:
        variables = {"folder": "/x", "file": "/x/y"}
        given = ["$folder/${file} \\$a ${no:else}", {"k": "$folder"}]
        expanded = self.sublime.expand_variables(given, variables)
        self.assertEqual(expanded, ["/x//x/y $a else", {"k": "/x"}])

    def test_the_variables_of_a_window_name_its_folder_and_file(self) -> None:
        view = self.open("some.file.py")
        found, file = self.window.extract_variables(), view.file_name()
        wanted = {"folder": self.work, "file": file, "file_base_name": "some.file"}
        self.assertEqual({**found, **wanted, "file_extension": "py"}, found)

    def test_wrappers_are_equal_by_id(self) -> None:
        view = self.view_with("")
        same = {self.sublime.View(view.id()), self.sublime.Window(self.window.id())}
        self.assertEqual({view, self.window}, same)

    def test_once_the_api_is_gone_every_call_raises(self) -> None:
        self.editor.api.shut_down()
        for call in (self.sublime.windows, lambda: self.sublime.set_timeout(lambda: None)):
            self.assertRaisesRegex(RuntimeError, "exiting", call)

    def test_project_data_gives_and_sets_the_folders(self) -> None:
        self.assertEqual(self.window.project_data(), {"folders": [{"path": self.work}]})
        self.window.set_project_data({"folders": [{"path": self.work}, {"path": self.data}]})
        self.assertEqual(self.window.folders(), [self.work, self.data])
