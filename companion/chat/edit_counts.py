"""How many lines an edit adds and removes. Knows no view."""

from __future__ import annotations

from dataclasses import dataclass

from ..agent.events.turn_events import Diff
from ..base.changes import changes_between, counts, rows_of
from .pen import Pen
from .rendered import ADDED, DIM, REMOVED

# Code points of both texts up to which lines are counted: more takes too long between two events.
MAX_COUNTED = 1 << 20


@dataclass(frozen=True)
class EditCount:
    """`added` and `removed` are None for an edit that is too large to be counted."""

    path: str
    added: int | None
    removed: int | None

    def write(self, pen: Pen) -> None:
        if self.added is None or self.removed is None:
            pen.write("large", DIM)
            return
        pen.write(f"+{self.added}", ADDED)
        pen.write(" ")
        pen.write(f"-{self.removed}", REMOVED)


def counted(diff: Diff) -> EditCount:
    if len(diff.old_text) + len(diff.new_text) > MAX_COUNTED:
        return EditCount(diff.path, None, None)
    changes = changes_between(rows_of(diff.old_text), rows_of(diff.new_text))
    return EditCount(diff.path, *counts(changes))


def total(edits: tuple[EditCount, ...]) -> EditCount:
    """Of several files."""
    if any(it.added is None for it in edits):
        return EditCount("", None, None)
    return EditCount("", sum(it.added or 0 for it in edits), sum(it.removed or 0 for it in edits))
