"""The real Gemini CLI, the package in an editor, and a person between them."""

from __future__ import annotations

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(os.path.dirname(HERE))]

import session  # noqa: E402
from cli import ALLOW, ESCAPE  # noqa: E402
from session import ACCEPT, REJECT  # noqa: E402

from tests.fake_cli import FakeCli  # noqa: E402
from tests.support import wait_for  # noqa: E402


class Context(session.Session):
    def test_file_cursor_and_selection_of_the_editor_reach_the_model(self) -> None:
        path = self.write("seen.py", b"first\nsecond line\n")
        watcher = FakeCli(self.editor.do("environment"))
        self.addCleanup(watcher.close)
        self.editor.do("open", path)
        self.editor.do("select", path, 6, 12)
        # The real one shows that it knows of the file, and not of the selection.
        wait_for(lambda: [it.get("selectedText") for it in watcher.context()] == ["second"])
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


class WithoutDiffs(session.Session):
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


class Decisions(session.Session):
    """In the editor and in the terminal, of one CLI."""

    def test_write_file_is_accepted(self) -> None:
        path = self.write("a.py", b"old\n")
        self.ask(path, "new\n", "write_file", content="new\n")
        self.editor.do("command", ACCEPT)
        self.finish(path)
        self.assertEqual(self.read(path), b"new\n")

    def test_write_file_is_edited_and_accepted(self) -> None:
        path = self.write("b.py", b"old\n")
        self.ask(path, "new\n", "write_file", content="new\n")
        self.editor.do("append", path, "mine: \u00e9 \U0001f600")
        self.editor.do("command", ACCEPT)
        self.finish(path)
        self.assertEqual(self.read(path), "new\nmine: \u00e9 \U0001f600".encode())

    def test_write_file_is_rejected(self) -> None:
        path = self.write("c.py", b"old\n")
        self.ask(path, "new\n", "write_file", content="new\n")
        self.editor.do("command", REJECT)
        self.finish(path)
        self.assertEqual(self.read(path), b"old\n")

    def test_replace_is_accepted(self) -> None:
        path = self.write("d.py", b"one\ntwo\nthree\n")
        change = {"instruction": "x", "old_string": "two", "new_string": "2"}
        self.ask(path, "one\n2\nthree\n", "replace", **change)
        self.editor.do("command", ACCEPT)
        self.finish(path)
        self.assertEqual(self.read(path), b"one\n2\nthree\n")

    def test_replace_is_edited_and_accepted(self) -> None:
        path = self.write("e.py", b"one\ntwo\nthree\n")
        change = {"instruction": "x", "old_string": "two", "new_string": "2"}
        self.ask(path, "one\n2\nthree\n", "replace", **change)
        self.editor.do("append", path, "four\n")
        self.editor.do("command", ACCEPT)
        self.finish(path)
        self.assertEqual(self.read(path), b"one\n2\nthree\nfour\n")

    def test_replace_is_rejected_by_closing_the_tab(self) -> None:
        path = self.write("f.py", b"one\ntwo\nthree\n")
        change = {"instruction": "x", "old_string": "two", "new_string": "2"}
        self.ask(path, "one\n2\nthree\n", "replace", **change)
        self.editor.do("close_tab", path)
        self.finish(path)
        self.assertEqual(self.read(path), b"one\ntwo\nthree\n")

    def test_a_new_file_is_accepted(self) -> None:
        path = os.path.join(self.folder, "g.py")
        self.ask(path, "print(1)\n", "write_file", content="print(1)\n")
        self.editor.do("command", ACCEPT)
        self.finish(path)
        self.assertEqual(self.read(path), b"print(1)\n")

    def test_a_new_file_is_edited_and_accepted(self) -> None:
        path = os.path.join(self.folder, "h.py")
        self.ask(path, "print(1)", "write_file", content="print(1)")
        self.editor.do("append", path, "  # one")
        self.editor.do("command", ACCEPT)
        self.finish(path)
        self.assertEqual(self.read(path), b"print(1)  # one")

    def test_a_new_file_is_rejected(self) -> None:
        path = os.path.join(self.folder, "i.py")
        self.ask(path, "print(1)\n", "write_file", content="print(1)\n")
        self.editor.do("command", REJECT)
        self.finish(path)
        self.assertFalse(os.path.exists(path))

    def test_a_file_with_windows_line_ends_keeps_them(self) -> None:
        path = self.write("j.py", b"one\r\ntwo\r\nthree\r\n")
        change = {"instruction": "x", "old_string": "two", "new_string": "2"}
        self.ask(path, "one\n2\nthree\n", "replace", **change)
        self.editor.do("append", path, "four\n")
        self.editor.do("command", ACCEPT)
        self.finish(path)
        self.assertEqual(self.read(path), b"one\r\n2\r\nthree\r\nfour\r\n")

    def test_an_open_file_shows_what_the_cli_wrote(self) -> None:
        path = self.write("k.py", b"old\n")
        self.editor.do("open", path)
        self.ask(path, "new\n", "write_file", content="new\n")
        self.editor.do("command", ACCEPT)
        self.finish(path)
        self.editor.do("wait_for", "text", "new\n", path)

    def nothing_comes_back(self, name: str) -> None:
        """The file has the text: a later one that does come back is the first to do so."""
        later = self.write("later.py", b"old\n")
        self.ask(later, "new\n", "write_file", content="new\n")
        self.editor.do("append", later, "mine\n")
        self.cli.press(ESCAPE)
        self.editor.do("wait_for", "named", "new\nmine\n", "later.py (your edits)")
        self.assertNotIn(f"{name} (your edits)", self.editor.do("tabs"))

    def test_write_file_is_allowed_in_the_terminal(self) -> None:
        path = self.write("a_terminal.py", b"old\n")
        self.ask(path, "new\n", "write_file", content="new\n")
        self.cli.press(ALLOW)
        self.finish(path)
        self.assertEqual(self.read(path), b"new\n")

    def test_what_was_edited_in_the_editor_counts_when_the_terminal_allows_it(self) -> None:
        path = self.write("b_terminal.py", b"one\ntwo\n")
        change = {"instruction": "x", "old_string": "two", "new_string": "2"}
        self.ask(path, "one\n2\n", "replace", **change)
        self.editor.do("append", path, "mine\n")
        self.cli.press(ALLOW)
        self.finish(path)
        self.assertEqual(self.read(path), b"one\n2\nmine\n")
        self.nothing_comes_back("b_terminal.py")

    def test_replace_is_refused_in_the_terminal(self) -> None:
        path = self.write("c_terminal.py", b"one\ntwo\n")
        change = {"instruction": "x", "old_string": "two", "new_string": "2"}
        self.ask(path, "one\n2\n", "replace", **change)
        self.cli.press(ESCAPE)
        self.finish(path)
        self.assertEqual(self.read(path), b"one\ntwo\n")

    def test_what_was_edited_in_the_editor_comes_back_when_the_terminal_refuses(self) -> None:
        path = self.write("e_terminal.py", b"one\ntwo\n")
        change = {"instruction": "x", "old_string": "two", "new_string": "2"}
        self.ask(path, "one\n2\n", "replace", **change)
        self.editor.do("append", path, "mine\n")
        self.cli.press(ESCAPE)
        self.finish(path)
        self.editor.do("wait_for", "named", "one\n2\nmine\n", "e_terminal.py (your edits)")
        self.assertEqual(self.read(path), b"one\ntwo\n")

    def test_a_new_file_is_allowed_in_the_terminal(self) -> None:
        path = os.path.join(self.folder, "d_terminal.py")
        self.ask(path, "print(1)\n", "write_file", content="print(1)\n")
        self.cli.press(ALLOW)
        self.finish(path)
        self.assertEqual(self.read(path), b"print(1)\n")


class Faults(session.Session):
    def test_a_package_upgraded_while_a_diff_is_open_goes_unnoticed(self) -> None:
        path = self.write("a.py", b"old\n")
        self.ask(path, "new\n", "write_file", content="new\n")
        self.editor.do("append", path, "mine\n")
        self.editor.do("reload_package")
        self.editor.do("command", ACCEPT)
        self.finish(path)
        self.assertEqual(self.read(path), b"new\nmine\n")
        self.cli.wait_connected()

    def test_a_decision_just_before_an_upgrade_is_told_once(self) -> None:
        path = self.write("c.py", b"old\n")
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
        path = self.write("b.py", b"one\ntwo\n")
        change = {"instruction": "x", "old_string": "two", "new_string": "2"}
        self.ask(path, "one\n2\n", "replace", **change)
        self.editor.do("append", path, "mine\n")
        self.editor.do("reload_package")
        self.editor.do("wait_for", "connected", 1)
        self.cli.press(ALLOW)
        self.finish(path)
        self.assertEqual(self.read(path), b"one\n2\nmine\n")
