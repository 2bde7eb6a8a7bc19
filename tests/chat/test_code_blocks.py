"""Blocks of code as they stand in answers."""

from __future__ import annotations

import unittest

from GeminiCompanion.companion.chat.code_blocks import code_blocks


class CodeBlocks(unittest.TestCase):
    def test_the_code_is_what_stands_between_the_fences(self) -> None:
        for text, expected in (
            ("```py\nx = 1\n```\n", ["x = 1\n"]),
            ("~~~\na\n```\nb\n~~~\n", ["a\n```\nb\n"]),
            ("````\n```\nin\n```\n````\n", ["```\nin\n```\n"]),
            ("- item\n\n  ```\n  a\n    b\n c\n\n  ```\n", ["a\n  b\nc\n\n"]),
            ("```\none\n```\ntext\n```\ntwo\n```\n", ["one\n", "two\n"]),
            ("```\nstill coming", ["still coming\n"]),
            ("```", [""]),
            ("```\n```\n", [""]),
            ("``` no `` fence ```\n``\nnot\n``\n", []),
            ("text\n", []),
            ("", []),
        ):
            with self.subTest(text):
                self.assertEqual([block.code for block in code_blocks(text)], expected)

    def test_ranges_cover_the_fences_and_nothing_else(self) -> None:
        text = "a\n```\nx\n```\nb\n"
        (found,) = code_blocks(text)
        self.assertEqual(text[found.start : found.end], "```\nx\n```\n")
