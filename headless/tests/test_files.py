"""Encodings and line endings, there and back."""

from __future__ import annotations

import unittest

from headless import files
from headless.files import Content, decode, encode


class Files(unittest.TestCase):
    def test_every_kind_of_file_comes_back_byte_for_byte(self) -> None:
        kinds = {
            b"plain\nlines\n": ("UTF-8", "Unix"),
            "\u00e9\r\n\U0001f600\r\n".encode("utf-8"): ("UTF-8", "Windows"),
            b"old\rmac\r": ("UTF-8", "CR"),
            b"\xef\xbb\xbfx\n": ("UTF-8 with BOM", "Unix"),
            b"\xff\xfex\x00\n\x00": ("UTF-16 LE with BOM", "Unix"),
            b"\xfe\xff\x00x\x00\n": ("UTF-16 BE with BOM", "Unix"),
            b"caf\xe9\r\n": ("Western (Windows 1252)", "Windows"),
            b"\x81\x8d\xe9\n": ("Western (Windows 1252)", "Unix"),
            b"\x7fELF\x00\x01\x02" * 5: ("Hexadecimal", "Unix"),
            b"": ("UTF-8", "Unix"),
        }
        for data, (encoding, endings) in kinds.items():
            with self.subTest(data[:12]):
                content = decode(data)
                self.assertEqual((content.encoding, content.line_endings), (encoding, endings))
                self.assertEqual(encode(content), data)

    def test_a_buffer_knows_line_feeds_only(self) -> None:
        self.assertEqual(decode(b"a\r\nb\nc\rd").text, "a\nb\nc\nd")

    def test_a_character_an_encoding_has_not_is_an_error(self) -> None:
        with self.assertRaises(UnicodeEncodeError):
            encode(Content("\u20ac", "Western (ISO 8859-1)", "Unix"))

    def test_names_are_found_whatever_their_case_and_unknown_ones_say_so(self) -> None:
        self.assertEqual(files.encoding_name("utf-8 with bom"), "UTF-8 with BOM")
        self.assertEqual(files.line_ending_name("windows"), "Windows")
        with self.assertRaisesRegex(ValueError, "klingon"):
            files.encoding_name("klingon")

    def test_a_file_that_is_not_there_has_no_stamp(self) -> None:
        self.assertIsNone(files.stamp("/nowhere/at/all"))
        self.assertIsNone(files.stamp("nul\0byte"))
