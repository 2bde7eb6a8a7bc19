"""The sheet of all changes, with two of the real Gemini CLI."""

from __future__ import annotations

import session


class Sheet(session.Session):
    def test_files_of_two_clis_are_typed_in_and_accepted_in_one_sheet_and_are_that(self) -> None:
        first, second = self.write("first.py", b"old\n"), self.write("second.py", b"old\n")
        self.ask(first, "one\n", "write_file", content="one\n")
        self.ask_on(self.new_cli(), second, "write_file", content="two\n")
        self.editor.do("command", "gemini_companion_show_changes", {"show": "tab"})
        wanted = "2 proposals in 2 files: 2 lines added, 2 removed\n"
        self.editor.do("wait_for", "begins_with", True, "Changes", wanted)
        self.editor.do("retype_named", "Changes", "two\n", "mine\n")
        self.editor.do("wait_for", "proposal", "mine\n", second)
        self.editor.do("command", "save")
        self.editor.do("choose", 0)
        self.editor.do("wait_for", "holds", True, first, "one\n")
        self.editor.do("wait_for", "holds", True, second, "mine\n")
        self.editor.do("wait_for", "begins_with", True, "Changes", "No changes wait")
