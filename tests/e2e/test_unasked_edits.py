"""Edits that the real Gemini CLI makes in its yolo mode: seen, undone, and asked about."""

from __future__ import annotations

import json
import os
import subprocess

from cli import Yolo
from session import ACCEPT
from test_extension import Installed

SHOW, UNDO = "gemini_companion_show_unasked_edits", "gemini_companion_undo_edits_of_turn"


class Unasked(Installed):
    kind = Yolo

    def tearDown(self) -> None:
        self.editor.do("setting", "ask_for_edits", False)

    def turn(self, tool: str, path: str, **arguments: str) -> None:
        """A prompt that makes the model call the tool, to its end."""
        name = os.path.basename(path)
        self.model.will_call(tool, {"file_path": path, **arguments}, f"The end of {name}.")
        self.cli.say(f"change {name} please")
        self.cli.wait_for(f"The end of {name}.")
        self.cli.wait_ready()

    def test_an_edit_is_shown_and_undone_and_the_model_is_told(self) -> None:
        path = self.write("a.py", b"one\ntwo\n")
        self.turn("replace", path, instruction="x", old_string="two", new_string="2")
        self.assertEqual(self.read(path), b"one\n2\n")
        self.editor.do("wait_for", "status_bar_says", True, "1 edit to look at")
        self.assertIsNone(self.editor.do("proposal", path))
        self.editor.do("run", SHOW, 0)
        self.editor.do("wait_for", "proposal", "one\n2\n", path)
        self.editor.do("wait_for", "says", True, path, "without asking")
        self.editor.do("review", "reject_diff", path)
        self.editor.do("wait_for", "proposal", None, path)
        self.assertEqual(self.read(path), b"one\ntwo\n")
        self.model.will_play("what now", ["As you say."])
        self.cli.say("what now")
        self.cli.wait_for("As you say.")
        self.assertIn("has undone your edit", json.dumps(self.model.last_request()))

    def test_what_a_command_changed_of_the_files_that_git_knows_is_shown(self) -> None:
        path = self.write("git.py", b"one\ntwo\n")
        for line in ("init -q", "add git.py", "-c user.name=a -c user.email=a@b commit -qm x"):
            subprocess.run(["git", *line.split()], cwd=self.folder, check=True, timeout=60)
        os.utime(path, (1, 1))
        subprocess.run(["git", "update-index", "-q", "--refresh"], cwd=self.folder, timeout=60)
        command = {"command": "sed -i s/two/2/ git.py"}
        self.model.will_call("run_shell_command", command, "The end of sed.")
        self.cli.say("run it please")
        self.cli.wait_for("The end of sed.")
        self.editor.do("wait_for", "status_bar_says", True, "1 edit to look at")
        self.editor.do("run", SHOW, 0)
        self.editor.do("wait_for", "proposal", "one\n2\n", path)
        self.editor.do("review", "reject_diff", path)
        self.editor.do("wait_for", "holds", True, path, "one\ntwo\n")

    def test_the_edits_of_two_turns_are_undone_turn_by_turn(self) -> None:
        old, new = self.write("old.py", b"old\n"), os.path.join(self.folder, "new.py")
        self.turn("write_file", new, content="new\n")
        self.turn("write_file", old, content="newer\n")
        self.editor.do("wait_for", "status_bar_says", True, "2 edits to look at")
        # The newest of several turns, and yes.
        self.editor.do("run", UNDO, 0, 0)
        self.editor.do("wait_for", "holds", True, old, "old\n")
        # Until then the list has both turns, and another question is asked.
        self.editor.do("wait_for", "status_bar_says", True, "1 edit to look at")
        self.editor.do("run", UNDO, 0)
        self.editor.do("wait_for", "exists", False, new)

    def test_with_ask_for_edits_it_proposes_and_writes_the_users_text(self) -> None:
        self.editor.do("setting", "ask_for_edits", True)
        path = self.write("b.py", b"old\n")
        self.model.will_call("write_file", {"file_path": path, "content": "new\n"}, "The end of b.")
        self.cli.say("change b please")
        self.editor.do("wait_for", "proposal", "new\n", path)
        self.editor.do("append", path, "mine\n")
        self.editor.do("command", ACCEPT)
        self.cli.wait_for("The end of b.")
        self.assertEqual(self.read(path), b"new\nmine\n")
        self.assertFalse(self.editor.do("status_bar_says", "to look at"))
