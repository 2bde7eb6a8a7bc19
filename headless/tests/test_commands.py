"""Commands: names, arguments, edits, routing, hooks."""

from __future__ import annotations

import contextlib
import io
import threading
from typing import Any

from headless.commands import command_name

from .engine import EngineTestCase

PLUGIN = """
class ToyInsertCommand(sublime_plugin.TextCommand):
    def run(self, edit, text="x", at=0):
        LOG.append(("inserted", self.view.insert(edit, at, text), threading.current_thread().name))
        ToyInsertCommand.kept = edit

class ToyTwiceCommand(sublime_plugin.TextCommand):
    def run(self, edit):
        self.view.insert(edit, 0, "one")
        self.view.run_command("toy_insert", {"text": "two"})
        self.view.erase(edit, sublime.Region(0, 1))

class ToyForeignCommand(sublime_plugin.TextCommand):
    def run(self, edit, other=0):
        LOG.append(sublime.View(other).insert(edit, 0, "foreign"))

class ToyArgsCommand(sublime_plugin.WindowCommand):
    def run(self, **args):
        LOG.append(args)
        args.get("list", []).append("changed")

class ToyDisabledCommand(sublime_plugin.WindowCommand):
    def is_enabled(self, really=False): return really
    def run(self, **args): LOG.append("ran")

class ToyOddCommand(sublime_plugin.WindowCommand):
    def is_enabled(self): return 1
    def run(self): LOG.append("ran")

class ToyRaiseCommand(sublime_plugin.ApplicationCommand):
    def run(self): raise RuntimeError("on purpose")

class ToyNamedCommand(sublime_plugin.ApplicationCommand):
    def name(self): return "quite_other"
    def run(self): LOG.append("named")

class ToyEventCommand(sublime_plugin.WindowCommand):
    def run(self, **args): LOG.append(sorted(args))

class ToyListener(sublime_plugin.EventListener):
    def on_text_command(self, view, name, args):
        LOG.append(("text", name, args))
        if name == "toy_rewrite": return ("toy_insert", {"text": "rewritten"})
    def on_post_text_command(self, view, name, args): LOG.append(("post", name))
    def on_window_command(self, window, name, args):
        if name == "toy_gone": return ("toy_args", {"from": "hook"})

class ToyViewListener(sublime_plugin.ViewEventListener):
    def on_text_command(self, name, args): LOG.append(("view first", name))
"""


class Names(EngineTestCase):
    def test_a_class_name_becomes_a_command_name_by_the_editors_own_rule(self) -> None:
        names = {
            "ToyOpenDiffCommand": "toy_open_diff",
            "ToyMCPStatusCommand": "toy_mCPStatus",
            "FooHTMLBar": "foo_hTMLBar",
            "X": "x",
            "Do2ThingsCommand": "do2_things",
            "Command": "command",
        }
        self.assertEqual({name: command_name(name) for name in names}, names)


class Commands(EngineTestCase):
    plugin = PLUGIN

    def setUp(self) -> None:
        super().setUp()
        self.view = self.view_with("base")
        self.log.clear()

    def test_a_text_command_edits_on_the_ui_thread_and_is_over_with_run_command(self) -> None:
        self.assertNotEqual(threading.current_thread().name, "UI")
        self.view.run_command("toy_insert", {"text": "abc"})
        self.assertEqual(self.text(self.view), "abcbase")
        self.assertIn(("inserted", 3, "UI"), self.log)

    def test_an_edit_kept_after_its_command_raises_value_error(self) -> None:
        self.view.run_command("toy_insert")
        import Toy.plugin as toy  # type: ignore[import-not-found]

        with self.assertRaises(ValueError):
            self.view.insert(toy.ToyInsertCommand.kept, 0, "late")

    def test_an_edit_of_another_view_changes_nothing(self) -> None:
        other = self.view_with("other")
        self.view.run_command("toy_foreign", {"other": other.id()})
        self.assertEqual((self.text(other), 0 in self.log), ("other", True))

    def test_a_read_only_view_ignores_edits_but_not_a_forced_append(self) -> None:
        self.view.set_read_only(True)
        self.view.run_command("toy_insert")
        self.append(self.view, "no")
        self.assertEqual(self.text(self.view), "base")
        self.view.run_command("append", {"characters": "!", "force": True})
        self.assertEqual((self.text(self.view), self.view.is_read_only()), ("base!", True))

    def test_a_nested_command_joins_the_undo_step_of_its_caller(self) -> None:
        self.view.run_command("toy_twice")
        self.assertEqual(self.text(self.view), "woonebase")
        self.view.run_command("undo")
        self.assertEqual(self.text(self.view), "base")
        self.view.run_command("redo")
        self.assertEqual(self.text(self.view), "woonebase")

    def test_a_command_gets_a_copy_of_json_and_nothing_else(self) -> None:
        given = {"list": [1]}
        self.window.run_command("toy_args", given)
        self.assertEqual(given, {"list": [1]})
        for wrong in ({"x": {1}}, {"x": object()}, [1]):
            self.assertRaises(TypeError, self.window.run_command, "toy_args", wrong)

    def told(self, target: Any, *command: Any) -> str:
        """What comes on stderr when it is run; nothing comes back."""
        with contextlib.redirect_stderr(io.StringIO()) as output:
            self.assertIsNone(target.run_command(*command))
        return output.getvalue()

    def test_what_this_editor_cannot_do_is_said_once_each(self) -> None:
        unknown: list[Any] = [
            (target, "there_is_none", {}) for target in (self.window, self.view, self.sublime)
        ]
        lacking = [
            (self.view, "move", {"by": "stops"}),
            (self.view, "move_to", {"to": "brackets"}),
            (self.view, "drag_select", {"by": "columns", "event": {"x": 0, "y": 0}}),
            (self.view, "insert_snippet", {"name": "Packages/x.sublime-snippet"}),
        ]
        said = "".join(self.told(*each) for each in (unknown + lacking) * 2).splitlines()
        self.assertEqual(len(said), 1 + len(lacking), said)
        known = ('command "there_is_none"', "move by stops", "move_to brackets", "by columns")
        for each, what in zip(said, known):
            self.assertRegex(each, "^Nothing is done: .*" + what)
        self.assertEqual(self.text(self.view), "base")

    def test_a_disabled_command_does_not_run(self) -> None:
        self.window.run_command("toy_disabled")
        self.assertNotIn("ran", self.log)
        self.window.run_command("toy_disabled", {"really": True})
        self.assertIn("ran", self.log)

    def test_only_a_bool_enables_a_command(self) -> None:
        self.assertIn("must return a bool", self.told(self.window, "toy_odd"))
        self.assertNotIn("ran", self.log)

    def test_a_command_that_raises_prints_and_its_caller_sees_nothing(self) -> None:
        self.assertIn("on purpose", self.told(self.sublime, "toy_raise"))

    def test_a_command_may_name_itself_and_hears_of_an_event_where_it_wants(self) -> None:
        self.sublime.run_command("quite_other")
        self.window.run_command("toy_event", {"event": {"x": 1}, "y": 2})
        self.assertEqual(
            [entry for entry in self.log if entry in ("named", ["y"])], ["named", ["y"]]
        )

    def test_a_window_runs_text_commands_on_the_view_that_has_the_focus(self) -> None:
        panel = self.window.create_output_panel("toy")
        self.window.run_command("show_panel", {"panel": "output.toy"})
        self.window.run_command("toy_insert", {"text": "1"})
        self.window.focus_view(panel)
        self.window.run_command("toy_insert", {"text": "2"})
        self.assertEqual((self.text(self.view), self.text(panel)), ("1base", "2"))

    def test_hooks_are_asked_before_view_listeners_first_and_may_rewrite(self) -> None:
        self.view.run_command("toy_rewrite")
        asked = [("view first", "toy_rewrite"), ("text", "toy_rewrite", None)]
        self.assertEqual(self.log[:2], asked)
        self.assertEqual(self.text(self.view), "rewrittenbase")
        self.assertIn(("post", "toy_insert"), self.log)
        self.window.run_command("toy_gone")
        self.assertIn({"from": "hook"}, self.log)

    def test_the_palette_tells_no_listener_unless_a_switch_says_so(self) -> None:
        state = self.editor.window(self.window.id())
        self.log.clear()
        self.editor.ui(self.editor.commands.choose, state, "toy_rewrite")
        self.editor.ui(self.editor.commands.choose, state, "toy_insert", {"text": "1"})
        self.assertEqual(self.text(self.view), "1base")
        self.assertEqual(self.log, [("inserted", 1, "UI")])
        self.editor.switches.palette_hooks = True
        self.editor.ui(self.editor.commands.choose, state, "toy_insert", {"text": "2"})
        self.assertIn(("post", "toy_insert"), self.log)

    def test_a_command_on_a_closed_view_is_ignored(self) -> None:
        self.view.close()
        self.log.clear()
        self.view.run_command("toy_insert")
        self.assertEqual(self.log, [])

    def test_typing_letters_is_undone_as_one(self) -> None:
        self.type(self.view, *"abc")
        self.view.run_command("undo")
        self.assertEqual(self.text(self.view), "base")
        self.assertEqual(self.view.command_history(0)[0], "append")
