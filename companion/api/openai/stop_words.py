"""Cuts an answer that comes in pieces at the first of some words."""

from __future__ import annotations

from typing import Sequence


class StopWords:
    """`is_hit` says that a word was found: it and all that follows belong to nobody. What is told
    does not depend on how the answer was cut into pieces."""

    def __init__(self, words: Sequence[str]) -> None:
        self.is_hit = False
        self._words = tuple(words)
        # The end of the answer so far that may be the beginning of a word.
        self._held = ""

    def take_piece(self, piece: str) -> str:
        """What can be told of the answer after this piece."""
        if self.is_hit:
            return ""
        text = self._held + piece
        places = [(text.find(word), len(word)) for word in self._words]
        found = [(at + size, at) for at, size in places if at >= 0]
        if found:
            # The word that was complete first, as if each letter had come by itself.
            self.is_hit, self._held = True, ""
            return text[: min(found)[1]]
        kept = max((_overlap_length(text, word) for word in self._words), default=0)
        told = len(text) - kept
        self._held = text[told:]
        return text[:told]

    def held_rest(self) -> str:
        """What was held back, once the answer is over."""
        held, self._held = self._held, ""
        return held


def _overlap_length(text: str, word: str) -> int:
    """The length of the longest end of the text with which the word begins."""
    longest = min(len(text), len(word) - 1)
    return next((size for size in range(longest, 0, -1) if text.endswith(word[:size])), 0)
