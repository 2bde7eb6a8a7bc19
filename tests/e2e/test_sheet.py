"""The sheet of all changes, with two of the real Gemini CLI."""

from __future__ import annotations

import os

import session

from tests.support import wait_for


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


class WithoutTabs(session.Session):
    def three_wait(self, names: str) -> list[str]:
        """Three CLIs ask about a file each, so that the last one has no tabs."""
        clis = self.cli, self.new_cli(), self.new_cli()
        paths = [self.write(f"{name}.py", b"old\n") for name in names]
        for cli, path in zip(clis, paths):
            self.ask_on(cli, path, "write_file", content="theirs\n")
            self.editor.do("wait_for", "proposal", "theirs\n", path)
        self.editor.do("command", "gemini_companion_show_changes", {"show": "tab"})
        self.editor.do("wait_for", "begins_with", True, "Changes", "3 proposals in 3 files:")
        self.assertEqual(self.editor.do("tabs_of_diffs"), 4)
        self.editor.do("type_below", "Changes", f"## {names[-1]}.py", "theirs", " mine")
        self.editor.do("wait_for", "proposal", "theirs mine\n", paths[-1])
        return paths

    def test_all_are_accepted_in_the_sheet_and_their_clis_write_them(self) -> None:
        *others, last = self.three_wait("abc")
        self.editor.do("command", "save")
        self.editor.do("choose", 0)
        for path in others:
            self.editor.do("wait_for", "holds", True, path, "theirs\n")
        self.editor.do("wait_for", "holds", True, last, "theirs mine\n")
        self.editor.do("wait_for", "begins_with", True, "Changes", "No changes wait")

    def test_what_was_typed_into_one_is_there_after_the_editor_was_killed(self) -> None:
        paths = self.three_wait("def")
        self.editor.do("wait_for", "is_kept_without_tabs", True, "theirs mine\n")
        # What the companion does not know is rejected after the start.
        state = os.path.join(self.root, "data", "Cache", "GeminiCompanion", "state.json")
        wait_for(lambda: paths[-1].encode() in self.read(state))
        self.editor.kill()
        type(self).editor = self.new_editor()
        self.editor.do("wait_until_served")
        for path, text in zip(paths, ("theirs\n", "theirs\n", "theirs mine\n")):
            self.editor.do("wait_for", "proposal", text, path)
