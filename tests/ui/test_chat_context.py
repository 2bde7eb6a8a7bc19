"""What the agent of a chat is told of the editor: nothing without the setting, and with it what the
CLIs of the window are told."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from typing import Any, Generator

import sublime
from GeminiCompanion.companion.agent.turn_events import Queue, QueuedMessage
from GeminiCompanion.companion.chat.attached import outgoing_message
from GeminiCompanion.companion.chat.chat_update import WORKING
from GeminiCompanion.companion.chat.requests import TakeBack
from GeminiCompanion.companion.ui.settings import parse_settings

from .reviewing import Steps
from .test_chat_tabs import ChatCase


class Context(ChatCase):
    def tearDown(self) -> Generator[Any, Any, None]:
        self.run_command("resume_sharing")
        yield from super().tearDown()

    def sent(self, words: str) -> Generator[Any, Any, str]:
        """The context of a message that is sent."""
        count = len(self.service.asked)
        self.run_command("send", text=words)
        yield lambda: len(self.service.asked) > count
        request, answer = self.service.asked[-1]
        answer.give(None)
        yield from self.until_turn()
        self.assertEqual(request.words, words)
        return "\n".join(attachment.text for attachment in request.attached)

    def look_at(self, name: str, text: str) -> Generator[Any, Any, sublime.View]:
        """A file that the companion has heard of."""
        view = yield from self.open(name, text)
        view.sel().clear()
        view.sel().add(sublime.Region(0, 3))
        yield from self.until_shared(name)
        return view

    def until_shared(self, name: str) -> Steps:
        from GeminiCompanion.companion.ide.questions import ContextShared

        def is_told() -> bool:
            shared = answer[0].result() if answer[0].is_there else None
            files = shared.update.open_files if shared is not None else []
            if any(file["path"].endswith(name) and file.get("selectedText") for file in files):
                return True
            if answer[0].is_there:
                answer[0] = ask()
            return False

        def ask() -> Any:
            return self.running().companion.ask(ContextShared(self.window.id()))

        answer = [ask()]
        yield is_told

    def test_without_the_setting_nothing_is_told(self) -> Steps:
        yield from self.look_at("a.py", "one two\n")
        yield from self.chat()
        self.assertEqual((yield from self.sent("hello")), "")

    def test_with_it_the_file_in_front_is_told_with_its_selection_until_nothing_is_new(
        self,
    ) -> Steps:
        self.set("chat_context", True)
        yield from self.look_at("a.py", "one two\n")
        yield from self.chat()
        told = yield from self.sent("hello")
        self.assertIn("In front: ", told)
        self.assertIn("a.py, line 1.", told)
        self.assertIn("Selected:\n```\none\n```", told)
        self.assertEqual((yield from self.sent("again")), "")

    def test_paths_are_as_seen_from_the_folder_in_which_the_agent_works(self) -> Steps:
        self.set("chat_context", True)
        yield from self.look_at("a.py", "one two\n")
        view = yield from self.chat()
        yield from self.update(view, workspace=self.folder)
        self.assertIn("In front: a.py, line 1.", (yield from self.sent("hello")))
        yield from self.update(view, workspace=os.path.join(self.folder, "second"))
        path = os.path.join(self.folder, "a.py")
        self.assertIn(f"In front: {path}, line 1.", (yield from self.sent("again")))

    def test_what_went_with_a_message_that_is_taken_back_is_told_with_the_next(self) -> Steps:
        yield from self.told_again("take_back 1")

    def test_what_went_with_a_message_that_is_changed_is_told_with_the_next(self) -> Steps:
        yield from self.told_again("change 1")

    def told_again(self, link: str) -> Steps:
        self.set("chat_context", True)
        yield from self.look_at("a.py", "one two\n")
        view = yield from self.chat()
        told = yield from self.sent("hello")
        sent = outgoing_message("hello", self.service.asked[-1][0].attached)
        now = datetime.now(timezone.utc)
        message = QueuedMessage("1", sent.text, now, additions=sent.additions)
        yield from self.update(view, state=WORKING, queue=Queue((message,), False))
        chat = self.chats.tabs.chat_of(view)
        assert chat is not None
        self.chats.tabs.presses.emit((chat, link))
        yield lambda: isinstance(self.service.asked[-1][0], TakeBack)
        self.service.asked[-1][1].give(message)
        yield from self.until_turn()
        self.assertEqual((yield from self.sent("again")), told)
        self.assertEqual((yield from self.sent("once more")), "")

    def test_neither_excluded_files_are_told_nor_any_during_a_pause(self) -> Steps:
        self.set("chat_context", True)
        yield from self.look_at("a.py", "one two\n")
        yield from self.open(".env", "KEY=1\n")
        yield from self.chat()
        told = yield from self.sent("hello")
        self.assertIn("a.py", told)
        self.assertNotIn(".env", told)
        self.run_command("pause_sharing")
        yield from self.until_turn()
        self.assertEqual((yield from self.sent("again")), "")

    def test_a_project_can_switch_it_off_but_not_on(self) -> None:
        for user, project, expected in ((True, False, False), (False, True, False)):
            with self.subTest(user=user, project=project):
                found, problems = parse_settings({"chat_context": user}, {"chat_context": project})
                self.assertEqual((found.chat_context, problems), (expected, ()))

    def test_a_project_cannot_call_itself_trusted(self) -> None:
        found, problems = parse_settings({}, {"trusted_folders": ["/w"]})
        self.assertEqual(found.trusted_folders, ())
        self.assertEqual(len(problems), 1)
