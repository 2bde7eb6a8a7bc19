"""Prose of others without what deceives in it."""

from __future__ import annotations

import unittest

from GeminiCompanion.companion.chat.markdown import close_markdown
from GeminiCompanion.companion.chat.spelled_prose import SpelledProse

ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"


def spelled(*pieces: str) -> str:
    prose = SpelledProse()
    return "".join(map(prose.add_piece, pieces))


class Spelling(unittest.TestCase):
    def test_what_nobody_sees_or_what_turns_text_around_is_spelled_out(self) -> None:
        for letter in "\0\x07\x1b\x7f\x9b\xad\u200b\u200f\u2028\u202e\u2066\ufeff\U000e0041":
            with self.subTest(repr(letter)):
                self.assertEqual(spelled(f"rm {letter}a"), f"rm <U+{ord(letter):04X}>a")

    def test_a_repeated_one_is_spelled_out_once_in_any_pieces(self) -> None:
        for pieces in (("a\0\0\0b",), ("a\0", "\0", "\0b")):
            self.assertEqual(spelled(*pieces), "a<U+0000>b")

    def test_colours_are_dropped_and_other_sequences_are_not(self) -> None:
        self.assertEqual(spelled("\x1b[1;32mdone\x1b[0m"), "done")
        self.assertEqual(spelled("a", "\x1b", "[3", "1", "mred\x1b[m"), "ared")
        self.assertEqual(spelled("\x1b[2Jgone"), "<U+001B>[2Jgone")

    def test_what_belongs_to_the_letters_beside_it_stays(self) -> None:
        for text in (
            "a\tb\nc\r\n",
            "\U0001f468\u200d\U0001f469\u200d\U0001f467",
            "\u2764\ufe0f",
            "\u0915\u094d\u200d",
            "ca\u00a0: \u3000\u65e5",
            ENGLAND,
        ):
            with self.subTest(text):
                self.assertEqual(spelled(text), text)
                self.assertEqual(spelled(*text), text)

    def test_letters_of_a_flag_are_seen_elsewhere(self) -> None:
        self.assertEqual(spelled("a\U000e0067"), "a<U+E0067>")
        self.assertEqual(spelled(ENGLAND + "\U000e0062"), ENGLAND + "<U+E0062>")

    def test_a_very_long_beginning_of_a_colour_is_not_held_back(self) -> None:
        self.assertEqual(spelled("\x1b[" + "1" * 70), "<U+001B>[" + "1" * 70)


class InTheDocument(unittest.TestCase):
    def test_a_sign_of_ours_behind_a_colour_is_indented(self) -> None:
        self.assertEqual(close_markdown("a\n\x1b[1m▏ Allow"), "a\n ▏ Allow\n")
