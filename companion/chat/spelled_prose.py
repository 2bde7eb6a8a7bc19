"""Prose of others without what deceives in it: control characters, and those that nobody sees or
that turn others around, are spelled out; the colours of a terminal are dropped. All that belongs to
the letters beside it stays. Pure.

    "\\x1b[32mdone\\x1b[0m"       done
    "rm \\u202egpj.exe"          rm <U+202E>gpj.exe

A text may come in any pieces; the result depends on the whole only. So a character that is repeated
is spelled out once.
"""

from __future__ import annotations

import re

# Controls but for line ends and tabs; invisible marks of formats, of directions, and of lines.
_UNSEEN = (
    "\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f"
)
# One class alone: with other patterns beside it, a search takes twenty times as long.
_UNSEEN_LETTER = re.compile(f"[{_UNSEEN}]")
# What a terminal draws colours for, and the beginning of that at the end of a piece.
_COLOUR = re.compile("\x1b\\[[0-9;:]{0,64}m")
_COLOUR_BEGUN = re.compile("\x1b(?:\\[[0-9;:]{0,64})?\\Z")
# The most characters before another one that it depends on.
_NEAR = 6


def _flag_beginnings(country: str) -> list[str]:
    """A country's flag cut behind each of the invisible letters that spell its name."""
    letters = "".join(chr(0xE0000 + ord(letter)) for letter in country) + "\U000e007f"
    return ["\U0001f3f4" + letters[: at + 1] for at in range(len(letters))]


# England, Scotland, Wales: a black flag and invisible letters, which belong to it in this order.
_FLAGS = tuple(text for name in ("gbeng", "gbsct", "gbwls") for text in _flag_beginnings(name))


class SpelledProse:
    """Spells out a text that comes in pieces. The beginning of a colour at its end is held back."""

    def __init__(self) -> None:
        # What stands before the next piece, and what was held back of it.
        self._before = self._held = ""

    def add_piece(self, piece: str) -> str:
        """What is new of the text that is spelled out; may be empty."""
        piece = self._held + piece
        begun = _COLOUR_BEGUN.search(piece, max(len(piece) - 70, 0))
        self._held = piece[begun.start() :] if begun else ""
        piece = piece[: len(piece) - len(self._held)]
        whole, at = self._before + piece, len(self._before)
        self._before = whole[-_NEAR:]
        return _spell_from(whole, at)


def _spell_from(text: str, at: int) -> str:
    """The text from there on, spelled out."""
    parts = []
    found = _UNSEEN_LETTER.search(text, at)
    while found is not None:
        start, end = found.span()
        parts.append(text[at:start])
        colour = _COLOUR.match(text, start)
        if colour:
            end = colour.end()
        elif text.endswith(_FLAGS, 0, end):
            parts.append(found[0])
        elif text[start - 1 : start] != found[0]:
            parts.append(f"<U+{ord(found[0]):04X}>")
        at = end
        found = _UNSEEN_LETTER.search(text, at)
    parts.append(text[at:])
    return "".join(parts)
