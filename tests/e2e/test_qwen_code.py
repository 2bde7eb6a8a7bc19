"""The real Qwen Code, the package in an editor, and a person between them."""

from __future__ import annotations

import os
import shutil
import tempfile
import unittest
from typing import Any

from any_model_server import AnyModelServer
from cli import ALLOW, ESCAPE, QwenCode
from editor import Editor
from model_server import call
from session import ACCEPT, QUESTION, REJECT

from tests.support import wait_for

NODE = os.path.join(os.path.dirname(QwenCode.program), "node")


MANIFEST = (".qwen", "extensions", "gemini-companion", "qwen-extension.json")
# Prompts until one carries what the editor has told.
TRIES = 20


@unittest.skipUnless(os.path.exists(NODE), "Qwen Code or its Node is not installed: make setup")
class Qwen(unittest.TestCase):
    """One editor and one CLI with the extension for all tests; each test has its own file."""

    root: str
    folder: str
    temp: str
    home: str
    model: AnyModelServer
    editor: Editor
    cli: QwenCode

    @classmethod
    def setUpClass(cls) -> None:
        cls.root = os.path.realpath(tempfile.mkdtemp(prefix="e2e-"))
        cls.addClassCleanup(shutil.rmtree, cls.root, True)
        for name in ("work", "tmp", "data", "home", "home/.qwen"):
            os.mkdir(os.path.join(cls.root, name))
        cls.folder, cls.temp = os.path.join(cls.root, "work"), os.path.join(cls.root, "tmp")
        cls.home = os.path.join(cls.root, "home")
        cls.model = AnyModelServer()
        cls.model.__enter__()
        cls.addClassCleanup(cls.model.__exit__)
        cls.editor = Editor(cls.folder, os.path.join(cls.root, "data"), cls.temp, home=cls.home)
        cls.addClassCleanup(cls.editor.close)
        cls.editor.do("wait_until_served")
        cls.editor.do("choose_in_palette", "Gemini Companion: Install CLI Extension")
        wait_for(lambda: os.path.exists(os.path.join(cls.home, *MANIFEST)))
        # A proxy that does not answer, which may be asked for all but the model.
        proxy = dict.fromkeys(("HTTP_PROXY", "http_proxy"), "http://127.0.0.1:9")
        url = cls.model.url.replace("127.0.0.1", "localhost") + "/v1"
        variables = {"TMPDIR": cls.temp, **proxy, "NO_PROXY": "localhost"}
        cls.cli = QwenCode(cls.home, cls.folder, url, variables)
        cls.addClassCleanup(cls.cli.close)
        cls.editor.do("wait_for", "connected", 1)

    def ask(self, path: str, proposal: str, tool: str, **arguments: Any) -> None:
        """A prompt that makes the model read the file, if there is one, and call the tool; ends
        when both sides show the question."""
        name = os.path.basename(path)
        read = [[call("read_file", file_path=path)]] if os.path.exists(path) else []
        write = [call(tool, file_path=path, **arguments)]
        prompt = f"change {name} please"
        self.model.will_play(prompt, *read, write, [f"The end of {name}."])
        self.cli.say(prompt)
        self.cli.wait_for(QUESTION)
        self.editor.do("wait_for", "proposal", proposal, path)

    def finish(self, path: str) -> None:
        """Ends when the CLI waits for the next prompt and the editor has no diff left."""
        self.cli.wait_until(lambda screen: QUESTION not in screen, "no question any more")
        self.cli.wait_ready()
        self.editor.do("wait_for", "proposal", None, path)

    def write(self, name: str, text: str) -> str:
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def read(self, path: str) -> str:
        with open(path) as file:
            return file.read()

    def test_it_goes_past_a_proxy_to_the_editor_and_nothing_is_in_the_way(self) -> None:
        # The CLI may connect anew while it is examined.
        ways: list[str] = []

        def is_connected() -> bool:
            sections = self.editor.reports("Qwen Code")
            ways.append("".join(each for each in sections if f"in {self.folder}:" in each))
            return "Connected: to this window" in ways[-1]

        wait_for(is_connected)
        self.assertNotIn("FAILED", ways[-1])

    def test_file_cursor_and_selection_of_the_editor_reach_the_model(self) -> None:
        path = self.write("seen.py", "first\nsecond line\n")
        self.editor.do("open", path)
        self.editor.do("select", path, 6, 12)
        # The CLI does not show what it was told last, and what was told too late for one prompt
        # goes with the next.
        told = ""
        for number in range(TRIES):
            self.cli.say(f"what do I look at {number}")
            told += self.model.wait_for_prompt(f"what do I look at {number}")
            self.cli.wait_answered(f"what do I look at {number}")
            if "character 7" in told:
                break
        self.assertIn(path, told)
        self.assertIn("line 2, character 7", told)
        self.assertIn("second", told)

    def until(self, activity: str) -> None:
        self.editor.do("wait_for", "status_bar", f"Qwen: {activity}")

    def test_its_hooks_say_what_it_does(self) -> None:
        path = self.write("live.py", "old\n")
        self.ask(path, "new\n", "write_file", content="new\n")
        self.until("1 waiting")
        self.editor.do("command", ACCEPT)
        self.finish(path)
        self.until("done")
        for key, name in ((ALLOW, "made"), (ESCAPE, "never")):
            command = call("run_shell_command", command=f"touch {name}", is_background=False)
            self.model.will_play(f"make {name}", [command], [f"The end of {name}."])
            self.cli.say(f"make {name}")
            self.until("asks")
            asked = rf"asks you since \d\d:\d\d: touch {name}"
            self.editor.do("wait_for", "status_matches", True, asked)
            self.cli.wait_for("Allow execution")
            self.cli.press(key)
            self.until("done")
        self.assertTrue(os.path.exists(os.path.join(self.folder, "made")))
        self.cli.wait_ready()

    def test_its_model_asks_the_editor_by_the_extensions_tools(self) -> None:
        path = self.write("shown.py", "one\n")
        show = call("mcp__editor__show", path=path)
        self.model.will_play("show it", [show], ["The end of show."])
        self.cli.say("show it")
        self.cli.wait_for("show", "Allow")
        self.cli.press(ALLOW)
        self.cli.wait_for("The end of show.")
        self.assertIn(path, self.model.told()[-1])
        self.editor.do("wait_for", "has_tab", True, "shown.py")
        self.cli.wait_ready()

    def test_what_was_edited_in_the_editor_is_accepted(self) -> None:
        path = self.write("a.py", "old\n")
        self.ask(path, "new\n", "write_file", content="new\n")
        self.editor.do("wait_for", "has_tab", True, "a.py (proposed by Qwen Code)")
        self.editor.do("append", path, "mine: \u00e9\n")
        self.editor.do("command", ACCEPT)
        self.finish(path)
        self.assertEqual(self.read(path), "new\nmine: \u00e9\n")

    def test_a_new_file_is_accepted(self) -> None:
        path = os.path.join(self.folder, "b.py")
        self.ask(path, "print(1)\n", "write_file", content="print(1)\n")
        self.editor.do("command", ACCEPT)
        self.finish(path)
        self.assertEqual(self.read(path), "print(1)\n")

    def test_an_edit_is_rejected(self) -> None:
        path = self.write("c.py", "one\ntwo\n")
        self.ask(path, "one\n2\n", "edit", old_string="two", new_string="2")
        self.editor.do("command", REJECT)
        self.finish(path)
        self.assertEqual(self.read(path), "one\ntwo\n")

    def test_what_was_edited_in_the_editor_comes_back_when_the_terminal_allows_it(self) -> None:
        """It writes its own text then (docs/protocol.md 7)."""
        path = self.write("d.py", "one\ntwo\n")
        self.ask(path, "one\n2\n", "edit", old_string="two", new_string="2")
        self.editor.do("append", path, "mine\n")
        self.cli.press(ALLOW)
        self.finish(path)
        self.assertEqual(self.read(path), "one\n2\n")
        self.editor.do("wait_for", "named", "one\n2\nmine\n", "d.py (your edits)")

    def test_an_edit_is_refused_in_the_terminal(self) -> None:
        path = self.write("e.py", "one\ntwo\n")
        self.ask(path, "one\n2\n", "edit", old_string="two", new_string="2")
        self.cli.press(ESCAPE)
        self.finish(path)
        self.assertEqual(self.read(path), "one\ntwo\n")
