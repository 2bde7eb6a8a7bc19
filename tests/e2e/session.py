"""One editor with the package and one real Gemini CLI, for all the tests of a class."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import unittest

from cli import BINARY, GeminiCli
from editor import Editor
from model_server import ModelServer

from tests.support import wait_for

ACCEPT, REJECT = "gemini_companion_accept_diff", "gemini_companion_reject_diff"
QUESTION = "Apply this change?"


@unittest.skipUnless(os.path.exists(BINARY), "the CLI is not installed: make setup")
class Session(unittest.TestCase):
    """Each test has its own file. `package` is what the editor loads: a folder or a
    .sublime-package; the repository itself where it is empty."""

    package = ""
    # Whether there is a CLI from the beginning.
    has_cli = True
    # What the editor runs on.
    python = sys.executable
    root: str
    folder: str
    temp: str
    model: ModelServer
    editor: Editor
    cli: GeminiCli

    @classmethod
    def setUpClass(cls) -> None:
        cls.root = os.path.realpath(tempfile.mkdtemp(prefix="e2e-"))
        cls.addClassCleanup(shutil.rmtree, cls.root, True)
        folders = {name: os.path.join(cls.root, name) for name in ("work", "tmp", "data")}
        for folder in folders.values():
            os.mkdir(folder)
        cls.folder, cls.temp = folders["work"], folders["tmp"]
        cls.model = ModelServer()
        cls.enterClass(cls.model)
        cls.editor = cls.new_editor()
        # A CLI that finds none at its start looks for none later.
        cls.editor.do("wait_until_served")
        if cls.has_cli:
            cls.cli = cls.new_cli()

    @classmethod
    def new_editor(cls, temp: str = "") -> Editor:
        """Another run of the editor, with what the ones before left behind."""
        data = os.path.join(cls.root, "data")
        editor = Editor(cls.folder, data, temp or cls.temp, cls.package, cls.python)
        cls.addClassCleanup(editor.close)
        return editor

    @classmethod
    def new_cli(cls, **variables: str) -> GeminiCli:
        """Another CLI, connected."""
        home = tempfile.mkdtemp(dir=cls.root)
        cli = GeminiCli(home, cls.folder, cls.model.url, {"TMPDIR": cls.temp, **variables})
        cls.addClassCleanup(cli.close)
        cli.wait_connected()
        return cli

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
        self.ask_on(self.cli, path, tool, **arguments)
        self.editor.do("wait_for", "proposal", proposal, path)

    def ask_on(self, cli: GeminiCli, path: str, tool: str, **arguments: str) -> None:
        name = os.path.basename(path)
        self.model.will_call(tool, {"file_path": path, **arguments}, f"The end of {name}.")
        cli.say(f"change {name} please")
        cli.wait_for(QUESTION)

    def finish(self, path: str) -> None:
        """Ends when the CLI waits for the next prompt and the editor has no diff left."""
        self.cli.wait_until(lambda screen: QUESTION not in screen, "no question any more")
        self.cli.wait_ready()
        self.until_closed(path)

    def until_closed(self, path: str) -> None:
        """Until the editor has no diff left."""
        self.editor.do("wait_for", "proposal", None, path)
        wait_for(lambda: not [tab for tab in self.editor.do("tabs") if "(proposed)" in tab])


class Shared(Session):
    """One editor and one CLI for all classes of a module, which has `begin` as `setUpModule` and
    `end` as `tearDownModule`."""

    @classmethod
    def begin(cls) -> None:
        if os.path.exists(BINARY):
            super().setUpClass()

    @classmethod
    def setUpClass(cls) -> None:
        """`begin` has been there."""

    addClassCleanup = staticmethod(unittest.addModuleCleanup)  # type: ignore[assignment]
    # unittest calls it by itself, and pytest does not.
    end = staticmethod(unittest.case.doModuleCleanups)
