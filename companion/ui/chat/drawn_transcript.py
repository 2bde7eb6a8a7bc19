"""Draws a transcript: patches as they come, a whole one from its end on, in parts that do not hold
the UI thread. UI thread only."""

from __future__ import annotations

from dataclasses import replace
from typing import Callable, Sequence

import sublime

from ...chat.rendered import Patch
from .decorations import Decorations, fold_part, is_opened
from .drawn import DrawnDocument, Misplaced
from .pictures import Pictures
from .surface import Surface
from .unsent import ComposerChange, text_difference

# The most blocks of a part, and the characters after which no other block is added: a few
# milliseconds.
BLOCKS, CHARACTERS = 200, 128 * 1024


class DrawnTranscript:
    """`text` is what a view has of the transcript already, `composer` says where the composer
    begins. `document` is what the views show. `drawn` is called once a picture was put into a view,
    which makes it higher."""

    def __init__(
        self, surface: Surface, text: str, composer: Callable[[], int], drawn: Callable[[], object]
    ) -> None:
        self._surface = surface
        self._drawn = drawn
        self._pictures = Pictures(self._put_picture)
        self._composer = composer
        self.document = DrawnDocument(text)
        self._decorations = Decorations(self._pictures)
        self._undrawn = Undrawn()
        # Of documents that are gone.
        self._old: list[Decorations] = []
        # Clones, and how many of the first blocks they do not show yet.
        self._clones: list[tuple[sublime.View, int]] = []

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left to be drawn."""
        return not (self._undrawn.size or self._clones or self._old)

    def draw_patch(self, patch: Patch) -> None:
        """Raises Misplaced."""
        # What it changes, or follows, has to be there.
        while self._undrawn.size and patch.start <= self._undrawn.size:
            self._draw_part()
        missing = 0 if self.document.above_size else self._undrawn.size
        if missing:
            patch = replace(patch, start=patch.start - missing, end=patch.end - missing)
        views, composer = self._surface.views, self._composer()
        begin, block = self.document.find_block(patch)
        opened = {view.id() for view in views if is_opened(view, block, begin)}
        self.document.apply_patch(patch)

        def draw_marks() -> None:
            for view in views:
                self._decorations.draw_block(view, block, begin)
                if view.id() not in opened:
                    fold_part(view, patch.rendered, patch.start)

        self._surface.replace(patch.start, patch.end, patch.rendered.text, composer, draw_marks)

    def reset_transcript(self, patches: Sequence[Patch]) -> None:
        """Another transcript: only what differs is drawn, and the rest by `go_on`. Raises
        Misplaced."""
        self._old.append(self._decorations)
        self._decorations, self._clones = Decorations(self._pictures), []
        old, self._undrawn = self.document.text, Undrawn(patches)
        kept = self._undrawn.begins_with(old)
        part = self._undrawn.take_last(kept)
        composer = self._composer()
        self.document = DrawnDocument(old[:kept], self.document.numbered)
        change = _change_behind(old, kept, "".join(patch.rendered.text for patch in part))
        self._surface.replace(
            change.at,
            change.at + len(change.removed),
            change.inserted,
            composer,
            lambda: self._show_part(part),
        )
        if not part and self._undrawn.size:
            self._draw_part()

    def go_on(self) -> bool:
        """Draw a part of what is left; whether there is more. Raises Misplaced."""
        if self._undrawn.size:
            self._draw_part()
        elif self._clones:
            self._draw_clone(*self._clones.pop())
        elif self._old and not self._old[0].erase_blocks(BLOCKS):
            del self._old[0]
        return not self.is_whole

    def add_clone(self, view: sublime.View) -> None:
        """Draw what is beside the text in a view that has none of it; most of it by `go_on`."""
        self._draw_clone(view, self.document.count)

    def leave_view(self, view: sublime.View) -> None:
        """The user closes the view; the pictures are drawn in another one by `draw_pictures`."""
        self._pictures.erase_all(view)

    def draw_pictures(self) -> None:
        """Draw all pictures in the view that is the first one now."""
        for view in filter(sublime.View.is_primary, self._surface.views):
            for begin, block in self.document.blocks:
                if block.drawn.pictures:
                    self._decorations.draw_pictures(view, block, begin)

    def close(self) -> None:
        """Nobody draws any more."""
        for view in self._surface.views:
            self._pictures.erase_all(view)

    def _put_picture(self, point: int, put: Callable[[], object]) -> None:
        self._surface.replace(point, point, "", self._composer(), put)
        self._drawn()

    def _draw_clone(self, view: sublime.View, left: int) -> None:
        first = max(0, left - BLOCKS)
        if view.is_valid():
            self._decorations.draw_new(view, self.document.blocks_between(first, left))
            if first:
                self._clones.append((view, first))

    def _draw_part(self) -> None:
        """The last one that is not drawn. What stands in its place already is not written."""
        part = self._undrawn.take_last()
        text, above = "".join(patch.rendered.text for patch in part), self.document.above_size
        is_there, composer = self.document.ends_above(text), self._composer()
        self.document.cut_above(above - len(text) if is_there else 0)
        end, text = (0, "") if is_there else (above, text)
        self._surface.replace(0, end, text, composer, lambda: self._show_part(part))

    def _show_part(self, part: Sequence[Patch]) -> None:
        """Their text is written."""
        before = self.document.count
        self.document.prepend(part)
        new = self.document.count - before
        self._clones = [(view, left + new) for view, left in self._clones]
        blocks = self.document.blocks_between(0, new)
        for view in self._surface.views:
            self._decorations.draw_new(view, blocks)


def _change_behind(old: str, kept: int, text: str) -> ComposerChange:
    """What puts the text behind what is kept of the old one, instead of the rest of that."""
    rest = old[kept:]
    # A long one is not compared.
    change = (
        text_difference(rest, text)
        if len(rest) <= 2 * CHARACTERS
        else ComposerChange(0, rest, text)
    )
    return ComposerChange(kept, "", "") if change is None else replace(change, at=kept + change.at)


class Undrawn:
    """The beginning of a transcript that no view shows yet. `patches` are all blocks of the
    transcript, in their order, each as a whole. `size` is how many characters of it are left."""

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
