"""A note in the prompt of the real Gemini CLI, which runs in the genuine Terminus.

TERMINUS=path names a checkout of it. Its libraries (ptyprocess, pyte, wcwidth) have to be there.
Instead of Sublime's package Default it gets the one class of that which it uses.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import tempfile
import unittest
from contextlib import suppress

import session
from cli import BINARY, EMPTY_INPUT, SETTINGS, environment
from editor import Editor

TERMINUS = os.environ.get("TERMINUS", "")
LIBRARIES = ("ptyprocess", "pyte", "wcwidth")
# What Terminus imports of Sublime's package Default.
DEFAULT = """
class ClipboardHistory:
    def push_text(self, text):
        pass
"""


@unittest.skipUnless(TERMINUS, "TERMINUS names no checkout of Terminus")
@unittest.skipUnless(
    all(map(importlib.util.find_spec, LIBRARIES)), "Terminus' libraries are missing"
)
class Terminus(session.Session):
    @classmethod
    def new_editor(cls, temp: str = "") -> Editor:
        packages = os.path.join(cls.root, "data", "Packages")
        os.makedirs(os.path.join(packages, "Default"))
        os.symlink(os.path.abspath(TERMINUS), os.path.join(packages, "Terminus"))
        path = os.path.join(packages, "Default", "paste_from_history.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(DEFAULT)
        return super().new_editor(temp)

    def say(self, text: str) -> None:
        self.editor.do("press_in_terminus", text)
        self.editor.do("wait_for", "in_terminus", True, f"> {text}")
        self.editor.do("press_in_terminus", "\r")

    def end(self, pid: int) -> None:
        """Close the terminal, and end what runs on in it: Terminus hangs up on the first process
        alone, and that of Gemini CLI begins to leave then and never comes to its end, not even when
        its terminal goes."""
        self.editor.do("close_terminals")
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)

    def test_a_note_and_a_comment_stand_in_the_prompt_and_are_not_sent_off(self) -> None:
        home = tempfile.mkdtemp(dir=self.root)
        os.mkdir(os.path.join(home, ".gemini"))
        path = os.path.join(home, ".gemini", "settings.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(SETTINGS, file)
        variables = environment(home, self.model.url, {"TMPDIR": self.temp})
        self.editor.do("run_in_terminus", [BINARY], self.folder, variables)
        self.addCleanup(self.end, self.editor.do("pid_in_terminus"))
        self.editor.do("wait_for", "in_terminus", True, EMPTY_INPUT)
        self.editor.do("wait_for", "connected", 2)
        path = self.write("a.py", b"old\n")
        arguments = {"file_path": path, "content": "new\n"}
        self.model.will_call("write_file", arguments, "The end.")
        self.say("change a.py please")
        self.editor.do("wait_for", "proposal", "new\n", path)
        self.editor.do("review", "comment_on_diff", path)
        self.editor.do("type_in_panel", "why?")
        self.editor.do("review", "reject_diff_with_note", path)
        self.editor.do("type_in_panel", "shorter, please")
        self.editor.do("wait_for", "in_terminus", True, "> shorter, please")
        self.editor.do("wait_for", "in_terminus", True, "@a.py#L1: why?")
        self.assertNotIn("shorter, please", "".join(self.model.prompts()))
        self.assertEqual(self.read(path), b"old\n")
