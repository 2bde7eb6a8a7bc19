"""What is attached to a message by commands, and what the commands that send put into a chat."""

from __future__ import annotations

import os
from typing import Any, Generator

import sublime
from GeminiCompanion.companion.chat.attached import (
    BUILD_RESULTS,
    FILE,
    FOLDER,
    IMAGE,
    SELECTION,
    Attached,
)
from GeminiCompanion.companion.ui import application, sharing_settings
from GeminiCompanion.companion.ui.chat import attaching
from GeminiCompanion.companion.ui.prompt import sending
from GeminiCompanion.companion.ui.user_messages import PREFIX

from .reviewing import Steps
from .test_chat_composer import ComposerCase


class AttachingCase(ComposerCase):
    def setUp(self) -> None:
        super().setUp()
        self.folders(self.folder)

    def folders(self, *paths: str) -> None:
        before = self.window.project_data()
        self.addCleanup(self.window.set_project_data, before)
        self.window.set_project_data({"folders": [{"path": path} for path in paths]})

    def chat_beside(self, name: str, text: str) -> Generator[Any, Any, sublime.View]:
        """A chat in front of a file."""
        self.file = yield from self.open(name, text)
        view = yield from self.chat()
        return view

    def until_attached(self, view: sublime.View, *expected: Attached) -> Steps:
        yield from self.until_equal(lambda: self.of(view).above.attached, expected)


class Attaching(AttachingCase):
    def test_a_file_and_a_folder_are_attached_by_their_paths(self) -> Steps:
        view = yield from self.chat_beside("a.py", "x\n")
        os.mkdir(os.path.join(self.folder, "src"))
        self.run_command("attach", what="file", path="a.py")
        # Each looks at the disk in a thread of its own.
        yield lambda: self.of(view).above.attached
        self.run_command("attach", what="folder", path=os.path.join(self.folder, "src"))
        path, folder = self.file.file_name(), os.path.join(self.folder, "src")
        yield from self.until_attached(
            view, Attached(FILE, "a.py", str(path)), Attached(FOLDER, "src", folder)
        )

    def test_what_is_not_there_is_told(self) -> Steps:
        view = yield from self.chat()
        self.run_command("attach", what="file", path="gone.py")
        yield lambda: any("gone.py" in sentence for sentence in self.sentences)
        self.run_command("attach", what="key")
        yield lambda: any("'key'" in sentence for sentence in self.sentences)
        self.assertEqual(self.of(view).above.attached, ())

    def test_the_selection_of_the_file_worked_on_last_is_a_text(self) -> Steps:
        view = yield from self.chat_beside("a.py", "one\ntwo\nthree\n")
        self.window.focus_view(self.file)
        self.file.sel().clear()
        self.file.sel().add(sublime.Region(4, 14))
        self.window.focus_view(view)
        self.run_command("attach", what="selection")
        yield lambda: self.of(view).above.attached
        (found,) = self.of(view).above.attached
        self.assertEqual((found.kind, found.name), (SELECTION, "of a.py (5 lines)"))
        self.assertIn("@a.py#L2-3", found.text)
        self.assertIn("two\nthree\n", found.text)

    def test_open_files_leave_out_what_is_excluded_and_say_so(self) -> Steps:
        yield from self.open(".env", "KEY=1\n")
        view = yield from self.chat_beside("a.py", "x\n")
        self.run_command("attach", what="open_files")
        yield from self.until_attached(view, Attached(FILE, "a.py", str(self.file.file_name())))
        yield lambda: PREFIX + attaching.WITHOUT.format(1) in self.sentences

    def test_an_excluded_file_is_attached_only_after_a_question(self) -> Steps:
        view, shown = (yield from self.chat()), self.panels()
        path = self.write("server.key", "secret")
        for answer, expected in ((0, ()), (1, (Attached(FILE, "server.key", path),))):
            self.run_command("attach", what="file", path=path)
            yield lambda answer=answer: len(shown) == answer + 1
            self.assertEqual(shown[-1]["items"], [sending.NO, sending.YES])
            shown[-1]["on_select"](answer)
            yield from self.until_turn()
            yield from self.until_attached(view, *expected)

    def test_a_pause_of_sharing_stops_nothing_that_the_user_attaches(self) -> Steps:
        view = yield from self.chat_beside("a.py", "x\n")
        sharing_settings.pause_sharing(self.window)
        self.addCleanup(sharing_settings.resume_sharing, self.window)
        self.run_command("attach", what="file", path="a.py")
        yield lambda: self.of(view).above.attached

    def test_the_output_of_the_last_build_is_a_text(self) -> Steps:
        view = yield from self.chat()
        self.run_command("attach", what="build_results")
        yield lambda: PREFIX + sending.NO_OUTPUT in self.sentences
        panel = self.window.create_output_panel("exec")
        self.addCleanup(self.window.destroy_output_panel, "exec")
        panel.run_command("append", {"characters": "error: 1\nerror: 2\n"})
        self.run_command("attach", what="build_results")
        yield lambda: self.of(view).above.attached
        (found,) = self.of(view).above.attached
        self.assertEqual((found.kind, found.text), (BUILD_RESULTS, "```\nerror: 1\nerror: 2\n```"))

    def test_lists_offer_what_is_in_the_project_and_not_excluded(self) -> Steps:
        for name in ("a.py", "id_rsa", "b.png"):
            self.write(name, "")
        view, shown = (yield from self.chat()), self.panels()
        self.run_command("attach")
        self.assertEqual(shown[0]["items"], list(attaching.WHAT.values()))
        shown[0]["on_select"](0)
        yield lambda: len(shown) == 2
        self.assertEqual(shown[1]["items"], [attaching.OTHER, "a.py", "b.png"])
        shown[1]["on_select"](1)
        path = os.path.join(self.folder, "a.py")
        yield from self.until_attached(view, Attached(FILE, "a.py", path))
        self.run_command("attach", what="image")
        yield lambda: len(shown) == 3
        self.assertEqual(shown[2]["items"], [attaching.OTHER, "b.png"])

    def test_a_file_from_somewhere_else_is_asked_for_by_the_system(self) -> Steps:
        view, shown = (yield from self.chat()), self.panels()
        path = self.write("a.png", "")
        self.replace(application, "ask_for_path", lambda give, folder, is_folder: give(path))
        self.run_command("attach", what="image")
        yield lambda: shown
        shown[0]["on_select"](0)
        yield from self.until_attached(view, Attached(IMAGE, "a.png", path))

    def test_without_a_chat_one_is_opened(self) -> Steps:
        self.write("a.py", "x\n")
        self.run_command("attach", what="file", path="a.py")
        yield lambda: self.chats.tabs.in_window(self.window) is not None
        view = self.chats.tabs.in_window(self.window)
        assert view is not None
        yield lambda: self.of(view).above.attached


class Naming(AttachingCase):
    def test_a_message_that_names_an_excluded_file_is_sent_only_after_a_question(self) -> Steps:
        self.write(".env", "KEY=1")
        view, shown = (yield from self.chat()), self.panels()
        self.type(view, "read @.env")
        for number, answer in enumerate((0, 1)):
            self.assertEqual(self.service.asked, [])
            self.run_command("send")
            yield lambda number=number: len(shown) == number + 1
            shown[-1]["on_select"](answer)
            yield from self.until_turn()
        self.assertEqual(self.unsent(view), "read @.env")
        yield lambda: self.service.asked
        self.assertEqual(self.asked_last().words, "read @.env")

    def test_a_key_binding_that_names_one_asks_as_well(self) -> Steps:
        self.write(".env", "KEY=1")
        view, shown = (yield from self.chat()), self.panels()
        self.type(view, "unfinished")
        self.run_command("send", text="read @.env")
        yield lambda: shown
        self.assertEqual(self.service.asked, [])
        shown[-1]["on_select"](0)

    def test_it_is_looked_for_where_the_agent_works(self) -> Steps:
        second = os.path.join(self.folder, "second")
        os.mkdir(second)
        self.write(os.path.join("second", ".env"), "KEY=1")
        self.folders(self.folder, second)
        view, shown = (yield from self.chat()), self.panels()
        yield from self.update(view, workspace=second)
        self.type(view, "read @.env")
        self.run_command("send")
        yield lambda: shown
        self.assertEqual(shown[-1]["items"], [sending.NO, sending.YES])
        shown[-1]["on_select"](0)
        yield from self.until_turn()
        self.assertEqual(self.service.asked, [])

    def test_a_message_that_names_any_other_file_is_sent_without_one(self) -> Steps:
        self.write("a.py", "x")
        view = yield from self.chat()
        self.type(view, "read @a.py, ann@.env and @gone.key")
        self.run_command("send")
        yield lambda: self.service.asked


class SendingIntoChats(AttachingCase):
    def test_the_commands_that_send_write_into_the_composer_of_an_open_chat(self) -> Steps:
        view = yield from self.chat_beside("a b.py", "one\n")
        self.type(view, "look at")
        self.window.focus_view(self.file)
        self.run_command("send_reference")
        yield lambda: self.window.active_view() == view
        self.assertEqual(self.unsent(view), "look at @a\\ b.py#L1 ")
        yield lambda: any("The chat has the reference" in sentence for sentence in self.sentences)
        self.run_command("send_selection")
        yield from self.until_in("one", lambda: self.unsent(view))
        selected = "@a\\ b.py#L1\n```python\none\n```\n"
        self.assertEqual(self.unsent(view), "look at @a\\ b.py#L1 \n" + selected)

    def test_they_write_at_the_caret_and_undo_takes_it_away(self) -> Steps:
        view = yield from self.chat_beside("a.py", "one\n")
        self.type(view, "see  please")
        self.caret(view, self.of(view).composer.start + 4)
        self.window.focus_view(self.file)
        self.run_command("send_file")
        yield from self.until_equal(lambda: self.unsent(view), "see @a.py  please")
        view.run_command("undo")
        yield from self.until_equal(lambda: self.unsent(view), "see  please")

    def test_with_the_chat_in_front_they_are_about_the_last_file(self) -> Steps:
        view = yield from self.chat_beside("a.py", "one\n")
        self.run_command("send_file")
        yield from self.until_equal(lambda: self.unsent(view), "@a.py ")

    def test_there_is_nothing_to_send_from_a_window_with_nothing_but_a_chat(self) -> Steps:
        view = yield from self.chat()
        others = [each for each in self.window.views() if each != view]
        self.assertEqual(others, [])
        self.run_command("send_selection")
        yield lambda: PREFIX + sending.NO_TEXT in self.sentences
        self.assertEqual(self.unsent(view), "")


class BesideTerminals(AttachingCase):
    """A CLI in a terminal that is in sight in the second group, or in a panel."""

    def setUp(self) -> None:
        super().setUp()
        self.pasted: list[str] = []
        run = sublime.View.run_command

        def record(on: sublime.View, command: str, args: Any = None) -> None:
            if command == "terminus_paste_text":
                self.pasted.append(args["text"])
            else:
                run(on, command, args)

        self.replace(sublime.View, "run_command", record)
        before = self.window.layout()
        self.addCleanup(self.window.set_layout, before)
        cells = [[0, 0, 1, 1], [1, 0, 2, 1]]
        self.window.set_layout({"cols": [0, 0.5, 1], "rows": [0, 1], "cells": cells})

    def dress(self, view: sublime.View, name: str) -> sublime.View:
        view.set_name(name)
        view.set_scratch(True)
        view.settings().set("terminus_view", True)
        view.settings().set("terminus_view.args", {"cwd": self.folder})
        return view

    def terminal(self, name: str) -> sublime.View:
        view = self.dress(self.window.new_file(), name)
        self.window.set_view_index(view, 1, 0)
        return view

    def behind(self) -> Generator[Any, Any, sublime.View]:
        """A chat behind the file that it is beside."""
        view = yield from self.chat_beside("a.py", "one\n")
        self.window.set_view_index(view, 0, 0)
        self.window.set_view_index(self.file, 0, 1)
        self.window.focus_view(self.file)
        return view

    def test_a_cli_in_sight_gets_them_before_a_chat_that_is_behind(self) -> Steps:
        view = yield from self.behind()
        self.terminal("Gemini CLI")
        self.window.focus_view(self.file)
        self.run_command("send_file")
        yield lambda: self.pasted == ["@a.py "]
        self.assertEqual(self.unsent(view), "")

    def test_so_does_one_in_the_panel_that_is_shown(self) -> Steps:
        view = yield from self.behind()
        self.dress(self.window.create_output_panel("Terminus"), "Gemini CLI")
        self.addCleanup(self.window.destroy_output_panel, "Terminus")
        self.window.run_command("show_panel", {"panel": "output.Terminus"})
        self.run_command("send_file")
        yield lambda: self.pasted == ["@a.py "]
        self.assertEqual(self.unsent(view), "")

    def test_a_chat_that_is_in_sight_as_well_gets_them(self) -> Steps:
        view = yield from self.behind()
        self.window.focus_view(self.terminal("Gemini CLI"))
        self.window.focus_view(view)
        self.run_command("send_file")
        yield from self.until_equal(lambda: self.unsent(view), "@a.py ")
        self.assertEqual(self.pasted, [])

    def test_a_chat_behind_gets_them_before_a_cli_behind_and_a_shell(self) -> Steps:
        view = yield from self.behind()
        self.terminal("Gemini CLI")
        shell = self.terminal("bash")
        self.window.focus_view(shell)
        self.window.focus_view(self.file)
        self.run_command("send_file")
        yield from self.until_equal(lambda: self.unsent(view), "@a.py ")
        self.assertEqual((self.pasted, self.window.active_view()), ([], view))
