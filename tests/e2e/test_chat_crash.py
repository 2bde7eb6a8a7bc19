"""Chats in an editor that is killed, upgraded or badly set up in the middle of something."""

from __future__ import annotations

import json
import os

from chat_case import EditorChatCase
from model_server import Gate, call
from served import until

# What a turn says that ended with its editor.
CUT = "This turn was cut off"


class Crashes(EditorChatCase):
    def test_what_waits_and_what_is_unsent_is_there_after_a_kill_while_the_agent_asks(self) -> None:
        path = os.path.join(self.folder, "notes.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write("mine\n")
        self.model.will_play("write", [call("write_file", file_path="a.txt", content="one\n")])
        self.new_chat()
        self.say("write")
        self.until_shown("[Allow]")
        self.say("later")
        until(lambda: "later" in self.editor.do("chat_above"))
        until(lambda: self.composer() == "")
        self.editor.do("command", "gemini_companion_attach", {"what": "file", "path": path})
        self.editor.do("type_in_chat", "unsent")
        until(lambda: "unsent" in self.drafts() and "notes.txt" in self.drafts())
        self.editor.do("keep_session")
        self.again()
        until(lambda: self.composer() == "unsent")
        self.assertNotIn("[Allow]", self.until_shown("▎ write", CUT, "[Try again]"))
        until(lambda: "later" in self.editor.do("chat_above"))
        until(lambda: "notes.txt" in self.editor.do("chat_above"))
        self.assertFalse(os.path.exists(os.path.join(self.folder, "a.txt")))
        self.model.will_play("unsent", ["Now."])
        self.model.will_play("later", ["And later."])
        self.editor.do("command", "gemini_companion_send")
        self.until_shown("▎ unsent", "with notes.txt", "Now.", "▎ later", "And later.")

    def test_an_upgrade_in_the_middle_of_a_turn_ends_it_with_a_word_and_keeps_what_is_written(
        self,
    ) -> None:
        gate = Gate()
        self.addCleanup(gate.set)
        self.model.will_play("hello", ["one ", gate, "never"])
        self.new_chat()
        self.say("hello")
        self.until_shown("▎ hello", "one")
        until(lambda: self.composer() == "")
        self.editor.do("type_in_chat", "go on")
        self.editor.do("reload_package")
        self.assertEqual(self.composer(), "go on")
        self.until_shown("one", "Stopped")
        self.model.will_play("go on", ["On."])
        self.editor.do("command", "gemini_companion_send")
        self.assertNotIn("never", self.until_shown("▎ go on", "On."))
        until(lambda: self.composer() == "")

    def test_agents_that_are_badly_set_up_are_told_and_the_others_can_be_talked_to(self) -> None:
        path = os.path.join(self.data, "Packages", "User", "GeminiCompanion.sublime-settings")
        with open(path, encoding="utf-8") as file:
            good = json.load(file)
        for number, bad in enumerate(([1, 2], {"x": 5, "y": {"command": [1]}}, "nonsense")):
            with self.subTest(bad):
                with open(path, "w", encoding="utf-8") as file:
                    json.dump({**good, "agents": bad, "usual_agent": [number]}, file)
                self.again(restored=False)
                self.model.will_play(f"hello {number}", ["Hi."])
                self.new_chat()
                self.say(f"hello {number}")
                self.until_shown(f"▎ hello {number}", "Hi.")
                for setting in ("agents", "usual_agent"):
                    self.assertIn(f'"{setting}"', self.editor.do("log"))

    def again(self, restored: bool = True) -> None:
        """Kill the editor, and start it again."""
        self.editor.kill()
        self.start()
        if restored:
            self.editor.do("restore_session")
