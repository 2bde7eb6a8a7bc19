"""The chat in the headless editor with a CLI behind it: from a message to a restart of the
editor."""

from __future__ import annotations

import os

from chat_case import EditorChatCase
from model_server import call
from served import until

tearDownModule = EditorChatCase.end


class InTheEditor(EditorChatCase):
    is_shared = True

    def test_a_message_is_answered_and_what_is_typed_meanwhile_stays(self) -> None:
        self.model.will_play("hello", [call("list_directory", dir_path=".")], ["Hi **there**."])
        self.new_chat()
        self.say("hello")
        self.until_shown("▎ hello", "Hi **there**.")
        until(lambda: self.composer() == "")
        self.editor.do("type_in_chat", "next")
        self.assertEqual(self.composer(), "next")

    def test_a_chat_goes_on_after_a_crash_of_the_editor_with_what_was_typed_last(self) -> None:
        self.model.will_play("hello", ["Hi."])
        self.new_chat()
        self.say("hello")
        before = self.until_shown("▎ hello", "Hi.")
        until(lambda: self.composer() == "")
        self.editor.do("type_in_chat", "not yet")
        self.editor.do("keep_session")
        self.editor.do("type_in_chat", "!")
        until(lambda: "not yet!" in self.drafts())
        self.editor.kill()
        self.start()
        self.editor.do("restore_session")
        until(lambda: self.composer() == "not yet!")
        self.assertIn("Hi.", before)
        self.until_shown("▎ hello", "Hi.")
        self.model.will_play("not yet!", ["Now."])
        self.editor.do("command", "gemini_companion_send")
        self.until_shown("▎ hello", "Hi.", "▎ not yet!", "Now.")

    def test_an_upgrade_of_the_package_leaves_the_chat_as_it_is_and_it_goes_on(self) -> None:
        self.model.will_play("hello", ["Hi."])
        self.new_chat()
        self.say("hello")
        self.until_shown("▎ hello", "Hi.")
        until(lambda: self.composer() == "")
        self.editor.do("type_in_chat", "go on")
        self.editor.do("reload_package")
        self.assertEqual(self.composer(), "go on")
        self.model.will_play("go on", ["On."])
        self.editor.do("command", "gemini_companion_send")
        self.until_shown("▎ hello", "Hi.", "▎ go on", "On.")
        until(lambda: self.composer() == "")

    def test_a_question_is_answered_by_its_link(self) -> None:
        self.model.will_play(
            "write", [call("write_file", file_path="a.txt", content="one\n")], ["Written."]
        )
        self.new_chat()
        self.say("write")
        self.until_shown("[Allow]")

        def is_allowed() -> bool:
            """Like a person who presses again: what is in sight since just now is not decided."""
            text = self.editor.do("chat")
            if "[Allow]" in text:
                self.editor.do("follow_in_chat", "[Allow]")
            return "Written." in text

        until(is_allowed)
        with open(os.path.join(self.folder, "a.txt")) as file:
            self.assertEqual(file.read(), "one\n")
