"""The beginning of a transcript that a view does not show yet: it is drawn from its end on, in
parts that do not hold the UI thread. Knows no view."""

from __future__ import annotations

from typing import Sequence

from ...chat.rendered import Patch
from .drawn import Misplaced

# The most blocks of a part, and the characters after which no other block is added: a few
# milliseconds.
BLOCKS, CHARACTERS = 200, 128 * 1024


class Undrawn:
    """`patches` are all blocks of a transcript, in their order, each as a whole. `size` is how many
    characters of it are left."""

    def __init__(self, patches: Sequence[Patch] = ()) -> None:
        self._left = list(patches)
        self.size = _patch_end(self._left[-1]) if self._left else 0

    def take_last(self, down_to: int = 0) -> list[Patch]:
        """The last ones that are left, in their order, and none before this character. Raises
        Misplaced."""
        taken: list[Patch] = []
        characters = 0
        while self.size > down_to and len(taken) < BLOCKS and characters < CHARACTERS:
            if not self._left:
                raise Misplaced(taken[-1].block if taken else "")
            patch = self._left.pop()
            if patch.start != patch.end or _patch_end(patch) != self.size:
                raise Misplaced(patch.block)
            self.size = patch.start
            characters += len(patch.rendered.text)
            taken.append(patch)
        return taken[::-1]

    def begins_with(self, old: str) -> int:
        """How many characters of this text, a transcript as a view shows it, may be shown already:
        its end and some places were compared. 0 if more would follow than one part."""
        low, high = 0, len(self._left)
        while low < high:
            middle = (low + high + 1) // 2
            patch = self._left[middle - 1]
            if old.startswith(patch.rendered.text, patch.start):
                low = middle
            else:
                high = middle - 1
        kept = _patch_end(self._left[low - 1]) if low else 0
        is_near = self.size - kept < CHARACTERS and len(self._left) - low < BLOCKS
        return kept if is_near else 0


def _patch_end(patch: Patch) -> int:
    return patch.start + len(patch.rendered.text)
