"""What the editor puts into the prompt of the real Gemini CLI."""

from __future__ import annotations

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import session  # noqa: E402
import terminus  # noqa: E402
from cli import input_area  # noqa: E402
from editor import Editor  # noqa: E402

TERMINAL = "\u25c7  Ready (work)"


class Sending(session.Session):
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
        self.cli.wait_until(lambda screen: "two" in input_area(screen), "the code")
        self.assertIn("@my\\ shop.py#L2", input_area(self.cli.screen()))
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
