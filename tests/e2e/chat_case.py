"""What the tests of the chat in the headless editor share: an editor with a CLI behind it."""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
import unittest
from typing import Any, Callable

from editor import Editor
from model_server import ModelServer
from served import Served, set_up, until

LINE = "━" * 40 + "\n"


class EditorChatCase(unittest.TestCase):
    """`program` is the path of a real CLI; without one, it is the scripted one. Where `is_shared`,
    one editor and its CLI serve all the tests of the class, each with chats of its own."""

    program = ""
    is_shared = False
    shared: dict[str, Any]
    add_cleanup: Callable[..., object]

    def setUp(self) -> None:
        if not self.is_shared:
            self.add_cleanup = self.addCleanup
            self.prepare()
            return
        if "shared" not in vars(type(self)):
            self.add_cleanup = self.addClassCleanup
            self.prepare()
            names = ("root", "folder", "temp", "data", "model", "editor", "served")
            type(self).shared = {name: getattr(self, name) for name in names}
        vars(self).update(self.shared)
        self.addCleanup(self.editor.do, "close_chats")

    def prepare(self) -> None:
        self.root = os.path.realpath(tempfile.mkdtemp(prefix="chat editor-"))
        self.add_cleanup(shutil.rmtree, self.root, True)
        self.folder, self.temp, self.data = (
            os.path.join(self.root, it) for it in ("work", "tmp", "data")
        )
        for folder in (self.folder, self.temp, self.data):
            os.mkdir(folder)
        self.model = ModelServer()
        self.model.__enter__()
        self.add_cleanup(self.model.__exit__, None, None, None)
        patch = set_up(self.root, self.data, self.model.url, self.program)
        patch.start()
        self.add_cleanup(patch.stop)
        self.start()
        # The key is the engine's, for the chat and the API alike.
        self.served = Served(self.editor)
        self.served.configure()

    def start(self) -> None:
        self.editor = Editor(self.folder, self.data, self.temp)
        self.add_cleanup(self.editor.close)

    def new_chat(self) -> None:
        until(lambda: self.editor.do("choose_in_palette", "Gemini Companion: New Chat"))

    def say(self, words: str) -> None:
        self.editor.do("type_in_chat", words)
        self.editor.do("command", "gemini_companion_send")

    def until_shown(self, *words: str) -> str:
        """Until the transcript has these words; gives it."""

        def found() -> str:
            text = self.editor.do("chat") or ""
            transcript = text.partition(LINE)[0]
            return transcript if all(it in transcript for it in words) else ""

        return str(until(found))

    def drafts(self) -> str:
        """What is kept of unsent texts at this moment."""
        found = glob.glob(os.path.join(self.data, "**", "drafts.json"), recursive=True)
        text = ""
        for path in found:
            with open(path, encoding="utf-8") as file:
                text += file.read()
        return text

    def composer(self) -> str:
        return str(self.editor.do("chat").partition(LINE)[2])
