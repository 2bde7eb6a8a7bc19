"""What a view of a chat shows beside its text: marks, folds, underlined links. UI thread only."""

from __future__ import annotations

import sublime

from ...chat import rendered
from ...chat.rendered import Mark, Rendered
from ..review import marks
from .drawn import Block, DrawnDocument, moved

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

    def __init__(self) -> None:
        self._kinds: dict[tuple[int, int], frozenset[str]] = {}

    def draw(self, view: sublime.View, block: Block, begin: int) -> None:
        """Draw the marks and links of a block that begins there, in the place of its older ones."""
        by_kind: dict[str, list[sublime.Region]] = {}
        for mark in moved(_shown(block.drawn), begin):
            by_kind.setdefault(mark.kind, []).append(sublime.Region(mark.start, mark.end))
        for kind in self._kinds.get((view.id(), block.number), frozenset()) - by_kind.keys():
            view.erase_regions(KEY.format(block.number, kind))
        for kind, regions in by_kind.items():
            scope, flags = _style(view, kind)
            view.add_regions(KEY.format(block.number, kind), regions, scope, flags=flags)
        self._kinds[view.id(), block.number] = frozenset(by_kind)

    def draw_all(self, view: sublime.View, document: DrawnDocument) -> None:
        """Draw everything in a view that shows nothing of it."""
        for begin, block in document.blocks:
            self.draw(view, block, begin)
            fold(view, block.drawn, begin)

    def erase(self) -> None:
        """Erase all marks, before the document is another one."""
        for (view_id, number), kinds in self._kinds.items():
            view = sublime.View(view_id)
            for kind in kinds if view.is_valid() else ():
                view.erase_regions(KEY.format(number, kind))
        self._kinds.clear()


def fold(view: sublime.View, part: Rendered, begin: int) -> None:
    """Fold what is folded at first in a part that begins there."""
    if part.folds:
        view.fold([sublime.Region(it.start, it.end) for it in moved(part.folds, begin)])


def is_opened(view: sublime.View, block: Block, begin: int) -> bool:
    """Whether the user has unfolded something of the block."""
    folds = moved(block.drawn.folds, begin)
    return not all(view.is_folded(sublime.Region(it.start, it.end)) for it in folds)


def _shown(part: Rendered) -> list[Mark]:
    # A button is outlined already.
    buttons = {(it.start, it.end) for it in part.marks if it.kind == rendered.BUTTON}
    links = [Mark(LINK, it.start, it.end) for it in part.links]
    shown = [it for it in part.marks if it.kind in STYLES or it.kind in DIFFERENCES]
    return shown + [it for it in links if (it.start, it.end) not in buttons]


def _style(view: sublime.View, kind: str) -> tuple[str, sublime.RegionFlags]:
    if kind in DIFFERENCES:
        return marks.style(view, DIFFERENCES[kind])
    return STYLES[kind]
