"""The real Gemini CLI, the package in an editor, and a person between them."""

from __future__ import annotations

import os

import session
from cli import ALLOW, ESCAPE
from session import ACCEPT, REJECT

from tests.fake_cli import FakeCli
from tests.support import wait_for

setUpModule, tearDownModule = session.Shared.begin, session.Shared.end

# A file, None where there is none; what a call makes of it; what the user types below; the decision
# in the editor (a command, or CLOSE) or in the terminal (a key); the file afterwards.
CLOSE = "close_tab"
LINES = "one\ntwo\nthree\n"
CHANGED = {"instruction": "x", "old_string": "two", "new_string": "2"}
DECISIONS = (
    ("a.py", "old\n", "new\n", "", ACCEPT, "new\n"),
    ("b.py", "old\n", "new\n", "mine: \u00e9 \U0001f600", ACCEPT, "new\nmine: \u00e9 \U0001f600"),
    ("c.py", "old\n", "new\n", "", REJECT, "old\n"),
    ("d.py", LINES, CHANGED, "", ACCEPT, "one\n2\nthree\n"),
    ("e.py", LINES, CHANGED, "four\n", ACCEPT, "one\n2\nthree\nfour\n"),
    ("f.py", LINES, CHANGED, "", CLOSE, LINES),
    ("g.py", None, "print(1)\n", "", ACCEPT, "print(1)\n"),
    ("h.py", None, "print(1)", "  # one", ACCEPT, "print(1)  # one"),
    ("i.py", None, "print(1)\n", "", REJECT, None),
    ("j.py", "one\r\ntwo\r\n", CHANGED, "four\n", ACCEPT, "one\r\n2\r\nfour\r\n"),
    ("k.py", "old\n", "new\n", "", ALLOW, "new\n"),
    ("l.py", None, "print(1)\n", "", ALLOW, "print(1)\n"),
    ("m.py", LINES, CHANGED, "", ESCAPE, LINES),
    # What was typed is written here, and comes back there.
    ("n.py", LINES, CHANGED, "mine\n", ALLOW, "one\n2\nthree\nmine\n"),
    ("o.py", LINES, CHANGED, "mine\n", ESCAPE, LINES),
)


class Context(session.Shared):
    def test_file_cursor_and_selection_of_the_editor_reach_the_model(self) -> None:
        path = self.write("seen.py", b"first\nsecond line\n")
        watcher = FakeCli(self.editor.do("environment"))
        self.addCleanup(watcher.close)
        self.editor.do("open", path)
        self.editor.do("select", path, 6, 12)
        # The real one shows that it knows of the file, and not of the selection.
        wait_for(lambda: [file.get("selectedText") for file in watcher.context()] == ["second"])
        self.cli.wait_for("1 open file")
        self.cli.say("what do I look at")
        prompt = self.model.wait_for_prompt("what do I look at")
        self.assertIn(f'"path": "{path}"', prompt)
        self.assertIn('"line": 2', prompt)
        self.assertIn('"character": 7', prompt)
        self.assertIn('"selectedText": "second"', prompt)
        self.cli.wait_answered("what do I look at")

    def test_files_that_are_held_back_are_in_no_request_to_the_model(self) -> None:
        # Elsewhere, for the CLI lists its own folder by itself.
        held_back = os.path.join(self.root, ".env.zebra")
        with open(held_back, "w", encoding="utf-8") as file:
            file.write("quagga\n")
        self.editor.do("open", held_back)
        self.editor.do("select", held_back, 0, 6)
        self.editor.do("open", self.write("other.py", b"other\n"))
        self.cli.wait_for("2 open files")
        self.editor.do("focus", held_back)
        self.cli.say("what is in front now")
        self.assertIn("other.py", self.model.wait_for_prompt("what is in front now"))
        sent = self.model.received()
        self.assertNotIn("zebra", sent)
        self.assertNotIn("quagga", sent)


class Decisions(session.Shared):
    def decide(self, how: str, path: str) -> None:
        if how == CLOSE:
            self.editor.do(CLOSE, path)
        elif how in (ALLOW, ESCAPE):
            self.cli.press(how)
        else:
            self.editor.do("command", how)

    def test_each_way_to_decide_leaves_the_file_as_it_was_decided(self) -> None:
        for name, before, change, typed, how, after in DECISIONS:
            with self.subTest(name):
                path = os.path.join(self.folder, name)
                if before is not None:
                    self.write(name, before.encode())
                    self.editor.do("open", path)
                if isinstance(change, str):
                    self.ask(path, change, "write_file", content=change)
                else:
                    shown = (before or "").replace("\r\n", "\n").replace("two", "2")
                    self.ask(path, shown, "replace", **change)
                if typed:
                    self.editor.do("append", path, typed)
                self.decide(how, path)
                self.finish(path)
                self.assertEqual(os.path.exists(path), after is not None)
                if after is not None:
                    self.assertEqual(self.read(path), after.encode())
                    if before is not None:
                        shown = after.replace("\r\n", "\n")
                        self.editor.do("wait_for", "text", shown, path)
        self.editor.do("wait_for", "named", "one\n2\nthree\nmine\n", "o.py (your edits)")
        tabs = [tab for tab in self.editor.do("tabs") if "(your edits)" in tab]
        self.assertEqual(tabs, ["o.py (your edits)"])


class Faults(session.Shared):
    def test_a_package_upgraded_while_a_diff_is_open_goes_unnoticed(self) -> None:
        path = self.write("x.py", b"old\n")
        self.ask(path, "new\n", "write_file", content="new\n")
        self.editor.do("append", path, "mine\n")
        self.editor.do("reload_package")
        self.editor.do("command", ACCEPT)
        self.finish(path)
        self.assertEqual(self.read(path), b"new\nmine\n")
        self.cli.wait_connected()

    def test_a_decision_just_before_an_upgrade_is_told_once(self) -> None:
        path = self.write("y.py", b"old\n")
        self.ask(path, "new\n", "write_file", content="new\n")
        self.editor.do("command", ACCEPT)
        self.editor.do("wait_for", "proposal", None, path)
        self.editor.do("reload_package")
        self.finish(path)
        self.assertEqual(self.read(path), b"new\n")
        self.editor.do("wait_for", "connected", 1)
        # A second acceptance would be taken for the answer to this one.
        self.ask(path, "newer\n", "write_file", content="newer\n")
        self.editor.do("command", REJECT)
        self.finish(path)
        self.assertEqual(self.read(path), b"new\n")
        self.cli.wait_connected()

    def test_a_decision_in_the_terminal_after_an_upgrade_finds_the_diff(self) -> None:
        path = self.write("z.py", b"one\ntwo\n")
        self.ask(path, "one\n2\n", "replace", **CHANGED)
        self.editor.do("append", path, "mine\n")
        self.editor.do("reload_package")
        self.editor.do("wait_for", "connected", 1)
        self.cli.press(ALLOW)
        self.finish(path)
        self.assertEqual(self.read(path), b"one\n2\nmine\n")


class WithoutDiffs(session.Shared):
    """The last, for the window keeps its setting."""

    def test_the_terminal_alone_asks_also_a_cli_that_knew_the_tools(self) -> None:
        for name in ("before.py", "after.py"):
            path = self.write(name, b"old\n")
            self.editor.do("project", {"diffs": False})
            cli = self.cli if name == "before.py" else self.new_cli()
            self.ask_on(cli, path, "write_file", content="new\n")
            self.assertIsNone(self.editor.do("proposal", path))
            cli.press(ALLOW)
            cli.wait_for(f"The end of {name}.")
            self.assertEqual(self.read(path), b"new\n")
