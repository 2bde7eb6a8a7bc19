"""What the editor tells an agent with a message."""

from __future__ import annotations

import unittest

from GeminiCompanion.companion.chat.editor_context import HEAD, as_problems, context_text

FRONT = {"path": "/w/src/a.py", "isActive": True, "cursor": {"line": 3, "character": 7}}


class Text(unittest.TestCase):
    def test_files_are_named_from_the_folder_and_the_one_in_front_with_its_line(self) -> None:
        told = context_text([FRONT, {"path": "/w/b.py"}, {"path": "/else/c.py"}], "/w")
        self.assertEqual(told, f"{HEAD}In front: src/a.py, line 3. Open: b.py, /else/c.py.")

    def test_a_selection_cannot_end_its_own_quotation(self) -> None:
        told = context_text([{**FRONT, "selectedText": "```\nend\n````"}], "/w")
        self.assertTrue(told.endswith("Selected:\n`````\n```\nend\n````\n`````"), told)

    def test_a_path_stays_in_its_line(self) -> None:
        self.assertEqual(context_text([{"path": "/w/a\n# b"}], "/w"), f"{HEAD}Open: a # b.")

    def test_problems_are_named_by_file_and_line_and_are_not_many(self) -> None:
        self.assertEqual(as_problems([], "/w"), "")
        told = as_problems([("/w/a.py", ["line 1: wrong", "x" * 400]), ("/b", ["y"] * 30)], "/w")
        first, *lines = told.splitlines()
        self.assertTrue(first.startswith(HEAD))
        self.assertEqual((lines[0], lines[2], len(lines)), ("a.py, line 1: wrong", "/b, y", 21))
        self.assertEqual((len(lines[1]), lines[-1]), (303, "(12 more are left out.)"))

    def test_without_files_there_is_nothing(self) -> None:
        self.assertEqual(context_text([], "/w"), "")
