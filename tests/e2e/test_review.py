"""The review of proposals with the real Gemini CLI: change by change, one after another, undone."""

from __future__ import annotations

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import session  # noqa: E402
import terminus  # noqa: E402
from cli import GeminiCli  # noqa: E402
from editor import Editor  # noqa: E402
from model_server import call  # noqa: E402
from session import QUESTION  # noqa: E402


def rows(count: int, **changed: str) -> str:
    """Numbered lines, those named `_<number>` with another text."""
    return "".join(changed.get(f"_{at}", f"row {at}") + "\n" for at in range(1, count + 1))


class Reviews(session.Session):
    def test_a_change_far_down_is_before_the_eyes_on_both_sides(self) -> None:
        path = self.write("far.py", rows(900).encode())
        change = {"instruction": "x", "old_string": "row 880\n", "new_string": "another\n"}
        self.ask(path, rows(900, _880="another"), "replace", **change)
        self.editor.do("wait_for", "says", True, path, "+1 -1, change 1 of 1, 0 of 1 seen")
        left, right = self.editor.do("in_sight", path)
        self.assertIn("row 880", left)
        self.assertIn("another", right)
        self.assertNotIn("row 1", left + right)
        self.editor.do("review", "accept_diff", path)
        self.finish(path)
        self.assertEqual(self.read(path), rows(900, _880="another").encode())

    def test_of_five_changes_two_are_dropped_one_is_typed_anew_and_the_file_is_that(self) -> None:
        path = self.write("five.py", rows(60).encode())
        five = rows(60, _5="five", _15="fifteen", _25="25", _35="35\n35b", _45="45")
        self.ask(path, five, "write_file", content=five)
        self.editor.do("wait_for", "says", True, path, "+6 -5, change 1 of 5, 0 of 5 seen")
        for name, words in (
            ("keep_change", "change 2 of 5, 1 of 5 seen"),
            ("drop_change", "+5 -4, change 2 of 4"),
        ):
            self.editor.do("review", name, path)
            self.editor.do("wait_for", "says", True, path, words)
        self.editor.do("retype", path, "25\n", "mine: \u00e9\n")
        self.editor.do("review", "next_change", path)
        self.editor.do("wait_for", "says", True, path, "change 3 of 4")
        self.editor.do("review", "drop_change", path)
        wanted = rows(60, _5="five", _25="mine: \u00e9", _45="45")
        self.editor.do("wait_for", "proposal", wanted, path)
        self.editor.do("review", "accept_diff", path)
        self.finish(path)
        self.assertEqual(self.read(path), wanted.encode())

    def test_three_files_of_one_turn_are_decided_one_after_another(self) -> None:
        paths = [self.write(f"turn{at}.py", b"old\n") for at in range(3)]
        edits = [call("write_file", file_path=each, content="new\n") for each in paths]
        chunk = {"candidates": [{"content": {"role": "model", "parts": edits}, "index": 0}]}
        chunk["candidates"][0]["finishReason"] = "STOP"
        self.model.will_play("change all three", [chunk], ["All are done."])
        self.cli.say("change all three")
        for path in paths:
            self.editor.do("wait_for", "proposal", "new\n", path)
            self.editor.do("review", "accept_diff_and_next", path)
        self.finish(paths[-1])
        self.assertEqual([self.read(path) for path in paths], [b"new\n"] * 3)

    def test_a_link_decides_on_its_own_diff_while_the_keyboard_is_elsewhere(self) -> None:
        mine = self.write("mine.py", b"mine\n")
        self.editor.do("open", mine)
        path = self.write("link.py", b"old\n")
        self.ask(path, "new\n", "write_file", content="new\n")
        self.editor.do("focus", mine)
        self.editor.do("click", path, "Accept")
        self.finish(path)
        self.assertEqual(self.read(path), b"new\n")
        self.assertEqual(self.editor.do("text", mine), "mine\n")

    def accept(self, name: str) -> str:
        path = self.write(name, b"old\r\ntwo\r\n")
        self.editor.do("open", path)
        self.ask(path, "new\ntwo\n", "write_file", content="new\ntwo\n")
        self.editor.do("review", "accept_diff", path)
        self.finish(path)
        self.editor.do("wait_for", "text", "new\ntwo\n", path)
        self.assertEqual(self.read(path), b"new\r\ntwo\r\n")
        return path

    def test_an_accepted_edit_is_taken_back_in_the_file_and_in_its_tab(self) -> None:
        path = self.accept("undone.py")
        self.editor.do("run", "gemini_companion_show_accepted_edits", 0, 1)
        self.editor.do("wait_for", "text", "old\ntwo\n", path)
        self.assertEqual(self.read(path), b"old\r\ntwo\r\n")

    def test_what_somebody_wrote_meanwhile_is_not_overwritten(self) -> None:
        path = self.accept("touched.py")
        self.write("touched.py", b"somebody's\n")
        self.editor.do("run", "gemini_companion_show_accepted_edits", 0, 1)
        self.editor.do("wait_for", "named", "somebody's\n", "touched.py (as it is now)")
        self.assertEqual(self.read(path), b"somebody's\n")
        self.assertEqual(self.editor.do("named", "touched.py (before the edit)"), "old\ntwo\n")

    def test_the_old_diff_says_since_when_it_waits_and_a_click_lets_the_next_one_open(self) -> None:
        old, new = self.write("interrupted.py", b"old\n"), self.write("next.py", b"old\n")
        self.ask(old, "new\n", "write_file", content="new\n")
        self.cli.interrupt()
        self.cli.wait_until(lambda screen: QUESTION not in screen, "no question any more")
        self.ask_on(self.cli, new, "write_file", content="newer\n")
        head = self.editor.do("head", old)
        self.assertRegex(head, r"since \d\d:\d\d.*Release")
        self.assertIsNone(self.editor.do("proposal", new))
        self.editor.do("click", old, "Release")
        self.editor.do("wait_for", "proposal", "newer\n", new)
        self.editor.do("wait_for", "named", "new\n", "interrupted.py (released proposal)")
        self.editor.do("review", "accept_diff", new)
        self.finish(new)
        self.assertEqual((self.read(old), self.read(new)), (b"old\n", b"newer\n"))

    def test_a_released_diff_lets_it_go_on_to_its_next_edit(self) -> None:
        path = self.write("released.py", b"old\n")
        self.ask(path, "new\n", "write_file", content="new\n")
        self.cli.interrupt()
        self.cli.wait_until(lambda screen: QUESTION not in screen, "no question any more")
        self.ask_on(self.cli, path, "write_file", content="newer\n")
        self.assertEqual(self.editor.do("proposal", path), "new\n")
        self.editor.do("command", "gemini_companion_release_diff")
        self.editor.do("wait_for", "proposal", "newer\n", path)
        self.editor.do("command", "gemini_companion_accept_diff")
        self.finish(path)
        self.assertEqual(self.read(path), b"newer\n")


class Notes(session.Session):
    @classmethod
    def new_editor(cls, temp: str = "") -> Editor:
        terminus.install(os.path.join(cls.root, "data"))
        return super().new_editor(temp)

    def setUp(self) -> None:
        self.editor.do("close_terminals")

    def reject(self, name: str, note: str) -> None:
        path = self.write(name, b"old\n")
        self.ask(path, "new\n", "write_file", content="new\n")
        self.editor.do("review", "reject_diff_with_note", path)
        self.editor.do("type_in_panel", note)
        self.finish(path)
        self.assertEqual(self.read(path), b"old\n")

    def test_a_note_is_on_the_clipboard_or_in_the_prompt_of_the_terminal(self) -> None:
        self.reject("a.py", "shorter, please")
        self.assertEqual(self.editor.do("clipboard"), "shorter, please")
        self.editor.do("wait_for", "is_told", True, "clipboard")
        self.editor.do("open_terminal", "Gemini CLI", self.folder)
        self.reject("b.py", "no, longer")
        # Between the brackets of a paste, so that no line end sends it off.
        pasted = "\x1b[200~no, longer\x1b[201~"
        self.editor.do("wait_for", "named", pasted, "Gemini CLI")
        # The real CLI takes it that way.
        self.cli.press(pasted)
        self.cli.wait_for("> no, longer")
        self.assertNotIn("no, longer", "".join(self.model.prompts()))

    def test_a_note_waits_until_the_question_of_the_cli_is_gone(self) -> None:
        path = self.write("c.py", b"old\n")
        self.ask(path, "new\n", "write_file", content="new\n")
        asking = self.cli.title()
        self.editor.do("open_terminal", asking, self.folder)
        self.editor.do("review", "reject_diff_with_note", path)
        self.editor.do("type_in_panel", "not yet")
        self.cli.wait_until(lambda _screen: self.cli.title() != asking, "another title")
        self.assertEqual(self.editor.do("named", asking), "")
        self.editor.do("name_terminal", asking, self.cli.title())
        pasted = "\x1b[200~not yet\x1b[201~"
        self.editor.do("wait_for", "named", pasted, self.cli.title())
        self.cli.press(pasted)
        self.cli.wait_for("> not yet")


class TwoClis(session.Session):
    other: GeminiCli

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.other = cls.new_cli()

    def test_on_one_file_they_are_told_apart_and_each_gets_its_own_decision(self) -> None:
        path = self.write("a.py", b"old\n")
        self.ask(path, "one\n", "write_file", content="one\n")
        self.ask_on(self.other, path, "write_file", content="two\n")
        self.editor.do("wait_for", "proposals", ["one\n", "two\n"], path)
        heads = [self.editor.do("head", path, number) for number in range(2)]
        for number, head in enumerate(heads, 1):
            self.assertRegex(head, rf"gemini-cli\S* {number}\b|Gemini CLI {number}\b")
        self.editor.do("review", "reject_diff", path, 0)
        self.editor.do("wait_for", "proposals", ["two\n"], path)
        self.cli.wait_ready()
        self.assertIn(QUESTION, self.other.screen())
        self.editor.do("review", "accept_diff", path)
        self.other.wait_ready()
        self.assertEqual(self.read(path), b"two\n")

    def test_the_second_to_be_accepted_is_asked_about_the_first(self) -> None:
        path = self.write("b.py", b"old\n")
        self.ask(path, "one\n", "write_file", content="one\n")
        self.ask_on(self.other, path, "write_file", content="two\n")
        self.editor.do("wait_for", "proposals", ["one\n", "two\n"], path)
        self.editor.do("accept", path, "two\n")
        self.other.wait_ready()
        self.assertEqual(self.read(path), b"two\n")
        self.assertEqual(self.editor.do("proposals", path), ["one\n"])
        self.assertIn(QUESTION, self.cli.screen())
        # The file is not what the first proposal was made for: that is asked.
        self.editor.do("accept", path, "one\n")
        self.editor.do("choose", 1)
        self.finish(path)
        self.assertEqual(self.read(path), b"one\n")
