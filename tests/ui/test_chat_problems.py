"""New problems in files that the agent of a chat has edited, as its next message tells them.

A stand-in has the names and shapes that LSP has (docs/sublime.md 9.1).
"""

from __future__ import annotations

import sys
import types
from datetime import datetime, timezone
from typing import Any, Generator

from GeminiCompanion.companion.agent.turn_events import Queue, QueuedMessage
from GeminiCompanion.companion.chat.attached import PROBLEMS, outgoing_message
from GeminiCompanion.companion.chat.chat_update import READY, WORKING
from GeminiCompanion.companion.ui.prompt import diagnostics

from .adapter import text_of
from .reviewing import Steps
from .test_chat_tabs import ChatCase
from .test_edit_diagnostics import Server, Storage


class Problems(ChatCase):
    def tearDown(self) -> Generator[Any, Any, None]:
        self.run_command("resume_sharing")
        yield from super().tearDown()

    def module(self, name: str, **members: Any) -> None:
        module = types.ModuleType(name)
        module.__dict__.update(members)
        sys.modules[name] = module
        self.addCleanup(sys.modules.pop, name, None)

    def watch(self, name: str = "a.py") -> Steps:
        """A file is open that a server watches, beside a chat."""
        self.file = yield from self.open(name, "old\n")
        self.path = str(self.file.file_name())
        self.server = Server(self.path, Storage())
        manager = types.SimpleNamespace(get_sessions=lambda: iter([self.server]))
        windows = types.SimpleNamespace(lookup=lambda _window: manager)
        self.module(diagnostics.LSP, windows=windows)
        self.module(diagnostics.LSP_URLS, filename_to_uri=lambda path: "file://" + path)
        self.server.reports("old one")
        self.view = yield from self.chat()

    def edit(self, text: str = "new\n") -> Steps:
        """The agent does, and the editor sees it."""
        yield from self.update(self.view, state=WORKING)
        self.write(self.path, text)
        yield lambda: text_of(self.file) == text
        yield from self.update(self.view, state=WORKING, changed=(self.path,))
        yield from self.update(self.view, state=READY)

    def sent(self, words: str = "hello") -> Generator[Any, Any, list[str]]:
        """The lines that a message tells, below the one that says what they are."""
        count = len(self.service.asked)
        self.run_command("send", text=words)
        yield lambda: len(self.service.asked) > count
        request, answer = self.service.asked[-1]
        answer.give(None)
        yield from self.until_turn()
        self.assertEqual(request.words, words)
        texts = [attachment.text for attachment in request.attached if attachment.kind == PROBLEMS]
        return [line for text in texts for line in text.splitlines()[1:]]

    def test_what_is_new_after_an_edit_goes_along_with_the_next_message_once(self) -> Steps:
        yield from self.watch()
        yield from self.edit()
        self.server.reports("new one", "old one")
        told = yield from self.sent()
        self.assertEqual(told, [f"{self.path}, line 1, column 1: error: new one"])
        self.assertEqual((yield from self.sent()), [])

    def test_what_has_not_been_reported_by_then_goes_along_with_the_one_after(self) -> Steps:
        yield from self.watch()
        yield from self.edit()
        self.assertEqual((yield from self.sent()), [])
        self.server.reports("new one", "old one")
        self.assertEqual(len((yield from self.sent())), 1)

    def test_a_file_that_is_loaded_after_the_next_message_is_told_with_the_one_after(self) -> Steps:
        yield from self.watch()
        yield from self.update(self.view, state=WORKING)
        yield from self.update(self.view, state=READY, changed=(self.path,))
        self.assertEqual((yield from self.sent()), [])
        yield from self.update(self.view, state=READY)
        self.write(self.path, "new\n")
        yield lambda: text_of(self.file) == "new\n"
        self.server.reports("new one", "old one")
        self.assertEqual(len((yield from self.sent())), 1)

    def under_way(self) -> Steps:
        """A message is, until its answer is given."""
        count = len(self.service.asked)
        self.run_command("send", text="hello")
        yield lambda: len(self.service.asked) > count

    def test_of_a_file_that_is_edited_while_a_message_is_on_its_way_the_next_one_tells(
        self,
    ) -> Steps:
        yield from self.watch()
        other = self.write("other.py", "x\n")
        yield from self.update(self.view, state=READY, changed=(other,))
        yield from self.under_way()
        yield from self.edit()
        self.service.asked[-1][1].give(None)
        yield from self.until_turn()
        self.server.reports("new one", "old one")
        self.assertEqual(len((yield from self.sent())), 1)

    def test_of_one_that_it_tells_of_and_that_is_edited_again_the_next_one_tells_what_is_new(
        self,
    ) -> Steps:
        yield from self.watch()
        yield from self.edit("one\n")
        self.server.reports("first", "old one")
        yield from self.under_way()
        yield from self.edit("two\n")
        self.service.asked[-1][1].give(None)
        yield from self.until_turn()
        self.server.reports("first", "second", "old one")
        told = yield from self.sent()
        self.assertEqual(told, [f"{self.path}, line 2, column 1: error: second"])
        self.assertEqual((yield from self.sent()), [])

    def test_a_file_that_is_well_is_left_alone(self) -> Steps:
        yield from self.watch()
        yield from self.edit()
        self.server.reports("old one")
        self.assertEqual((yield from self.sent()), [])
        self.server.reports("old one", "of the user")
        self.assertEqual((yield from self.sent()), [])

    def test_of_a_message_that_is_taken_back_they_go_along_with_the_next(self) -> Steps:
        yield from self.watch()
        yield from self.edit()
        self.server.reports("new one", "old one")
        yield from self.sent()
        sent = outgoing_message("hello", self.service.asked[-1][0].attached)
        now = datetime.now(timezone.utc)
        message = QueuedMessage("1", sent.text, now, additions=sent.additions)
        yield from self.update(self.view, state=WORKING, queue=Queue((message,), False))
        chat = self.chats.tabs.chat_of(self.view)
        assert chat is not None
        self.chats.tabs.presses.emit((chat, "take_back 1"))
        self.service.asked[-1][1].give(message)
        yield from self.until_turn()
        self.assertEqual(len((yield from self.sent())), 1)

    def test_problems_of_the_user_are_not_told_to_a_chat_that_edits_after_another(self) -> Steps:
        for is_closed in (False, True):
            yield from self.watch()
            yield from self.edit()
            first = self.view
            if is_closed:
                first.close()
            yield from self.until_turn()
            self.server.reports("old one", "of the user")
            self.view = yield from self.chat()
            self.assertEqual((yield from self.sent()), [])
            yield from self.edit("newer\n")
            self.server.reports("of the agent", "of the user", "old one")
            told = yield from self.sent()
            self.assertEqual(told, [f"{self.path}, line 1, column 1: error: of the agent"])
            self.view.close()
            first.close()

    def test_what_the_user_did_between_two_turns_is_not_told_after_the_second(self) -> Steps:
        yield from self.watch()
        yield from self.update(self.view, state=WORKING)
        self.write(self.path, "by somebody\n")
        yield lambda: text_of(self.file) == "by somebody\n"
        yield from self.update(self.view, state=READY)
        self.server.reports("old one", "of the user")
        self.assertEqual((yield from self.sent()), [])
        yield from self.edit()
        self.server.reports("of the agent", "of the user", "old one")
        self.assertEqual(len((yield from self.sent())), 1)

    def test_an_edit_of_somebody_else_is_not_told(self) -> Steps:
        yield from self.watch()
        yield from self.update(self.view, state=WORKING)
        self.write(self.path, "new\n")
        yield lambda: text_of(self.file) == "new\n"
        self.server.reports("new one", "old one")
        self.assertEqual((yield from self.sent()), [])

    def test_nothing_is_told_where_the_user_does_not_want_it(self) -> Steps:
        yield from self.watch()
        yield from self.edit()
        self.server.reports("new one", "old one")
        self.set("diagnostics_after_edits", False)
        self.assertEqual((yield from self.sent()), [])
        self.set("diagnostics_after_edits", True)
        self.run_command("pause_sharing")
        yield from self.until_turn()
        self.assertEqual((yield from self.sent()), [])

    def test_nothing_is_told_of_a_file_that_is_excluded(self) -> Steps:
        yield from self.watch("credentials.py")
        yield from self.edit()
        self.server.reports("new one", "old one")
        self.assertEqual((yield from self.sent()), [])

    def test_nothing_is_told_of_a_tab_with_unsaved_changes(self) -> Steps:
        yield from self.watch()
        yield from self.edit()
        self.file.run_command("append", {"characters": "mine\n"})
        self.server.reports("new one", "old one")
        self.assertEqual((yield from self.sent()), [])
        self.file.set_scratch(True)
