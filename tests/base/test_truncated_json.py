"""JSON that is read bit by bit: what is cut, and what is left as it was."""

from __future__ import annotations

import json
import unittest
from typing import Any
from unittest import mock

from GeminiCompanion.companion.base import truncated_json
from GeminiCompanion.companion.base.truncated_json import KEPT, MAX_REST, Cutter, Excerpt, TooMuch
from hypothesis import given
from hypothesis import strategies as st

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=60),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=10,
)


def cut(body: bytes, size: int) -> Any:
    """The value of a body that comes in pieces of this size."""
    cutter = Cutter()
    for at in range(0, len(body), size):
        cutter.feed(body[at : at + size])
    return cutter.marked(json.loads(cutter.rest()))


class Cutting(unittest.TestCase):
    @given(VALUES, st.integers(1, 40), st.booleans())
    def test_without_long_strings_the_value_is_what_it_was(
        self, value: Any, size: int, escaped: bool
    ) -> None:
        body = json.dumps(value, ensure_ascii=escaped).encode("utf-8", "surrogatepass")
        self.assertEqual(cut(body, size), value)

    @given(st.text(min_size=21), st.integers(1, 40), st.booleans())
    def test_a_long_string_becomes_its_beginning(self, text: str, size: int, escaped: bool) -> None:
        body = json.dumps([text, "end"], ensure_ascii=escaped).encode()
        with mock.patch.object(truncated_json, "KEPT", 20):
            beginning, end = cut(body, size)
        self.assertIs(type(beginning), Excerpt)
        self.assertTrue(text.startswith(beginning))
        self.assertEqual(end, "end")

    def test_a_string_of_the_limit_is_whole_and_one_byte_more_is_not(self) -> None:
        for length, kind in ((KEPT, str), (KEPT + 1, Excerpt)):
            with self.subTest(length=length):
                text = cut(json.dumps("x" * length).encode(), 1000)
                self.assertIs(type(text), kind)
                self.assertEqual(text, "x" * KEPT)

    def test_no_character_is_split(self) -> None:
        for text in ("\u20ac" * KEPT, "\U0001f600" * KEPT, "a\U0001f600" * KEPT, "\n" * KEPT):
            for escaped in (True, False):
                with self.subTest(text=text[:2], escaped=escaped):
                    body = json.dumps(text, ensure_ascii=escaped).encode()
                    beginning = cut(body, 65536)
                    self.assertTrue(text.startswith(beginning))
                    self.assertGreater(len(beginning), KEPT // 13)

    def test_too_much_beside_long_strings_is_refused(self) -> None:
        with self.assertRaises(TooMuch):
            cut(b"[" + b"0," * MAX_REST, 65536)

    def test_what_is_no_json_stays_what_is_no_json(self) -> None:
        for body in (b'"half', b'{"a":', b'"\\', b"]"):
            with self.subTest(body=body), self.assertRaises(ValueError):
                cut(body, 3)
