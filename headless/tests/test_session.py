"""Hot exit: what comes back after a restart and what does not."""

from __future__ import annotations

import os

from headless import session

from .engine import TWO_GROUPS, EngineTestCase

PLUGIN = """
class Listener(sublime_plugin.EventListener):
    def on_init(self, views): LOG.append(("init", len(views)))
    def on_load(self, view): LOG.append("load")
    def on_exit(self):
        try: sublime.windows()
        except RuntimeError: LOG.append("exit without API")
    def on_pre_close(self, view): LOG.append("pre close")
def plugin_unloaded(): LOG.append("unloaded")
"""


class Sessions(EngineTestCase):
    plugin = PLUGIN

    def restart(self) -> None:
        """Quit as a user does and start again on the same data."""
        self.editor.ui(session.save, self.editor)
        self.editor.ui(self.editor.quit)
        old = self.editor
        self.stop()
        self.log[:] = [entry for entry in self.log if entry != "unloaded"]
        self.assertIsNot(session.path(old), "")
        self.start()

    def start(self) -> None:
        super().start()
        # The folder given on the command line comes on top of what was restored.
        if os.path.exists(session.path(self.editor)):
            while self.editor.windows:
                self.editor.ui(self.editor.close_window, self.editor.windows[0])
            self.assertTrue(self.editor.ui(session.restore, self.editor))
            self.window = self.sublime.active_window()

    def test_scratch_views_come_back_with_text_and_settings_but_without_phantoms(self) -> None:
        view = self.view_with("proposal")
        view.set_name("Tab")
        view.set_read_only(True)
        view.settings().set("nonce", "abc")
        view.add_regions("gone", [self.sublime.Region(0, 1)])
        view.add_regions("kept", [self.sublime.Region(1, 2)], flags=self.sublime.PERSISTENT)
        view.add_phantom("key", self.sublime.Region(0), "html", self.sublime.LAYOUT_BLOCK)
        self.select(view, self.sublime.Region(1, 3))
        self.restart()
        back = self.window.views()[0]
        self.assertEqual((self.text(back), back.name()), ("proposal", "Tab"))
        self.assertTrue(back.is_scratch() and back.is_read_only())
        self.assertEqual((back.settings().get("nonce"), back.sel()[0].to_tuple()), ("abc", (1, 3)))
        self.assertEqual((back.get_regions("gone"), len(back.get_regions("kept"))), ([], 1))
        self.assertEqual(self.editor.view(back.id()).phantoms, [])
        self.assertNotIn("load", self.log)

    def test_unsaved_text_layout_and_focus_come_back(self) -> None:
        self.window.set_layout(TWO_GROUPS)
        first = self.open("a.txt", b"disk")
        self.append(first, "!")
        self.window.focus_group(1)
        self.open("b.txt", b"other")
        self.window.focus_group(0)
        layout, folders = self.window.layout(), self.window.folders()
        self.restart()
        self.assertEqual((self.window.layout(), self.window.folders()), (layout, folders))
        left, right = (self.window.active_view_in_group(group) for group in (0, 1))
        self.assertEqual((self.text(left), left.is_dirty()), ("disk!", True))
        self.assertEqual((self.text(right), right.is_dirty()), ("other", False))
        self.assertEqual(self.window.active_view(), left)

    def test_quitting_calls_on_exit_without_the_api_and_neither_unloads_nor_closes(self) -> None:
        self.view_with("x")
        self.log.clear()
        self.editor.ui(self.editor.quit)
        self.assertEqual(self.log, ["exit without API"])

    def test_a_broken_session_file_starts_an_empty_editor(self) -> None:
        os.makedirs(os.path.dirname(session.path(self.editor)), exist_ok=True)
        with open(session.path(self.editor), "w", encoding="utf-8") as file:
            file.write("{")
        self.assertFalse(self.editor.ui(session.restore, self.editor))
        os.remove(session.path(self.editor))
