"""The transcript as a view has it: blocks of text with what is drawn beside it. Knows no view.

A view is compared with it, and repaired from it: `chat/transcript` lives on another thread.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Iterator, Sequence, TypeVar

from ...base.text_digest import rows_digest
from ...chat.rendered import Fold, Link, Mark, Patch, Picture, Rendered

T = TypeVar("T", Mark, Fold, Link, Picture)


class Misplaced(Exception):
    """A patch does not fit the document: its conversation has to be asked for again."""


class DrawnBlock:
    """A part of the document; offsets are within its own text. `number` is unique in the document
    and stays."""

    def __init__(self, id: str, number: int, drawn: Rendered) -> None:
        self.id = id
        self.number = number
        self.drawn = drawn
        self.size = len(drawn.text)
        self.rows_digest = rows_digest(drawn.text)

    def replace_range(self, start: int, end: int, new: Rendered) -> None:
        old = self.drawn
        text = old.text[:start] + new.text + old.text[end:]
        # Of a long block, only the rows that change are looked at.
        first, last = old.text.rfind("\n", 0, start) + 1, old.text.find("\n", end)
        behind = len(old.text) - last if last >= 0 else 0
        before, now = (lines[first : len(lines) - behind] for lines in (old.text, text))
        self.rows_digest += rows_digest(now) - rows_digest(before)
        self.drawn = Rendered(
            text,
            _replace_ranges(old.marks, start, end, new.marks, len(new.text)),
            _replace_ranges(old.folds, start, end, new.folds, len(new.text)),
            _replace_ranges(old.links, start, end, new.links, len(new.text)),
            _replace_ranges(old.pictures, start, end, new.pictures, len(new.text)),
        )
        self.size = len(text)


class DrawnDocument:
    """All blocks in their order. What is near the end is found at the same cost however long the
    document is.

    Before them stand the first `above_size` characters of the text `above`, of which no more is
    known. `numbered` is the number of a block that was there before this document."""

    def __init__(self, above: str = "", numbered: int = 0) -> None:
        self._above = above
        self.above_size = self.size = len(above)
        self._blocks: list[DrawnBlock] = []
        self._ids: set[str] = set()
        self.numbered = numbered
        self._rows_digest = 0

    @property
    def signature(self) -> str | None:
        """What recognises the text; None while not all of it is in blocks. It costs nothing."""
        return None if self.above_size else _text_signature(self.size, self._rows_digest)

    @property
    def text(self) -> str:
        blocks = (block.drawn.text for block in self._blocks)
        return "".join((self._above[: self.above_size], *blocks))

    @property
    def count(self) -> int:
        return len(self._blocks)

    @property
    def blocks(self) -> Sequence[tuple[int, DrawnBlock]]:
        """Each with where it begins."""
        return self.blocks_between(0, self.count)

    def blocks_between(self, first: int, last: int) -> list[tuple[int, DrawnBlock]]:
        """The blocks from this one on, without that one."""
        begin = self.above_size + sum(block.size for block in self._blocks[:first])
        found = []
        for block in self._blocks[first:last]:
            found.append((begin, block))
            begin += block.size
        return found

    def ends_above(self, text: str) -> bool:
        """Whether what stands before the blocks ends with this."""
        start = self.above_size - len(text)
        return start >= 0 and self._above.startswith(text, start)

    def cut_above(self, size: int) -> None:
        """Only so many characters stand before the blocks now."""
        self.size -= self.above_size - size
        self.above_size = size

    def prepend(self, patches: Sequence[Patch]) -> None:
        """Put these blocks, each as a whole, before the others."""
        blocks = [
            self._make_block(patch.block, patch.rendered)
            for patch in patches
            if patch.rendered.text
        ]
        self._blocks[:0] = blocks
        self.size += sum(block.size for block in blocks)
        self._rows_digest += sum(block.rows_digest for block in blocks)

    def blocks_from_end(self) -> Iterator[tuple[int, DrawnBlock]]:
        """The blocks, the last one first, each with where it begins."""
        end = self.size
        for block in reversed(self._blocks):
            end -= block.size
            yield end, block

    def find_block(self, patch: Patch) -> tuple[int, DrawnBlock]:
        """Where the patch's block begins, and the block. Raises Misplaced."""
        return self._find_known(patch) if patch.block in self._ids else self._insert_block(patch)

    def apply_patch(self, patch: Patch) -> None:
        """Raises Misplaced."""
        begin, block = self.find_block(patch)
        start, end = patch.start - begin, patch.end - begin
        if not 0 <= start <= end <= block.size:
            raise Misplaced(patch.block)
        before, digest = block.size, block.rows_digest
        block.replace_range(start, end, patch.rendered)
        self.size += block.size - before
        self._rows_digest += block.rows_digest - digest
        if not block.size:
            # It has no place: what comes of it next says where it is.
            self._blocks.remove(block)
            self._ids.discard(block.id)

    def links_at(self, point: int) -> list[Link]:
        """The links that cover this offset of the document, with offsets of the document."""
        for begin, block in self.blocks_from_end():
            if begin <= point:
                found = move_ranges(block.drawn.links, begin)
                return [link for link in found if link.start <= point < link.end]
        return []

    def block_at(self, point: int) -> DrawnBlock | None:
        """The block that covers this offset of the document."""
        for begin, block in self.blocks_from_end():
            if begin <= point:
                return block if point < begin + block.size else None
        return None

    def _find_known(self, patch: Patch) -> tuple[int, DrawnBlock]:
        end, id = self.size, patch.block
        for block in reversed(self._blocks):
            if block.id == id:
                return end - block.size, block
            end -= block.size
        raise Misplaced(patch.block)

    def _insert_block(self, patch: Patch) -> tuple[int, DrawnBlock]:
        """A block of its own, between two others."""
        begin, place = self.size, len(self._blocks)
        while begin > patch.start and place:
            place -= 1
            begin -= self._blocks[place].size
        if begin != patch.start:
            raise Misplaced(patch.block)
        block = self._make_block(patch.block, Rendered(""))
        self._blocks.insert(place, block)
        return begin, block

    def _make_block(self, id: str, drawn: Rendered) -> DrawnBlock:
        self.numbered += 1
        self._ids.add(id)
        return DrawnBlock(id, self.numbered, drawn)


def signature_of(text: str) -> str:
    """The signature of a document with this text."""
    return _text_signature(len(text), rows_digest(text))


def _text_signature(size: int, digest: int) -> str:
    return f"{size} {digest:x}"


def move_ranges(items: Sequence[T], by: int) -> tuple[T, ...]:
    """The ranges, each `by` characters further on."""
    return tuple(replace(item, start=item.start + by, end=item.end + by) for item in items)


def _replace_ranges(
    old: Sequence[T], start: int, end: int, new: Sequence[T], size: int
) -> tuple[T, ...]:
    """The ranges before and behind the one from `start` to `end`, with the new ones between them;
    `size` is that of the new text. What is partly in the range goes with it."""
    before = [item for item in old if item.end <= start]
    behind = [item for item in old if item.start >= end and item.end > start]
    return tuple(before) + move_ranges(new, start) + move_ranges(behind, size - (end - start))
