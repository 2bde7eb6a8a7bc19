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
    one editor and its CLI serve all the tests of a module that start them alike, each with chats of
    its own; the module has `end` as `tearDownModule`."""

    program = ""
    is_shared = False
    # By module and kind of start, what the tests share.
    _shared: dict[tuple[object, ...], dict[str, Any]] = {}
    # unittest calls it by itself, and pytest does not.
    end = staticmethod(unittest.case.doModuleCleanups)
    add_cleanup: Callable[..., object]

    def setUp(self) -> None:
        if not self.is_shared:
            self.add_cleanup = self.addCleanup
            self.prepare()
            return
        self.add_cleanup = unittest.addModuleCleanup
        kind = (type(self).__module__, self.program, type(self).start)
        if kind in self._shared:
            vars(self).update(self._shared[kind])
        else:
            self.prepare()
            self.add_cleanup(self._shared.pop, kind)
        self.addCleanup(self.leave, kind)

    def leave(self, kind: tuple[object, ...]) -> None:
        """The editor, which may be another one by now, for the next test."""
        names = ("root", "folder", "temp", "data", "model", "variables", "editor", "served")
        self._shared[kind] = {name: getattr(self, name) for name in names}
        self.editor.do("close_chats")

    def prepare(self) -> None:
        self.root = os.path.realpath(tempfile.mkdtemp(prefix="chat editor-"))
        self.add_cleanup(shutil.rmtree, self.root, True)
        self.folder, self.temp, self.data = (
            os.path.join(self.root, name) for name in ("work", "tmp", "data")
        )
        for folder in (self.folder, self.temp, self.data):
            os.mkdir(folder)
        self.model = ModelServer()
        self.model.__enter__()
        self.add_cleanup(self.model.__exit__, None, None, None)
        self.variables = set_up(self.root, self.data, self.model.url, self.program)
        self.start()
        # The key is the engine's, for the chat and the API alike.
        self.served = Served(self.editor)
        self.served.configure()

    def start(self) -> None:
        with self.variables:
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
            return transcript if all(word in transcript for word in words) else ""

        return str(until(found, self.all_shown))

    def all_shown(self) -> str:
        """For a test that waits in vain: the chat, what stands above its composer, and what the
        user was told."""
        shown = (self.editor.do(name) for name in ("chat", "chat_above", "status_message", "log"))
        return "\n".join(str(text) for text in shown)

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
