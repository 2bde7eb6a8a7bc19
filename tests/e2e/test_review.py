"""The review of proposals with the real Gemini CLI: change by change, one after another."""

from __future__ import annotations

import re

import session
from model_server import call
from session import QUESTION

from tests.waiting import wait_for


def rows(count: int, **changed: str) -> str:
    """Numbered lines, those named `_<number>` with another text."""
    return "".join(changed.get(f"_{at}", f"row {at}") + "\n" for at in range(1, count + 1))


class Reviews(session.Session):
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

    def test_the_old_diff_says_since_when_it_waits_and_a_click_lets_the_next_one_open(self) -> None:
        old, new = self.write("interrupted.py", b"old\n"), self.write("next.py", b"old\n")
        self.ask(old, "new\n", "write_file", content="new\n")
        self.cli.interrupt()
        self.cli.wait_until(lambda screen: QUESTION not in screen, "no question any more")
        self.ask_on(self.cli, new, "write_file", content="newer\n")
        wait_for(lambda: re.search(r"since \d\d:\d\d.*Release", self.editor.do("head", old)))
        self.assertIsNone(self.editor.do("proposal", new))
        self.editor.do("click", old, "Release")
        self.editor.do("wait_for", "proposal", "newer\n", new)
        self.editor.do("wait_for", "named", "new\n", "interrupted.py (released proposal)")
        self.editor.do("review", "accept_diff", new)
        self.finish(new)
        self.assertEqual((self.read(old), self.read(new)), (b"old\n", b"newer\n"))

    def test_on_one_file_they_are_told_apart_and_each_gets_its_own_decision(self) -> None:
        path, other = self.write("a.py", b"old\n"), self.new_cli()
        self.ask(path, "one\n", "write_file", content="one\n")
        self.ask_on(other, path, "write_file", content="two\n")
        self.editor.do("wait_for", "proposals", ["one\n", "two\n"], path)
        for number in (1, 2):
            named = re.compile(rf"gemini-cli\S* {number}\b|Gemini CLI {number}\b")
            wait_for(lambda: named.search(self.editor.do("head", path, number - 1)))  # noqa: B023
        self.editor.do("review", "reject_diff", path, 0)
        self.editor.do("wait_for", "proposals", ["two\n"], path)
        self.cli.wait_ready()
        other.wait_for(QUESTION)
        self.editor.do("review", "accept_diff", path)
        other.wait_ready()
        self.assertEqual(self.read(path), b"two\n")

    def test_marks_of_a_conflict_do_not_reach_the_file_by_an_answer_in_the_terminal(self) -> None:
        path = self.write("conflict.py", b"1\n2\n3\n")
        own = "1\ntwo\n3\n"
        self.ask(path, own, "write_file", content=own)
        self.write("conflict.py", b"1\nmine\n3\n")
        self.editor.do("review", "accept_diff", path)
        # Merge my changes.
        self.editor.do("choose", 2)
        marked = "1\n<<<<<<< proposal\ntwo\n=======\nmine\n>>>>>>> your changes\n3\n"
        self.editor.do("wait_for", "proposal", marked, path)
        self.cli.press("1")
        self.finish(path)
        self.assertEqual(self.read(path), own.encode())
        for name in ("conflict.py (before the edit)", "conflict.py (your edits)"):
            self.editor.do("wait_for", "has_tab", True, name)
        # An edit that was decided on in the terminal is one once the disk has it.
        self.editor.do("wait_for", "accepted_edits", 1, path)
        self.editor.do("run", "gemini_companion_undo_last_accepted")
        self.editor.do("wait_for", "on_disk", "1\nmine\n3\n", path)

    def test_a_tab_whose_unsaved_changes_were_merged_agrees_with_what_is_written(self) -> None:
        path = self.write("unsaved.py", b"1\n2\n3\n")
        self.editor.do("open", path)
        self.editor.do("type_in_file", path, "4\n")
        proposal = "one\n2\n3\n"
        self.ask(path, proposal, "write_file", content=proposal)
        self.editor.do("review", "accept_diff", path)
        # Merge my changes.
        self.editor.do("choose", 2)
        both = "one\n2\n3\n4\n"
        self.editor.do("wait_for", "proposal", both, path)
        self.editor.do("review", "accept_diff", path)
        self.finish(path)
        self.assertEqual(self.read(path), both.encode())
        self.editor.do("wait_for", "text", both, path)
        self.editor.do("wait_for", "is_unsaved", False, path)
