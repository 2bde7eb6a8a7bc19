"""HTML in lines that fit into a view: a phantom cuts off what is wider. UI thread only."""

from __future__ import annotations

import html
import sys
import unicodedata
from typing import Iterator, Sequence, Tuple

import sublime

from ..base.shown_text import shown_line

# Characters of a line that stay free, and the width of a view that is not laid out yet.
MARGIN, COLUMNS = 2, 80
# A part of a line: HTML that must not be broken, and its width in characters.
Piece = Tuple[str, int]


def wrap_text(view: sublime.View, text: str) -> list[str]:
    """The text as lines of HTML that fit into the view; at least one."""
    width = view_columns(view)
    return fill_rows(text_pieces(text, width), width) or [""]


def text_pieces(text: str, longest: int = sys.maxsize) -> list[Piece]:
    """Longer ones are broken."""
    return [
        text_piece(part) for word in shown_line(text).split() for part in _break_word(word, longest)
    ]


def _break_word(word: str, longest: int) -> Iterator[str]:
    begin = used = 0
    for at, character in enumerate(word):
        width = cell_width(character)
        if used + width > longest and at > begin:
            yield word[begin:at]
            begin, used = at, 0
        used += width
    yield word[begin:]


def text_piece(text: str) -> Piece:
    return html.escape(text), cell_width(text)


def cell_width(text: str) -> int:
    """How many characters of an alphabet are as wide as this: those of East Asian scripts count
    twice, accents that stand on others not at all."""
    if text.isascii():
        return len(text)
    shown = (character for character in text if not unicodedata.combining(character))
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in shown)


def fill_rows(pieces: Sequence[Piece], columns: int) -> list[str]:
    """Rows that have as many of the pieces as fit in each."""
    found: list[list[str]] = []
    room = 0
    for text, width in pieces:
        if not found or width > room:
            found.append([])
            room = columns
        found[-1].append(text)
        room -= width + 1
    return [" ".join(row) for row in found]


def view_columns(view: sublime.View) -> int:
    """The number of characters that fit side by side into the view."""
    found = int(view.viewport_extent()[0] / view.em_width()) - MARGIN
    return found if found > MARGIN else COLUMNS
