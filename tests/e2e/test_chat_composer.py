"""The end of a chat in the headless editor with a CLI behind it: attachments, the queue, keys."""

from __future__ import annotations

import glob
import os

from chat_case import EditorChatCase
from model_server import Gate
from served import until

PNG = b"\x89PNG\r\n\x1a\n" + bytes(64)


tearDownModule = EditorChatCase.end


class Composing(EditorChatCase):
    is_shared = True

    def write(self, name: str, content: bytes) -> None:
        with open(os.path.join(self.folder, name), "wb") as file:
            file.write(content)

    def above(self, *words: str) -> None:
        """Until these are above the composer."""
        until(lambda: all(word in self.editor.do("chat_above") for word in words))

    def begun(self) -> set[str]:
        """The files of the conversations that there are."""
        pattern = os.path.join(self.root, "**", "conversations", "*.jsonl")
        return {*glob.glob(pattern, recursive=True)}

    def test_what_is_attached_is_there_after_a_crash_and_goes_with_the_message(self) -> None:
        self.write("a b.py", b"one\n")
        self.write("a.png", PNG)
        before = self.begun()
        self.new_chat()
        for what, path in (("file", "a b.py"), ("image", "a.png")):
            arguments = {"what": what, "path": path}
            self.editor.do("command", "gemini_companion_attach", arguments)
        self.above("file, a b.py", "image, a.png")
        self.editor.do("type_in_chat", "look at @a\\ b.py#L1")
        self.editor.do("keep_session")
        until(lambda: "a.png" in self.drafts() and "#L1" in self.drafts())
        # The agent has begun the conversation, which nobody will have said anything in.
        until(lambda: self.begun() - before)
        self.editor.kill()
        self.start()
        self.editor.do("restore_session")
        self.above("file, a b.py", "image, a.png")
        self.model.will_play("look at", ["I see."])
        self.editor.do("command", "gemini_companion_send")
        self.until_shown("with a b.py, a.png", "I see.")
        until(lambda: self.composer() == "" and not self.editor.do("chat_above"))

    def test_what_waits_is_there_after_a_crash_and_is_changed_and_sent(self) -> None:
        gate = Gate()
        self.addCleanup(gate.set)
        self.model.will_play("begin", ["one ", gate, "two"])
        self.new_chat()
        self.say("begin")
        self.until_shown("one")
        for words in ("second", "third"):
            until(lambda: self.composer() == "")
            self.say(words)
            self.above(f"Waits: {words}")
        # The engine had it on the disk before the composer let it go.
        until(lambda: self.composer() == "" and "third" not in self.drafts())
        self.editor.do("keep_session")
        self.editor.kill()
        gate.set()
        self.start()
        self.editor.do("restore_session")
        self.above("Waits until you send it: second", "third")
        self.editor.do("press_in_chat", "change", 1)
        until(lambda: self.composer() == "third")
        self.model.will_play("second", ["The second it is."])
        self.editor.do("press_in_chat", "send now")
        self.until_shown("▎ second", "The second it is.")
        self.model.will_play("third!", ["The third it is."])
        self.editor.do("type_in_chat", "!")
        self.editor.do("command", "gemini_companion_send")
        self.until_shown("▎ third!", "The third it is.")
        until(lambda: self.composer() == "")

    def test_what_was_said_is_brought_back(self) -> None:
        self.model.will_play("hello", ["Hi."])
        self.new_chat()
        self.say("hello")
        self.until_shown("Hi.")
        until(lambda: self.composer() == "")
        self.editor.do("command", "gemini_companion_previous_message")
        until(lambda: self.composer() == "hello")
        self.editor.do("command", "gemini_companion_next_message")
        until(lambda: self.composer() == "")
