"""Registration, load order, unloading and reloading, with all their traps."""

from __future__ import annotations

import contextlib
import io
import sys
from typing import Any

from .engine import EngineTestCase

ORDER = """
def plugin_loaded(): LOG.append("loaded")
def plugin_unloaded(): LOG.append("unloaded")

class Listener(sublime_plugin.EventListener):
    def on_init(self, views): LOG.append(("init", len(views)))
    def on_activated(self, view): LOG.append("activated")
    def on_activated_async(self, view): LOG.append("activated async")

class Own(sublime_plugin.ViewEventListener):
    def __init__(self, view):
        super().__init__(view)
        LOG.append("own made")
    def on_init(self): LOG.append("own init")
"""


class LoadOrder(EngineTestCase):
    plugin = ORDER

    def test_plugin_loaded_comes_first_then_views_then_init_then_the_active_view(self) -> None:
        self.view_with("")
        self.log.clear()
        self.editor.ui(self.editor.plugins.reload, self.editor.packages.by_name["Toy"])
        self.settle()
        order = ["unloaded", "loaded", "own made", ("init", 1), "own init", "activated"]
        self.assertEqual(self.log, [*order, "activated async"])

    def test_unloading_leaves_submodules_imported_and_takes_the_root_away(self) -> None:
        self.write_package("Toy", {"deep/__init__.py": ""})
        __import__("Toy.deep")
        self.editor.ui(self.editor.plugins.unload, self.editor.packages.by_name["Toy"])
        self.assertNotIn("Toy.plugin", sys.modules)
        self.assertIn("Toy.deep", sys.modules)
        self.log.clear()
        self.window.new_file()
        self.settle()
        self.assertEqual(self.log, [])

    def test_saving_the_root_file_runs_it_again_in_the_dictionary_it_has(self) -> None:
        module = sys.modules["Toy.plugin"]
        self.editor.ui(self.editor.plugins.resave, self.editor.packages.by_name["Toy"], "plugin")
        self.assertIs(sys.modules["Toy.plugin"], module)
        names = [type(each).__name__ for each in self.editor.events.listeners]
        self.assertEqual(names.count("Listener"), 1)


class Registration(EngineTestCase):
    def loading(self, name: str, source: str, **others: str) -> str:
        """Load a package with this root file; what came on stderr."""
        files = {"plugin.py": self.head() + source}
        files.update({key + ".py": self.head() + text for key, text in others.items()})
        self.write_package(name, files)
        package: Any = self.editor.packages.at(self.data + "/Packages/" + name)
        self.editor.packages.add(package)
        with contextlib.redirect_stderr(io.StringIO()) as output:
            self.editor.ui(self.editor.plugins.load, package)
            self.settle()
        return output.getvalue()

    def test_an_inherited_handler_aborts_the_module_after_the_classes_before_it(self) -> None:
        errors = self.loading(
            "Bad",
            """
class Mixin:
    def on_load(self, view): pass
class EarlyCommand(sublime_plugin.WindowCommand):
    def run(self): LOG.append("early")
class FailListener(Mixin, sublime_plugin.EventListener): pass
class LateCommand(sublime_plugin.WindowCommand):
    def run(self): LOG.append("late")
def plugin_loaded(): LOG.append("loaded")
""",
        )
        self.assertIn("KeyError: 'on_load'", errors)
        self.window.run_command("early")
        self.window.run_command("late")
        self.assertEqual(self.log, ["early"])

    def test_an_error_in_a_listeners_constructor_aborts_the_module_but_for_an_attribute(
        self,
    ) -> None:
        source = """
class Listener(sublime_plugin.EventListener):
    def __init__(self): {wrong}
    def on_new(self, view): LOG.append("new")
def plugin_loaded(): LOG.append("loaded")
"""
        errors = self.loading("Loud", source.format(wrong="raise ValueError('on purpose')"))
        self.assertIn("on purpose", errors)
        self.assertEqual(self.log, [])
        # Such a listener is lost without a word.
        errors = self.loading("Quiet", source.format(wrong="self.nothing_here"))
        self.window.new_file()
        self.assertEqual((errors, self.log), ("", ["loaded"]))

    def test_a_plugin_that_does_not_import_stops_no_other(self) -> None:
        errors = self.loading(
            "Broken",
            "import nowhere_at_all\n",
            second='def plugin_loaded(): LOG.append("second")\n',
        )
        self.assertIn("nowhere_at_all", errors)
        self.assertEqual(self.log, ["second"])

    def test_a_listener_imported_into_two_root_modules_hears_twice(self) -> None:
        self.loading(
            "Twice",
            """
class Listener(sublime_plugin.EventListener):
    def on_new(self, view): LOG.append("new")
""",
            second="from .plugin import Listener\n",
        )
        self.window.new_file()
        self.assertEqual(self.log, ["new", "new"])

    def test_an_underscore_hides_a_class_and_all_alone_decides_where_it_stands(self) -> None:
        self.loading(
            "Hidden",
            """
class _One(sublime_plugin.EventListener):
    def on_new(self, view): LOG.append("one")
""",
            second="""
__all__ = ["_Two"]
class _Two(sublime_plugin.EventListener):
    def on_new(self, view): LOG.append("two")
class Three(sublime_plugin.EventListener):
    def on_new(self, view): LOG.append("three")
""",
        )
        self.window.new_file()
        self.assertEqual(self.log, ["two"])

    def test_a_module_whose_name_begins_with_an_underscore_is_a_plugin_too(self) -> None:
        self.loading("Under", "", _first='LOG.append("loaded")\n')
        self.assertEqual(self.log, ["loaded"])

    def test_a_listener_of_a_submodule_gets_no_on_init_after_a_later_load(self) -> None:
        source = """
class Inner(sublime_plugin.EventListener):
    def on_init(self, views): LOG.append("inner init")
    def on_new(self, view): LOG.append("inner new")
"""
        files = {"inner/__init__.py": "", "inner/listeners.py": self.head() + source}
        self.write_package("Deep", files)
        self.loading("Deep", "from .inner.listeners import Inner\n")
        self.window.new_file()
        self.assertEqual(self.log, ["inner new"])
