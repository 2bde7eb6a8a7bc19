"""One part of a conversation's document, and all of them in their order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator, Optional, Tuple

from .lengths import Lengths
from .rendered import Patch, Rendered

# What is to be drawn: how many of the block's code points stay as they are, and what follows them.
Drawing = Optional[Tuple[int, Rendered]]


class Block:
    """`id` is unique in the document. A block that `is_compact` needs no blank line beside another
    one that is. Nothing changes in one that `is_over`."""

    is_compact = False

    def __init__(self, id: str, turn: str) -> None:
        self.id, self.turn = id, turn
        self.is_over = False
        # A blank line, where it needs one above.
        self.leading = ""
        self._drawn: Rendered | None = None

    def render_block(self) -> Rendered:
        raise NotImplementedError

    def draw(self) -> Drawing:
        """What changed since the last call; None if nothing did."""
        rendered = self.render_block()
        if rendered == self._drawn:
            return None
        self._drawn = rendered
        return 0, rendered


@dataclass(frozen=True)
class Past:
    """A block that is over and drawn: the view has its text, and nothing of it is kept here."""

    is_compact: bool


# No objects of its own for each of many blocks: the garbage collector would walk through them.
PAST = {is_compact: Past(is_compact) for is_compact in (False, True)}


class Blocks:
    """Blocks of a document, one below the other: looks at those that change, and at no others."""

    def __init__(self) -> None:
        self._blocks: list[Block | Past] = []
        self._lengths = Lengths()
        self._numbers: dict[str, int] = {}
        # The numbers of blocks that changed since they were drawn.
        self._changed: set[int] = set()

    def show_block(self, block: Block) -> None:
        """Put the block at the end if it is new; else draw it again."""
        number = self._numbers.get(block.id)
        if number is None:
            number = self._numbers[block.id] = len(self._blocks)
            last = self._blocks[-1] if self._blocks else None
            if last is not None and not (last.is_compact and block.is_compact):
                block.leading = "\n"
            self._blocks.append(block)
            self._lengths.append(0)
        self._changed.add(number)

    @property
    def length(self) -> int:
        """Code points of what was taken."""
        return self._lengths.total

    def take_patches(self, begin: int = 0) -> tuple[Patch, ...]:
        """What changed since the last call; the first block begins at this place."""
        changed, self._changed = sorted(self._changed), set()
        blocks = [(number, self._blocks[number]) for number in changed]
        return tuple(
            patch for number, block in blocks for patch in self._block_patches(begin, number, block)
        )

    def _block_patches(self, begin: int, number: int, block: Block | Past) -> Iterator[Patch]:
        if isinstance(block, Past):
            return
        drawing, before = block.draw(), self._lengths[number]
        if drawing is not None:
            kept, rendered = drawing
            start = begin + self._lengths.before(number)
            self._lengths.set(number, kept + len(rendered.text))
            yield Patch(block.id, start + kept, start + before, rendered)
        if block.is_over:
            self._blocks[number] = PAST[block.is_compact]
            del self._numbers[block.id]
