"""The transcript as a view has it: blocks of text with marks, folds and links. Knows no view.

A view is compared with it, and repaired from it: `chat/transcript` lives on another thread.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Sequence, TypeVar

from ...chat.rendered import Fold, Link, Mark, Patch, Rendered

T = TypeVar("T", Mark, Fold, Link)


class Misplaced(Exception):
    """A patch does not fit the document: its conversation has to be asked for again."""


class Block:
    """A part of the document; offsets are within its own text. `number` is unique in the document
    and stays."""

    def __init__(self, id: str, number: int) -> None:
        self.id = id
        self.number = number
        self.drawn = Rendered("")

    @property
    def size(self) -> int:
        return len(self.drawn.text)

    def replace(self, start: int, end: int, new: Rendered) -> None:
        old = self.drawn
        self.drawn = Rendered(
            old.text[:start] + new.text + old.text[end:],
            _replaced(old.marks, start, end, new.marks, len(new.text)),
            _replaced(old.folds, start, end, new.folds, len(new.text)),
            _replaced(old.links, start, end, new.links, len(new.text)),
        )


class DrawnDocument:
    """All blocks in their order. What is near the end is found at the same cost however long the
    document is."""

    def __init__(self) -> None:
        self._blocks: list[Block] = []
        self._ids: set[str] = set()
        self._count = 0
        self.size = 0

    @property
    def text(self) -> str:
        return "".join(block.drawn.text for block in self._blocks)

    @property
    def blocks(self) -> Sequence[tuple[int, Block]]:
        """Each with where it begins."""
        found, begin = [], 0
        for block in self._blocks:
            found.append((begin, block))
            begin += block.size
        return found

    @property
    def last(self) -> tuple[int, Block] | None:
        """The last block, with where it begins."""
        if not self._blocks:
            return None
        block = self._blocks[-1]
        return self.size - block.size, block

    def find(self, patch: Patch) -> tuple[int, Block]:
        """Where the patch's block begins, and the block. Raises Misplaced."""
        return self._known(patch) if patch.block in self._ids else self._new(patch)

    def apply(self, patch: Patch) -> None:
        """Raises Misplaced."""
        begin, block = self.find(patch)
        start, end = patch.start - begin, patch.end - begin
        if not 0 <= start <= end <= block.size:
            raise Misplaced(patch.block)
        before = block.size
        block.replace(start, end, patch.rendered)
        self.size += block.size - before
        if not block.size:
            # It has no place: what comes of it next says where it is.
            self._blocks.remove(block)
            self._ids.discard(block.id)

    def links_at(self, point: int) -> list[Link]:
        """The links that cover this offset of the document, with offsets of the document."""
        for begin, block in self.blocks:
            if begin <= point < begin + block.size:
                found = moved(block.drawn.links, begin)
                return [it for it in found if it.start <= point < it.end]
        return []

    def _known(self, patch: Patch) -> tuple[int, Block]:
        end = self.size
        for block in reversed(self._blocks):
            if block.id == patch.block:
                return end - block.size, block
            end -= block.size
        raise Misplaced(patch.block)

    def _new(self, patch: Patch) -> tuple[int, Block]:
        """A block of its own, between two others."""
        begin, place = self.size, len(self._blocks)
        while begin > patch.start and place:
            place -= 1
            begin -= self._blocks[place].size
        if begin != patch.start:
            raise Misplaced(patch.block)
        self._count += 1
        block = Block(patch.block, self._count)
        self._blocks.insert(place, block)
        self._ids.add(patch.block)
        return begin, block


def moved(items: Sequence[T], by: int) -> tuple[T, ...]:
    """The same ranges further on."""
    return tuple(replace(it, start=it.start + by, end=it.end + by) for it in items)


def _replaced(old: Sequence[T], start: int, end: int, new: Sequence[T], size: int) -> tuple[T, ...]:
    """Those before and behind the range, with the new ones between them; `size` is that of the new
    text. What is partly in the range goes with it."""
    before = [it for it in old if it.end <= start]
    behind = [it for it in old if it.start >= end and it.end > start]
    return tuple(before) + moved(new, start) + moved(behind, size - (end - start))
