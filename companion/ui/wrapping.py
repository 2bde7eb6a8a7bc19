"""HTML in lines that fit into a view: a phantom cuts off what is wider. UI thread only."""

from __future__ import annotations

import html
import sys
from typing import Sequence, Tuple

import sublime

from ..base.shown_text import shown_line

# Characters of a line that stay free, and the width of a view that is not laid out yet.
MARGIN, COLUMNS = 2, 80
# A part of a line: HTML that must not be broken, and its width in characters.
Piece = Tuple[str, int]


def wrapped(view: sublime.View, text: str) -> list[str]:
    """The text as lines of HTML that fit into the view; at least one."""
    width = columns(view)
    return rows(words(text, width), width) or [""]


def words(text: str, longest: int = sys.maxsize) -> list[Piece]:
    """Longer ones are broken."""
    parts = (
        word[at : at + longest]
        for word in shown_line(text).split()
        for at in range(0, len(word), longest)
    )
    return [piece(it) for it in parts]


def piece(text: str) -> Piece:
    return html.escape(text), len(text)


def rows(pieces: Sequence[Piece], columns: int) -> list[str]:
    """As many pieces in each row as fit."""
    found: list[list[str]] = []
    room = 0
    for text, width in pieces:
        if not found or width > room:
            found.append([])
            room = columns
        found[-1].append(text)
        room -= width + 1
    return [" ".join(row) for row in found]


def columns(view: sublime.View) -> int:
    """The number of characters that fit side by side into the view."""
    found = int(view.viewport_extent()[0] / view.em_width()) - MARGIN
    return found if found > MARGIN else COLUMNS
