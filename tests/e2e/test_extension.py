"""The real Gemini CLI with the extension, and the package in an editor."""

from __future__ import annotations

import os
import re
import signal
import tempfile
import unittest
from contextlib import suppress

import session
from cli import ALLOW, ESCAPE, GeminiCli
from session import ACCEPT, REJECT

from tests.support import wait_for

HERE = os.path.dirname(os.path.abspath(__file__))

ROOT = os.path.dirname(os.path.dirname(HERE))
INSTALL = "Gemini Companion: Install CLI Extension"
COMMENT = "gemini_companion_comment_on_diff"
REJECT_WITH_NOTE = "gemini_companion_reject_diff_with_note"
COMMAND, QUESTION = "touch made", "Allow execution"


class Installed(session.Session):
    """Installed by its command; the home is the editor's and the CLI's."""

    home: str
    kind = GeminiCli

    @classmethod
    def setUpClass(cls) -> None:
        cls.home = tempfile.mkdtemp(prefix="home-")
        super().setUpClass()

    @classmethod
    def new_editor(cls, temp: str = "") -> session.Editor:
        data = os.path.join(cls.root, "data")
        editor = session.Editor(cls.folder, data, temp or cls.temp, home=cls.home)
        cls.addClassCleanup(editor.close)
        return editor

    @classmethod
    def new_cli(cls, **variables: str) -> GeminiCli:
        manifest = os.path.join(
            cls.home, ".gemini", "extensions", "gemini-companion", "gemini-extension.json"
        )
        cls.editor.do("choose_in_palette", INSTALL)
        wait_for(lambda: os.path.exists(manifest))
        cli = cls.kind(cls.home, cls.folder, cls.model.url, {"TMPDIR": cls.temp, **variables})
        cls.addClassCleanup(cli.close)
        cli.wait_connected()
        return cli


class OfAll(session.Shared, Installed):
    """One editor and one CLI for all tests here."""


setUpModule, tearDownModule = OfAll.begin, OfAll.end


class Live(OfAll):
    """What the CLI does, as the editor says it; and what the user says about a proposal, as the
    model reads it."""

    def until(self, status: str) -> None:
        self.editor.do("wait_for", "status_bar", f"Gemini: {status}" if status else "Gemini")

    def until_status(self, pattern: str) -> None:
        """Until the sentences about it have this."""
        self.editor.do("wait_for", "status_matches", True, pattern)

    def propose(self, name: str) -> str:
        path = self.write(name, b"old\n")
        self.ask(path, "new\n", "write_file", content="new\n")
        return path

    def answer(self, command: str, words: str) -> None:
        self.editor.do("command", command)
        self.editor.do("type_in_panel", words)

    def test_the_editor_says_what_the_cli_does(self) -> None:
        path = self.write("a.py", b"old\n")
        self.ask(path, "new\n", "write_file", content="new\n")
        self.until("1 waiting")
        self.until_status(r"asks you since \d\d:\d\d: edit a\.py")
        self.editor.do("command", ACCEPT)
        self.finish(path)
        self.until("done")

    def test_a_rejection_ends_the_turn_without_a_hook(self) -> None:
        path = self.write("b.py", b"old\n")
        self.ask(path, "new\n", "write_file", content="new\n")
        self.editor.do("command", REJECT)
        self.finish(path)
        self.until("done")

    def test_a_command_that_waits_in_the_terminal_is_asked_about_in_the_editor(self) -> None:
        self.model.will_call("run_shell_command", {"command": COMMAND}, "The end of it.")
        self.cli.say("make it please")
        self.until("asks")
        self.until_status(re.escape(f": {COMMAND}\n"))
        self.cli.wait_for(QUESTION, COMMAND)
        self.cli.press(ALLOW)
        self.cli.wait_for("The end of it.")
        self.until("done")
        self.assertTrue(os.path.exists(os.path.join(self.folder, "made")))

    def test_a_command_that_was_allowed_runs_for_the_editor_too(self) -> None:
        stop = os.path.join(self.folder, "stop")
        command = f"while [ ! -e {stop} ]; do sleep 0.1; done"
        self.model.will_call("run_shell_command", {"command": command}, "The end of waiting.")
        self.cli.say("wait please")
        self.until("asks")
        self.cli.wait_for(QUESTION)
        self.cli.press(ALLOW)
        self.until("working")
        self.until_status(r"working since \d\d:\d\d: while")
        self.write("stop", b"")
        self.cli.wait_for("The end of waiting.")
        self.until("done")

    def test_a_command_that_was_refused_ends_the_turn_for_the_editor_too(self) -> None:
        self.model.will_call("run_shell_command", {"command": "touch never"}, "")
        self.cli.say("make never please")
        self.until("asks")
        self.cli.wait_for(QUESTION, "touch never")
        self.cli.press(ESCAPE)
        self.until("done")
        self.cli.wait_ready()

    def test_a_cli_that_is_killed_leaves_nothing_behind(self) -> None:
        other = self.new_cli()
        self.model.will_call("run_shell_command", {"command": "touch other"}, "")
        other.say("make other please")
        # It is the second of its kind.
        self.editor.do("wait_for", "status_bar", "Gemini 2: asks")
        other.kill()
        wait_for(lambda: "touch other" not in self.editor.do("status"))
        wait_for(lambda: "2" not in self.editor.do("status_bar").partition(":")[0])

    def test_comments_on_an_accepted_edit_go_along_with_its_result(self) -> None:
        path = self.propose("w.py")
        self.answer(COMMENT, "Name it better.")
        self.editor.do("command", ACCEPT)
        self.finish(path)
        result = self.model.wait_for_prompt("Name it better.")
        self.assertIn(f"The user accepted the edit of {path}", result)
        self.assertIn("w.py#L1: Name it better.", result)

    def test_a_note_on_a_rejected_edit_goes_along_with_the_next_prompt(self) -> None:
        path = self.propose("x.py")
        self.answer(REJECT_WITH_NOTE, "Use a set.")
        self.finish(path)
        self.assertNotIn("Use a set.", self.model.received())
        self.cli.say("go on please")
        prompt = self.model.wait_for_prompt("go on please")
        self.assertIn(f"The user rejected the edit of {path}", prompt)
        self.assertIn("Use a set.", prompt)
        self.cli.wait_ready()
        self.cli.say("and now please")
        self.assertNotIn("Use a set.", self.model.wait_for_prompt("and now please"))


@unittest.skipUnless(os.path.isdir("/proc/self/task"), "halts processes that Linux lists")
class WithoutAnEditor(OfAll):
    """The same turn, whatever has become of the editor; the last, for it is gone then."""

    def tearDown(self) -> None:
        self.signal(signal.SIGCONT)

    def signal(self, number: int) -> None:
        """To the editor and to its process of the packages."""
        pid = self.editor.pid
        with suppress(FileNotFoundError, ProcessLookupError):
            with open(f"/proc/{pid}/task/{pid}/children") as file:
                for each in (pid, *map(int, file.read().split())):
                    os.kill(each, number)

    def turn(self, name: str) -> None:
        self.model.will_call("run_shell_command", {"command": f"touch {name}"}, f"End of {name}.")
        self.cli.say(f"make {name} please")
        self.cli.wait_for(QUESTION, f"touch {name}")
        self.cli.press(ALLOW)
        self.cli.wait_for(f"End of {name}.")
        self.assertTrue(os.path.exists(os.path.join(self.folder, name)))

    def test_a_turn_ends_as_without_the_extension_if_the_editor_hangs_and_then_dies(self) -> None:
        self.signal(signal.SIGSTOP)
        self.turn("hung")
        self.signal(signal.SIGCONT)
        self.editor.kill()
        self.turn("dead")
