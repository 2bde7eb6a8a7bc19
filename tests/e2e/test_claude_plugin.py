"""The real Claude Code with the plugin, and the package in an editor."""

from __future__ import annotations

import glob
import json
import os
import re
import subprocess
from typing import Any

from cli import ALLOW, ESCAPE, ClaudeCode
from model_server import call
from session import ACCEPT, REJECT
from test_claude_code import Claude

from tests.support import wait_for

INSTALL = "Gemini Companion: Install CLI Extension"
REMOVE = "Gemini Companion: Remove CLI Extension"
SHOW = "gemini_companion_show_unasked_edits"
COMMENT = "gemini_companion_comment_on_diff"
REJECT_WITH_NOTE = "gemini_companion_reject_diff_with_note"
QUESTION = "Do you want to"
PLUGIN = os.path.join(".claude", "skills", "gemini-companion")


class AcceptsEdits(ClaudeCode):
    """In the mode in which it writes without asking."""

    settings = {"permissions": {"defaultMode": "acceptEdits"}}


class Bypasses(ClaudeCode):
    """In the mode in which it does everything without asking."""

    settings = {
        "permissions": {"defaultMode": "bypassPermissions"},
        "skipDangerousModePermissionPrompt": True,
    }


class WithPlugin(Claude):
    """Installed by its command before the CLI starts."""

    kind = ClaudeCode

    @classmethod
    def new_cli(cls, **variables: str) -> ClaudeCode:
        manifest = os.path.join(cls.home, PLUGIN, ".claude-plugin", "plugin.json")
        cls.editor.do("choose_in_palette", INSTALL)
        wait_for(lambda: os.path.exists(manifest))
        wait_for(lambda: bool(cls.pipes()))
        cli = cls.kind(cls.home, cls.folder, cls.model.url, {"IS_SANDBOX": "1", **variables})
        cls.addClassCleanup(cli.close)
        cli.wait_ready()
        return cli

    @classmethod
    def pipes(cls) -> list[str]:
        """The pipes on which editors hear of hooks."""
        return glob.glob(os.path.join(cls.home, ".claude", "ide", "*.hooks", "calls"))

    def until(self, status: str) -> None:
        self.editor.do("wait_for", "status_bar", f"Claude: {status}" if status else "Claude")

    def play(self, name: str, *steps: Any) -> str:
        """A prompt that makes the model take these steps; gives its last words."""
        end = f"The end of {name}."
        self.model.will_play(f"change {name} please", *([step] for step in steps), [end])
        self.cli.say(f"change {name} please")
        return end

    def turn(self, name: str, *steps: Any) -> None:
        """The same, to its end, without a question."""
        self.cli.wait_for(self.play(name, *steps))
        self.cli.wait_ready()

    def read_tool(self, name: str) -> Any:
        return call("Read", file_path=self.path(name))

    def edit_tool(self, name: str, new: str) -> Any:
        return call("Edit", file_path=self.path(name), old_string="two", new_string=new)

    def undo(self, name: str, text: str = "one\n2\n") -> None:
        """Undo the one edit that was made without asking."""
        path = self.path(name)
        self.editor.do("wait_for", "status_bar_says", True, "1 edit to look at")
        self.assertIsNone(self.editor.do("proposal", path))
        self.editor.do("run", SHOW, 0)
        self.editor.do("wait_for", "proposal", text, path)
        self.editor.do("wait_for", "says", True, path, "without asking")
        self.editor.do("review", "reject_diff", path)
        self.editor.do("wait_for", "proposal", None, path)


class Live(WithPlugin):
    def test_the_editor_says_what_the_cli_does(self) -> None:
        self.write("a.py", "one\ntwo\n")
        self.propose("a.py", "2", "one\n2\n")
        self.until("1 waiting")
        # Its hook comes beside the diff.
        asks = re.compile(r"asks you since \d\d:\d\d: edit a\.py")
        wait_for(lambda: asks.search(self.editor.do("status")))
        self.editor.do("command", ACCEPT)
        self.finish("a.py")
        self.until("done")
        self.assertFalse(self.editor.do("status_bar_says", "to look at"))

    def test_a_rejection_ends_the_turn_without_a_hook(self) -> None:
        self.write("b.py", "one\ntwo\n")
        self.propose("b.py", "2", "one\n2\n")
        self.editor.do("command", REJECT)
        self.finish("b.py")
        self.until("done")

    def test_a_command_is_asked_about_in_the_editor_until_the_terminal_decides(self) -> None:
        for key, file in ((ALLOW, "made"), (ESCAPE, "never")):
            with self.subTest(file):
                end = self.play(file, call("Bash", command=f"touch {file}", description="x"))
                self.until("asks")
                self.assertIn(f": touch {file}\n", self.editor.do("status"))
                self.cli.wait_for(QUESTION, f"touch {file}")
                self.cli.answer(key)
                if key == ALLOW:
                    self.cli.wait_for(end)
                self.until("done")
                self.cli.wait_ready()
                self.assertEqual(os.path.exists(self.path(file)), key == ALLOW)

    def test_words_on_an_edit_reach_the_model(self) -> None:
        self.write("w.py", "one\ntwo\n")
        self.propose("w.py", "2", "one\n2\n")
        self.editor.do("command", COMMENT)
        self.editor.do("type_in_panel", "Name it better.")
        self.editor.do("command", ACCEPT)
        self.finish("w.py")
        self.assertIn("Name it better.", json.dumps(self.model.last_request()))
        self.write("x.py", "one\ntwo\n")
        self.propose("x.py", "2", "one\n2\n")
        self.editor.do("command", REJECT_WITH_NOTE)
        self.editor.do("type_in_panel", "Use a set.")
        self.finish("x.py")
        self.turn("nothing")
        self.assertIn("Use a set.", json.dumps(self.model.last_request()))

    def test_two_clis_are_told_apart_and_one_that_is_killed_is_forgotten(self) -> None:
        other = self.new_cli()
        self.editor.do("wait_for", "connected", 2)
        self.model.will_play("make it", [call("Bash", command="touch other", description="x")])
        other.say("make it")
        self.editor.do("wait_for", "status_bar", "Claude 2: asks")
        other.kill()
        wait_for(lambda: "touch other" not in self.editor.do("status"), timeout=60)
        self.editor.do("wait_for", "connected", 1)


class Unasked(WithPlugin):
    kind = AcceptsEdits

    def tearDown(self) -> None:
        self.editor.do("setting", "ask_for_edits", False)

    def test_an_edit_is_shown_and_undone_and_the_model_is_told(self) -> None:
        self.write("a.py", "one\ntwo\n")
        self.turn("a.py", self.read_tool("a.py"), self.edit_tool("a.py", "2"))
        self.assertEqual(self.read("a.py"), "one\n2\n")
        self.undo("a.py")
        self.assertEqual(self.read("a.py"), "one\ntwo\n")
        self.turn("nothing")
        self.assertIn("has undone your edit", json.dumps(self.model.last_request()))

    def test_a_new_file_is_shown_and_undone(self) -> None:
        self.turn("new.py", call("Write", file_path=self.path("new.py"), content="new\n"))
        self.undo("new.py", "new\n")
        self.editor.do("wait_for", "exists", False, self.path("new.py"))

    def test_with_ask_for_edits_it_proposes_and_writes_the_users_text_or_nothing(self) -> None:
        self.editor.do("setting", "ask_for_edits", True)
        for name, how, after in (
            ("b.py", ACCEPT, "one\n2\nmine\n"),
            ("c.py", REJECT, "one\ntwo\n"),
        ):
            with self.subTest(name):
                self.write(name, "one\ntwo\n")
                self.propose(name, "2", "one\n2\n")
                if how == ACCEPT:
                    self.editor.do("append", self.path(name), "mine\n")
                self.editor.do("command", how)
                self.finish(name)
                self.assertEqual(self.read(name), after)
                self.assertFalse(self.editor.do("status_bar_says", "to look at"))


class Bypassed(WithPlugin):
    kind = Bypasses

    def test_what_a_command_changed_is_shown_also_if_it_failed(self) -> None:
        path = self.write("git.py", "one\ntwo\n")
        for line in ("init -q", "add git.py", "-c user.name=a -c user.email=a@b commit -qm x"):
            subprocess.run(["git", *line.split()], cwd=self.folder, check=True, timeout=60)
        os.utime(path, (1, 1))
        subprocess.run(["git", "update-index", "-q", "--refresh"], cwd=self.folder, timeout=60)
        command = "sed -i s/two/2/ git.py; exit 3"
        self.turn("git.py", call("Bash", command=command, description="x"))
        self.assertEqual(self.read("git.py"), "one\n2\n")
        self.undo("git.py")
        self.editor.do("wait_for", "holds", True, path, "one\ntwo\n")

    def test_with_ask_for_edits_it_asks_there_too(self) -> None:
        self.editor.do("setting", "ask_for_edits", True)
        self.write("d.py", "one\ntwo\n")
        self.propose("d.py", "2", "one\n2\n")
        self.editor.do("command", ACCEPT)
        self.finish("d.py")
        self.editor.do("setting", "ask_for_edits", False)
        self.assertEqual(self.read("d.py"), "one\n2\n")


class WithoutAnEditor(WithPlugin):
    kind = AcceptsEdits

    def test_an_editor_that_is_killed_costs_the_cli_nothing(self) -> None:
        self.write("a.py", "one\ntwo\n")
        self.editor.kill()
        self.turn("a.py", self.read_tool("a.py"), self.edit_tool("a.py", "2"))
        self.assertEqual(self.read("a.py"), "one\n2\n")
        # The next one takes away what that has left, and is heard of the CLI.
        self.start_editor()
        self.editor.do("wait_for", "connected", 1)
        wait_for(lambda: len(self.pipes()) == 1)
        self.write("b.py", "one\ntwo\n")
        self.turn("b.py", self.read_tool("b.py"), self.edit_tool("b.py", "2"))
        self.undo("b.py")
        self.assertEqual(self.read("b.py"), "one\ntwo\n")


class Switches(WithPlugin):
    def wait_reported(self, words: str) -> None:
        """Ends when Doctor's report says so of the CLI."""
        before = "Claude Code, process "
        wait_for(lambda: words in str(self.editor.do("report")).rpartition(before)[2])

    def test_the_user_switches_it_off_and_removes_it_and_doctor_says_so(self) -> None:
        self.wait_reported("last heard at")
        for verb, words in (("disable", "switched off; claude plugin enable"), ("enable", "last")):
            subprocess.run(
                [ClaudeCode.program, "plugin", verb, "gemini-companion@skills-dir"],
                env={"HOME": self.home, "PATH": os.environ["PATH"]},
                stdout=subprocess.DEVNULL,
                check=True,
                timeout=240,
            )
            self.wait_reported(words)
        self.editor.do("choose_in_palette", REMOVE)
        wait_for(lambda: not os.path.exists(os.path.join(self.home, PLUGIN)))
        # The CLI goes on without.
        self.write("a.py", "one\ntwo\n")
        self.propose("a.py", "2", "one\n2\n")
        self.editor.do("command", ACCEPT)
        self.finish("a.py")
        self.assertEqual(self.read("a.py"), "one\n2\n")
