"""One editor with the package and one real Gemini CLI, for all the tests of a class."""

from __future__ import annotations

import os
import shutil
import tempfile
import unittest

from cli import BINARY, GeminiCli
from editor import Editor
from model_server import ModelServer

ACCEPT, REJECT = "gemini_companion_accept_diff", "gemini_companion_reject_diff"
QUESTION = "Apply this change?"


@unittest.skipUnless(os.path.exists(BINARY), "the CLI is not installed: make setup")
class Session(unittest.TestCase):
    """Each test has its own file. `package` is what the editor loads: a folder or a
    .sublime-package; the repository itself where it is empty."""

    package = ""

    @classmethod
    def setUpClass(cls) -> None:
        cls.root = os.path.realpath(tempfile.mkdtemp(prefix="e2e-"))
        cls.addClassCleanup(shutil.rmtree, cls.root, True)
        folders = {name: os.path.join(cls.root, name) for name in ("home", "work", "tmp", "data")}
        for folder in folders.values():
            os.mkdir(folder)
        cls.folder, cls.temp = folders["work"], folders["tmp"]
        cls.model = ModelServer()
        cls.enterClass(cls.model)
        cls.editor = Editor(cls.folder, folders["data"], cls.temp, cls.package)
        cls.addClassCleanup(cls.editor.close)
        cls.cli = GeminiCli(folders["home"], cls.folder, cls.model.url, {"TMPDIR": cls.temp})
        cls.addClassCleanup(cls.cli.close)
        cls.cli.wait_connected()

    @classmethod
    def enterClass(cls, context: ModelServer) -> None:
        context.__enter__()
        cls.addClassCleanup(context.__exit__, None, None, None)

    def write(self, name: str, data: bytes) -> str:
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def read(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def ask(self, path: str, proposal: str, tool: str, **arguments: str) -> None:
        """A prompt that makes the model call the tool; ends when both sides show the question."""
        name = os.path.basename(path)
        self.model.will_call(tool, {"file_path": path, **arguments}, f"The end of {name}.")
        self.cli.say(f"change {name} please")
        self.cli.wait_for(QUESTION)
        self.editor.do("wait_for", "proposal", proposal, path)

    def finish(self, path: str) -> None:
        """Ends when the CLI waits for the next prompt and the editor has no diff left."""
        self.cli.wait_until(lambda screen: QUESTION not in screen, "no question any more")
        self.cli.wait_ready()
        self.editor.do("wait_for", "proposal", None, path)
        self.assertEqual([tab for tab in self.editor.do("tabs") if "(proposed)" in tab], [])
