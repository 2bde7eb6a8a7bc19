"""Clicks on links in phantoms, annotations and popups."""

from __future__ import annotations

from typing import Any

from headless import clicks

from .engine import TWO_GROUPS, EngineTestCase

PLUGIN = """
class ToyActiveCommand(sublime_plugin.WindowCommand):
    def run(self, **args):
        LOG.append((self.window.active_view().name(), args))


class ToyViewCommand(sublime_plugin.TextCommand):
    def run(self, edit):
        LOG.append(self.view.name())
"""


class Clicks(EngineTestCase):
    plugin = PLUGIN

    def setUp(self) -> None:
        super().setUp()
        self.first, self.second = self.named("first"), self.named("second")
        self.window.set_layout(TWO_GROUPS)
        self.window.set_view_index(self.second, 1, 0)
        self.window.focus_view(self.first)

    def named(self, name: str) -> Any:
        view = self.view_with("some words here")
        view.set_name(name)
        return view

    def state(self, view: Any) -> Any:
        return self.editor.view(view.id())

    def phantom(self, view: Any, content: str, on_navigate: Any = None, at: int = 0) -> None:
        view.add_phantom("key", self.sublime.Region(at), content, 1, on_navigate)

    def click(self, view: Any, text: str, number: int = 0) -> None:
        clicks.click(self.editor, self.state(view), text, number)

    def test_a_click_runs_a_command_on_whatever_has_the_keyboard_and_moves_nothing(self) -> None:
        url = self.sublime.command_url("toy_active", {"id": 'a"<b>'})
        self.phantom(self.second, f'<a href="{url}">Go</a> <a href="subl:toy_view">View</a>')
        self.click(self.second, "Go")
        self.click(self.second, "View")
        self.assertEqual(self.log[-2:], [("first", {"id": 'a"<b>'}), "first"])
        self.assertEqual(self.window.active_view(), self.first)
        self.assertIs(self.editor.focused, self.state(self.first))

    def test_a_click_in_another_window_runs_the_command_in_the_active_one(self) -> None:
        self.phantom(self.first, '<a href="subl:toy_active">Go</a>')
        self.sublime.run_command("new_window")
        self.sublime.active_window().active_view().set_name("other window")
        self.click(self.first, "Go")
        self.assertEqual(self.log[-1], ("other window", {}))

    def test_other_links_call_back_on_the_ui_thread_with_the_reference(self) -> None:
        seen: list[Any] = []
        ui = self.editor.queues.ui
        content = "<a href='a&amp;b'>A  <b>b</b></a>"
        self.phantom(self.second, content, lambda h: seen.append((h, ui.is_here())))
        self.click(self.second, "A b")
        self.assertEqual(seen, [("a&b", True)])

    def test_links_are_found_in_phantoms_annotations_and_popups_from_top_to_bottom(self) -> None:
        view = self.first
        self.phantom(view, "<a href='p'>Keep</a>", at=9)
        view.add_regions(
            "marks",
            [self.sublime.Region(12, 15), self.sublime.Region(2, 4)],
            annotations=["<a href='x'>Keep</a>", "<a href='y'>Drop</a>"],
            on_navigate=self.log.append,
        )
        view.show_popup("<a href='z'>More</a>", location=3)
        links = [
            ("Drop", "y", "annotation", 2),
            ("Keep", "p", "phantom", 9),
            ("Keep", "x", "annotation", 12),
            ("More", "z", "popup", 3),
        ]
        found = clicks.links(self.state(view))
        self.assertEqual([(link.text, link.href, link.where, link.point) for link in found], links)
        self.click(view, "Keep", 1)
        self.assertEqual(self.log[-1], "x")
        # One that is not there is refused with those that are.
        self.assertRaisesRegex(LookupError, "'Gone'.*'Keep'", self.click, view, "Gone")

    def test_annotations_closed_by_hand_say_so_and_leave_their_regions(self) -> None:
        self.first.add_regions(
            "marks",
            [self.sublime.Region(2, 4)],
            annotations=["<b>note</b>"],
            on_close=lambda: self.log.append("closed"),
        )
        clicks.dismiss(self.editor, self.state(self.first), "marks")
        self.assertEqual(self.log[-1], "closed")
        self.assertEqual(self.state(self.first).marks["marks"].annotations, [])
        self.assertEqual(self.first.get_regions("marks"), [self.sublime.Region(2, 4)])
        with self.assertRaisesRegex(LookupError, "marks"):
            clicks.dismiss(self.editor, self.state(self.first), "marks")
