"""A document as a view has it: a text with marks, folds and links, changed by patches alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Iterable

from GeminiCompanion.companion.chat.rendered import MARKS, Link, Mark, Patch, Rendered


class Drawing:
    """Raises AssertionError for a patch that no view could draw."""

    def __init__(self) -> None:
        self.text = ""
        self._items: list[Any] = []
        # The ids of the blocks in their order, and the lengths of their texts.
        self._blocks: list[tuple[str, int]] = []

    @property
    def items(self) -> list[Any]:
        """All marks, folds and links, in the order of their places."""
        return sorted(self._items, key=repr)

    def links(self, action: str) -> list[Link]:
        return [item for item in self._items if isinstance(item, Link) and item.action == action]

    def marked(self, kind: str) -> list[str]:
        """The texts with these marks, in their order."""
        found = [item for item in self._items if isinstance(item, Mark) and item.kind == kind]
        return [
            self.text[mark.start : mark.end] for mark in sorted(found, key=lambda mark: mark.start)
        ]

    def apply(self, patches: Iterable[Patch]) -> None:
        for patch in patches:
            self._apply(patch)

    def _apply(self, patch: Patch) -> None:
        start, end, new = patch.start, patch.end, patch.rendered
        assert 0 <= start <= end <= len(self.text), patch
        assert not new.text or new.text.endswith("\n"), patch
        self._keep_to_its_block(patch)
        kept = []
        for item in self._items:
            if item.end <= start:
                kept.append(item)
            elif item.start >= end:
                kept.append(moved(item, len(new.text) - (end - start)))
            else:
                assert start <= item.start and item.end <= end, (patch, item)
        self._items = kept + [moved(item, start) for item in checked(new)]
        self.text = self.text[:start] + new.text + self.text[end:]

    def _keep_to_its_block(self, patch: Patch) -> None:
        """A patch changes its own block, or puts a new one between two others."""
        start, end, grown = patch.start, patch.end, len(patch.rendered.text)
        begin = 0
        for number, (id, size) in enumerate(self._blocks):
            if id == patch.block:
                assert begin <= start <= end <= begin + size, patch
                self._blocks[number] = id, size + grown - (end - start)
                return
            begin += size
        place, begin = len(self._blocks), len(self.text)
        while begin > start:
            place -= 1
            begin -= self._blocks[place][1]
        assert begin == start == end, patch
        self._blocks.insert(place, (patch.block, grown))


def moved(item: Any, by: int) -> Any:
    return replace(item, start=item.start + by, end=item.end + by)


def checked(rendered: Rendered) -> list[Any]:
    """What is drawn on the text; each on a part of it that is not empty."""
    items: list[Any] = [
        *rendered.marks,
        *rendered.folds,
        *rendered.links,
        *rendered.pictures,
    ]
    for item in items:
        assert 0 <= item.start < item.end <= len(rendered.text), item
    assert {mark.kind for mark in rendered.marks} <= set(MARKS)
    return items
