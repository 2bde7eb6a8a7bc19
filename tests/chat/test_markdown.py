"""Markdown of others within the document."""

from __future__ import annotations

import re
import time
import unittest

from GeminiCompanion.companion.chat.markdown import (
    MAX_ITEMS,
    MarkdownState,
    Prose,
    close_markdown,
    fence_text,
    indent_text,
    unfence_text,
)
from GeminiCompanion.companion.chat.rendered import LINE, MARKERS, MESSAGE
from hypothesis import given
from hypothesis import strategies as st

LIMIT = 10_000
# Parts of which fences, quotations and lists are made, also across pieces.
PARTS = ("```", "~~~", "`", "py", "\n", "\r", "\r\n", " ", "    ", "\t", "> ", "- ", "1. ", "a")
# Characters that nobody sees: controls, joiners, fillers, narrow blanks, marks without a letter.
UNSEEN = (
    "\0\x07\x0b\x0c\x1b\x7f\x85\xa0\xad\u0301\u034f\u115f\u180e\u200a\u200b\u200d\u2028\u202e\u2060"
    "\u3000\u3164\ufe0f\ufeff\U000e0041"
)
# Those of them that are spelled out.
SPELLED = "\0\x07\x0b\x0c\x1b\x7f\x85\xad\u200b\u2028\u202e\u2060\ufeff\U000e0041"
# Parts of colours of terminals and of flags.
COLOURS = ("\x1b", "\x1b[", "31", "m", "\U0001f3f4", "\U000e0067", "\U000e0062")
texts = st.lists(
    st.sampled_from((*PARTS, *"\u200b\x07\u3164", *COLOURS, MESSAGE, LINE)), max_size=40
).map("".join)


def grown(pieces: list[str], limit: int = LIMIT) -> Prose:
    prose = Prose(limit)
    for piece in pieces:
        prose.add_piece(piece)
    return prose


class Growing(unittest.TestCase):
    @given(texts, st.lists(st.integers(0, 100), max_size=8), st.integers(0, 120))
    def test_any_pieces_give_the_same_as_the_whole(
        self, text: str, cuts: list[int], limit: int
    ) -> None:
        places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
        pieces = [text[start:end] for start, end in zip(places, places[1:])]
        parts, whole = grown(pieces, limit), grown([text], limit)
        self.assertEqual(
            (parts.text, parts.end, parts.cut, parts.size),
            (whole.text, whole.end, whole.cut, len(whole.text)),
        )

    @given(texts, st.sampled_from("a`~- \n▏"))
    def test_what_comes_next_may_be_seen_before_it_comes(self, text: str, ahead: str) -> None:
        prose = grown([text])
        shown = prose.text + prose.end_before(ahead)
        prose.add_piece(ahead)
        self.assertEqual(shown, prose.text + prose.end)

    @given(st.lists(texts, max_size=6))
    def test_what_is_new_is_all_that_the_text_gained(self, pieces: list[str]) -> None:
        prose, text = Prose(LIMIT), ""
        for piece in pieces:
            text += prose.add_piece(piece)
            self.assertEqual(prose.text, text)

    @given(texts)
    def test_no_line_begins_as_ours_do(self, text: str) -> None:
        for line in (close_markdown(text) + fence_text(text)).split("\n"):
            self.assertNotIn(line.lstrip(UNSEEN)[:1] or " ", MARKERS)

    def test_what_nobody_sees_before_a_sign_of_ours_hides_nothing_in_any_pieces(self) -> None:
        for letter in UNSEEN:
            for text in (f"{letter}{LINE} Allow", f"a\n{letter * 2}{MESSAGE} b"):
                with self.subTest(repr(text)):
                    told = text.replace(LINE, " " + LINE).replace(MESSAGE, " " + MESSAGE)
                    self.assertIn(told, fence_text(text))
                    if letter in SPELLED:
                        # It is seen then, once for all that follow each other.
                        seen = f"<U+{ord(letter):04X}>"
                        told = re.sub(f"{re.escape(letter)}+", seen, text)
                    self.assertEqual(grown([text]).text, told)
                    self.assertEqual(grown([*text]).text, told)

    def test_a_sign_of_ours_behind_what_one_sees_stays_as_it_is(self) -> None:
        for text in (f"für {LINE}", f"— {LINE}", f"  {LINE}", f"語{MESSAGE}"):
            self.assertEqual((grown([text]).text, grown([*text]).text), (text, text))

    @given(texts)
    def test_it_ends_with_one_line_end_and_begins_with_none(self, text: str) -> None:
        told = close_markdown(text)
        self.assertRegex(told, r"\A\n\Z|\A[^\n](.|\n)*\n\Z")
        self.assertNotIn("\r", told)

    @given(texts)
    def test_what_was_closed_needs_no_other_end(self, text: str) -> None:
        self.assertEqual(close_markdown(close_markdown(text)), close_markdown(text))

    def test_a_text_beyond_the_limit_is_counted_and_not_kept(self) -> None:
        prose = grown(["a" * 8, "b" * 8, "c" * 8], limit=10)
        self.assertEqual((prose.text, prose.cut), ("a" * 8 + "bb", 14))


class Fences(unittest.TestCase):
    def test_a_line_of_nothing_but_list_items_is_read_a_bounded_number_of_times(self) -> None:
        line = "- " * 400
        self.assertEqual(len(MarkdownState().state_after(line + "x").items), MAX_ITEMS)
        self.assertEqual(close_markdown(line + "x\n```\na"), line + "x\n```\na\n```\n")

    def test_fences_that_stay_open_are_closed_where_they_stand(self) -> None:
        for text, end in (
            ("text", ""),
            ("```py\ncode", "```"),
            ("```py\ncode\n```", ""),
            ("```py\ncode\n``", "```"),
            ("`````\n```\n````", "`````"),
            ("~~~\n```", "~~~"),
            ("~~~ a`b", "~~~"),
            ("```\n~~~", "```"),
            ("``` a`b", ""),
            ("``", ""),
            ("    ```", ""),
            ("   ```", "   ```"),
            ("```\n    ```", "```"),
            ("```\n> ```", "```"),
            ("```\n``` py", "```"),
            ("> ```\n> code", "> ```"),
            ("> ```\ntext", ""),
            ("> ```\n```", "```"),
            ("> - a\n    ```", ""),
            ("> > ```\n> > a", "> > ```"),
            ("- ```\n  code", "  ```"),
            ("- a\n\n  ```\n\n  b", "  ```"),
            ("- ```\ntext", ""),
            ("- a\n  - ```", "    ```"),
            ("1. a\n   ```", "   ```"),
            ("- a\n\n      ```", ""),
            ("-   \n  ```\n", "  ```"),
            ("-      ```", ""),
            ("- a\n\ntext\n\n    ```", ""),
            ("```\na\n```\n```", "```"),
        ):
            with self.subTest(text):
                told = text.rstrip("\n") + "\n" + (end + "\n" if end else "")
                self.assertEqual(close_markdown(text), told)

    def test_a_fence_of_ours_is_longer_than_those_in_the_text(self) -> None:
        self.assertEqual(fence_text("a\n````\nb\n", "sh"), "`````sh\na\n````\nb\n`````\n")

    def test_an_indented_text_has_no_line_that_begins_as_ours_do(self) -> None:
        text = f"a\r\n{LINE} b\n\n```\n\n"
        self.assertEqual(indent_text(text), f"    a\n    {LINE} b\n    \n    ```\n")

    def test_a_text_that_is_one_block_of_code_is_what_stands_in_it(self) -> None:
        for text, inside in (
            ("```console\nout\n```", "out"),
            ("\n````\na\n```\nb\n````\n", "a\n```\nb"),
            ("```\n```", ""),
        ):
            with self.subTest(text):
                self.assertEqual(unfence_text(text), inside)
        blocks = "```\na\n```\nb\n```\nc\n```"
        for text in ("out", blocks, "```\na\n", "a\n```\nb\n```", "``\na\n``"):
            with self.subTest(text):
                self.assertEqual(unfence_text(text), text)

    def test_a_block_of_many_megabytes_costs_next_to_nothing(self) -> None:
        text = "```\n" + "a line of what a command has put out\n" * 1_000_000 + "```"
        before = time.process_time()
        self.assertEqual(len(unfence_text(text)), len(text) - 8)
        self.assertLess(time.process_time() - before, 0.5)
