"""What the genuine modules have beyond the published stubs, and packages use."""

from __future__ import annotations

import importlib
import sys
import unittest
from typing import Any

from headless import results

from .engine import EngineTestCase

PLUGIN = """
class First(sublime_plugin.EventListener):
    def on_modified(self, view):
        LOG.append("first")


class Second(sublime_plugin.ViewEventListener):
    def on_modified(self):
        LOG.append("second")


class ToyOwnRunCommand(sublime_plugin.TextCommand):
    def run_(self, edit_token, args):
        args = self.filter_args(args)
        LOG.append((edit_token != 0, args))
        edit = self.view.begin_edit(edit_token, self.name(), args)
        try:
            self.view.insert(edit, 0, "own")
        finally:
            self.view.end_edit(edit)


class ToyWithoutEditCommand(sublime_plugin.TextCommand):
    def run_(self, edit_token, args):
        LOG.append("ran")


class ToyInWindowCommand(sublime_plugin.WindowCommand):
    def run_(self, edit_token, args):
        view = self.window.new_file()
        edit = view.begin_edit(edit_token, "")
        view.insert(edit, 0, "from a window")
        view.end_edit(edit)


class ToyAroundCommand(sublime_plugin.TextCommand):
    def run_(self, edit_token, args):
        LOG.append("before")
        super().run_(edit_token, args)
        LOG.append("after")

    def run(self, edit, text="x"):
        self.view.insert(edit, 0, text)
"""


class Genuine(EngineTestCase):
    plugin = PLUGIN

    def setUp(self) -> None:
        super().setUp()
        self.view = self.view_with("base")
        self.module: Any = self.editor.api.plugin
        self.log.clear()


class Commands(Genuine):
    def test_an_overridden_run_gets_a_token_for_its_edit(self) -> None:
        self.view.run_command("toy_own_run", {"event": {"x": 1}, "y": 2})
        self.assertIn((True, {"y": 2}), self.log)
        self.assertEqual(self.text(self.view), "ownbase")
        self.assertEqual(self.view.command_history(0)[0], "toy_own_run")
        self.view.run_command("undo")
        self.assertEqual(self.text(self.view), "base")

    def test_a_command_that_begins_no_edit_is_no_step_of_undo(self) -> None:
        self.view.run_command("toy_without_edit")
        self.assertEqual(self.log, ["ran"])
        self.assertEqual(self.view.command_history(0)[0], "append")

    def test_a_window_commands_token_edits_any_view(self) -> None:
        self.window.run_command("toy_in_window")
        view = self.window.active_view()
        self.assertEqual(self.text(view), "from a window")
        self.assertFalse(view.is_in_edit())
        view.run_command("undo")
        self.assertEqual(self.text(view), "")

    def test_an_overridden_run_may_call_the_genuine_one(self) -> None:
        self.view.run_command("toy_around", {"text": "new"})
        self.assertEqual([self.log[0], self.log[-1]], ["before", "after"])
        self.assertEqual(self.text(self.view), "newbase")

    def test_a_token_leads_nowhere_once_its_command_is_over(self) -> None:
        edit = self.view.begin_edit(123456, "x")
        self.assertEqual(self.view.insert(edit, 0, "never"), 0)
        self.view.end_edit(edit)
        self.assertEqual(self.text(self.view), "base")


class Registries(Genuine):
    def test_the_listeners_of_a_view_are_found_by_its_id(self) -> None:
        found = self.module.view_event_listeners[self.view.id()]
        self.assertEqual([type(each).__name__ for each in found], ["Second"])

    def test_the_listeners_of_an_event_are_a_list_that_may_be_changed(self) -> None:
        callbacks = self.module.all_callbacks
        self.assertEqual([type(each).__name__ for each in callbacks["on_modified"]], ["First"])
        self.assertEqual(callbacks["on_clone"], [])

        class Other:
            def on_modified(other, view: Any) -> None:  # noqa: N805
                self.log.append("other")

        callbacks["on_modified"][:] = [Other()]
        self.insert(self.view, "a")
        self.assertEqual(self.log, ["other", "second"])

    def test_a_module_is_unloaded_and_loaded_by_hand(self) -> None:
        module = sys.modules["Toy.plugin"]
        self.module.unload_module(module)
        self.insert(self.view, "a")
        self.view.run_command("toy_own_run")
        self.assertEqual(self.log, [])
        self.assertEqual(self.module.all_callbacks["on_modified"], [])
        self.module.load_module(module)
        self.insert(self.view, "a")
        self.assertEqual(self.log, ["first", "second"])

    def test_a_plugin_is_reloaded_by_name(self) -> None:
        self.module.reload_plugin("Toy.plugin")
        self.insert(self.view, "a")
        self.assertEqual(self.log, ["first", "second"])
        gone = self.module.reload_plugin, "Gone.plugin"
        self.assertRaisesRegex(ValueError, "Gone.plugin", *gone)
        missing = getattr, self.module, "quite_other"
        self.assertRaisesRegex(AttributeError, "quite_other", *missing)


class BelowTheApi(EngineTestCase):
    def test_functions_take_and_give_ids(self) -> None:
        api: Any = importlib.import_module("sublime_api")
        view = self.view_with("one\ntwo")
        self.assertEqual(api.active_window(), self.window.id())
        self.assertEqual(api.window_active_view(self.window.id()), view.id())
        self.assertEqual(api.window_views(self.window.id()), [view.id()])
        self.assertEqual(api.view_size(view.id()), 7)
        self.assertEqual(api.view_rowcol(view.id(), 5), (1, 1))
        api.settings_set(view.settings().settings_id, "a", 1)
        self.assertEqual(view.settings().get("a"), 1)

    def test_what_is_not_offered_says_its_name_when_it_is_called(self) -> None:
        from sublime_api import view_quite_unknown  # type: ignore[import-not-found]

        with self.assertRaisesRegex(NotImplementedError, "view_quite_unknown"):
            view_quite_unknown(1)


class Results(EngineTestCase):
    def test_the_places_in_an_output_panel_are_found(self) -> None:
        panel = self.window.create_output_panel("exec")
        panel.settings().set("result_file_regex", r"^(.+?):(\d+):(\d+): (.*)$")
        panel.settings().set("result_base_dir", "/base")
        self.append(panel, "make\na.c:3:7: wrong\n/b.c:1:2: worse\n")
        self.assertEqual(panel.find_all_results(), [("/base/a.c", 3, 7), ("/b.c", 1, 2)])
        found = panel.find_all_results_with_text()
        self.assertEqual([text for *_place, text in found], ["wrong", "worse"])


class Places(unittest.TestCase):
    def test_lines_may_stand_below_the_file_they_are_of(self) -> None:
        text = "a.py:\n  4: one\n  9:2: two\nb.py:\n  1: three\n"
        found = list(results.found(text, r"^(\S.*):$", r"^ +(\d+):(?:(\d+):)? (.*)$", ""))
        places = [("a.py", 4, 0, "one"), ("a.py", 9, 2, "two"), ("b.py", 1, 0, "three")]
        self.assertEqual(found, places)
        # Without an expression nothing is a place.
        self.assertEqual(list(results.found("a:1", "", "", "")), [])
