"""Completions: asked of listeners, and the best of them taken."""

from __future__ import annotations

import os
import sys

from .engine import EngineTestCase, wait_until

PLUGIN = """
import threading

class Listener(sublime_plugin.EventListener):
    def on_query_completions(self, view, prefix, locations):
        LOG.append((prefix, list(locations)))
        later = sublime.CompletionList()
        items = [
            sublime.CompletionItem("xlater"),
            sublime.CompletionItem("later", completion="later()"),
            sublime.CompletionItem.command_completion("run", "toy_take", {"text": "ran"}),
        ]
        threading.Timer(0.01, lambda: later.set_completions(items)).start()
        return later


class Constructed(sublime_plugin.ViewEventListener):
    def __init__(self, view):
        super().__init__(view)
        view.settings().set("constructed", view.settings().get("constructed", 0) + 1)


class ToyTakeCommand(sublime_plugin.TextCommand):
    def run(self, edit, text):
        self.view.insert(edit, self.view.sel()[0].b, text)
"""


class Completions(EngineTestCase):
    plugin = PLUGIN

    def commit(self, typed: str) -> str:
        view = self.view_with("a.")
        view.run_command("move_to", {"to": "eof"})
        self.insert(view, typed)
        self.assertFalse(view.is_auto_complete_visible())
        view.run_command("auto_complete")
        wait_until(view.is_auto_complete_visible, "the completions")
        view.run_command("commit_completion")
        self.assertFalse(view.is_auto_complete_visible())
        return self.text(view)

    def test_the_best_takes_the_place_of_the_word_at_the_caret(self) -> None:
        self.assertEqual(self.commit("lat"), "a.later()")
        self.assertEqual(self.log, [("lat", [5])])

    def test_a_command_runs_in_its_place(self) -> None:
        self.assertEqual(self.commit("ru"), "a.ran")

    def test_a_listener_whose_constructor_changes_a_setting_is_made_once(self) -> None:
        view = self.view_with("")
        self.assertEqual(view.settings().get("constructed"), 1)


class Typing(EngineTestCase):
    def test_a_new_line_begins_as_deep_as_the_one_before(self) -> None:
        view = self.view_with("\tone")
        before = view.change_count()
        self.insert(view, "\na\nb", 4)
        self.assertEqual(self.text(view), "\tone\n\ta\n\tb")
        self.assertEqual(view.change_count() - before, 4)

    def test_a_snippet_stands_as_deep_as_its_line(self) -> None:
        view = self.view_with("  ")
        view.run_command("move_to", {"to": "eof"})
        view.run_command("insert_snippet", {"contents": "{\n\t$0\n}"})
        self.assertEqual(self.text(view), "  {\n  \t\n  }")


class Written(EngineTestCase):
    def write(self, name: str, source: str) -> None:
        self.write_package("Toy", {name: self.head() + source})
        self.editor.ui(self.editor.check_packages)
        self.settle()

    def test_a_plugin_file_that_is_written_is_loaded_and_one_that_goes_is_unloaded(self) -> None:
        self.write("_more.py", "LOG.append('first')\ndef plugin_unloaded(): LOG.append('gone')\n")
        self.assertTrue(self.editor.plugins.are_edited() is False)
        self.write("_more.py", "LOG.append('second and longer')\n")
        self.assertEqual(self.log, ["first", "gone", "second and longer"])
        os.remove(os.path.join(self.data, "Packages", "Toy", "_more.py"))
        self.assertTrue(self.editor.plugins.are_edited())
        self.editor.ui(self.editor.check_packages)
        self.assertNotIn("Toy._more", sys.modules)

    def test_a_settings_file_that_was_saved_and_taken_away_is_missed_at_once(self) -> None:
        settings = self.sublime.load_settings("Toy.sublime-settings")
        settings.set("a", 1)
        self.sublime.save_settings("Toy.sublime-settings")
        settings.add_on_change("toy", lambda: self.log.append("changed"))
        os.remove(os.path.join(self.data, "Packages", "User", "Toy.sublime-settings"))
        self.editor.ui(self.editor.check_packages)
        self.settle()
        self.assertEqual(self.log, ["changed"])
        self.assertIsNone(settings.get("a"))
