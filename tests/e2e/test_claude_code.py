"""The real Claude Code in its terminal, the package in an editor, and a person between them."""

from __future__ import annotations

import glob
import json
import os
import shutil
import tempfile
import unittest
from typing import Any
from unittest import mock

from any_model_server import AnyModelServer
from cli import ALLOW, CLAUDE_STATE, ERASE_LINE, ESCAPE, NO, ClaudeCode, GeminiCli
from editor import Editor
from model_server import ModelServer, call
from session import ACCEPT, REJECT

from tests.support import wait_for

CLOSE = "close_tab"
QUESTION = "Do you want to"
SELECTED, LOOKED_AT = "\u29c9 1 line selected", "\u29c9 In {}"
# Name, the file before, what the model changes, what the user types, how they decide, and the file
# after it: an Edit of "two", or a Write of a new file.
DECISIONS = (
    ("a.py", "one\ntwo\n", "2", "", ACCEPT, "one\n2\n"),
    ("b.py", "one\ntwo\n", "2", "mine\n", ACCEPT, "one\n2\nmine\n"),
    ("c.py", "one\ntwo\n", "2", "", REJECT, "one\ntwo\n"),
    ("d.py", "one\ntwo\n", "2", "", CLOSE, "one\ntwo\n"),
    # The CLI took away the last line end of what it wrote anew, up to 2.1.318.
    ("e.py", None, "new", "", ACCEPT, "new"),
    ("f.py", None, "new", " mine", ACCEPT, "new mine"),
    ("g.py", None, "new\n", "", REJECT, None),
    ("h.py", "one\r\ntwo\r\n", "2", "mine\n", ACCEPT, "one\r\n2\r\nmine\r\n"),
    ("i.py", "\ufeffone\ntwo\n", "2", "", ACCEPT, "\ufeffone\n2\n"),
    ("j.py", "one\ntwo\n", "2", "", ALLOW, "one\n2\n"),
    ("k.py", "one\ntwo\n", "2", "", NO, "one\ntwo\n"),
    # The CLI writes its own text, or none, and what was typed comes back as a tab.
    ("l.py", "one\ntwo\n", "2", "mine\n", ALLOW, "one\n2\n"),
    ("m.py", "one\ntwo\n", "2", "mine\n", ESCAPE, "one\ntwo\n"),
)


@unittest.skipUnless(ClaudeCode.program, "Claude Code is not installed: make setup-agents")
class Claude(unittest.TestCase):
    """One editor and one CLI for all tests of a class; each test has its own file."""

    root: str
    folder: str
    home: str
    model: AnyModelServer
    editor: Editor
    cli: ClaudeCode

    @classmethod
    def setUpClass(cls) -> None:
        cls.root = os.path.realpath(tempfile.mkdtemp(prefix="e2e-"))
        cls.addClassCleanup(shutil.rmtree, cls.root, True)
        for name in ("work", "tmp", "data", "home", "home/.claude"):
            os.mkdir(os.path.join(cls.root, name))
        cls.folder = os.path.join(cls.root, "work")
        cls.home = os.path.join(cls.root, "home")
        cls.model = AnyModelServer()
        cls.model.__enter__()
        cls.addClassCleanup(cls.model.__exit__)
        cls.start_editor()
        cls.cli = cls.new_cli()
        cls.editor.do("wait_for", "connected", 1)

    @classmethod
    def start_editor(cls, **options: Any) -> None:
        """The first editor, or another one with what it left behind."""
        data, temp = os.path.join(cls.root, "data"), os.path.join(cls.root, "tmp")
        cls.editor = Editor(cls.folder, data, temp, home=cls.home, **options)
        cls.addClassCleanup(cls.editor.close)
        cls.editor.do("wait_until_served")

    @classmethod
    def new_cli(cls, **variables: str) -> ClaudeCode:
        cli = ClaudeCode(cls.home, cls.folder, cls.model.url, variables)
        cls.addClassCleanup(cli.close)
        cli.wait_ready()
        return cli

    def locks(self) -> list[Any]:
        """What the lock files say."""
        found = []
        for path in glob.glob(os.path.join(self.home, ".claude", "ide", "*.lock")):
            with open(path, encoding="utf-8") as file:
                found.append(json.load(file))
        return found

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def write(self, name: str, text: str) -> str:
        with open(self.path(name), "w", encoding="utf-8", newline="") as file:
            file.write(text)
        return self.path(name)

    def read(self, name: str) -> str | None:
        if not os.path.exists(self.path(name)):
            return None
        with open(self.path(name), encoding="utf-8", newline="") as file:
            return file.read()

    def ask(self, name: str, new: str, cli: ClaudeCode | None = None, old: str = "two") -> None:
        """A prompt that makes the model change the file, or write it if there is none; ends when
        the terminal asks."""
        path, prompt = self.path(name), f"change {name} please"
        if os.path.exists(path):
            edit = call("Edit", file_path=path, old_string=old, new_string=new)
            steps = [[call("Read", file_path=path)], [edit]]
        else:
            steps = [[call("Write", file_path=path, content=new)]]
        self.model.will_play(prompt, *steps, [f"The end of {name}."])
        cli = cli or self.cli
        cli.say(prompt)
        cli.wait_for(QUESTION)

    def propose(self, name: str, new: str, proposal: str) -> None:
        """As `ask`; ends when both sides show the question."""
        self.ask(name, new)
        self.editor.do("wait_for", "proposal", proposal, self.path(name))

    def finish(self, name: str, cli: ClaudeCode | None = None) -> None:
        """Ends when the CLI waits for the next prompt and the editor has no diff left."""
        cli = cli or self.cli
        cli.wait_until(lambda screen: QUESTION not in screen, "no question any more")
        cli.wait_ready()
        self.editor.do("wait_for", "proposal", None, self.path(name))


class Decisions(Claude):
    def decide(self, how: str, path: str) -> None:
        if how == CLOSE:
            self.editor.do(CLOSE, path)
        elif how in (ALLOW, NO, ESCAPE):
            self.cli.answer(how)
        else:
            self.editor.do("command", how)

    def test_each_way_to_decide_leaves_the_file_as_it_was_decided(self) -> None:
        for name, before, change, typed, how, after in DECISIONS:
            with self.subTest(name):
                if before is not None:
                    self.editor.do("open", self.write(name, before))
                shown = (before or "two").replace("\r\n", "\n").replace("two", change)
                self.propose(name, change, shown)
                if typed:
                    self.editor.do("append", self.path(name), typed)
                self.decide(how, self.path(name))
                self.finish(name)
                self.assertEqual(self.read(name), after)
        for name, text in (("l.py", "one\n2\nmine\n"), ("m.py", "one\n2\nmine\n")):
            self.editor.do("wait_for", "named", text, f"{name} (your edits)")
        tabs = [tab for tab in self.editor.do("tabs") if "(your edits)" in tab]
        self.assertEqual(sorted(tabs), ["l.py (your edits)", "m.py (your edits)"])
        self.assertEqual(self.editor.do("unwritten"), 0)


class WithDay(Claude):
    """Twelve files that one answer of the model changes."""

    names = tuple(f"day{number}.py" for number in range(12))

    def begin_day(self) -> None:
        for name in self.names:
            self.write(name, "one\ntwo\n")
        paths = [self.path(name) for name in self.names]
        prompt = "change all files please"
        edits = [call("Edit", file_path=path, old_string="two", new_string="2") for path in paths]
        reads = [call("Read", file_path=path) for path in paths]
        self.model.will_play(prompt, reads, edits, ["The day is over."])
        self.cli.say(prompt)


class Day(WithDay):
    def test_each_is_shown_in_its_turn_and_decided_here_or_in_the_terminal(self) -> None:
        self.begin_day()
        for number, name in enumerate(self.names):
            path, typed = self.path(name), f"mine {number}\n" if number % 3 == 0 else ""
            self.editor.do("wait_for", "proposal", "one\n2\n", path)
            if typed:
                self.editor.do("append", path, typed)
            if number % 3 == 1:
                self.cli.wait_for(f"{QUESTION} make this edit to {name}?")
                self.cli.answer(ALLOW)
            else:
                self.editor.do("accept", path, f"one\n2\n{typed}")
            self.editor.do("wait_for", "holds", True, path, f"one\n2\n{typed}")
            self.editor.do("wait_for", "proposal", None, path)
        self.cli.wait_for("The day is over.")
        self.assertEqual(self.editor.do("unwritten"), 0)


class AcceptEditsDay(WithDay):
    """It writes without a question."""

    mode = "acceptEdits"

    @classmethod
    def new_cli(cls, **variables: str) -> ClaudeCode:
        settings = {"permissions": {"defaultMode": cls.mode}}
        with mock.patch.object(ClaudeCode, "settings", settings):
            return super().new_cli(**variables)

    def test_all_are_written_and_none_is_shown(self) -> None:
        self.begin_day()
        self.cli.wait_for("The day is over.")
        for name in self.names:
            self.assertEqual(self.read(name), "one\n2\n")
            self.assertEqual(self.editor.do("proposals", self.path(name)), [])
        self.assertEqual(self.editor.do("connected"), 1)


class AutoDay(AcceptEditsDay):
    mode = "auto"


class TwoWindows(Claude):
    @classmethod
    def new_cli(cls, **variables: str) -> ClaudeCode:
        """It trusts the folders of both."""
        path = os.path.join(cls.home, ".claude.json")
        if not os.path.exists(path):
            folders = (cls.folder, os.path.join(cls.root, "other"))
            trusted = {each: {"hasTrustDialogAccepted": True} for each in folders}
            with open(path, "w", encoding="utf-8") as file:
                json.dump({**CLAUDE_STATE, "projects": trusted}, file)
        return super().new_cli(**variables)

    def test_each_cli_has_the_window_of_its_folder_and_a_file_that_of_its_own(self) -> None:
        other = os.path.join(self.root, "other")
        os.mkdir(other)
        self.editor.do("open_window", other)
        wait_for(
            lambda: [lock["workspaceFolders"] for lock in self.locks()] == [[self.folder, other]]
        )
        with mock.patch.object(type(self), "folder", other):
            second = self.new_cli()
        self.editor.do("look_at_window", other)
        self.editor.do("wait_for", "connected", 1)
        mine, theirs = self.path("mine.py"), os.path.join(other, "theirs.py")
        # The first writes a file of the other window, and that one the first's.
        self.ask(theirs, "new")
        wait_for(lambda: self.editor.do("windows_of", theirs) == [other])
        self.ask(mine, "new", second)
        wait_for(lambda: self.editor.do("windows_of", mine) == [self.folder])
        self.editor.do("decide_in", other, ACCEPT)
        wait_for(lambda: os.path.exists(theirs))
        second.answer(NO)
        wait_for(lambda: self.editor.do("windows_of", mine) == [])
        self.assertFalse(os.path.exists(mine))
        self.cli.wait_ready()
        second.wait_ready()


class Context(Claude):
    def test_the_file_and_the_selection_of_the_editor_reach_the_model(self) -> None:
        path = self.write("seen.py", "first\nsecond line\n")
        self.editor.do("open", path)
        wait_for(lambda: LOOKED_AT.format("seen.py") in self.cli.told_by_editor())
        self.editor.do("select", path, 6, 12)
        wait_for(lambda: SELECTED in self.cli.told_by_editor())
        self.cli.say("what do I look at")
        self.model.wait_for_prompt("what do I look at")
        told = json.dumps(self.model.last_request())
        self.assertTrue(f"The user selected the lines 2 to 2 from {path}:\\nsecond\\n" in told)
        self.cli.wait_answered("what do I look at")

    def test_a_file_that_is_held_back_is_not_told_and_takes_back_what_was(self) -> None:
        shared = self.write("shared.py", "wombat\n")
        held_back = os.path.join(self.root, ".env.zebra")
        with open(held_back, "w", encoding="utf-8") as file:
            file.write("quagga\n")
        self.editor.do("open", shared)
        self.editor.do("select", shared, 0, 6)
        wait_for(lambda: SELECTED in self.cli.told_by_editor())
        self.editor.do("open", held_back)
        self.editor.do("select", held_back, 0, 6)
        wait_for(lambda: self.cli.told_by_editor() == "")
        self.cli.say("what is in front now")
        self.model.wait_for_prompt("what is in front now")
        told = json.dumps(self.model.last_request())
        for word in ("zebra", "quagga", "wombat"):
            self.assertNotIn(word, told)
        self.cli.wait_answered("what is in front now")

    def test_a_reference_is_typed_into_its_prompt_and_not_sent(self) -> None:
        path = self.write("named.py", "one\ntwo\nthree\n")
        self.editor.do("open", path)
        self.editor.do("select", path, 4, 7)
        self.editor.do("command", "gemini_companion_send_reference")
        wait_for(lambda: "@named.py#L2" in self.cli.input_area(self.cli.screen()))
        self.cli.press(ERASE_LINE)
        self.cli.wait_ready()


class Refusals(Claude):
    def tearDown(self) -> None:
        self.editor.do("project", {})

    def test_an_excluded_file_is_asked_about_in_the_terminal_alone(self) -> None:
        self.write(".env", "one\ntwo\n")
        self.ask(".env", "2")
        self.assertIsNone(self.editor.do("proposal", self.path(".env")))
        self.cli.answer(ALLOW)
        self.finish(".env")
        self.assertEqual(self.read(".env"), "one\n2\n")

    def test_without_the_setting_the_cli_is_told_nothing_and_asks_alone(self) -> None:
        self.assertEqual([lock["workspaceFolders"] for lock in self.locks()], [[self.folder]])
        self.write("alone.py", "one\ntwo\n")
        self.propose("alone.py", "2", "one\n2\n")
        self.editor.do("append", self.path("alone.py"), "mine\n")
        self.editor.do("project", {"claude_code": False})
        self.editor.do("wait_for", "connected", 0)
        wait_for(lambda: self.locks() == [])
        self.cli.answer(ALLOW)
        self.cli.wait_for("The end of alone.py.")
        self.assertEqual(self.read("alone.py"), "one\n2\n")
        # What was typed waits for the user.
        self.assertEqual(self.editor.do("proposal", self.path("alone.py")), "one\n2\nmine\n")
        self.editor.do("project", {})
        wait_for(lambda: len(self.locks()) == 1)


class Reloads(Claude):
    def test_a_reload_leaves_the_review_and_the_cli_comes_back(self) -> None:
        self.write("x.py", "one\ntwo\n")
        self.propose("x.py", "2", "one\n2\n")
        self.editor.do("append", self.path("x.py"), "mine\n")
        self.editor.do("reload_package")
        self.editor.do("wait_for", "connected", 1)
        self.assertEqual(self.editor.do("proposal", self.path("x.py")), "one\n2\nmine\n")
        self.editor.do("wait_for", "says", True, self.path("x.py"), "no longer waits")
        # It asks in its terminal still, and hears no decision of the editor any more.
        self.editor.do("command", ACCEPT)
        self.editor.do("wait_for", "unwritten", 1)
        self.cli.wait_for(QUESTION)
        self.cli.answer(NO)
        self.finish("x.py")
        self.assertEqual(self.read("x.py"), "one\ntwo\n")
        self.assertEqual(self.editor.do("unwritten"), 1)
        self.write("y.py", "one\ntwo\n")
        self.propose("y.py", "2", "one\n2\n")
        self.editor.do("command", ACCEPT)
        self.finish("y.py")
        self.assertEqual(self.read("y.py"), "one\n2\n")


class Kills(Claude):
    def test_a_killed_editor_loses_nothing_that_was_typed(self) -> None:
        for number in range(3):
            with self.subTest(number):
                name, kept = f"killed{number}.py", f"one\n2\nmine {number}\n"
                self.write(name, "one\ntwo\n")
                self.propose(name, "2", "one\n2\n")
                self.editor.do("append", self.path(name), f"mine {number}\n")
                self.editor.do("wait_until_saved", f"mine {number}")
                self.editor.kill()
                self.start_editor()
                self.editor.do("wait_for", "proposal", kept, self.path(name))
                self.editor.do("wait_for", "says", True, self.path(name), "no longer waits")
                self.editor.do("accept", self.path(name), kept)
                self.editor.do("wait_for", "unwritten", number + 1)
                self.cli.answer(NO)
                self.finish(name)
                self.assertEqual(self.read(name), "one\ntwo\n")
                # It has come back to the same port, with the same token.
                self.editor.do("wait_for", "connected", 1)


class Company(Claude):
    @unittest.skipUnless(os.path.isdir("/proc/self"), "this system does not tell a CLI's folder")
    def test_doctor_says_of_each_whether_it_is_connected_and_why_not(self) -> None:
        other = self.new_cli(CLAUDE_CODE_AUTO_CONNECT_IDE="false")
        # Each that runs in the window's folder has a section, the newest first.
        wait_for(lambda: len(self.sections()) == 2)
        alone, connected = self.sections()
        self.assertIn("FAILED  Connecting to editors: CLAUDE_CODE_AUTO_CONNECT_IDE is", alone)
        self.assertIn("ok      Connected: to this editor", connected)
        self.assertNotIn("FAILED", connected)
        other.kill()

    def sections(self) -> list[str]:
        """What Doctor's report says of each Claude Code that runs in the folder."""
        found = self.editor.reports("Claude Code")
        return [section for section in found if f", in {self.folder}:" in section]

    def test_two_clis_have_a_diff_each_for_the_same_file(self) -> None:
        self.write("both.py", "one\ntwo\nthree\n")
        other = self.new_cli()
        self.editor.do("wait_for", "connected", 2)
        self.propose("both.py", "2", "one\n2\nthree\n")
        self.ask("both.py", "3", other, old="three")
        shown = ["one\n2\nthree\n", "one\ntwo\n3\n"]
        wait_for(lambda: sorted(self.editor.do("proposals", self.path("both.py"))) == shown)
        # What one of them decides in its terminal leaves the other's diff.
        other.answer(NO)
        wait_for(lambda: self.editor.do("proposals", self.path("both.py")) == shown[:1])
        self.editor.do("command", ACCEPT)
        self.finish("both.py")
        self.assertEqual(self.read("both.py"), "one\n2\nthree\n")
        other.wait_ready()
        other.kill()
        self.editor.do("wait_for", "connected", 1)


@unittest.skipUnless(os.path.exists(GeminiCli.program), "Gemini CLI is not installed")
class BesideGemini(Claude):
    """Both change the same file, each for its own model."""

    def test_what_one_of_them_is_told_leaves_the_diff_of_the_other(self) -> None:
        path = self.write("both.py", "one\ntwo\n")
        theirs = ModelServer()
        theirs.__enter__()
        self.addCleanup(theirs.__exit__, None, None, None)
        home = os.path.join(self.root, "gemini")
        os.mkdir(home)
        variables = {"TMPDIR": os.path.join(self.root, "tmp")}
        gemini = GeminiCli(home, self.folder, theirs.url, variables)
        self.addCleanup(gemini.close)
        gemini.wait_connected()
        self.editor.do("wait_for", "connected", 2)
        ours, other = "one\n2\n", "one\ntwo\nthree\n"
        writes = call("write_file", file_path=path, content=other)

        def both_ask() -> None:
            self.propose("both.py", "2", ours)
            theirs.will_play("add a line", [writes], ["Gemini is done."])
            gemini.say("add a line")
            wait_for(lambda: self.editor.do("proposals", path) == [ours, other])

        both_ask()
        self.cli.answer(NO)
        wait_for(lambda: self.editor.do("proposals", path) == [other])
        self.editor.do("accept", path, other)
        gemini.wait_for("Gemini is done.")
        self.editor.do("wait_for", "holds", True, path, other)
        self.cli.wait_ready()
        self.write("both.py", "one\ntwo\n")
        both_ask()
        self.editor.do("accept", path, ours)
        self.editor.do("wait_for", "holds", True, path, ours)
        self.cli.wait_for("The end of both.py.")
        self.assertEqual(self.editor.do("proposals", path), [other])
        gemini.press(ESCAPE)
        wait_for(lambda: self.editor.do("proposals", path) == [])
        self.assertEqual(self.read("both.py"), ours)
        self.assertEqual(self.editor.do("unwritten"), 0)
