"""What a view of a chat shows beside its text: marks, folds, underlined links, pictures. UI thread
only."""

from __future__ import annotations

from itertools import islice
from typing import Sequence

import sublime

from ...chat import rendered
from ...chat.rendered import Rendered
from ..review import marks
from .drawn import DrawnBlock, move_ranges
from .pictures import Pictures

# Each block has regions of its own, so that a change of it costs nothing for the others.
KEY = "gemini_companion_chat_{}_{}"
LINK = "link"
OUTLINE = sublime.DRAW_NO_FILL
UNDERLINE = sublime.DRAW_NO_FILL | sublime.DRAW_NO_OUTLINE | sublime.DRAW_SOLID_UNDERLINE
# The syntax colours all other marks.
STYLES = {
    rendered.ERROR: ("region.redish", UNDERLINE),
    rendered.WARNING: ("region.orangish", UNDERLINE),
    rendered.QUESTION: ("region.yellowish", OUTLINE),
    rendered.BUTTON: ("region.bluish", OUTLINE),
    LINK: ("region.bluish", UNDERLINE),
}
DIFFERENCES = {rendered.ADDED: marks.ADDED, rendered.REMOVED: marks.REMOVED}


class Decorations:
    """What was drawn: by each view's id and each block's number, the kinds of marks."""

    def __init__(self, pictures: Pictures) -> None:
        self._pictures = pictures
        # Tuples, because the garbage collector does not walk through those of texts and numbers.
        self._kinds: dict[tuple[int, int], tuple[str, ...]] = {}

    def draw_block(self, view: sublime.View, block: DrawnBlock, begin: int) -> None:
        """Draw the marks and links of a block that begins there, in the place of its older ones."""
        by_kind = _mark_regions(block.drawn, begin)
        for kind in set(self._kinds.get((view.id(), block.number), ())) - by_kind.keys():
            view.erase_regions(KEY.format(block.number, kind))
        for kind, regions in by_kind.items():
            scope, flags = _mark_style(view, kind)
            view.add_regions(KEY.format(block.number, kind), regions, scope, flags=flags)
        self._kinds[view.id(), block.number] = tuple(by_kind)
        self.draw_pictures(view, block, begin)

    def draw_pictures(self, view: sublime.View, block: DrawnBlock, begin: int) -> None:
        """Draw those of a block that begins there, in the place of its older ones."""
        self._pictures.draw_block(view, block.number, begin, block.drawn.pictures)

    def draw_new(self, view: sublime.View, blocks: Sequence[tuple[int, DrawnBlock]]) -> None:
        """Draw blocks in a view that shows nothing of them, each with where it begins."""
        folds: list[sublime.Region] = []
        for begin, block in blocks:
            self.draw_block(view, block, begin)
            folds += [
                sublime.Region(fold.start + begin, fold.end + begin) for fold in block.drawn.folds
            ]
        if folds:
            view.fold(folds)

    def erase_blocks(self, most: int) -> bool:
        """Erase the marks of so many blocks, whose document is gone; whether there are more."""
        for view_id, number in list(islice(self._kinds, most)):
            view = sublime.View(view_id)
            self._pictures.erase_block(view, number)
            for kind in self._kinds.pop((view_id, number)):
                if view.is_valid():
                    view.erase_regions(KEY.format(number, kind))
        return bool(self._kinds)


def fold_part(view: sublime.View, part: Rendered, begin: int) -> None:
    """Fold what is folded at first in a part that begins there."""
    if part.folds:
        view.fold([sublime.Region(fold.start, fold.end) for fold in move_ranges(part.folds, begin)])


def is_opened(view: sublime.View, block: DrawnBlock, begin: int) -> bool:
    """Whether the user has unfolded something of the block."""
    folds = move_ranges(block.drawn.folds, begin)
    return not all(view.is_folded(sublime.Region(fold.start, fold.end)) for fold in folds)


def _mark_regions(part: Rendered, begin: int) -> dict[str, list[sublime.Region]]:
    """The regions of a part that begins there, by the kinds of marks."""
    found: dict[str, list[sublime.Region]] = {}
    for mark in part.marks:
        if mark.kind in STYLES or mark.kind in DIFFERENCES:
            region = sublime.Region(begin + mark.start, begin + mark.end)
            found.setdefault(mark.kind, []).append(region)
    # A button is outlined already.
    buttons = {(mark.start, mark.end) for mark in part.marks if mark.kind == rendered.BUTTON}
    links = [link for link in part.links if (link.start, link.end) not in buttons]
    if links:
        found[LINK] = [sublime.Region(begin + link.start, begin + link.end) for link in links]
    return found


def _mark_style(view: sublime.View, kind: str) -> tuple[str, sublime.RegionFlags]:
    if kind in DIFFERENCES:
        return marks.mark_style(view, DIFFERENCES[kind])
    return STYLES[kind]
