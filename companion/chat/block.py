"""One part of a conversation's document, and all of them in their order."""

from __future__ import annotations

from typing import Optional, Tuple

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

    def rendered(self) -> Rendered:
        raise NotImplementedError

    @property
    def text(self) -> str:
        return self.rendered().text

    def draw(self) -> Drawing:
        """What changed since the last call; None if nothing did."""
        rendered = self.rendered()
        if rendered == self._drawn:
            return None
        self._drawn = rendered
        return 0, rendered


class Past(Block):
    """One that is over and drawn; of what it was made of, only its text is kept."""

    def __init__(self, block: Block, text: str) -> None:
        super().__init__(block.id, block.turn)
        self.is_compact, self.is_over = block.is_compact, True
        self._text = text

    def rendered(self) -> Rendered:
        return Rendered(self._text)


class Blocks:
    """Those that change are looked at, and no others. `foot` stands below all of them; its patches
    have another id whenever it was empty, because blocks that came meanwhile are below that
    place."""

    def __init__(self, foot: Block) -> None:
        self._foot = foot
        self._foot_length = 0
        # How often there was something in it after nothing.
        self._feet = 0
        self._blocks: list[Block] = []
        self._lengths = Lengths()
        self._numbers: dict[str, int] = {}
        # The numbers of blocks that changed since they were drawn.
        self._changed: set[int] = set()

    def show(self, block: Block) -> None:
        """At the end if it is new; else it is drawn again."""
        number = self._numbers.get(block.id)
        if number is None:
            number = self._numbers[block.id] = len(self._blocks)
            last = self._blocks[-1] if self._blocks else None
            if last is not None and not (last.is_compact and block.is_compact):
                block.leading = "\n"
            self._foot.leading = "\n"
            self._blocks.append(block)
            self._lengths.append(0)
        self._changed.add(number)

    def take(self) -> tuple[Patch, ...]:
        changed, self._changed = sorted(self._changed), set()
        patches = [patch for number in changed for patch in self._patch(number)]
        drawing = self._foot.draw()
        if drawing is not None:
            start, rendered = self._lengths.total, drawing[1]
            self._feet += not self._foot_length
            id = f"{self._foot.id}:{self._feet}"
            patches.append(Patch(id, start, start + self._foot_length, rendered))
            self._foot_length = len(rendered.text)
        return tuple(patches)

    @property
    def text(self) -> str:
        return "".join(block.text for block in (*self._blocks, self._foot))

    def _patch(self, number: int) -> list[Patch]:
        block, before = self._blocks[number], self._lengths[number]
        drawing = block.draw()
        if block.is_over and not isinstance(block, Past):
            is_whole = drawing is not None and not drawing[0]
            text = drawing[1].text if drawing is not None and is_whole else block.text
            self._blocks[number] = Past(block, text)
            del self._numbers[block.id]
        if drawing is None:
            return []
        kept, rendered = drawing
        start = self._lengths.before(number)
        self._lengths.set(number, kept + len(rendered.text))
        return [Patch(block.id, start + kept, start + before, rendered)]
