"""JSON across the editor's border."""

from __future__ import annotations

import unittest

from headless.values import copy_value, parse


class Values(unittest.TestCase):
    def test_comments_and_trailing_commas_are_no_part_of_the_value(self) -> None:
        text = '// one\n{"a": [1, 2,], /* two, */ "b": "// no, }", } // three'
        self.assertEqual(parse(text), {"a": [1, 2], "b": "// no, }"})

    def test_an_error_names_the_line(self) -> None:
        with self.assertRaisesRegex(ValueError, "line 3"):
            parse("/* a\nb */\n{]")

    def test_a_copy_shares_nothing_and_a_tuple_becomes_a_list(self) -> None:
        value = {"a": [1, {"b": None}]}
        copy = copy_value(value)
        self.assertEqual(copy, value)
        self.assertIsNot(copy["a"], value["a"])  # type: ignore[index,call-overload]
        self.assertEqual(copy_value({"a": (1, (2, 3))}), {"a": [1, [2, 3]]})

    def test_what_is_no_json_is_refused_by_name(self) -> None:
        for value, name in (({1}, "set"), (b"", "bytes"), ({1: 2}, "int")):
            with self.assertRaisesRegex(TypeError, name):
                copy_value(value)
