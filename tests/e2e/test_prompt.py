"""What the editor puts into the prompt of the real Gemini CLI."""

from __future__ import annotations

import os

import session
import terminus
from cli import input_area
from editor import Editor

TERMINAL = "\u25c7  Ready (work)"


class Prompt(session.Session):
    @classmethod
    def new_editor(cls, temp: str = "") -> Editor:
        terminus.install(os.path.join(cls.root, "data"))
        return super().new_editor(temp)

    def setUp(self) -> None:
        self.editor.do("close_terminals")
        self.cli.wait_ready()

    def send(self, name: str, **arguments: str) -> str:
        """Run the command; gives what reaches the terminal, and hands it to the real CLI."""
        self.editor.do("open_terminal", TERMINAL, self.folder)
        self.editor.do("command", "gemini_companion_" + name, arguments)
        self.editor.do("wait_for", "ends_with", True, TERMINAL, "\x1b[201~")
        text = str(self.editor.do("named", TERMINAL))
        self.cli.press(text)
        return text

    def test_code_with_references_stands_in_the_prompt_and_is_not_sent_off(self) -> None:
        path = self.write("my shop.py", b"one\ntwo\nthree\n")
        self.editor.do("open", path)
        self.editor.do("select", path, 4, 7)
        text = self.send("send_selection")
        expected = "\x1b[200~@my\\ shop.py#L2\n```python\ntwo\n```\n\x1b[201~"
        self.assertEqual(text, expected)
        words = "@my\\ shop.py#L2", "two"
        self.cli.wait_until(
            lambda screen: all(word in input_area(screen) for word in words), "both"
        )
        self.assertNotIn("#L2", "".join(self.model.prompts()))
        self.cli.enter()
        self.cli.wait_answered("@my\\ shop.py#L2")

    def test_the_cli_reads_the_file_that_was_sent_by_a_name_full_of_signs(self) -> None:
        path = self.write("a (1) & 'b', c!.py", b"the text of it\n")
        self.editor.do("open", path)
        self.send("prompt", text="Review $file. Be kind.")
        self.cli.wait_until(lambda screen: "Be kind." in input_area(screen), "the prompt")
        self.assertNotIn("Be kind.", "".join(self.model.prompts()))
        self.cli.enter()
        self.cli.wait_until(lambda _: "the text of it" in "".join(self.model.prompts()), "it read")

    def test_a_text_that_would_end_the_paste_does_not(self) -> None:
        path = self.write("bad.txt", b"\x1b[201~\rsent off\r")
        self.editor.do("open", path)
        self.editor.do("select", path, 0, 6)
        self.send("send_selection")
        self.cli.wait_until(lambda screen: "\u241b[201~" in input_area(screen), "the picture")
        self.assertNotIn("201~", "".join(self.model.prompts()))
        self.cli.enter()
        self.cli.wait_answered("\u241b[201~")

    def reject(self, name: str, note: str) -> None:
        path = self.write(name, b"old\n")
        self.ask(path, "new\n", "write_file", content="new\n")
        self.editor.do("review", "reject_diff_with_note", path)
        self.editor.do("type_in_panel", note)
        self.finish(path)
        self.assertEqual(self.read(path), b"old\n")

    def test_a_note_is_on_the_clipboard_or_in_the_prompt_of_the_terminal(self) -> None:
        self.reject("a.py", "shorter, please")
        self.editor.do("wait_for", "clipboard", "shorter, please")
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
