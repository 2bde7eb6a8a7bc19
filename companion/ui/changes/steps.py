"""What undo takes back in a sheet, and redo does again: steps in the files' own reviews. UI thread
only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol, Sequence

import sublime

from ...base.merge import merge_texts
from ...base.text_digest import text_digest
from .. import texts
from ..review.open_diffs import name_of, with_id
from ..review.record import texts_taken_over, update_record, waiting_record
from ..review.reviews import Reviews
from .sources import Source


class StepDone(NamedTuple):
    """What a step has done: the right views whose texts have changed, and the names of the files of
    which nothing could be undone any more, though they wait."""

    views: Sequence[sublime.View] = ()
    lost: Sequence[str] = ()


class Step(Protocol):
    def undo_or_redo(self, is_undo: bool) -> StepDone | None:
        """Undo it, or do it again; None if all of it is decided by now."""


@dataclass(frozen=True)
class EditStep(Step):
    """One edit of the text of the review with that id. Where it has got tabs since, their views
    cannot undo it. What was taken over since stays."""

    view: sublime.View
    id: str

    def undo_or_redo(self, is_undo: bool) -> StepDone | None:
        if waiting_record(self.view) is None:
            now = with_id(self.id)
            return None if now is None else StepDone(lost=[name_of(now)])
        if not is_undo:
            self.view.run_command("redo")
        elif not _undo_step(self.view):
            return StepDone(lost=[name_of(self.view)])
        return StepDone([self.view])


def edit_step(view: sublime.View) -> EditStep:
    """The step of the last edit in the view."""
    record = waiting_record(view)
    return EditStep(view, record.id if record is not None else "")


def _undo_step(view: sublime.View) -> bool:
    """Undo the last step of the user in the view. What was taken over by itself since stays; False
    if the text is too large for that."""
    known, now = texts_taken_over(view), texts.text_of(view)
    view.run_command("undo")
    before = None
    while text_digest(texts.text_of(view)) in known and texts.text_of(view) != before:
        before = texts.text_of(view)
        view.run_command("undo")
    if before is None:
        return True
    is_small = max(len(now), len(before)) <= texts.COMPARED
    merged = merge_texts(before, texts.text_of(view), now) if is_small else None
    texts.replace_view_text(view, now if merged is None else merged.text)
    record = waiting_record(view)
    if record is not None and merged is not None and merged.conflicts:
        update_record(view, record, has_conflicts=True)
    return is_small


@dataclass(frozen=True)
class DropStep(Step):
    """The dropping of changes in a review whose text is too large to be edited: the keys of the
    changes that were dropped before, and afterwards."""

    reviews: Reviews
    view: sublime.View
    before: frozenset[str]
    after: frozenset[str]

    def undo_or_redo(self, is_undo: bool) -> StepDone | None:
        if waiting_record(self.view) is None:
            return None
        self.reviews.set_dropped(self.view, self.before if is_undo else self.after)
        return StepDone()


@dataclass(frozen=True)
class KeepStep(Step):
    """The keeping of changes of a file: the keys of the changes that the user had kept before, and
    afterwards."""

    source: Source
    id: str
    before: frozenset[str]
    after: frozenset[str]

    def undo_or_redo(self, is_undo: bool) -> StepDone | None:
        is_there = self.source.set_kept(self.id, self.before if is_undo else self.after)
        return StepDone() if is_there else None


@dataclass(frozen=True)
class Steps(Step):
    """Several that are one."""

    steps: Sequence[Step]

    def undo_or_redo(self, is_undo: bool) -> StepDone | None:
        found = [
            step.undo_or_redo(is_undo) for step in (self.steps[::-1] if is_undo else self.steps)
        ]
        done = [each for each in found if each is not None]
        views = [view for each in done for view in each.views]
        return StepDone(views, [name for each in done for name in each.lost]) if done else None
