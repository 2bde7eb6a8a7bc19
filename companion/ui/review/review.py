"""One diff under review: its changes, which of them are dropped, and the notes about it.

It is made from the diff's two texts, and made again after a restart. What survives a restart is in
the settings of the right view (`record`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import sublime

from ...base.answer import Answer
from ...base.comparison import Comparison
from ...base.digest import Digest
from ...base.file_content import Stamp
from . import head, record
from .marks import Marks


class Drawn(NamedTuple):
    """A comparison as the user sees it, with the state of the proposal's view that it belongs to
    (docs/sublime.md 6.9)."""

    comparison: Comparison
    change_id: tuple[Any, ...]

    def number_in(self, later: Comparison, right: sublime.View, key: str) -> int | None:
        """The number of a change in a later comparison, that of the present text; `key` names the
        change in this one. None if the change is gone."""
        keys = self.comparison.keys
        if key not in keys:
            return None
        number = keys.index(key)
        if keys == later.keys:
            return number
        change = self.comparison.changes[number]
        region = sublime.Region(*self.comparison.new.region(change.new_start, change.new_end))
        now = right.transform_region_from(region, self.change_id)
        return later.number_at((now.begin(), now.end()), key)


@dataclass
class Review:
    """`comparison` is that of the proposal at `change_count`, None until the first one is there. If
    the review is not `is_compared`, there will be none.

    For large texts the views have a `digest`. `dropped` are then the keys of the changes that the
    user does not want, and `text` is the whole new text that is accepted, None if it is the CLI's
    proposal."""

    id: str
    path: str
    original: str
    marks: Marks
    is_compared: bool = True
    comparison: Comparison | None = None
    drawn: Drawn | None = None
    change_count: int = -1
    # Answered when the running computation has ended: whether it succeeded.
    computing: Answer[bool] | None = None
    # The number, from 0, of the change before the user's eyes when the head was last drawn.
    current: int | None = None
    digest: Digest | None = None
    dropped: frozenset[str] = frozenset()
    text: str | None = None
    # The notes at the head, one sentence for each subject.
    notes: dict[str, str] = field(default_factory=dict)
    # The stamp of the file at the last check, if there was one.
    stamps: list[Stamp] = field(default_factory=list)
    # Where the user's own decision on another review was taken over: the change counts of the view
    # after that, with those before. They are equal if the text had all of it.
    taken_over: dict[int, int] = field(default_factory=dict)

    def took_over_since(self, count: int, right: sublime.View) -> bool:
        """Whether something was taken over since that change count, and nothing else has changed
        the text."""
        now = last = right.change_count()
        while now > count and self.taken_over.get(now, now) < now:
            now = self.taken_over[now]
        return now == count and last in self.taken_over

    def is_current(self, right: sublime.View) -> bool:
        """Whether the comparison is that of the present proposal."""
        if self.comparison is None:
            return False
        if self.digest is not None:
            return self.comparison.dropped == self.dropped
        return self.change_count == right.change_count()

    def diff_summary(self, right: sublime.View) -> head.DiffSummary | None:
        comparison = self.comparison
        if comparison is None:
            return None
        added, removed = comparison.counts
        seen = len(record.seen_changes(right).intersection(comparison.keys))
        dropped = len(comparison.dropped)
        return head.DiffSummary(
            added, removed, len(comparison.changes), seen, self.current, dropped
        )
