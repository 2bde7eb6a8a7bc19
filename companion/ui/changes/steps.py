"""What undo takes back in a sheet, and redo does again: steps in the files' own reviews. UI thread
only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Sequence

import sublime

from ..review.record import waiting_record
from ..review.reviews import Reviews
from .sources import Source


class Step(Protocol):
    def undo_or_redo(self, is_undo: bool) -> list[sublime.View] | None:
        """Undo it, or do it again; gives the right views whose texts have changed, None if all of
        it is decided by now."""


@dataclass(frozen=True)
class EditStep(Step):
    """One edit of the text of a review."""

    view: sublime.View

    def undo_or_redo(self, is_undo: bool) -> list[sublime.View] | None:
        if waiting_record(self.view) is None:
            return None
        self.view.run_command("undo" if is_undo else "redo")
        return [self.view]


@dataclass(frozen=True)
class DropStep(Step):
    """The dropping of changes in a review whose text is too large to be edited: the keys of the
    changes that were dropped before, and afterwards."""

    reviews: Reviews
    view: sublime.View
    before: frozenset[str]
    after: frozenset[str]

    def undo_or_redo(self, is_undo: bool) -> list[sublime.View] | None:
        if waiting_record(self.view) is None:
            return None
        self.reviews.set_dropped(self.view, self.before if is_undo else self.after)
        return []


@dataclass(frozen=True)
class KeepStep(Step):
    """The keeping of changes of a file: the keys of the changes that the user had kept before, and
    afterwards."""

    source: Source
    id: str
    before: frozenset[str]
    after: frozenset[str]

    def undo_or_redo(self, is_undo: bool) -> list[sublime.View] | None:
        is_there = self.source.set_kept(self.id, self.before if is_undo else self.after)
        return [] if is_there else None


@dataclass(frozen=True)
class Steps(Step):
    """Several that are one."""

    steps: Sequence[Step]

    def undo_or_redo(self, is_undo: bool) -> list[sublime.View] | None:
        found = [
            step.undo_or_redo(is_undo) for step in (self.steps[::-1] if is_undo else self.steps)
        ]
        done = [views for views in found if views is not None]
        return [view for each in done for view in each] if done else None
