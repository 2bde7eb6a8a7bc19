"""Events: order, threads, isolation, and which listener applies to which view."""

from __future__ import annotations

import contextlib
import io
import threading
from typing import Any

from .engine import PATIENCE, EngineTestCase, wait_until

PLUGIN = """
def note(name, view, *more):
    LOG.append((name, view.id()) + more)

class Listener(sublime_plugin.EventListener):
    def on_new(self, view): note("new", view, threading.current_thread().name)
    def on_new_async(self, view): note("new async", view, threading.current_thread().name)
    def on_load(self, view): note("load", view, view.size())
    def on_modified(self, view): note("modified", view)
    def on_selection_modified(self, view): note("selection", view)
    def on_activated(self, view): note("activated", view)
    def on_deactivated(self, view): note("deactivated", view)
    def on_clone(self, view): note("clone", view)
    def on_pre_close(self, view): note("pre close", view, view.window() is not None)
    def on_close(self, view):
        note("close", view, view.window(), view.is_valid(), view.file_name(),
             view.settings().get("mark"))
    def on_pre_save(self, view): note("pre save", view)
    def on_post_save(self, view): note("post save", view)
    def on_new_window(self, window): LOG.append(("window", window.id()))
    def on_pre_close_window(self, window): LOG.append(("pre close window", window.id()))
    def on_query_context(self, view, key, operator, operand, match_all):
        return {"yes": True, "no": False}.get(key)

class Raises(sublime_plugin.EventListener):
    def on_new(self, view): raise RuntimeError("on purpose")

class ZLast(sublime_plugin.EventListener):
    def on_new(self, view): note("last", view)

class Marked(sublime_plugin.ViewEventListener):
    @classmethod
    def is_applicable(cls, settings): return settings.get("mark") == "own"
    def on_modified(self): note("own modified", self.view)

class Texts(sublime_plugin.TextChangeListener):
    def on_text_changed(self, changes):
        LOG.append([(c.a.pt, c.a.row, c.a.col_utf16, c.b.pt, c.len_utf16, c.len_utf8, c.str)
                    for c in changes])
"""


class EventsTestCase(EngineTestCase):
    plugin = PLUGIN

    def setUp(self) -> None:
        super().setUp()
        # One of the listeners raises.
        said = contextlib.redirect_stderr(io.StringIO())
        self.said = said.__enter__()
        self.addCleanup(said.__exit__, None, None, None)

    def told_of(self, *wanted: str, view: Any = None) -> list[Any]:
        """The names of events: of those that are wanted, and of one view."""
        told = [
            entry
            for entry in self.log
            if isinstance(entry, tuple) and entry[0] in (wanted or entry)
        ]
        return [entry[0] for entry in told if view is None or entry[1] == view.id()]

    def clone(self) -> Any:
        self.window.run_command("clone_file")
        return self.window.active_view()

    def marked(self, view: Any) -> bool:
        """Whether the listener that belongs to a view is told of a change there."""
        self.log.clear()
        self.append(view, "1")
        return "own modified" in self.told_of(view=view)


class Events(EventsTestCase):
    def test_sync_events_come_on_the_ui_thread_and_async_ones_on_the_worker(self) -> None:
        view = self.window.new_file()
        self.settle()
        self.assertIn(("new", view.id(), "UI"), self.log)
        self.assertIn(("new async", view.id(), "worker"), self.log)

    def test_a_listener_that_raises_is_printed_and_the_next_one_hears(self) -> None:
        view = self.window.new_file()
        self.assertIn("on purpose", self.said.getvalue())
        self.assertIn(("last", view.id()), self.log)

    def test_a_file_is_loaded_later_and_is_empty_until_then(self) -> None:
        gate = threading.Event()
        self.editor.queues.files.post(lambda: gate.wait(PATIENCE))
        view = self.window.open_file(self.file("a.txt", b"text"))
        self.assertEqual((view.is_loading(), view.size()), (True, 0))
        gate.set()
        self.settle()
        self.assertEqual((view.is_loading(), view.size()), (False, 4))
        self.assertIn(("load", view.id(), 4), self.log)

    def test_opened_files_are_not_new_and_open_ones_are_only_activated(self) -> None:
        view, other = self.open("a.txt", b"text"), self.open("b.txt")
        self.log.clear()
        self.assertEqual(self.window.open_file(view.file_name()), view)
        self.settle()
        # Before the one is activated, the other one is not any more.
        self.assertEqual(self.log, [("deactivated", other.id()), ("activated", view.id())])

    def test_a_panel_that_takes_the_focus_is_activated_while_the_tab_stays_active(self) -> None:
        view = self.open("a.txt")
        panel = self.window.create_output_panel("toy")
        self.window.run_command("show_panel", {"panel": "output.toy"})
        self.log.clear()
        self.window.focus_view(panel)
        self.assertIn(("activated", panel.id()), self.log)
        self.assertEqual(self.window.active_view(), view)
        self.assertEqual((panel.element(), panel.sheet_id()), ("output:output", 0))

    def test_closing_tells_before_with_a_window_and_after_without(self) -> None:
        view = self.open("a.txt")
        view.settings().set("mark", "kept")
        self.log.clear()
        self.assertTrue(view.close())
        after = ("close", view.id(), None, False, view.file_name(), "kept")
        self.assertEqual(self.log[:2], [("pre close", view.id(), True), after])

    def test_changes_of_text_are_told_late_and_together_if_the_switch_says_so(self) -> None:
        self.editor.switches.text_event_delay = (1.0, 1.0)
        view = self.window.new_file()
        view.set_scratch(True)
        self.log.clear()
        self.editor.ui(lambda: [self.append(view, letter) for letter in "ab"])
        wait_until(lambda: any(isinstance(entry, list) for entry in self.log))
        self.assertEqual(
            [[change[-1] for change in entry] for entry in self.log if isinstance(entry, list)],
            [["a", "b"]],
        )

    def test_a_panel_is_destroyed_without_close_events(self) -> None:
        self.window.create_output_panel("toy")
        self.log.clear()
        self.window.destroy_output_panel("toy")
        self.assertEqual(self.told_of("pre close", "close"), [])

    def test_a_handler_may_close_the_view_that_is_closing(self) -> None:
        view = self.open("a.txt")
        listeners = {type(each).__name__: type(each) for each in self.editor.events.listeners}
        listeners["ZLast"].on_pre_close = lambda me, closing: closing.close()
        self.log.clear()
        view.close()
        self.assertEqual(self.told_of("pre close", "close"), ["pre close", "close"])

    def test_typing_modifies_then_moves_the_selection_of_every_clone(self) -> None:
        view = self.open("a.txt", b"x")
        both = (view.id(), self.clone().id())
        self.log.clear()
        self.insert(view, "y")
        told = [entry[:2] for entry in self.log if isinstance(entry, tuple)]
        self.assertEqual(told, [(name, id) for name in ("modified", "selection") for id in both])

    def test_a_selection_moved_outside_of_a_command_is_told_once_a_turn_later(self) -> None:
        view = self.open("a.txt", b"some text")
        self.log.clear()

        def move() -> None:
            self.select(view, self.sublime.Region(2, 4))
            self.assertEqual(self.log, [])

        self.editor.ui(move)
        self.settle()
        self.assertEqual(self.log, [("selection", view.id())])

    def test_text_changes_carry_where_they_were_in_every_unit(self) -> None:
        view = self.open("a.txt", "\U0001f600ab\nc".encode("utf-8"))
        self.insert(view, "Z", self.sublime.Region(1, 3))
        self.assertIn([(1, 0, 2, 3, 2, 2, "Z")], self.log)

    def test_a_view_listener_comes_and_goes_with_the_views_settings(self) -> None:
        view = self.view_with("")
        for mark, is_told in (("own", True), ("other", False)):
            view.settings().set("mark", mark)
            self.assertEqual(self.marked(view), is_told)

    def test_a_view_listener_belongs_to_the_primary_view_until_that_one_is_closed(self) -> None:
        view = self.open("a.txt")
        view.settings().set("mark", "own")
        clone = self.clone()
        self.assertFalse(self.marked(clone))
        view.close()
        self.settle()
        self.assertTrue(self.marked(clone))

    def test_no_and_no_answer_are_the_same_to_a_context(self) -> None:
        view = self.editor.view(self.view_with("").id())
        ask = self.editor.events.context
        for key, answer in (("yes", True), ("no", False), ("unknown", False)):
            self.assertEqual(self.editor.ui(ask, view, key, 0, True, False), answer)


class Windows(EventsTestCase):
    def close_a_window(self) -> list[str]:
        self.sublime.run_command("new_window")
        window = self.sublime.active_window()
        self.assertIn(("window", window.id()), self.log)
        window.new_file()
        self.log.clear()
        window.run_command("close_window")
        self.assertFalse(window.is_valid())
        return self.told_of("pre close", "close", "pre close window")

    def test_a_new_window_is_told_and_its_closing_only_where_a_switch_says_so(self) -> None:
        self.assertEqual(self.close_a_window(), [])
        self.editor.switches.close_events = self.editor.switches.pre_close_window = True
        self.assertEqual(self.close_a_window(), ["pre close window", "pre close", "close"])


class OldBuild(EventsTestCase):
    build = 4121

    def test_builds_before_4126_tell_of_a_closing_window(self) -> None:
        self.assertEqual(self.sublime.version(), "4121")
        self.assertTrue(self.editor.switches.pre_close_window)
