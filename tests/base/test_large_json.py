"""JSON that is read and written in pieces: what stays as it is, what is cut, what is refused."""

from __future__ import annotations

import json
import sys
import unittest
from typing import Any
from unittest import mock

from GeminiCompanion.companion.base import large_json
from GeminiCompanion.companion.base.jsonrpc import RpcError
from GeminiCompanion.companion.base.large_json import (
    LONG,
    MAX_REST,
    PIECE,
    TOGETHER,
    LargeJson,
    TooManyValues,
    TruncatedString,
    json_pieces,
)
from hypothesis import given
from hypothesis import strategies as st

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=60),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=10,
)
KEPT = 2 * LONG
# As they may stand in a string, escaped or not.
ESCAPES = [
    rb"\"",
    rb"\\",
    rb"\/",
    rb"\n",
    rb"\u0041",
    rb"\uD83D\ude00",
    rb"u",
    rb"d83d",
    b"\xc3\xa9",
]


def read(body: bytes, size: int, limit: int | None = None) -> Any:
    """The value of a body that comes in pieces of this size."""
    large = LargeJson()
    if limit is not None:
        large.truncate_strings(limit)
    for at in range(0, len(body), size):
        large.feed_data(body[at : at + size])
    return large.value()


class Reading(unittest.TestCase):
    @given(VALUES, st.integers(1, 40), st.booleans(), st.integers(0, 10))
    def test_a_value_is_what_the_standard_parser_makes_of_it(
        self, value: Any, size: int, escaped: bool, long: int
    ) -> None:
        body = json.dumps(value, ensure_ascii=escaped).encode("utf-8", "surrogatepass")
        with mock.patch.object(large_json, "LONG", long):
            self.assertEqual(read(body, size), value)

    @given(
        st.lists(st.lists(st.sampled_from(ESCAPES), max_size=30), max_size=4),
        st.integers(1, 40),
        st.integers(0, 10),
    )
    def test_escapes_side_by_side_are_read_wherever_they_are_cut(
        self, texts: list[list[bytes]], size: int, long: int
    ) -> None:
        body = b'["' + b'", "'.join(map(b"".join, texts)) + b'"]'
        with mock.patch.object(large_json, "LONG", long):
            self.assertEqual(read(body, size), json.loads(body))

    def test_an_escape_that_is_none_is_refused_beyond_the_limit_of_a_truncated_string(self) -> None:
        for escape in (b"\\x", b"\\ud83d", b"\\u00g0"):
            body = b'"' + 3 * KEPT * b"x" + escape + 3 * KEPT * b"x" + b'"'
            with self.subTest(escape=escape), self.assertRaises(RpcError):
                read(body, 1000, limit=KEPT)

    def test_a_long_string_may_be_a_name(self) -> None:
        value = {"x" * 5000: ["y" * 5000, {"z": "z" * 5000}]}
        self.assertEqual(read(json.dumps(value).encode(), 1000), value)

    def test_a_string_of_many_pieces_is_whole(self) -> None:
        # The later characters need more bytes each than the earlier ones.
        text = "".join(
            each * (TOGETHER * PIECE) for each in ("a", "\u00e9", "\u20ac", "\U0001f600")
        )
        self.assertEqual(read(json.dumps([text], ensure_ascii=False).encode(), PIECE), [text])

    def test_deep_nesting_beside_a_long_string_is_a_parse_error(self) -> None:
        # Some of these depths are too much for the parser, some for what comes after it.
        refused = []
        for depth in range(100, sys.getrecursionlimit() + 200, 50):
            body = b'["' + b"x" * KEPT + b'",' + b"[" * depth + b"]" * depth + b"]"
            try:
                self.assertEqual(read(body, 1000)[0], "x" * KEPT)
            except RpcError as error:
                self.assertIn("nested less deeply", error.message)
                refused.append(depth)
        self.assertTrue(refused and refused[0] > 100, refused)

    def test_a_truncated_string_is_its_beginning(self) -> None:
        for text in ("\u20ac" * KEPT, "\U0001f600" * KEPT, "a\U0001f600" * KEPT, "\n" * KEPT):
            for escaped in (True, False):
                with self.subTest(text=text[:2], escaped=escaped):
                    body = json.dumps([text + "end", "end"], ensure_ascii=escaped).encode()
                    beginning, end = read(body, 100, KEPT)
                    self.assertIs(type(beginning), TruncatedString)
                    self.assertEqual((beginning, end), (text[:KEPT], "end"))

    def test_a_string_of_the_limit_is_whole_and_one_character_more_is_not(self) -> None:
        for length, kind in ((KEPT, str), (KEPT + 1, TruncatedString)):
            with self.subTest(length=length):
                text = read(json.dumps("x" * length).encode(), 1000, KEPT)
                self.assertIs(type(text), kind)
                self.assertEqual(text, "x" * KEPT)

    def test_strings_that_came_before_are_truncated_too(self) -> None:
        large = LargeJson()
        large.feed_data(json.dumps(["x" * 2 * KEPT, "y" * 2 * KEPT]).encode()[: 3 * KEPT])
        large.truncate_strings(KEPT)
        large.feed_data(b"y" * KEPT + b'"]')
        self.assertEqual(large.value(), ["x" * KEPT, "y" * KEPT])

    def test_of_a_truncated_string_no_more_than_a_piece_is_held_beyond_the_limit(self) -> None:
        large = LargeJson()
        large.truncate_strings(KEPT)
        large.feed_data(b'"')
        for _ in range(100):
            large.feed_data(b"x" * PIECE)
        held = large._long
        if held is None:
            self.fail("no string is being read")
        self.assertLessEqual(sum(map(len, held._parts)), KEPT + PIECE)

    def test_many_values_are_refused_at_the_limit_and_not_at_the_end(self) -> None:
        for values in (b"{},", b'"",', b'{"a":1},', b"0,", b" "):
            with self.subTest(values=values), self.assertRaises(TooManyValues):
                large, size = LargeJson(), 0
                while size <= MAX_REST + PIECE:
                    large.feed_data(values * 1000)
                    size += 1000 * len(values)

    def test_what_is_no_json_is_refused(self) -> None:
        for body in (
            b'"half', b'{"a":', b'"\\', b"]", b'"\\ud800', b'"\\x"', b'"\\u12', b'"\xff"', b"",
            b'"\n"', b'"' + 2 * LONG * b"x" + b'\n"', b'"' + 2 * LONG * b"x" + b'\xe2"',
            b'"' + 2 * LONG * b"x" + b'\\ud83d"', b'"' + 2 * LONG * b"x" + b'\\udc00"',
            b'"' + 2 * LONG * b"x" + b'\\ud83d\\u0041 and more"', b'"\\uzzzz and much more"',
        ):  # fmt: skip
            for size in (1, 3, 5000):
                with self.subTest(body=body, size=size), self.assertRaises(RpcError):
                    read(body, size)


class Writing(unittest.TestCase):
    @given(VALUES, st.integers(1, 10))
    def test_the_pieces_are_the_value(self, value: Any, size: int) -> None:
        with mock.patch.object(large_json, "PIECE", size):
            self.assertEqual(json.loads(b"".join(json_pieces(value))), value)

    def test_no_piece_is_much_larger_than_a_piece(self) -> None:
        value = {"items": [{"name": "x" * 100}] * 10_000, "text": "\u20ac" * 10 * PIECE}
        sizes = [len(piece) for piece in json_pieces(value)]
        self.assertLess(max(sizes), 7 * PIECE)
        self.assertGreater(len(sizes), 20)

    def test_bytes_stand_for_a_text_and_no_character_is_split(self) -> None:
        text = "a\u20ac\U0001f600\n" * PIECE
        self.assertEqual(json.loads(b"".join(json_pieces({"text": text.encode()}))), {"text": text})

    def test_half_a_character_becomes_a_question_mark(self) -> None:
        self.assertEqual(b"".join(json_pieces("a\ud83d")), b'"a?"')
